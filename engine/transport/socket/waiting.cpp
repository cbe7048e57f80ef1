#include "transport/socket/waiting.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "core/clock.hpp"
#include "core/failure.hpp"

namespace sonde {
namespace {

// How soon an interruption is noticed.
constexpr std::int64_t slice_ns = 50'000'000;

std::string seconds(std::int64_t duration_ns) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g s", static_cast<double>(duration_ns) * 1e-9);
    return text.data();
}

} // namespace

Deadline::Deadline(std::int64_t timeout_ns, const std::atomic<bool>& interrupted)
    : timeout_ns_(timeout_ns), end_ns_(monotonic_ns() + timeout_ns), interrupted_(&interrupted) {}

std::int64_t Deadline::left_ns() const noexcept { return end_ns_ - monotonic_ns(); }

int Deadline::poll(std::span<pollfd> fds, std::int64_t most_ns, const std::string& what) const {
    const std::int64_t stop_ns = std::min(end_ns_, monotonic_ns() + most_ns);
    while (true) {
        if (*interrupted_) {
            throw Failure("timeout", "while waiting for " + what);
        }
        if (left_ns() <= 0) {
            throw Failure("timeout", "waited " + seconds(timeout_ns_) + " for " + what);
        }
        const std::int64_t wait_ns =
            std::clamp<std::int64_t>(stop_ns - monotonic_ns(), 0, slice_ns);
        const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(wait_ns / 1'000'000 + 1));
        if (ready < 0 && errno != EINTR) {
            throw system_failure("wait for " + what);
        }
        if (ready > 0 || monotonic_ns() >= stop_ns) {
            return std::max(ready, 0);
        }
    }
}

void Deadline::await(int fd, short events, const std::string& what) const {
    pollfd one{fd, events, 0};
    while (poll({&one, 1}, timeout_ns_, what) == 0) {
    }
}

} // namespace sonde
