#include "tracer/tracer.hpp"

#include <ctime>
#include <limits>
#include <string_view>
#include <utility>

namespace sonde {
namespace {

constexpr std::string_view as_long_as_asked = "as long as asked";

std::int64_t own_cpu_us() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000;
}

} // namespace

Tracer::Tracer(TracerSettings settings, Waiting& waiting, CounterReader& reader, Journal& journal)
    : settings_(settings), waiting_(waiting), reader_(reader), journal_(journal) {}

CounterValues& Tracer::read(std::int64_t begin_ns) {
    values_.clear();
    values_["trace.unix_offset_us"] = waiting_.unix_offset_ns() / 1'000;
    values_["trace.missed"] = end_.missed;
    reader_.read(begin_ns, values_);
    values_["trace.cpu_us"] = own_cpu_us();
    return values_;
}

void Tracer::boundary(std::string_view label) {
    const std::int64_t begin_ns = waiting_.now_ns();
    const CounterValues& values = read(begin_ns);
    journal_.boundary(label, begin_ns - settings_.begin_ns, waiting_.now_ns() - begin_ns, values);
    ++end_.samples;
    if (after_each_) {
        after_each_();
    }
}

TracerEnd Tracer::run(const std::function<bool()>& has_ended) {
    const std::int64_t last = settings_.duration_ns ? *settings_.duration_ns / settings_.interval_ns
                                                    : std::numeric_limits<std::int64_t>::max();
    std::int64_t next = 1;
    while (true) {
        const std::int64_t due_ns = next <= last ? settings_.begin_ns + next * settings_.interval_ns
                                                 : settings_.begin_ns + *settings_.duration_ns;
        const Woke woke = waiting_.wait_until(due_ns);
        if (woke == Woke::by_end) {
            end_.reason = "told to end";
            break;
        }
        if (woke == Woke::by_command) {
            if (has_ended && has_ended()) {
                end_.reason = "the command has ended";
                break;
            }
            continue;
        }
        if (next > last) {
            end_.reason = as_long_as_asked;
            break;
        }
        const std::int64_t begin_ns = waiting_.now_ns();
        const std::int64_t number = (begin_ns - settings_.begin_ns) / settings_.interval_ns;
        end_.missed += number - next;
        const std::int64_t late_ns = begin_ns - settings_.begin_ns - number * settings_.interval_ns;
        const CounterValues& values = read(begin_ns);
        journal_.sample(number, late_ns, waiting_.now_ns() - begin_ns, values);
        ++end_.samples;
        next = number + 1;
        if (after_each_) {
            after_each_();
        }
    }
    // After a last sample on time there is nothing to add.
    const bool is_there = end_.reason == as_long_as_asked && settings_.duration_ns &&
                          *settings_.duration_ns % settings_.interval_ns == 0;
    if (!is_there) {
        boundary("end");
    }
    return end_;
}

} // namespace sonde
