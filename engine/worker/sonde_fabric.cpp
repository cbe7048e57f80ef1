// sonde-fabric: one end of tests over libfabric, which is loaded when it is asked for. A program of
// its own, since the others can be linked without any shared library.
#include <array>
#include <span>

#include "worker/fabric_end.hpp"
#include "worker/transports.hpp"
#include "worker/worker_program.hpp"

int main(int argc, char** argv) {
    constexpr std::array transports{sonde::WorkerTransport{.name = "fabric",
                                                           .listen = sonde::read_fabric_listen,
                                                           .connect = sonde::read_fabric_connect}};
    const sonde::WorkerProgram program{.name = "sonde-fabric",
                                       .version = NETSONDE_VERSION,
                                       .ends = "netsonde's tests over libfabric",
                                       .transports = transports};
    return sonde::run_worker_program(program, {argv, static_cast<std::size_t>(argc)});
}
