#include "transport/pvm/daemon.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/pvm/environment.hpp"

namespace sonde::pvm {
namespace {

constexpr std::size_t most_written_bytes = 65536;
constexpr std::size_t most_words_bytes = 300;
constexpr std::size_t most_folder_bytes = 64;
constexpr int slice_ms = 50;
constexpr int end_patience_ms = 1000;
constexpr std::string_view introduction_begin = "ddpro<";
constexpr std::string_view thanks = "Thanks";
constexpr std::string_view manual_switch = "-S";
constexpr std::size_t resident_field = 24 - 3;

// Where files go for a while. PVM writes names into fields of 108 characters and does not look how
// long they are.
std::string temporary_folder() {
    const char* named = std::getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe)
    const bool fits = named != nullptr && *named == '/' && std::strlen(named) <= most_folder_bytes;
    return fits ? named : "/tmp";
}

std::string make_folder() {
    std::string folder = temporary_folder();
    remove_leftovers(folder);
    folder += "/" + std::string(folder_begin) + "XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
        throw system_failure("make a folder for the files of PVM's daemon, " + folder);
    }
    return folder;
}

// Hosts are named by their addresses: no daemon has to look up a name.
std::string write_host_file(const std::string& folder, std::span<const std::string> others) {
    std::string path = folder + "/hosts";
    std::ofstream file(path);
    for (const std::string& other : others) {
        file << other << " so=ms\n";
    }
    file.close();
    if (!file) {
        throw system_failure("write " + path);
    }
    return path;
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

// Of a command line, nothing that a shell or a path would make something of.
bool is_plain(const std::string& word) {
    return std::ranges::all_of(word, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '.';
    });
}

struct Pipe {
    Descriptor read_end;
    Descriptor write_end;
};

Pipe make_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw system_failure("make a pipe");
    }
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// In the child: nothing that allocates.
[[noreturn]] void become(char* const* arguments, int input, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setpgid(0, 0); // it forks, and all of it is to be ended
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_DFL); // NOLINT(cert-err33-c)
    ::execv(arguments[0], arguments);
    ::_exit(127); // NOLINT(*-magic-numbers): as a shell says it
}

} // namespace

Daemon::Daemon(const Cleaner& cleaner) : program_(find_daemon()) {
    folder_ = make_folder();
    held_ = hold_folder(folder_);
    cleaner.removes(folder_);
    use_folder(folder_);
}

Daemon::Daemon(Daemon&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), held_(std::move(other.held_)),
      program_(std::move(other.program_)), input_(std::move(other.input_)),
      output_(std::move(other.output_)), process_(std::exchange(other.process_, -1)),
      written_(std::move(other.written_)), last_line_(std::move(other.last_line_)),
      ended_(std::move(other.ended_)) {}

Daemon Daemon::first(const Cleaner& cleaner, const std::string& address,
                     std::span<const std::string> others) {
    Daemon daemon(cleaner);
    daemon.start(cleaner, std::array{"-n" + address, write_host_file(daemon.folder_, others)});
    return daemon;
}

Daemon Daemon::further(const Cleaner& cleaner, const std::string& arguments) {
    std::vector<std::string> words = words_of(arguments);
    if (words.empty() || !std::ranges::all_of(words, is_plain)) {
        throw Failure("bad_request", "request: arguments are none of a daemon of PVM");
    }
    words.insert(words.begin(), "-f"); // it stays what we started
    Daemon daemon(cleaner);
    daemon.start(cleaner, words);
    return daemon;
}

void Daemon::start(const Cleaner& cleaner, std::span<const std::string> words) {
    Pipe to_daemon = make_pipe();
    Pipe from_daemon = make_pipe();
    // Where nobody reads any more what it writes, it must not wait.
    ::fcntl(from_daemon.write_end.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(from_daemon.read_end.get(), F_SETFL, O_NONBLOCK);
    std::vector<char*> arguments{program_.data()};
    std::vector<std::string> copies(words.begin(), words.end());
    for (std::string& copy : copies) {
        arguments.push_back(copy.data());
    }
    arguments.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
        become(arguments.data(), to_daemon.read_end.get(), from_daemon.write_end.get());
    }
    if (process_ < 0) {
        throw system_failure("start " + program_);
    }
    cleaner.ends(process_);
    input_ = std::move(to_daemon.write_end);
    output_ = std::move(from_daemon.read_end);
}

