// Views and loans: the service's memory as typed cells.
#ifndef THALWEG_CXX_CELLS_HPP
#define THALWEG_CXX_CELLS_HPP

#include <thalweg/cxx/deadline.hpp>
#include <thalweg/cxx/element.hpp>
#include <thalweg/cxx/geometry.hpp>
#include <thalweg/cxx/owner.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace thalweg {

/// Cells that lie somewhere in memory: a pointer, extents and strides. Owns nothing.
template <class T>
class Cells {
 public:
  Cells(T* data, const Region& region, const std::int64_t* strides_bytes) : data_(data), region_(region) {
    std::copy(strides_bytes, strides_bytes + THALWEG_MAX_DIMS, strides_.begin());
  }

  /// The first cell.
  T* data() const { return data_; }
  /// Which cells of the variable these are.
  const Region& region() const { return region_; }
  std::uint32_t dims() const { return region_.dims; }
  std::uint64_t extent(std::size_t axis) const { return region_.extent[axis]; }
  /// Bytes from one cell to the next along `axis`.
  std::int64_t stride_bytes(std::size_t axis) const { return strides_[axis]; }

  /// The cell at an index that counts from the region's lower corner.
  template <class... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= THALWEG_MAX_DIMS);
    std::int64_t at = 0;
    std::size_t axis = 0;
    ((at += static_cast<std::int64_t>(index) * strides_[axis++]), ...);
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return *reinterpret_cast<T*>(reinterpret_cast<Byte*>(data_) + at);
  }

 private:
  T* data_;
  Region region_;
  std::array<std::int64_t, THALWEG_MAX_DIMS> strides_;
};

/// The service's memory for reading, as long as this lives.
template <class T>
class View : public Cells<const T> {
 public:
  /// Takes over a handle. Throws `dtype` when its cells are no `T`.
  explicit View(thalweg_view* handle) : View(Handle(handle), info_of(handle)) {}

  std::uint64_t version() const { return version_; }

 private:
  using Handle = detail::Owner<thalweg_view, thalweg_view_release>;
  static thalweg_view_info info_of(thalweg_view* handle) {
    thalweg_view_info info = THALWEG_VIEW_INFO_INIT;
    check(thalweg_view_describe(handle, &info));
    return info;
  }
  static Region region_of(const thalweg_view_info& info) {
    Region region;
    region.dims = info.dims;
    std::copy(info.lower, info.lower + THALWEG_MAX_DIMS, region.lower);
    std::copy(info.extent, info.extent + THALWEG_MAX_DIMS, region.extent);
    return region;
  }
  View(Handle handle, const thalweg_view_info& info)
      : Cells<const T>(static_cast<const T*>(info.data), region_of(info), info.strides_bytes),
        handle_(std::move(handle)),
        version_(info.version) {
    if (info.dtype != dtype_of<T>()) {
      throw Error(Kind::dtype, "stage.get: " + name_of(dtype_of<T>()) + " was asked for, the cells are " +
                                   name_of(info.dtype) + "; ask for that");
    }
  }

  Handle handle_;
  std::uint64_t version_;
};

/// The service's memory for writing; given back when this ends without a commit.
template <class T>
class Loan : public Cells<T> {
 public:
  Loan(thalweg_loan* handle, const Cells<T>& cells) : Cells<T>(cells), handle_(handle) {}

  /// Publishes what was filled; the cells must not be used any more.
  void commit(Deadline deadline = patiently()) { check(thalweg_loan_commit(handle_.release(), deadline.left_s())); }
  /// Gives the memory back.
  void discard() { handle_.reset(); }

 private:
  detail::Owner<thalweg_loan, thalweg_loan_discard> handle_;
};

}  // namespace thalweg

#endif  // THALWEG_CXX_CELLS_HPP
