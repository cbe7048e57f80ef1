// All counters of a host, read again and again by the tracer, each part for itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parse.hpp"

namespace sonde {

// Whatever gives counters; tests have one that counts by itself.
class CounterReader {
public:
    virtual ~CounterReader() = default;
    // Adds the counters of now; now_ns is the tracer's clock.
    virtual void read(std::int64_t now_ns, CounterValues& values) = 0;
};

struct TraceSources {
    std::filesystem::path root = "/";    // below it /proc and /sys
    std::vector<std::string> parts;      // of part_names(); empty: all
    std::vector<std::string> interfaces; // empty: all
};

// cpu, interrupts, softirqs and so on, in the order in which they are read.
[[nodiscard]] std::vector<std::string> part_names();

// The names of the network interfaces below root, in order.
[[nodiscard]] std::vector<std::string> interface_names(const std::filesystem::path& root);

class DriverCounters;
class QueueCounters;

class SystemCounters : public CounterReader {
public:
    // Throws Failure("bad_request") for a part or an interface that there is not.
    explicit SystemCounters(TraceSources sources);
    ~SystemCounters() override;
    SystemCounters(const SystemCounters&) = delete;
    SystemCounters& operator=(const SystemCounters&) = delete;

    void read(std::int64_t now_ns, CounterValues& values) override;

    // Parts that gave nothing at the last reading, and why.
    [[nodiscard]] const std::map<std::string, std::string>& missing() const { return missing_; }

private:
    struct Part {
        std::string name;
        void (SystemCounters::*read)(CounterValues&);
        // What it takes to have it, for those that a host may lack.
        std::string_view without;
        bool is_slow = false; // changes rarely and costs much: read once a minute
    };
    static const std::vector<Part>& all_parts();

    void read_cpu(CounterValues& values);
    void read_load(CounterValues& values);
    void read_memory(CounterValues& values);
    void read_paging(CounterValues& values);
    void read_interrupts(CounterValues& values);
    void read_softirqs(CounterValues& values);
    void read_softnet(CounterValues& values);
    void read_interfaces(CounterValues& values);
    void read_driver(CounterValues& values);
    void read_queues(CounterValues& values);
    void read_protocols(CounterValues& values);
    void read_rdma(CounterValues& values);
    void read_frequency(CounterValues& values);
    void read_pressure(CounterValues& values);
    void read_link(CounterValues& values);

    std::string_view content(const std::string& file);
    // Gives the file's content to each of the parsers.
    template <class... Parsers>
    void parse(const char* file, CounterValues& values, Parsers... parsers) {
        const std::string_view text = content(file);
        (parsers(text, values), ...);
    }
    [[nodiscard]] bool is_wanted(std::string_view interface) const;
    [[nodiscard]] std::vector<std::string> present_interfaces() const;

    TraceSources sources_;
    std::vector<Part> parts_;
    std::unique_ptr<DriverCounters> driver_;
    std::unique_ptr<QueueCounters> queues_;
    std::map<std::string, std::string> missing_;
    std::map<std::string, CounterValues> slow_; // by part, as last read
    std::int64_t slow_due_ns_ = 0;
    std::string text_;    // of the file that was read last
    std::string problem_; // of the part that is being read
};

} // namespace sonde
