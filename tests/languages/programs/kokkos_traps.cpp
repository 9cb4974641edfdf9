// What the first Kokkos Staging Space did in silence, or not at all: each works here, or is an error with a kind.
#include <Kokkos_Core.hpp>
#include <thalweg/KokkosStaging.hpp>

#include <cstdio>
#include <string>
#include <type_traits>

#include "check.hpp"

namespace Staging = Kokkos::Staging;
using thalweg::Kind;

template <class L>
using Host = Kokkos::View<double**, L, Kokkos::HostSpace>;
template <class L>
using Staged = Kokkos::View<double**, L, thalweg::StagingSpace>;
using Left = Kokkos::LayoutLeft;
using Right = Kokkos::LayoutRight;

static double cell(int i, int j) { return 100.0 * i + j; }

template <class V>
static void fill(const V& view, double more = 0) {
  for (int i = 0; i < static_cast<int>(view.extent(0)); ++i) {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) view(i, j) = cell(i, j) + more;
  }
}
template <class V>
static bool filled(const V& view, double more = 0, int i0 = 0, int j0 = 0) {
  for (int i = 0; i < static_cast<int>(view.extent(0)); ++i) {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) {
      if (view(i, j) != cell(i0 + i, j0 + j) + more) return false;
    }
  }
  return true;
}

// Before initialize, and after finalize, everything is refused.
static void not_initialized() {
  Staged<Right> staged("early", 3, 4);
  THROWS(Kind::invalid, "call Staging::initialize first", Staging::set_version(staged, 1));
  THROWS(Kind::invalid, "call Staging::initialize first", Kokkos::deep_copy(staged, Host<Right>("h", 3, 4)));
}

// deep_copy of any layout to and from any other; the incumbent did nothing when they differed.
template <class Writer, class Stage, class Reader>
static void layouts(const std::string& name) {
  Host<Writer> from("from", 3, 4);
  Host<Reader> to("to", 3, 4);
  Staged<Stage> staged(name, 3, 4);
  fill(from);
  Kokkos::deep_copy(staged, from);
  // A loop that forgets set_version must not stage its first step for ever.
  THROWS(Kind::exists, "was put before by", Kokkos::deep_copy(staged, from));
  fill(from, 1000);  // the source may be changed at once
  Kokkos::deep_copy(to, staged);
  TRUE(filled(to));
}

// A strided view, which is not contiguous; the incumbent did nothing.
static void strides() {
  Kokkos::View<double***, Right, Kokkos::HostSpace> from("from", 3, 4, 5), to("to", 3, 4, 5);
  const auto plane = Kokkos::subview(from, Kokkos::ALL, Kokkos::ALL, 2);
  const auto target = Kokkos::subview(to, Kokkos::ALL, Kokkos::ALL, 3);
  TRUE(!plane.span_is_contiguous());
  fill(plane);
  Staged<Left> staged("strided", 3, 4);
  Kokkos::deep_copy(staged, plane);
  Kokkos::deep_copy(target, staged);
  TRUE(filled(target));
  TRUE(to(1, 1, 2) == 0 && to(1, 1, 4) == 0);  // the cells beside it are as they were
}

static void extents() {
  Staged<Right> staged("extents", 3, 4);
  THROWS(Kind::shape, "\"extents\" has extents (3, 4), \"h\" (3, 5)",
         Kokkos::deep_copy(staged, Host<Right>("h", 3, 5)));
  THROWS(Kind::shape, "\"h\" has extents (4, 3), \"extents\" (3, 4)",
         Kokkos::deep_copy(Host<Right>("h", 4, 3), staged));
}

