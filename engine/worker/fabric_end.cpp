#include "worker/fabric_end.hpp"

#include "worker/fabric_session.hpp"
#include "worker/greeted_end.hpp"

namespace sonde {
namespace {

constexpr GreetedOptions<FabricOptions> as_asked{
    read_fabric_options, [](const FabricOptions& options) { return options.kernel_trace; },
    [] { const FabricLibrary library; }}; // where there is none, nobody needs to connect

} // namespace

Opening<ListeningEnd> read_fabric_listen(Fields& fields) {
    return read_greeted_listen<FabricSession>(fields, as_asked);
}

Opening<Session> read_fabric_connect(Fields& fields) {
    return read_greeted_connect<FabricSession>(fields, as_asked);
}

} // namespace sonde
