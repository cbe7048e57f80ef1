// Takes samples on a fixed grid of time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tracer/counter_reader.hpp"
#include "tracer/journal.hpp"
#include "tracer/waiting.hpp"

namespace sonde {

struct TracerSettings {
    std::int64_t interval_ns = 1'000'000'000;
    std::optional<std::int64_t> duration_ns; // none: until it is told to end
    std::int64_t begin_ns = 0;               // the grid's origin, of the Waiting's clock
};

struct TracerEnd {
    std::string reason;
    std::int64_t samples = 0;
    std::int64_t missed = 0;
};

class Tracer {
public:
    Tracer(TracerSettings settings, Waiting& waiting, CounterReader& reader, Journal& journal);

    // A sample outside the grid, now.
    void boundary(std::string_view label);
    // Sample k is due k intervals after the grid's origin, however late those before it were. One
    // that is an interval late or more is left out, with its number. has_ended is asked whenever a
    // command may have ended; a last sample is taken at the end, whatever ended it.
    TracerEnd run(const std::function<bool()>& has_ended = nullptr);
    // Called after each sample.
    void after_each(std::function<void()> body) { after_each_ = std::move(body); }

private:
    CounterValues& read(std::int64_t begin_ns);

    TracerSettings settings_;
    Waiting& waiting_;
    CounterReader& reader_;
    Journal& journal_;
    CounterValues values_;
    TracerEnd end_;
    std::function<void()> after_each_;
};

} // namespace sonde
