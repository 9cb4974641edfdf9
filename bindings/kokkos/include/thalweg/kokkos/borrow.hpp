// The service's own memory as a Kokkos view, for reading without a copy.
#ifndef THALWEG_KOKKOS_BORROW_HPP
#define THALWEG_KOKKOS_BORROW_HPP

#include <thalweg/kokkos/transfer.hpp>

#include <utility>

namespace thalweg::kokkos {

/// Staged cells for reading, as long as this lives.
template <class V>
class Borrowed {
 public:
  using Kept = View<typename V::non_const_value_type>;

  explicit Borrowed(Kept&& kept) : kept_(std::move(kept)) {}

  /// A host view with strides of its own: the cells may be part of a larger piece.
  auto cells() const { return strided<V>(kept_); }
  std::uint64_t version() const { return kept_.version(); }

 private:
  Kept kept_;
};

}  // namespace thalweg::kokkos

namespace Kokkos::Staging {

/// What stands at `staged`, without a copy where one piece, or one replica, holds it in the view's layout. Blocks until
/// it is complete. End it before Staging::finalize.
template <class V>
thalweg::kokkos::Borrowed<V> borrow(const V& staged) {
  static_assert(thalweg::is_staged<V>::value, "the view must be in thalweg::StagingSpace");
  using T = typename V::non_const_value_type;
  auto& session = thalweg::kokkos::Session::here();
  const thalweg::kokkos::Place place = session.place(staged);
  const thalweg::Region region = thalweg::kokkos::region_of(staged, place);
  const std::shared_ptr<thalweg::Variable> variable = session.readable(place);
  return thalweg::kokkos::Borrowed<V>(variable->get<T>(thalweg::exactly(place.version), region,
                                                       thalweg::kokkos::packed_layout<V>(), place.strategy,
                                                       session.deadline()));
}

}  // namespace Kokkos::Staging

#endif  // THALWEG_KOKKOS_BORROW_HPP
