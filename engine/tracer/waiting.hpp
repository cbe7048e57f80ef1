// The clock of a trace, and what the tracer waits for. Time that is asleep with the machine
// counts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "core/descriptor.hpp"

namespace sonde {

enum class Woke { by_time, by_end, by_command };

class Waiting {
public:
    virtual ~Waiting() = default;
    [[nodiscard]] virtual std::int64_t now_ns() = 0;
    // The time of day less now_ns().
    [[nodiscard]] virtual std::int64_t unix_offset_ns() = 0;
    // Until an instant of now_ns(), or until the trace was told to end, or a command has ended.
    virtual Woke wait_until(std::int64_t instant_ns) = 0;
};

// CLOCK_BOOTTIME by an absolute timer. SIGINT, SIGTERM and SIGHUP end the trace, SIGCHLD says that
// a command may have ended; while one runs, the former are for it.
class SystemWaiting : public Waiting {
public:
    // Blocks these signals for the process.
    SystemWaiting();

    [[nodiscard]] std::int64_t now_ns() override;
    [[nodiscard]] std::int64_t unix_offset_ns() override;
    Woke wait_until(std::int64_t instant_ns) override;

    // From now on a signal that ends is given to this instead. It gets the signal's number and
    // whether a process sent it; a terminal sends its own to everyone in front of it.
    void pass_on(std::function<void(int, bool)> pass) { pass_ = std::move(pass); }

private:
    Descriptor timer_;
    Descriptor signals_;
    std::function<void(int, bool)> pass_;
};

} // namespace sonde
