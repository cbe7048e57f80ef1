// Every algorithm is executed over real bytes by carriers of one process, which complete messages
// in a random order, and leaves what the operation demands.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "schedule/execution.hpp"
#include "schedule/plan.hpp"
#include "schedule/schedule.hpp"
#include "schedule/variants.hpp"

using namespace sonde::schedule;

TEST_SUITE_BEGIN("schedule_executions");

namespace {

using Bytes = std::vector<std::byte>;

// Joined are maps x -> a x + b of four bits, one after the other: associative, and the order shows.
std::byte one_after_the_other(std::byte left, std::byte right) {
    const auto a = [](std::byte map) { return std::to_integer<unsigned>(map) & 15U; };
    const auto b = [](std::byte map) { return std::to_integer<unsigned>(map) >> 4U; };
    const unsigned factor = a(right) * a(left);
    const unsigned added = a(right) * b(left) + b(right);
    return static_cast<std::byte>((added & 15U) << 4U | (factor & 15U));
}

std::byte sum(std::byte left, std::byte right) {
    return static_cast<std::byte>(std::to_integer<unsigned>(left) +
                                  std::to_integer<unsigned>(right));
}

using Join = std::byte (*)(std::byte, std::byte);

// Messages between ranks of this process. One is complete, at both ends, some time after both have
// begun it: then its bytes are taken over.
class Post {
public:
    explicit Post(std::uint32_t seed) : random_(seed) {}

    void send(Rank from, Rank to, std::span<const std::byte> bytes, std::int64_t number) {
        sends_[{from, to}].push_back({bytes, number});
        meet(from, to);
    }
    void receive(Rank from, Rank to, std::span<std::byte> bytes, std::int64_t number) {
        receives_[{from, to}].push_back({bytes, number});
        meet(from, to);
    }
    // One that is complete, for a rank; -1: none now.
    [[nodiscard]] std::int64_t take(Rank rank) {
        if (done_[rank].empty()) {
            pass_on();
        }
        auto& done = done_[rank];
        if (done.empty()) {
            return -1;
        }
        const std::size_t which = random_() % done.size();
        const std::int64_t number = done[which];
        done.erase(done.begin() + static_cast<std::ptrdiff_t>(which));
        return number;
    }
    [[nodiscard]] std::int64_t under_way() const { return static_cast<std::int64_t>(met_.size()); }
    [[nodiscard]] std::int64_t most_from_one() const { return most_from_one_; }

private:
    struct Sending {
        std::span<const std::byte> bytes;
        std::int64_t number;
    };
    struct Receiving {
        std::span<std::byte> bytes;
        std::int64_t number;
    };
    struct Met {
        Rank from;
        Rank to;
        Sending send;
        Receiving receive;
    };

    void meet(Rank from, Rank to) {
        std::int64_t waiting = 0;
        for (const auto& [pair, sends] : sends_) {
            waiting += pair.first == from ? static_cast<std::int64_t>(sends.size()) : 0;
        }
        for (const Met& met : met_) {
            waiting += met.from == from ? 1 : 0;
        }
        most_from_one_ = std::max(most_from_one_, waiting);
        auto& sends = sends_[{from, to}];
        auto& receives = receives_[{from, to}];
        if (!sends.empty() && !receives.empty()) {
            met_.push_back({from, to, sends.front(), receives.front()});
            sends.pop_front();
            receives.pop_front();
        }
    }
    void pass_on() {
        if (met_.empty()) {
            return;
        }
        std::swap(met_[random_() % met_.size()], met_.back());
        const Met met = met_.back();
        met_.pop_back();
        REQUIRE(met.send.bytes.size() == met.receive.bytes.size());
        std::ranges::copy(met.send.bytes, met.receive.bytes.begin());
        done_[met.from].push_back(met.send.number);
        done_[met.to].push_back(met.receive.number);
    }

