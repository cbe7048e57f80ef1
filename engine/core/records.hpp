// Writes records, one JSON object a line, to a file descriptor.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace sonde {

struct ClockFacts;

constexpr std::size_t series_piece_values = 90'000; // keeps a line under 1 MiB

[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

// What is told of the clock that a worker times with: values of `hello`, and of MPI's facts.
[[nodiscard]] nlohmann::json clock_values(const ClockFacts& clock);

class RecordWriter {
public:
    // host and rank stand in every record. fd is normally standard output.
    RecordWriter(int fd, std::string host, int rank);

    // Writes in the name of another rank (MPI's rank 0 writes for all).
    [[nodiscard]] RecordWriter as(std::string host, int rank) const;

    // A worker learns its rank from its role, which comes with the first request of a test.
    void set_rank(int rank) noexcept { rank_ = rank; }

    void hello(std::string_view worker, std::string_view version, int ranks,
               const ClockFacts& clock);
    void facts(std::int64_t request, const nlohmann::json& values);
    void series(std::int64_t request, std::string_view name, std::string_view unit,
                std::span<const std::int64_t> values);
    void counters(std::int64_t request, const nlohmann::json& values);
    void snapshot(std::int64_t request, std::string_view phase, std::int64_t time_ns,
                  std::int64_t cost_ns, const nlohmann::json& values);
    void done(std::int64_t request, std::string_view verb,
              const nlohmann::json& values = nlohmann::json::object());
    void error(std::int64_t request, std::string_view code, std::string_view message);
    void bye(std::string_view reason);

    [[nodiscard]] const std::string& host() const noexcept { return host_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }

private:
    nlohmann::ordered_json start(std::string_view record, std::int64_t request) const;
    void write(const nlohmann::ordered_json& record) const;

    int fd_;
    std::string host_;
    int rank_;
};

} // namespace sonde
