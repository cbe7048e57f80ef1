// The operations without MPI running: their parts and partners, what is refused, and that the data
// check sees every wrong byte. What an operation would have left in memory is put there by hand.
#include "collective/collective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "collective/division.hpp"
#include "collective/entry.hpp"
#include "collective/operation.hpp"
#include "collective/partners.hpp"
#include "core/failure.hpp"

namespace {

using namespace sonde;
using namespace sonde::collective;

constexpr std::uint64_t seed = 77;

Setup setup(const std::string& operation, std::size_t message_bytes, int rank, int ranks) {
    return {.operation = operation,
            .message_bytes = message_bytes,
            .count = 1,
            .check_data = true,
            .seed = seed,
            .communicator = MPI_COMM_NULL,
            .rank = rank,
            .ranks = ranks};
}

Operation made(const Setup& asked) { return {asked, find_entry(asked.operation)}; }

std::string refusal(const Setup& asked) {
    try {
        static_cast<void>(prepare(asked));
    } catch (const Failure& failure) {
        CHECK(failure.code() == "bad_request");
        return failure.what();
    }
    return "";
}

// Puts what must come where it must come; then any single wrong byte must be found.
void check_every_byte(Operation& operation, const std::vector<std::byte>& must_come) {
    operation.clear();
    const auto got = operation.context().got.bytes();
    REQUIRE(got.size() == must_come.size());
    CHECK_FALSE(operation.intact());
    std::ranges::copy(must_come, got.begin());
    REQUIRE(operation.intact());
    for (std::byte& byte : got) {
        byte ^= std::byte{0x10};
        CHECK_FALSE(operation.intact());
        byte ^= std::byte{0x10};
    }
    CHECK(operation.intact());
}

std::vector<std::byte> given_by(int rank, std::size_t offset, std::size_t bytes) {
    std::vector<std::byte> content(bytes);
    Payload::write(content, seed + static_cast<std::uint64_t>(rank), offset);
    return content;
}

void append(std::vector<std::byte>& whole, const std::vector<std::byte>& part) {
    whole.insert(whole.end(), part.begin(), part.end());
}

} // namespace

