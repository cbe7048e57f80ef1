// What the kernel dropped of the datagrams that came for one socket.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sonde {

// drops: datagrams that a full buffer or a wrong checksum kept from the socket since it was opened.
// Empty where fd is no datagram socket, or the kernel does not tell.
[[nodiscard]] std::map<std::string, std::int64_t> datagram_counters(int fd);

} // namespace sonde
