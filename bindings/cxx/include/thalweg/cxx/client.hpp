// The connection to the staging service.
#ifndef THALWEG_CXX_CLIENT_HPP
#define THALWEG_CXX_CLIENT_HPP

#include <thalweg/cxx/variable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thalweg {

/// A connection to the staging service. Threads may share it; a forked child must make its own.
class Client {
 public:
  struct Options {
    std::string addresses;   ///< Separated by commas; empty: THALWEG_ADDRESS, else a private server in this process.
    std::string name_space;  ///< Variables of different namespaces never meet; empty: "default".
    std::string name;        ///< What this client is called in messages; empty: the program's name.
    std::string token;       ///< The server's secret; empty: THALWEG_TOKEN.
  };

  Client() : Client(Options()) {}
  explicit Client(const Options& options, Deadline deadline = std::chrono::seconds(10)) {
    thalweg_connect_options plain = THALWEG_CONNECT_OPTIONS_INIT;
    plain.addresses = detail::or_null(options.addresses);
    plain.name_space = detail::or_null(options.name_space);
    plain.name = detail::or_null(options.name);
    plain.token = detail::or_null(options.token);
    plain.timeout_s = deadline.left_s();
    thalweg_client* made = nullptr;
    check(thalweg_connect(&plain, &made));
    handle_.reset(made);
  }

  /// Defines a variable, or agrees with the definition that is there.
  Variable define(const std::string& name, const Definition& definition, Deadline deadline = patiently()) const {
    thalweg_definition plain = THALWEG_DEFINITION_INIT;
    if (definition.domain.size() > THALWEG_MAX_DIMS) {
      throw Error(Kind::shape,
                  "stage.define: " + std::to_string(definition.domain.size()) + " axes; accepted are 1 to 8");
    }
    plain.dtype = definition.dtype;
    plain.dims = static_cast<std::uint32_t>(definition.domain.size());
    std::copy(definition.domain.begin(), definition.domain.end(), plain.domain);
    plain.strategy = static_cast<std::uint32_t>(definition.strategy);
    if (definition.keep_last == 0u) {
      throw Error(Kind::invalid, "stage.define: keep_last = 0; accepted are 1 and more, or none to keep every version");
    }
    plain.keep_last = definition.keep_last.value_or(0);
    plain.writers = definition.writers;
    std::vector<thalweg_layout> layouts(definition.layouts.begin(), definition.layouts.end());
    plain.layouts = layouts.data();
    plain.layout_count = static_cast<std::uint32_t>(layouts.size());
    std::vector<thalweg_field> fields;
    for (const auto& field : definition.fields) fields.push_back({field.name.c_str(), field.dtype, field.offset_bytes});
    plain.fields = fields.data();
    plain.field_count = static_cast<std::uint32_t>(fields.size());
    thalweg_variable* made = nullptr;
    check(thalweg_define(handle_.get(), name.c_str(), &plain, deadline.left_s(), &made));
    return Variable(made);
  }
  /// Defines a variable of plain `T`.
  template <class T>
  Variable define(const std::string& name, const std::vector<std::uint64_t>& domain,
                  Deadline deadline = patiently()) const {
    Definition definition;
    definition.dtype = dtype_of<T>();
    definition.domain = domain;
    return define(name, definition, deadline);
  }
  /// Opens a variable; waits until somebody has defined it.
  Variable open(const std::string& name, Deadline deadline = patiently()) const {
    thalweg_variable* made = nullptr;
    check(thalweg_open(handle_.get(), name.c_str(), deadline.left_s(), &made));
    return Variable(made);
  }
  /// The names of the variables that are defined.
  std::vector<std::string> variables(Deadline deadline = patiently()) const {
    thalweg_names* made = nullptr;
    check(thalweg_variables(handle_.get(), deadline.left_s(), &made));
    const detail::Owner<thalweg_names, thalweg_names_release> names(made);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < thalweg_names_count(made); ++i) all.emplace_back(thalweg_names_at(made, i));
    return all;
  }

  /// Copies a whole array into the service.
  template <class T>
  void array_put(const std::string& name, std::uint64_t version, const std::vector<std::uint64_t>& extent,
                 const T* data, const Layout& layout = Layout::right(), bool replace = false,
                 Deadline deadline = patiently()) const {
    const Region whole(std::vector<std::uint64_t>(extent.size()), extent);
    check(thalweg_array_put(handle_.get(), name.c_str(), version, &whole, data, dtype_of<T>(), &layout, replace,
                            deadline.left_s()));
  }
  /// A view of a whole array; waits until it is put.
  template <class T>
  View<T> array_get(const std::string& name, std::uint64_t version, Deadline deadline = patiently()) const {
    thalweg_view* made = nullptr;
    check(thalweg_array_get(handle_.get(), name.c_str(), version, deadline.left_s(), &made));
    return View<T>(made);
  }
  /// Whether a whole array is there now.
  bool array_exists(const std::string& name, std::uint64_t version, Deadline deadline = patiently()) const {
    std::int32_t there = 0;
    check(thalweg_array_exists(handle_.get(), name.c_str(), version, deadline.left_s(), &there));
    return there != 0;
  }
  /// Removes a whole array; whether it was there.
  bool array_delete(const std::string& name, std::uint64_t version, Deadline deadline = patiently()) const {
    std::int32_t existed = 0;
    check(thalweg_array_delete(handle_.get(), name.c_str(), version, deadline.left_s(), &existed));
    return existed != 0;
  }

  /// The handle, for functions of thalweg.h.
  thalweg_client* get_handle() const { return handle_.get(); }

 private:
  detail::Owner<thalweg_client, thalweg_disconnect> handle_;
};

}  // namespace thalweg

#endif  // THALWEG_CXX_CLIENT_HPP