TEST_SUITE("collective") {
    TEST_CASE("a broadcast leaves the root's message") {
        Operation leaf = made(setup("bcast", 133, 1, 2));
        check_every_byte(leaf, given_by(0, 0, 133));
        Operation root = made(setup("bcast", 133, 0, 2));
        root.clear();
        CHECK(root.intact());
    }

    TEST_CASE("an allreduce leaves the wrapping sum over the ranks") {
        Operation operation = made(setup("allreduce", 64, 1, 3));
        std::vector<std::byte> must_come(64);
        for (std::size_t at = 0; at < must_come.size(); at += word_bytes) {
            std::uint64_t sum = 0;
            for (int rank = 0; rank < 3; ++rank) {
                std::uint64_t word = 0;
                std::memcpy(&word, given_by(rank, at, word_bytes).data(), word_bytes);
                sum += word;
            }
            std::memcpy(must_come.data() + at, &sum, word_bytes);
        }
        check_every_byte(operation, must_come);
    }

    TEST_CASE("an alltoall leaves every rank's block for this one, in the order of the ranks") {
        constexpr std::size_t block = 37;
        Operation operation = made(setup("alltoall", block, 2, 3));
        std::vector<std::byte> must_come;
        for (int source = 0; source < 3; ++source) {
            append(must_come, given_by(source, 2 * block, block));
        }
        check_every_byte(operation, must_come);
        std::ranges::rotate(must_come, must_come.begin() + block);
        std::ranges::copy(must_come, operation.context().got.bytes().begin());
        CHECK_FALSE(operation.intact());
    }

    TEST_CASE("a gather of uneven parts") {
        Setup asked = setup("gatherv", 100, 0, 3); // 300 bytes as 1 : 2 : 3
        asked.uneven = true;
        Operation operation = made(asked);
        std::vector<std::byte> must_come = given_by(0, 0, 50);
        append(must_come, given_by(1, 0, 100));
        append(must_come, given_by(2, 0, 150));
        check_every_byte(operation, must_come);
    }

    TEST_CASE("parts have the same sum however they are divided") {
        for (int parts = 1; parts <= 17; ++parts) {
            for (const std::size_t mean : {0U, 1U, 7U, 1000U, 4'000'000'000U}) {
                const Division even(mean, parts, false);
                const Division uneven(mean, parts, true);
                const std::size_t total = mean * static_cast<std::size_t>(parts);
                CHECK(even.begin(parts) == total);
                CHECK(uneven.begin(parts) == total);
                for (int part = 0; part < parts; ++part) {
                    CHECK(even.size(part) == mean);
                    CHECK(uneven.begin(part) <= uneven.begin(part + 1));
                    CHECK(uneven.size(part) <= 2 * mean + 1);
                }
            }
        }
        CHECK(Division(10, 4, true).size(3) == 16); // 40 as 1 : 2 : 3 : 4
        CHECK(Division(10, 4, true).size(0) == 4);
    }

    TEST_CASE("whom a rank sends to receives from it") {
        for (int ranks = 2; ranks <= 17; ++ranks) {
            for (const std::string pattern : {"half", "pairs", "ring"}) {
                for (int distance = 1; distance < (pattern == "ring" ? ranks : 2); ++distance) {
                    int idle = 0;
                    for (int rank = 0; rank < ranks; ++rank) {
                        const Partners mine = partners_of(pattern, distance, rank, ranks);
                        if (mine.to == MPI_PROC_NULL) {
                            CHECK(mine.from == MPI_PROC_NULL);
                            ++idle;
                            continue;
                        }
                        CHECK(mine.to != rank);
                        CHECK(partners_of(pattern, distance, mine.to, ranks).from == rank);
                        CHECK((mine.to == mine.from || !is_matching(pattern)));
                    }
                    CHECK(idle == (pattern == "ring" ? 0 : ranks % 2));
                }
            }
        }
        CHECK(partners_of("half", 1, 1, 6).to == 4);
        CHECK(partners_of("pairs", 1, 3, 6).to == 2);
        CHECK(partners_of("ring", 2, 5, 6).to == 1);
    }

    TEST_CASE("every name is one operation's, and every operation is whole") {
        std::set<std::string> names;
        for (const Entry& entry : all_entries()) {
            INFO(entry.name);
            CHECK((entry.prepare && entry.call && entry.expect && entry.sent));
            for (const std::string& name : names_of(entry)) {
                CHECK(names.insert(name).second);
                CHECK(name.size() <= 32);
                CHECK(find_entry(name).name == entry.name);
            }
        }
        CHECK(names.contains("ineighbor_alltoallv"));
        CHECK(names.contains("reduce_scatter_block_init"));
        CHECK(names.size() > 100);
    }

    TEST_CASE("what a rank must send at least") {
        const auto least = [](const std::string& operation, std::size_t bytes, int rank,
                              int ranks) {
            return made(setup(operation, bytes, rank, ranks)).least_bytes_sent();
        };
        CHECK(least("barrier", 0, 0, 4) == 0);
        CHECK(least("bcast", 100, 0, 4) == 100);
        CHECK(least("bcast", 100, 1, 4) == 0);
        CHECK(least("bcast", 100, 0, 1) == 0);
        CHECK(least("gather", 100, 0, 4) == 0);
        CHECK(least("gather", 100, 3, 4) == 100);
        CHECK(least("scatter", 100, 0, 4) == 300);
        CHECK(least("allgather", 100, 1, 4) == 100);
        CHECK(least("reduce", 64, 1, 4) == 64);
        CHECK(least("allreduce", 64, 1, 4) == 64);
        CHECK(least("scan", 64, 3, 4) == 0);
        CHECK(least("alltoall", 10, 1, 4) == 30);
        CHECK(least("alltoall", 10, 0, 1) == 0);
        CHECK(least("neighbor_allgather", 10, 0, 3) == 20);
        CHECK(least("neighbor_allgather", 10, 0, 2) == 10);
        CHECK(least("send", 10, 0, 2) == 10);
        CHECK(least("send", 10, 2, 3) == 0);
        CHECK(least("waitsome", 10, 0, 2) == 80);
        CHECK(least("get_accumulate_fence", 16, 0, 2) == 32);
    }

    TEST_CASE("what an operation cannot do is refused before anything is sent") {
        const auto of = [](const std::string& operation, std::size_t message_bytes, int ranks = 2) {
            return refusal(setup(operation, message_bytes, 0, ranks));
        };
        CHECK(of("barrier", 0).empty());
        CHECK(of("barrier", 1) == "barrier: message_bytes is 1, expected 0");
        CHECK(of("bcast", 0).empty());
        CHECK(of("bcast", std::size_t{1} << 31U).find("at most 2147483647") != std::string::npos);
        CHECK(of("allreduce", 12) == "allreduce: message_bytes is 12, expected a multiple of 8");
        CHECK(of("compare_and_swap_lock", 16) ==
              "compare_and_swap_lock: message_bytes is 16, expected 8");
        CHECK(of("send", 8, 1) == "send: it needs 2 ranks, and this MPI program has 1");
        CHECK(of("gossip", 8) == "request: operation is gossip, which sonde-mpi does not have");

        Setup asked = setup("bcast", 8, 0, 2);
        asked.root = 2;
        CHECK(refusal(asked) == "request: root is 2, expected a rank below 2");
        asked = setup("allgather", 8, 0, 2);
        asked.root = 1;
        CHECK(refusal(asked) == "allgather: root is for operations that have one");
        asked = setup("bcast_init", 8, 0, 2);
        asked.rotate_root = true;
        CHECK(refusal(asked).find("do not go together") != std::string::npos);
        asked = setup("gather", 8, 0, 2);
        asked.uneven = true;
        CHECK(refusal(asked).find("uneven is for") != std::string::npos);
        asked = setup("send", 8, 0, 4);
        asked.pattern = "ring";
        CHECK(refusal(asked).find("pattern ring") != std::string::npos);
        asked = setup("sendrecv", 8, 0, 4);
        asked.pattern = "ring";
        asked.distance = 4;
        CHECK(refusal(asked).find("expected 1 to 3") != std::string::npos);
        asked = setup("scan", 8, 0, 4);
        asked.pattern = "pairs";
        CHECK(refusal(asked) == "scan: pattern is for operations between two ranks");
    }
}
