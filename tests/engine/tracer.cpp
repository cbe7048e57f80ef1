// The tracer's grid of time, its files, and what it reads, with time and counters that are made.
#include <doctest/doctest.h>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/failure.hpp"
#include "counters/parse_cores.hpp"
#include "made_folder.hpp"
#include "tracer/command.hpp"
#include "tracer/counter_reader.hpp"
#include "tracer/journal.hpp"
#include "tracer/kinds.hpp"
#include "tracer/tracer.hpp"

using namespace sonde;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

class Folder : public MadeFolder {
public:
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((path() / file).parent_path());
        std::ofstream(path() / file) << text;
    }
};

// Time that passes only where it is waited for, or where a reading takes some.
class MadeTime : public Waiting {
public:
    std::int64_t now = 5 * second_ns;
    std::int64_t ends_at = INT64_MAX;
    std::int64_t longest_late = 0;

    std::int64_t now_ns() override { return now; }
    std::int64_t unix_offset_ns() override { return 1'000'000 * second_ns; }
    Woke wait_until(std::int64_t instant_ns) override {
        if (instant_ns >= ends_at) {
            now = std::max(now, ends_at);
            return Woke::by_end;
        }
        now = std::max(now, instant_ns);
        return Woke::by_time;
    }
};

class MadeCounters : public CounterReader {
public:
    explicit MadeCounters(MadeTime& time) : time_(time) {}

    std::int64_t cost_ns = 0;
    std::map<std::int64_t, std::int64_t> slow; // cost by number of reading
    int counters = 1;
    std::vector<std::int64_t> read_at;
    bool keeps_times = true;

    void read(std::int64_t now_ns, CounterValues& values) override {
        ++readings_;
        if (keeps_times) {
            read_at.push_back(now_ns);
        }
        const auto found = slow.find(readings_);
        time_.now += found == slow.end() ? cost_ns : found->second;
        for (int i = 0; i < counters; ++i) {
            values["interface.eth" + std::to_string(i) + ".rx_bytes"] = now_ns / 1000 * (i + 1);
        }
    }

private:
    MadeTime& time_;
    std::int64_t readings_ = 0;
};

JournalSettings into(const Folder& folder, std::int64_t most_bytes = std::int64_t{1} << 30U) {
    return {folder.path() / "trace", most_bytes, {{"host", "made"}}};
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> trace_lines(const Folder& folder, int number = 1) {
    const std::string digits = std::to_string(number);
    return lines_of(folder.path() / "trace" /
                    ("trace-" + std::string(6 - digits.size(), '0') + digits + ".log"));
}

std::size_t count_starting(const std::vector<std::string>& lines, const std::string& start) {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.starts_with(start); }));
}

} // namespace

TEST_SUITE_BEGIN("tracer");

TEST_CASE("a sample says what is new, what changed, and what is gone") {
    SampleText text;
    CHECK(text.lines("S 1 0 0", {{"cpu.all.user", 7}, {"load.one_minute_milli", 5}}) ==
          "N 0 c jiffies cpu.all.user\nN 1 g 1/1000 load.one_minute_milli\nS 1 0 0 0=7 1=5\n");
    text.commit();
    CHECK(text.lines("S 2 0 0", {{"cpu.all.user", 9}, {"load.one_minute_milli", 5}}) ==
          "S 2 0 0 0+2\n");
    text.commit();
    CHECK(text.lines("S 3 0 0", {{"load.one_minute_milli", 1}}) == "S 3 0 0 0! 1-4\n");
    text.commit();
    CHECK(text.lines("S 4 0 0", {{"load.one_minute_milli", 1}}) == "S 4 0 0\n");
    text.commit();
    CHECK(text.lines("S 5 0 0", {{"cpu.all.user", 2}, {"load.one_minute_milli", 1}}) ==
          "S 5 0 0 0=2\n");
}

TEST_CASE("a sample that was not written is in the next") {
    SampleText text;
    (void)text.lines("S 1 0 0", {{"a.x", 7}});
    CHECK(text.lines("S 2 0 0", {{"a.x", 9}}) == "N 0 c count a.x\nS 2 0 0 0=9\n");
    text.commit();
    (void)text.lines("S 3 0 0", {{"a.x", 10}});
    CHECK(text.lines("S 4 0 0", {{"a.x", 12}}) == "S 4 0 0 0+3\n");
}

