// The timed loops over TCP: compiled for each way of sending and of waiting.
#include "core/failure.hpp"
#include "test/run_test.hpp"
#include "transport/socket/kernel_times.hpp"
#include "transport/socket/tcp_path.hpp"
#include "transport/socket/uring_path.hpp"
#include "transport/socket/waits.hpp"
#include "worker/socket_session.hpp"
#include "worker/tcp_info_observer.hpp"

namespace sonde {

template <class Path, class... Arguments>
Result SocketSession::run_tcp_by(const RunParameters& run, Timebase& timebase,
                                 const BatchHooks& hooks, const Arguments&... how) {
    Path path(test_.get(), interrupted_, how...);
    TcpInfoObserver observer(test_.get(), run.interval_ns,
                             run.count != 0 ? run.timeout_ns : run.duration_ns, timebase);
    Result result = run_test(path, control_, rank_, batch_, run, timebase, hooks, observer);
    const bool sends = run.test == Test::duplex || (run.test == Test::stream && rank_ == 0);
    if (sends) {
        observer.report(result, timebase);
    }
    return result;
}

// Where the kernel stamps nothing the measurement goes on without.
template <class Wait>
Result SocketSession::run_tcp_waiting(const RunParameters& run, Timebase& timebase,
                                      const BatchHooks& hooks) {
    if (stamped_) {
        StampedPath<TcpPath<Wait, CopySending, StampedReceiving>> path(test_.get(), run.count,
                                                                       interrupted_);
        return run_test(path, control_, rank_, batch_, run, timebase, hooks);
    }
    return run_tcp_by<TcpPath<Wait>>(run, timebase, hooks);
}

Result SocketSession::run_tcp(const RunParameters& run, Timebase& timebase,
                              const BatchHooks& hooks) {
    switch (options_.sending) {
    case SendingWay::sendfile:
        if (options_.file) {
            if (run.check_data) {
                throw Failure("bad_request", "request: check_data knows a message's own content, "
                                             "not that of a file");
            }
            const StoredFile file(*options_.file, run.message_bytes);
            return run_tcp_by<TcpPath<BlockingWait, StoredFileSending>>(run, timebase, hooks, file);
        }
        return run_tcp_by<TcpPath<BlockingWait, FileSending>>(run, timebase, hooks);
    case SendingWay::zerocopy:
        return run_tcp_by<TcpPath<BlockingWait, ZeroCopySending>>(run, timebase, hooks);
    case SendingWay::uring:
        return run_tcp_by<UringPath>(run, timebase, hooks);
    case SendingWay::copy:
        break;
    }
    switch (options_.wait) {
    case Waiting::spin:
        return run_tcp_waiting<SpinningWait>(run, timebase, hooks);
    case Waiting::ready:
        return run_tcp_waiting<ReadinessWait>(run, timebase, hooks);
    case Waiting::block:
        break;
    }
    return run_tcp_waiting<BlockingWait>(run, timebase, hooks);
}

} // namespace sonde
