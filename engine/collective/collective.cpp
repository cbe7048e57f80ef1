#include "collective/collective.hpp"

#include <cmath>
#include <optional>
#include <type_traits>

#include "collective/entry.hpp"
#include "collective/operation.hpp"
#include "collective/overlap.hpp"
#include "collective/start.hpp"
#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/samples.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/wtime.hpp"

namespace sonde::collective {
namespace {

// Ticks of the host's clock, which are ns of CLOCK_MONOTONIC only after the loop.
class HostTicks {
public:
    explicit HostTicks(Timebase& timebase) : timebase_(timebase) {}
    void finish() { timebase_.refresh(); }
    [[nodiscard]] std::int64_t instant_ns(std::uint64_t ticks) const {
        return timebase_.to_ns(ticks);
    }
    [[nodiscard]] std::int64_t duration_ns(std::uint64_t ticks) const {
        return std::llround(timebase_.duration_ns(ticks));
    }

private:
    Timebase& timebase_;
};

// No timer beside the clock.
struct NoTimer {
    [[nodiscard]] static std::uint64_t now() noexcept { return 0; }
};

class WtimeTicks {
public:
    void finish() {}
    [[nodiscard]] static std::int64_t instant_ns(std::uint64_t ticks) {
        return static_cast<std::int64_t>(ticks);
    }
    [[nodiscard]] static std::int64_t duration_ns(std::uint64_t ticks) {
        return static_cast<std::int64_t>(ticks);
    }
};

class Repetitions final : public Measurement {
public:
    Repetitions(const Setup& setup, const Entry& entry)
        : operation_(setup, entry), communicator_(setup.communicator), count_(setup.count),
          start_(setup.start), windows_(setup.windows), delayed_(setup.delayed_repetition),
          delay_ns_(setup.delay_ns), by_wtime_(setup.by_wtime), choices_(setup.choices),
          enter_(setup.count), leave_(setup.count),
          beside_(setup.choices.both_timers ? setup.count : 0),
          late_(setup.start == StartBy::window ? setup.count : 0) {}

    Result run(Timebase& timebase, const LeadLine& lead) override {
        operation_.open();
        if (by_wtime_) {
            return timed<mpi::Wtime, NoTimer>(timebase, lead, WtimeTicks{});
        }
        return timebase.with_clock([&](auto clock) {
            using Clock = decltype(clock);
            return choices_.both_timers
                       ? timed<Clock, mpi::Wtime>(timebase, lead, HostTicks(timebase))
                       : timed<Clock, NoTimer>(timebase, lead, HostTicks(timebase));
        });
    }

private:
    // `Beside` is read in the same order before and after a call, so that either timer's time holds
    // one reading of either.
    template <class Clock, class Beside, class Ticks>
    Result timed(Timebase& timebase, const LeadLine& lead, Ticks ticks) {
        Result result;
        Context& context = operation_.context();
        const Operation::Call call = operation_.call();
        Starter starter(start_, windows_, communicator_, timebase, lead, operation_);
        std::optional<Overlap> overlap;
        if (choices_.overlap) {
            overlap.emplace(operation_, communicator_, timebase, choices_.polls, count_);
        }
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        const std::uint64_t start = Clock::now();
        for (std::size_t i = 0; i < count_; ++i) {
            operation_.before(i);
            result.least_bytes_sent += static_cast<std::int64_t>(operation_.least_bytes_sent());
            starter.await(i);
            if (delay_ns_ != 0 && i == delayed_) {
                result.delayed_ns = delay<Clock>(ticks);
            }
            const std::uint64_t enter_beside = Beside::now();
            const std::uint64_t enter = Clock::now();
            const int status = call(context);
            const std::uint64_t leave_beside = Beside::now();
            const std::uint64_t leave = Clock::now();
            mpi::check(status, "do the operation");
            enter_.push(enter);
            leave_.push(leave);
            if constexpr (!std::is_same_v<Beside, NoTimer>) {
                beside_.push(leave_beside - enter_beside);
            }
            if (starter.has_windows()) {
                late_.push(starter.late_ticks(i, enter));
            }
            result.corrupt += operation_.after() ? 0 : 1;
            if (overlap) {
                result.corrupt += overlap->repeat<Clock>(i) ? 0 : 1;
                result.least_bytes_sent += static_cast<std::int64_t>(operation_.least_bytes_sent());
            }
        }
        const std::uint64_t end = Clock::now();
        result.cpu = current_cpu();
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        ticks.finish();
        result.start_ns = ticks.instant_ns(start);
        result.end_ns = ticks.instant_ns(end);
        result.window_ns = starter.plan().ns();
        result.slack_ns = starter.plan().slack_ns();
        result.windows_at_once = starter.plan().at_once();
        add_times(ticks, start, result);
        add_circumstances(result);
        if (choices_.both_timers) {
            result.wtime_duration_ns = durations_ns(WtimeTicks{}, beside_);
        }
        if (overlap) {
            result.compute_ns = durations_ns(ticks, overlap->alone());
            result.together_ns = durations_ns(ticks, overlap->together());
        }
        return result;
    }

    void add_circumstances(Result& result) {
        const Context& context = operation_.context();
        result.partner = context.has_partners() ? context.to : -1;
        result.messages = static_cast<std::int64_t>(operation_.messages());
        if (context.executed) {
            result.frames = context.executed->counted();
        }
        result.cold_bytes = static_cast<std::int64_t>(operation_.cold_bytes());
    }

    template <class Ticks>
    static std::vector<std::int64_t> durations_ns(const Ticks& ticks, const Samples& samples) {
        std::vector<std::int64_t> found;
        for (const std::uint64_t each : samples.values()) {
            found.push_back(ticks.duration_ns(each));
        }
        return found;
    }

    // Busy, as whatever keeps a rank from its work.
    template <class Clock, class Ticks>
    [[nodiscard]] std::int64_t delay(const Ticks& ticks) const {
        const std::uint64_t begin = Clock::now();
        std::int64_t waited_ns = 0;
        while (waited_ns < delay_ns_) {
            waited_ns = ticks.duration_ns(Clock::now() - begin);
        }
        return waited_ns;
    }

    template <class Ticks>
    void add_times(const Ticks& ticks, std::uint64_t start, Result& result) const {
        result.late_ns = durations_ns(ticks, late_);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::uint64_t enter = enter_.values()[i];
            result.begin_ns.push_back(ticks.duration_ns(enter - start));
            result.duration_ns.push_back(ticks.duration_ns(leave_.values()[i] - enter));
        }
    }

    Operation operation_;
    MPI_Comm communicator_;
    std::size_t count_;
    StartBy start_;
    WindowBounds windows_;
    std::size_t delayed_;
    std::int64_t delay_ns_;
    bool by_wtime_;
    OperationChoices choices_;
    Samples enter_;
    Samples leave_;
    Samples beside_;
    Samples late_;
};

} // namespace

std::unique_ptr<Measurement> prepare(const Setup& setup) {
    return prepare(setup, find_entry(setup.operation));
}

std::unique_ptr<Measurement> prepare(const Setup& setup, const Entry& entry) {
    return std::make_unique<Repetitions>(setup, entry);
}

} // namespace sonde::collective
