// The C++ face: owners, typed views, exceptions with kinds, deadlines.
#include "check.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using thalweg::Kind;

static void regions_in_any_layout(const thalweg::Client& client) {
  const auto u = client.define<float>("u", {3, 4, 5});
  std::vector<float> cells(60);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<float>(i);
  u.put(0, u.whole(), cells.data());
  const thalweg::Region part({1, 0, 2}, {2, 4, 3});
  for (const auto& layout : {thalweg::Layout::right(), thalweg::Layout::left(), thalweg::Layout::of({1, 2, 0})}) {
    const auto view = u.get<float>(thalweg::exactly(0), part, layout);
    bool same = true;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int k = 0; k < 3; ++k) same = same && view(i, j, k) == cells[20 * (i + 1) + 5 * j + k + 2];
      }
    }
    TRUE(same);
    TRUE(view.dims() == 3 && view.extent(1) == 4 && view.region().lower[2] == 2);
  }
  std::vector<float> mine(2 * 24, -1.0f);  // every second element of a row-major array
  u.get_into(thalweg::latest(), part, mine.data(), thalweg::Layout::strided({96, 24, 8}));
  TRUE(mine[0] == cells[22] && mine[1] == -1.0f && mine[46] == cells[59]);
  THROWS(Kind::dtype, "float64 was asked for, the cells are float32", u.get<double>(thalweg::exactly(0), part));
  THROWS(Kind::dtype, "\"u\" holds float32, the given array int32", u.put(1, u.whole(), std::vector<int>(60).data()));
  THROWS(Kind::shape, "\"u\"", u.put(1, thalweg::Region({0, 0, 0}, {3, 4, 6}), cells.data()));
  const long step = -1;
  THROWS(Kind::invalid, "as a signed number -1; accepted are 0 to 2^63 - 1", u.put(step, u.whole(), cells.data()));
  THROWS(Kind::shape, "3 lower bounds and 2 extents", thalweg::Region({0, 0, 0}, {1, 1}));
}

static void views_outlive_what_they_came_from(const thalweg::Client& client) {
  std::optional<thalweg::View<double>> kept;
  {
    const auto u = client.define<double>("kept", {8});
    u.put(0, u.whole(), std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}.data());
    kept.emplace(u.get<double>(thalweg::exactly(0), u.whole()));
    TRUE(u.release(0));
    TRUE(!u.release(0));
  }
  thalweg::View<double> moved = std::move(*kept);
  kept.reset();
  TRUE(moved(5) == 5 && moved.version() == 0);
}

static void loans(const thalweg::Client& client) {
  const auto u = client.define<double>("lent", {2, 3});
  {
    auto loan = u.loan<double>(0, u.whole(), thalweg::Layout::left());
    TRUE(loan.stride_bytes(0) == 8 && loan.stride_bytes(1) == 16);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) loan(i, j) = 10 * i + j;
    }
    loan.commit();
  }
  const auto view = u.get<double>(thalweg::exactly(0), u.whole(), thalweg::Layout::right());
  TRUE(view(1, 2) == 12 && view.data()[3] == 10);
  { auto given_back = u.loan<double>(1, u.whole()); }
  THROWS(Kind::timeout, "\"lent\"", u.get<double>(thalweg::exactly(1), u.whole(), 20ms));
  THROWS(Kind::dtype, "float32 was asked for, the cells are float64", u.loan<float>(1, u.whole()));
}

static void requests_and_deadlines(const thalweg::Client& client) {
  const auto u = client.define<double>("later", {4});
  std::vector<double> got(4);
  auto get = u.iget_into(thalweg::after(2), u.whole(), got.data());
  auto look = u.iget(thalweg::exactly(3), u.whole());
  TRUE(!get.ended());
  THROWS(Kind::timeout, "request.wait", get.wait(std::chrono::steady_clock::now() + 10ms));
  const std::vector<double> cells{1, 2, 3, 4};
  u.iput(3, u.whole(), cells.data()).wait();
  TRUE(get.wait() == 3 && get.ended() && got == cells);
  TRUE(look.view<double>()(2) == 3);
  THROWS(Kind::timeout, "\"later\"", u.get<double>(thalweg::exactly(9), u.whole(), 10ms));
  THROWS(Kind::timeout, "\"nowhere\"", client.open("nowhere", 10ms));
}

struct Particle {
  double mass;
  float charge;
  std::int32_t kind;
};

