// Where libfabric's headers were not there when this was compiled.
#include "core/failure.hpp"
#include "worker/fabric_end.hpp"

namespace sonde {
namespace {

Failure not_compiled() {
    return {"unsupported", "this sonde-fabric was compiled without libfabric's headers; install "
                           "them (Debian: libfabric-dev) and build netsonde again, by "
                           "scripts/setup in a clone of it"};
}

} // namespace

Opening<ListeningEnd> read_fabric_listen(Fields& /*fields*/) { throw not_compiled(); }
Opening<Session> read_fabric_connect(Fields& /*fields*/) { throw not_compiled(); }

} // namespace sonde
