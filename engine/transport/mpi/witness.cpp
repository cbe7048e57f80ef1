#include "transport/mpi/witness.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>

namespace sonde::mpi {
namespace {

constexpr char dismissal = '\0';
constexpr std::size_t longest_name = 400;
// What was said must be on its way before the launcher sees the end.
constexpr long head_start_ns = 100'000'000;

// How a process ended that nobody has waited for yet: the last field of its status (proc(5)).
std::string how_it_ended(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t last = text.find_last_of(' ');
    int status = 0;
    if (last == std::string::npos ||
        std::from_chars(text.data() + last + 1, text.data() + text.size(), status).ec !=
            std::errc{} ||
        (!WIFSIGNALED(status) && WEXITSTATUS(status) == 0)) {
        return "ended without a word";
    }
    return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                               : "ended with status " + std::to_string(WEXITSTATUS(status));
}

void say(const std::string& rank, pid_t process) {
    const std::string line = "sonde-mpi: " + (rank.empty() ? "a rank" : rank) +
                             " was lost: process " + std::to_string(process) + " " +
                             how_it_ended(process) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

[[noreturn]] void watch(int pipe, pid_t process) {
    ::prctl(PR_SET_NAME, "sonde-witness");
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, SIG_IGN); // the rank ends by it, and that is to be said
    std::string rank;
    std::array<char, 256> piece{};
    while (true) {
        const ssize_t got = ::read(pipe, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        const auto end = piece.begin() + got;
        if (std::find(piece.begin(), end, dismissal) != end) {
            ::_exit(0);
        }
        rank.append(piece.begin(), end);
        rank.resize(std::min(rank.size(), longest_name));
    }
    say(rank, process);
    const timespec pause{0, head_start_ns};
    ::nanosleep(&pause, nullptr);
    ::_exit(0);
}

} // namespace

Witness::Witness() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return;
    }
    const pid_t process = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[1]);
        ::close(STDIN_FILENO);
        watch(ends[0], process);
    }
    ::close(ends[0]);
    if (child < 0) {
        ::close(ends[1]);
        return;
    }
    pipe_ = ends[1];
}

Witness::~Witness() {
    if (pipe_ >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(pipe_, &dismissal, 1);
        ::close(pipe_);
    }
}

void Witness::name(std::string_view rank) const {
    if (pipe_ >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(pipe_, rank.data(), rank.size());
    }
}

} // namespace sonde::mpi
