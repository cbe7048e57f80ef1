#include "tuned/running.hpp"

#include <bit>
#include <utility>

namespace sonde::tuned {

namespace {

// Families whose planners ask where the caller has its blocks: the others have one vector.
bool has_places(schedule::Family family) {
    return family != schedule::Family::broadcast && !schedule::is_reduction(family);
}

std::int64_t element_bytes_of(const Joined& joined) {
    return joined.datatype == MPI_DATATYPE_NULL ? 1 : facts_of(joined.datatype).bytes;
}

} // namespace

PlanKey key_of(const Rule& rule, const Wanted& wanted, const Side& given, const Side& got) {
    PlanKey key{std::bit_cast<std::intptr_t>(&rule), wanted.root, wanted.bytes,
                element_bytes_of(wanted.joined), wanted.commutes ? 1 : 0};
    const auto append = [&](const std::vector<std::int64_t>& numbers) {
        key.push_back(static_cast<std::int64_t>(numbers.size()));
        key.insert(key.end(), numbers.begin(), numbers.end());
    };
    append(wanted.sizes);
    append(given.places());
    append(got.places());
    return key;
}

std::unique_ptr<Running> plan_running(PlanKey key, const Rule& rule, const Caller& caller,
                                      const Wanted& wanted, const Side& given, const Side& got) {
    schedule::Parameters parameters = rule.parameters;
    parameters.ranks = caller.ranks;
    parameters.root = wanted.root;
    parameters.block_bytes = wanted.bytes;
    parameters.sizes = wanted.sizes;
    parameters.element_bytes = element_bytes_of(wanted.joined);
    parameters.commutative = wanted.commutes;
    const schedule::Family family = rule.schedule->family;
    schedule::check(*rule.schedule, parameters);
    const auto made = rule.schedule->make(parameters);
    schedule::CallersPlaces places;
    if (has_places(family)) {
        places = {given.places(), got.places()};
    }
    auto running = std::make_unique<Running>(std::move(key),
                                             schedule::plan_of(*made, family, caller.rank, places));
    running->channel.element_bytes = static_cast<std::size_t>(parameters.element_bytes);
    running->channel.synchronous = made->window() != 0;
    return running;
}

} // namespace sonde::tuned
