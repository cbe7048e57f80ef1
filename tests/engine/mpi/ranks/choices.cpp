// The choices of operations between real ranks: partners, reductions, windows, memory, overlap.
#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "collective/entry.hpp"
#include "core/caches.hpp"
#include "core/failure.hpp"
#include "ranks.hpp"

using namespace ranks;

namespace {

// The first and the last rank, the second and the last but one, and so on.
Setup in_pairs(const std::string& operation, std::size_t message_bytes) {
    Setup asked = setup(operation, message_bytes);
    asked.pattern = "list";
    for (int rank = 0; rank < asked.ranks / 2; ++rank) {
        asked.choices.partners.push_back({asked.ranks - 1 - rank, rank});
    }
    return asked;
}

void require_overlap(const std::string& name) {
    const Entry entry = find_entry(name);
    if (!is_possible(entry)) {
        return;
    }
    Setup asked = setup(name, sizes_of(entry).back());
    asked.choices.overlap = true;
    asked.choices.polls = 3;
    const Result result = prepare(asked, entry)->run(timebase(), {});
    INFO(name, ", rank ", asked.rank, " of ", asked.ranks);
    CHECK(result.corrupt == 0);
    CHECK(result.compute_ns.size() == repetitions);
    CHECK(result.together_ns.size() == repetitions);
    CHECK(result.duration_ns.size() == repetitions);
}

} // namespace

TEST_SUITE("many_ranks") {
    TEST_CASE("every reduction") {
        for (const Entry& entry : all_entries()) {
            for (const std::string& name : names_of(entry)) {
                for (const std::string_view reduction : reduction_names) {
                    // Forms differ in how they are called, not in what they join.
                    if (entry.reduces && (name == entry.name || reduction == "ordered")) {
                        Setup asked = setup(name, sizes_of(entry).back());
                        asked.choices.reduction = reduction;
                        INFO(reduction);
                        require_intact(asked);
                    }
                }
            }
        }
    }

    TEST_CASE("every datatype, by what joins it") {
        for (const std::string_view datatype : datatype_names) {
            for (const char* const reduction : {"sum", "min", "max", "or"}) {
                const bool has_bits_only = datatype == "byte";
                const bool has_no_bits = datatype == "float" || datatype == "double";
                const bool is_or = std::string_view(reduction) == "or";
                for (const char* const name : {"allreduce", "reduce_scatter"}) {
                    Setup asked = setup(name, 1000);
                    asked.choices.reduction = reduction;
                    asked.choices.datatype = datatype;
                    asked.uneven = std::string_view(name) == "reduce_scatter";
                    INFO(datatype, ", ", reduction);
                    if ((has_bits_only && !is_or) || (has_no_bits && is_or)) {
                        CHECK_THROWS_AS(static_cast<void>(prepare(asked)), Failure);
                    } else {
                        require_intact(asked);
                    }
                }
            }
        }
    }

    TEST_CASE("a datatype that is joined as another one is found out") {
        Setup asked = setup("allreduce", 1000);
        asked.choices.datatype = "char";
        Entry entry = find_entry("allreduce");
        CHECK(corrupt(asked, entry) == 0);
        entry.call = [](Context& c) { // carries go from one character to the next
            return MPI_Allreduce(c.given.bytes().data(), c.got.bytes().data(), c.count / 8,
                                 MPI_UINT64_T, MPI_SUM, c.communicator);
        };
        CHECK(corrupt(asked, entry) == (asked.ranks > 1 ? repetitions : 0));
    }

    TEST_CASE("a reduction whose ranks are joined in another order is found out") {
        // Between a rank's own words and all others': only the order differs.
        Entry entry = find_entry("allreduce");
        entry.call = [](Context& c) {
            MPI_Comm reversed = MPI_COMM_NULL;
            int status = MPI_Comm_split(c.communicator, 0, -c.rank, &reversed);
            if (status == MPI_SUCCESS) {
                status = MPI_Allreduce(c.given.bytes().data(), c.got.bytes().data(), c.count,
                                       c.reduction.datatype, c.reduction.operation, reversed);
                MPI_Comm_free(&reversed);
            }
            return status;
        };
        Setup asked = setup("allreduce", 1000);
        CHECK(corrupt(asked, entry) == 0);
        asked.choices.reduction = "ordered";
        CHECK(corrupt(asked, entry) == (asked.ranks > 1 ? repetitions : 0));
    }

    TEST_CASE("a null operation leaves words where they are, and one that is missing is found") {
        Setup asked = setup("allreduce", 1000);
        asked.choices.reduction = "null";
        CHECK(corrupt(asked, find_entry("allreduce")) == 0);
        // Whoever adds does something: what comes out is no rank's words.
        Entry adding = find_entry("allreduce");
        adding.call = [](Context& c) {
            return MPI_Allreduce(c.given.bytes().data(), c.got.bytes().data(), c.count,
                                 c.reduction.datatype, MPI_SUM, c.communicator);
        };
        CHECK(corrupt(asked, adding) == (asked.ranks > 1 ? repetitions : 0));
        // The last word never comes.
        Entry short_by_one = find_entry("allreduce");
        short_by_one.call = [](Context& c) {
            return MPI_Allreduce(c.given.bytes().data(), c.got.bytes().data(), c.count - 1,
                                 c.reduction.datatype, c.reduction.operation, c.communicator);
        };
        CHECK(corrupt(asked, short_by_one) == repetitions);
    }

    TEST_CASE("both timers see the same calls") {
        Setup asked = setup("barrier", 0);
        asked.count = 50;
        CHECK(prepare(asked)->run(timebase(), {}).wtime_duration_ns.empty());
        asked.choices.both_timers = true;
        const Result result = prepare(asked)->run(timebase(), {});
        REQUIRE(result.wtime_duration_ns.size() == asked.count);
        // A timer that was stopped or in other units would be far off in every call.
        std::int64_t near = 0;
        for (std::size_t i = 0; i < asked.count; ++i) {
            const std::int64_t apart = result.wtime_duration_ns[i] - result.duration_ns[i];
            near += std::abs(apart) < 2'000 + result.duration_ns[i] / 2 ? 1 : 0;
        }
        CHECK(near > 25);
    }

    TEST_CASE("partners that send at the same time") {
        for (const Entry& entry : all_entries()) {
            if (entry.head_on != nullptr && is_possible(entry)) {
                for (const std::size_t bytes : {sizes_of(entry).back(), large_of(entry)}) {
                    Setup asked = setup(std::string(entry.name), bytes);
                    asked.pattern = "head-to-head";
                    require_intact(asked);
                }
            }
        }
    }

    TEST_CASE("all send to every root") {
        for (const Entry& entry : all_entries()) {
            if (entry.to_one == nullptr || !is_possible(entry)) {
                continue;
            }
            for (const std::size_t bytes : {std::size_t{0}, std::size_t{1003}}) {
                Setup asked = setup(std::string(entry.name), bytes);
                asked.pattern = "all-to-one";
                require_intact(asked);
                asked.root = asked.ranks - 1;
                require_intact(asked);
                asked.rotate_root = true;
                asked.count = static_cast<std::size_t>(asked.ranks);
                require_intact(asked);
            }
        }
    }

    TEST_CASE("pairs from a list") {
        for (const std::string name : {"send", "sendrecv", "message_rate", "put_flush"}) {
            if (is_possible(find_entry(name))) {
                require_intact(in_pairs(name, 1003));
            }
        }
    }

    TEST_CASE("computing meanwhile leaves the right data") {
        for (const std::string name : {"isend_irecv", "iallreduce", "ialltoallv", "bcast_init"}) {
            require_overlap(name);
        }
    }
}

