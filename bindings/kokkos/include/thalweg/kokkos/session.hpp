// The connection of this process, and what it knows of its staging views.
#ifndef THALWEG_KOKKOS_SESSION_HPP
#define THALWEG_KOKKOS_SESSION_HPP

#include <thalweg.hpp>
#include <thalweg/kokkos/space.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::kokkos {

/// Which cells of which variable a staging view stands for.
struct Place {
  std::string variable;
  std::uint64_t version = 0;
  std::optional<std::vector<std::uint64_t>> lower;
  std::optional<std::vector<std::uint64_t>> upper;  // inclusive, as in the paper
  std::optional<std::vector<std::uint64_t>> domain;
  Strategy strategy = Strategy::of_variable;
};

/// `numbers` as a message shows them.
inline std::string shown(const std::vector<std::uint64_t>& numbers) {
  std::string text = "(";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ")";
}

/// The place that a label names: "rho" or "rho/T3".
inline Place place_of_label(const std::string& label) {
  Place place;
  place.variable = label;
  const std::size_t mark = label.rfind("/T");
  if (mark == std::string::npos || mark + 2 == label.size()) return place;
  std::uint64_t version = 0;
  for (std::size_t i = mark + 2; i < label.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(label[i]) - '0';
    if (digit > 9) return place;
    if (version > (INT64_MAX - digit) / 10) {
      throw Error(Kind::invalid, "staging view: the version in label \"" + label + "\" exceeds 2^63 - 1");
    }
    version = version * 10 + digit;
  }
  place.variable = label.substr(0, mark);
  place.version = version;
  return place;
}

/// What this process holds between initialize and finalize.
class Session {
 public:
  static Session& here() {
    static Session session;
    return session;
  }

  void initialize(const Client::Options& options, Deadline deadline) {
    if (!Kokkos::is_initialized()) throw Error(Kind::invalid, "Staging::initialize: call Kokkos::initialize first");
    const std::lock_guard<std::mutex> lock(mutex_);
    if (client_) throw Error(Kind::invalid, "Staging::initialize: called already; call Staging::finalize before");
    client_.emplace(options, deadline);
    // Views must not outlive Kokkos, and a program may end without Staging::finalize.
    if (!std::exchange(hooked_, true)) {
      Kokkos::push_finalize_hook([] {
        here().finalize();
        here().hooked_ = false;
      });
    }
  }

  void finalize() {
    const std::lock_guard<std::mutex> lock(mutex_);
    known_.clear();
    opened_.clear();
    client_.reset();
  }

  /// The connection, for what deep_copy does not do.
  const Client& client() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return connected();
  }

  void set_timeout(std::chrono::duration<double> within) {
    const std::lock_guard<std::mutex> lock(mutex_);
    within_ = within;
  }
  Deadline deadline() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return within_;
  }

  /// Changes the place of a staging view.
  template <class V, class Change>
  void change(const V& view, Change&& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(known(view).place);
  }
  /// The place of a staging view.
  template <class V>
  Place place(const V& view) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return known(view).place;
  }

  /// The variable of `place` for reading; waits until somebody has defined it.
  std::shared_ptr<Variable> readable(const Place& place) {
    const Deadline deadline = this->deadline();
    return remembered(place.variable, [&](const Client& client) { return client.open(place.variable, deadline); });
  }

  /// The variable of `place` for writing; defined when nobody has.
  std::shared_ptr<Variable> writable(const Place& place, thalweg_dtype dtype, const Region& region) {
    const Deadline deadline = this->deadline();
    std::vector<std::uint64_t> domain(region.dims);
    for (std::uint32_t i = 0; i < region.dims; ++i) domain[i] = region.lower[i] + region.extent[i];
    if (place.domain) domain = *place.domain;
    const auto variable = remembered(place.variable, [&](const Client& client) {
      if (std::optional<Variable> there = defined(client, place.variable)) return std::move(*there);
      Definition definition;
      definition.dtype = dtype;
      definition.domain = domain;
      Variable made = client.define(place.variable, definition, deadline);
      if (!place.domain) made.set_attribute(implied, shown(domain), deadline);
      return made;
    });
    agree(*variable, place, domain, deadline);
    return variable;
  }

 private:
  /// A staging view that somebody has spoken of. It holds a copy of the view, so that no other one can come to lie
  /// where this one does and be taken for it; a view that nobody else holds is forgotten.
  struct Known {
    Place place;
    std::function<bool()> held_elsewhere;
  };

  /// Attribute of a variable whose domain no writer has named.
  static constexpr const char* implied = "thalweg.implied_domain";

  const Client& connected() const {
    if (!client_) throw Error(Kind::invalid, "staging view: call Staging::initialize first");
    return *client_;
  }

  template <class V>
  Known& known(const V& view) {
    connected();
    if (view.data() == nullptr) throw Error(Kind::shape, "staging view \"" + view.label() + "\": it has no cells");
    const auto found = known_.find(view.data());
    if (found != known_.end()) return found->second;
    for (auto at = known_.begin(); at != known_.end();)
      at = at->second.held_elsewhere() ? std::next(at) : known_.erase(at);
    Known fresh{place_of_label(view.label()), [view] { return view.use_count() > 1; }};
    return known_.emplace(view.data(), std::move(fresh)).first->second;
  }

  template <class Make>
  std::shared_ptr<Variable> remembered(const std::string& name, Make&& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      connected();
      const auto found = opened_.find(name);
      if (found != opened_.end()) return found->second;
    }
    // Not under the lock: opening may wait for a writer that is another thread of this process.
    auto made = std::make_shared<Variable>(make(*client_));
    const std::lock_guard<std::mutex> lock(mutex_);
    return opened_.emplace(name, std::move(made)).first->second;
  }

  static std::optional<Variable> defined(const Client& client, const std::string& name) {
    for (const std::string& there : client.variables()) {
      if (there == name) return client.open(name);
    }
    return std::nullopt;
  }

  /// Two writers that name no domain must mean the same one: else who comes first would decide which cells there are.
  static void agree(const Variable& there, const Place& place, const std::vector<std::uint64_t>& domain,
                    Deadline deadline) {
    const Definition have = there.definition();
    if (have.domain == domain) return;
    if (!place.domain) {
      try {
        there.attribute(implied, deadline);
      } catch (const Error& error) {
        if (error.kind() == Kind::not_found) return;  // somebody has named it: the region need only lie inside
        throw;
      }
    }
    throw Error(Kind::shape, "staging view: variable \"" + place.variable + "\" has domain " + shown(have.domain) +
                                 ", this view means " + shown(domain) +
                                 "; where views are parts of a domain, give it with Staging::set_domain");
  }

  std::mutex mutex_;
  std::optional<Client> client_;
  std::map<const void*, Known> known_;
  std::map<std::string, std::shared_ptr<Variable>> opened_;
  std::chrono::duration<double> within_ = std::chrono::minutes(1);
  bool hooked_ = false;
};

}  // namespace thalweg::kokkos

#endif  // THALWEG_KOKKOS_SESSION_HPP
