// sonde-trace: samples a host's counters into a folder, for so long or while a command runs.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/affinity.hpp"
#include "core/failure.hpp"
#include "core/request.hpp"
#include "counters/interfaces.hpp"
#include "counters/snapshot.hpp"
#include "tracer/command.hpp"
#include "tracer/counter_reader.hpp"
#include "tracer/journal.hpp"
#include "tracer/tracer.hpp"
#include "tracer/waiting.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t least_interval_ns = 1'000'000;
constexpr std::int64_t most_interval_ns = 86'400 * second_ns;
constexpr std::int64_t most_duration_ns = 3650LL * 86'400 * second_ns;
constexpr std::int64_t least_kept_bytes = std::int64_t{1} << 20U;
constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 44U;
constexpr std::size_t most_path_characters = 4096;

struct Settings {
    JournalSettings journal;
    TracerSettings tracer;
    TraceSources sources;
    std::optional<int> cpu;
    int status_fd = -1;
    bool is_tied = false;          // ends when whoever started it does
    std::vector<std::string> then; // what this process becomes at the end
};

std::vector<std::string> take_words(Fields& fields, std::string_view name, std::size_t most) {
    std::vector<std::string> words;
    for (const json& word : fields.list(name, most)) {
        if (!word.is_string()) {
            throw Failure("bad_request", std::string(name) + " holds something that is no text");
        }
        words.push_back(word.get<std::string>());
    }
    return words;
}

Settings read_settings(const std::string& text) {
    json parsed = json::parse(text, nullptr, false);
    if (!parsed.is_object()) {
        throw Failure("bad_request", "sonde-trace: the settings are no JSON object");
    }
    Fields fields(std::move(parsed), "sonde-trace");
    Settings settings;
    settings.journal.folder = fields.text("folder", most_path_characters);
    settings.journal.most_bytes =
        fields.optional_integer("most_bytes", least_kept_bytes, most_kept_bytes)
            .value_or(settings.journal.most_bytes);
    settings.tracer.interval_ns =
        fields.integer("interval_ns", least_interval_ns, most_interval_ns);
    settings.tracer.duration_ns = fields.optional_integer("duration_ns", 1, most_duration_ns);
    settings.sources.root = fields.optional_text("root", most_path_characters).value_or("/");
    settings.sources.parts = take_words(fields, "parts", 64);
    settings.sources.interfaces = take_words(fields, "interfaces", 64);
    if (const auto cpu = fields.optional_integer("cpu", 0, 4095)) {
        settings.cpu = static_cast<int>(*cpu);
    }
    settings.status_fd =
        static_cast<int>(fields.optional_integer("status_fd", 0, 1 << 20).value_or(-1));
    settings.is_tied = fields.flag("tied", false);
    settings.then = take_words(fields, "then", 64);
    fields.finish();
    return settings;
}

// What is said to whoever started this: JSON lines, and nothing where nobody listens any more.
class Status {
public:
    explicit Status(int fd) : fd_(fd) {
        if (fd >= 0) {
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }

    void say(const json& words) const {
        const std::string line = words.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
        if (fd_ >= 0) {
            [[maybe_unused]] const ssize_t told = ::write(fd_, line.data(), line.size());
        }
    }

private:
    int fd_;
};

// What a reader needs to know of the host and of the time.
json about_host(const Settings& settings, SystemWaiting& waiting,
                const std::vector<std::string>& command) {
    utsname name{};
    ::uname(&name);
    std::string boot =
        read_file((settings.sources.root / "proc/sys/kernel/random/boot_id").string());
    while (!boot.empty() && boot.back() == '\n') {
        boot.pop_back();
    }
    timespec monotonic{};
    ::clock_gettime(CLOCK_MONOTONIC, &monotonic);
    const std::int64_t now_ns = waiting.now_ns();
    json about{
        {"host", name.nodename},
        {"kernel", name.release},
        {"boot_id", boot},
        {"version", NETSONDE_VERSION},
        {"interval_ns", settings.tracer.interval_ns},
        {"begin_ns", settings.tracer.begin_ns},
        {"begin_unix_ns", settings.tracer.begin_ns + waiting.unix_offset_ns()},
        {"monotonic_offset_ns",
         std::int64_t{monotonic.tv_sec} * second_ns + monotonic.tv_nsec - now_ns},
        {"jiffies_per_s", ::sysconf(_SC_CLK_TCK)},
        {"page_bytes", ::sysconf(_SC_PAGESIZE)},
        {"processors", ::sysconf(_SC_NPROCESSORS_ONLN)},
        {"interfaces", interface_names(settings.sources.root)},
    };
    if (settings.sources.root == "/") {
        json facts = json::object();
        add_interfaces(facts);
        about["facts"] = facts;
    }
    if (!command.empty()) {
        about["command"] = command;
    }
    return about;
}

json words_of(const CommandEnd& end) {
    return {{"exit_code", end.exit_code},
            {"user_us", end.user_us},
            {"system_us", end.system_us},
            {"voluntary_switches", end.voluntary_switches},
            {"involuntary_switches", end.involuntary_switches},
            {"minor_faults", end.minor_faults},
            {"major_faults", end.major_faults},
            {"most_resident_bytes", end.most_resident_bytes}};
}

// Says, once each, what cannot be read and what could not be written.
class Notices {
public:
    Notices(const Status& status, const SystemCounters& counters, Journal& journal)
        : status_(status), counters_(counters), journal_(journal) {}

