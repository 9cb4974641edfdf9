// Kokkos views in the staging service: View<double**, LayoutLeft, thalweg::StagingSpace>, filled and read by deep_copy.
//
// As in figure 6 of Zhang et al. (heterogeneous DataSpaces and the Kokkos Staging Space), with Kokkos::StagingSpace and
// Kokkos::Staging as the paper spells them. A staging view is a region of a variable, in a layout: its label is the
// variable's name ("rho"), or name and version ("rho/T3"). deep_copy puts and gets; whatever layouts the two views
// have, the cells arrive where their indices say. Errors are thalweg::Error.
//
// Kokkos 3.4 and later; of Kokkos only its public interface is used.
#ifndef THALWEG_KOKKOS_STAGING_HPP
#define THALWEG_KOKKOS_STAGING_HPP

#include <thalweg/kokkos/borrow.hpp>
#include <thalweg/kokkos/deep_copy.hpp>
#include <thalweg/kokkos/place.hpp>
#include <thalweg/kokkos/session.hpp>
#include <thalweg/kokkos/space.hpp>

#endif  // THALWEG_KOKKOS_STAGING_HPP
