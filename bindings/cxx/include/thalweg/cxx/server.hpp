// A server in this process.
#ifndef THALWEG_CXX_SERVER_HPP
#define THALWEG_CXX_SERVER_HPP

#include <thalweg/cxx/error.hpp>
#include <thalweg/cxx/owner.hpp>

#include <cstdint>
#include <string>

namespace thalweg {

/// A server in this process, which ends with this object.
class Server {
 public:
  struct Options {
    std::uint64_t memory_limit_bytes = 0;     ///< At least 1 MiB; 0: half of what is available.
    std::uint32_t when_full = THALWEG_BLOCK;  ///< THALWEG_BLOCK, THALWEG_FAIL or THALWEG_DROP_OLDEST.
    std::string socket;                       ///< The Unix socket's name; empty: a fresh abstract one.
    std::string listen;                       ///< host:port to serve other nodes as well.
    std::string token;                        ///< The secret of clients over TCP.
  };

  Server() : Server(Options()) {}
  explicit Server(const Options& options) {
    thalweg_server_options plain = THALWEG_SERVER_OPTIONS_INIT;
    plain.memory_limit_bytes = options.memory_limit_bytes;
    plain.when_full = options.when_full;
    plain.socket = detail::or_null(options.socket);
    plain.listen = detail::or_null(options.listen);
    plain.token = detail::or_null(options.token);
    thalweg_server* made = nullptr;
    check(thalweg_server_start(&plain, &made));
    handle_.reset(made);
  }

  /// The address for clients on this node.
  std::string address() const {
    const char* text = nullptr;
    check(thalweg_server_address(handle_.get(), &text));
    return text;
  }
  /// The address for clients on other nodes; empty without `listen`.
  std::string tcp_address() const {
    const char* text = nullptr;
    check(thalweg_server_tcp_address(handle_.get(), &text));
    return text ? text : "";
  }

 private:
  detail::Owner<thalweg_server, thalweg_server_stop> handle_;
};

}  // namespace thalweg

#endif  // THALWEG_CXX_SERVER_HPP
