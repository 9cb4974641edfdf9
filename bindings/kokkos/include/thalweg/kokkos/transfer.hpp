// Put and get between Kokkos views and the staging service.
#ifndef THALWEG_KOKKOS_TRANSFER_HPP
#define THALWEG_KOKKOS_TRANSFER_HPP

#include <thalweg/kokkos/place.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace thalweg::kokkos {

template <class V>
std::vector<std::uint64_t> extents_of(const V& view) {
  std::vector<std::uint64_t> extents(rank_of<V>());
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = view.extent(i);
  return extents;
}

/// How the cells of a view lie.
template <class V>
Layout layout_of(const V& view) {
  std::vector<std::int64_t> strides(rank_of<V>());
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = static_cast<std::int64_t>(view.stride(i) * sizeof(typename V::value_type));
  }
  return Layout::strided(strides);
}

/// The cells that a staging view stands for.
template <class V>
Region region_of(const V& view, const Place& place) {
  const std::vector<std::uint64_t> extents = extents_of(view);
  const std::vector<std::uint64_t> lower = place.lower.value_or(std::vector<std::uint64_t>(extents.size()));
  for (std::size_t i = 0; place.upper && i < extents.size(); ++i) {
    if ((*place.upper)[i] - lower[i] + 1 == extents[i]) continue;
    throw Error(Kind::shape, "staging view \"" + view.label() + "\": bounds " + shown(lower) + " to " +
                                 shown(*place.upper) + " for extents " + shown(extents) +
                                 "; the upper bound is the last cell, and may be left out");
  }
  return Region(lower, extents);
}

/// What both views of a deep_copy must have in common.
template <class Dst, class Src>
void agree(const Dst& dst, const Src& src) {
  static_assert(rank_of<Dst>() == rank_of<Src>(), "deep_copy needs views of the same rank");
  static_assert(rank_of<Dst>() >= 1, "a staging view has at least one axis");
  static_assert(std::is_same_v<typename Dst::non_const_value_type, typename Src::non_const_value_type>,
                "deep_copy to and from the staging space converts no values: give a view of the same type");
  static_assert(std::is_same_v<typename Dst::value_type, typename Dst::non_const_value_type>,
                "deep_copy needs a destination that is not const");
  if (extents_of(dst) != extents_of(src)) {
    throw Error(Kind::shape, "deep_copy: \"" + dst.label() + "\" has extents " + shown(extents_of(dst)) + ", \"" +
                                 src.label() + "\" " + shown(extents_of(src)) + "; give views of the same extents");
  }
}

/// Whether the host can read and write the memory of `V`.
template <class V>
constexpr bool on_host() {
  return Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename V::memory_space>::accessible;
}

/// Packed host memory seen as a view that lies as `V` does; row-major when `V` is neither that nor column-major.
template <class V, class T>
auto packed(T* start, const V& like) {
  using Right = Kokkos::LayoutRight;
  using Order =
      std::conditional_t<std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft>, Kokkos::LayoutLeft, Right>;
  using Data = std::conditional_t<std::is_const_v<T>, typename V::const_data_type, typename V::non_const_data_type>;
  Order order;
  for (std::size_t i = 0; i < rank_of<V>(); ++i) order.dimension[i] = like.extent(i);
  return Kokkos::View<Data, Order, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(start, order);
}
template <class V>
Layout packed_layout() {
  return std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft> ? Layout::left() : Layout::right();
}

/// Cells of the service seen as a view, with their own strides: they may be part of a larger piece.
template <class V, class T>
auto strided(const View<T>& cells) {
  using Data = typename V::const_data_type;
  using Seen = Kokkos::View<Data, Kokkos::LayoutStride, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::LayoutStride layout;
  for (std::size_t i = 0; i < rank_of<V>(); ++i) {
    layout.dimension[i] = cells.extent(i);
    layout.stride[i] = static_cast<std::size_t>(cells.stride_bytes(i)) / sizeof(T);
  }
  return Seen(cells.data(), layout);
}
/// Whether `cells` lie as those of `view` do.
template <class T, class V>
bool lie_alike(const View<T>& cells, const V& view) {
  for (std::size_t i = 0; i < rank_of<V>(); ++i) {
    const auto stride_bytes = static_cast<std::int64_t>(view.stride(i) * sizeof(T));
    if (view.extent(i) > 1 && cells.stride_bytes(i) != stride_bytes) return false;
  }
  return true;
}

/// Lets `fill` write a put of `staged` in the service's own memory, seen as a host view that lies as `like` does.
template <class V, class W, class Fill>
void put_in_place(const V& staged, const W& like, Fill&& fill) {
  using T = typename V::non_const_value_type;
  Session& session = Session::here();
  const Place place = session.place(staged);
  const Region region = region_of(staged, place);
  const std::shared_ptr<Variable> variable = session.writable(place, dtype_of<T>(), region);
  auto loan = variable->loan<T>(place.version, region, packed_layout<W>(), session.deadline());
  fill(packed(loan.data(), like));
  Kokkos::fence();
  loan.commit(session.deadline());
}

/// Puts `source` where `staged` stands.
template <class V, class S>
void put(const V& staged, const S& source) {
  agree(staged, source);
  Kokkos::fence();
  if constexpr (on_host<S>()) {
    using T = typename V::non_const_value_type;
    Session& session = Session::here();
    const Place place = session.place(staged);
    const Region region = region_of(staged, place);
    const std::shared_ptr<Variable> variable = session.writable(place, dtype_of<T>(), region);
    variable->put(place.version, region, source.data(), layout_of(source), session.deadline());
  } else {
    put_in_place(staged, source, [&](const auto& there) { Kokkos::deep_copy(there, source); });
  }
}

/// Gets what stands at `staged` into `target`; waits until it is complete.
template <class D, class V>
void get(const D& target, const V& staged) {
  using T = typename V::non_const_value_type;
  agree(target, staged);
  Kokkos::fence();
  Session& session = Session::here();
  const Place place = session.place(staged);
  const Region region = region_of(staged, place);
  const std::shared_ptr<Variable> variable = session.readable(place);
  const thalweg_which which = exactly(place.version);
  if constexpr (on_host<D>()) {
    variable->get_into(which, region, target.data(), layout_of(target), place.strategy, session.deadline());
  } else {
    const auto seen = variable->get<T>(which, region, packed_layout<D>(), place.strategy, session.deadline());
    // Only read; but not every space of Kokkos 3 can be filled from a pointer to const.
    const auto direct = packed(const_cast<T*>(seen.data()), target);
    if (lie_alike(seen, direct)) {
      Kokkos::deep_copy(target, direct);
    } else {
      const auto mirror = Kokkos::create_mirror_view(target);
      variable->get_into(which, region, mirror.data(), layout_of(mirror), place.strategy, session.deadline());
      Kokkos::deep_copy(target, mirror);
    }
    Kokkos::fence();
  }
}

/// Puts what stands at `source` where `target` stands.
template <class V, class W>
void pass_on(const V& target, const W& source) {
  using T = typename V::non_const_value_type;
  agree(target, source);
  Session& session = Session::here();
  const Place place = session.place(source);
  const std::shared_ptr<Variable> variable = session.readable(place);
  const auto seen = variable->get<T>(exactly(place.version), region_of(source, place), packed_layout<W>(),
                                     place.strategy, session.deadline());
  put(target, strided<W>(seen));
}

}  // namespace thalweg::kokkos

#endif  // THALWEG_KOKKOS_TRANSFER_HPP
