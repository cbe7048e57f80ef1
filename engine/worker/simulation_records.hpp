// What came of a simulated run, as records. docs/reference/records.md, "Simulated".
#pragma once

#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"

namespace sonde {

void write_simulation(int fd, const simulator::Scenario& scenario,
                      const simulator::Outcome& outcome);

} // namespace sonde
