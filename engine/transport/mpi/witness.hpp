// A process beside each rank that says when the rank is gone.
//
// Whoever is killed says nothing, and a launcher that then kills all others cannot always tell
// afterwards who was first. The witness has the rank's connection to the launcher open as well, so
// that the launcher notices the end only when the witness has spoken.
#pragma once

#include <string_view>

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

    // Who it is the witness of: "rank 3 on node7".
    void name(std::string_view rank) const;

private:
    int pipe_ = -1;
};

} // namespace sonde::mpi
