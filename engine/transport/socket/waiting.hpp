// Waiting for descriptors in the phases that are not timed: bounded, and ended by the guard.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace sonde {

class Deadline {
public:
    Deadline(std::int64_t timeout_ns, const std::atomic<bool>& interrupted);

    [[nodiscard]] std::int64_t left_ns() const noexcept;
    [[nodiscard]] const std::atomic<bool>& interrupted() const noexcept { return *interrupted_; }
    // Polls until something is ready, at most most_ns. Returns the number of ready descriptors.
    // Throws Failure("timeout") when the deadline passes or the wait was interrupted.
    int poll(std::span<pollfd> fds, std::int64_t most_ns, const std::string& what) const;
    // Polls until one descriptor is ready, or throws.
    void await(int fd, short events, const std::string& what) const;

private:
    std::int64_t timeout_ns_;
    std::int64_t end_ns_;
    const std::atomic<bool>* interrupted_;
};

} // namespace sonde
