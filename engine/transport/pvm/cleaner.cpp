#include "transport/pvm/cleaner.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

namespace sonde::pvm {
namespace {

constexpr std::string_view dismissal = "dismissed";
constexpr std::string_view daemon_word = "daemon ";
constexpr std::string_view folder_word = "folder ";
constexpr std::int64_t leftover_age_s = 60; // longer than from making a folder to holding it
constexpr int patience_ms = 1000;           // a daemon that is told to end takes some milliseconds

Descriptor process_descriptor(pid_t process) {
    return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

void signal_process(const Descriptor& process, int signal) {
    ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

// What is to be done when the worker is gone.
struct Left {
    Descriptor daemon;
    pid_t group = 0; // the daemon's, with what it forked
    std::string folder;
    bool dismissed = false;

    void hear(std::string_view line) {
        if (line == dismissal) {
            dismissed = true;
        } else if (line.starts_with(folder_word)) {
            folder = line.substr(folder_word.size());
        } else if (line.starts_with(daemon_word)) {
            pid_t process = 0;
            std::from_chars(line.data() + daemon_word.size(), line.data() + line.size(), process);
            daemon = process_descriptor(process); // now: later its number may be another's
            group = process;
        }
    }

    void clean() const {
        if (daemon) {
            signal_process(daemon, SIGTERM);
            pollfd ended{daemon.get(), POLLIN, 0};
            ::poll(&ended, 1, patience_ms);
            ::kill(-group, SIGKILL);
        }
        if (!folder.empty()) {
            remove_folder(folder);
        }
    }
};

[[noreturn]] void watch(int pipe) {
    ::setsid(); // some launchers kill a worker together with its group
    ::prctl(PR_SET_NAME, "sonde-cleaner");
    ::dup2(pipe, STDIN_FILENO);
    ::close_range(1, ~0U, 0); // nothing that a launcher waits for stays open
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(signal, SIG_IGN); // NOLINT(cert-err33-c)
    }
    Left left;
    std::string line;
    std::array<char, 512> piece{};
    while (true) {
        const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        for (const char c : std::string_view(piece.data(), static_cast<std::size_t>(got))) {
            if (c == '\n') {
                left.hear(std::exchange(line, {}));
            } else {
                line.push_back(c);
            }
        }
    }
    if (!left.dismissed) {
        left.clean();
    }
    ::_exit(0);
}

} // namespace

void remove_folder(const std::string& folder) noexcept {
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> entries(::opendir(folder.c_str()), close);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        ::unlinkat(::dirfd(entries.get()), entry->d_name, 0);
    }
    ::rmdir(folder.c_str());
}

Descriptor hold_folder(const std::string& folder) {
    Descriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (held) {
        ::flock(held.get(), LOCK_SH | LOCK_NB);
    }
    return held;
}

void remove_leftovers(const std::string& temporary) {
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> entries(::opendir(temporary.c_str()), close);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        const std::string folder = temporary + "/" + entry->d_name;
        struct stat facts {};
        if (!std::string_view(entry->d_name).starts_with(folder_begin) ||
            ::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) ||
            facts.st_uid != ::geteuid() || ::time(nullptr) - facts.st_mtime < leftover_age_s) {
            continue;
        }
        const Descriptor found(
            ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
        if (found && ::flock(found.get(), LOCK_EX | LOCK_NB) == 0) {
            remove_folder(folder);
        }
    }
}

Cleaner::Cleaner() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return;
    }
    Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        write_end.reset();
        watch(read_end.get());
    }
    if (child > 0) {
        told_ = std::move(write_end);
    }
}

Cleaner::~Cleaner() { tell(std::string(dismissal)); }

void Cleaner::removes(const std::string& folder) const { tell(std::string(folder_word) + folder); }

void Cleaner::ends(pid_t daemon) const { tell(std::string(daemon_word) + std::to_string(daemon)); }

void Cleaner::tell(const std::string& line) const {
    if (told_) {
        const std::string text = line + '\n';
        [[maybe_unused]] const ssize_t written = ::write(told_.get(), text.data(), text.size());
    }
}

} // namespace sonde::pvm