TEST_CASE("a counter of 64 bits without sign that wraps") {
    SampleText text;
    (void)text.lines("S 1 0 0", {{"a.x", -3}});
    text.commit();
    CHECK(text.lines("S 2 0 0", {{"a.x", 4}}) == "S 2 0 0 0+7\n");
    text.commit();
    (void)text.lines("S 3 0 0", {{"a.x", INT64_MAX}});
    text.commit();
    CHECK(text.lines("S 4 0 0", {{"a.x", INT64_MIN}}) == "S 4 0 0 0+1\n");
}

TEST_CASE("samples are due on a grid however long a reading takes") {
    const Folder folder;
    MadeTime time;
    MadeCounters counters(time);
    counters.cost_ns = second_ns / 33;
    Journal journal(into(folder));
    Tracer tracer({second_ns, 1000 * second_ns, time.now}, time, counters, journal);
    tracer.boundary("start");
    const TracerEnd end = tracer.run();
    CHECK(end.missed == 0);
    CHECK(end.samples == 1001);
    REQUIRE(counters.read_at.size() == 1001);
    for (std::size_t k = 0; k < counters.read_at.size(); ++k) {
        CHECK(counters.read_at[k] == static_cast<std::int64_t>(5 + k) * second_ns);
    }
    CHECK(count_starting(trace_lines(folder), "S ") == 1000);
}

TEST_CASE("samples that are an interval late are left out and counted") {
    const Folder folder;
    MadeTime time;
    MadeCounters counters(time);
    counters.slow = {{4, 2 * second_ns + second_ns / 2}};
    Journal journal(into(folder));
    Tracer tracer({second_ns, 8 * second_ns, time.now}, time, counters, journal);
    tracer.boundary("start");
    const TracerEnd end = tracer.run();
    CHECK(end.missed == 1);
    CHECK(end.samples == 8);
    std::vector<std::string> numbers;
    for (const std::string& line : trace_lines(folder)) {
        if (line.starts_with("S ")) {
            numbers.push_back(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    // The fourth reading, of sample 3, takes until 5.5: 4 is over, 5 is half an interval late.
    CHECK(numbers == std::vector<std::string>{"1", "2", "3", "5", "6", "7", "8"});
}

TEST_CASE("a trace that is told to end has a last sample of that moment") {
    const Folder folder;
    MadeTime time;
    MadeCounters counters(time);
    time.ends_at = time.now + 7 * second_ns / 2;
    Journal journal(into(folder));
    Tracer tracer({second_ns, std::nullopt, time.now}, time, counters, journal);
    tracer.boundary("start");
    const TracerEnd end = tracer.run();
    CHECK(end.reason == "told to end");
    CHECK(end.samples == 5);
    CHECK(counters.read_at.back() == time.ends_at);
    CHECK(trace_lines(folder).back().starts_with("B end 3500000000 0 "));
}

TEST_CASE("a week that is simulated: no drift, constant memory, no more files than allowed") {
    constexpr std::int64_t week_s = std::int64_t{7} * 86'400;
    constexpr std::int64_t interval_s = 10;
    constexpr std::int64_t most_bytes = std::int64_t{1} << 20U;
    const Folder folder;
    MadeTime time;
    MadeCounters counters(time);
    counters.counters = 16;
    counters.cost_ns = second_ns / 33;
    counters.keeps_times = false;
    Journal journal(into(folder, most_bytes));
    const std::int64_t begin = time.now;
    Tracer tracer({interval_s * second_ns, week_s * second_ns, begin}, time, counters, journal);
    std::size_t after_a_day = 0;
    std::size_t most_after = 0;
    std::int64_t samples = 0;
    std::int64_t furthest_off = 0;
    tracer.after_each([&] {
        const std::size_t used = ::mallinfo2().uordblks;
        if (samples++ == 86'400 / interval_s) {
            after_a_day = used;
        }
        most_after = std::max(most_after, after_a_day == 0 ? 0 : used);
        furthest_off = std::max(furthest_off, (time.now - begin) % (interval_s * second_ns));
    });
    tracer.boundary("start");
    const TracerEnd end = tracer.run();
    CHECK(end.samples == week_s / interval_s + 1);
    CHECK(end.missed == 0);
    CHECK(time.now == begin + week_s * second_ns + counters.cost_ns);
    CHECK(furthest_off == counters.cost_ns);
    CHECK(most_after <= after_a_day + 4096); // lines differ in length
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder.path() / "trace")) {
        bytes += entry.file_size();
    }
    CHECK(bytes <= most_bytes + 4096);
    CHECK(bytes >= most_bytes / 2);
}

TEST_CASE("each file stands for itself, and the oldest go") {
    const Folder folder;
    Journal journal(into(folder, std::int64_t{512} << 10U));
    journal.missing("rdma", "there is\nnone");
    const std::string long_name(200, 'x');
    for (int number = 0; number < 40000; ++number) {
        CHECK(journal.sample(
            number, 0, 0, {{"a.x", number}, {"b." + long_name + std::to_string(number % 2), 1}}));
    }
    CHECK(!fs::exists(folder.path() / "trace" / "trace-000001.log"));
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path() / "trace")) {
        if (entry.path().extension() == ".log") {
            names.push_back(entry.path().string());
            const auto lines = lines_of(entry.path());
            CHECK(lines.front().starts_with("netsonde-trace 1 {"));
            CHECK(lines.at(1) == "M rdma there is none");
            const auto first =
                std::ranges::find_if(lines, [](const auto& line) { return line[0] == 'S'; });
            CHECK(first->find("0=") != std::string::npos);
        }
    }
    CHECK(names.size() >= 2);
    CHECK(names.size() <= 8);
}

