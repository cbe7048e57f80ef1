// Both ends of a path over libfabric, as requests ask for them. Throw Failure("bad_request"), and
// "unsupported" where this program was compiled without libfabric's headers.
#pragma once

#include "worker/session.hpp"
#include "worker/transports.hpp"

namespace sonde {

[[nodiscard]] Opening<ListeningEnd> read_fabric_listen(Fields& fields);
[[nodiscard]] Opening<Session> read_fabric_connect(Fields& fields);

} // namespace sonde
