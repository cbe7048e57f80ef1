#include "transport/socket/kernel_times.hpp"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::int64_t patience_ns = 100'000'000;
// Two stamps of each message, and a few that came late: what one collect() takes at most.
constexpr int most_taken_at_once = 16;
// In between batches: the kernel switches the stamping of arrivals on and off with a delay.
constexpr unsigned resting = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
constexpr unsigned sending = resting | SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE |
                             SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
constexpr unsigned count_from_written = 1U << 16U; // SOF_TIMESTAMPING_OPT_ID_TCP, Linux 6.2

bool ask_for(int fd, unsigned flags) noexcept {
    return ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) == 0;
}

// Before Linux 6.2 a stream's bytes are counted from the first that is not acknowledged yet.
void await_acknowledged(int fd) noexcept {
    const std::int64_t end_ns = monotonic_ns() + patience_ns * 10;
    int left_bytes = 0;
    while (::ioctl(fd, SIOCOUTQ, &left_bytes) == 0 && left_bytes != 0 && monotonic_ns() < end_ns) {
        ::poll(nullptr, 0, 1);
    }
}

std::int64_t software_ns(const cmsghdr* header) noexcept {
    scm_timestamping times{};
    std::memcpy(&times, CMSG_DATA(header), sizeof times);
    return std::int64_t{times.ts[0].tv_sec} * 1'000'000'000 + times.ts[0].tv_nsec;
}

bool is_stamp(const cmsghdr* header) noexcept {
    return header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPING;
}

bool is_error_report(const cmsghdr* header) noexcept {
    return (header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR) ||
           (header->cmsg_level == SOL_IPV6 && header->cmsg_type == IPV6_RECVERR);
}

} // namespace

ssize_t StampedReceiving::receive(int fd, std::span<std::byte> into, int flags) noexcept {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(scm_timestamping))> extra{};
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = extra.data();
    message.msg_controllen = extra.size();
    const ssize_t got = ::recvmsg(fd, &message, flags);
    if (got >= 0) {
        const cmsghdr* header = CMSG_FIRSTHDR(&message);
        arrival_ns_ = header != nullptr && is_stamp(header) ? software_ns(header) : 0;
    }
    return got;
}

namespace {

// The kernel switches stamping on for all devices at once, by a task of its own that may have to
// wait for a CPU: done when a datagram to oneself has a stamp. Without loopback, no wait.
void await_stamping() {
    const Descriptor self(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (!self || ::bind(self.get(), place, size) != 0 ||
        ::getsockname(self.get(), place, &size) != 0 || ::connect(self.get(), place, size) != 0 ||
        !ask_for(self.get(), resting)) {
        return;
    }
    StampedReceiving taking;
    std::array<std::byte, 1> byte{};
    const std::int64_t end_ns = monotonic_ns() + patience_ns * 10;
    while (taking.arrival_ns() == 0 && monotonic_ns() < end_ns) {
        pollfd one{self.get(), POLLIN, 0};
        if (::send(self.get(), byte.data(), byte.size(), MSG_DONTWAIT) != 1 ||
            ::poll(&one, 1, 1) < 0) {
            return;
        }
        taking.receive(self.get(), byte, MSG_DONTWAIT);
    }
}

} // namespace

bool stamp_arrivals(int fd) {
    if (!ask_for(fd, resting)) {
        return false;
    }
    await_stamping();
    return true;
}

std::uint64_t stamped_message(std::uint32_t number, std::uint64_t sent, std::size_t bytes,
                              bool datagrams) noexcept {
    constexpr std::uint64_t nobody = UINT64_MAX;
    const std::uint64_t end = datagrams ? sent : sent * bytes;
    const std::uint32_t back = static_cast<std::uint32_t>(end) - number; // 1 for the last one
    if (back == 0 || back > end) {
        return nobody;
    }
    const std::uint64_t place = end - back;
    if (datagrams) {
        return place;
    }
    return (place + 1) % bytes == 0 ? (place + 1) / bytes - 1 : nobody;
}

SendStamps::SendStamps(int fd, bool datagrams, std::uint64_t messages)
    : fd_(fd), datagrams_(datagrams), stamps_(messages) {
    while (take_one()) { // of an earlier batch
    }
    if (!datagrams && ask_for(fd, sending | count_from_written)) {
        return;
    }
    if (!datagrams) {
        await_acknowledged(fd);
    }
    if (!ask_for(fd, sending)) {
        throw system_failure("ask for the kernel's times of messages (SO_TIMESTAMPING)");
    }
}

SendStamps::~SendStamps() { ask_for(fd_, resting); }

void SendStamps::collect() noexcept {
    for (int left = most_taken_at_once; left != 0 && is_missing() && take_one(); --left) {
    }
}

void SendStamps::await_missing() noexcept {
    const std::int64_t end_ns = monotonic_ns() + patience_ns;
    while (is_missing() && monotonic_ns() < end_ns) {
        if (!take_one()) {
            ::poll(nullptr, 0, 1); // a poll() for errors would return at once at the peer's close
        }
    }
}

bool SendStamps::take_one() noexcept {
    alignas(cmsghdr) std::array<char, 256> extra{};
    msghdr message{};
    message.msg_control = extra.data();
    message.msg_controllen = extra.size();
    if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return false;
    }
    std::int64_t time_ns = 0;
    sock_extended_err said{};
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (is_stamp(header)) {
            time_ns = software_ns(header);
        } else if (is_error_report(header)) {
            std::memcpy(&said, CMSG_DATA(header), sizeof said);
        }
    }
    if (said.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && time_ns != 0) {
        note(said.ee_info, said.ee_data, time_ns);
    }
    return true;
}

void SendStamps::note(std::uint32_t kind, std::uint32_t number, std::int64_t time_ns) noexcept {
    const std::uint64_t index = stamped_message(number, sent_, bytes_, datagrams_);
    if (index >= stamps_.size()) {
        return;
    }
    MessageStamps& stamps = stamps_[index];
    const bool was_complete = stamps.queued_ns != 0 && stamps.driver_ns != 0;
    if (kind == SCM_TSTAMP_SCHED && stamps.queued_ns == 0) {
        stamps.queued_ns = time_ns; // a device upon another has a queue of its own: the first
    } else if (kind == SCM_TSTAMP_SND) {
        stamps.sent_again = stamps.driver_ns != 0;
        stamps.driver_ns = stamps.driver_ns != 0 ? stamps.driver_ns : time_ns;
    }
    complete_ += !was_complete && stamps.queued_ns != 0 && stamps.driver_ns != 0 ? 1U : 0U;
}

} // namespace sonde
