// Variables: put, get, seal, list, reduce.
#ifndef THALWEG_CXX_VARIABLE_HPP
#define THALWEG_CXX_VARIABLE_HPP

#include <thalweg/cxx/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thalweg {

/// How a variable is.
struct Definition {
  thalweg_dtype dtype = 0;                    ///< As `dtype_of<T>()` says it.
  std::vector<std::uint64_t> domain;          ///< Cells along each axis.
  Strategy strategy = Strategy::of_variable;  ///< Where data are reorganised; the default is `sahr`.
  std::optional<std::uint32_t> keep_last;     ///< Complete versions kept; none: all, until released.
  std::uint32_t writers = 0;                  ///< Seals that complete a version; 0: where cells are complete.
  std::vector<Layout> layouts;                ///< What `rasia` prepares.
  struct Field {
    std::string name;
    thalweg_dtype dtype;
    std::uint32_t offset_bytes;
  };
  std::vector<Field> fields;  ///< Of a record.
};

/// A named n-d array that has many versions. Threads may share it.
class Variable {
 public:
  explicit Variable(thalweg_variable* handle) : handle_(handle) {}

  Definition definition() const {
    const thalweg_definition plain = describe();
    Definition d;
    d.dtype = plain.dtype;
    d.domain.assign(plain.domain, plain.domain + plain.dims);
    d.strategy = static_cast<Strategy>(plain.strategy);
    if (plain.keep_last > 0) d.keep_last = plain.keep_last;
    d.writers = plain.writers;
    for (std::uint32_t i = 0; i < plain.field_count; ++i) {
      d.fields.push_back({plain.fields[i].name, plain.fields[i].dtype, plain.fields[i].offset_bytes});
    }
    return d;
  }
  /// All cells of the domain.
  Region whole() const {
    const thalweg_definition plain = describe();
    Region region;
    region.dims = plain.dims;
    std::copy(plain.domain, plain.domain + THALWEG_MAX_DIMS, region.extent);
    return region;
  }

  /// Copies a region into the service.
  template <class T>
  void put(std::uint64_t version, const Region& region, const T* data, const Layout& layout = Layout::right(),
           Deadline deadline = patiently()) const {
    check(thalweg_put(get_handle(), version, &region, data, dtype_of<T>(), &layout, deadline.left_s()));
  }
  /// The same, but this process keeps the copy and readers fetch it here.
  template <class T>
  void put_local(std::uint64_t version, const Region& region, const T* data, const Layout& layout = Layout::right(),
                 Deadline deadline = patiently()) const {
    check(thalweg_put_local(get_handle(), version, &region, data, dtype_of<T>(), &layout, deadline.left_s()));
  }
  /// Begins a put; `data` must stay as it is until the request has ended.
  template <class T>
  Request iput(std::uint64_t version, const Region& region, const T* data, const Layout& layout = Layout::right(),
               Deadline deadline = patiently()) const {
    thalweg_request* made = nullptr;
    check(thalweg_iput(get_handle(), version, &region, data, dtype_of<T>(), &layout, deadline.left_s(), &made));
    return Request(made);
  }
  /// Memory of the service for a region, to be filled and committed.
  template <class T>
  Loan<T> loan(std::uint64_t version, const Region& region, const Layout& layout = Layout::right(),
               Deadline deadline = patiently()) const {
    if (const thalweg_dtype have = describe().dtype; have != dtype_of<T>()) {
      throw Error(Kind::dtype, "stage.loan: " + name_of(dtype_of<T>()) + " was asked for, the cells are " +
                                   name_of(have) + "; ask for that");
    }
    thalweg_loan* made = nullptr;
    void* data = nullptr;
    std::int64_t strides[THALWEG_MAX_DIMS] = {};
    check(thalweg_loan_take(get_handle(), version, &region, &layout, deadline.left_s(), &made, &data, strides));
    return Loan<T>(made, Cells<T>(static_cast<T*>(data), region, strides));
  }

