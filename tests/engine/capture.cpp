// Captures read back as pcapng, and what becomes of them where the file ends or nobody reads.
#include "emulator/capture.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

using namespace sonde;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("capture");

namespace {

constexpr std::uint64_t no_limit = 1ULL << 40U;
constexpr std::int64_t some_time_ns = 1'700'000'000'123'456'789;

using Bytes = std::vector<std::byte>;

struct Block {
    std::uint32_t type = 0;
    Bytes body;
};

template <class Value>
Value read_at(const Bytes& bytes, std::size_t offset) {
    REQUIRE(offset + sizeof(Value) <= bytes.size());
    Value value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// Requires that the bytes are whole blocks.
std::vector<Block> read_blocks(const Bytes& file) {
    constexpr std::size_t frame_of_block = 12;
    std::vector<Block> blocks;
    for (std::size_t at = 0; at < file.size();) {
        const auto length = read_at<std::uint32_t>(file, at + 4);
        REQUIRE(length % 4 == 0);
        REQUIRE(length >= frame_of_block);
        REQUIRE(read_at<std::uint32_t>(file, at + length - 4) == length);
        const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
        blocks.push_back({read_at<std::uint32_t>(file, at), Bytes(begin + 8, begin + length - 4)});
        at += length;
    }
    return blocks;
}

struct Option {
    std::uint16_t code = 0;
    Bytes value;
};

std::vector<Option> read_options(const Bytes& body, std::size_t at) {
    std::vector<Option> options;
    while (true) {
        const auto code = read_at<std::uint16_t>(body, at);
        const auto length = read_at<std::uint16_t>(body, at + 2);
        if (code == 0) {
            CHECK(length == 0);
            CHECK(at + 4 == body.size());
            return options;
        }
        const auto begin = body.begin() + static_cast<std::ptrdiff_t>(at + 4);
        options.push_back({code, Bytes(begin, begin + length)});
        at += 4 + (length + 3U) / 4 * 4;
    }
}

// A file in memory that a capture writes and the test reads.
class File {
public:
    File() : fd_(::memfd_create("capture", MFD_CLOEXEC)) { REQUIRE(fd_); }
    [[nodiscard]] Descriptor writer() const { return Descriptor(::dup(fd_.get())); }
    [[nodiscard]] Bytes content() const {
        Bytes bytes(static_cast<std::size_t>(::lseek(fd_.get(), 0, SEEK_END)));
        const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size(), 0);
        REQUIRE(got == static_cast<ssize_t>(bytes.size()));
        return bytes;
    }

private:
    Descriptor fd_;
};

Bytes frame_of(std::size_t length) {
    Bytes frame(length);
    for (std::size_t i = 0; i < length; ++i) {
        frame[i] = static_cast<std::byte>(i * 7 + length);
    }
    return frame;
}

// Waits until the writer has dealt with so many frames.
void await(const Capture& capture, std::uint64_t frames) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (capture.written() + capture.left_out() < frames) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::sleep_for(1ms);
    }
}

struct Pipe {
    Descriptor reader;
    Descriptor writer;
};

Pipe make_pipe() {
    std::signal(SIGPIPE, SIG_IGN); // as sonde-switch does
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

} // namespace

TEST_CASE("a file begins with the host's name and a clock of nanoseconds") {
    const File file;
    { const Capture capture(file.writer(), "host 7", no_limit); }
    const std::vector<Block> blocks = read_blocks(file.content());
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].type == 0x0A0D0D0A);
    CHECK(read_at<std::uint32_t>(blocks[0].body, 0) == 0x1A2B3C4D);
    CHECK(read_at<std::uint16_t>(blocks[0].body, 4) == 1);
    CHECK(read_at<std::uint16_t>(blocks[0].body, 6) == 0);
    CHECK(read_at<std::int64_t>(blocks[0].body, 8) == -1);
    CHECK(blocks[1].type == 1);
    CHECK(read_at<std::uint16_t>(blocks[1].body, 0) == 1); // Ethernet
    CHECK(read_at<std::uint32_t>(blocks[1].body, 4) == 0); // frames are whole
    const std::vector<Option> options = read_options(blocks[1].body, 8);
    REQUIRE(options.size() == 2);
    CHECK(options[0].code == 2);
    CHECK(std::string(reinterpret_cast<const char*>(options[0].value.data()),
                      options[0].value.size()) == "host 7");
    CHECK(options[1].code == 9);
    CHECK(options[1].value == Bytes{std::byte{9}});
}

