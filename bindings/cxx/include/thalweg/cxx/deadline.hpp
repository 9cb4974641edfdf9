// Until when calls wait.
#ifndef THALWEG_CXX_DEADLINE_HPP
#define THALWEG_CXX_DEADLINE_HPP

#include <algorithm>
#include <chrono>

namespace thalweg {

/// Until when to wait: a duration from now, or a point in time.
class Deadline {
 public:
  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> within)
      : at_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min<Seconds>(within, longest()))) {}
  Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}

  /// What is left, in seconds; never negative.
  double left_s() const { return std::max(0.0, Seconds(at_ - Clock::now()).count()); }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds longest() { return Seconds(1e9); }
  Clock::time_point at_;
};

/// How long calls wait that are not told: one minute.
inline Deadline patiently() { return std::chrono::minutes(1); }

}  // namespace thalweg

#endif  // THALWEG_CXX_DEADLINE_HPP
