// What keeps packets and processes waiting at their own host, from what the kernel would say.
#include <doctest/doctest.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "counters/queueing.hpp"
#include "counters/snapshot.hpp"
#include "counters/withheld.hpp"

using namespace sonde;

namespace {

using Bytes = std::vector<std::byte>;

template <class Value>
Bytes bytes_of(const Value& value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

void put(Bytes& to, const Bytes& from) {
    to.insert(to.end(), from.begin(), from.end());
    to.resize((to.size() + 3) / 4 * 4);
}

Bytes attribute(unsigned short type, const Bytes& content) {
    Bytes bytes =
        bytes_of(rtattr{static_cast<unsigned short>(sizeof(rtattr) + content.size()), type});
    put(bytes, content);
    return bytes;
}

Bytes text(std::string_view words) {
    Bytes bytes(words.size() + 1);
    std::memcpy(bytes.data(), words.data(), words.size());
    return bytes;
}

// Interface 1 is "lo" in every network namespace.
Bytes discipline(std::string_view kind, unsigned parent, unsigned packets, unsigned drops,
                 const Bytes& options = {}, unsigned short type = RTM_NEWQDISC) {
    tcmsg about{};
    about.tcm_ifindex = 1;
    about.tcm_parent = parent;
    gnet_stats_basic basic{};
    basic.bytes = 1000ULL * packets;
    basic.packets = packets;
    gnet_stats_queue queue{};
    queue.qlen = 3;
    queue.backlog = 3000;
    queue.drops = drops;
    queue.overlimits = 7;
    Bytes statistics;
    put(statistics, attribute(TCA_STATS_BASIC, bytes_of(basic)));
    put(statistics, attribute(TCA_STATS_QUEUE, bytes_of(queue)));
    Bytes body = bytes_of(about);
    put(body, attribute(TCA_KIND, text(kind)));
    put(body, attribute(TCA_STATS2, statistics));
    if (!options.empty()) {
        put(body, attribute(TCA_OPTIONS, options));
    }
    nlmsghdr head{};
    head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + body.size());
    head.nlmsg_type = type;
    Bytes message = bytes_of(head);
    put(message, body);
    return message;
}

} // namespace

TEST_SUITE_BEGIN("withheld");

TEST_CASE("counters of queueing disciplines by device, drops counted once") {
    Bytes answer = discipline("htb", TC_H_ROOT, 100, 20);
    put(answer, discipline("fq_codel", 0x10001, 100, 20)); // what the outer one counted already
    put(answer, discipline("ingress", TC_H_INGRESS, 5, 4));
    CounterValues values;
    parse_queueing(answer, values);
    CHECK(values["qdisc.lo.sent_packets"] == 100);
    CHECK(values["qdisc.lo.sent_bytes"] == 100'000);
    CHECK(values["qdisc.lo.dropped"] == 20);
    CHECK(values["qdisc.lo.overlimits"] == 14);
    CHECK(values["qdisc.lo.backlog_packets"] == 3);
    CHECK(values["qdisc.lo.filter_dropped"] == 4);
}

TEST_CASE("the rate of classes, where it is the same of all") {
    const auto htb = [](std::uint32_t bytes_per_s) {
        tc_htb_opt set{};
        set.ceil.rate = bytes_per_s;
        const Bytes options = attribute(TCA_HTB_PARMS, bytes_of(set));
        return discipline("htb", TC_H_ROOT, 0, 0, options, RTM_NEWTCLASS);
    };
    Bytes answer = htb(1'825'000);
    put(answer, htb(1'825'000));
    nlohmann::json facts = nlohmann::json::object();
    parse_class_facts(answer, facts);
    CHECK(facts["interface.lo.queueing_rate_bit_per_s"] == 14'600'000.0);
    put(answer, htb(9'000'000));
    facts = nlohmann::json::object();
    parse_class_facts(answer, facts);
    CHECK(facts.empty());
    parse_class_facts(discipline("htb", TC_H_ROOT, 0, 0), facts); // no class
    CHECK(facts.empty());
}

TEST_CASE("the drops of a card's queues, which their root does not count") {
    Bytes answer = discipline("mq", TC_H_ROOT, 100, 0);
    put(answer, discipline("fq", 0x10001, 60, 5));
    put(answer, discipline("fq", 0x10002, 40, 6));
    CounterValues values;
    parse_queueing(answer, values);
    CHECK(values["qdisc.lo.dropped"] == 11);
    nlohmann::json facts = nlohmann::json::object();
    parse_queueing_facts(answer, facts);
    CHECK(facts["interface.lo.queueing"] == "mq fq");
}

TEST_CASE("what is set of a shaper and of an emulated way") {
    tc_tbf_qopt shaper{};
    shaper.rate.rate = 5'000'000;
    shaper.limit = 20'000;
    nlohmann::json facts = nlohmann::json::object();
    parse_queueing_facts(
        discipline("tbf", TC_H_ROOT, 1, 0, attribute(TCA_TBF_PARMS, bytes_of(shaper))), facts);
    CHECK(facts["interface.lo.queueing_rate_bit_per_s"] == 40e6);
    CHECK(facts["interface.lo.queueing_limit_bytes"] == 20'000);
    tc_netem_qopt way{};
    way.loss = 1U << 31U;
    Bytes options = bytes_of(way);
    put(options, attribute(TCA_NETEM_JITTER64, bytes_of(std::int64_t{2'000'000})));
    nlohmann::json other = nlohmann::json::object();
    parse_queueing_facts(discipline("netem", TC_H_ROOT, 1, 0, options), other);
    CHECK(other["interface.lo.queueing_jitter_ns"] == 2'000'000);
    CHECK(other["interface.lo.queueing_loss_ratio"] == 0.5);
    CHECK(!other.contains("interface.lo.queueing_rate_bit_per_s"));
}

TEST_CASE("an answer that is cut anywhere is read as far as it is whole") {
    const Bytes whole =
        discipline("tbf", TC_H_ROOT, 1, 2, attribute(TCA_TBF_PARMS, bytes_of(tc_tbf_qopt{})));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CounterValues values;
        nlohmann::json facts = nlohmann::json::object();
        parse_queueing(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), values);
        parse_queueing_facts(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), facts);
        CHECK(values.empty());
    }
}

TEST_CASE("throttling by a group's quota, of both versions") {
    CounterValues values;
    parse_throttling("usage_usec 5\nnr_periods 3\nnr_throttled 2\nthrottled_usec 40\n", values);
    CHECK(values["process.throttled_ns"] == 40'000);
    CHECK(values["process.throttled_periods"] == 2);
    CHECK(values["process.quota_periods"] == 3);
    parse_throttling("nr_periods 4\nnr_throttled 1\nthrottled_time 7\n", values);
    CHECK(values["process.throttled_ns"] == 40'007);
    CHECK(values["process.throttled_periods"] == 3);
    CHECK(values["process.quota_periods"] == 7);
}

TEST_CASE("how often the process was continued") {
    std::thread([] { // the signal is blocked in this thread only
        watch_stops();
        CounterValues values;
        add_withheld(values);
        const std::string told = read_file("/proc/thread-self/schedstat");
        CHECK(values.contains("process.run_wait_ns") == !told.empty());
        const auto before = values.at("process.continued");
        pthread_kill(pthread_self(), SIGCONT);
        add_withheld(values);
        CHECK(values.at("process.continued") == before + 1);
        CounterValues again;
        add_withheld(again);
        CHECK(again.at("process.continued") == before + 1);
    })
        .join();
}

TEST_SUITE_END();
