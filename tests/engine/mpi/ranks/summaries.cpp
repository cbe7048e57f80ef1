// What is joined of all ranks' times, against the same worked out from all samples. Every rank can
// make the times of every other.
#include <doctest/doctest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collective/summary.hpp"
#include "core/histogram.hpp"

namespace {

using namespace sonde;
using collective::OwnTimes;
using Values = std::vector<std::int64_t>;

constexpr std::size_t repetitions = 70'001; // more than one piece of a reduction

OwnTimes times_of(int rank, bool windows) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(rank) + 17);
    OwnTimes own;
    for (std::size_t i = 0; i < repetitions; ++i) {
        // Few different values: equal ones are decided by the rank.
        const auto enter = static_cast<double>(1'000'000 * i + draw() % 50);
        const auto duration = static_cast<std::int64_t>(1'000 + draw() % 997 * (draw() % 7));
        own.enter_ns.push_back(enter);
        own.leave_ns.push_back(enter + static_cast<double>(duration));
        own.duration_ns.push_back(duration);
        if (windows) {
            own.late_ns.push_back(static_cast<std::int64_t>(draw() % 2'000));
        }
    }
    return own;
}

std::map<std::string, Values> by_name(const std::vector<collective::SummarySeries>& found) {
    std::map<std::string, Values> named;
    for (const auto& series : found) {
        named[series.name] = series.values;
    }
    return named;
}

struct Whole { // of all ranks, by repetition
    Values completion, spread, first_in, last_in, last_out, late;
};

Whole work_out(const std::vector<OwnTimes>& all) {
    Whole whole;
    for (std::size_t i = 0; i < repetitions; ++i) {
        std::size_t first = 0;
        std::size_t last = 0;
        std::size_t out = 0;
        std::int64_t longest = 0;
        std::int64_t late = 0;
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const OwnTimes& own = all[rank];
            const std::int64_t own_late = own.late_ns.empty() ? 0 : own.late_ns[i];
            first = own.enter_ns[i] < all[first].enter_ns[i] ? rank : first;
            last = own.enter_ns[i] > all[last].enter_ns[i] ? rank : last;
            out = own.leave_ns[i] > all[out].leave_ns[i] ? rank : out;
            longest = std::max(longest, own.duration_ns[i] + own_late);
            late = std::max(late, own_late);
        }
        whole.completion.push_back(longest);
        whole.spread.push_back(std::llround(all[last].enter_ns[i] - all[first].enter_ns[i]));
        whole.first_in.push_back(static_cast<std::int64_t>(first));
        whole.last_in.push_back(static_cast<std::int64_t>(last));
        whole.last_out.push_back(static_cast<std::int64_t>(out));
        whole.late.push_back(late);
    }
    return whole;
}

void check_ranks(const std::map<std::string, Values>& found, const std::vector<OwnTimes>& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        Values sorted = all[rank].duration_ns;
        std::ranges::sort(sorted);
        const auto at = [&](double q) {
            return sorted[static_cast<std::size_t>(
                              std::ceil(q * static_cast<double>(sorted.size()))) -
                          1];
        };
        CHECK(found.at("rank_median_ns")[rank] == at(0.5));
        CHECK(found.at("rank_p90_ns")[rank] == at(0.9));
        CHECK(found.at("rank_p99_ns")[rank] == at(0.99));
        CHECK(found.at("rank_max_ns")[rank] == sorted.back());
    }
}

void check_histogram(const std::map<std::string, Values>& found, const std::vector<OwnTimes>& all) {
    Histogram whole;
    for (const OwnTimes& own : all) {
        for (const std::int64_t duration : own.duration_ns) {
            whole.add(duration);
        }
    }
    Values counts(Histogram::buckets, 0);
    const Values& buckets = found.at("histogram_bucket");
    REQUIRE(buckets.size() == found.at("histogram_count").size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        counts[static_cast<std::size_t>(buckets[i])] = found.at("histogram_count")[i];
    }
    CHECK(counts == whole.counts());
}

void check_slowest(const std::map<std::string, Values>& found, const std::vector<OwnTimes>& all,
                   const Values& completion) {
    const Values& index = found.at("slow_index");
    REQUIRE(index.size() == collective::slowest_kept);
    Values longest = completion;
    std::ranges::sort(longest, std::greater{});
    for (std::size_t k = 0; k < index.size(); ++k) {
        const auto i = static_cast<std::size_t>(index[k]);
        CHECK(completion[i] == longest[k]);
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const std::size_t place = rank * index.size() + k;
            CHECK(found.at("slow_begin_ns")[place] == std::llround(all[rank].enter_ns[i]));
            CHECK(found.at("slow_duration_ns")[place] == all[rank].duration_ns[i]);
        }
    }
}

void check_all(const std::map<std::string, Values>& found, int ranks, bool windows) {
    std::vector<OwnTimes> all;
    for (int other = 0; other < ranks; ++other) {
        all.push_back(times_of(other, windows));
    }
    const Whole whole = work_out(all);
    CHECK(found.at("completion_ns") == whole.completion);
    CHECK(found.at("start_spread_ns") == whole.spread);
    CHECK(found.at("first_in_rank") == whole.first_in);
    CHECK(found.at("last_in_rank") == whole.last_in);
    CHECK(found.at("last_out_rank") == whole.last_out);
    CHECK(found.contains("late_max_ns") == windows);
    CHECK((!windows || found.at("late_max_ns") == whole.late));
    check_histogram(found, all);
    check_ranks(found, all);
    check_slowest(found, all, whole.completion);
}

// Rank 0 works alone meanwhile: who waits for it leaves it the CPUs.
void wait_asleep() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (done == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

} // namespace

TEST_SUITE("many_ranks") {
    TEST_CASE("what is joined is what all samples say") {
        int rank = 0;
        int ranks = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        for (const bool windows : {false, true}) {
            const auto series = collective::summarise(times_of(rank, windows), MPI_COMM_WORLD);
            if (rank == 0) {
                check_all(by_name(series), ranks, windows);
            } else {
                CHECK(series.empty());
            }
            wait_asleep();
        }
    }
}
