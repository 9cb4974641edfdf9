// The paper's figure 6 in C++: `figure6_cxx put` puts a row-major array, `figure6_cxx get` gets it column-major.
#include <thalweg.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr std::size_t n0 = 4, n1 = 6;

static double cell(std::size_t i, std::size_t j) { return 100.0 * static_cast<double>(i) + static_cast<double>(j); }

static void put(const thalweg::Client& client, std::uint64_t version) {
  std::vector<double> u(n0 * n1);
  for (std::size_t i = 0; i < n0; ++i) {
    for (std::size_t j = 0; j < n1; ++j) u[n1 * i + j] = cell(i, j);
  }
  const auto variable = client.define<double>("figure6", {n0, n1});
  variable.put(version, variable.whole(), u.data());
}

static int get(const thalweg::Client& client, std::uint64_t version) {
  const auto variable = client.open("figure6");
  const auto u = variable.get<double>(thalweg::exactly(version), variable.whole(), thalweg::Layout::left());
  int wrong = u.stride_bytes(0) != sizeof(double);  // column-major: the first axis lies together
  for (std::size_t i = 0; i < n0; ++i) {
    for (std::size_t j = 0; j < n1; ++j) wrong += u(i, j) != cell(i, j) || u.data()[i + n0 * j] != cell(i, j);
  }
  std::printf("%d of %zu cells are wrong\n", wrong, n0 * n1);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "put" && what != "get") {
    std::fprintf(stderr, "usage: %s put|get [VERSION]\n", argv[0]);
    return 2;
  }
  const std::uint64_t version = argc > 2 ? std::stoull(argv[2]) : 0;
  try {
    const thalweg::Client client;  // to THALWEG_ADDRESS
    if (what == "get") return get(client, version);
    put(client, version);
  } catch (const thalweg::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