// A variable of another type; other types of the two views do not compile (see the tests of refused programs).
static void types() {
  Kokkos::View<float**, Right, Kokkos::HostSpace> from("from", 3, 4), to("to", 3, 4);
  Kokkos::View<float**, Right, thalweg::StagingSpace> single("types", 3, 4);
  Kokkos::deep_copy(single, from);
  Staged<Right> doubles("types", 3, 4);
  THROWS(Kind::dtype, "\"types\" holds float32, the given array float64",
         Kokkos::deep_copy(doubles, Host<Right>("h", 3, 4)));
  THROWS(Kind::dtype, "\"types\" holds float32, the given array float64",
         Kokkos::deep_copy(Host<Right>("h", 3, 4), doubles));
  Kokkos::deep_copy(to, single);
}

static void bounds() {
  Host<Right> whole("whole", 6, 4), rows("rows", 2, 4);
  fill(whole);
  Staged<Right> staged("bounds", 6, 4);
  Staging::set_upper_bound(staged, 5, 3);  // the last cell
  Kokkos::deep_copy(staged, whole);
  Staged<Right> part("bounds", 2, 4);
  Staging::set_lower_bound(part, 3, 0);
  Kokkos::deep_copy(rows, part);  // the upper bound follows from the extents
  TRUE(filled(rows, 0, 3, 0));
  Staging::set_upper_bound(part, 4, 3);
  Kokkos::deep_copy(rows, part);
  Staging::set_upper_bound(part, 5, 4);  // one behind the last
  THROWS(Kind::shape, "bounds (3, 0) to (5, 4) for extents (2, 4); the upper bound is the last cell",
         Kokkos::deep_copy(rows, part));
  Staged<Right> outside("bounds", 2, 4);
  Staging::set_lower_bound(outside, 5, 0);
  THROWS(Kind::shape, "\"bounds\"", Kokkos::deep_copy(rows, outside));
  THROWS(Kind::shape, "bound -1 is negative", Staging::set_lower_bound(outside, -1, 0));
}

// Writers of parts of one domain; readers of regions that lie over them, or that do not meet: all are served. The
// incumbent dropped the pattern that did not meet the first one.
static void parts() {
  Host<Left> piece("piece", 3, 4), across("across", 4, 2);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j) piece(i, j) = cell(3 * k + i, j);
    }
    Staged<Left> staged("parts", 3, 4);
    Staging::set_domain(staged, 6, 4);
    Staging::set_lower_bound(staged, 3 * k, 0);
    Kokkos::deep_copy(staged, piece);
  }
  for (const int j : {0, 2, 0}) {
    Staged<Right> region("parts", 4, 2);
    Staging::set_lower_bound(region, 1, j);
    Kokkos::deep_copy(across, region);
    TRUE(filled(across, 0, 1, j));
  }
  Staged<Left> first("implied", 3, 4), second("implied", 3, 4);
  Kokkos::deep_copy(first, piece);
  const std::string words =
      "has domain (3, 4), this view means (6, 4); where views are parts of a domain, give it with Staging::set_domain";
  Staging::set_lower_bound(second, 3, 0);
  THROWS(Kind::shape, words, Kokkos::deep_copy(second, piece));
  Staging::finalize();  // another process would not know the variable either
  Staging::initialize({}, std::chrono::seconds(10));
  Staging::set_lower_bound(second, 3, 0);
  THROWS(Kind::shape, words, Kokkos::deep_copy(second, piece));
}

// Versions by set_version and by label; a reader gets the one that it asks for.
static void versions() {
  Host<Right> from("from", 3, 4), to("to", 3, 4);
  Staged<Right> staged("steps", 3, 4);
  for (int step = 0; step < 3; ++step) {
    fill(from, step);
    Staging::set_version(staged, step);
    Kokkos::deep_copy(staged, from);
  }
  Staged<Left> second("steps/T2", 3, 4), odd("steps/Tx", 3, 4);
  Kokkos::deep_copy(to, second);
  TRUE(filled(to, 2));
  Staging::set_version(second, 1);  // says more than the label
  Kokkos::deep_copy(to, second);
  TRUE(filled(to, 1));
  Staging::set_timeout(std::chrono::milliseconds(50));
  THROWS(Kind::timeout, "\"steps/Tx\"", Kokkos::deep_copy(to, odd));  // no version: part of the name
  Staging::set_version(second, 7);
  THROWS(Kind::timeout, "\"steps\"", Kokkos::deep_copy(to, second));
  Staging::set_timeout(std::chrono::minutes(1));
  THROWS(Kind::invalid, "exceeds 2^63 - 1", Staging::set_version(Staged<Right>("v/T9223372036854775808", 3, 4), 0));
  THROWS(Kind::invalid, "as a signed number -1; accepted are 0 to 2^63 - 1", Staging::set_version(second, -1));
}

