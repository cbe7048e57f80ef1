// What libfabric makes of a text, and which names are like one: without MPI.
#include "transport/mpi/fabric_variables.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

using namespace sonde::mpi;

TEST_SUITE("fabric_variables") {
    TEST_CASE("libfabric takes numbers of any base, and of other texts what they begin with") {
        CHECK(as_libfabric_reads(FabricKind::size, "0x10") == "16");
        CHECK(as_libfabric_reads(FabricKind::whole, "-3") == "-3");
        CHECK(as_libfabric_reads(FabricKind::size, "64k") == "64, for it is no whole number");
        CHECK(as_libfabric_reads(FabricKind::whole, "many") == "0, for it is no whole number");
        CHECK(as_libfabric_reads(FabricKind::whole, "4294967299") == "3");
        CHECK(as_libfabric_reads(FabricKind::size, "4294967299") == "4294967299");
    }

    TEST_CASE("libfabric takes eight words for a truth, and its default for any other") {
        CHECK(as_libfabric_reads(FabricKind::truth, "Off") == "0");
        CHECK(as_libfabric_reads(FabricKind::truth, "yes") == "1");
        CHECK(as_libfabric_reads(FabricKind::truth, "2") == "its default, for it is no truth");
        CHECK(as_libfabric_reads(FabricKind::text, "tcp;ofi_rxm") == "tcp;ofi_rxm");
    }

    TEST_CASE("the names most like one come first, and few of them") {
        const std::array<std::string, 4> names{"FI_PROVIDER_PATH", "FI_HOOK", "FI_PROVIDER",
                                               "FI_HMEM"};
        const std::vector<std::string> near = most_like("FI_PROVDER", names);
        REQUIRE(near.size() == 3);
        CHECK(near.front() == "FI_PROVIDER");
    }
}
