#include "tracer/queue_counters.hpp"

#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

namespace sonde {
namespace {

constexpr std::size_t most_disciplines = 4096;
constexpr timeval patience{1, 0};

using Bytes = std::span<const std::byte>;

// The attributes of a netlink message, one after the other.
template <class Body>
void for_each_attribute(Bytes bytes, Body body) {
    while (bytes.size() >= sizeof(rtattr)) {
        rtattr head{};
        std::memcpy(&head, bytes.data(), sizeof head);
        if (head.rta_len < sizeof head || head.rta_len > bytes.size()) {
            return;
        }
        body(head.rta_type & static_cast<unsigned short>(NLA_TYPE_MASK),
             bytes.subspan(sizeof head, head.rta_len - sizeof head));
        const std::size_t step = (head.rta_len + 3U) & ~std::size_t{3};
        bytes = bytes.subspan(std::min(step, bytes.size()));
    }
}

template <class Structure>
std::optional<Structure> structure_of(Bytes bytes) {
    Structure found{};
    // Kernels differ in padding at the end.
    if (bytes.size() + sizeof(std::uint32_t) < sizeof found) {
        return std::nullopt;
    }
    std::memcpy(&found, bytes.data(), std::min(bytes.size(), sizeof found));
    return found;
}

void add_statistics(Bytes bytes, const std::string& prefix, CounterValues& values) {
    for_each_attribute(bytes, [&](int type, Bytes content) {
        if (type == TCA_STATS_BASIC) {
            if (const auto basic = structure_of<gnet_stats_basic>(content)) {
                values[prefix + "bytes"] = static_cast<std::int64_t>(basic->bytes);
                values[prefix + "packets"] = basic->packets;
            }
        } else if (type == TCA_STATS_QUEUE) {
            if (const auto queue = structure_of<gnet_stats_queue>(content)) {
                values[prefix + "queue_packets"] = queue->qlen;
                values[prefix + "backlog_bytes"] = queue->backlog;
                values[prefix + "drops"] = queue->drops;
                values[prefix + "requeues"] = queue->requeues;
                values[prefix + "overlimits"] = queue->overlimits;
            }
        }
    });
}

std::string parent_of(std::uint32_t parent) {
    if (parent == TC_H_ROOT) {
        return "root";
    }
    if (parent == TC_H_INGRESS) {
        return "ingress";
    }
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%x:%x", parent >> 16U, parent & 0xFFFFU);
    return text.data();
}

void add_discipline(Bytes message, const std::function<bool(std::string_view)>& is_wanted,
                    CounterValues& values) {
    if (message.size() < sizeof(tcmsg)) {
        return;
    }
    tcmsg head{};
    std::memcpy(&head, message.data(), sizeof head);
    std::array<char, IF_NAMESIZE> name{};
    if (::if_indextoname(static_cast<unsigned>(head.tcm_ifindex), name.data()) == nullptr ||
        !is_wanted(name.data())) {
        return;
    }
    std::string kind;
    Bytes statistics;
    for_each_attribute(message.subspan(sizeof head), [&](int type, Bytes content) {
        if (type == TCA_KIND) {
            const auto* const text = reinterpret_cast<const char*>(content.data());
            kind.assign(text, ::strnlen(text, content.size()));
        } else if (type == TCA_STATS2) {
            statistics = content;
        }
    });
    if (!kind.empty() && kind != "noqueue") {
        add_statistics(statistics,
                       std::string("qdisc.") + name.data() + "." + kind + "@" +
                           parent_of(head.tcm_parent) + ".",
                       values);
    }
}

} // namespace

bool QueueCounters::open() {
    socket_ = Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    return socket_ &&
           ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0;
}

std::string QueueCounters::read(const std::function<bool(std::string_view)>& is_wanted,
                                CounterValues& values) {
    const auto failed = [this] {
        const std::string why = std::strerror(errno);
        socket_.reset(); // what is left of an answer must not be taken for the next
        return "queue disciplines cannot be asked for: " + why;
    };
    if (!socket_ && !open()) {
        return failed();
    }
    struct {
        nlmsghdr head;
        tcmsg message;
    } request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = RTM_GETQDISC;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.head.nlmsg_seq = ++sequence_;
    if (::send(socket_.get(), &request, sizeof request, 0) < 0) {
        return failed();
    }
    std::array<std::byte, 32768> answer{};
    std::size_t seen = 0;
    while (true) {
        const ssize_t got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
        if (got <= 0) {
            return failed();
        }
        Bytes bytes(answer.data(), static_cast<std::size_t>(got));
        while (bytes.size() >= sizeof(nlmsghdr)) {
            nlmsghdr head{};
            std::memcpy(&head, bytes.data(), sizeof head);
            if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes.size()) {
                break;
            }
            if (head.nlmsg_seq == sequence_ && head.nlmsg_type == NLMSG_DONE) {
                return "";
            }
            if (head.nlmsg_type == NLMSG_ERROR || ++seen > most_disciplines) {
                errno = head.nlmsg_type == NLMSG_ERROR ? EPERM : E2BIG;
                return failed();
            }
            if (head.nlmsg_seq == sequence_ && head.nlmsg_type == RTM_NEWQDISC) {
                add_discipline(bytes.subspan(sizeof head, head.nlmsg_len - sizeof head), is_wanted,
                               values);
            }
            const std::size_t step = (head.nlmsg_len + 3U) & ~std::size_t{3};
            bytes = bytes.subspan(std::min(step, bytes.size()));
        }
    }
}

} // namespace sonde
