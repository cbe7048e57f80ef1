// The events that the programs noted, as the worker's records have them.
#pragma once

#include "depth/depth.hpp"
#include "depth/layout.h"

namespace sonde {

[[nodiscard]] DepthEvent as_event(const depth_event& noted);

} // namespace sonde
