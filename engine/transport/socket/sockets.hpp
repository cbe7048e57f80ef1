// Small steps with sockets that both ends need.
#pragma once

#include "core/descriptor.hpp"
#include "transport/socket/address.hpp"

namespace sonde {

[[nodiscard]] Descriptor make_socket(int domain, int type, const char* what);
void set_flag(int fd, int level, int name, const char* what);
void set_blocking(int fd, bool blocking);
// A control connection's frames are small and must leave at once.
void set_no_delay(int fd);

} // namespace sonde
