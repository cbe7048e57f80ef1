#include "kernel_trace/events.hpp"

#include <cstring>

namespace sonde {

KernelEvent as_event(const trace_event& noted) {
    return {static_cast<std::int64_t>(noted.begin_ns),
            static_cast<std::int64_t>(noted.duration_ns),
            static_cast<int>(noted.kind),
            static_cast<int>(noted.processor),
            std::int64_t{noted.detail},
            std::string(noted.name, ::strnlen(noted.name, sizeof noted.name))};
}

} // namespace sonde
