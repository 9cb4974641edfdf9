// Statuses as exceptions with a kind.
#ifndef THALWEG_CXX_ERROR_HPP
#define THALWEG_CXX_ERROR_HPP

#include <thalweg.h>

#include <stdexcept>
#include <string>

namespace thalweg {

/// What went wrong, as a caller can act on it; thalweg.h says more of each.
enum class Kind {
  not_found = THALWEG_NOT_FOUND,
  exists = THALWEG_EXISTS,
  invalid = THALWEG_INVALID,
  shape = THALWEG_SHAPE,
  dtype = THALWEG_DTYPE,
  full = THALWEG_FULL,
  timeout = THALWEG_TIMEOUT,
  gone = THALWEG_GONE,
  access = THALWEG_ACCESS,
  protocol = THALWEG_PROTOCOL,
  io = THALWEG_IO,
  interrupted = THALWEG_INTERRUPTED,
  corrupt = THALWEG_CORRUPT,
  internal = THALWEG_INTERNAL,
};

/// What every function here throws: a kind, and a message with the value that was met and what is accepted.
class Error : public std::runtime_error {
 public:
  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

/// Throws what `status` says, unless it is THALWEG_OK.
inline void check(thalweg_status status) {
  if (status != THALWEG_OK) throw Error(static_cast<Kind>(status), thalweg_last_error());
}

}  // namespace thalweg

#endif  // THALWEG_CXX_ERROR_HPP
