// The data checks of the collective operations, without MPI running: what an operation would have
// left in memory is put there by hand.
#include "collective/collective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/operation.hpp"
#include "core/failure.hpp"

namespace {

using namespace sonde;
using namespace sonde::collective;

constexpr std::uint64_t seed = 77;

Setup setup(std::size_t message_bytes, int rank, int ranks) {
    return {.operation = "under test",
            .message_bytes = message_bytes,
            .count = 1,
            .root = 0,
            .check_data = true,
            .seed = seed,
            .communicator = MPI_COMM_NULL,
            .rank = rank,
            .ranks = ranks};
}

// Any single wrong byte must be found.
template <class Op>
void check_every_byte(Op& operation) {
    REQUIRE(operation.intact());
    for (std::byte& byte : operation.received()) {
        byte ^= std::byte{0x10};
        CHECK_FALSE(operation.intact());
        byte ^= std::byte{0x10};
    }
    CHECK(operation.intact());
    operation.clear();
    CHECK_FALSE(operation.intact());
}

std::vector<std::uint64_t> words(std::size_t count) {
    Payload payload(count * sizeof(std::uint64_t), seed);
    std::vector<std::uint64_t> values(count);
    std::memcpy(values.data(), payload.bytes().data(), payload.bytes().size());
    return values;
}

} // namespace

TEST_SUITE("collective") {
    TEST_CASE("a broadcast leaves the root's message") {
        Broadcast leaf(setup(133, 1, 2));
        check_every_byte(leaf);
    }

    TEST_CASE("the root of a broadcast keeps its message") {
        Broadcast root(setup(133, 0, 2));
        root.clear();
        CHECK(root.intact());
    }

    TEST_CASE("an allreduce leaves the wrapping sum over the ranks") {
        AllReduce operation(setup(64, 1, 3));
        std::vector<std::uint64_t> sum(8, 0);
        const std::vector<std::uint64_t> word = words(8);
        for (std::uint64_t rank = 0; rank < 3; ++rank) {
            std::ranges::transform(sum, word, sum.begin(), [&](auto total, auto given) {
                return total + given * (rank + 1);
            });
        }
        std::memcpy(operation.received().data(), sum.data(), operation.received().size());
        check_every_byte(operation);
    }

    TEST_CASE("an alltoall leaves every rank's block for this one") {
        constexpr std::size_t block = 37;
        AllToAll operation(setup(block, 2, 3));
        for (std::size_t source = 0; source < 3; ++source) {
            Payload given(3 * block, seed + source);
            std::ranges::copy(given.bytes().subspan(2 * block, block),
                              operation.received().begin() +
                                  static_cast<std::ptrdiff_t>(source * block));
        }
        check_every_byte(operation);
    }

    TEST_CASE("an alltoall that mixes up two ranks is found") {
        AllToAll operation(setup(16, 0, 2));
        for (std::size_t source = 0; source < 2; ++source) {
            Payload given(32, seed + (1 - source));
            std::ranges::copy(given.bytes().first(16),
                              operation.received().begin() +
                                  static_cast<std::ptrdiff_t>(source * 16));
        }
        CHECK_FALSE(operation.intact());
    }

    TEST_CASE("what a rank must send at least") {
        CHECK(Barrier(setup(0, 0, 4)).least_bytes_sent() == 0);
        CHECK(Broadcast(setup(100, 0, 4)).least_bytes_sent() == 100);
        CHECK(Broadcast(setup(100, 1, 4)).least_bytes_sent() == 0);
        CHECK(AllReduce(setup(64, 1, 4)).least_bytes_sent() == 64);
        CHECK(AllToAll(setup(10, 1, 4)).least_bytes_sent() == 30);
        CHECK(AllToAll(setup(10, 0, 1)).least_bytes_sent() == 0);
    }

    TEST_CASE("what an operation cannot do is refused before anything is sent") {
        const auto refused = [](const char* operation, std::size_t message_bytes, int root) {
            Setup asked = setup(message_bytes, 0, 2);
            asked.operation = operation;
            asked.root = root;
            try {
                static_cast<void>(prepare(asked));
            } catch (const Failure& failure) {
                return failure.code();
            }
            return std::string("accepted");
        };
        CHECK(refused("barrier", 0, 0) == "accepted");
        CHECK(refused("barrier", 1, 0) == "bad_request");
        CHECK(refused("bcast", 0, 0) == "accepted");
        CHECK(refused("bcast", 8, 2) == "bad_request");
        CHECK(refused("bcast", std::size_t{1} << 31U, 0) == "bad_request");
        CHECK(refused("allreduce", 12, 0) == "bad_request");
        CHECK(refused("gather", 8, 0) == "bad_request");
    }
}
