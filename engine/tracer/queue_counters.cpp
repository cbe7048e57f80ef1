#include "tracer/queue_counters.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "core/netlink.hpp"

namespace sonde {
namespace {

constexpr std::size_t most_disciplines = 4096;

using netlink::Bytes;
using netlink::value_in;

void add_statistics(Bytes bytes, const std::string& prefix, CounterValues& values) {
    netlink::for_each_attribute(bytes, [&](int type, Bytes content) {
        if (type == TCA_STATS_BASIC) {
            if (const auto basic = value_in<gnet_stats_basic>(content)) {
                values[prefix + "bytes"] = static_cast<std::int64_t>(basic->bytes);
                values[prefix + "packets"] = basic->packets;
            }
        } else if (type == TCA_STATS_QUEUE) {
            if (const auto queue = value_in<gnet_stats_queue>(content)) {
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
    const auto about = value_in<tcmsg>(message);
    std::array<char, IF_NAMESIZE> name{};
    if (!about ||
        ::if_indextoname(static_cast<unsigned>(about->tcm_ifindex), name.data()) == nullptr ||
        !is_wanted(name.data())) {
        return;
    }
    std::string kind;
    Bytes statistics;
    netlink::for_each_attribute(message.subspan(sizeof(tcmsg)), [&](int type, Bytes content) {
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
                           parent_of(about->tcm_parent) + ".",
                       values);
    }
}

} // namespace

std::string QueueCounters::read(const std::function<bool(std::string_view)>& is_wanted,
                                CounterValues& values) {
    if (!socket_) {
        socket_ = netlink::open_socket();
    }
    const int problem = netlink::dump(socket_, RTM_GETQDISC, tcmsg{}, ++sequence_, most_disciplines,
                                      [&](const nlmsghdr& head, Bytes content) {
                                          if (head.nlmsg_type == RTM_NEWQDISC) {
                                              add_discipline(content, is_wanted, values);
                                          }
                                      });
    if (problem != 0) {
        socket_.reset(); // what is left of an answer must not be taken for the next
        return std::string("queue disciplines cannot be asked for: ") + std::strerror(problem);
    }
    return "";
}

} // namespace sonde