    std::mt19937 random_;
    std::map<std::pair<Rank, Rank>, std::deque<Sending>> sends_;
    std::map<std::pair<Rank, Rank>, std::deque<Receiving>> receives_;
    std::vector<Met> met_;
    std::map<Rank, std::vector<std::int64_t>> done_;
    std::int64_t most_from_one_ = 0;
};

struct Carrier {
    Post* post;
    Rank rank;
    Join joined;

    void send(std::span<const std::byte> bytes, Rank peer, std::int64_t number) const {
        post->send(rank, peer, bytes, number);
    }
    void receive(std::span<std::byte> bytes, Rank peer, std::int64_t number) const {
        post->receive(peer, rank, bytes, number);
    }
    void combine(const std::byte* left, std::byte* into, std::size_t bytes) const {
        for (std::size_t i = 0; i < bytes; ++i) {
            into[i] = joined(left[i], into[i]);
        }
    }
    template <class Completed>
    void wait(bool all, Completed completed) const {
        do {
            const std::int64_t number = post->take(rank);
            if (number < 0) {
                return; // another rank has to go on first
            }
            completed(number);
        } while (all);
    }
};

std::byte given_byte(Rank rank, std::int64_t at) {
    const auto mixed =
        (static_cast<std::uint64_t>(rank) * 1'000'003U + static_cast<std::uint64_t>(at)) *
        0x9E3779B97F4A7C15U;
    return static_cast<std::byte>(mixed >> 56U) | std::byte{1}; // a factor that is odd
}

std::int64_t given_bytes(const Schedule& schedule, Rank of) {
    std::int64_t bytes = 0;
    for (std::int32_t block = 0; block < schedule.layout().blocks(); ++block) {
        bytes += schedule.layout().bytes(of, block);
    }
    return bytes;
}

Bytes given_by(const Schedule& schedule, Rank of) {
    Bytes given(static_cast<std::size_t>(given_bytes(schedule, of)));
    for (std::size_t at = 0; at < given.size(); ++at) {
        given[at] = given_byte(of, static_cast<std::int64_t>(at));
    }
    return given;
}

// Of what a rank gives, one block.
Bytes block_of(const Schedule& schedule, Rank origin, std::int32_t block) {
    std::int64_t at = 0;
    for (std::int32_t before = 0; before < block; ++before) {
        at += schedule.layout().bytes(origin, before);
    }
    const Bytes all = given_by(schedule, origin);
    return {all.begin() + at, all.begin() + at + schedule.layout().bytes(origin, block)};
}

Bytes joined(const Schedule& schedule, Join join) {
    Bytes result = given_by(schedule, 0);
    for (Rank rank = 1; rank < schedule.parameters().ranks; ++rank) {
        const Bytes more = given_by(schedule, rank);
        std::ranges::transform(result, more, result.begin(), join);
    }
    return result;
}

Bytes expected(const Schedule& schedule, Family family, Rank rank, Join join) {
    const Parameters& parameters = schedule.parameters();
    const bool is_root = rank == parameters.root;
    Bytes all;
    switch (family) {
    case Family::broadcast:
        return given_by(schedule, parameters.root);
    case Family::scatter:
        return block_of(schedule, parameters.root, rank);
    case Family::barrier:
        return {};
    case Family::reduce:
        return is_root ? joined(schedule, join) : Bytes{};
    case Family::allreduce:
        return joined(schedule, join);
    case Family::reduce_scatter: {
        const Bytes vector = joined(schedule, join);
        std::int64_t at = 0;
        for (std::int32_t before = 0; before < rank; ++before) {
            at += schedule.layout().bytes(0, before);
        }
        return {vector.begin() + at, vector.begin() + at + schedule.layout().bytes(0, rank)};
    }
    default:
        for (Rank origin = 0; origin < parameters.ranks; ++origin) {
            const Bytes block = block_of(schedule, origin, family == Family::alltoall ? rank : 0);
            if (family != Family::gather || is_root) {
                all.insert(all.end(), block.begin(), block.end());
            }
        }
        return all;
    }
}

// All ranks to their ends, a random one at a time. Returns how many sends of one rank were under
// way at most.
std::int64_t check_executed(const Algorithm& algorithm, const Parameters& parameters) {
    const std::unique_ptr<Schedule> schedule = algorithm.make(parameters);
    const bool keeps_order = schedule->claims().rank_order || !parameters.commutative;
    const Join join = keeps_order ? one_after_the_other : sum;
    Post post(17);
    std::mt19937 random(11); // NOLINT(bugprone-random-generator-seed): the same on every run
    std::vector<std::unique_ptr<Execution<Carrier>>> ranks;
    std::vector<Bytes> given;
    std::vector<Bytes> got;
    for (Rank rank = 0; rank < parameters.ranks; ++rank) {
        const bool has_all = algorithm.family == Family::broadcast && rank == parameters.root;
        given.push_back(given_by(*schedule, rank));
        got.push_back(has_all ? given.back()
                              : Bytes(expected(*schedule, algorithm.family, rank, join).size()));
        ranks.push_back(std::make_unique<Execution<Carrier>>(
            plan_of(*schedule, algorithm.family, rank), Carrier{&post, rank, join}));
    }
    for (int round = 0; round < 2; ++round) { // a plan can be used again
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            ranks[rank]->start(given[rank].data(), got[rank].data());
        }
        std::size_t idle = 0;
        for (std::size_t done = 0; done < ranks.size() && idle < 1000 * ranks.size(); ++idle) {
            static_cast<void>(ranks[random() % ranks.size()]->proceed());
            done = static_cast<std::size_t>(
                std::ranges::count_if(ranks, [](const auto& rank) { return rank->is_done(); }));
            idle = post.under_way() > 0 ? 0 : idle;
        }
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            INFO(algorithm.name, ", rank ", rank, " of ", ranks.size());
            CHECK(ranks[rank]->is_done());
            CHECK(got[rank] ==
                  expected(*schedule, algorithm.family, static_cast<Rank>(rank), join));
            CHECK(given[rank] == given_by(*schedule, static_cast<Rank>(rank)));
        }
    }
    return post.most_from_one();
}

} // namespace