Daemon::~Daemon() {
    if (process_ > 0 && !ended()) {
        ::kill(process_, SIGTERM);
        for (int waited_ms = 0; !ended() && waited_ms < end_patience_ms; waited_ms += 10) {
            const timespec pause{0, 10'000'000};
            ::nanosleep(&pause, nullptr);
        }
        if (!ended()) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
    }
    if (process_ > 0) {
        ::kill(-process_, SIGKILL); // what it forked to start others, and still waits for them
    }
    remove_files();
}

void Daemon::remove_files() const noexcept {
    if (!folder_.empty()) {
        remove_folder(folder_);
    }
}

std::optional<std::string> Daemon::ended() {
    int status = 0;
    if (ended_.empty() && ::waitpid(process_, &status, WNOHANG) == process_) {
        ended_ = WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                                     : "ended with status " + std::to_string(WEXITSTATUS(status));
        halted_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ended_.empty() ? std::nullopt : std::optional(ended_);
}

std::map<std::string, std::int64_t> Daemon::counters() const {
    std::map<std::string, std::int64_t> values;
    std::ifstream file("/proc/" + std::to_string(process_) + "/stat");
    std::string text;
    std::getline(file, text);
    // proc(5): behind the name in brackets the fields from the third on.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return values;
    }
    const std::vector<std::string> fields = words_of(text.substr(name_end + 1));
    clockid_t clock{};
    timespec spent{};
    if (::clock_getcpuclockid(process_, &clock) == 0 && ::clock_gettime(clock, &spent) == 0) {
        values["pvm.daemon_cpu_ns"] = spent.tv_sec * 1'000'000'000LL + spent.tv_nsec;
    }
    if (fields.size() > resident_field) {
        values["pvm.daemon_resident_bytes"] =
            std::atoll(fields[resident_field].c_str()) * ::sysconf(_SC_PAGESIZE);
    }
    return values;
}

std::string Daemon::last_words() const {
    return last_line_.empty() ? "" : ": it said: " + last_line_.substr(0, most_words_bytes);
}

void Daemon::read_more(const Patience& patience, std::string_view what) {
    pollfd readable{output_.get(), POLLIN, 0};
    ::poll(&readable, 1, slice_ms);
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
    if (got > 0) {
        written_.append(piece.data(), static_cast<std::size_t>(got));
        if (written_.size() > most_written_bytes) {
            throw Failure("limit", "the daemon of PVM writes without end" + last_words());
        }
        return;
    }
    if (const auto how = ended()) {
        throw Failure("system", "the daemon of PVM " + *how + " before it " + std::string(what) +
                                    last_words());
    }
    if (monotonic_ns() > patience.until_ns || patience.interrupted) {
        throw Failure("timeout",
                      "the daemon of PVM has not " + std::string(what) + " in time" + last_words());
    }
}

template <class Is>
std::string Daemon::await_line(const Patience& patience, std::string_view what, Is is) {
    while (true) {
        const std::size_t end = written_.find('\n');
        if (end == std::string::npos) {
            read_more(patience, what);
            continue;
        }
        std::string line = written_.substr(0, end);
        written_.erase(0, end + 1);
        if (is(line)) {
            return line;
        }
        last_line_ = line.empty() ? last_line_ : line;
    }
}

// It writes where its tasks find it when they can.
void Daemon::await_ready(const Patience& patience) {
    await_line(patience, "said where its tasks find it", [this](const std::string& line) {
        return line.starts_with(folder_ + "/") ||
               (!line.empty() && line.find_first_not_of("0123456789abcdef:") == std::string::npos);
    });
}

std::string Daemon::await_question(const Patience& patience) {
    const std::vector<std::string> words =
        words_of(await_line(patience, "asked for the next host", [](const std::string& candidate) {
            return std::ranges::count(words_of(candidate), manual_switch) == 1;
        }));
    std::string question;                                         // all but the program
    for (const std::string& word : std::span(words).subspan(1)) { // there is the switch at least
        question += question.empty() ? word : ' ' + word;
    }
    return question;
}

std::string Daemon::await_introduction(const Patience& patience) {
    return await_line(patience, "introduced itself",
                      [](const std::string& line) { return line.starts_with(introduction_begin); });
}

void Daemon::answer(const std::string& introduction, const Patience& patience) {
    const std::string text = introduction + '\n';
    if (::write(input_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        throw system_failure("answer the daemon of PVM");
    }
    await_line(patience, "taken the answer",
               [](const std::string& line) { return line.find(thanks) != std::string::npos; });
}

} // namespace sonde::pvm
