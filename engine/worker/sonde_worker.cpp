// sonde-worker: one end of TCP, UDP, ICMP and link tests; see docs/reference/records.md.
#include <span>

#include "worker/transports.hpp"
#include "worker/worker_program.hpp"

int main(int argc, char** argv) {
    const sonde::WorkerProgram program{.name = "sonde-worker",
                                       .version = NETSONDE_VERSION,
                                       .ends = "netsonde's TCP, UDP, ICMP and link tests",
                                       .transports = sonde::worker_transports()};
    return sonde::run_worker_program(program, {argv, static_cast<std::size_t>(argc)});
}
