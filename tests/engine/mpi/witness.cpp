// What the witness of a rank says of its end, however late it sees it.
#include "transport/mpi/witness.hpp"

#include <doctest/doctest.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace {

using namespace sonde;

struct Pipe {
    Descriptor read_end;
    Descriptor write_end;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string all_of(const Descriptor& end) {
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t got = 0; (got = ::read(end.get(), piece.data(), piece.size())) != 0;) {
        if (got > 0) {
            text.append(piece.data(), static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            break;
        }
    }
    return text;
}

// The only child of a process, which is there before the process says that it is ready.
pid_t child_of(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process) + "/task/";
    std::ifstream file(folder + std::to_string(process) + "/children");
    pid_t child = 0;
    file >> child;
    return child;
}

// Field 2 and 3 of a process's status: its name and its state.
std::string state_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    file >> number >> name >> state;
    return name + " " + state;
}

// Whether the kernel keeps how a process ended when somebody has waited for it.
bool keeps_status() {
    utsname names{};
    int major = 0;
    int minor = 0;
    return ::uname(&names) == 0 && std::sscanf(names.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 15));
}

// A rank that has a witness and ends in some way; what the witness then wrote. `reaped`: the
// launcher has waited for the rank before the witness could look.
std::string said_of(bool reaped, const std::string& left = "/dev/null/nothing") {
    Pipe errors = make_pipe();
    const Pipe ready = make_pipe();
    const pid_t rank = ::fork();
    REQUIRE(rank >= 0);
    if (rank == 0) {
        ::dup2(errors.write_end.get(), STDERR_FILENO);
        const mpi::Witness witness;
        witness.name("rank 1 on h2");
        witness.removes(left);
        [[maybe_unused]] const ssize_t written = ::write(ready.write_end.get(), "x", 1);
        ::pause();
        ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready.read_end.get(), &byte, 1) == 1);
    const pid_t witness = child_of(rank);
    REQUIRE(witness > 0);
    while (!state_of(witness).starts_with("(sonde-witness)")) {
        ::usleep(1000);
    }
    if (reaped) {
        ::kill(witness, SIGSTOP);
        while (state_of(witness) != "(sonde-witness) T") {
            ::usleep(1000);
        }
    }
    ::kill(rank, SIGKILL);
    if (reaped) {
        ::waitpid(rank, nullptr, 0);
        ::kill(witness, SIGCONT);
    }
    errors.write_end.reset();
    std::string text = all_of(errors.read_end);
    if (!reaped) {
        ::waitpid(rank, nullptr, 0);
    }
    return text;
}

} // namespace

TEST_SUITE("witness") {
    TEST_CASE("a rank that nobody has waited for") {
        const std::string text = said_of(false);
        CHECK(text.starts_with("sonde-mpi: rank 1 on h2 was lost: process "));
        CHECK(text.ends_with(" was killed by signal 9\n"));
    }

    TEST_CASE("what a rank left goes with it") {
        std::string left = std::filesystem::temp_directory_path() / "sonde-witness-XXXXXX";
        const Descriptor file(::mkstemp(left.data()));
        REQUIRE(file);
        CHECK(said_of(false, left).starts_with("sonde-mpi: rank 1 on h2 was lost"));
        for (int tries = 0; tries < 1000 && ::access(left.c_str(), F_OK) == 0; ++tries) {
            ::usleep(10'000); // after the witness, which speaks first
        }
        CHECK(::access(left.c_str(), F_OK) != 0);
    }

    TEST_CASE("a rank that its launcher has waited for already") {
        const std::string text = said_of(true);
        CHECK(text.starts_with("sonde-mpi: rank 1 on h2 was lost: process "));
        // Of others the launcher's own words are asked.
        CHECK(text.ends_with(keeps_status() ? " was killed by signal 9\n"
                                            : " ended without a word\n"));
    }
}
