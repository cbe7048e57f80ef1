// A schedule as a workload: each host's steps, taken from its generator as they can begin.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "schedule/runner.hpp"
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
    struct StepsOf {
        using Step = schedule::Step;
        std::unique_ptr<schedule::Steps> steps;
        [[nodiscard]] bool next(Step& step) { return steps->next(step); }
    };
    struct Rank {
        schedule::StepRunner<StepsOf> runner;
        std::int64_t sends_waiting = 0;  // begun and not yet handed to the ring
        std::vector<std::int64_t> local; // steps of local work, in their order
    };
    // Begins steps of one host, for its runner.
    struct Carrier {
        SchedulePlay* play;
        std::uint32_t host;
        [[nodiscard]] bool may_begin(const schedule::Step& step) const {
            return play->may_begin(host, step);
        }
        void begin(std::int64_t number, const schedule::Step& step) const {
            play->begin_step(host, number, step);
        }
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
    [[nodiscard]] bool may_begin(std::uint32_t host, const schedule::Step& step) const;
    void begin_step(std::uint32_t host, std::int64_t number, const schedule::Step& step);
    void begin_receive(std::uint32_t host, std::int64_t number, std::uint32_t from);
    Arrivals& arrivals(std::uint32_t flow);
    [[nodiscard]] static std::int64_t take_waiting(Arrivals& of);
    void all_done() override;

    std::unique_ptr<schedule::Schedule> schedule_;
    std::vector<Rank> ranks_;
    std::vector<Arrivals> arrivals_;
};

} // namespace sonde::simulator
