#include "worker/fabric_end.hpp"

#include <memory>
#include <utility>

#include "transport/socket/source.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {
namespace {

class FabricListener final : public ListeningEnd {
public:
    FabricListener(ListenParameters parameters, FabricOptions options,
                   const std::atomic<bool>& interrupted)
        : listener_(std::move(parameters)), options_(std::move(options)),
          interrupted_(interrupted) {}

    [[nodiscard]] nlohmann::json listening() const override { return {{"port", listener_.port()}}; }
    [[nodiscard]] std::unique_ptr<Session> accept(std::int64_t timeout_ns) override {
        const Deadline deadline(timeout_ns, interrupted_);
        return std::make_unique<FabricSession>(listener_.accept(deadline), options_, target_rank,
                                               deadline);
    }
    void interrupt() noexcept override { listener_.interrupt(); }

private:
    Listener listener_;
    FabricOptions options_;
    const std::atomic<bool>& interrupted_;
};

} // namespace

Opening<ListeningEnd> read_fabric_listen(Fields& fields) {
    ListenParameters parameters;
    parameters.family = read_family(fields);
    parameters.admission.cookie = parse_cookie(fields.text("cookie", 32));
    parameters.address = SocketAddress::any(parameters.family, 0);
    if (const auto allowed = fields.optional_text("allow_address", 64)) {
        parameters.allow = SocketAddress(parameters.family, *allowed, 0);
    }
    const FabricOptions options = read_fabric_options(fields);
    parameters.timeout_ns = take_timeout(fields);
    fields.finish();
    const FabricLibrary library; // where there is none, nobody needs to connect
    return {options.kernel_trace, parameters.timeout_ns,
            [parameters, options](const std::atomic<bool>& interrupted) {
                return std::make_unique<FabricListener>(parameters, options, interrupted);
            }};
}

Opening<Session> read_fabric_connect(Fields& fields) {
    ConnectParameters parameters;
    const Family family = read_family(fields);
    parameters.admission.cookie = parse_cookie(fields.text("cookie", 32));
    const std::string address = fields.text("address", 64);
    parameters.target = SocketAddress(family, address,
                                      static_cast<std::uint16_t>(fields.integer("port", 0, 65535)));
    const FabricOptions options = read_fabric_options(fields);
    parameters.options.source_address = options.source_address; // its provider's, too
    const std::int64_t timeout_ns = take_timeout(fields);
    fields.finish();
    const FabricLibrary library;
    return {options.kernel_trace, timeout_ns,
            [parameters, options, timeout_ns](const std::atomic<bool>& interrupted) {
                const Deadline deadline(timeout_ns, interrupted);
                return std::make_unique<FabricSession>(connect_to_target(parameters, deadline),
                                                       options, origin_rank, deadline);
            }};
}

} // namespace sonde
