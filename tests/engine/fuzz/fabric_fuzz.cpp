// libFuzzer's way in: an exception that gets out of here is what it reports.
#include <cstddef>
#include <cstdint>

#include "fuzz/fabric_play.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sonde::play_fabric({data, size});
    return 0;
}
