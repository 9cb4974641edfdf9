// What ends a handle of thalweg.h.
#ifndef THALWEG_CXX_OWNER_HPP
#define THALWEG_CXX_OWNER_HPP

#include <thalweg.h>

#include <memory>
#include <string>

namespace thalweg {

namespace detail {
/// Owns a handle of thalweg.h.
template <class H, thalweg_status (*end)(H*)>
struct End {
  void operator()(H* handle) const noexcept { end(handle); }
};
template <class H, thalweg_status (*end)(H*)>
using Owner = std::unique_ptr<H, End<H, end>>;

inline const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
}  // namespace detail

}  // namespace thalweg

#endif  // THALWEG_CXX_OWNER_HPP
