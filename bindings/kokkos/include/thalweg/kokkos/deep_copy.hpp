// Kokkos::deep_copy for staging views.
//
// Kokkos' own functions take any View<T, P...>. These take View<T, A, P...>, of which every staging view is one, and
// are therefore chosen before them: whatever layouts the two views have, nothing is left for Kokkos to do in silence.
#ifndef THALWEG_KOKKOS_DEEP_COPY_HPP
#define THALWEG_KOKKOS_DEEP_COPY_HPP

#include <thalweg/kokkos/transfer.hpp>

#include <string>
#include <type_traits>

namespace thalweg::kokkos {
template <class... V>
using if_staged = std::enable_if_t<(is_staged<V>::value && ...)>;
}  // namespace thalweg::kokkos

namespace Kokkos {

/// Puts `source` where `staged` stands. Afterwards `source` may be changed.
template <class T, class A, class... P, class ST, class... SP>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const View<T, A, P...>& staged, const View<ST, SP...>& source) {
  thalweg::kokkos::put(staged, source);
}

/// Gets what stands at `staged` into `target`. Blocks until it is complete.
template <class DT, class... DP, class T, class A, class... P>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const View<DT, DP...>& target, const View<T, A, P...>& staged) {
  thalweg::kokkos::get(target, staged);
}

/// Puts what stands at `source` where `target` stands. Blocks until it is complete.
template <class DT, class DA, class... DP, class T, class A, class... P>
thalweg::kokkos::if_staged<View<DT, DA, DP...>, View<T, A, P...>> deep_copy(const View<DT, DA, DP...>& target,
                                                                            const View<T, A, P...>& source) {
  thalweg::kokkos::pass_on(target, source);
}

/// Puts `value` into every cell where `staged` stands.
template <class T, class A, class... P>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const View<T, A, P...>& staged,
                                                       typename View<T, A, P...>::const_value_type& value) {
  thalweg::kokkos::put_in_place(staged, staged, [&](const auto& there) { deep_copy(there, value); });
}

// The same once the work of `space` is done; complete when they return.

template <class Space, class T, class A, class... P, class ST, class... SP>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const Space& space, const View<T, A, P...>& staged,
                                                       const View<ST, SP...>& source) {
  space.fence();
  deep_copy(staged, source);
}

template <class Space, class DT, class... DP, class T, class A, class... P>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const Space& space, const View<DT, DP...>& target,
                                                       const View<T, A, P...>& staged) {
  space.fence();
  deep_copy(target, staged);
}

template <class Space, class DT, class DA, class... DP, class T, class A, class... P>
thalweg::kokkos::if_staged<View<DT, DA, DP...>, View<T, A, P...>> deep_copy(const Space& space,
                                                                            const View<DT, DA, DP...>& target,
                                                                            const View<T, A, P...>& source) {
  space.fence();
  deep_copy(target, source);
}

template <class Space, class T, class A, class... P>
thalweg::kokkos::if_staged<View<T, A, P...>> deep_copy(const Space& space, const View<T, A, P...>& staged,
                                                       typename View<T, A, P...>::const_value_type& value) {
  space.fence();
  deep_copy(staged, value);
}

/// A new view of `space` with what stands at `staged`: Kokkos would give the staging view's own memory, as that is host
/// memory, and copy nothing.
template <class Space, class T, class A, class... P, class = thalweg::kokkos::if_staged<View<T, A, P...>>>
auto create_mirror_view_and_copy(const Space&, const View<T, A, P...>& staged, const std::string& name = "") {
  using Staged = View<T, A, P...>;
  using Mirror = View<typename Staged::non_const_data_type, typename Staged::array_layout, Space>;
  Mirror mirror(view_alloc(name.empty() ? staged.label() : name, WithoutInitializing), staged.layout());
  thalweg::kokkos::get(mirror, staged);
  return mirror;
}

/// A part of a staging view is another region: make a view of its own, and say its bounds. Kokkos would give a part of
/// the staging view's own memory, and deep_copy would move nothing.
template <class T, class A, class... P, class... Parts>
thalweg::kokkos::if_staged<View<T, A, P...>> subview(const View<T, A, P...>&, Parts...) = delete;

}  // namespace Kokkos

#endif  // THALWEG_KOKKOS_DEEP_COPY_HPP
