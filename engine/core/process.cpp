#include "core/process.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "core/failure.hpp"

namespace sonde {

std::string host_name() {
    std::array<char, 256> name{};
    const bool has_name = ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
    return has_name ? name.data() : "unknown";
}

int take_ending_signals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&ending, signal);
    }
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    const int fd = ::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        throw system_failure("receive signals");
    }
    std::signal(SIGPIPE, SIG_IGN); // NOLINT(cert-err33-c): a lost reader shows as EPIPE
    return fd;
}

} // namespace sonde
