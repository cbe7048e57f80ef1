#include "transport/mpi/witness.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"

namespace sonde::mpi {
namespace {

constexpr char dismissal = '\0';
constexpr std::size_t most_said_bytes = 16384;
// What was said must be on its way before the launcher sees the end.
constexpr long head_start_ns = 100'000'000;

// Of a process that a launcher has waited for, its status is only to be had by a descriptor that
// was opened before (Linux 6.15). Its numbers are younger than the headers of many systems.
struct PidfdInfo {
    std::uint64_t mask;
    std::array<std::uint32_t, 13> others;
    std::int32_t exit_code;
};
static_assert(offsetof(PidfdInfo, exit_code) == 60 && sizeof(PidfdInfo) == 64);
constexpr std::uint64_t pidfd_info_exit = 1U << 3U;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);

std::optional<int> status_kept(const Descriptor& rank) {
    PidfdInfo info{};
    info.mask = pidfd_info_exit;
    if (!rank || ::ioctl(rank.get(), pidfd_get_info, &info) != 0 ||
        (info.mask & pidfd_info_exit) == 0) {
        return std::nullopt;
    }
    return info.exit_code;
}

// Of one that nobody has waited for yet: the last field of its status (proc(5)).
std::optional<int> status_shown(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t last = text.find_last_of(' ');
    int status = 0;
    if (last == std::string::npos ||
        std::from_chars(text.data() + last + 1, text.data() + text.size(), status).ec !=
            std::errc{}) {
        return std::nullopt;
    }
    return status;
}

std::string how_it_ended(pid_t process, const Descriptor& rank) {
    std::optional<int> status = status_shown(process);
    if (!status) {
        status = status_kept(rank); // between the two its launcher may come: in this order
    }
    if (!status || (!WIFSIGNALED(*status) && WEXITSTATUS(*status) == 0)) {
        return "ended without a word";
    }
    return WIFSIGNALED(*status) ? "was killed by signal " + std::to_string(WTERMSIG(*status))
                                : "ended with status " + std::to_string(WEXITSTATUS(*status));
}

void say(const std::string& name, pid_t process, const Descriptor& rank) {
    const std::string line = "sonde-mpi: " + name + " was lost: process " +
                             std::to_string(process) + " " + how_it_ended(process, rank) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::vector<std::string> whole_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text.substr(0, text.rfind('\n') + 1));
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// All that is said on a pipe until its other end is gone; nothing where that dismisses us.
std::optional<std::string> said_on(int pipe) {
    std::string told;
    std::array<char, 256> piece{};
    while (true) {
        const ssize_t got = ::read(pipe, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return told;
        }
        const auto end = piece.begin() + got;
        if (std::find(piece.begin(), end, dismissal) != end) {
            return std::nullopt;
        }
        told.append(piece.begin(), end);
        told.resize(std::min(told.size(), most_said_bytes));
    }
}

// Removes the files that the witness's rank left. In a session of its own, for some launchers kill
// a rank together with its group, witness and all; and with nothing open that a launcher waits for.
[[noreturn]] void clean(int pipe) {
    ::setsid();
    ::prctl(PR_SET_NAME, "sonde-cleaner");
    ::dup2(pipe, 0);
    ::close_range(1, ~0U, 0);
    const std::optional<std::string> told = said_on(0);
    for (const std::string& file : whole_lines(told.value_or(""))) {
        ::unlink(file.c_str());
    }
    ::_exit(0);
}

[[noreturn]] void watch(int pipe, int cleaner, pid_t process) {
    const Descriptor rank(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    ::prctl(PR_SET_NAME, "sonde-witness");
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, SIG_IGN); // the rank ends by it, and that is to be said
    const std::optional<std::string> name = said_on(pipe);
    if (name) {
        const std::vector<std::string> lines = whole_lines(*name);
        say(lines.empty() ? "a rank" : lines.front(), process, rank);
        const timespec pause{0, head_start_ns};
        ::nanosleep(&pause, nullptr);
    } else {
        [[maybe_unused]] const ssize_t written = ::write(cleaner, &dismissal, 1);
    }
    ::_exit(0);
}

// The reading end is the child's.
struct Pipe {
    Descriptor read_end;
    Descriptor write_end;
};

Pipe make_pipe() {
    std::array<int, 2> ends{-1, -1};
    static_cast<void>(::pipe2(ends.data(), O_CLOEXEC));
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

} // namespace

Witness::Witness() {
    Pipe to_witness = make_pipe();
    Pipe to_cleaner = make_pipe();
    if (!to_witness.write_end || !to_cleaner.write_end) {
        return;
    }
    const pid_t process = ::getpid();
    const pid_t witness = ::fork();
    if (witness == 0) {
        to_witness.write_end.reset();
        if (::fork() == 0) {
            to_cleaner.write_end.reset();
            clean(to_cleaner.read_end.get());
        }
        to_cleaner.read_end.reset();
        ::close(STDIN_FILENO);
        watch(to_witness.read_end.get(), to_cleaner.write_end.get(), process);
    }
    if (witness > 0) {
        witness_ = std::move(to_witness.write_end);
        cleaner_ = std::move(to_cleaner.write_end);
    }
}

Witness::~Witness() {
    if (witness_) {
        [[maybe_unused]] const ssize_t written = ::write(witness_.get(), &dismissal, 1);
    }
}

void Witness::name(std::string_view rank) const { tell(witness_, rank); }

void Witness::removes(std::string_view file) const { tell(cleaner_, file); }

void Witness::tell(const Descriptor& to, std::string_view line) {
    if (to) {
        const std::string text = std::string(line) + '\n';
        [[maybe_unused]] const ssize_t written = ::write(to.get(), text.data(), text.size());
    }
}

} // namespace sonde::mpi
