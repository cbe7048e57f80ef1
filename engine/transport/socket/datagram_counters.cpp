#include "transport/socket/datagram_counters.hpp"

#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

namespace sonde {

std::map<std::string, std::int64_t> datagram_counters(int fd) {
    int type = 0;
    socklen_t type_size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_DGRAM) {
        return {};
    }
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t size = sizeof memory;
    const std::size_t needed = (SK_MEMINFO_DROPS + 1) * sizeof memory[0];
    if (::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0 || size < needed) {
        return {};
    }
    return {{"drops", memory[SK_MEMINFO_DROPS]}};
}

} // namespace sonde
