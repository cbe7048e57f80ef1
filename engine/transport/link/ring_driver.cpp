// Frames come into a ring of memory that the kernel writes and this process reads (TPACKET_V2).
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/failure.hpp"
#include "transport/link/mapped.hpp"
#include "transport/link/packet_socket.hpp"

namespace sonde {
namespace {

constexpr std::size_t ring_blocks = 32;
constexpr std::size_t block_bytes = 65536;

// The kernel's header, the address behind it, and what aligns the frame.
constexpr std::size_t before_frame_bytes = 80;
static_assert(before_frame_bytes >= sizeof(tpacket2_hdr) + sizeof(sockaddr_ll) + 16);

// Slots whose distance is a power of two would lie in few sets of a cache.
std::size_t slot_bytes_of(std::size_t frame_bytes) {
    constexpr std::size_t line_bytes = 64;
    const std::size_t lines = (frame_bytes + before_frame_bytes + line_bytes - 1) / line_bytes;
    return (lines | 1U) * line_bytes;
}

void ask_for_ring(int fd, std::size_t slot_bytes) {
    const int version = TPACKET_V2;
    tpacket_req ring{};
    ring.tp_block_size = block_bytes;
    ring.tp_frame_size = static_cast<unsigned>(slot_bytes);
    ring.tp_frame_nr = static_cast<unsigned>(ring_blocks * (block_bytes / slot_bytes));
    ring.tp_block_nr = ring_blocks;
    if (::setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        ::setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) != 0) {
        throw system_failure("have a ring of frames");
    }
}

class RingDriver final : public LinkDriver {
public:
    RingDriver(const LinkDevice& device, std::size_t frame_bytes)
        : fd_(make_packet_socket()), slot_bytes_(slot_bytes_of(frame_bytes)) {
        ask_for_ring(fd_.get(), slot_bytes_);
        memory_ = MappedMemory(ring_blocks * block_bytes, fd_.get(), 0, "share a ring of frames");
        const std::size_t slots_a_block = block_bytes / slot_bytes_;
        for (std::size_t i = 0; i < ring_blocks * slots_a_block; ++i) {
            std::byte* const block = memory_.data() + i / slots_a_block * block_bytes;
            slots_.push_back(
                {reinterpret_cast<tpacket2_hdr*>(block + i % slots_a_block * slot_bytes_), false});
        }
        bind_packet_socket(fd_.get(), device);
    }

    bool receive(LinkArrival& arrival) override {
        Slot& slot = slots_[at_];
        tpacket2_hdr* const head = slot.head;
        const std::uint32_t status =
            std::atomic_ref(head->tp_status).load(std::memory_order_acquire);
        // All of them are ours where whoever holds them gives none back; nothing new is there then.
        if ((status & TP_STATUS_USER) == 0 || slot.held) {
            return false;
        }
        const std::size_t bytes = std::min<std::size_t>(head->tp_snaplen, slot_bytes_);
        const std::size_t from = std::min<std::size_t>(head->tp_mac, slot_bytes_ - bytes);
        arrival = {{reinterpret_cast<const std::byte*>(head) + from, bytes},
                   static_cast<std::uint32_t>(at_)};
        slot.held = true;
        ++copied_.received;
        at_ = at_ + 1 == slots_.size() ? 0 : at_ + 1;
        return true;
    }
    void release(std::uint32_t index) noexcept override {
        slots_[index].held = false;
        std::atomic_ref(slots_[index].head->tp_status)
            .store(TP_STATUS_KERNEL, std::memory_order_release);
    }

    bool send(std::span<const std::byte> headers, std::span<const std::byte> content) override {
        ++calls_sent_;
        return send_frame(fd_.get(), headers, content, copied_);
    }

    void admit_only(EndpointNumbers numbers) override { admit(fd_.get(), numbers); }
    bool is_drained() override { return sonde::is_drained(fd_.get()); }
    std::uint64_t overflowed() override { return overflowed_ += take_overflowed(fd_.get()); }
    [[nodiscard]] int fd() const noexcept override { return fd_.get(); }
    [[nodiscard]] std::uint32_t slots() const noexcept override {
        return static_cast<std::uint32_t>(slots_.size());
    }
    [[nodiscard]] std::string_view mode() const noexcept override { return "ring"; }

private:
    struct Slot {
        tpacket2_hdr* head;
        bool held;
    };

    Descriptor fd_;
    std::size_t slot_bytes_;
    MappedMemory memory_;
    std::vector<Slot> slots_;
    std::size_t at_ = 0;
    std::uint64_t overflowed_ = 0;
};

} // namespace

std::unique_ptr<LinkDriver> open_ring_driver(const LinkDevice& device, std::size_t frame_bytes) {
    return std::make_unique<RingDriver>(device, frame_bytes);
}

} // namespace sonde
