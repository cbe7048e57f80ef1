#include "counters/withheld.hpp"

#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "counters/snapshot.hpp"
#include "counters/words.hpp"

namespace sonde {
namespace {

constexpr std::size_t most_levels = 32;
constexpr std::int64_t ns_per_us = 1000;

sigset_t continuing() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    return set;
}

// The signal waits, blocked, until it is asked for here; several that came in between are one.
std::optional<std::int64_t> times_continued() {
    static std::int64_t count = 0; // as the signal, the whole process's
    sigset_t blocked;
    if (pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 || sigismember(&blocked, SIGCONT) != 1) {
        return std::nullopt;
    }
    const sigset_t wanted = continuing();
    const timespec now{};
    while (::sigtimedwait(&wanted, nullptr, &now) == SIGCONT) {
        ++count;
    }
    return count;
}

bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == word) {
            return true;
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

// The folders of the groups that this process is in, with all above them, of the hierarchies that
// may have the CPUs: version 2, where it is mounted, and version 1.
std::vector<std::string> groups() {
    std::vector<std::string> found;
    for_each_line(read_file("/proc/self/cgroup"), [&](std::string_view line) {
        const std::size_t one = line.find(':');
        const std::size_t two = line.find(':', one + 1);
        if (one == std::string_view::npos || two == std::string_view::npos) {
            return;
        }
        const std::string_view controllers = line.substr(one + 1, two - one - 1);
        std::string path(line.substr(two + 1));
        std::vector<std::string> roots;
        if (controllers.empty()) {
            roots = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
        } else if (has_word(controllers, "cpu")) {
            roots = {"/sys/fs/cgroup/" + std::string(controllers), "/sys/fs/cgroup/cpu"};
        }
        for (std::size_t level = 0; level < most_levels; ++level) {
            for (const std::string& root : roots) {
                const std::string folder = root + (path == "/" ? "" : path);
                if (!read_file(folder + "/cpu.stat").empty()) {
                    found.push_back(folder);
                    break;
                }
            }
            if (path.size() < 2) {
                break;
            }
            path.resize(path.rfind('/'));
            path = path.empty() ? "/" : path;
        }
    });
    return found;
}

std::optional<double> quota(const std::string& folder) {
    const std::string both = read_file(folder + "/cpu.max");
    const std::string line = both.substr(0, both.find('\n'));
    Words words = split(line);
    const std::string single = read_file(folder + "/cpu.cfs_quota_us");
    const std::string period = read_file(folder + "/cpu.cfs_period_us");
    const std::string old =
        single.substr(0, single.find('\n')) + ' ' + period.substr(0, period.find('\n'));
    if (words.size() != 2) {
        words = split(old);
    }
    if (words.size() != 2) {
        return std::nullopt;
    }
    const auto may = number(words[0]);
    const auto of = number(words[1]);
    if (!may || !of || *may <= 0 || *of <= 0) { // "max", or -1
        return std::nullopt;
    }
    return static_cast<double>(*may) / static_cast<double>(*of);
}

} // namespace

void watch_stops() {
    const sigset_t set = continuing();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void parse_throttling(std::string_view text, CounterValues& values) {
    for_each_line(text, [&](std::string_view line) {
        const Words words = split(line);
        const auto count = words.size() == 2 ? number(words[1]) : std::nullopt;
        if (!count) {
            return;
        }
        if (words[0] == "nr_periods") {
            values["process.quota_periods"] += *count;
        } else if (words[0] == "nr_throttled") {
            values["process.throttled_periods"] += *count;
        } else if (words[0] == "throttled_usec") {
            values["process.throttled_ns"] += *count * ns_per_us;
        } else if (words[0] == "throttled_time") {
            values["process.throttled_ns"] += *count;
        }
    });
}

void add_withheld(CounterValues& values) {
    const std::string text = read_file("/proc/thread-self/schedstat");
    const Words words = split(std::string_view(text).substr(0, text.find('\n')));
    if (words.size() == 3) {
        add(values, "process.run_wait_ns", words[1]);
    }
    if (const auto times = times_continued()) {
        values["process.continued"] = *times;
    }
    for (const std::string& folder : groups()) {
        parse_throttling(read_file(folder + "/cpu.stat"), values);
    }
}

void add_quota(nlohmann::json& facts) {
    std::optional<double> least;
    for (const std::string& folder : groups()) {
        const auto one = quota(folder);
        if (one && (!least || *one < *least)) {
            least = one;
        }
    }
    if (least) {
        facts["cpu.quota_processors"] = *least;
    }
}

} // namespace sonde
