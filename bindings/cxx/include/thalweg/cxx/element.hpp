// Element types of C++ as numbers of thalweg.h.
#ifndef THALWEG_CXX_ELEMENT_HPP
#define THALWEG_CXX_ELEMENT_HPP

#include <thalweg.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

namespace thalweg {

/// The number of `T`'s element type in thalweg.h; what is no number is opaque, as a record.
template <class T>
constexpr thalweg_dtype dtype_of() {
  using V = std::remove_cv_t<T>;
  static_assert(std::is_trivially_copyable_v<V>, "only what memcpy may copy can be staged");
  if constexpr (std::is_same_v<V, bool>)
    return THALWEG_ELEMENT('b', 1);
  else if constexpr (std::is_integral_v<V>)
    return THALWEG_ELEMENT(std::is_signed_v<V> ? 'i' : 'u', sizeof(V));
  else if constexpr (std::is_floating_point_v<V>)
    return THALWEG_ELEMENT('f', sizeof(V));
  else if constexpr (std::is_same_v<V, std::complex<float>>)
    return THALWEG_ELEMENT('c', sizeof(V));
  else if constexpr (std::is_same_v<V, std::complex<double>>)
    return THALWEG_ELEMENT('c', sizeof(V));
  else
    return THALWEG_ELEMENT('V', sizeof(V));
}

/// What messages call an element type, such as "float64".
inline std::string name_of(thalweg_dtype dtype) {
  const char kind = static_cast<char>(dtype >> 24);
  const std::uint32_t size_bytes = dtype & 0xffffff;
  const std::string bits = std::to_string(8 * size_bytes);
  switch (kind) {
    case 'b':
      return "bool";
    case 'B':
      return "bytes";
    case 'i':
      return "int" + bits;
    case 'u':
      return "uint" + bits;
    case 'f':
      return "float" + bits;
    case 'c':
      return "complex" + bits;
    default:
      return kind + std::to_string(size_bytes);
  }
}

}  // namespace thalweg

#endif  // THALWEG_CXX_ELEMENT_HPP
