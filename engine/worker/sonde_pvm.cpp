// sonde-pvm: one end of tests over PVM. Reads requests on standard input, writes records on
// standard output; see docs/reference/records.md.
#include <sys/prctl.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/process.hpp"
#include "core/records.hpp"
#include "counters/withheld.hpp"
#include "transport/pvm/cleaner.hpp"
#include "transport/pvm/environment.hpp"
#include "worker/pvm_task.hpp"

// Series and frames are little-endian as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "sonde-pvm runs on little-endian hosts only");

namespace {

using namespace sonde;

constexpr int status_usage = 2;
constexpr int status_failed = 3;
constexpr const char* help_text =
    "usage: sonde-pvm [--version] [--help]\n"
    "\n"
    "netsonde's worker for PVM: a task of a virtual machine, and what starts and ends the daemon\n"
    "of its host. Reads requests, one JSON object a line, on standard input and writes records,\n"
    "one JSON object a line, on standard output, until `quit` or the end of the input. Normally\n"
    "netsonde starts it.\n";

void serve() {
    pvm::forget_environment();
    const pvm::Cleaner cleaner;
    const int signal_fd = take_ending_signals();
    watch_stops();
    ::prctl(PR_SET_NAME, "sonde-pvm");
    RecordWriter records(STDOUT_FILENO, host_name(), 0);
    Timebase timebase;
    Guard guard(STDIN_FILENO, signal_fd);
    records.hello("sonde-pvm", NETSONDE_VERSION, 2, timebase.facts());
    PvmTask task(records, timebase, guard, cleaner);
    serve_requests(STDIN_FILENO, records, task.handlers(), signal_fd);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        const std::string_view question(argv[1]);
        const bool known = question == "--version" || question == "--help";
        std::fputs(question == "--version" ? "sonde-pvm " NETSONDE_VERSION "\n" : help_text,
                   known ? stdout : stderr);
        return known ? 0 : status_usage;
    }
    try {
        serve();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sonde-pvm: %s\n", error.what());
        return status_failed;
    }
}
