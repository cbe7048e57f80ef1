// The events that the programs noted, as the worker's records have them.
#pragma once

#include "kernel_trace/kernel_trace.hpp"
#include "kernel_trace/layout.h"

namespace sonde {

[[nodiscard]] KernelEvent as_event(const trace_event& noted);

} // namespace sonde
