// Operations by our own schedules between real ranks: the data that MPI's own way would leave.
#include <doctest/doctest.h>
#include <mpi.h>

#include <string>

#include "collective/entry.hpp"
#include "core/failure.hpp"
#include "ranks.hpp"
#include "schedule/schedule.hpp"

using namespace ranks;

namespace {

// Of an operation, by a schedule.
Setup by(const std::string& operation, std::size_t message_bytes,
         const schedule::Algorithm& algorithm) {
    Setup asked = setup(operation, message_bytes);
    asked.choices.schedule = schedule::Asked{};
    asked.choices.schedule->algorithm = algorithm.name;
    return asked;
}

template <class Visit>
void each_pair(Visit visit) {
    for (const Entry& entry : all_entries()) {
        for (const schedule::Algorithm& algorithm : schedule::algorithms()) {
            if (entry.family == algorithm.family) {
                INFO(algorithm.name);
                visit(entry, algorithm);
            }
        }
    }
}

} // namespace

TEST_SUITE("many_ranks") {
    TEST_CASE("every schedule of every operation") {
        each_pair([](const Entry& entry, const schedule::Algorithm& algorithm) {
            const std::string name(entry.name);
            for (const std::size_t bytes : sizes_of(entry)) {
                Setup asked = by(name, bytes, algorithm);
                asked.rotate_root = entry.rooted;
                require_intact(asked);
            }
            require_intact(by(name, large_of(entry), algorithm));
            if (entry.divides) {
                Setup asked = by(name, sizes_of(entry).back(), algorithm);
                asked.uneven = true;
                require_intact(asked);
            }
        });
    }

    TEST_CASE("schedules that keep the ranks' order, of an operation that does not commute") {
        each_pair([](const Entry& entry, const schedule::Algorithm& algorithm) {
            if (entry.reduces && !algorithm.uses.commutative) {
                Setup asked = by(std::string(entry.name), sizes_of(entry).back(), algorithm);
                asked.choices.reduction = "ordered";
                require_intact(asked);
            }
        });
    }

    TEST_CASE("segments, windows, and a communicator whose ranks are the other way round") {
        const schedule::Algorithm& shuffle = schedule::find_algorithm("alltoall/modified-shuffle");
        Setup asked = by("alltoall", 1003, shuffle);
        asked.choices.schedule->parameters.segment_bytes = 100;
        asked.choices.schedule->parameters.window = 3;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -asked.rank, &asked.communicator);
        asked.rank = asked.ranks - 1 - asked.rank;
        require_intact(asked);
        MPI_Comm_free(&asked.communicator);
    }

    TEST_CASE("what a schedule cannot do is refused before anything is sent") {
        const auto refusal = [](const Setup& asked) -> std::string {
            try {
                static_cast<void>(prepare(asked));
            } catch (const Failure& failure) {
                return failure.what();
            }
            return "";
        };
        const schedule::Algorithm& ring = schedule::find_algorithm("allreduce/ring");
        Setup asked = by("allreduce", 1000, ring);
        asked.choices.reduction = "ordered";
        CHECK(refusal(asked).find("commutes") != std::string::npos);
        CHECK(refusal(by("bcast", 10, ring)).find("no algorithm for bcast") != std::string::npos);
        CHECK(refusal(by("scan", 8, ring)).find("there are schedules of") != std::string::npos);
        CHECK(refusal(by("iallreduce", 8, ring)).find("blocking") != std::string::npos);
    }
}