static void records(const thalweg::Client& client) {
  thalweg::Definition definition;
  definition.dtype = thalweg::dtype_of<Particle>();
  definition.domain = {3};
  definition.fields = {{"mass", thalweg::dtype_of<double>(), 0},
                       {"charge", thalweg::dtype_of<float>(), 8},
                       {"kind", thalweg::dtype_of<std::int32_t>(), 12}};
  definition.keep_last = 2;
  const auto particles = client.define("particles", definition);
  TRUE(particles.definition().fields.size() == 3 && particles.definition().fields[1].name == "charge");
  TRUE(particles.definition().keep_last == 2u);
  const thalweg::Region whole = particles.whole();
  const Particle all[] = {{1, 0.5f, 1}, {2, 1.5f, 2}, {3, 2.5f, 3}};
  particles.put(0, particles.whole(), all);
  alignas(8) char apart[48];  // a struct of arrays: masses, charges, kinds
  const auto arrays = thalweg::Layout::right().with_arrays();
  thalweg::check(thalweg_get_into(particles.get_handle(), thalweg::exactly(0), &whole, apart,
                                  thalweg::dtype_of<Particle>(), &arrays, THALWEG_STRATEGY_DEFAULT, 10.0, nullptr));
  TRUE(reinterpret_cast<const double*>(apart)[2] == 3);
  TRUE(reinterpret_cast<const float*>(apart + 24)[1] == 1.5f);
  TRUE(reinterpret_cast<const std::int32_t*>(apart + 36)[0] == 1);
  TRUE(particles.get<Particle>(thalweg::exactly(0), particles.whole())(1).kind == 2);
}

static void what_is_there(const thalweg::Client& client) {
  thalweg::Definition definition;
  definition.dtype = thalweg::dtype_of<std::int64_t>();
  definition.domain = {4};
  definition.writers = 2;
  const auto u = client.define("listed", definition);
  THROWS(Kind::exists, "\"listed\"", client.define<double>("listed", {4}));
  const std::vector<std::int64_t> cells{1, 2, 3, 10};
  for (std::uint64_t step = 0; step < 20; ++step) u.put(step, u.whole(), cells.data());
  u.seal(0, 0);
  u.seal(0, 1);
  const auto states = u.versions();
  TRUE(states.size() == 20 && states[0].complete == 1 && states[0].seals == 2);
  TRUE(states[19].version == 19 && states[19].cells == 4 && states[19].complete == 0);
  const auto sum = u.reduce(thalweg::exactly(0), u.whole());
  TRUE(sum.count == 4 && sum.min == 1 && sum.max == 10 && sum.sum == 16);
  TRUE((u.histogram(thalweg::exactly(0), u.whole(), {0, 10, 2}) == std::vector<std::uint64_t>{3, 1}));
  u.set_attribute("units", std::string(200, 'm'));
  TRUE(u.attribute("units") == std::string(200, 'm'));
  THROWS(Kind::not_found, "\"nothing\"", u.attribute("nothing"));
  bool listed = false;
  for (const auto& name : client.variables()) listed = listed || name == "listed";
  TRUE(listed);
}

static void whole_arrays(const thalweg::Client& client) {
  const std::vector<std::uint16_t> cells{1, 2, 3, 4, 5, 6};
  TRUE(!client.array_exists("a", 0));
  client.array_put("a", 0, {2, 3}, cells.data(), thalweg::Layout::left());
  THROWS(Kind::exists, "\"a\"", client.array_put("a", 0, {2, 3}, cells.data()));
  TRUE(client.array_get<std::uint16_t>("a", 0)(1, 2) == 6 && client.array_get<std::uint16_t>("a", 0)(1, 0) == 2);
  TRUE(client.array_exists("a", 0) && client.array_delete("a", 0) && !client.array_delete("a", 0));
  THROWS(Kind::timeout, "\"a\"", client.array_get<std::uint16_t>("a", 0, 10ms));
}

int main() {
  const thalweg::Server server;
  thalweg::Client::Options options;
  options.addresses = server.address();
  const thalweg::Client client(options);
  regions_in_any_layout(client);
  views_outlive_what_they_came_from(client);
  loans(client);
  requests_and_deadlines(client);
  records(client);
  what_is_there(client);
  whole_arrays(client);
  options.addresses = "unix:@thalweg-nobody-serves-here";
  THROWS(Kind::gone, "@thalweg-nobody-serves-here", thalweg::Client(options, 10ms));
  if (failures > 0) std::fprintf(stderr, "%d checks failed\n", failures);
  return failures > 0;
}
