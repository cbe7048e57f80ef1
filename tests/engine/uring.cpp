// io_uring: what it says where there is none, and messages through rings over loopback.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "core/payload.hpp"
#include "transport/socket/options.hpp"
#include "transport/socket/uring.hpp"
#include "transport/socket/uring_path.hpp"

using namespace sonde;

TEST_SUITE_BEGIN("uring");

namespace {

template <int error>
int fails(unsigned /*entries*/, void* /*parameters*/) {
    errno = error;
    return -1;
}

// A kernel whose io_uring cannot wait for sockets yet: it says so by features that are all zero.
int is_old(unsigned /*entries*/, void* /*parameters*/) { return ::dup(0); }

// Refuses every flag, as kernels do that do not know them.
int refuses_flags(unsigned entries, void* parameters) {
    unsigned flags = 0; // the third number of io_uring_params
    std::memcpy(&flags, static_cast<std::byte*>(parameters) + 2 * sizeof flags, sizeof flags);
    if (flags != 0) {
        errno = EINVAL;
        return -1;
    }
    return fails<ENOSYS>(entries, parameters);
}

struct Ends {
    Descriptor a;
    Descriptor b;
};

Ends ends() {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    return {Descriptor(pair[0]), Descriptor(pair[1])};
}

bool there_is_one() {
    SocketOptions options;
    options.sending = SendingWay::uring;
    try {
        require_uring(options);
        return true;
    } catch (const Failure& failure) {
        MESSAGE(failure.what());
        return false;
    }
}

} // namespace

#if __has_include(<linux/io_uring.h>)
TEST_CASE("where io_uring cannot be had, the reason is said") {
    CHECK(uring_refusal(fails<ENOSYS>, std::nullopt) == "this kernel has none");
    CHECK(uring_refusal(fails<EPERM>, 2)->find("kernel.io_uring_disabled is 2") !=
          std::string::npos);
    CHECK(uring_refusal(fails<EPERM>, 1)->find("kernel.io_uring_disabled is 1") !=
          std::string::npos);
    CHECK(uring_refusal(fails<EPERM>, 0)->find("not permitted") != std::string::npos);
    CHECK(uring_refusal(fails<EPERM>, std::nullopt)->find("not permitted") != std::string::npos);
    CHECK(uring_refusal(fails<EMFILE>, 0) == "Too many open files");
    CHECK(uring_refusal(is_old, 0)->find("Linux 5.7") != std::string::npos);
    CHECK(uring_refusal(refuses_flags, 0) == "this kernel has none"); // it was asked twice
}
#else
TEST_CASE("a build without the header says so") {
    CHECK(uring_refusal(fails<ENOSYS>, 0)->find("without the header") != std::string::npos);
    CHECK(uring_refusal(is_old, 0) == uring_refusal(refuses_flags, 0));
}
#endif

TEST_CASE("nobody who did not ask for io_uring needs it") {
    CHECK_NOTHROW(require_uring(SocketOptions{}));
}

TEST_CASE("messages of all lengths cross in pieces, whole and in order") {
    if (!there_is_one()) {
        return;
    }
    const Ends pair = ends();
    const std::atomic<bool> interrupted = false;
    // 100 pieces are several rings full; 3 MiB are more than the socket takes at once.
    const std::vector<std::pair<std::size_t, std::size_t>> cases{
        {1, 1},          {1000, 1000},        {1000, 10},
        {100'001, 1000}, {3U << 20U, 65'536}, {3U << 20U, 1U << 20U}};
    for (const auto& [bytes, call_bytes] : cases) {
        Payload message(bytes, 7);
        std::vector<std::byte> got(bytes);
        std::thread receiver([&] {
            UringPath path(pair.b.get(), interrupted);
            for (int i = 0; i < 3; ++i) {
                path.receive(got, call_bytes);
            }
        });
        UringPath path(pair.a.get(), interrupted);
        for (int i = 0; i < 3; ++i) {
            path.send(message.bytes(), call_bytes);
        }
        receiver.join();
        CHECK(Payload::first_difference(got, 7) < 0);
        const std::size_t pieces = 3 * ((bytes + call_bytes - 1) / call_bytes);
        CHECK(path.counted().at("uring_sends") >= pieces);
        CHECK(path.calls_sent() >= 3 * ((pieces / 3 + Uring::entries - 1) / Uring::entries));
    }
}

TEST_CASE("a peer that closes in the middle of a message is lost") {
    if (!there_is_one()) {
        return;
    }
    Ends pair = ends();
    const std::atomic<bool> interrupted = false;
    const std::vector<std::byte> half(500);
    REQUIRE(::send(pair.a.get(), half.data(), half.size(), 0) == 500);
    pair.a.reset();
    std::vector<std::byte> message(1000);
    UringPath path(pair.b.get(), interrupted);
    CHECK_THROWS_WITH_AS((void)path.receive(message, 100),
                         doctest::Contains("while 500 of 1000 bytes"), Failure);
    CHECK_THROWS_WITH_AS(path.send(message, 100), doctest::Contains("lost while sending"), Failure);
}

TEST_CASE("a shutdown from another thread ends what waits") {
    if (!there_is_one()) {
        return;
    }
    for (const bool sending : {false, true}) {
        const Ends pair = ends();
        std::atomic<bool> interrupted = false;
        UringPath path(pair.a.get(), interrupted);
        std::vector<std::byte> message(16U << 20U); // more than a socket nobody reads from takes
        std::thread guard([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            interrupted = true;
            path.interrupt();
        });
        std::string code;
        try {
            if (sending) {
                path.send(message, 1U << 20U);
            } else {
                path.receive(message, 1U << 20U);
            }
        } catch (const Failure& failure) {
            code = failure.code();
        }
        guard.join();
        CHECK(code == "timeout");
    }
}
