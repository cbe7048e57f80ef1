// The compiled eBPF programs, as they lie inside this program.
#pragma once

#include <cstddef>
#include <span>

namespace sonde {

extern const std::span<const std::byte> kernel_trace_object;

} // namespace sonde