TEST_CASE("a disk that is full loses samples and no line; what follows is right") {
    const Folder folder;
    Journal journal(into(folder));
    CHECK(journal.sample(1, 0, 0, {{"a.x", 1}}));
    struct rlimit before {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const auto size = fs::file_size(folder.path() / "trace" / "trace-000001.log");
    const struct rlimit full { size + 5, before.rlim_max };
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
    const bool written = journal.sample(2, 0, 0, {{"a.x", 2}, {"b.y", 5}});
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, old);
    CHECK(!written);
    CHECK(journal.lost() == 1);
    CHECK(journal.problem().find("cannot write") != std::string::npos);
    CHECK(journal.sample(3, 0, 0, {{"a.x", 4}, {"b.y", 6}}));
    const auto lines = trace_lines(folder);
    CHECK(lines.at(lines.size() - 2) == "N 1 c count b.y");
    CHECK(lines.back() == "S 3 0 0 0+3 1=6");
    CHECK(count_starting(lines, "S ") == 2);
}

TEST_CASE("two traces do not share a folder") {
    const Folder folder;
    {
        const Journal journal(into(folder));
        CHECK_THROWS_AS(Journal(into(folder)), Failure);
    }
    CHECK_THROWS_WITH(Journal(into(folder)), doctest::Contains("holds a trace already"));
}

TEST_CASE("softirqs and packets by CPU") {
    CounterValues values;
    parse_softirqs_by_cpu("        CPU0       CPU2\n  NET_RX:   5   0\n  TIMER: 1 7\n", values);
    CHECK(values == CounterValues{{"softirq_cpu.0.NET_RX", 5},
                                  {"softirq_cpu.0.TIMER", 1},
                                  {"softirq_cpu.2.TIMER", 7}});
    values.clear();
    parse_softnet_by_cpu("0000000a 00000001 00000002 0 0 0 0 0 0 0 0 0 00000003 0 0\n"
                         "0000000b 00000000 00000000\n",
                         values);
    CHECK(values["softnet_cpu.3.processed"] == 10);
    CHECK(values["softnet_cpu.3.dropped"] == 1);
    CHECK(values["softnet_cpu.3.squeezed"] == 2);
    CHECK(values["softnet_cpu.1.processed"] == 11);
}

TEST_CASE("pressure, places of pages, running processes, speed of a link") {
    CounterValues values;
    parse_pressure("some avg10=0.00 avg60=1.50 avg300=0.00 total=42\nfull avg10=0.0 total=7\nx\n",
                   "io", values);
    parse_placement("numa_hit 3\nnuma_miss 4\npgmajfault 5\nother 6\n", values);
    parse_running("procs_running 2\nprocs_blocked 1\n", values);
    parse_memory_uses("MemFree: 2 kB\nDirty: 1 kB\n", values);
    CHECK(values == CounterValues{{"pressure.io.some_us", 42},
                                  {"pressure.io.full_us", 7},
                                  {"numa.hits", 3},
                                  {"numa.misses", 4},
                                  {"memory.major_faults", 5},
                                  {"system.processes_running", 2},
                                  {"system.processes_blocked", 1},
                                  {"memory.free_bytes", 2048},
                                  {"memory.dirty_bytes", 1024}});
    CHECK(parse_link_speed("8.0 GT/s PCIe\n") == 8000);
    CHECK(parse_link_speed("2.5 GT/s\n") == 2500);
    CHECK(!parse_link_speed("Unknown\n"));
    CHECK(!parse_link_speed(""));
}

