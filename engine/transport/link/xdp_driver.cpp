// Frames through rings that this process shares with the kernel (AF_XDP): of a card that can,
// without any copy; of others, with one.
#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "core/failure.hpp"
#include "transport/link/mapped.hpp"
#include "transport/link/xdp_program.hpp"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef AF_XDP
#define AF_XDP 44
#endif

namespace sonde {
namespace {

constexpr std::uint32_t receive_slots = 1024;
constexpr std::uint32_t send_slots = 256;
constexpr std::size_t kernels_room = 256; // that it keeps before each frame
constexpr std::size_t most_chunk_bytes = 4096;
constexpr int most_kicks = 1000;

// One of the four rings: the kernel writes one of its two ends, this process the other.
template <class Entry>
class SharedRing {
public:
    SharedRing() = default;
    SharedRing(int fd, off_t at, const xdp_ring_offset& offsets, std::uint32_t entries)
        : memory_(offsets.desc + entries * sizeof(Entry), fd, at, "share a ring with the kernel"),
          producer_(word(offsets.producer)), consumer_(word(offsets.consumer)),
          flags_(word(offsets.flags)),
          entries_(reinterpret_cast<Entry*>(memory_.data() + offsets.desc)), mask_(entries - 1) {}

    // For the end that takes: null where nothing is there.
    [[nodiscard]] const Entry* oldest() const noexcept {
        const std::uint32_t at = *consumer_;
        return std::atomic_ref(*producer_).load(std::memory_order_acquire) == at
                   ? nullptr
                   : &entries_[at & mask_];
    }
    void take() noexcept {
        std::atomic_ref(*consumer_).store(*consumer_ + 1, std::memory_order_release);
    }
    // For the end that gives; there is room for as many as the ring has.
    void give(const Entry& entry) noexcept {
        entries_[*producer_ & mask_] = entry;
        std::atomic_ref(*producer_).store(*producer_ + 1, std::memory_order_release);
    }
    [[nodiscard]] bool is_taken() const noexcept {
        return std::atomic_ref(*consumer_).load(std::memory_order_acquire) == *producer_;
    }
    [[nodiscard]] bool wants_call() const noexcept {
        return (std::atomic_ref(*flags_).load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) !=
               0;
    }

private:
    [[nodiscard]] std::uint32_t* word(std::uint64_t at) const noexcept {
        return reinterpret_cast<std::uint32_t*>(memory_.data() + at);
    }

    MappedMemory memory_;
    std::uint32_t* producer_ = nullptr;
    std::uint32_t* consumer_ = nullptr;
    std::uint32_t* flags_ = nullptr;
    Entry* entries_ = nullptr;
    std::uint32_t mask_ = 0;
};

Descriptor make_socket_of_rings() {
    Descriptor fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd && errno == EAFNOSUPPORT) {
        throw Failure("unsupported", "this kernel has no AF_XDP: take driver ring");
    }
    if (!fd) {
        throw Failure("unsupported", "driver xdp needs CAP_NET_RAW, CAP_BPF and CAP_NET_ADMIN (" +
                                         std::string(std::strerror(errno)) +
                                         "): run sonde-worker as root of the machine");
    }
    return fd;
}

template <class Value>
void set(int fd, int name, const Value& value, std::string_view what) {
    if (::setsockopt(fd, SOL_XDP, name, &value, sizeof value) != 0) {
        throw system_failure(what);
    }
}

// First for a card that moves frames to and from memory of ours itself.
XdpMode bind(int fd, const LinkDevice& device) {
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_ifindex = static_cast<__u32>(device.index);
    for (const XdpMode mode : {XdpMode::native, XdpMode::generic}) {
        address.sxdp_flags = static_cast<__u16>(
            XDP_USE_NEED_WAKEUP | (mode == XdpMode::native ? XDP_ZEROCOPY : XDP_COPY));
        if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            return mode;
        }
    }
    throw Failure("unsupported", "driver xdp cannot have the first queue of " + device.name + " (" +
                                     std::strerror(errno) + "): take driver ring");
}

class XdpDriver final : public LinkDriver {
public:
    XdpDriver(const LinkDevice& device, EndpointNumbers numbers, std::size_t frame_bytes)
        : fd_(make_socket_of_rings()), chunk_bytes_(chunk_for(frame_bytes)),
          memory_(chunk_bytes_ * (receive_slots + send_slots), -1, 0, "have memory for frames") {
        make_rings();
        for (std::uint32_t slot = 0; slot < receive_slots; ++slot) {
            fill_.give(slot * chunk_bytes_);
        }
        for (std::uint32_t slot = 0; slot < send_slots; ++slot) {
            free_.push_back((receive_slots + slot) * chunk_bytes_);
        }
        mode_ = bind(fd_.get(), device);
        program_.emplace(device, numbers, fd_.get(), mode_);
    }

