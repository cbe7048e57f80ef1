#include "collective/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "collective/operation.hpp"
#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/samples.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

template <Operation Op>
class Repetitions final : public Measurement {
public:
    explicit Repetitions(const Setup& setup)
        : operation_(setup), communicator_(setup.communicator), count_(setup.count),
          check_data_(setup.check_data), enter_(setup.count), leave_(setup.count) {}

    Result run(Timebase& timebase) override {
        return timebase.with_clock([&](auto clock) {
            using Clock = decltype(clock);
            return check_data_ ? timed<Clock, true>(timebase) : timed<Clock, false>(timebase);
        });
    }

private:
    template <class Clock, bool Check>
    Result timed(Timebase& timebase) {
        Result result;
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        const std::uint64_t start = Clock::now();
        for (std::size_t i = 0; i < count_; ++i) {
            if constexpr (Check) {
                operation_.clear();
            }
            mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
            const std::uint64_t enter = Clock::now();
            const int status = operation_.call();
            const std::uint64_t leave = Clock::now();
            mpi::check(status, "do the collective");
            enter_.push(enter);
            leave_.push(leave);
            if constexpr (Check) {
                result.corrupt += operation_.intact() ? 0 : 1;
            }
        }
        const std::uint64_t end = Clock::now();
        result.cpu = current_cpu();
        mpi::check(MPI_Barrier(communicator_), "synchronise the ranks");
        timebase.refresh();
        result.start_ns = timebase.to_ns(start);
        result.end_ns = timebase.to_ns(end);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::uint64_t enter = enter_.values()[i];
            result.begin_ns.push_back(std::llround(timebase.duration_ns(enter - start)));
            result.duration_ns.push_back(
                std::llround(timebase.duration_ns(leave_.values()[i] - enter)));
        }
        result.least_bytes_sent = static_cast<std::int64_t>(count_ * operation_.least_bytes_sent());
        return result;
    }

    Op operation_;
    MPI_Comm communicator_;
    std::size_t count_;
    bool check_data_;
    Samples enter_;
    Samples leave_;
};

template <Operation Op>
std::unique_ptr<Measurement> make(const Setup& setup) {
    return std::make_unique<Repetitions<Op>>(setup);
}

struct Entry {
    std::string_view name;
    std::unique_ptr<Measurement> (*make)(const Setup&);
};

constexpr std::array table{
    Entry{"allreduce", make<AllReduce>},
    Entry{"alltoall", make<AllToAll>},
    Entry{"barrier", make<Barrier>},
    Entry{"bcast", make<Broadcast>},
};

} // namespace

std::unique_ptr<Measurement> prepare(const Setup& setup) {
    const auto* const entry =
        std::ranges::find(table, std::string_view(setup.operation), &Entry::name);
    if (entry == table.end()) {
        throw Failure("bad_request", "request: operation is " + setup.operation +
                                         ", expected one of " + known_operations());
    }
    if (setup.root >= setup.ranks) {
        throw Failure("bad_request", "request: root is " + std::to_string(setup.root) +
                                         ", expected a rank below " + std::to_string(setup.ranks));
    }
    return entry->make(setup);
}

std::string known_operations() {
    std::string names;
    for (const Entry& entry : table) {
        names += (names.empty() ? "" : ", ") + std::string(entry.name);
    }
    return names;
}

} // namespace sonde::collective
