#include "transport/mpi/clocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "transport/mpi/call.hpp"
#include "transport/mpi/job.hpp"
#include "transport/mpi/name_hash.hpp"

namespace sonde::mpi {
namespace {

constexpr int tag_question = 11;
constexpr int tag_answer = 12;
constexpr int least_exchanges = 16;
constexpr int most_exchanges = 400;
// This many exchanges without a tighter bound are enough; so is this much time after the least.
constexpr int idle_exchanges = 48;
constexpr std::int64_t patience_ns = 50'000'000;
// A drift is known from two comparisons that are this far apart; below, clocks are taken to run
// alike, which costs less than a guess.
constexpr std::int64_t drift_span_ns = 500'000'000;

// Jones and Koenig fit a line to many exchanges; those that waited on the way say little.
constexpr int fitted_exchanges = 100;
constexpr std::size_t fastest_kept = 16;
// A coarser MPI_Wtime would be most of a small message's time.
constexpr double coarsest_wtime_s = 1e-6;

enum Question : std::int64_t { question_more = 1, question_last = 2 };
using Words = std::array<std::int64_t, 4>;

void send(Words words, int to, int tag, MPI_Comm communicator) {
    check(
        MPI_Send(words.data(), static_cast<int>(words.size()), MPI_INT64_T, to, tag, communicator),
        "compare clocks with rank " + std::to_string(to));
}

Words receive(int from, int tag, MPI_Comm communicator) {
    Words words{};
    check(MPI_Recv(words.data(), static_cast<int>(words.size()), MPI_INT64_T, from, tag,
                   communicator, MPI_STATUS_IGNORE),
          "compare clocks with rank " + std::to_string(from));
    return words;
}

std::int64_t now_ns(const Timebase& timebase) {
    return timebase.with_clock([&](auto clock) { return timebase.to_ns(clock.now()); });
}

Words words_of(const LeadLine& line) {
    return {line.at_ns, line.lead_ns, std::bit_cast<std::int64_t>(line.drift), line.uncertainty_ns};
}

// Not by the communicator of the exchanges: whoever waits for its turn sleeps meanwhile.
void hand(const Job& job, const Words& words, int to) {
    job.hand({reinterpret_cast<const char*>(words.data()), sizeof words}, to);
}

LeadLine line_of(const Words& words) {
    return {words[0], words[1], std::bit_cast<double>(words[2]), words[3]};
}

std::vector<std::int64_t> gathered(const Job& job, std::int64_t mine) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(job.ranks()));
    check(MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, job.control()),
          "tell the ranks whose clock is whose");
    return all;
}

bool are_equal(const std::vector<std::int64_t>& values) {
    return std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end();
}

// Throws Failure("refused") where MPI_Wtime cannot stand for all ranks' clocks.
void require_one_wtime(bool one_host) {
    void* value = nullptr;
    int known = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &known),
          "tell whether MPI_Wtime is global");
    const bool is_global = known != 0 && *static_cast<int*>(value) != 0;
    if (!is_global && !one_host) {
        throw Failure("refused", "clock wtime needs one MPI_Wtime for all ranks: they are on "
                                 "several hosts, and this MPI says that MPI_Wtime is not global; "
                                 "take clock tree");
    }
    if (MPI_Wtick() > coarsest_wtime_s) {
        throw Failure("refused", "clock wtime needs an MPI_Wtime with steps of 1 us or less, and "
                                 "this MPI's has " +
                                     std::to_string(std::llround(1e9 * MPI_Wtick())) +
                                     " ns; take clock tree");
    }
}

std::vector<LeadBounds> fastest_of(std::vector<LeadBounds> exchanges) {
    const std::size_t kept = std::min(fastest_kept, exchanges.size());
    const auto end = exchanges.begin() + static_cast<std::ptrdiff_t>(kept);
    std::ranges::partial_sort(exchanges, end, {}, &LeadBounds::round_trip_ns);
    exchanges.resize(kept);
    std::ranges::sort(exchanges, {}, &LeadBounds::at_ns);
    return exchanges;
}

} // namespace

