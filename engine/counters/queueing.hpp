// Queueing disciplines: the queues of this host that packets wait in before their card.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <span>

#include "counters/parse.hpp"

namespace sonde {

// qdisc.DEV.COUNTER of each device: sent_bytes and sent_packets, dropped, overlimits, requeues,
// backlog_bytes and backlog_packets; filter_dropped by filters of packets that come or go.
// Nothing where the kernel does not tell.
void add_queueing(CounterValues& values);

// interface.DEV.queueing: the kinds of its disciplines, the outermost first; and what the kernel
// tells of their settings: .queueing_rate_bit_per_s, .queueing_limit_bytes, .queueing_delay_ns,
// .queueing_jitter_ns, .queueing_loss_ratio.
void add_queueing_facts(nlohmann::json& facts);

// The same from the kernel's answers to RTM_GETQDISC.
void parse_queueing(std::span<const std::byte> answer, CounterValues& values);
void parse_queueing_facts(std::span<const std::byte> answer, nlohmann::json& facts);

// From the answer to RTM_GETTCLASS: the rate that a device's classes may have at most, where it is
// the same of all; which of them a packet will be in is not known.
void parse_class_facts(std::span<const std::byte> answer, nlohmann::json& facts);

} // namespace sonde
