// TCP_INFO of a connection, with only the fields that the running kernel knows.
#pragma once

#include <linux/tcp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace sonde {

struct TcpInfo {
    tcp_info values{};
    std::size_t known_bytes = 0;

    // known_bytes is 0 where fd is no TCP connection.
    static TcpInfo of(int fd) noexcept;
};

// The counters of a connection by their names in snapshots, without the prefix.
[[nodiscard]] std::map<std::string, std::int64_t> connection_counters(const TcpInfo& info);

} // namespace sonde
