// Frames by calls of a packet socket: the driver that every kernel has.
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "core/failure.hpp"
#include "transport/link/packet_socket.hpp"

namespace sonde {
namespace {

constexpr std::uint32_t packet_slots = 2048;

class PacketDriver final : public LinkDriver {
public:
    PacketDriver(const LinkDevice& device, std::size_t frame_bytes)
        : fd_(make_packet_socket()), slot_bytes_(frame_bytes), memory_(packet_slots * frame_bytes) {
        free_.reserve(packet_slots);
        for (std::uint32_t slot = packet_slots; slot != 0; --slot) {
            free_.push_back(slot - 1);
        }
        bind_packet_socket(fd_.get(), device);
    }

    bool receive(LinkArrival& arrival) override {
        if (free_.empty()) { // whoever holds them all has to give some back first
            return false;
        }
        std::byte* const to = memory_.data() + free_.back() * slot_bytes_;
        const ssize_t got = ::recv(fd_.get(), to, slot_bytes_, MSG_DONTWAIT);
        if (got < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                throw system_failure("receive a frame");
            }
            return false;
        }
        ++calls_received_;
        ++copied_.received;
        arrival = {{to, static_cast<std::size_t>(got)}, free_.back()};
        free_.pop_back();
        return true;
    }
    void release(std::uint32_t slot) noexcept override { free_.push_back(slot); }

    bool send(std::span<const std::byte> headers, std::span<const std::byte> content) override {
        ++calls_sent_;
        return send_frame(fd_.get(), headers, content, copied_);
    }

    void admit_only(EndpointNumbers numbers) override { admit(fd_.get(), numbers); }
    bool is_drained() override { return sonde::is_drained(fd_.get()); }
    std::uint64_t overflowed() override { return overflowed_ += take_overflowed(fd_.get()); }
    [[nodiscard]] int fd() const noexcept override { return fd_.get(); }
    [[nodiscard]] std::uint32_t slots() const noexcept override { return packet_slots; }
    [[nodiscard]] std::string_view mode() const noexcept override { return "calls"; }

private:
    Descriptor fd_;
    std::size_t slot_bytes_;
    std::vector<std::byte> memory_;
    std::vector<std::uint32_t> free_;
    std::uint64_t overflowed_ = 0;
};

} // namespace

std::unique_ptr<LinkDriver> open_packet_driver(const LinkDevice& device, std::size_t frame_bytes) {
    return std::make_unique<PacketDriver>(device, frame_bytes);
}

std::unique_ptr<LinkDriver> open_driver(DriverKind kind, const LinkDevice& device,
                                        EndpointNumbers numbers, std::size_t frame_bytes) {
    switch (kind) {
    case DriverKind::packet:
        return open_packet_driver(device, frame_bytes);
    case DriverKind::ring:
        return open_ring_driver(device, frame_bytes);
    case DriverKind::xdp:
        break;
    }
    return open_xdp_driver(device, numbers, frame_bytes);
}

} // namespace sonde
