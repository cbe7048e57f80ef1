// What a schedule puts on the network: counts of its messages, and who meets whom in which slot.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/player.hpp"
#include "schedule/schedule.hpp"

namespace sonde::schedule {

struct TrafficCounts {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::int64_t rounds = 0;           // distinct rounds with messages
    std::int64_t slots = 0;            // distinct slots with messages
    std::int64_t stalls = 0;           // of the rank with most
    Rank fan_out = 0;                  // of the rank and round with most
    std::int64_t busiest_messages = 0; // sent by one rank
    std::int64_t busiest_bytes = 0;
    std::int64_t most_to_rank = 0; // messages to one rank in one slot
    std::int64_t most_from_rank = 0;
};

// Where a slot's messages collide; a sentence for each, empty where none does.
struct SwitchFindings {
    std::string collision;  // two leaf switches send to one, or one's hosts to several
    std::string repetition; // a rank sends across to the same leaf switch twice in a row
};

class Traffic {
public:
    explicit Traffic(Rank ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

    // In the order in which the rank's messages start.
    void started(Rank rank, const PlayedStep& played);
    [[nodiscard]] TrafficCounts counts();
    // With so many hosts at each leaf switch, numbered one switch after the other.
    [[nodiscard]] SwitchFindings across_switches(Rank hosts_of_leaf);

private:
    struct RankTraffic {
        std::int64_t messages = 0;
        std::int64_t bytes = 0;
        std::int64_t stalls = 0;
        std::int64_t last_number = -1; // of its last message of an earlier round, and
        std::int64_t number = -1;      // of its last message of all
        std::int32_t round = -1;
        std::vector<Rank> partners; // sent to in this round
        Rank fan_out = 0;
    };
    struct Message {
        std::int64_t slot = 0;
        Rank from = 0;
        Rank to = 0;
    };

    static void close_round(RankTraffic& rank);
    void sort_by_slot();

    std::vector<RankTraffic> ranks_;
    std::vector<Message> messages_;
    std::vector<std::int32_t> rounds_;
};

} // namespace sonde::schedule
