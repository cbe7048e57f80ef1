#include "emulator/capture.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

namespace sonde {

namespace {

constexpr std::size_t most_waiting_bytes = std::size_t{16} << 20U;

// Block types, options and magic numbers of the pcapng format, in this host's byte order.
constexpr std::uint32_t section_block = 0x0A0D0D0A;
constexpr std::uint32_t interface_block = 1;
constexpr std::uint32_t packet_block = 6;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint16_t end_of_options = 0;
constexpr std::uint16_t interface_name = 2;
constexpr std::uint16_t packet_flags = 2;
constexpr std::uint16_t time_resolution = 9;
constexpr std::uint16_t ethernet = 1;

template <class Value>
void append(std::vector<std::byte>& out, Value value) {
    const std::size_t end = out.size();
    out.resize(end + sizeof value);
    std::memcpy(out.data() + end, &value, sizeof value);
}

void append_padded(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.resize(out.size() + (4 - bytes.size() % 4) % 4);
}

void append_option(std::vector<std::byte>& out, std::uint16_t code,
                   std::span<const std::byte> value) {
    append(out, code);
    append(out, static_cast<std::uint16_t>(value.size()));
    append_padded(out, value);
}

// A block's length stands at both of its ends.
template <class Body>
void append_block(std::vector<std::byte>& out, std::uint32_t type, Body&& body) {
    const std::size_t start = out.size();
    append(out, type);
    append(out, std::uint32_t{0});
    body();
    const auto length = static_cast<std::uint32_t>(out.size() - start + sizeof(std::uint32_t));
    std::memcpy(out.data() + start + sizeof type, &length, sizeof length);
    append(out, length);
}

std::vector<std::byte> file_header(const std::string& host) {
    std::vector<std::byte> out;
    append_block(out, section_block, [&] {
        append(out, byte_order_magic);
        append(out, std::uint16_t{1}); // version 1.0
        append(out, std::uint16_t{0});
        append(out, std::int64_t{-1}); // length not known
    });
    append_block(out, interface_block, [&] {
        append(out, ethernet);
        append(out, std::uint16_t{0});
        append(out, std::uint32_t{0}); // frames are whole
        append_option(out, interface_name, std::as_bytes(std::span(host)));
        const std::byte nanoseconds{9};
        append_option(out, time_resolution, std::span(&nanoseconds, 1));
        append_option(out, end_of_options, {});
    });
    return out;
}

} // namespace

Capture::Capture(Descriptor fd, const std::string& host, std::uint64_t most_bytes)
    : fd_(std::move(fd)), left_bytes_(most_bytes), waiting_(file_header(host)),
      writer_([this] { write_all(); }) {}

Capture::~Capture() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    writer_.join();
}

void Capture::note(Direction direction, std::int64_t unix_ns, std::span<const std::byte> frame) {
    const std::scoped_lock lock(mutex_);
    if (failed_ || waiting_.size() + frame.size() > most_waiting_bytes) {
        ++left_out_;
        return;
    }
    append_block(waiting_, packet_block, [&] {
        const auto time = static_cast<std::uint64_t>(unix_ns);
        append(waiting_, std::uint32_t{0}); // interface
        append(waiting_, static_cast<std::uint32_t>(time >> 32U));
        append(waiting_, static_cast<std::uint32_t>(time));
        append(waiting_, static_cast<std::uint32_t>(frame.size()));
        append(waiting_, static_cast<std::uint32_t>(frame.size()));
        append_padded(waiting_, frame);
        const auto flags = static_cast<std::uint32_t>(direction);
        append_option(waiting_, packet_flags, std::as_bytes(std::span(&flags, 1)));
        append_option(waiting_, end_of_options, {});
    });
    ++waiting_frames_;
}

void Capture::write_all() {
    using namespace std::chrono_literals;
    std::vector<std::byte> batch;
    bool last = false;
    while (!last) {
        std::uint64_t frames = 0;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, 20ms, [this] { return stop_; });
            last = stop_;
            batch.clear();
            std::swap(batch, waiting_);
            frames = std::exchange(waiting_frames_, 0);
        }
        if (write(batch)) {
            written_ += frames;
            continue;
        }
        left_out_ += frames;
        left_bytes_ = 0; // nothing can follow a block that is not whole
        const std::scoped_lock lock(mutex_);
        failed_ = true;
    }
}

bool Capture::write(std::span<const std::byte> bytes) {
    if (bytes.size() > left_bytes_) {
        return false;
    }
    left_bytes_ -= bytes.size();
    while (!bytes.empty()) {
        if (!await_room()) {
            return false;
        }
        // A pipe that has room takes as much at once, so that this cannot wait for its reader.
        const std::size_t piece = std::min<std::size_t>(bytes.size(), PIPE_BUF);
        const ssize_t done = ::write(fd_.get(), bytes.data(), piece);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        bytes = bytes.subspan(done < 0 ? 0 : static_cast<std::size_t>(done));
    }
    return true;
}

// False where the capture is to end and its reader has stalled.
bool Capture::await_room() {
    constexpr int patience_ms = 200;
    pollfd room{fd_.get(), POLLOUT, 0};
    while (::poll(&room, 1, patience_ms) <= 0) {
        const std::scoped_lock lock(mutex_);
        if (stop_) {
            return false;
        }
    }
    return true;
}

} // namespace sonde