Clocks::Clocks(const Job& job, ClockMethod method, bool apart)
    : job_(job), method_(method), name_(number_of(clock_group())),
      group_(apart ? job.rank() : name_) {
    if (method_ == ClockMethod::wtime) {
        require_one_wtime(are_equal(gathered(job, name_)));
        group_ = 0;
        one_clock_ = true;
        return;
    }
    const std::vector<std::int64_t> groups = gathered(job, group_);
    place_ = method_ == ClockMethod::jones_koenig ? place_under_root(job.rank(), groups)
                                                  : place_in_clock_tree(job.rank(), groups);
    one_clock_ = are_equal(groups);
}

std::optional<ClockComparison> Clocks::compare(Timebase& timebase) {
    std::optional<ClockComparison> found;
    timebase.refresh();
    if (one_clock_) {
        return found;
    }
    // The first word from the parent is this rank's turn, or, of the same clock, all there is.
    Words word{};
    if (place_.parent >= 0) {
        const std::string text = job_.take(place_.parent, sizeof word);
        std::memcpy(word.data(), text.data(), std::min(text.size(), sizeof word));
    }
    if (place_.reads_parents_clock) {
        lead_ = line_of(word);
        return found;
    }
    if (place_.parent >= 0) {
        found = ask(timebase);
    }
    for (const int child : place_.compared) {
        hand(job_, words_of(lead_), child);
        answer(child, timebase);
    }
    for (const int reader : place_.same) {
        hand(job_, words_of(lead_), reader);
    }
    return found;
}

ClockComparison Clocks::ask(const Timebase& timebase) {
    ClockComparison found{place_.parent, {}, {}};
    const std::int64_t begin_ns = now_ns(timebase);
    std::int64_t width_ns = 0;
    int idle = 0;
    const bool fits = method_ == ClockMethod::jones_koenig;
    const int most = fits ? fitted_exchanges : most_exchanges;
    std::vector<LeadBounds> exchanges;
    while (found.bounds.exchanges() < most && idle < (fits ? most : idle_exchanges)) {
        const std::int64_t asked_ns = now_ns(timebase);
        send({question_more}, place_.parent, tag_question, job_.control());
        const Words answer = receive(place_.parent, tag_answer, job_.control());
        const std::int64_t heard_ns = now_ns(timebase);
        const ClockExchange exchange{asked_ns, answer[0], answer[1], heard_ns};
        found.bounds.add(exchange);
        if (fits) {
            exchanges.emplace_back().add(exchange);
        }
        const bool tighter = found.bounds.exchanges() == 1 || found.bounds.width_ns() < width_ns;
        width_ns = found.bounds.width_ns();
        idle = tighter ? 0 : idle + 1;
        if (found.bounds.exchanges() >= least_exchanges && heard_ns - begin_ns > patience_ns) {
            break;
        }
    }
    send({question_last}, place_.parent, tag_question, job_.control());
    found.fastest = fastest_of(std::move(exchanges));
    follow(found, line_of(receive(place_.parent, tag_answer, job_.control())));
    return found;
}

void Clocks::answer(int child, const Timebase& timebase) const {
    while (true) {
        const Words question = receive(child, tag_question, job_.control());
        const std::int64_t came_ns = now_ns(timebase);
        if (question[0] == question_last) {
            send(words_of(lead_), child, tag_answer, job_.control());
            return;
        }
        send({came_ns, now_ns(timebase)}, child, tag_answer, job_.control());
    }
}

void Clocks::follow(const ClockComparison& found, const LeadLine& parents) {
    const LeadBounds& last = found.bounds;
    if (!first_) {
        first_ = last;
    }
    const std::int64_t span_ns = last.at_ns() - first_->at_ns();
    const double drift = span_ns < drift_span_ns || method_ == ClockMethod::offset
                             ? 0.0
                             : static_cast<double>(last.middle_ns() - first_->middle_ns()) /
                                   static_cast<double>(span_ns);
    lead_ = {last.at_ns(), last.middle_ns() + parents.at(last.at_ns() - last.middle_ns()),
             drift + parents.drift, last.width_ns() / 2 + 1 + parents.uncertainty_ns};
}

} // namespace sonde::mpi
