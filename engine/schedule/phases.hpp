// Schedules that are written phase by phase: a function says a rank's steps of one phase, and no
// more than one phase is held at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace sonde::schedule {

// Takes down the steps of one rank. Messages without items are left out: both ends leave them out,
// as both name the same data. The numbers of steps and their bytes are counted here.
class Script {
public:
    Script(const Layout& layout, Rank ranks) : layout_(&layout), ranks_(ranks) {}

    // Later steps start when all that were written so far are complete.
    void wait() { after_ = written_; }
    // Later messages are of this round and slot.
    void at(std::int64_t round, std::int64_t slot) {
        round_ = static_cast<std::int32_t>(round);
        slot_ = slot;
    }
    void send(Rank peer, const Range& data) { message(Action::send, Place::named, peer, data); }
    void receive(Rank peer, const Range& data) {
        message(Action::receive, Place::named, peer, data);
    }
    // To be combined with combine(), of the same peer and data.
    void receive_aside(Rank peer, const Range& data) {
        message(Action::receive, Place::aside, peer, data);
    }
    // Of several ranges; the first that is not empty comes first.
    void send(Rank peer, std::span<const Range> data);
    void receive(Rank peer, std::span<const Range> data);
    // Waits for all before it, as does what follows it.
    void combine(Rank peer, const Range& data, Left left);
    void copy(const Range& data);
    void copy(std::span<const Range> data);

    // For the generator: takes the steps of this phase one by one.
    [[nodiscard]] bool take(Step& step);
    void clear();

private:
    void message(Action action, Place place, Rank peer, const Range& data);
    void message(Action action, Rank peer, std::span<const Range> data);
    void write(const Step& step);
    [[nodiscard]] Step step_of(Action action, Rank peer, const Range& data) const;

    const Layout* layout_;
    Rank ranks_;
    std::int32_t round_ = 0;
    std::int64_t slot_ = 0;
    std::int64_t after_ = 0;
    std::int64_t written_ = 0;
    std::size_t taken_ = 0;
    std::vector<Step> steps_;
    std::vector<std::unique_ptr<std::vector<Range>>> more_; // what the steps' `more` points to
};

// A schedule that says its steps phase by phase.
class PhasedSchedule : public Schedule {
public:
    PhasedSchedule(Parameters parameters, Layout layout)
        : parameters_(std::move(parameters)), layout_(std::move(layout)) {}

    [[nodiscard]] const Parameters& parameters() const final { return parameters_; }
    [[nodiscard]] const Layout& layout() const final { return layout_; }
    [[nodiscard]] std::unique_ptr<Steps> steps(Rank rank) const final;

    [[nodiscard]] virtual std::int64_t phases(Rank rank) const = 0;
    // Writes what `rank` does in a phase, which may be nothing.
    virtual void phase(Rank rank, std::int64_t number, Script& script) const = 0;

protected:
    [[nodiscard]] Rank ranks() const noexcept { return parameters_.ranks; }

private:
    Parameters parameters_;
    Layout layout_;
};

} // namespace sonde::schedule
