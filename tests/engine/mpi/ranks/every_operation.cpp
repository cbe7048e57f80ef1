// Every operation between real ranks, with its data check: `mpiexec -n N engine-mpi-ranks-tests`.
// All ranks run the same cases at the same time, each judging its own data.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "collective/entry.hpp"
#include "collective/operation.hpp"
#include "core/failure.hpp"
#include "ranks.hpp"

using namespace ranks;

namespace {

// In how many repetitions something must be there afterwards: one-way messages come in every other.
std::size_t checked_repetitions(const Setup& asked, const Entry& entry) {
    Operation operation(asked, entry);
    std::vector<std::byte> expected(operation.context().got.bytes().size());
    std::size_t checked = 0;
    for (std::size_t i = 0; i < repetitions; ++i) {
        operation.context().repetition = i;
        checked += entry.expect(operation.context(), expected) > 0 ? 1U : 0U;
    }
    return checked;
}

} // namespace

// Also with more ranks than this machine has CPUs.
TEST_SUITE("many_ranks") {
    TEST_CASE("every operation in every form moves the right data") {
        for (const Entry& entry : all_entries()) {
            for (const std::string& name : names_of(entry)) {
                if (is_possible(entry)) {
                    require_intact(setup(name, sizes_of(entry).back()));
                }
            }
        }
    }

    TEST_CASE("every root, one after the other") {
        for (const Entry& entry : all_entries()) {
            if (!entry.rooted) {
                continue;
            }
            Setup asked = setup(std::string(entry.name), 1000);
            asked.root = asked.ranks - 1;
            require_intact(asked);
            asked.rotate_root = true;
            asked.count = static_cast<std::size_t>(asked.ranks);
            require_intact(asked);
            asked.operation = "i" + asked.operation;
            require_intact(asked);
        }
    }

    TEST_CASE("uneven parts") {
        for (const Entry& entry : all_entries()) {
            if (!entry.divides) {
                continue;
            }
            for (const std::string& name : names_of(entry)) {
                Setup asked = setup(name, sizes_of(entry).back());
                asked.uneven = true;
                require_intact(asked);
            }
        }
    }

    TEST_CASE("one wrong byte at the end is found out") {
        static Operation::Call real = nullptr;
        static std::size_t (*expect)(const Context&, std::span<std::byte>) = nullptr;
        for (Entry entry : all_entries()) {
            if (!is_possible(entry) || entry.after != nullptr) {
                continue;
            }
            const Setup asked = setup(std::string(entry.name), sizes_of(entry).back());
            real = entry.call;
            expect = entry.expect;
            entry.call = [](Context& context) {
                const int status = real(context);
                std::vector<std::byte> expected(context.got.bytes().size());
                const std::size_t checked = expect(context, expected);
                if (checked > 0) {
                    context.got.bytes()[checked - 1] ^= std::byte{1};
                }
                return status;
            };
            INFO(entry.name, ", rank ", asked.rank, " of ", asked.ranks);
            CHECK(corrupt(asked, entry) == checked_repetitions(asked, entry));
        }
    }
}

TEST_SUITE("few_ranks") {
    TEST_CASE("nothing, and as little as possible") {
        for (const Entry& entry : all_entries()) {
            for (const std::size_t bytes : sizes_of(entry)) {
                if (is_possible(entry) && bytes < 1000) {
                    require_intact(setup(std::string(entry.name), bytes));
                }
            }
        }
    }

    TEST_CASE("large messages") {
        for (const Entry& entry : all_entries()) {
            if (is_possible(entry)) {
                require_intact(setup(std::string(entry.name), large_of(entry)));
            }
        }
    }

    TEST_CASE("every pattern") {
        for (const Entry& entry : all_entries()) {
            if (entry.partnered == Partnered::none || !is_possible(entry)) {
                continue;
            }
            Setup asked = setup(std::string(entry.name), sizes_of(entry).back());
            asked.pattern = "pairs";
            require_intact(asked);
            if (entry.partnered == Partnered::any) {
                asked.pattern = "ring";
                require_intact(asked);
                asked.distance = asked.ranks - 1;
                require_intact(asked);
            }
        }
    }

    TEST_CASE("without the check nothing is found wrong, and the same number is measured") {
        for (const Entry& entry : all_entries()) {
            if (is_possible(entry)) {
                Setup asked = setup(std::string(entry.name), sizes_of(entry).back());
                asked.check_data = false;
                require_intact(asked);
            }
        }
    }

    TEST_CASE("an operation that moves nothing is found out, every time") {
        for (Entry entry : all_entries()) {
            if (!is_possible(entry) || entry.after != nullptr) {
                continue;
            }
            Setup asked = setup(std::string(entry.name), sizes_of(entry).back());
            entry.call = [](Context& /*context*/) -> int { return MPI_SUCCESS; };
            entry.ready = nullptr;
            // The root of a broadcast has the message anyway.
            const bool has_it = entry.name == "bcast" && asked.rank == 0;
            INFO(entry.name, ", rank ", asked.rank, " of ", asked.ranks);
            CHECK(corrupt(asked, entry) == (has_it ? 0 : checked_repetitions(asked, entry)));
        }
    }

    TEST_CASE("another communicator than the one that was asked for is found out") {
        Entry entry = find_entry("comm_split");
        entry.call = find_entry("comm_dup").call;
        const Setup asked = setup("comm_split", 0);
        // A duplicate has other ranks and another order, except of one rank alone.
        CHECK(corrupt(asked, entry) == (asked.ranks > 1 ? repetitions : 0));
    }

    TEST_CASE("what MPI has not is said in a sentence") {
        Entry entry = find_entry("bcast_init");
        entry.name = "no_such_function";
        Setup asked = setup("no_such_function_init", 8);
        CHECK_THROWS_WITH_AS(static_cast<void>(prepare(asked, entry)),
                             "no_such_function_init: this MPI library has no "
                             "MPI_No_such_function_init, which came with MPI 4",
                             Failure);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int status = doctest::Context(argc, argv).run();
    MPI_Finalize();
    return status;
}
