// What passes a host's link, written as pcapng by a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"

namespace sonde {

enum class Direction : std::uint8_t { from_host = 2, to_host = 1 }; // as pcapng has them

class Capture {
public:
    // Writes to fd until it is destroyed, fails, or has written most_bytes.
    Capture(Descriptor fd, const std::string& host, std::uint64_t most_bytes);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    // Never waits for the file: where the writer cannot keep up, frames are left out and counted.
    void note(Direction direction, std::int64_t unix_ns, std::span<const std::byte> frame);

    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

private:
    void write_all();
    [[nodiscard]] bool write(std::span<const std::byte> bytes);
    [[nodiscard]] bool await_room();

    Descriptor fd_;
    std::uint64_t left_bytes_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::byte> waiting_;
    std::uint64_t waiting_frames_ = 0;
    bool stop_ = false;
    bool failed_ = false;
    std::atomic<std::uint64_t> written_ = 0;
    std::atomic<std::uint64_t> left_out_ = 0;
    std::thread writer_;
};

} // namespace sonde
