// Frames of the link between the ranks of a communicator, one rank on a host. MPI is how they find
// each other; no message of a schedule is MPI's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "transport/link/carrier.hpp"
#include "transport/link/numbers.hpp"
#include "transport/link/options.hpp"
#include "transport/link/pause.hpp"

namespace sonde::collective {

class RankFrames {
public:
    // All ranks together, before anything else. Throws Failure on all of them, where it does on
    // one.
    void open(MPI_Comm communicator, const LinkOptions& options);

    [[nodiscard]] LinkCarrier& carrier() noexcept { return *carrier_; }
    // Until something came, or a moment.
    void step();
    // All ranks together: returns when nothing that one of them sent is under way.
    void settle();
    // Of this rank, since it was opened; empty where it was not.
    [[nodiscard]] std::map<std::string, std::int64_t> counted() const;

private:
    [[nodiscard]] std::string common_interface() const;
    void greet();
    [[nodiscard]] bool hear_hellos(std::span<char> heard);

    MPI_Comm communicator_ = MPI_COMM_NULL;
    int rank_ = 0;
    int ranks_ = 0;
    LinkPause pause_{LinkWait::block};
    std::optional<ClaimedNumbers> numbers_;
    std::optional<LinkPort> port_;
    std::optional<LinkCarrier> carrier_; // a partner for each rank; nothing goes to the own
};

} // namespace sonde::collective