TEST_CASE("what a name stands for") {
    CHECK(meaning_of("interface.eth0.rx_bytes").kind == CounterKind::counter);
    CHECK(meaning_of("interface.eth0.rx_bytes").unit == "bytes");
    CHECK(meaning_of("interface.eth0.index").kind == CounterKind::gauge);
    CHECK(meaning_of("memory.available_bytes").kind == CounterKind::gauge);
    CHECK(meaning_of("memory.paged_in_bytes").kind == CounterKind::counter);
    CHECK(meaning_of("qdisc.eth0.tbf@root.backlog_bytes").kind == CounterKind::gauge);
    CHECK(meaning_of("qdisc.eth0.tbf@root.bytes").kind == CounterKind::counter);
    CHECK(meaning_of("driver.eth0.rx_queue_0").kind == CounterKind::unknown);
    CHECK(meaning_of("frequency.3_khz").kind == CounterKind::gauge);
    CHECK(meaning_of("cpu.3.user").unit == "jiffies");
    CHECK(meaning_of("interrupt_cpu.0.eth0").starts_at_zero);
}

TEST_CASE("a host without any of it: every part says what is missing, once, and nothing breaks") {
    const Folder folder;
    SystemCounters counters({folder.path(), {}, {}});
    CounterValues values;
    counters.read(0, values);
    CHECK(values.empty());
    CHECK(counters.missing().size() == part_names().size());
    for (const auto& [part, why] : counters.missing()) {
        INFO(part);
        CHECK(!why.empty());
    }
    CHECK(counters.missing().at("cpu").find("proc/stat: No such file") != std::string::npos);
}

TEST_CASE("a host with some of it gives that, and what comes later") {
    const Folder folder;
    folder.write("proc/stat", "cpu  1 2 3 4\nctxt 9\n");
    folder.write("proc/net/dev", "h\nh\n eth0: 100 2 0 0 0 0 0 0 300 4 0 0 0 0 0 0\n"
                                 " eth1: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
    folder.write("sys/devices/system/cpu/cpu7/cpufreq/scaling_cur_freq", "2400000\n");
    folder.write("sys/class/net/eth0/device/current_link_speed", "16.0 GT/s PCIe\n");
    folder.write("sys/class/net/eth0/device/current_link_width", "8\n");
    SystemCounters counters({folder.path(), {}, {"eth0"}});
    CounterValues values;
    counters.read(0, values);
    CHECK(values["cpu.all.idle"] == 4);
    CHECK(values["interface.eth0.rx_bytes"] == 100);
    CHECK(!values.contains("interface.eth1.rx_bytes"));
    CHECK(values["frequency.7_khz"] == 2400000);
    CHECK(values["link.eth0.speed_mt_per_s"] == 16000);
    CHECK(values["link.eth0.lanes"] == 8);
    CHECK(!counters.missing().contains("cpu"));
    CHECK(counters.missing().contains("pressure"));
    folder.write("proc/pressure/cpu", "some avg10=0.00 total=5\n");
    folder.write("sys/class/net/eth0/device/current_link_width", "4\n");
    values.clear();
    counters.read(second_ns, values);
    CHECK(values["pressure.cpu.some_us"] == 5);
    CHECK(values["link.eth0.lanes"] == 8); // read once a minute
    values.clear();
    counters.read(61 * second_ns, values);
    CHECK(values["link.eth0.lanes"] == 4);
    CHECK_THROWS_WITH(SystemCounters({folder.path(), {}, {"wlan0"}}),
                      doctest::Contains("eth0, eth1"));
    CHECK_THROWS_WITH(SystemCounters({folder.path(), {"nonsense"}, {}}),
                      doctest::Contains("cpu, load"));
}

TEST_CASE("this host, all parts") {
    SystemCounters counters({});
    CounterValues values;
    counters.read(0, values);
    counters.read(0, values);
    CHECK(!values.empty());
    CHECK(part_names().size() == 15);
}

TEST_CASE("a command begins when it is let go, and its end is told") {
    const auto wait = [](Command& command) {
        for (int i = 0; i < 1000; ++i) {
            if (auto end = command.end()) {
                return *end;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        FAIL("it does not end");
        return CommandEnd{};
    };
    Command well({"sh", "-c", "exit 7"});
    CHECK(!well.end());
    CHECK(well.go() == 0);
    const CommandEnd end = wait(well);
    CHECK(end.exit_code == 7);
    CHECK(end.most_resident_bytes > 0);
    Command killed({"sleep", "60"});
    CHECK(killed.go() == 0);
    killed.signal(SIGTERM);
    CHECK(wait(killed).exit_code == 128 + SIGTERM);
    Command none({"/nonexistent/program"});
    CHECK(none.go() == ENOENT);
    CHECK(wait(none).exit_code == 127);
    { const Command never({"touch", "/nonexistent/file"}); } // ends without having begun
}

TEST_SUITE_END();
