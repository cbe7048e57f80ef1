// Datagrams by the dozen: one system call for many of them, as programs do that send millions a
// second. Either a vector of datagrams (sendmmsg, recvmmsg), or one large buffer that the kernel,
// or the card, cuts into datagrams and joins again (UDP_SEGMENT, UDP_GRO).
#pragma once

#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/socket/sockets.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/transport.hpp"

namespace sonde {

// What the kernel cuts of one call at most, since Linux 6.9; before it was half as many.
constexpr std::size_t most_datagrams_in_a_call = 128;

// Datagrams wait here until a call's worth of them is there, or until flush().
template <WaitPolicy Wait>
class UdpBatchPath : public UdpPath<Wait> {
public:
    static constexpr Traffic traffic = Traffic::streamed;
    static constexpr bool in_place = true;

    UdpBatchPath(int fd, const std::atomic<bool>& interrupted, std::size_t datagram_bytes,
                 std::size_t per_call, bool offload, int asks_before_sleep = usual_asks)
        : UdpPath<Wait>(fd, interrupted, asks_before_sleep), bytes_(datagram_bytes),
          per_call_(sendable(datagram_bytes, per_call, offload)), offload_(offload),
          out_(datagram_bytes * per_call_), slot_bytes_(offload ? joined_bytes : datagram_bytes),
          in_(std::make_unique_for_overwrite<std::byte[]>(slot_bytes_ * per_call_)) {
        for (std::size_t i = 0; i < per_call_; ++i) {
            out_parts_[i] = {out_.data() + i * bytes_, bytes_};
            prepare(out_messages_[i], out_parts_[i]);
            in_parts_[i] = {in_.get() + i * slot_bytes_, slot_bytes_};
            prepare(in_messages_[i], in_parts_[i]);
            in_messages_[i].msg_hdr.msg_control = offload ? in_extras_[i].data() : nullptr;
            in_messages_[i].msg_hdr.msg_controllen = offload ? in_extras_[i].size() : 0;
        }
        if (offload) {
            set_flag(fd, SOL_UDP, UDP_GRO, "join arriving datagrams (UDP_GRO)");
        }
    }

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        std::memcpy(place().data(), message.data(), bytes_);
        send_placed();
    }

    void fill(std::span<const std::byte> content) {
        for (std::size_t i = 0; i < per_call_; ++i) {
            std::memcpy(out_.data() + i * bytes_, content.data(), bytes_);
        }
    }

    std::span<std::byte> place() noexcept { return {out_.data() + filled_ * bytes_, bytes_}; }

    void send_placed() {
        if (++filled_ == per_call_) {
            flush();
        }
    }

    void flush() {
        std::size_t done = 0;
        while (done < filled_) {
            const ssize_t sent = offload_ ? send_joined() : send_vector(done);
            if (sent < 0) {
                require_joinable();
                this->wait_to_send();
                continue;
            }
            this->count_sent();
            done += static_cast<std::size_t>(sent);
        }
        filled_ = 0;
    }

    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        return copied(next(Wait::flags | MSG_WAITFORONE), message);
    }

    std::size_t receive_following(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        return copied(look_following(), message);
    }

    std::span<const std::byte> look_following() {
        if (slot_ == there_) {
            for (int left = this->asks_before_sleep(); left > 0 && !ask_many(MSG_DONTWAIT);
                 --left) {
            }
        }
        return next(Wait::flags | MSG_WAITFORONE);
    }

    void drain() {
        forget();
        UdpPath<Wait>::drain();
    }

