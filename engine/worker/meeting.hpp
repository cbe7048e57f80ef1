// Targets of many flows on one host that wait for each other between rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/descriptor.hpp"
#include "test/meeting_parameters.hpp"
#include "transport/socket/waiting.hpp"

namespace sonde {

// A local socket to each of the others at the leader, to the leader at the others. Its name lives
// in the host's network namespace and goes with the process; only processes of the same user are
// let in.
class Meeting {
public:
    // Returns when all members are there. Throws Failure where they are not within the deadline,
    // which holds for every later wait as well.
    Meeting(const MeetingParameters& parameters, std::uint64_t rounds, const Deadline& deadline);

    // Waits until every member has called this. When the next round starts, by this host's clock;
    // none where there is to be no other. Throws Failure("peer_lost") where a member is gone.
    [[nodiscard]] std::optional<std::int64_t> next_round();

private:
    struct Word;
    void wait_for_members();
    void find_leader();
    void say(const Descriptor& other, const Word& word) const;
    [[nodiscard]] Word hear(const Descriptor& other) const;
    [[nodiscard]] Word decide();

    MeetingParameters parameters_;
    std::uint64_t rounds_;
    Deadline deadline_;
    std::uint64_t ended_ = 0;
    std::int64_t first_ended_ns_ = 0;
    std::vector<Descriptor> others_;
};

} // namespace sonde
