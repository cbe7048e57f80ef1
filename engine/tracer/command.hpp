// The command whose doings are traced.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.hpp"

namespace sonde {

// How it ended, and what the kernel says that it and its children used.
struct CommandEnd {
    int exit_code = 0; // as a shell has it: 128 and the number of the signal that ended it
    std::int64_t user_us = 0;
    std::int64_t system_us = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;
    std::int64_t most_resident_bytes = 0;
};

class Command {
public:
    // A process that waits to become the command. Throws Failure.
    explicit Command(const std::vector<std::string>& words);
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    // Lets it go. Returns 0, or the errno with which the program could not be started.
    [[nodiscard]] int go();
    void signal(int number) const;
    // None while it runs.
    [[nodiscard]] std::optional<CommandEnd> end();

private:
    pid_t pid_ = -1;
    Descriptor go_;      // a byte lets it go, closing it ends it
    Descriptor problem_; // the errno of a failed start
};

} // namespace sonde
