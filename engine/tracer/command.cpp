#include "tracer/command.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/failure.hpp"

namespace sonde {
namespace {

std::int64_t us(const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000 + std::int64_t{time.tv_usec};
}

// In the child: signals as a program expects them, then the program.
[[noreturn]] void become(char* const* words, int go, int problem) {
    for (const int number : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) {
        std::signal(number, SIG_DFL);
    }
    char byte = 0;
    ssize_t got = 0;
    do {
        got = ::read(go, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        ::_exit(127);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(words[0], words);
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(problem, &error, sizeof error);
    ::_exit(error == ENOENT ? 127 : 126);
}

} // namespace

Command::Command(const std::vector<std::string>& words) {
    std::vector<std::string> copies = words;
    std::vector<char*> pointers;
    pointers.reserve(copies.size() + 1);
    for (std::string& word : copies) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    std::array<int, 2> go{};
    std::array<int, 2> problem{};
    if (::pipe2(go.data(), O_CLOEXEC) != 0) {
        throw system_failure("start the command");
    }
    const Descriptor go_read(go[0]);
    go_ = Descriptor(go[1]);
    if (::pipe2(problem.data(), O_CLOEXEC) != 0) {
        throw system_failure("start the command");
    }
    problem_ = Descriptor(problem[0]);
    const Descriptor problem_write(problem[1]);
    sigset_t all; // a signal to the child must not run a handler of ours
    sigset_t before;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    pid_ = ::fork();
    if (pid_ != 0) {
        const int error = errno;
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        errno = error;
    }
    if (pid_ < 0) {
        throw system_failure("start the command");
    }
    if (pid_ == 0) {
        go_.reset(); // else it would never see this end close
        become(pointers.data(), go_read.get(), problem_write.get());
    }
}

Command::~Command() {
    if (pid_ > 0) { // something failed: it must not outlive its trace
        go_.reset();
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
    }
}

int Command::go() {
    const char byte = 1;
    if (::write(go_.get(), &byte, 1) != 1) {
        return errno;
    }
    int error = 0;
    ssize_t got = 0;
    do { // its end closes when the program begins
        got = ::read(problem_.get(), &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    return got == sizeof error ? error : 0;
}

void Command::signal(int number) const {
    if (pid_ > 0) {
        ::kill(pid_, number);
    }
}

std::optional<CommandEnd> Command::end() {
    int status = 0;
    rusage usage{};
    if (pid_ <= 0 || ::wait4(pid_, &status, WNOHANG, &usage) != pid_) {
        return std::nullopt;
    }
    pid_ = -1;
    CommandEnd end;
    end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    end.user_us = us(usage.ru_utime);
    end.system_us = us(usage.ru_stime);
    end.voluntary_switches = usage.ru_nvcsw;
    end.involuntary_switches = usage.ru_nivcsw;
    end.minor_faults = usage.ru_minflt;
    end.major_faults = usage.ru_majflt;
    end.most_resident_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    return end;
}

} // namespace sonde
