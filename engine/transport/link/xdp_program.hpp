// The eBPF program that hands frames of ours to an AF_XDP socket, loaded by bare system calls: it
// is as short as that.
#pragma once

#include "core/descriptor.hpp"
#include "transport/link/driver.hpp"

namespace sonde {

enum class XdpMode : std::uint8_t { generic, native };

// Attached for as long as this lives: the kernel detaches it with the process, however that ends.
class XdpProgram {
public:
    // socket: bound to the interface's first queue. Throws Failure("unsupported") where the kernel
    // lets this process have no such program, or the interface has one already.
    XdpProgram(const LinkDevice& device, EndpointNumbers numbers, int socket, XdpMode mode);

private:
    Descriptor sockets_; // the map of queues to sockets
    Descriptor program_;
    Descriptor link_;
};

} // namespace sonde