TEST_SUITE("few_ranks") {
    TEST_CASE("computing beside every operation that can be begun") {
        for (const Entry& entry : all_entries()) {
            for (const std::string& name : names_of(entry)) {
                if (find_entry(name).begin != nullptr) {
                    require_overlap(name);
                }
            }
        }
    }

    TEST_CASE("every operation between pairs of a list") {
        for (const Entry& entry : all_entries()) {
            if (entry.partnered != Partnered::none && is_possible(entry)) {
                require_intact(in_pairs(std::string(entry.name), sizes_of(entry).back()));
            }
        }
    }

    TEST_CASE("windows of one and of many messages") {
        for (const Entry& entry : all_entries()) {
            for (const int window : {1, 3, 200}) {
                if (entry.windowed && is_possible(entry)) {
                    Setup asked = setup(std::string(entry.name), 1003);
                    asked.choices.window = window;
                    require_intact(asked);
                    const Result result = prepare(asked, entry)->run(timebase(), {});
                    const bool is_last_of_odd = asked.rank == asked.ranks / 2 * 2;
                    const bool sends = entry.name == "message_rate" ? asked.rank < asked.ranks / 2
                                                                    : !is_last_of_odd;
                    CHECK(result.messages == (sends ? window : 0));
                }
            }
        }
    }

    TEST_CASE("memory that begins elsewhere in a page") {
        for (const Entry& entry : all_entries()) {
            const bool has_bytes = entry.sizes == Sizes::any;
            for (const std::size_t align_bytes : {std::size_t{1}, std::size_t{8}}) {
                if (is_possible(entry) && (has_bytes || align_bytes == 8)) {
                    if (entry.sizes != Sizes::none) {
                        Setup asked = setup(std::string(entry.name), sizes_of(entry).back());
                        asked.choices.align_bytes = align_bytes;
                        require_intact(asked);
                    }
                }
            }
        }
    }

    TEST_CASE("cold caches leave the right data") {
        const std::size_t cache_bytes = last_level_cache_bytes(data_caches());
        for (const std::string name : {"send", "allreduce", "ibcast", "sendrecv_replace"}) {
            if (!is_possible(find_entry(name))) {
                continue;
            }
            for (const CacheState state : {CacheState::flushed, CacheState::rotated}) {
                Setup asked = setup(name, 1000);
                asked.choices.cache = state;
                asked.choices.cache_bytes = cache_bytes + 4096;
                require_intact(asked);
                asked.check_data = false;
                const Result result =
                    prepare(asked, find_entry(asked.operation))->run(timebase(), {});
                CHECK(result.cold_bytes > static_cast<std::int64_t>(cache_bytes));
            }
        }
    }
}
