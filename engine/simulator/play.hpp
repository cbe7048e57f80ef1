// Workloads: who sends what when, and when each host is done.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/transport.hpp"

namespace sonde::simulator {

class Play : public Workload {
public:
    Play(const Scenario& scenario, EventQueue& events, Network& network, Hosts& hosts,
         Transport& transport);

    // Everything that is to happen by itself: begins.
    virtual void start() = 0;

    void settled(std::uint32_t host) override { look(host); }
    void worked(std::uint32_t /*host*/) override {}
    void handed(std::uint32_t /*host*/, std::int64_t /*tag*/) override {}
    void delivered(std::uint32_t flow, std::uint32_t host, bool last) override;

    // Of each rank, repetition by repetition; -1: never. A host that still gets something after it
    // has sent all is done when it has that: nobody could say before what else is on its way.
    [[nodiscard]] const std::vector<VirtualTime>& completions() const noexcept {
        return completions_;
    }
    [[nodiscard]] const std::vector<VirtualTime>& begins() const noexcept { return begins_; }
    // When the last host's steps were complete; -1 where there are none.
    [[nodiscard]] VirtualTime steps_done() const noexcept { return steps_done_; }
    [[nodiscard]] bool finished() const noexcept { return waiting_for_ == 0; }

protected:
    struct Progress {
        std::int64_t to_post = 0;    // messages that were not yet handed to the transport
        std::int64_t to_receive = 0; // messages
        bool begun = false;
        bool done = false;
    };

    void begin_at(std::uint32_t host, VirtualTime earliest);
    void mark_begun(std::uint32_t host);
    [[nodiscard]] VirtualTime& completion(std::uint32_t host) {
        return completions_[static_cast<std::size_t>(repetition_) * scenario_.hosts +
                            network_.rank_of(host)];
    }
    // Whether a host is done by now.
    void look(std::uint32_t host);
    virtual void all_done() {}

    const Scenario& scenario_;
    const WorkloadPlan& plan_;
    EventQueue& events_;
    Network& network_;
    Hosts& hosts_;
    Transport& transport_;
    Random random_;
    std::vector<Progress> of_;
    std::vector<VirtualTime> completions_, begins_;
    VirtualTime steps_done_ = -1;
    std::uint32_t waiting_for_ = 0; // hosts that are not done
    std::int64_t repetition_ = 0;
};

[[nodiscard]] std::unique_ptr<Play> make_play(const Scenario& scenario, EventQueue& events,
                                              Network& network, Hosts& hosts, Transport& transport);

} // namespace sonde::simulator
