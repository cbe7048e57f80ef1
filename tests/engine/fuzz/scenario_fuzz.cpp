// libFuzzer's way in: an exception that gets out of here is what it reports.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/scenario_play.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)sonde::play_scenario(std::string(data, data + size));
    return 0;
}
