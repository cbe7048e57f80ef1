// Ways of sending: what arrives of a file of the user's.
#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "transport/socket/sendings.hpp"
#include "transport/socket/tcp_path.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("sendings");

namespace {

class ScratchFile {
public:
    explicit ScratchFile(const std::vector<std::byte>& content) {
        const Descriptor fd(::mkstemp(name_.data()));
        REQUIRE(fd);
        REQUIRE(::write(fd.get(), content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
    }
    ~ScratchFile() { ::unlink(name_.c_str()); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_ = std::filesystem::temp_directory_path() / "sonde-sendings-XXXXXX";
};

std::vector<std::byte> received(int fd, std::size_t bytes) {
    std::vector<std::byte> all(bytes);
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got = ::recv(fd, all.data() + done, bytes - done, 0);
        REQUIRE(got > 0);
        done += static_cast<std::size_t>(got);
    }
    return all;
}

} // namespace

TEST_CASE("a file's pieces arrive, and only the last message is taken for the last") {
    constexpr std::byte usual{0x5A};
    constexpr std::byte inverted{0xA5}; // what a last message begins with
    for (const std::size_t size : {1, 2, 7, 300, 1000}) {
        for (const std::size_t call : {1, 64, 4096}) {
            for (const int messages : {1, 2, 9}) {
                // Bytes that would be mistaken stand at many places.
                std::vector<std::byte> content(1000);
                for (std::size_t i = 0; i < content.size(); ++i) {
                    content[i] = i % 3 == 0 ? inverted : static_cast<std::byte>(i);
                }
                const ScratchFile scratch(content);
                const StoredFile file(scratch.name(), size);
                std::array<int, 2> pair{};
                REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
                const Descriptor a(pair[0]);
                const Descriptor b(pair[1]);
                std::thread sender([&] {
                    const std::atomic<bool> interrupted = false;
                    TcpPath<BlockingWait, StoredFileSending> path(a.get(), interrupted, file);
                    std::vector<std::byte> message(size, usual);
                    for (int i = 0; i < messages; ++i) {
                        message[0] = i == messages - 1 ? inverted : usual;
                        path.send(message, call);
                    }
                });
                std::size_t begin = 0;
                for (int i = 0; i < messages; ++i) {
                    const std::vector<std::byte> got = received(b.get(), size);
                    CHECK((got[0] == inverted) == (i == messages - 1));
                    std::size_t different = 0;
                    for (std::size_t at = 1; at < size; ++at) {
                        different += got[at] != content[begin + at] ? 1U : 0U;
                    }
                    CHECK(different == 0);
                    begin = begin + 2 * size > content.size() ? 0 : begin + size;
                }
                sender.join();
            }
        }
    }
}

TEST_CASE("what is no file, or is too small, is refused by its name") {
    const ScratchFile scratch(std::vector<std::byte>(10));
    CHECK_NOTHROW(StoredFile(scratch.name(), 10));
    CHECK_THROWS_WITH_AS(StoredFile(scratch.name(), 11), doctest::Contains("at least 11 bytes"),
                         Failure);
    CHECK_THROWS_WITH_AS(StoredFile("/tmp", 1), doctest::Contains("/tmp"), Failure);
    CHECK_THROWS_WITH_AS(StoredFile("/nowhere/at/all", 1), doctest::Contains("/nowhere/at/all"),
                         Failure);
}

TEST_SUITE_END();
