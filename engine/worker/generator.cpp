#include "worker/generator.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <span>

#include "core/descriptor.hpp"
#include "core/failure.hpp"
#include "test/alone.hpp"
#include "test/datagram_stream.hpp"
#include "transport/socket/sockets.hpp"
#include "transport/socket/source.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/waits.hpp"

namespace sonde {

namespace {

constexpr timeval longest_call{0, 200'000};

// A target that nobody listens at answers with refusals, which the next call reports: they are
// counted, and the datagram is sent all the same.
class UnheardPath : public UdpPath<BlockingWait> {
public:
    UnheardPath(int fd, const std::atomic<bool>& interrupted)
        : UdpPath<BlockingWait>(fd, interrupted), told_(interrupted) {}

    void send(std::span<const std::byte> message, std::size_t /*call_bytes*/) {
        while (::send(fd(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
            if (errno == ECONNREFUSED) {
                ++refusals_;
            } else {
                wait_to_send();
            }
        }
        count_sent();
    }

    // What was sent until then is the result.
    [[nodiscard]] bool told_to_end() const noexcept { return told_; }

    // Nobody waits for the rest once it was told to end.
    bool wait_drained() {
        try {
            return !told_to_end() && UdpPath<BlockingWait>::wait_drained();
        } catch (const Failure&) {
            return false;
        }
    }

    [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }

private:
    const std::atomic<bool>& told_;
    std::uint64_t refusals_ = 0;
};

Descriptor open_socket(const GeneratorParameters& parameters) {
    Descriptor fd = make_socket(parameters.target.domain(), SOCK_DGRAM, "datagrams");
    apply_socket_options(fd.get(), parameters.options, false);
    choose_source(fd.get(), parameters.options, parameters.target);
    if (::connect(fd.get(), parameters.target.get(), parameters.target.size()) != 0) {
        throw system_failure("reach " + parameters.target.text());
    }
    set_blocking(fd.get(), true);
    // It is told to end by a flag alone, which is looked at between calls.
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &longest_call, sizeof longest_call) != 0) {
        throw system_failure("limit the time of a call");
    }
    return fd;
}

} // namespace

GeneratorParameters read_generator_parameters(Fields& fields) {
    const Family family = read_family(fields);
    const std::string address = fields.text("address", 64);
    const auto port = static_cast<std::uint16_t>(fields.integer("port", 1, 65535));
    GeneratorParameters parameters{SocketAddress(family, address, port),
                                   read_socket_options(fields, false),
                                   read_socket_run_parameters(fields)};
    if (parameters.run.test != Test::stream || parameters.run.rate_bit_per_s == 0) {
        throw Failure("bad_request", "generate takes test stream and a rate_bit_per_s: traffic "
                                     "that nobody asked for must be bounded");
    }
    if (parameters.options.depth) {
        throw Failure("bad_request", "request.options: depth watches a transport between two "
                                     "workers; generate has none");
    }
    if (parameters.options.authenticated) {
        throw Failure("bad_request", "request.options: authenticated is for a transport between "
                                     "two workers; nobody checks what generate sends");
    }
    require_datagram(parameters.target.domain(), parameters.run.message_bytes);
    return parameters;
}

Generator::Generator(const GeneratorParameters& parameters, const std::atomic<bool>& interrupted)
    : parameters_(parameters), interrupted_(interrupted), socket_(open_socket(parameters)),
      interface_(interface_of(socket_.get(), parameters.target)), pinned_(parameters.options.cpu) {}

Result Generator::run(Timebase& timebase, const BatchHooks& hooks) {
    UnheardPath path(socket_.get(), interrupted_);
    DatagramSender<UnheardPath> sender(parameters_.run);
    NoObserver nobody;
    Start start;
    Result result =
        play_alone(path, start, timebase, hooks,
                   [&]<class Clock>(UnheardPath& on, Clock /*clock*/, const Start& from) {
                       sender.template play<Clock>(on, from, timebase, nobody);
                   });
    result.count("refusals", path.refusals());
    sender.report(result, start, timebase);
    return result;
}

OwnTraffic Generator::own_traffic() const { return {{}, interface_}; }

} // namespace sonde
