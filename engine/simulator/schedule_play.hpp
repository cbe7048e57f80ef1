// A schedule as a workload: each host's steps, taken from its generator as they can begin.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "schedule/schedule.hpp"
#include "simulator/play.hpp"

namespace sonde::simulator {

class SchedulePlay final : public Play {
public:
    SchedulePlay(const Scenario& scenario, EventQueue& events, Network& network, Hosts& hosts,
                 Transport& transport);

    void start() override;
    void begin(std::uint32_t host) override;
    void handed(std::uint32_t host, std::int64_t tag) override;
    void delivered(std::uint32_t flow, std::uint32_t host, bool last) override;
    void worked(std::uint32_t host) override;

private:
    // One rank's place in its steps.
    struct Rank {
        std::unique_ptr<schedule::Steps> steps;
        schedule::Step pending; // not yet begun
        bool has_pending = false;
        bool at_end = false;
        bool advancing = false;
        std::int64_t begun = 0;          // steps; the number of the pending one
        std::int64_t low = 0;            // all steps before it are complete
        std::vector<bool> complete;      // of steps from low on, in a ring of a power of two
        std::int64_t sends_waiting = 0;  // begun and not yet handed to the ring
        std::vector<std::int64_t> local; // steps of local work, in their order
    };
    // Messages of a flow, as its receiver sees them. Receive steps wait in their order: the first
    // one here, where one cache line holds all of it, those behind it elsewhere.
    struct Arrivals {
        std::uint32_t arrived = 0;
        std::uint32_t asked = 0; // by receive steps
        std::int64_t first_waiting = -1;
        std::unique_ptr<std::deque<std::int64_t>> behind;
    };

    void advance(std::uint32_t host);
    [[nodiscard]] bool may_begin(const Rank& rank) const;
    void begin_step(std::uint32_t host, Rank& rank);
    void begin_receive(std::uint32_t host, std::int64_t number, std::uint32_t from);
    void finish_step(Rank& rank, std::int64_t number);
    Arrivals& arrivals(std::uint32_t flow);
    [[nodiscard]] static std::int64_t take_waiting(Arrivals& of);
    void all_done() override;

    std::unique_ptr<schedule::Schedule> schedule_;
    std::vector<Rank> ranks_;
    std::vector<Arrivals> arrivals_;
};

} // namespace sonde::simulator