TEST_CASE("every frame stands in the file with its bytes, time and direction") {
    const File file;
    constexpr std::array<std::size_t, 7> lengths{0, 1, 59, 60, 61, 1514, 9018};
    {
        Capture capture(file.writer(), "h", no_limit);
        for (const std::size_t length : lengths) {
            capture.note(length % 2 == 0 ? Direction::from_host : Direction::to_host,
                         some_time_ns + static_cast<std::int64_t>(length), frame_of(length));
        }
        await(capture, lengths.size());
        CHECK(capture.written() == lengths.size());
    }
    const std::vector<Block> blocks = read_blocks(file.content());
    REQUIRE(blocks.size() == 2 + lengths.size());
    for (std::size_t k = 0; k < lengths.size(); ++k) {
        const Bytes& body = blocks[2 + k].body;
        const std::size_t length = lengths[k];
        CHECK(blocks[2 + k].type == 6);
        CHECK(read_at<std::uint32_t>(body, 0) == 0);
        const auto time =
            std::uint64_t{read_at<std::uint32_t>(body, 4)} << 32U | read_at<std::uint32_t>(body, 8);
        CHECK(time == static_cast<std::uint64_t>(some_time_ns) + length);
        CHECK(read_at<std::uint32_t>(body, 12) == length);
        CHECK(read_at<std::uint32_t>(body, 16) == length);
        const auto begin = body.begin() + 20;
        CHECK(Bytes(begin, begin + static_cast<std::ptrdiff_t>(length)) == frame_of(length));
        const std::vector<Option> options = read_options(body, 20 + (length + 3) / 4 * 4);
        REQUIRE(options.size() == 1);
        CHECK(options[0].code == 2);
        CHECK(read_at<std::uint32_t>(options[0].value, 0) == (length % 2 == 0 ? 2 : 1));
    }
}

TEST_CASE("a capture that may write no more ends with a whole block and counts the rest") {
    constexpr std::uint64_t limit = 10'000;
    constexpr std::uint64_t frames = 15;
    const File file;
    Capture capture(file.writer(), "h", limit);
    for (std::uint64_t k = 0; k < frames; ++k) {
        capture.note(Direction::to_host, some_time_ns, frame_of(1514));
        await(capture, k + 1);
    }
    CHECK(capture.written() + capture.left_out() == frames);
    const Bytes content = file.content();
    CHECK(content.size() <= limit);
    CHECK(content.size() > limit - 1600);
    CHECK(read_blocks(content).size() == 2 + capture.written());
}

TEST_CASE("a limit that not even the header fits leaves an empty file") {
    const File file;
    Capture capture(file.writer(), "h", 20);
    capture.note(Direction::to_host, some_time_ns, frame_of(60));
    await(capture, 1);
    CHECK(capture.left_out() == 1);
    CHECK(file.content().empty());
}

TEST_CASE("where nobody reads any more, frames are counted and nothing waits") {
    Pipe pipe = make_pipe();
    Capture capture(std::move(pipe.writer), "h", no_limit);
    pipe.reader.reset();
    for (std::uint64_t k = 0; k < 50; ++k) {
        capture.note(Direction::to_host, some_time_ns, frame_of(1514));
    }
    await(capture, 50);
    capture.note(Direction::to_host, some_time_ns, frame_of(1514));
    await(capture, 51);
    CHECK(capture.left_out() == 51);
    CHECK(capture.written() == 0);
}

TEST_CASE("a reader that stalls costs frames, not time") {
    constexpr std::uint64_t frames = 30'000; // 46 MB, of which twice 16 MiB wait
    Pipe pipe = make_pipe();
    Capture capture(std::move(pipe.writer), "h", no_limit);
    const Bytes frame = frame_of(1514);
    for (std::uint64_t k = 0; k < frames; ++k) {
        capture.note(Direction::from_host, some_time_ns, frame);
    }
    CHECK(capture.left_out() > 0);
    pipe.reader.reset(); // and then it is gone
    await(capture, frames);
    CHECK(capture.written() + capture.left_out() == frames);
}

TEST_CASE("a capture ends though its reader stalls") {
    const Pipe pipe = make_pipe();
    const auto start = std::chrono::steady_clock::now();
    {
        Capture capture(Descriptor(::dup(pipe.writer.get())), "h", no_limit);
        for (std::uint64_t k = 0; k < 200; ++k) { // more than a pipe holds
            capture.note(Direction::from_host, some_time_ns, frame_of(1514));
        }
    }
    CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_SUITE_END();
