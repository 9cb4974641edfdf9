// Regions, layouts, versions and strategies.
#ifndef THALWEG_CXX_GEOMETRY_HPP
#define THALWEG_CXX_GEOMETRY_HPP

#include <thalweg/cxx/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace thalweg {

/// The cells lower[i] <= index[i] < lower[i] + extent[i], counted from 0.
class Region : public thalweg_region {
 public:
  Region() : thalweg_region{} {}
  Region(const thalweg_region& plain) : thalweg_region(plain) {}
  Region(std::initializer_list<std::uint64_t> lower, std::initializer_list<std::uint64_t> extent)
      : Region(std::vector<std::uint64_t>(lower), std::vector<std::uint64_t>(extent)) {}
  Region(const std::vector<std::uint64_t>& lower, const std::vector<std::uint64_t>& extent) : thalweg_region{} {
    if (lower.size() != extent.size() || lower.size() > THALWEG_MAX_DIMS) {
      throw Error(Kind::shape, "region: " + std::to_string(lower.size()) + " lower bounds and " +
                                   std::to_string(extent.size()) + " extents; accepted are as many of both, at most 8");
    }
    dims = static_cast<std::uint32_t>(lower.size());
    std::copy(lower.begin(), lower.end(), this->lower);
    std::copy(extent.begin(), extent.end(), this->extent);
  }

  /// The number of cells.
  std::size_t cells() const {
    std::size_t n = 1;
    for (std::uint32_t i = 0; i < dims; ++i) n *= extent[i];
    return n;
  }
};

/// How an array lies in memory.
class Layout : public thalweg_layout {
 public:
  /// Packed, the last axis fastest.
  static Layout right() { return Layout(THALWEG_ROW_MAJOR); }
  /// Packed, the first axis fastest.
  static Layout left() { return Layout(THALWEG_COLUMN_MAJOR); }
  /// Packed, with these axes from the slowest to the fastest.
  static Layout of(const std::vector<std::uint8_t>& slowest_first) {
    Layout layout(THALWEG_AXES);
    fill(layout.axes, slowest_first, "axes");
    return layout;
  }
  /// With these bytes from one cell to the next along each axis; for arrays of the caller.
  static Layout strided(const std::vector<std::int64_t>& strides_bytes) {
    Layout layout(THALWEG_STRIDES);
    fill(layout.strides_bytes, strides_bytes, "strides");
    return layout;
  }
  /// The same with each field of a record as an array of its own.
  Layout with_arrays() const {
    Layout layout = *this;
    layout.records = THALWEG_ARRAYS;
    return layout;
  }

 private:
  explicit Layout(std::uint32_t order_) : thalweg_layout{} { order = order_; }
  template <class T>
  static void fill(T (&into)[THALWEG_MAX_DIMS], const std::vector<T>& from, const char* what) {
    if (from.size() > THALWEG_MAX_DIMS) {
      throw Error(Kind::shape, "layout: " + std::to_string(from.size()) + " " + what + "; accepted are at most 8");
    }
    std::copy(from.begin(), from.end(), into);
  }
};

/// Version `version`.
inline thalweg_which exactly(std::uint64_t version) { return {THALWEG_HOW_EXACTLY, version}; }
/// The newest version in which the region is complete.
inline thalweg_which latest() { return {THALWEG_HOW_LATEST, 0}; }
/// The oldest version behind `version` in which the region is complete.
inline thalweg_which after(std::uint64_t version) { return {THALWEG_HOW_AFTER, version}; }

/// Where data are reorganised; see thalweg.h.
enum class Strategy : std::uint32_t {
  of_variable = THALWEG_STRATEGY_DEFAULT,
  rad = THALWEG_RAD,
  rasar = THALWEG_RASAR,
  rasia = THALWEG_RASIA,
  sahr = THALWEG_SAHR,
};

}  // namespace thalweg

#endif  // THALWEG_CXX_GEOMETRY_HPP
