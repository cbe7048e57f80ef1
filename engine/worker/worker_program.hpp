// A program that reads requests on standard input and writes records on standard output: one end of
// the transports that it has.
#pragma once

#include <span>
#include <string_view>

#include "worker/transports.hpp"

namespace sonde {

struct WorkerProgram {
    std::string_view name;
    std::string_view version;
    std::string_view ends; // what it is one end of, for --help
    std::span<const WorkerTransport> transports;
};

// Its main(): the status that the process ends with. words: those of the command line.
[[nodiscard]] int run_worker_program(const WorkerProgram& program, std::span<char*> words) noexcept;

} // namespace sonde
