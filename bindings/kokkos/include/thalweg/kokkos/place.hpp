// What a program says of its staging views: Kokkos::Staging, as the paper spells it.
#ifndef THALWEG_KOKKOS_PLACE_HPP
#define THALWEG_KOKKOS_PLACE_HPP

#include <thalweg/kokkos/session.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace thalweg::kokkos {

template <class V>
constexpr std::size_t rank_of() {
  return static_cast<std::size_t>(V::rank);
}

/// The bounds of a call, one for each axis of `V`.
template <class V, class... Bounds>
std::vector<std::uint64_t> bounds(const char* call, Bounds... given) {
  static_assert(is_staged<V>::value, "the view must be in thalweg::StagingSpace");
  static_assert((std::is_integral_v<Bounds> && ...), "bounds are whole numbers");
  static_assert(sizeof...(Bounds) == rank_of<V>(), "one bound for each axis of the view");
  const auto one = [call](auto bound) {
    if constexpr (std::is_signed_v<decltype(bound)>) {
      if (bound < 0) throw Error(Kind::shape, std::string(call) + ": bound " + std::to_string(bound) + " is negative");
    }
    return static_cast<std::uint64_t>(bound);
  };
  return {one(given)...};
}

}  // namespace thalweg::kokkos

namespace Kokkos::Staging {

/// Connects this process to the staging service; after Kokkos::initialize. Without options: to THALWEG_ADDRESS, else to
/// a private server in this process.
inline void initialize(const thalweg::Client::Options& options = {},
                       thalweg::Deadline deadline = std::chrono::seconds(10)) {
  thalweg::kokkos::Session::here().initialize(options, deadline);
}

/// Ends the connection; before Kokkos::finalize, which does it otherwise.
inline void finalize() { thalweg::kokkos::Session::here().finalize(); }

/// How long deep_copy waits: for cells that are not there, or for memory. One minute at first.
template <class Rep, class Period>
void set_timeout(std::chrono::duration<Rep, Period> within) {
  thalweg::kokkos::Session::here().set_timeout(within);
}

/// The connection, for what deep_copy does not do: definitions with a strategy, seals, releases.
inline const thalweg::Client& client() { return thalweg::kokkos::Session::here().client(); }

/// The first cell of the view in the variable's domain, along each axis; (0, …) when it is not set.
template <class V, class... Bounds>
void set_lower_bound(const V& view, Bounds... lower) {
  auto values = thalweg::kokkos::bounds<V>("Staging::set_lower_bound", lower...);
  thalweg::kokkos::Session::here().change(view,
                                          [&](thalweg::kokkos::Place& place) { place.lower = std::move(values); });
}

/// The last cell of the view along each axis: inclusive, as in the paper and in DataSpaces. It may be left out, as the
/// view's extents say it; when it is set, deep_copy checks that the two agree.
template <class V, class... Bounds>
void set_upper_bound(const V& view, Bounds... upper) {
  auto values = thalweg::kokkos::bounds<V>("Staging::set_upper_bound", upper...);
  thalweg::kokkos::Session::here().change(view,
                                          [&](thalweg::kokkos::Place& place) { place.upper = std::move(values); });
}

/// The number of cells of the variable's whole domain along each axis. Without it the domain of a variable that this
/// view is first to write ends where the view does.
template <class V, class... Extents>
void set_domain(const V& view, Extents... extents) {
  auto values = thalweg::kokkos::bounds<V>("Staging::set_domain", extents...);
  thalweg::kokkos::Session::here().change(view,
                                          [&](thalweg::kokkos::Place& place) { place.domain = std::move(values); });
}

/// The version (time step) that the next deep_copy puts or gets; what the label says, else 0, when it is not set.
/// Throws for one that was negative.
template <class V>
void set_version(const V& view, std::uint64_t version) {
  static_assert(thalweg::is_staged<V>::value, "the view must be in thalweg::StagingSpace");
  if (version > INT64_MAX) {
    throw thalweg::Error(thalweg::Kind::invalid, "Staging::set_version: version " + std::to_string(version) +
                                                     ", as a signed number " +
                                                     std::to_string(static_cast<std::int64_t>(version)) +
                                                     "; accepted are 0 to 2^63 - 1");
  }
  thalweg::kokkos::Session::here().change(view, [&](thalweg::kokkos::Place& place) { place.version = version; });
}

/// Where the service reorganises the data that this view gets.
template <class V>
void set_strategy(const V& view, thalweg::Strategy strategy) {
  static_assert(thalweg::is_staged<V>::value, "the view must be in thalweg::StagingSpace");
  thalweg::kokkos::Session::here().change(view, [&](thalweg::kokkos::Place& place) { place.strategy = strategy; });
}

/// Makes `view` stand for the variable of `other`, whose layout is another one. Views with the same label do so anyway.
template <class V, class W>
void view_bind_layout(const V& view, const W& other) {
  static_assert(thalweg::is_staged<V>::value && thalweg::is_staged<W>::value,
                "both views must be in thalweg::StagingSpace");
  static_assert(thalweg::kokkos::rank_of<V>() == thalweg::kokkos::rank_of<W>(), "both views must have the same rank");
  static_assert(std::is_same_v<typename V::non_const_value_type, typename W::non_const_value_type>,
                "both views must have cells of the same type");
  auto& session = thalweg::kokkos::Session::here();
  const std::string variable = session.place(other).variable;
  session.change(view, [&](thalweg::kokkos::Place& place) { place.variable = variable; });
}

}  // namespace Kokkos::Staging

#endif  // THALWEG_KOKKOS_PLACE_HPP
