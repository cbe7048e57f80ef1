// The timed loops over libfabric where messages are written into the other end's memory.
#include "test/run_test.hpp"
#include "transport/libfabric/write_path.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {

template <class Wait>
Result FabricSession::run_written(const RunParameters& run, Timebase& timebase,
                                  const BatchHooks& hooks) {
    FabricWritePath<Wait> path(endpoint_, options_, meeting_, traffic_of(run), interrupted_,
                               deadline_of(run));
    Result result = run_test(path, control_, rank_, batch_, run, timebase, hooks);
    path.finish(deadline_of(run));
    return result;
}

template Result FabricSession::run_written<FabricSpinning>(const RunParameters&, Timebase&,
                                                           const BatchHooks&);
template Result FabricSession::run_written<FabricSleeping>(const RunParameters&, Timebase&,
                                                           const BatchHooks&);

} // namespace sonde
