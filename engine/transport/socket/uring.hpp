// io_uring, spoken with by its system calls alone: a small ring that moves a message in pieces, all
// of them handed to the kernel in one call. Where the kernel, or the headers that this was built
// with, have none, it says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/descriptor.hpp"

namespace sonde {

struct SocketOptions;

// Makes a ring of `entries`: its descriptor, or less than 0 with errno. parameters:
// io_uring_params.
using UringSetup = int (*)(unsigned entries, void* parameters);

// Why io_uring cannot be used, as the end of a sentence; nothing where it can. disabled is the
// setting kernel.io_uring_disabled, where there is one.
[[nodiscard]] std::optional<std::string> uring_refusal(UringSetup setup,
                                                       std::optional<int> disabled);
// The same of this host.
[[nodiscard]] std::optional<std::string> uring_refusal();
// Throws Failure("system") where the options ask for io_uring and this host has none.
void require_uring(const SocketOptions& options);

// One direction of a socket, for one thread.
class Uring {
public:
    static constexpr unsigned entries = 16;

    // Throws Failure("system") where there is no io_uring.
    explicit Uring(int fd);
    ~Uring();
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;

    struct Moved {
        std::size_t bytes = 0;
        int error = 0;      // errno of the first piece that failed; what is before it has moved
        bool ended = false; // receiving: the other end closed
    };
    // Pieces of at most call_bytes, one behind the other, at most `entries` of them; returns when
    // they are done or one of them came short or failed. A shutdown of the socket ends it.
    [[nodiscard]] Moved send(std::span<const std::byte> from, std::size_t call_bytes);
    [[nodiscard]] Moved receive(std::span<std::byte> into, std::size_t call_bytes);

    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

private:
    class Mapping {
    public:
        Mapping() = default;
        Mapping(int fd, std::size_t bytes, std::uint64_t offset);
        ~Mapping();
        Mapping(Mapping&& other) noexcept;
        Mapping& operator=(Mapping&& other) noexcept;
        Mapping(const Mapping&) = delete;
        Mapping& operator=(const Mapping&) = delete;
        [[nodiscard]] std::byte* at(std::size_t offset) const noexcept { return begin_ + offset; }

    private:
        std::byte* begin_ = nullptr;
        std::size_t bytes_ = 0;
    };

    [[nodiscard]] Moved move(std::uint8_t operation, std::uintptr_t begin, std::size_t bytes,
                             std::size_t call_bytes);
    void ask(std::uint8_t operation, std::uintptr_t begin, std::size_t bytes, bool linked,
             unsigned number) noexcept;
    void hand_over_and_await(unsigned pieces);
    [[nodiscard]] unsigned take_completions() noexcept;

    int fd_;
    unsigned most_linked_ = 1;
    Descriptor ring_;
    Mapping submissions_;
    Mapping completions_;
    Mapping requests_;
    std::uint32_t* submission_tail_ = nullptr;
    std::uint32_t* submission_places_ = nullptr;
    std::uint32_t submission_mask_ = 0;
    std::uint32_t* completion_head_ = nullptr;
    std::uint32_t* completion_tail_ = nullptr;
    std::uint32_t completion_mask_ = 0;
    std::byte* completion_entries_ = nullptr;
    std::array<std::int32_t, entries> results_{};
    std::uint64_t calls_ = 0;
    std::uint64_t operations_ = 0;
};

} // namespace sonde
