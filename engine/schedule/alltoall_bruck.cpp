// Bruck's exchange. A block that must go o ranks on is carried one power of two after the other, by
// the ones in the binary form of o. In the round of distance d a rank passes on all blocks that it
// holds with this bit in o; those come from the ranks behind it, o modulo d of them away.
#include <algorithm>
#include <bit>
#include <vector>

#include "schedule/alltoall.hpp"
#include "schedule/phases.hpp"

namespace sonde::schedule {

namespace {

std::int64_t rounds_of(Rank ranks) noexcept {
    return std::bit_width(static_cast<std::uint32_t>(ranks - 1));
}

// What `rank` sends at a distance. The blocks of origin rank - l with the bit of `distance` in
// their o, and l = o modulo distance, are for the ranks rank + distance + 2 j distance: they do not
// depend on l, so that each such rank's blocks are one range of origins.
std::vector<Range> passed_on(Rank ranks, Rank rank, std::int64_t distance) {
    std::vector<Range> items;
    for (std::int64_t ahead = distance; ahead < ranks; ahead += 2 * distance) {
        const std::int64_t origins = std::min(distance, ranks - ahead); // ahead + l stays below p
        const auto first = static_cast<Rank>((rank - (origins - 1) + ranks) % ranks);
        items.push_back({.origin = first,
                         .origins = static_cast<Rank>(origins),
                         .block = static_cast<Rank>((rank + ahead) % ranks)});
    }
    return items;
}

class BruckExchange final : public PhasedSchedule {
public:
    explicit BruckExchange(const Parameters& parameters)
        : PhasedSchedule(parameters, exchange_layout(parameters)) {}

    // Two rotations, and the rounds between them.
    [[nodiscard]] std::int64_t phases(Rank /*rank*/) const override {
        return ranks() < 2 ? 0 : rounds_of(ranks()) + 2;
    }

    void phase(Rank rank, std::int64_t number, Script& script) const override {
        const std::int64_t last = rounds_of(ranks()) - 1;
        if (number == 0) {
            script.copy({.origin = rank, .blocks = ranks()});
        } else if (number == last + 2) {
            script.at(last, last);
            script.copy({.origin = 0, .origins = ranks(), .block = rank});
        } else {
            exchange(rank, number - 1, script);
        }
    }

    [[nodiscard]] Claims claims() const override {
        Claims claims;
        claims.node_contention_free = true;
        if (!parameters().sizes.empty()) {
            return claims;
        }
        const bool sends = parameters().block_bytes > 0;
        const std::int64_t rounds = sends ? rounds_of(ranks()) : 0;
        claims.rounds = rounds;
        claims.stalls = std::max<std::int64_t>(rounds - 1, 0);
        claims.fan_out = rounds > 0 ? 1 : 0;
        claims.messages = rounds;
        claims.bytes = forwarded_blocks() * parameters().block_bytes;
        return claims;
    }

private:
    void exchange(Rank rank, std::int64_t round, Script& script) const {
        const std::int64_t distance = std::int64_t{1} << round;
        const auto to = static_cast<Rank>((rank + distance) % ranks());
        const auto from = static_cast<Rank>((rank + ranks() - distance) % ranks());
        const auto leaving = passed_on(ranks(), rank, distance);
        const auto coming = passed_on(ranks(), from, distance);
        script.at(round, round);
        script.copy(leaving); // they are not contiguous: packed into one message
        script.receive(from, coming);
        script.send(to, leaving);
        script.copy(coming); // and unpacked
    }

    // Blocks that a rank sends, its own and others': each o as often as it has ones.
    [[nodiscard]] std::int64_t forwarded_blocks() const {
        std::int64_t blocks = 0;
        for (Rank ahead = 1; ahead < ranks(); ++ahead) {
            blocks += std::popcount(static_cast<std::uint32_t>(ahead));
        }
        return blocks;
    }
};

} // namespace

std::unique_ptr<Schedule> make_bruck(const Parameters& parameters) {
    return std::make_unique<BruckExchange>(parameters);
}

} // namespace sonde::schedule
