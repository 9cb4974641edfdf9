// Puts and gets that go on in the background.
#ifndef THALWEG_CXX_REQUEST_HPP
#define THALWEG_CXX_REQUEST_HPP

#include <thalweg/cxx/cells.hpp>

#include <cstdint>

namespace thalweg {

/// A put or get that goes on; one that still does when this ends is cancelled.
class Request {
 public:
  explicit Request(thalweg_request* handle) : handle_(handle) {}

  /// Whether it has ended.
  bool ended() const {
    std::int32_t ended = 0;
    check(thalweg_test(handle_.get(), &ended));
    return ended != 0;
  }
  /// Waits for its end; the version that was put or got. Throws what the put or get met.
  std::uint64_t wait(Deadline deadline = patiently()) const {
    std::uint64_t version = 0;
    check(thalweg_wait(handle_.get(), deadline.left_s(), &version));
    return version;
  }
  /// Asks it to end soon.
  void cancel() const { check(thalweg_cancel(handle_.get())); }
  /// The view of an iget, once, after waiting for it.
  template <class T>
  View<T> view(Deadline deadline = patiently()) const {
    wait(deadline);
    thalweg_view* made = nullptr;
    check(thalweg_request_view(handle_.get(), &made));
    return View<T>(made);
  }

 private:
  detail::Owner<thalweg_request, thalweg_request_release> handle_;
};

}  // namespace thalweg

#endif  // THALWEG_CXX_REQUEST_HPP
