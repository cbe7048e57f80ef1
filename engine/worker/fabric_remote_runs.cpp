// The timed loops over libfabric where one end acts and the other has memory.
#include "test/remote.hpp"
#include "transport/libfabric/remote_path.hpp"
#include "worker/fabric_session.hpp"

namespace sonde {

template <class Wait>
Result FabricSession::run_remote_memory(const RunParameters& run, Timebase& timebase,
                                        const BatchHooks& hooks) {
    FabricRemotePath<Wait> path(endpoint_, options_, meeting_, run.message_bytes, run.seed,
                                interrupted_, deadline_of(run));
    Result result = run_remote(path, control_, rank_, batch_, run, timebase, hooks);
    path.finish(deadline_of(run));
    return result;
}

template Result FabricSession::run_remote_memory<FabricSpinning>(const RunParameters&, Timebase&,
                                                                 const BatchHooks&);
template Result FabricSession::run_remote_memory<FabricSleeping>(const RunParameters&, Timebase&,
                                                                 const BatchHooks&);

} // namespace sonde