private:
    static constexpr std::size_t joined_bytes = 65'536;
    static constexpr std::size_t most_joined_before = 64;

    static std::size_t sendable(std::size_t bytes, std::size_t per_call, bool offload) {
        constexpr std::size_t most_joined_bytes = 65'507;
        const std::size_t fitting =
            offload ? most_joined_bytes / std::max<std::size_t>(bytes, 1) : per_call;
        return std::clamp<std::size_t>(std::min(per_call, fitting), 1, most_datagrams_in_a_call);
    }

    static void prepare(mmsghdr& message, iovec& part) {
        message.msg_hdr.msg_iov = &part;
        message.msg_hdr.msg_iovlen = 1;
    }

    ssize_t send_vector(std::size_t done) {
        return ::sendmmsg(this->fd(), &out_messages_[done], static_cast<unsigned>(filled_ - done),
                          MSG_NOSIGNAL | Wait::flags);
    }

    // All of them at once, or none.
    ssize_t send_joined() {
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> extra{};
        iovec whole{out_.data(), filled_ * bytes_};
        msghdr message{};
        message.msg_iov = &whole;
        message.msg_iovlen = 1;
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto each = static_cast<std::uint16_t>(bytes_);
        std::memcpy(CMSG_DATA(header), &each, sizeof each);
        const ssize_t sent = ::sendmsg(this->fd(), &message, MSG_NOSIGNAL | Wait::flags);
        return sent < 0 ? sent : static_cast<ssize_t>(filled_);
    }

    // After a call that failed, with its errno.
    void require_joinable() const {
        if (offload_ && errno == EINVAL && filled_ > most_joined_before) {
            throw Failure("system", "this kernel cuts at most " +
                                        std::to_string(most_joined_before) +
                                        " datagrams of a call: ask for datagrams_per_call of no "
                                        "more with segment_offload");
        }
    }

    static std::size_t copied(std::span<const std::byte> from, std::span<std::byte> message) {
        if (from.data() == nullptr) {
            return nothing_received;
        }
        std::memcpy(message.data(), from.data(), std::min(from.size(), message.size()));
        return from.size();
    }

    std::span<const std::byte> next(int flags) {
        if (slot_ == there_ && !await_many(flags)) {
            return {};
        }
        const std::size_t there_bytes = in_messages_[slot_].msg_len;
        if (there_bytes == 0) [[unlikely]] {
            this->check_interrupted(); // a socket that was shut down reads as empty datagrams, too
        }
        const std::size_t bytes = std::min(each_bytes_[slot_], there_bytes - offset_);
        const std::byte* const from = in_.get() + slot_ * slot_bytes_ + offset_;
        offset_ += bytes;
        if (offset_ >= there_bytes) {
            ++slot_;
            offset_ = 0;
        }
        return {from, bytes};
    }

    // False where nothing came within the patience.
    bool await_many(int flags) {
        if (ask_many(flags)) {
            return true;
        }
        const std::int64_t end_ns = monotonic_ns() + datagram_patience_ns;
        do {
            this->require_nothing_yet();
            if (Wait::flags == 0 || monotonic_ns() >= end_ns) {
                return false;
            }
            Wait::await(this->fd(), POLLIN);
        } while (!ask_many(flags));
        return true;
    }

    // Whether something came; errno says why not.
    bool ask_many(int flags) {
        forget();
        const int got = ::recvmmsg(this->fd(), in_messages_.data(),
                                   static_cast<unsigned>(per_call_), MSG_TRUNC | flags, nullptr);
        if (got <= 0) {
            return false;
        }
        there_ = static_cast<std::size_t>(got);
        for (std::size_t i = 0; i < there_; ++i) {
            each_bytes_[i] = joined_size(in_messages_[i]);
        }
        this->count_received();
        return true;
    }

    void forget() {
        for (std::size_t i = 0; offload_ && i < there_; ++i) {
            in_messages_[i].msg_hdr.msg_controllen =
                in_extras_[i].size(); // now what was used of it
        }
        slot_ = there_ = offset_ = 0;
    }

    // The length of each datagram that was joined; of the whole where there is but one.
    static std::size_t joined_size(mmsghdr& message) {
        for (cmsghdr* header = CMSG_FIRSTHDR(&message.msg_hdr); header != nullptr;
             header = CMSG_NXTHDR(&message.msg_hdr, header)) {
            if (header->cmsg_level == SOL_UDP && header->cmsg_type == UDP_GRO) {
                int each = 0;
                std::memcpy(&each, CMSG_DATA(header), sizeof each);
                return static_cast<std::size_t>(std::max(each, 1));
            }
        }
        return message.msg_len;
    }

    struct alignas(cmsghdr) Extra : std::array<char, CMSG_SPACE(sizeof(int))> {};

    std::size_t bytes_;
    std::size_t per_call_;
    bool offload_;
    std::vector<std::byte> out_;
    std::size_t slot_bytes_;
    std::unique_ptr<std::byte[]> in_; // a slot for each message of a call, untouched until used
    std::array<iovec, most_datagrams_in_a_call> out_parts_{};
    std::array<mmsghdr, most_datagrams_in_a_call> out_messages_{};
    std::array<iovec, most_datagrams_in_a_call> in_parts_{};
    std::array<mmsghdr, most_datagrams_in_a_call> in_messages_{};
    std::array<Extra, most_datagrams_in_a_call> in_extras_{};
    std::array<std::size_t, most_datagrams_in_a_call> each_bytes_{};
    std::size_t filled_ = 0;
    std::size_t there_ = 0;  // slots that the last call filled
    std::size_t slot_ = 0;   // the one that is given out
    std::size_t offset_ = 0; // what of it has been given out
};

static_assert(InPlaceTransport<UdpBatchPath<BlockingWait>>);
static_assert(ConcurrentTransport<UdpBatchPath<BlockingWait>>);

} // namespace sonde