    void look() {
        for (const auto& [part, why] : counters_.missing()) {
            if (said_.insert(part).second) {
                journal_.missing(part, why);
                status_.say({{"missing", part}, {"why", why}});
            }
        }
        if (journal_.lost() > 0 && !loss_said_) {
            loss_said_ = true;
            status_.say({{"lost", journal_.problem()}});
            std::cerr << "netsonde: " << journal_.problem() << "; samples are being lost\n";
        }
    }

private:
    const Status& status_;
    const SystemCounters& counters_;
    Journal& journal_;
    std::set<std::string> said_;
    bool loss_said_ = false;
};

void trace(Settings& settings, const Status& status, const std::vector<std::string>& words) {
    SystemWaiting waiting;
    SystemCounters counters(settings.sources);
    std::optional<Command> command;
    if (!words.empty()) { // before the CPU is chosen: that is for the tracer alone
        command.emplace(words);
    }
    if (settings.cpu) {
        pin_to_cpu(*settings.cpu);
    }
    settings.tracer.begin_ns = waiting.now_ns();
    settings.journal.about = about_host(settings, waiting, words);
    Journal journal(settings.journal);
    Tracer tracer(settings.tracer, waiting, counters, journal);
    Notices notices(status, counters, journal);
    tracer.after_each([&] { notices.look(); });
    tracer.boundary("start");
    status.say({{"ready", {{"pid", ::getpid()}}}});
    std::optional<CommandEnd> command_end;
    TracerEnd end;
    if (command) {
        waiting.pass_on([&](int number, bool by_process) {
            if (by_process || number != SIGINT) {
                command->signal(number);
            }
        });
        if (const int problem = command->go(); problem != 0) {
            status.say(
                {{"cannot_start", std::strerror(problem)}, {"is_missing", problem == ENOENT}});
        }
        end = tracer.run([&] { return (command_end = command->end()).has_value(); });
    } else {
        end = tracer.run();
    }
    journal.end(end.reason, end.samples, end.missed);
    json last{{"reason", end.reason},
              {"samples", end.samples},
              {"missed", end.missed},
              {"lost", journal.lost()}};
    if (command_end) {
        last["command"] = words_of(*command_end);
    }
    status.say({{"ended", last}});
}

[[noreturn]] void become(const std::vector<std::string>& words) {
    std::vector<std::string> copies = words;
    std::vector<char*> pointers;
    pointers.reserve(copies.size() + 1);
    for (std::string& word : copies) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(pointers[0], pointers.data());
    std::cerr << "netsonde: cannot start " << words.front() << ": " << std::strerror(errno) << "\n";
    std::exit(3);
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + std::min(argc, 3), argv + argc);
    if (argc < 2 || (argc > 2 && (argv[2] != std::string_view("--") || words.empty()))) {
        std::cerr << "sonde-trace " NETSONDE_VERSION
                     ": part of netsonde, started by netsonde trace; "
                     "give settings as JSON, and a command behind --\n";
        return 2;
    }
    ::mallopt(M_ARENA_MAX, 1);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is a loss that is told
    Settings settings;
    try {
        settings = read_settings(argv[1]);
    } catch (const Failure& failure) {
        std::cerr << "netsonde: " << failure.what() << "\n";
        return 2;
    }
    const Status status(settings.status_fd);
    if (settings.is_tied) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    } else {
        std::signal(SIGHUP, SIG_IGN); // it outlives its terminal
    }
    try {
        trace(settings, status, words);
    } catch (const std::exception& error) {
        const auto* const failure = dynamic_cast<const Failure*>(&error);
        const bool is_usage = failure != nullptr && failure->code() == "bad_request";
        status.say({{"failed", error.what()}, {"is_usage", is_usage}});
        if (settings.status_fd < 0) {
            std::cerr << "netsonde: " << error.what() << "\n";
        }
        return is_usage ? 2 : 3;
    }
    if (!settings.then.empty()) {
        become(settings.then);
    }
    return 0;
}
