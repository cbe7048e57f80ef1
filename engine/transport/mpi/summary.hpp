// What an MPICH says of itself while it starts: which of its parts carries messages between hosts.
#pragma once

#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace sonde::mpi {

// Both empty where the library says nothing: another MPI, or a version that does not tell.
struct NetworkPart {
    std::string name;     // "ofi" or "ucx"
    std::string provider; // of ofi: libfabric's
};

// From the text of MPIR_CVAR_DEBUG_SUMMARY.
[[nodiscard]] NetworkPart network_part_in(std::string_view summary);

// While it lives, MPICH is asked for its summary, which goes to standard output of rank 0: into
// memory, since records go there. What cannot be had of the system is done without.
class SummaryAsked {
public:
    SummaryAsked();
    ~SummaryAsked();
    SummaryAsked(const SummaryAsked&) = delete;
    SummaryAsked& operator=(const SummaryAsked&) = delete;

    // Gives standard output back.
    [[nodiscard]] std::string text();

private:
    void give_back() noexcept;

    Descriptor memory_;
    Descriptor output_; // the real one
    bool asked_ = false;
};

} // namespace sonde::mpi
