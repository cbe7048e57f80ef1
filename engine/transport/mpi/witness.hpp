// A process beside each rank that says when the rank is gone, and removes what it left.
//
// Whoever is killed says nothing, and a launcher that then kills all others cannot always tell
// afterwards who was first. The witness has the rank's connection to the launcher open as well, so
// that the launcher notices the end only when the witness has spoken. Beside it another one, which
// has nothing of the launcher's, removes what the rank's MPI has left.
#pragma once

#include <string_view>

#include "core/descriptor.hpp"

namespace sonde::mpi {

class Witness {
public:
    // Call it before MPI starts and before there is another thread. Without a witness, where none
    // can be made, everything else works.
    Witness();
    // Sends the witness away: the rank ends as it should.
    ~Witness();
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;

    // Who it is the witness of: "rank 3 on node7". Once, and first.
    void name(std::string_view rank) const;
    // What it removes when the rank is gone: its MPI can no more.
    void removes(std::string_view file) const;

private:
    static void tell(const Descriptor& to, std::string_view line);

    Descriptor witness_;
    Descriptor cleaner_; // it ends when this end and the witness's are gone
};

} // namespace sonde::mpi
