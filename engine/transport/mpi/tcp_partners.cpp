#include "transport/mpi/tcp_partners.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>

#include "transport/mpi/call.hpp"

namespace sonde::mpi {
namespace {

// What was handed to the kernel last is on its way by then.
constexpr timespec settle{0, 50'000'000};
constexpr std::size_t most_connections = 65'536;

using Ask = int (*)(int, sockaddr*, socklen_t*);

std::optional<TcpEnd> end_of(int fd, Ask ask) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (ask(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
        return std::nullopt;
    }
    TcpEnd end;
    if (address.ss_family == AF_INET) {
        sockaddr_in found{};
        std::memcpy(&found, &address, sizeof found);
        end.address[10] = end.address[11] = 0xff;
        std::memcpy(end.address + 12, &found.sin_addr, sizeof found.sin_addr);
        end.port = found.sin_port;
    } else if (address.ss_family == AF_INET6) {
        sockaddr_in6 found{};
        std::memcpy(&found, &address, sizeof found);
        std::memcpy(end.address, &found.sin6_addr, sizeof found.sin6_addr);
        end.port = found.sin6_port;
    } else {
        return std::nullopt;
    }
    return end;
}

void add(int fd, TcpSent& sent) {
    const auto local = end_of(fd, ::getsockname);
    const auto remote = end_of(fd, ::getpeername);
    tcp_info info{}; // what an older kernel does not know stays 0
    socklen_t bytes = sizeof info;
    if (local && remote && sent.size() < most_connections &&
        ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0) {
        sent[{*local, *remote}] +=
            static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans);
    }
}

// Every rank's connections, in order of rank; `counts` is how many each has.
std::vector<TcpEnds> connections_of_all(const Job& job, const std::vector<TcpEnds>& mine,
                                        std::vector<int>& counts) {
    const auto ranks = static_cast<std::size_t>(job.ranks());
    const int own = static_cast<int>(mine.size());
    counts.resize(ranks);
    check(MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, job.control()),
          "tell its connections");
    std::vector<int> bytes(ranks);
    std::vector<int> places(ranks);
    std::size_t all = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        bytes[rank] = counts[rank] * static_cast<int>(sizeof(TcpEnds));
        places[rank] = static_cast<int>(all * sizeof(TcpEnds));
        all += static_cast<std::size_t>(counts[rank]);
    }
    std::vector<TcpEnds> found(all);
    check(MPI_Allgatherv(mine.data(), own * static_cast<int>(sizeof(TcpEnds)), MPI_BYTE,
                         found.data(), bytes.data(), places.data(), MPI_BYTE, job.control()),
          "tell its connections");
    return found;
}

} // namespace

TcpSent tcp_sent() {
    TcpSent sent;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), ::closedir);
    if (open == nullptr) {
        return sent;
    }
    while (const dirent* entry = ::readdir(open.get())) {
        char* end = nullptr;
        const long fd = std::strtol(entry->d_name, &end, 10);
        if (end != entry->d_name) {
            add(static_cast<int>(fd), sent);
        }
    }
    return sent;
}

std::vector<std::int64_t> bytes_to_partners(const Job& job, const TcpSent& before) {
    ::nanosleep(&settle, nullptr);
    const TcpSent now = tcp_sent();
    std::vector<TcpEnds> mine;
    for (const auto& [ends, bytes] : now) {
        mine.push_back(ends);
    }
    std::vector<int> counts;
    const std::vector<TcpEnds> every = connections_of_all(job, mine, counts);
    std::map<TcpEnds, std::size_t> owner; // of a connection by its ends, as seen from there
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        for (int i = 0; i < counts[rank]; ++i) {
            owner[every[at++]] = rank;
        }
    }
    std::vector<std::int64_t> to(counts.size());
    for (const auto& [ends, bytes] : now) {
        const auto peer = owner.find({ends.remote, ends.local});
        if (peer != owner.end()) {
            const auto was = before.find(ends);
            to[peer->second] += bytes - (was == before.end() ? 0 : was->second);
        }
    }
    return to;
}

} // namespace sonde::mpi