  /// A view of a region in whatever layout is cheapest.
  template <class T>
  View<T> get(thalweg_which which, const Region& region, Deadline deadline = patiently()) const {
    return view<T>(which, region, nullptr, Strategy::of_variable, deadline);
  }
  /// A view of a region in a layout.
  template <class T>
  View<T> get(thalweg_which which, const Region& region, const Layout& layout,
              Strategy strategy = Strategy::of_variable, Deadline deadline = patiently()) const {
    return view<T>(which, region, &layout, strategy, deadline);
  }
  /// Copies a region into the caller's array; the version that it was.
  template <class T>
  std::uint64_t get_into(thalweg_which which, const Region& region, T* data, const Layout& layout = Layout::right(),
                         Strategy strategy = Strategy::of_variable, Deadline deadline = patiently()) const {
    std::uint64_t version = 0;
    check(thalweg_get_into(get_handle(), which, &region, data, dtype_of<T>(), &layout,
                           static_cast<std::uint32_t>(strategy), deadline.left_s(), &version));
    return version;
  }
  /// Begins a get of a view.
  Request iget(thalweg_which which, const Region& region, const Layout& layout = Layout::right(),
               Strategy strategy = Strategy::of_variable, Deadline deadline = patiently()) const {
    thalweg_request* made = nullptr;
    check(thalweg_iget(get_handle(), which, &region, &layout, static_cast<std::uint32_t>(strategy), deadline.left_s(),
                       &made));
    return Request(made);
  }
  /// Begins a get into the caller's array, which must be left alone until the request has ended.
  template <class T>
  Request iget_into(thalweg_which which, const Region& region, T* data, const Layout& layout = Layout::right(),
                    Strategy strategy = Strategy::of_variable, Deadline deadline = patiently()) const {
    thalweg_request* made = nullptr;
    check(thalweg_iget_into(get_handle(), which, &region, data, dtype_of<T>(), &layout,
                            static_cast<std::uint32_t>(strategy), deadline.left_s(), &made));
    return Request(made);
  }

  /// Writer number `writer` has put all that it will of `version`.
  void seal(std::uint64_t version, std::uint32_t writer = 0, Deadline deadline = patiently()) const {
    check(thalweg_seal(get_handle(), version, writer, deadline.left_s()));
  }
  /// Nobody needs `version` any more; whether it was there.
  bool release(std::uint64_t version, Deadline deadline = patiently()) const {
    std::int32_t existed = 0;
    check(thalweg_release(get_handle(), version, deadline.left_s(), &existed));
    return existed != 0;
  }
  /// The versions that are there, in order.
  std::vector<thalweg_version_state> versions(Deadline deadline = patiently()) const {
    std::vector<thalweg_version_state> states(16);
    for (;;) {
      std::size_t count = 0;
      check(thalweg_versions(get_handle(), deadline.left_s(), states.data(), states.size(), &count));
      const bool all = count <= states.size();
      states.resize(count);
      if (all) return states;
    }
  }

  /// Count, least, greatest and sum of a region, made in the service.
  thalweg_summary reduce(thalweg_which which, const Region& region, Deadline deadline = patiently()) const {
    thalweg_summary summary;
    check(thalweg_reduce(get_handle(), which, &region, nullptr, deadline.left_s(), &summary, nullptr));
    return summary;
  }
  /// How many cells of a region fall into each bin.
  std::vector<std::uint64_t> histogram(thalweg_which which, const Region& region, const thalweg_bins& bins,
                                       Deadline deadline = patiently()) const {
    thalweg_summary summary;
    std::vector<std::uint64_t> counts(bins.count);
    check(thalweg_reduce(get_handle(), which, &region, &bins, deadline.left_s(), &summary, counts.data()));
    return counts;
  }

  /// Notes something for those who read the variable; an empty value removes it.
  void set_attribute(const std::string& key, const std::string& value, Deadline deadline = patiently()) const {
    check(thalweg_set_attribute(get_handle(), key.c_str(), value.c_str(), deadline.left_s()));
  }
  /// What was noted under `key`.
  std::string attribute(const std::string& key, Deadline deadline = patiently()) const {
    std::string value(64, '\0');
    for (;;) {
      std::size_t length = 0;
      check(thalweg_attribute(get_handle(), key.c_str(), deadline.left_s(), value.data(), value.size() + 1, &length));
      const bool all = length <= value.size();
      value.resize(length);
      if (all) return value;
    }
  }

  /// The handle, for functions of thalweg.h.
  thalweg_variable* get_handle() const { return handle_.get(); }

 private:
  thalweg_definition describe() const {
    thalweg_definition plain = THALWEG_DEFINITION_INIT;
    check(thalweg_describe(get_handle(), &plain));
    return plain;
  }
  template <class T>
  View<T> view(thalweg_which which, const Region& region, const Layout* layout, Strategy strategy,
               Deadline deadline) const {
    thalweg_view* made = nullptr;
    check(thalweg_get(get_handle(), which, &region, layout, static_cast<std::uint32_t>(strategy), deadline.left_s(),
                      &made));
    return View<T>(made);
  }

  detail::Owner<thalweg_variable, thalweg_close> handle_;
};

}  // namespace thalweg

#endif  // THALWEG_CXX_VARIABLE_HPP
