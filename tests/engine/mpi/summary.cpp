// What an MPICH says of itself at its start: without MPI.
#include "transport/mpi/summary.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace sonde::mpi;

TEST_SUITE("summary") {
    TEST_CASE("of libfabric the provider that was taken, not those that were there") {
        const NetworkPart found = network_part_in("provider: shm, score = 4, pref = 0\n"
                                                  "==== Capability set configuration ====\n"
                                                  "libfabric provider: tcp;ofi_rxm - 10.0.0.0/24\n"
                                                  "MPIDI_OFI_ENABLE_DATA: 1\n");
        CHECK(found.name == "ofi");
        CHECK(found.provider == "tcp;ofi_rxm");
    }

    TEST_CASE("of UCX its name") {
        const NetworkPart found = network_part_in("==== UCX netmod Capability ====\nbits: 16\n");
        CHECK(found.name == "ucx");
        CHECK(found.provider.empty());
    }

    TEST_CASE("of what says nothing, and of an endless name, no more than there is") {
        CHECK(network_part_in("").name.empty());
        CHECK(network_part_in("libfabric provider: ").provider.empty());
        CHECK(network_part_in("libfabric provider: " + std::string(5000, 'x')).provider.size() ==
              64);
    }

    TEST_CASE("what is written meanwhile is kept, and standard output is as it was") {
        std::string said;
        {
            SummaryAsked asked;
            CHECK(std::getenv("MPIR_CVAR_DEBUG_SUMMARY") == std::string("1"));
            std::printf("libfabric provider: tcp - there\n");
            said = asked.text();
        }
        CHECK(said == "libfabric provider: tcp - there\n");
        CHECK(std::getenv("MPIR_CVAR_DEBUG_SUMMARY") == nullptr);
        CHECK(::fcntl(STDOUT_FILENO, F_GETFD) == 0);
    }
}
