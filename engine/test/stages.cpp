#include "test/stages.hpp"

#include <algorithm>
#include <cmath>

namespace sonde {
namespace {

constexpr std::int64_t widest_bracket_ns = 5'000;
// A clock that is set right runs at most 500 millionths too fast or too slow; more is a step.
constexpr double most_drift = 0.001;

// CLOCK_REALTIME at a reading of the program's clock between two pairs.
std::int64_t real_at(std::uint64_t ticks, const ClockPair& before, const ClockPair& after) {
    const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - before.ticks));
    const auto span = static_cast<double>(after.ticks - before.ticks);
    return before.ns + std::llround(distance * static_cast<double>(after.ns - before.ns) / span);
}

std::int64_t half_width_ns(const ClockPair& pair, double tick_ns) {
    return std::llround(static_cast<double>(pair.width_ticks) * tick_ns / 2);
}

bool is_steady(const NotedExchange& exchange, double tick_ns) {
    const double passed_ns =
        static_cast<double>(exchange.after.ticks - exchange.before.ticks) * tick_ns;
    const auto real_passed_ns = static_cast<double>(exchange.after.ns - exchange.before.ns);
    const auto brackets_ns =
        static_cast<double>(exchange.before.width_ticks + exchange.after.width_ticks) * tick_ns;
    return exchange.after.ticks > exchange.before.ticks &&
           std::abs(real_passed_ns - passed_ns) <= most_drift * passed_ns + brackets_ns;
}

} // namespace

std::optional<Stages> split(const NotedExchange& exchange, const MessageStamps& sent,
                            bool at_origin, double tick_ns, StagesMissing& missing) {
    missing.queue += sent.queued_ns == 0 ? 1U : 0U;
    missing.driver += sent.driver_ns == 0 ? 1U : 0U;
    missing.arrival += exchange.arrival_ns == 0 ? 1U : 0U;
    missing.sent_again += sent.sent_again ? 1U : 0U;
    if (sent.queued_ns == 0 || sent.driver_ns == 0 || exchange.arrival_ns == 0 || sent.sent_again) {
        return std::nullopt;
    }
    const std::int64_t pairing_ns =
        std::max(half_width_ns(exchange.before, tick_ns), half_width_ns(exchange.after, tick_ns));
    if (2 * pairing_ns > widest_bracket_ns || !is_steady(exchange, tick_ns)) {
        ++missing.clock;
        return std::nullopt;
    }
    missing.worst_pairing_ns = std::max(missing.worst_pairing_ns, pairing_ns);
    const std::int64_t first_ns = real_at(exchange.first, exchange.before, exchange.after);
    const std::int64_t second_ns = real_at(exchange.second, exchange.before, exchange.after);
    const std::int64_t send_ns = at_origin ? first_ns : second_ns;
    const std::int64_t receive_ns = at_origin ? second_ns : first_ns;
    return Stages{sent.queued_ns - send_ns, sent.driver_ns - sent.queued_ns,
                  at_origin ? exchange.arrival_ns - sent.driver_ns : send_ns - receive_ns,
                  receive_ns - exchange.arrival_ns};
}

void StageRecorder::write(Result& result, std::span<const MessageStamps> sent, bool at_origin,
                          const Timebase& timebase) const {
    StagesMissing missing;
    std::vector<std::int64_t> index;
    std::vector<std::int64_t> to_queue;
    std::vector<std::int64_t> to_driver;
    std::vector<std::int64_t> between;
    std::vector<std::int64_t> to_receive;
    const double tick_ns = timebase.duration_ns(1);
    for (const NotedExchange& exchange : exchanges_) {
        const MessageStamps stamps =
            exchange.sent < sent.size() ? sent[exchange.sent] : MessageStamps{};
        if (const auto stages = split(exchange, stamps, at_origin, tick_ns, missing)) {
            index.push_back(exchange.index);
            to_queue.push_back(stages->send_to_queue_ns);
            to_driver.push_back(stages->queue_to_driver_ns);
            between.push_back(stages->between_ns);
            to_receive.push_back(stages->driver_to_receive_ns);
        }
    }
    result.count("stamped", index.size());
    result.count("unstamped", exchanges_.size() - index.size());
    result.count("unstamped_queue", missing.queue);
    result.count("unstamped_driver", missing.driver);
    result.count("unstamped_arrival", missing.arrival);
    result.count("unstamped_sent_again", missing.sent_again);
    result.count("unstamped_clock", missing.clock);
    result.counters["clock_pairing_ns"] = missing.worst_pairing_ns;
    result.series.push_back({"stamped_index", "count", std::move(index)});
    result.series.push_back({"send_to_queue_ns", "ns", std::move(to_queue)});
    result.series.push_back({"queue_to_driver_ns", "ns", std::move(to_driver)});
    result.series.push_back(
        {at_origin ? "driver_to_driver_ns" : "receive_to_send_ns", "ns", std::move(between)});
    result.series.push_back({"driver_to_receive_ns", "ns", std::move(to_receive)});
}

} // namespace sonde
