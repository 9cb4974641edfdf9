// The space that marks a Kokkos view as staged.
#ifndef THALWEG_KOKKOS_SPACE_HPP
#define THALWEG_KOKKOS_SPACE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

#if KOKKOS_VERSION < 30400
#error "thalweg/KokkosStaging.hpp needs Kokkos 3.4 or later"
#endif

namespace thalweg {

/// A space for Kokkos views that are regions of staged variables.
///
/// The view's own memory is host memory: its mirror, which create_mirror_view gives without allocating. Staged cells
/// move by deep_copy alone. Only the space's type tells such a view from others, so that Kokkos' own allocation,
/// layouts and life time serve it in every release; a memory space proper would need parts of Kokkos that change with
/// each.
struct StagingSpace {
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using memory_space = Kokkos::HostSpace;
  using device_type = StagingSpace;
  using size_type = std::size_t;

  static constexpr const char* name() { return "Staging"; }
};

static_assert(Kokkos::is_space<StagingSpace>::value, "Kokkos takes it as the space of a view");

/// Whether `V` is a view in the staging space.
template <class V>
struct is_staged : std::false_type {};
template <class T, class... P>
struct is_staged<Kokkos::View<T, StagingSpace, P...>> : std::true_type {};
template <class T, class L, class... P>
struct is_staged<Kokkos::View<T, L, StagingSpace, P...>> : std::true_type {};

}  // namespace thalweg

namespace Kokkos {
/// As the paper spells it.
using StagingSpace = thalweg::StagingSpace;
}  // namespace Kokkos

#endif  // THALWEG_KOKKOS_SPACE_HPP
