// The timed loops over libfabric where messages are datagrams.
#include "test/run_test.hpp"
#include "transport/libfabric/datagrams.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {

template <class Wait>
Result FabricSession::run_datagrams(const RunParameters& run, Timebase& timebase,
                                    const BatchHooks& hooks) {
    FabricDatagramPath<Wait> path(endpoint_, options_, meeting_, *datagrams_, run.message_bytes,
                                  interrupted_);
    return run_test(path, control_, rank_, batch_, run, timebase, hooks);
}

template Result FabricSession::run_datagrams<FabricSpinning>(const RunParameters&, Timebase&,
                                                             const BatchHooks&);
template Result FabricSession::run_datagrams<FabricSleeping>(const RunParameters&, Timebase&,
                                                             const BatchHooks&);

} // namespace sonde
