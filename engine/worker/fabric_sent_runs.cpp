// The timed loops over libfabric where messages are sent and received.
#include "test/run_test.hpp"
#include "transport/libfabric/path.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {

template <class Wait>
Result FabricSession::run_sent(const RunParameters& run, Timebase& timebase,
                               const BatchHooks& hooks) {
    FabricPath<Wait> path(endpoint_, options_, meeting_, traffic_of(run), interrupted_);
    Result result = run_test(path, control_, rank_, batch_, run, timebase, hooks);
    path.finish(deadline_of(run));
    return result;
}

template Result FabricSession::run_sent<FabricSpinning>(const RunParameters&, Timebase&,
                                                        const BatchHooks&);
template Result FabricSession::run_sent<FabricSleeping>(const RunParameters&, Timebase&,
                                                        const BatchHooks&);

} // namespace sonde
