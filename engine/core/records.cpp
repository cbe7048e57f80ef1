#include "core/records.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/clock.hpp"
#include "core/failure.hpp"

namespace sonde {

using nlohmann::json;
using nlohmann::ordered_json;

std::string base64(std::span<const std::byte> bytes) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t taken = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = group << 8U | (k < taken ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            text.push_back(k <= taken ? alphabet[group >> (18 - 6 * k) & 63U] : '=');
        }
    }
    return text;
}

RecordWriter::RecordWriter(int fd, std::string host, int rank)
    : fd_(fd), host_(std::move(host)), rank_(rank) {}

RecordWriter RecordWriter::as(std::string host, int rank) const {
    return {fd_, std::move(host), rank};
}

ordered_json RecordWriter::start(std::string_view record, std::int64_t request) const {
    return {{"record", record}, {"request", request}, {"rank", rank_}, {"host", host_}};
}

void RecordWriter::write(const ordered_json& record) const {
    // Names of devices and files may hold any byte; a record must stay valid UTF-8.
    std::string line = record.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    line.push_back('\n');
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t written = ::write(fd_, rest.data(), rest.size());
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            throw system_failure("write a record");
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

json clock_values(const ClockFacts& clock) {
    json values{{"source", clock.cycle_counter ? "cycle_counter" : "monotonic"},
                {"tick_ns", clock.tick_ns},
                {"resolution_ns", clock.resolution_ns},
                {"cost_ns", clock.cost_ns},
                {"reason", clock.reason}};
    if (const CountersApart& counters = clock.counters; counters.known()) {
        const auto in_ns = [&](std::int64_t ticks) {
            return static_cast<double>(ticks) * clock.counter_tick_ns;
        };
        values["processors"] =
            std::to_string(counters.first) + "," + std::to_string(counters.second);
        values["apart_least_ns"] = in_ns(counters.least_ticks());
        values["apart_most_ns"] = in_ns(counters.most_ticks());
    }
    return values;
}

void RecordWriter::hello(std::string_view worker, std::string_view version, int ranks,
                         const ClockFacts& clock) {
    write({{"record", "hello"},
           {"protocol", 1},
           {"worker", worker},
           {"version", version},
           {"host", host_},
           {"rank", rank_},
           {"ranks", ranks},
           {"pid", ::getpid()},
           {"clock", clock_values(clock)}});
}

void RecordWriter::facts(std::int64_t request, const json& values) {
    auto record = start("facts", request);
    record["values"] = values;
    write(record);
}

void RecordWriter::series(std::int64_t request, std::string_view name, std::string_view unit,
                          std::span<const std::int64_t> values) {
    std::size_t offset = 0;
    do { // a series without values is still said, once
        const auto piece =
            values.subspan(offset, std::min(series_piece_values, values.size() - offset));
        auto record = start("series", request);
        record["name"] = name;
        record["unit"] = unit;
        record["offset"] = offset;
        record["count"] = piece.size();
        record["total"] = values.size();
        record["values"] = base64(std::as_bytes(piece)); // little-endian hosts only, see worker
        write(record);
        offset += piece.size();
    } while (offset < values.size());
}

void RecordWriter::counters(std::int64_t request, const json& values) {
    auto record = start("counters", request);
    record["values"] = values;
    write(record);
}

void RecordWriter::snapshot(std::int64_t request, std::string_view phase, std::int64_t time_ns,
                            std::int64_t cost_ns, const json& values) {
    auto record = start("snapshot", request);
    record["phase"] = phase;
    record["time_ns"] = time_ns;
    record["cost_ns"] = cost_ns;
    record["values"] = values;
    write(record);
}

void RecordWriter::done(std::int64_t request, std::string_view verb, const json& values) {
    auto record = start("done", request);
    record["verb"] = verb;
    record["values"] = values;
    write(record);
}

void RecordWriter::error(std::int64_t request, std::string_view code, std::string_view message) {
    auto record = start("error", request);
    record["code"] = code;
    record["message"] = message;
    write(record);
}

void RecordWriter::bye(std::string_view reason) {
    write({{"record", "bye"}, {"rank", rank_}, {"host", host_}, {"reason", reason}});
}

} // namespace sonde
