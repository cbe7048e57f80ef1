// How a TCP path hands a piece of a message to the kernel: copied, or without a copy.
//
// Without a copy the kernel reads the bytes until the other end has them, so they must not change.
// The ways below that send the message therefore keep the first one's content for themselves. A
// message that differs from it (a stream's last one has another first byte) is copied.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include "core/descriptor.hpp"

namespace sonde {

template <class T>
concept Sending = requires(T& t, std::span<const std::byte> message, std::size_t at) {
    // As send(), of `bytes` of the message from `at` on.
    { t.send(0, message, at, at, 0) } -> std::same_as<ssize_t>;
    // What can be said afterwards, by name.
    { t.counted() } -> std::same_as<std::map<std::string, std::uint64_t>>;
};

struct CopySending {
    explicit CopySending(int /*fd*/) {}
    static ssize_t send(int fd, std::span<const std::byte> message, std::size_t at,
                        std::size_t bytes, int flags) noexcept {
        return ::send(fd, message.data() + at, bytes, MSG_NOSIGNAL | flags);
    }
    static std::map<std::string, std::uint64_t> counted() { return {}; }
};

// From a file in memory, with sendfile(): the kernel takes the file's pages.
class FileSending {
public:
    explicit FileSending(int /*fd*/) {}
    ssize_t send(int fd, std::span<const std::byte> message, std::size_t at, std::size_t bytes,
                 int flags);
    static std::map<std::string, std::uint64_t> counted() { return {}; }

private:
    void keep(std::span<const std::byte> message);

    Descriptor file_;
    std::byte first_{};
};

// A file of the user's, open for reading. Throws Failure naming it.
class StoredFile {
public:
    StoredFile(const std::string& path, std::size_t message_bytes);
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    Descriptor fd_;
    std::size_t bytes_ = 0;
};

// The content of a file, with sendfile(): message after message takes the next piece of it, from
// the beginning again where less than a message is left. By its first byte the receiver tells a
// stream's last message from the others; so that byte is the message's own, in a call of its own
// where the file happens to have another one.
class StoredFileSending {
public:
    StoredFileSending(int /*fd*/, const StoredFile& file) : file_(file) {}
    ssize_t send(int fd, std::span<const std::byte> message, std::size_t at, std::size_t bytes,
                 int flags);
    static std::map<std::string, std::uint64_t> counted() { return {}; }

private:
    [[nodiscard]] bool tells_by_itself(std::byte first) const;
    ssize_t send_piece(int fd, std::span<const std::byte> message, std::size_t at,
                       std::size_t bytes, int flags);

    const StoredFile& file_;
    std::size_t begin_ = 0; // of the message in the file
};

// With MSG_ZEROCOPY: the card reads the pages, and the kernel says on the error queue when it no
// longer needs them, and whether it copied them after all (as it does for loopback).
class ZeroCopySending {
public:
    explicit ZeroCopySending(int fd);
    ssize_t send(int fd, std::span<const std::byte> message, std::size_t at, std::size_t bytes,
                 int flags);
    [[nodiscard]] std::map<std::string, std::uint64_t> counted();

private:
    void reap(int fd);

    int fd_;
    std::vector<std::byte> kept_;
    std::uint64_t asked_ = 0;
    std::uint64_t done_ = 0;
    std::uint64_t copied_ = 0;
};

static_assert(Sending<CopySending>);
static_assert(Sending<FileSending>);
static_assert(Sending<StoredFileSending>);
static_assert(Sending<ZeroCopySending>);

} // namespace sonde
