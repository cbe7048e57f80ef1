// Shared memory of ends: whether it is there, and what an end that was killed leaves.
#pragma once

#include <string_view>

namespace sonde {

// False where the name is that of shared memory which this host has not.
[[nodiscard]] bool may_be_here(std::string_view name);

[[nodiscard]] bool is_shared_memory(std::string_view name);

// Removes it whoever has it; of another name, nothing.
void remove_shared_memory(std::string_view name) noexcept;

// Removes the shared memory of an end on this host whose process is gone. name: the end's, as its
// provider tells it; one that names no memory and no process is left alone.
void remove_shared_memory_of(std::string_view name) noexcept;

} // namespace sonde
