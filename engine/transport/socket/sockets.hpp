// Small steps with sockets that both ends need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/descriptor.hpp"
#include "transport/socket/address.hpp"

namespace sonde {

// protocol: 0 is the usual one of the type.
[[nodiscard]] Descriptor make_socket(int domain, int type, const char* what, int protocol = 0);
// Throws Failure("bad_request") where no datagram of the domain carries so many bytes.
void require_datagram(int domain, std::size_t bytes);
void set_flag(int fd, int level, int name, const char* what);
void set_blocking(int fd, bool blocking);
// How long a receive call waits at most.
void set_patience(int fd, std::int64_t patience_ns);

// TCP_CORK where it is set: it gathers the calls of one message, whose end is not to wait. So it is
// off from one message to the next: set again at once it would hold the end where that had no room
// yet, for 200 ms. Set again when this is destroyed.
class Cork {
public:
    explicit Cork(int fd) noexcept;
    ~Cork() { hold(); }
    Cork(const Cork&) = delete;
    Cork& operator=(const Cork&) = delete;

    void hold() const noexcept {
        if (set_) [[unlikely]] {
            set(1);
        }
    }
    void let_go() const noexcept {
        if (set_) [[unlikely]] {
            set(0);
        }
    }

private:
    void set(int value) const noexcept;

    int fd_;
    bool set_;
};

// A control connection's frames are small and must leave at once. One that a listener of multipath
// TCP accepted has two limits of that protocol, which are taken back.
void prepare_control(int fd);

} // namespace sonde
