// TAP devices in other network namespaces: what a host sees as its network card.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/descriptor.hpp"

namespace sonde {

// The network namespace of a process. Throws Failure("system").
[[nodiscard]] Descriptor network_of(pid_t pid);

// Runs work in a network namespace, on a thread that ends with it.
// Passes on what work throws; throws Failure("system") where the namespace cannot be entered.
void in_network(int network, const std::function<void()>& work);

// Whose thread takes a written frame through the host's part of the kernel.
enum class Receiving : std::uint8_t {
    by_writer,
    by_device // one of the device's own, once it is asked for in /sys/class/net/NAME/threaded
};

// Makes the device in that namespace; it goes when the descriptor is closed. Non-blocking.
// Throws Failure("system") saying what is missing.
[[nodiscard]] Descriptor open_tap(int network, const std::string& name, Receiving receiving);

// Plugs the device's cable in or pulls it. Throws Failure("system").
void set_carrier(int tap, bool up);

} // namespace sonde