// A view that comes to lie where another one did is not taken for it.
static void reused_memory() {
  Host<Right> from("from", 3, 4), to("to", 3, 4);
  fill(from);
  for (int k = 0; k < 10; ++k) {
    Staged<Right> staged("reused/T" + std::to_string(k), 3, 4);
    Kokkos::deep_copy(staged, from);
  }
  Staged<Right> last("reused", 3, 4);
  Staging::set_version(last, 9);
  Kokkos::deep_copy(to, last);
  TRUE(filled(to));
}

// Kokkos' other ways to copy: none leaves the staged cells behind.
static void other_ways() {
  Host<Right> to("to", 3, 4);
  Staged<Right> staged("ways", 3, 4), other("ways elsewhere", 3, 4);
  Kokkos::deep_copy(staged, 7.0);
  Kokkos::deep_copy(to, staged);
  TRUE(to(0, 0) == 7 && to(2, 3) == 7);
  Kokkos::deep_copy(other, staged);  // from variable to variable
  Host<Right> ramp("ramp", 3, 4), inner("inner", 2, 2);
  fill(ramp);
  Staged<Right> ramps("ramps", 3, 4), corner("ramps", 2, 2), moved("corner", 2, 2);
  Kokkos::deep_copy(ramps, ramp);
  Staging::set_lower_bound(corner, 1, 2);
  Kokkos::deep_copy(moved, corner);  // part of a piece: its cells do not lie together
  Kokkos::deep_copy(inner, moved);
  TRUE(filled(inner, 0, 1, 2));
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), other);
  TRUE(copy(0, 0) == 7 && copy(2, 3) == 7 && copy.data() != other.data());
  const auto mirror = Kokkos::create_mirror_view(staged);
  fill(mirror);
  Staging::set_version(staged, 1);
  Kokkos::deep_copy(staged, mirror);
  Kokkos::deep_copy(Kokkos::DefaultHostExecutionSpace(), to, staged);
  TRUE(filled(to));
  const Kokkos::View<const double**, Right, Kokkos::HostSpace> constant(to);
  Staging::set_version(staged, 2);
  Kokkos::deep_copy(staged, constant);
  Kokkos::View<double**, thalweg::StagingSpace> plain("ways/T2", 3, 4);  // in the host's own layout
  Kokkos::deep_copy(mirror, plain);
  TRUE(filled(mirror));
}

// More axes, and cells that are not doubles.
static void ranks() {
  Kokkos::View<int****, Left, Kokkos::HostSpace> from("from", 2, 3, 4, 5);
  Kokkos::View<int****, Right, Kokkos::HostSpace> to("to", 2, 3, 4, 5);
  Kokkos::View<int****, Left, thalweg::StagingSpace> staged("ranks", 2, 3, 4, 5);
  Kokkos::View<int*, Right, thalweg::StagingSpace> line("line", 5);
  Kokkos::View<int*, Right, Kokkos::HostSpace> numbers("numbers", 5), back("back", 5);
  for (int i = 0; i < 120; ++i) from(i / 60, i / 20 % 3, i / 5 % 4, i % 5) = i;
  for (int i = 0; i < 5; ++i) numbers(i) = i;
  Kokkos::deep_copy(staged, from);
  Kokkos::deep_copy(to, staged);
  for (int i = 0; i < 120; ++i) TRUE(to.data()[i] == i);
  Kokkos::deep_copy(line, numbers);
  Kokkos::deep_copy(back, line);
  for (int i = 0; i < 5; ++i) TRUE(back(i) == i);
}

