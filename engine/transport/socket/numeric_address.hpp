// Numeric IPv4 and IPv6 addresses as text and back. Not by getaddrinfo and getnameinfo: those load
// libraries of the host's C library even for numbers, which a statically linked worker cannot.
#pragma once

#include <sys/socket.h>

#include <string>

namespace sonde {

// Puts an address into `into`, its port 0; false where text is no address of the family. An IPv6
// address may carry a %scope: a device's name where it is link-local, or a number.
[[nodiscard]] bool read_address(sa_family_t family, const std::string& text,
                                sockaddr_storage& into);

// Without the port; empty where it is neither IPv4 nor IPv6.
[[nodiscard]] std::string address_text(const sockaddr* address);

} // namespace sonde
