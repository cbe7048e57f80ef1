// A datagram path on which a message counts only where its tag says that the other end sent it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "transport/socket/greeting.hpp"
#include "transport/socket/seal.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/transport.hpp"

namespace sonde {

// Every message has room for its header: the session sees to that.
template <class Base>
class SealedPath : public Base {
public:
    static constexpr std::size_t header_bytes = Seal::header_bytes;
    static constexpr bool in_place = false; // what is received has to be looked at first

    template <class... Arguments>
    SealedPath(const Seal& seal, const Admission& admission, Arguments&&... arguments)
        : Base(std::forward<Arguments>(arguments)...), seal_(seal), admission_(admission) {}

    void seal(std::span<std::byte> message) const noexcept { seal_.write(message); }

    std::size_t receive(std::span<std::byte> message, std::size_t call_bytes) {
        const std::size_t got = Base::receive(message, call_bytes);
        if (got == nothing_received || is_authentic(message, got)) [[likely]] {
            return got;
        }
        return behind_others(message, call_bytes, got);
    }

    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        const std::size_t got = Base::receive_following(message, call_bytes);
        if (got == nothing_received || is_authentic(message, got)) [[likely]] {
            return got;
        }
        return behind_others(message, call_bytes, got);
    }

    [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
        return {{"unauthentic_messages", unauthentic_}};
    }

private:
    [[nodiscard]] bool is_authentic(std::span<const std::byte> message,
                                    std::size_t bytes) const noexcept {
        return bytes >= header_bytes && seal_.is_peers(message.first<header_bytes>(), bytes);
    }

    // The next authentic message. However many others come, they are a silence of the other end.
    std::size_t behind_others(std::span<std::byte> message, std::size_t call_bytes,
                              std::size_t got) {
        const std::int64_t end_ns = monotonic_ns() + datagram_patience_ns;
        do {
            unauthentic_ += is_late_greeting(message, got) ? 0U : 1U;
            this->check_interrupted();
            if (monotonic_ns() >= end_ns) {
                return nothing_received;
            }
            got = Base::receive(message, call_bytes);
        } while (got != nothing_received && !is_authentic(message, got));
        return got;
    }

    // One that was repeated while the ends met, and was slow.
    [[nodiscard]] bool is_late_greeting(std::span<const std::byte> message,
                                        std::size_t bytes) const noexcept {
        if (bytes != greeting_bytes) {
            return false;
        }
        const std::size_t there = std::min(message.size(), greeting_bytes);
        const auto begins_as = [&](Purpose purpose) {
            const Greeting greeting = make_greeting(purpose, admission_);
            return are_same(message.first(there), std::span(greeting).first(there));
        };
        return begins_as(Purpose::test) || begins_as(Purpose::welcome);
    }

    const Seal& seal_;
    const Admission& admission_;
    alignas(64) std::uint64_t unauthentic_ = 0; // of another thread in a duplex test
};

} // namespace sonde
