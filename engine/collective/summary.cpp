#include "collective/summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/histogram.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

using Values = std::vector<std::int64_t>;
// Repetitions that are reduced in one call: what MPI needs for it stays small.
constexpr std::size_t piece_repetitions = 65'536;

struct Placed { // MPI_DOUBLE_INT
    double value;
    int rank;
};

class Joining {
public:
    explicit Joining(MPI_Comm communicator) : communicator_(communicator) {
        check(MPI_Comm_rank(communicator, &rank_));
        check(MPI_Comm_size(communicator, &ranks_));
    }

    [[nodiscard]] bool leads() const noexcept { return rank_ == 0; }
    [[nodiscard]] std::size_t ranks() const noexcept { return static_cast<std::size_t>(ranks_); }

    // Element by element over all ranks.
    [[nodiscard]] Values reduce(const Values& mine, MPI_Op operation) const {
        Values all(leads() ? mine.size() : 0);
        for_pieces(mine.size(), [&](std::size_t begin, int count) {
            check(MPI_Reduce(mine.data() + begin, leads() ? all.data() + begin : nullptr, count,
                             MPI_INT64_T, operation, 0, communicator_));
        });
        return all;
    }

    // The largest of all ranks, element by element, and whose it is: the lowest of equal ranks.
    [[nodiscard]] std::pair<std::vector<double>, Values>
    largest(const std::vector<double>& mine) const {
        std::vector<double> values;
        Values whose;
        for_pieces(mine.size(), [&](std::size_t begin, int count) {
            const auto size = static_cast<std::size_t>(count);
            std::vector<Placed> here(size);
            std::vector<Placed> found(leads() ? size : 0);
            for (std::size_t i = 0; i < size; ++i) {
                here[i] = {mine[begin + i], rank_};
            }
            check(MPI_Reduce(here.data(), found.data(), count, MPI_DOUBLE_INT, MPI_MAXLOC, 0,
                             communicator_));
            for (const Placed& one : found) {
                values.push_back(one.value);
                whose.push_back(one.rank);
            }
        });
        return {std::move(values), std::move(whose)};
    }

    // Equally many values of each rank, in order of rank.
    [[nodiscard]] Values gather(const Values& mine) const {
        Values all(leads() ? ranks() * mine.size() : 0);
        const int count = static_cast<int>(mine.size());
        check(MPI_Gather(mine.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, 0,
                         communicator_));
        return all;
    }

    void tell(Values& values) const {
        check(MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_INT64_T, 0,
                        communicator_));
    }

private:
    static void check(int status) { mpi::check(status, "join the times of all ranks"); }

    template <class Act>
    static void for_pieces(std::size_t size, Act act) {
        for (std::size_t begin = 0; begin < size; begin += piece_repetitions) {
            act(begin, static_cast<int>(std::min(piece_repetitions, size - begin)));
        }
    }

    MPI_Comm communicator_;
    int rank_ = 0;
    int ranks_ = 1;
};

Values rounded(const std::vector<double>& values) {
    Values whole(values.size());
    std::ranges::transform(values, whole.begin(), [](double v) { return std::llround(v); });
    return whole;
}

Values completions(const OwnTimes& own) {
    Values stays = own.duration_ns;
    for (std::size_t i = 0; i < own.late_ns.size(); ++i) {
        stays[i] += own.late_ns[i];
    }
    return stays;
}

// The sample of rank max(1, ceil(q n)), q in thousandths, of a rank's own.
std::int64_t sample_at(Values& values, std::size_t thousandths) {
    const std::size_t place = std::max<std::size_t>((thousandths * values.size() + 999) / 1000, 1);
    const auto wanted = values.begin() + static_cast<std::ptrdiff_t>(place - 1);
    std::nth_element(values.begin(), wanted, values.end());
    return *wanted;
}

