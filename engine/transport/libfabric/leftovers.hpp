// What an end that was killed leaves on its host.
#pragma once

#include <string_view>

namespace sonde {

// Removes the shared memory of an end on this host whose process is gone. name: the end's, as its
// provider tells it; one that names no memory and no process is left alone.
void remove_shared_memory_of(std::string_view name) noexcept;

} // namespace sonde
