#include "worker/worker_program.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/process.hpp"
#include "core/records.hpp"
#include "counters/withheld.hpp"
#include "worker/worker.hpp"

// Series, datagram numbers and control frames are little-endian as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "netsonde's workers run on little-endian hosts only");

namespace sonde {
namespace {

constexpr int status_usage = 2;
constexpr int status_failed = 3;

struct CommandLine {
    std::string host;
    int rank = 0;
    bool help = false;
    bool version = false;
};

int parse_rank(std::string_view text) {
    constexpr int most_rank = 1'048'575;
    int rank = -1;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || stop != text.data() + text.size() || rank < 0 || rank > most_rank) {
        throw Failure("bad_request", "--rank is " + std::string(text) +
                                         ", expected a number from 0 to " +
                                         std::to_string(most_rank));
    }
    return rank;
}

CommandLine parse_command_line(std::string_view program, std::span<char* const> words) {
    CommandLine line{.host = host_name()};
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool has_value = i + 1 < words.size();
        if (word == "--help" || word == "-h") {
            line.help = true;
        } else if (word == "--version") {
            line.version = true;
        } else if (word == "--host" && has_value) {
            line.host = words[++i];
        } else if (word == "--rank" && has_value) {
            line.rank = parse_rank(words[++i]);
        } else {
            throw Failure("bad_request", "unknown option or missing value: " + std::string(word) +
                                             "; see " + std::string(program) + " --help");
        }
    }
    if (line.host.empty() || line.host.size() > 255) {
        throw Failure("bad_request", "--host must be a name of 1 to 255 characters");
    }
    return line;
}

std::string help_of(const WorkerProgram& program) {
    const std::string name(program.name);
    return "usage: " + name + " [--host NAME] [--rank N] [--version] [--help]\n\nOne end of " +
           std::string(program.ends) +
           ". Reads requests, one JSON object a line, on\n"
           "standard input and writes records, one JSON object a line, on standard output, until "
           "`quit`\nor the end of the input. Normally netsonde starts it; by hand:\n\n"
           "  (echo '{\"verb\": \"facts\", \"request\": 1}'; sleep 1) | " +
           name +
           "\n\n"
           "  --host NAME   name of this host in the records (default: the host's own)\n"
           "  --rank N      rank in the records until a role is known: 0 origin, 1 target "
           "(default 0)\n";
}

void serve(const WorkerProgram& program, const CommandLine& line) {
    const int signal_fd = take_ending_signals();
    watch_stops();
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); // paced datagrams sleep until just before their time
    RecordWriter records(STDOUT_FILENO, line.host, line.rank);
    Timebase timebase;
    Guard guard(STDIN_FILENO, signal_fd);
    records.hello(program.name, program.version, 2, timebase.facts());
    Worker worker(records, timebase, guard, program.transports);
    serve_requests(STDIN_FILENO, records, worker.handlers(), signal_fd);
}

/// What ps and top call this process. A copy that was sent to its host is started by way of a
/// descriptor, and would be "9" and "/proc/PID/fd/9" there, which tells nobody what it is.
void show_own_name(std::string_view name, std::span<char*> words) {
    ::prctl(PR_SET_NAME, std::string(name).c_str(), 0, 0, 0);
    if (words.empty()) {
        return;
    }
    const std::string_view path(words.front());
    if (path.starts_with("/proc/") && path.size() >= name.size()) {
        const std::span<char> given(words.front(), path.size());
        std::ranges::fill(given, '\0');
        std::ranges::copy(name, given.begin());
    }
}

} // namespace

int run_worker_program(const WorkerProgram& program, std::span<char*> words) noexcept {
    try {
        const CommandLine line = parse_command_line(program.name, words);
        if (line.help || line.version) {
            const std::string said =
                line.help ? help_of(program)
                          : std::string(program.name) + " " + std::string(program.version) + "\n";
            std::fputs(said.c_str(), stdout);
            return 0;
        }
        show_own_name(program.name, words);
        serve(program, line);
        return 0;
    } catch (const Failure& failure) {
        std::fprintf(stderr, "%s: %s\n", program.name.data(), failure.what());
        return failure.code() == "bad_request" ? status_usage : status_failed;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program.name.data(), error.what());
        return status_failed;
    }
}

} // namespace sonde
