// What the words are in MPICH's text on a variable: without a running MPI.
#include "transport/mpi/library_algorithms.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using sonde::mpi::words_in_description;
using Words = std::vector<std::string>;

TEST_SUITE("library_algorithms") {
    TEST_CASE("words are cut off the sentences that they are glued to") {
        CHECK(words_in_description(
                  "Variable to select alltoall algorithmauto - Internal algorithm selection (can "
                  "be overridden with MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)brucks           "
                  "         - Force brucks algorithmnb                        - Force nonblocking "
                  "algorithmpairwise_sendrecv_replace - Force pairwise sendrecv replace "
                  "algorithmscattered                 - Force scattered algorithm") ==
              Words{"auto", "brucks", "nb", "pairwise_sendrecv_replace", "scattered"});
        CHECK(words_in_description("select bcast algorithmbinomial   - Force Binomial Treenb - "
                                   "Force nonblocking algorithmscatter_ring_allgather - Force "
                                   "Scatter Recursive-Doubling Allgathersmp - x") ==
              Words{"binomial", "nb", "scatter_ring_allgather", "smp"});
    }

    TEST_CASE("lines with an end give the same") {
        CHECK(words_in_description("Variable to control\nerror   - throw an error\nprint   - go "
                                   "on\nsilent  - say nothing") ==
              Words{"error", "print", "silent"});
    }

    TEST_CASE("what are no words are left out") {
        CHECK(words_in_description("").empty());
        CHECK(words_in_description(" - ").empty());
        CHECK(words_in_description("-1 - all of them, Some - none").empty());
        CHECK(words_in_description("no list at all, only a sentence - it goes on") ==
              Words{"sentence"});
    }
}
