#include "emulator/load.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "emulator/tap.hpp"

namespace sonde {

namespace {

constexpr std::int64_t most_pid = 1 << 22;
constexpr std::int64_t most_frames = 100'000'000;
constexpr std::int64_t most_duration_ns = 600'000'000'000;
constexpr std::size_t most_flows = 1024;
constexpr std::int64_t tick_ns = 500'000;
constexpr std::int64_t arriving_ns = 100'000'000;
constexpr std::size_t batch_frames = 32;

LoadFlow read_flow(Fields fields) {
    LoadFlow flow;
    flow.from = static_cast<pid_t>(fields.integer("from", 1, most_pid));
    flow.address = fields.text("address", 64);
    flow.frames =
        static_cast<std::uint64_t>(fields.optional_integer("frames", 0, most_frames).value_or(0));
    flow.frames_per_s = fields.optional_integer("frames_per_s", 0, most_frames).value_or(0);
    fields.finish();
    return flow;
}

Descriptor open_sender(const LoadFlow& flow) {
    Descriptor fd;
    in_network(network_of(flow.from).get(), [&] {
        sockaddr_in peer{};
        peer.sin_family = AF_INET;
        peer.sin_port = htons(flow.port);
        if (::inet_pton(AF_INET, flow.address.c_str(), &peer.sin_addr) != 1) {
            throw Failure("bad_request", flow.address + " is no IPv4 address");
        }
        fd = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd ||
            ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
            throw system_failure("open a sending socket");
        }
    });
    return fd;
}

// A socket that nobody reads: what comes is dropped by the kernel, without an answer.
Descriptor open_sink(pid_t pid, std::uint16_t port) {
    Descriptor fd;
    in_network(network_of(pid).get(), [&] {
        fd = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(port);
        const int least = 0;
        if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least) != 0 ||
            ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
            throw system_failure("open a receiving socket");
        }
    });
    return fd;
}

class Flow {
public:
    explicit Flow(const LoadFlow& plan) : plan_(plan), fd_(open_sender(plan)) {}

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

    // Sends what is due after so long; false where nothing will be due any more.
    bool send_due(std::int64_t elapsed_ns, std::span<const std::byte> payload) {
        std::uint64_t due = plan_.frames;
        if (plan_.frames == 0) {
            const double seconds = static_cast<double>(elapsed_ns) * 1e-9;
            due = static_cast<std::uint64_t>(seconds * static_cast<double>(plan_.frames_per_s));
        }
        while (sent_ < due) {
            const std::uint64_t done = send_batch(payload, due - sent_);
            if (done == 0) {
                break; // the socket is full; later
            }
            sent_ += done;
        }
        return plan_.frames == 0 || sent_ < plan_.frames;
    }

private:
    std::uint64_t send_batch(std::span<const std::byte> payload, std::uint64_t wanted) {
        std::array<mmsghdr, batch_frames> messages{};
        iovec part{const_cast<std::byte*>(payload.data()), payload.size()}; // NOLINT: not written
        const auto count = static_cast<unsigned>(std::min<std::uint64_t>(wanted, batch_frames));
        for (mmsghdr& message : messages) {
            message.msg_hdr.msg_iov = &part;
            message.msg_hdr.msg_iovlen = 1;
        }
        const int done = ::sendmmsg(fd_.get(), messages.data(), count, 0);
        if (done < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
            throw system_failure("send");
        }
        return done < 0 ? 0 : static_cast<std::uint64_t>(done);
    }

    LoadFlow plan_;
    Descriptor fd_;
    std::uint64_t sent_ = 0;
};

} // namespace

LoadPlan read_load(Fields fields) {
    LoadPlan plan;
    plan.port = static_cast<std::uint16_t>(fields.integer("port", 1, UINT16_MAX));
    plan.payload_bytes =
        static_cast<std::size_t>(fields.integer("payload_bytes", 0, UINT16_MAX - 28));
    plan.duration_ns = fields.integer("duration_ns", 1, most_duration_ns);
    if (const auto cpu = fields.optional_integer("cpu", 0, 4095)) {
        plan.cpu = static_cast<int>(*cpu);
    }
    for (const nlohmann::json& flow : fields.list("flows", most_flows)) {
        plan.flows.push_back(read_flow(Fields(flow, "flow")));
        plan.flows.back().port = plan.port;
    }
    for (const nlohmann::json& pid : fields.list("sinks", most_flows)) {
        if (!pid.is_number_integer() || pid.get<std::int64_t>() < 1 ||
            pid.get<std::int64_t>() > most_pid) {
            throw Failure("bad_request", "sinks: expected process numbers");
        }
        plan.sinks.push_back(pid.get<pid_t>());
    }
    fields.finish();
    return plan;
}

nlohmann::json make_load(const LoadPlan& plan) {
    const PinnedTo place(plan.cpu);
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    std::vector<Descriptor> sinks;
    for (const pid_t pid : plan.sinks) {
        sinks.push_back(open_sink(pid, plan.port));
    }
    std::vector<Flow> flows(plan.flows.begin(), plan.flows.end());
    const std::vector<std::byte> payload(plan.payload_bytes);
    const std::int64_t start_ns = monotonic_ns();
    const std::int64_t start_cpu_ns = thread_cpu_ns();
    std::int64_t elapsed_ns = 0;
    bool more = true;
    while (more && elapsed_ns < plan.duration_ns) {
        elapsed_ns = std::min(monotonic_ns() - start_ns, plan.duration_ns);
        more = false;
        for (Flow& flow : flows) {
            more = flow.send_due(elapsed_ns, payload) || more;
        }
        const timespec pause{0, tick_ns};
        ::nanosleep(&pause, nullptr);
    }
    const std::int64_t took_ns = monotonic_ns() - start_ns;
    const std::int64_t cpu_ns = thread_cpu_ns() - start_cpu_ns;
    // What is still under way must find the sinks open, or its receiver would send answers.
    const timespec arriving{0, sinks.empty() ? 0 : arriving_ns};
    ::nanosleep(&arriving, nullptr);
    nlohmann::json sent = nlohmann::json::array();
    for (const Flow& flow : flows) {
        sent.push_back(flow.sent());
    }
    return {{"sent", sent}, {"elapsed_ns", took_ns}, {"cpu_ns", cpu_ns}};
}

} // namespace sonde
