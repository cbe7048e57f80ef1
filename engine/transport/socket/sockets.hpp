// Small steps with sockets that both ends need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/descriptor.hpp"
#include "transport/socket/address.hpp"

namespace sonde {

// protocol: 0 is the usual one of the type.
[[nodiscard]] Descriptor make_socket(int domain, int type, const char* what, int protocol = 0);
// Throws Failure("bad_request") where no datagram of the domain carries so many bytes.
void require_datagram(int domain, std::size_t bytes);
void set_flag(int fd, int level, int name, const char* what);
void set_blocking(int fd, bool blocking);
// How long a receive call waits at most.
void set_patience(int fd, std::int64_t patience_ns);
// Whether TCP_CORK is set, and to send what it holds back.
[[nodiscard]] bool is_corked(int fd) noexcept;
void let_through_cork(int fd) noexcept;
// A control connection's frames are small and must leave at once.
void set_no_delay(int fd);

} // namespace sonde
