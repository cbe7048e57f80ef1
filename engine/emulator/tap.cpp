#include "emulator/tap.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cstring>
#include <exception>
#include <thread>

#include "core/failure.hpp"

namespace sonde {

Descriptor network_of(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
    Descriptor network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!network) {
        throw system_failure("find the network namespace of process " + std::to_string(pid));
    }
    return network;
}

void in_network(int network, const std::function<void()>& work) {
    std::exception_ptr problem;
    std::thread visitor([&] {
        try {
            if (::setns(network, CLONE_NEWNET) != 0) {
                throw system_failure("enter a host's network namespace");
            }
            work();
        } catch (...) {
            problem = std::current_exception();
        }
    });
    visitor.join();
    if (problem) {
        std::rethrow_exception(problem);
    }
}

Descriptor open_tap(int network, const std::string& name, Receiving receiving) {
    Descriptor device;
    in_network(network, [&] {
        device = Descriptor(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!device) {
            throw system_failure("open /dev/net/tun (a switch needs TAP devices)");
        }
        ifreq request{};
        name.copy(request.ifr_name, sizeof request.ifr_name - 1);
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        if (receiving == Receiving::by_device) {
            request.ifr_flags |= IFF_NAPI;
        }
        if (::ioctl(device.get(), TUNSETIFF, &request) != 0) {
            throw system_failure("make the TAP device " + name);
        }
    });
    return device;
}

void set_carrier(int tap, bool up) {
    int state = up ? 1 : 0;
    if (::ioctl(tap, TUNSETCARRIER, &state) != 0) {
        throw system_failure("change the state of a TAP device's cable");
    }
}

} // namespace sonde