static void binding() {
  Host<Right> from("from", 3, 4);
  Host<Left> to("to", 3, 4);
  fill(from);
  Staged<Right> rows("bound", 3, 4);
  Staged<Left> columns("another name", 3, 4);
  Staging::view_bind_layout(columns, rows);
  Kokkos::deep_copy(rows, from);
  Kokkos::deep_copy(to, columns);
  TRUE(filled(to) && to.data()[1] == cell(1, 0));
}

// Reading without a copy: whoever borrows sees the same memory.
static void borrowed() {
  Host<Right> from("from", 3, 4);
  fill(from);
  Staged<Right> staged("borrowed/T5", 3, 4), part("borrowed/T5", 2, 2);
  Kokkos::deep_copy(staged, from);
  const auto one = Staging::borrow(staged), two = Staging::borrow(staged);
  TRUE(filled(one.cells()) && one.version() == 5);
  TRUE(one.cells().data() == two.cells().data());
  Staging::set_lower_bound(part, 1, 1);
  const auto three = Staging::borrow(part);
  TRUE(filled(three.cells(), 0, 1, 1));
  TRUE(three.cells().data() == &one.cells()(1, 1));
}

static void no_cells() {
  Staged<Right> staged("empty", 0, 4);
  THROWS(Kind::shape, "(0, 4)", Kokkos::deep_copy(staged, Host<Right>("h", 0, 4)));
}

#if KOKKOS_VERSION < 40300
// Memory that the host cannot read stands for a device's.
struct Far {
  static constexpr const char* get_name() { return "Far"; }
};
static void devices() {
  using Space =
      Kokkos::Experimental::LogicalMemorySpace<Kokkos::HostSpace, Kokkos::DefaultHostExecutionSpace, Far,
                                               Kokkos::Experimental::LogicalSpaceSharesAccess::no_shared_access>;
  using Device = Kokkos::View<double**, Left, Space>;
  static_assert(!thalweg::kokkos::on_host<Device>());
  Host<Left> host("host", 3, 4), back("back", 3, 4);
  Device device("device", 3, 4), again("again", 3, 4);
  fill(host);
  Kokkos::deep_copy(device, host);
  Staged<Right> staged("devices", 3, 4);
  Kokkos::deep_copy(staged, device);
  Kokkos::deep_copy(again, staged);
  Kokkos::deep_copy(back, again);
  TRUE(filled(back));
  Staged<Right> part("devices", 2, 3);  // part of a piece: its cells do not lie together
  Device piece("piece", 2, 3);
  Host<Left> shown("shown", 2, 3);
  Staging::set_lower_bound(part, 1, 1);
  Kokkos::deep_copy(piece, part);
  Kokkos::deep_copy(shown, piece);
  TRUE(filled(shown, 0, 1, 1));
}
#else
static void devices() {}
#endif

int main(int argc, char* argv[]) {
  THROWS(Kind::invalid, "call Kokkos::initialize first", Staging::initialize());
  Kokkos::initialize(argc, argv);
  not_initialized();
  Staging::initialize();
  THROWS(Kind::invalid, "called already", Staging::initialize());
  layouts<Right, Right, Right>("rrr");
  layouts<Right, Right, Left>("rrl");
  layouts<Right, Left, Right>("rlr");
  layouts<Right, Left, Left>("rll");
  layouts<Left, Right, Right>("lrr");
  layouts<Left, Right, Left>("lrl");
  layouts<Left, Left, Right>("llr");
  layouts<Left, Left, Left>("lll");
  strides();
  extents();
  types();
  bounds();
  parts();
  versions();
  reused_memory();
  other_ways();
  ranks();
  binding();
  borrowed();
  no_cells();
  devices();
  Staging::finalize();
  not_initialized();
  Staging::initialize();  // and ended by Kokkos
  Kokkos::finalize();
  if (failures > 0) std::fprintf(stderr, "%d checks failed\n", failures);
  return failures > 0;
}
