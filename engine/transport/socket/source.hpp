// Where a socket sends from: an address and an interface that were asked for, else the kernel's
// choice.
#pragma once

#include <string>

#include "transport/socket/address.hpp"
#include "transport/socket/options.hpp"

namespace sonde {

// Before connect(). Throws Failure where this host has no such address or interface, or where the
// interface does not lead to the target.
void choose_source(int fd, const SocketOptions& options, const SocketAddress& target);

// The interface by which a socket sends to an address; empty where it cannot be told.
[[nodiscard]] std::string interface_of(int fd, const SocketAddress& peer);

} // namespace sonde
