// One simulated run, from its scenario to what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/network.hpp"
#include "simulator/scenario.hpp"
#include "simulator/transport.hpp"

namespace sonde::simulator {

struct NamedCount {
    std::string name;
    std::int64_t value = 0;
};

struct RankEvents {
    std::uint32_t target = 0;
    protocol::Log log;
};

struct Outcome {
    bool finished = false;
    VirtualTime elapsed = 0;
    VirtualTime steps_done = -1; // of a schedule that is at its end: acknowledgements may follow
    std::uint64_t events = 0;
    std::uint64_t packet_hops = 0;
    std::uint64_t packets_created = 0;
    std::uint64_t packets_delivered = 0;
    std::uint64_t lost_overflow = 0, lost_random = 0, lost_receive_pool = 0;
    std::uint64_t most_packets_living = 0;
    std::uint64_t memory_bytes = 0;                  // of packets and events
    std::vector<NamedCount> places;                  // losses and the like, by place
    std::vector<VirtualTime> completions;            // by rank, repetition by repetition; -1: never
    std::vector<VirtualTime> begins;                 // by rank
    std::vector<HostCounts> counts;                  // by rank
    std::vector<std::uint64_t> lost_at;              // by rank: in its receive pool
    std::vector<VirtualTime> full_packets;           // by rank: of a full one on the line to it
    std::vector<std::vector<RankEvents>> events_of;  // by rank, where asked for
    std::vector<std::vector<SentPacket>> packets_of; // by rank, where asked for
    std::vector<QueueSeries> queues;
};

// Throws Failure("limit") beyond a limit, and std::logic_error where the simulator has lost count.
[[nodiscard]] Outcome simulate(const Scenario& scenario);

} // namespace sonde::simulator
