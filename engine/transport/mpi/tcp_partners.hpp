// Whom a rank sends how much, as the kernel counts it: the TCP connections of the ranks'
// processes, put together at both ends. So it is seen what a library does, whatever it says.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "transport/mpi/job.hpp"

namespace sonde::mpi {

// An address and a port, an IPv4 one in IPv6's form; compared byte by byte.
struct TcpEnd {
    std::uint8_t address[16] = {};
    std::uint16_t port = 0;
    auto operator<=>(const TcpEnd&) const = default;
};

struct TcpEnds {
    TcpEnd local;
    TcpEnd remote;
    auto operator<=>(const TcpEnds&) const = default;
};

// Bytes that went out on each connection of this process, without those sent again.
using TcpSent = std::map<TcpEnds, std::int64_t>;
[[nodiscard]] TcpSent tcp_sent();

// All ranks together: what this rank sent to each rank since `before`, bytes, by rank. Zero for all
// where no connection leads to another rank, as where messages go through shared memory.
[[nodiscard]] std::vector<std::int64_t> bytes_to_partners(const Job& job, const TcpSent& before);

} // namespace sonde::mpi
