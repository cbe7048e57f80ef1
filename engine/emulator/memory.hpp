// How much memory the switch may fill with frames.
#pragma once

#include <cstdint>

namespace sonde {

// At most `wanted`, less where this process or the machine has less: half of what is left, because
// each frame needs something beside its bytes. Throws Failure("system") where that is too little.
[[nodiscard]] std::int64_t frame_memory_bytes(std::int64_t wanted);

} // namespace sonde
