// Ends whose sessions begin over a greeted TCP connection of their own, as a fabric's and a link's:
// what is read of `listen` and `open`, and who listens.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "transport/socket/address.hpp"
#include "transport/socket/connections.hpp"
#include "worker/transports.hpp"

namespace sonde {

// `End` is made of connections, options, its rank and a deadline.
template <class End, class Options>
class GreetedListener final : public ListeningEnd {
public:
    GreetedListener(ListenParameters parameters, Options options,
                    const std::atomic<bool>& interrupted)
        : listener_(std::move(parameters)), options_(std::move(options)),
          interrupted_(interrupted) {}

    [[nodiscard]] nlohmann::json listening() const override { return {{"port", listener_.port()}}; }
    [[nodiscard]] std::unique_ptr<Session> accept(std::int64_t timeout_ns) override {
        const Deadline deadline(timeout_ns, interrupted_);
        return std::make_unique<End>(listener_.accept(deadline), options_, target_rank, deadline);
    }
    void interrupt() noexcept override { listener_.interrupt(); }

private:
    Listener listener_;
    Options options_;
    const std::atomic<bool>& interrupted_;
};

// How an end's options are taken from a request, whether kernels are to be traced, and what throws
// where nobody needs to connect.
template <class Options>
struct GreetedOptions {
    Options (*read)(Fields&);
    bool (*traced)(const Options&);
    void (*require)();
};

template <class End, class Options>
Opening<ListeningEnd> read_greeted_listen(Fields& fields, const GreetedOptions<Options>& of) {
    ListenParameters parameters;
    parameters.family = read_family(fields);
    parameters.admission.cookie = parse_cookie(fields.text("cookie", 32));
    parameters.address = SocketAddress::any(parameters.family, 0);
    if (const auto allowed = fields.optional_text("allow_address", 64)) {
        parameters.allow = SocketAddress(parameters.family, *allowed, 0);
    }
    const Options options = of.read(fields);
    parameters.timeout_ns = take_timeout(fields);
    fields.finish();
    of.require();
    return {of.traced(options), parameters.timeout_ns,
            [parameters, options](const std::atomic<bool>& interrupted) {
                return std::make_unique<GreetedListener<End, Options>>(parameters, options,
                                                                       interrupted);
            }};
}

template <class End, class Options>
Opening<Session> read_greeted_connect(Fields& fields, const GreetedOptions<Options>& of) {
    ConnectParameters parameters;
    const Family family = read_family(fields);
    parameters.admission.cookie = parse_cookie(fields.text("cookie", 32));
    const std::string address = fields.text("address", 64);
    parameters.target = SocketAddress(family, address,
                                      static_cast<std::uint16_t>(fields.integer("port", 0, 65535)));
    const Options options = of.read(fields);
    parameters.options.source_address = options.source_address;
    const std::int64_t timeout_ns = take_timeout(fields);
    fields.finish();
    of.require();
    return {of.traced(options), timeout_ns,
            [parameters, options, timeout_ns](const std::atomic<bool>& interrupted) {
                const Deadline deadline(timeout_ns, interrupted);
                return std::make_unique<End>(connect_to_target(parameters, deadline), options,
                                             origin_rank, deadline);
            }};
}

} // namespace sonde
