// What drivers of network cards count by themselves, asked for as ethtool does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "counters/parse.hpp"

namespace sonde {

class DriverCounters {
public:
    // Adds driver.INTERFACE.NAME. Returns why nothing can be asked, or nothing.
    std::string read(const std::vector<std::string>& interfaces, CounterValues& values);

private:
    struct Known {
        unsigned index = 0;             // the interface's number when its names were read
        std::vector<std::string> names; // in the driver's order, with their prefix
    };
    bool learn(const std::string& interface, Known& known);

    Descriptor socket_;
    std::map<std::string, Known> known_;
};

} // namespace sonde
