// The timed loops over UDP: compiled for each way of waiting.
#include "test/run_test.hpp"
#include "transport/socket/kernel_times.hpp"
#include "transport/socket/udp_batch_path.hpp"
#include "transport/socket/udp_path.hpp"
#include "transport/socket/waits.hpp"
#include "worker/socket_session.hpp"

namespace sonde {

// Where the kernel stamps nothing the measurement goes on without.
template <class Wait>
Result SocketSession::run_udp_waiting(const RunParameters& run, Timebase& timebase,
                                      const BatchHooks& hooks) {
    const int asks = options_.asks_before_sleep.value_or(usual_asks);
    if (stamped_) {
        StampedPath<UdpPath<Wait, StampedReceiving>> path(test_.get(), run.count, interrupted_);
        return run_test(path, control_, rank_, batch_, run, timebase, hooks);
    }
    if (options_.datagrams_per_call > 1) {
        UdpBatchPath<Wait> path(test_.get(), interrupted_, run.message_bytes,
                                options_.datagrams_per_call, options_.segment_offload, asks);
        return run_test(path, control_, rank_, batch_, run, timebase, hooks);
    }
    UdpPath<Wait> path(test_.get(), interrupted_, asks);
    return run_test(path, control_, rank_, batch_, run, timebase, hooks);
}

Result SocketSession::run_udp(const RunParameters& run, Timebase& timebase,
                              const BatchHooks& hooks) {
    switch (options_.wait) {
    case Waiting::spin:
        return run_udp_waiting<SpinningWait>(run, timebase, hooks);
    case Waiting::ready:
        return run_udp_waiting<ReadinessWait>(run, timebase, hooks);
    case Waiting::block:
        break;
    }
    return run_udp_waiting<BlockingWait>(run, timebase, hooks);
}

} // namespace sonde
