// The library's own algorithms of an operation: asked of it by MPI's tool information interface
// (MPI 4.0, chapter 15), and forced in a running program.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde::mpi {

// As the library's variable has it: a number, and its name.
struct LibraryAlgorithm {
    int number = 0;
    std::string name;
};

// Those that the library can be told to take for an operation, such as "alltoall"; none where it
// has no variable for that. What only says that the library is to choose is left out.
[[nodiscard]] std::vector<LibraryAlgorithm> library_algorithms(std::string_view operation);

// Of MPICH's text on a variable the words that it may have, in the order of their numbers: lines of
// `name - what it does`, which its makers put together without a line's end. The first says that
// the library is to choose.
[[nodiscard]] std::vector<std::string> words_in_description(std::string_view description);

// Sets variables of the library and puts their values back at its end. Only for communicators that
// are made meanwhile is it sure that they count.
class ForcedAlgorithm {
public:
    // Throws Failure("bad_request") for a name that the library does not list, with those that it
    // does; Failure("unsupported") where it lists none, or does not read back what was set.
    ForcedAlgorithm(std::string_view operation, std::string_view name);
    ~ForcedAlgorithm();
    ForcedAlgorithm(const ForcedAlgorithm&) = delete;
    ForcedAlgorithm& operator=(const ForcedAlgorithm&) = delete;

private:
    void set(int variable, int value);

    std::vector<std::pair<int, int>> before_; // variables, and what they were
};

// A communicator like another one, made by all ranks together, for which the library chooses
// anew; freed by all ranks together.
class FreshCommunicator {
public:
    explicit FreshCommunicator(MPI_Comm like);
    ~FreshCommunicator() { MPI_Comm_free(&communicator_); }
    FreshCommunicator(const FreshCommunicator&) = delete;
    FreshCommunicator& operator=(const FreshCommunicator&) = delete;

    [[nodiscard]] MPI_Comm get() const noexcept { return communicator_; }

private:
    MPI_Comm communicator_ = MPI_COMM_NULL;
};

} // namespace sonde::mpi
