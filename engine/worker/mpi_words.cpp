#include "worker/mpi_words.hpp"

#include <unistd.h>

#include <string>

namespace sonde::mpi {

void say_line(std::string_view sentence) {
    const std::string line = "sonde-mpi: " + std::string(sentence) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void say(const Job& job, std::string_view message) {
    say_line("rank " + std::to_string(job.rank()) + " on " + job.host() + ": " +
             std::string(message));
}

} // namespace sonde::mpi