TEST_CASE("every algorithm leaves what its operation demands") {
    for (const Algorithm& algorithm : algorithms()) {
        for (Rank ranks = 1; ranks <= 9; ++ranks) {
            if (!possible(algorithm, ranks)) {
                continue;
            }
            Parameters parameters;
            parameters.ranks = ranks;
            parameters.block_bytes = 90;
            parameters.segment_bytes = 32;
            for (Variant& variant : variants(algorithm, parameters)) {
                for (const Rank root : proven_roots(algorithm, ranks, false)) {
                    variant.parameters.root = root;
                    INFO(variant.name, ", root ", root);
                    static_cast<void>(check_executed(algorithm, variant.parameters));
                }
            }
        }
    }
}

TEST_CASE("a window bounds what a rank has under way") {
    Parameters parameters;
    parameters.ranks = 8;
    parameters.block_bytes = 96;
    parameters.segment_bytes = 32;
    const Algorithm& algorithm = find_algorithm("alltoall/synchronous-shuffle");
    CHECK(check_executed(algorithm, parameters) > 5);
    parameters.window = 5;
    CHECK(check_executed(algorithm, parameters) == 5);
}

TEST_CASE("what is neighbouring is one piece") {
    Parameters parameters;
    parameters.ranks = 8;
    parameters.block_bytes = 64;
    const auto plan_by = [&](const char* name, Family family) {
        const std::unique_ptr<Schedule> schedule = make_schedule(name, parameters);
        return plan_of(*schedule, family, 3);
    };
    const Plan direct = plan_by("alltoall/pairwise", Family::alltoall);
    CHECK(direct.between_bytes == 0);
    CHECK(direct.pieces.size() == direct.steps.size());
    const Plan doubling = plan_by("allreduce/recursive-doubling", Family::allreduce);
    CHECK(doubling.joinings.size() == 3);
    CHECK(doubling.after.empty());
}

TEST_SUITE_END();