void add_ranks(const Joining& joining, const OwnTimes& own, std::vector<SummarySeries>& found) {
    constexpr std::array<std::pair<const char*, std::size_t>, 4> orders{{{"rank_median_ns", 500},
                                                                         {"rank_p90_ns", 900},
                                                                         {"rank_p99_ns", 990},
                                                                         {"rank_max_ns", 1000}}};
    Values values = own.duration_ns;
    for (const auto& [name, thousandths] : orders) {
        found.push_back({name, "ns", joining.gather({sample_at(values, thousandths)})});
    }
}

void add_histogram(const Joining& joining, const OwnTimes& own, std::vector<SummarySeries>& found) {
    Histogram mine;
    for (const std::int64_t duration : own.duration_ns) {
        mine.add(duration);
    }
    const Values counts = joining.reduce(mine.counts(), MPI_SUM);
    Values filled;
    Values samples;
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
        if (counts[bucket] != 0) {
            filled.push_back(static_cast<std::int64_t>(bucket));
            samples.push_back(counts[bucket]);
        }
    }
    found.push_back({"histogram_bucket", "count", std::move(filled)});
    found.push_back({"histogram_count", "count", std::move(samples)});
}

// The repetitions that took longest, the longest first; the same on all ranks.
Values slowest(const Joining& joining, const Values& completion, std::size_t repetitions) {
    Values order(std::min(slowest_kept, repetitions));
    if (joining.leads()) {
        Values all(repetitions);
        std::iota(all.begin(), all.end(), 0);
        const auto end = all.begin() + static_cast<std::ptrdiff_t>(order.size());
        std::partial_sort(all.begin(), end, all.end(), [&](std::int64_t a, std::int64_t b) {
            const std::int64_t first = completion[static_cast<std::size_t>(a)];
            const std::int64_t second = completion[static_cast<std::size_t>(b)];
            return first != second ? first > second : a < b;
        });
        std::copy(all.begin(), end, order.begin());
    }
    joining.tell(order);
    return order;
}

void add_slowest(const Joining& joining, const OwnTimes& own, const Values& completion,
                 std::vector<SummarySeries>& found) {
    const Values order = slowest(joining, completion, own.duration_ns.size());
    Values enter;
    Values stay;
    for (const std::int64_t i : order) {
        enter.push_back(std::llround(own.enter_ns[static_cast<std::size_t>(i)]));
        stay.push_back(own.duration_ns[static_cast<std::size_t>(i)]);
    }
    Values entered = joining.gather(enter);
    Values stayed = joining.gather(stay);
    found.push_back({"slow_index", "count", order});
    found.push_back({"slow_begin_ns", "ns", std::move(entered)});
    found.push_back({"slow_duration_ns", "ns", std::move(stayed)});
}

} // namespace

std::vector<SummarySeries> summarise(const OwnTimes& own, MPI_Comm communicator) {
    const Joining joining(communicator);
    std::vector<SummarySeries> found;
    const Values completion = joining.reduce(completions(own), MPI_MAX);
    auto [last_in, last_in_rank] = joining.largest(own.enter_ns);
    auto [last_out, last_out_rank] = joining.largest(own.leave_ns);
    // The first to enter is the last by negated times.
    std::vector<double> negated(own.enter_ns.size());
    std::ranges::transform(own.enter_ns, negated.begin(), [](double v) { return -v; });
    const auto [first_in, first_in_rank] = joining.largest(negated);
    for (std::size_t i = 0; i < last_in.size(); ++i) {
        last_in[i] += first_in[i];
    }
    found.push_back({"completion_ns", "ns", completion});
    found.push_back({"start_spread_ns", "ns", rounded(last_in)});
    found.push_back({"first_in_rank", "count", first_in_rank});
    found.push_back({"last_in_rank", "count", std::move(last_in_rank)});
    found.push_back({"last_out_rank", "count", std::move(last_out_rank)});
    if (!own.late_ns.empty()) {
        found.push_back({"late_max_ns", "ns", joining.reduce(own.late_ns, MPI_MAX)});
    }
    add_histogram(joining, own, found);
    add_ranks(joining, own, found);
    add_slowest(joining, own, completion, found);
    if (!joining.leads()) {
        found.clear();
    }
    return found;
}

} // namespace sonde::collective
