// What an MPI gives of threads, and what is said where it is too little.
#include <doctest/doctest.h>
#include <mpi.h>

#include <string>
#include <utility>

#include "core/failure.hpp"
#include "transport/mpi/thread_path.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("threads");

TEST_CASE("an MPI that gives less than was asked for is refused by the name of what it gave") {
    for (const auto& [level, name] : {std::pair{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
                                      std::pair{MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                      std::pair{MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"}}) {
        CHECK(mpi::thread_level_name(level) == name);
        for (const bool was_asked_for : {true, false}) {
            std::string code;
            std::string said;
            try {
                mpi::require_thread_multiple(level, was_asked_for);
            } catch (const Failure& failure) {
                code = failure.code();
                said = failure.what();
            }
            CHECK(code == (was_asked_for ? "unsupported" : "bad_request"));
            CHECK(said.find(name) != std::string::npos);
        }
    }
}

TEST_CASE("an MPI that gives all is not") {
    CHECK(mpi::thread_level_name(MPI_THREAD_MULTIPLE) == "MPI_THREAD_MULTIPLE");
    CHECK_NOTHROW(mpi::require_thread_multiple(MPI_THREAD_MULTIPLE, true));
}

TEST_SUITE_END();
