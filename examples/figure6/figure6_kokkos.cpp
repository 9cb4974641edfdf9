// The paper's figure 6 with Kokkos: `figure6_kokkos put` puts a row-major view, `… get` gets it column-major.
#include <Kokkos_Core.hpp>
#include <thalweg/KokkosStaging.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

using Data_t = double;

constexpr int i0 = 4, i1 = 6;              // what every language of this example puts and gets
constexpr int lb0 = 0, lb1 = 0;            // the first cell
constexpr int ub0 = i0 - 1, ub1 = i1 - 1;  // the last cell

static double cell(int i, int j) { return 100.0 * i + j; }

static void put(int version) {
  using ViewHost_lr_t = Kokkos::View<Data_t**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using ViewStaging_lr_t = Kokkos::View<Data_t**, Kokkos::LayoutRight, Kokkos::StagingSpace>;
  ViewHost_lr_t v_P("PutView", i0, i1);
  ViewStaging_lr_t v_S_lr("figure6", i0, i1);
  Kokkos::Staging::set_lower_bound(v_S_lr, lb0, lb1);
  Kokkos::Staging::set_upper_bound(v_S_lr, ub0, ub1);
  Kokkos::Staging::set_version(v_S_lr, version);
  for (int i = 0; i < i0; ++i) {
    for (int j = 0; j < i1; ++j) v_P(i, j) = cell(i, j);
  }
  Kokkos::deep_copy(v_S_lr, v_P);  // from host to staging
}

static int get(int version) {
  using ViewHost_ll_t = Kokkos::View<Data_t**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using ViewStaging_lr_t = Kokkos::View<Data_t**, Kokkos::LayoutRight, Kokkos::StagingSpace>;
  using ViewStaging_ll_t = Kokkos::View<Data_t**, Kokkos::LayoutLeft, Kokkos::StagingSpace>;
  ViewHost_ll_t v_G("GetView", i0, i1);
  ViewStaging_lr_t v_S_lr("figure6", i0, i1);
  ViewStaging_ll_t v_S_ll("StagingView_LayoutLeft", i0, i1);
  Kokkos::Staging::set_lower_bound(v_S_ll, lb0, lb1);
  Kokkos::Staging::set_upper_bound(v_S_ll, ub0, ub1);
  Kokkos::Staging::set_version(v_S_ll, version);
  Kokkos::Staging::view_bind_layout(v_S_ll, v_S_lr);  // the same variable in another layout
  Kokkos::deep_copy(v_G, v_S_ll);                     // from staging to host
  int wrong = 0;
  for (int i = 0; i < i0; ++i) {
    for (int j = 0; j < i1; ++j) wrong += v_G(i, j) != cell(i, j) || v_G.data()[i + i0 * j] != cell(i, j);
  }
  std::printf("%d of %d cells are wrong\n", wrong, i0 * i1);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char* argv[]) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int version = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what != "put" && what != "get") {
    std::fprintf(stderr, "usage: %s put|get [VERSION]\n", argv[0]);
    return 2;
  }
  Kokkos::initialize(argc, argv);
  int status = EXIT_SUCCESS;
  try {
    Kokkos::Staging::initialize();
    if (what == "put") {
      put(version);
    } else {
      status = get(version);
    }
    Kokkos::Staging::finalize();
  } catch (const thalweg::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = EXIT_FAILURE;
  }
  Kokkos::finalize();
  return status;
}
