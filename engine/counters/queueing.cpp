#include "counters/queueing.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/netlink.hpp"

namespace sonde {
namespace {

using netlink::Bytes;
using netlink::value_in;
using nlohmann::json;

constexpr std::size_t most_disciplines = 16'384;
constexpr std::size_t most_kind_characters = 16;
constexpr double ticks_of_all = 4294967296.0; // netem's shares are of 2^32

using Attributes = std::map<int, Bytes>;

Attributes attributes_in(Bytes bytes) {
    Attributes found;
    netlink::for_each_attribute(bytes, [&](int type, Bytes content) { found[type] = content; });
    return found;
}

template <class Value>
std::optional<Value> value_of(const Attributes& attributes, int type) {
    const auto found = attributes.find(type);
    return found == attributes.end() ? std::nullopt : value_in<Value>(found->second);
}

// A discipline of a device, or a class of one.
struct Discipline {
    std::string device;
    int interface = 0;
    std::string kind;
    bool root = false;
    bool filters = false; // sees packets that come, or both, and holds none
    Attributes statistics;
    Bytes options;
};

// None of a device that is gone meanwhile.
std::optional<Discipline> discipline_in(Bytes message) {
    const auto about = value_in<tcmsg>(message);
    std::array<char, IF_NAMESIZE> name{};
    if (!about ||
        ::if_indextoname(static_cast<unsigned>(about->tcm_ifindex), name.data()) == nullptr) {
        return std::nullopt;
    }
    const Attributes found = attributes_in(message.subspan(sizeof(tcmsg)));
    Discipline one;
    one.device = name.data();
    one.interface = about->tcm_ifindex;
    if (const auto kind = found.find(TCA_KIND); kind != found.end()) {
        const auto* text = reinterpret_cast<const char*>(kind->second.data());
        one.kind.assign(text, ::strnlen(text, std::min(kind->second.size(), most_kind_characters)));
    }
    one.root = about->tcm_parent == TC_H_ROOT;
    one.filters = about->tcm_parent == TC_H_INGRESS;
    if (const auto there = found.find(TCA_STATS2); there != found.end()) {
        one.statistics = attributes_in(there->second);
    }
    if (const auto there = found.find(TCA_OPTIONS); there != found.end()) {
        one.options = there->second;
    }
    return one;
}

void for_each(unsigned short type, Bytes answer,
              const std::function<void(const Discipline&)>& body) {
    netlink::for_each_message(answer, [&](const nlmsghdr& head, Bytes content) {
        if (head.nlmsg_type == type) {
            if (const auto one = discipline_in(content)) {
                body(*one);
            }
        }
        return true;
    });
}

void for_each_discipline(Bytes answer, const std::function<void(const Discipline&)>& body) {
    for_each(RTM_NEWQDISC, answer, body);
}

// All disciplines, or the classes of an interface's.
std::vector<std::byte> ask_kernel(unsigned short type = RTM_GETQDISC, int interface = 0) {
    std::vector<std::byte> all;
    tcmsg about{};
    about.tcm_ifindex = interface;
    // What came of an answer that is not whole is better than nothing.
    [[maybe_unused]] const int problem =
        netlink::dump(netlink::open_socket(), type, about, 1, most_disciplines,
                      [&](const nlmsghdr& head, Bytes content) {
                          const auto before = std::as_bytes(std::span(&head, 1));
                          all.insert(all.end(), before.begin(), before.end());
                          all.insert(all.end(), content.begin(), content.end());
                          all.resize(NLMSG_ALIGN(all.size()));
                      });
    return all;
}

// What the outermost and the inner disciplines of a device counted. The outermost mostly counts
// what the inner ones dropped, too, but for those of a card's queues.
struct Counts {
    std::int64_t outer_dropped = 0;
    std::int64_t inner_dropped = 0;
};

void add_outermost(const std::string& prefix, const Attributes& statistics, CounterValues& values) {
    if (const auto basic = value_of<gnet_stats_basic>(statistics, TCA_STATS_BASIC)) {
        values[prefix + "sent_bytes"] = static_cast<std::int64_t>(basic->bytes);
        values[prefix + "sent_packets"] = basic->packets;
    }
    // Since Linux 5.5 packets have a counter of 64 bits, where the one of 32 is not enough.
    if (const auto packets = value_of<std::uint64_t>(statistics, TCA_STATS_PKT64)) {
        values[prefix + "sent_packets"] = static_cast<std::int64_t>(*packets);
    }
}

double rate_of(std::string_view kind, Bytes options) {
    std::optional<std::uint64_t> bytes_per_s;
    if (kind == "tbf") {
        const Attributes found = attributes_in(options);
        bytes_per_s = value_of<std::uint64_t>(found, TCA_TBF_RATE64);
        if (const auto set = value_of<tc_tbf_qopt>(found, TCA_TBF_PARMS); set && !bytes_per_s) {
            bytes_per_s = set->rate.rate;
        }
    } else if (kind == "netem" && options.size() >= sizeof(tc_netem_qopt)) {
        const Attributes found = attributes_in(options.subspan(NLA_ALIGN(sizeof(tc_netem_qopt))));
        bytes_per_s = value_of<std::uint64_t>(found, TCA_NETEM_RATE64);
        if (const auto set = value_of<tc_netem_rate>(found, TCA_NETEM_RATE); set && !bytes_per_s) {
            bytes_per_s = set->rate;
        }
    } else if (kind == "cake") {
        bytes_per_s = value_of<std::uint64_t>(attributes_in(options), TCA_CAKE_BASE_RATE64);
    } else if (kind == "fq") {
        const auto set = value_of<std::uint32_t>(attributes_in(options), TCA_FQ_FLOW_MAX_RATE);
        if (set && *set != UINT32_MAX) {
            bytes_per_s = *set;
        }
    }
    return bytes_per_s ? 8.0 * static_cast<double>(*bytes_per_s) : 0.0;
}

double rate_of_class(const Discipline& one) {
    if (one.kind != "htb") {
        return 0;
    }
    const Attributes found = attributes_in(one.options);
    const auto wide = value_of<std::uint64_t>(found, TCA_HTB_CEIL64);
    const auto set = value_of<tc_htb_opt>(found, TCA_HTB_PARMS);
    return 8.0 * (wide  ? static_cast<double>(*wide)
                  : set ? static_cast<double>(set->ceil.rate)
                        : 0.0);
}

// Where a device has several disciplines that limit it, the least counts.
void add_least(json& facts, const std::string& name, double value) {
    if (value > 0 && (!facts.contains(name) || facts[name].get<double>() > value)) {
        facts[name] = value;
    }
}

void add_emulation(json& facts, const std::string& prefix, Bytes options) {
    const auto set = value_in<tc_netem_qopt>(options);
    if (!set) {
        return;
    }
    const Attributes found = attributes_in(
        options.subspan(std::min<std::size_t>(NLA_ALIGN(sizeof(tc_netem_qopt)), options.size())));
    const auto delay_ns = value_of<std::int64_t>(found, TCA_NETEM_LATENCY64);
    const auto jitter_ns = value_of<std::int64_t>(found, TCA_NETEM_JITTER64);
    if (delay_ns && *delay_ns > 0) {
        facts[prefix + "_delay_ns"] = *delay_ns;
    }
    if (jitter_ns && *jitter_ns > 0) {
        facts[prefix + "_jitter_ns"] = *jitter_ns;
    }
    if (set->loss > 0) {
        facts[prefix + "_loss_ratio"] = set->loss / ticks_of_all;
    }
}

} // namespace

void parse_queueing(Bytes answer, CounterValues& values) {
    std::map<std::string, Counts> dropped;
    for_each_discipline(answer, [&](const Discipline& one) {
        const std::string prefix = "qdisc." + one.device + ".";
        const auto queue = value_of<gnet_stats_queue>(one.statistics, TCA_STATS_QUEUE);
        if (one.filters) {
            values[prefix + "filter_dropped"] += queue ? queue->drops : 0;
            return;
        }
        Counts& counts = dropped[prefix];
        if (queue) {
            (one.root ? counts.outer_dropped : counts.inner_dropped) += queue->drops;
            values[prefix + "overlimits"] += queue->overlimits;
            values[prefix + "requeues"] += queue->requeues;
            if (one.root) {
                values[prefix + "backlog_bytes"] = queue->backlog;
                values[prefix + "backlog_packets"] = queue->qlen;
            }
        }
        if (one.root) {
            add_outermost(prefix, one.statistics, values);
        }
    });
    for (const auto& [prefix, counts] : dropped) {
        values[prefix + "dropped"] = std::max(counts.outer_dropped, counts.inner_dropped);
    }
}

void parse_queueing_facts(Bytes answer, json& facts) {
    for_each_discipline(answer, [&](const Discipline& one) {
        const std::string prefix = "interface." + one.device + ".queueing";
        const std::string before = facts.value(prefix, "");
        const std::string words = " " + before + " ";
        if (words.find(" " + one.kind + " ") == std::string::npos) { // a kind is named once
            facts[prefix] = before.empty() ? one.kind : before + " " + one.kind;
        }
        add_least(facts, prefix + "_rate_bit_per_s", rate_of(one.kind, one.options));
        if (one.kind == "netem") {
            add_emulation(facts, prefix, one.options);
        }
        if (one.kind == "tbf") {
            const auto set = value_of<tc_tbf_qopt>(attributes_in(one.options), TCA_TBF_PARMS);
            add_least(facts, prefix + "_limit_bytes", set ? set->limit : 0.0);
        }
    });
}

void parse_class_facts(Bytes answer, json& facts) {
    std::map<std::string, std::vector<double>> rates;
    for_each(RTM_NEWTCLASS, answer,
             [&](const Discipline& one) { rates[one.device].push_back(rate_of_class(one)); });
    for (const auto& [device, found] : rates) {
        if (std::ranges::count(found, found.front()) == std::ssize(found)) {
            add_least(facts, "interface." + device + ".queueing_rate_bit_per_s", found.front());
        }
    }
}

void add_queueing(CounterValues& values) { parse_queueing(ask_kernel(), values); }

void add_queueing_facts(json& facts) {
    const std::vector<std::byte> answer = ask_kernel();
    parse_queueing_facts(answer, facts);
    for_each_discipline(answer, [&](const Discipline& one) {
        if (one.root && one.kind == "htb") {
            parse_class_facts(ask_kernel(RTM_GETTCLASS, one.interface), facts);
        }
    });
}

} // namespace sonde
