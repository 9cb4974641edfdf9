// The C++17 face of Thalweg: owners, typed views and exceptions over thalweg.h; headers alone.
//
//   thalweg::Client client;  // to THALWEG_ADDRESS
//   const auto rho = client.define<double>("rho", {n0, n1});
//   rho.put(step, rho.whole(), cells.data());
//   const auto view = rho.get<double>(thalweg::latest(), rho.whole(), thalweg::Layout::left());
//   use(view(i, j));
//
// Every call that fails throws thalweg::Error. Owners are moved, never copied; what they own ends with them.
#ifndef THALWEG_HPP
#define THALWEG_HPP

#include <thalweg/cxx/client.hpp>
#include <thalweg/cxx/server.hpp>
#include <thalweg/cxx/stream.hpp>

#endif  // THALWEG_HPP
