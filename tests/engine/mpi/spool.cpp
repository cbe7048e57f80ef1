// Records in a file in memory come out again in pieces of whole lines.
#include "transport/mpi/spool.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/failure.hpp"

namespace {

using sonde::Failure;
using sonde::mpi::Spool;
using sonde::mpi::spool_piece_bytes;

void put(const Spool& spool, const std::string& text) {
    REQUIRE(::write(spool.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

std::string line(std::size_t bytes, char letter) { return std::string(bytes - 1, letter) + "\n"; }

} // namespace

TEST_SUITE("spool") {
    TEST_CASE("all that was written comes out, in whole lines within the limit") {
        const Spool spool;
        std::string written;
        for (int i = 0; i < 7; ++i) {
            written += line(400'000 + static_cast<std::size_t>(i), static_cast<char>('a' + i));
        }
        put(spool, written);
        std::string read;
        for (auto piece = spool.piece(0); !piece.empty(); piece = spool.piece(read.size())) {
            CHECK(piece.size() <= spool_piece_bytes);
            CHECK(piece.back() == '\n');
            read += piece;
        }
        CHECK(read == written);
    }

    TEST_CASE("nothing is left after clear") {
        const Spool spool;
        put(spool, line(10, 'x'));
        spool.clear();
        CHECK(spool.piece(0).empty());
        put(spool, line(5, 'y'));
        CHECK(spool.piece(0) == line(5, 'y'));
    }

    TEST_CASE("a line of exactly the limit passes, a longer one is said") {
        const Spool spool;
        put(spool, line(spool_piece_bytes, 'x'));
        CHECK(spool.piece(0).size() == spool_piece_bytes);
        spool.clear();
        put(spool, line(spool_piece_bytes + 1, 'x'));
        CHECK_THROWS_AS(static_cast<void>(spool.piece(0)), Failure);
    }
}