    bool receive(LinkArrival& arrival) override {
        const xdp_desc* const next = received_.oldest();
        if (next == nullptr) {
            if (fill_.wants_call()) [[unlikely]] {
                static_cast<void>(
                    ::recvfrom(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr));
            }
            return false;
        }
        arrival = {{memory_.data() + next->addr, next->len},
                   static_cast<std::uint32_t>(next->addr / chunk_bytes_)};
        received_.take();
        copied_.received += mode_ == XdpMode::native ? 0 : 1;
        return true;
    }
    void release(std::uint32_t slot) noexcept override { fill_.give(slot * chunk_bytes_); }

    bool send(std::span<const std::byte> headers, std::span<const std::byte> content) override {
        take_back();
        if (free_.empty()) {
            kick();
            return false;
        }
        const std::uint64_t at = free_.back();
        free_.pop_back();
        std::memcpy(memory_.data() + at, headers.data(), headers.size());
        if (!content.empty()) {
            std::memcpy(memory_.data() + at + headers.size(), content.data(), content.size());
        }
        // One is ours, another the kernel's where the card does not read this memory itself.
        copied_.sent += content.empty() ? 0 : mode_ == XdpMode::native ? 1 : 2;
        sent_.give({at, static_cast<__u32>(headers.size() + content.size()), 0});
        kick();
        return true;
    }

    void admit_only(EndpointNumbers /*numbers*/) override {} // as its program does from the start
    bool is_drained() override {
        take_back();
        if (free_.size() < send_slots) {
            kick();
        }
        return free_.size() == send_slots;
    }
    std::uint64_t overflowed() override {
        xdp_statistics counted{};
        socklen_t size = sizeof counted;
        const bool told = ::getsockopt(fd_.get(), SOL_XDP, XDP_STATISTICS, &counted, &size) == 0;
        return told ? counted.rx_dropped + counted.rx_ring_full : 0;
    }
    [[nodiscard]] int fd() const noexcept override { return fd_.get(); }
    [[nodiscard]] std::uint32_t slots() const noexcept override { return receive_slots; }
    [[nodiscard]] std::string_view mode() const noexcept override {
        return mode_ == XdpMode::native ? "zero copy" : "copy";
    }

private:
    static std::size_t chunk_for(std::size_t frame_bytes) {
        for (std::size_t chunk = most_chunk_bytes / 2; chunk <= most_chunk_bytes; chunk *= 2) {
            if (frame_bytes <= chunk - kernels_room) {
                return chunk;
            }
        }
        throw Failure("unsupported", "driver xdp takes frames of at most " +
                                         std::to_string(most_chunk_bytes - kernels_room) +
                                         " bytes, not of " + std::to_string(frame_bytes) +
                                         ": take driver ring");
    }

    void make_rings() {
        xdp_umem_reg memory{};
        memory.addr = reinterpret_cast<std::uintptr_t>(memory_.data());
        memory.len = memory_.size();
        memory.chunk_size = static_cast<__u32>(chunk_bytes_);
        set(fd_.get(), XDP_UMEM_REG, memory, "share memory for frames with the kernel");
        set(fd_.get(), XDP_UMEM_FILL_RING, receive_slots, "have a ring of free memory");
        set(fd_.get(), XDP_UMEM_COMPLETION_RING, send_slots, "have a ring of sent frames");
        set(fd_.get(), XDP_RX_RING, receive_slots, "have a ring of frames that come");
        set(fd_.get(), XDP_TX_RING, send_slots, "have a ring of frames to send");
        xdp_mmap_offsets offsets{};
        socklen_t size = sizeof offsets;
        if (::getsockopt(fd_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size) != 0) {
            throw system_failure("ask where rings are");
        }
        const int fd = fd_.get();
        fill_ = {fd, static_cast<off_t>(XDP_UMEM_PGOFF_FILL_RING), offsets.fr, receive_slots};
        done_ = {fd, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING), offsets.cr, send_slots};
        received_ = {fd, XDP_PGOFF_RX_RING, offsets.rx, receive_slots};
        sent_ = {fd, static_cast<off_t>(XDP_PGOFF_TX_RING), offsets.tx, send_slots};
    }

    void take_back() noexcept {
        for (const std::uint64_t* done = done_.oldest(); done != nullptr; done = done_.oldest()) {
            free_.push_back(*done);
            done_.take();
        }
    }

    // In copy mode the call is what sends; it may have to be repeated where queues are full.
    void kick() {
        for (int left = most_kicks; left != 0 && sent_.wants_call() && !sent_.is_taken(); --left) {
            ++calls_sent_;
            if (::sendto(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) {
                continue;
            }
            if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR) {
                throw system_failure("send a frame");
            }
        }
    }

    Descriptor fd_;
    std::size_t chunk_bytes_;
    MappedMemory memory_;
    SharedRing<std::uint64_t> fill_;
    SharedRing<std::uint64_t> done_;
    SharedRing<xdp_desc> received_;
    SharedRing<xdp_desc> sent_;
    std::vector<std::uint64_t> free_;
    XdpMode mode_ = XdpMode::generic;
    std::optional<XdpProgram> program_;
};

} // namespace

std::unique_ptr<LinkDriver> open_xdp_driver(const LinkDevice& device, EndpointNumbers numbers,
                                            std::size_t frame_bytes) {
    return std::make_unique<XdpDriver>(device, numbers, frame_bytes);
}

} // namespace sonde
