// What sonde-worker does with its requests: it opens a transport, and batches run over it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/exclusion.hpp"
#include "core/failure.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "counters/snapshot.hpp"
#include "host_benchmarks/burner.hpp"
#include "test/result.hpp"
#include "test/run_parameters.hpp"
#include "test/run_test.hpp"
#include "worker/asked_kernel_trace.hpp"
#include "worker/session.hpp"
#include "worker/transports.hpp"

namespace sonde {

class Worker {
public:
    // known: what can be opened, normally worker_transports(). All of them must outlive this.
    Worker(RecordWriter& records, Timebase& timebase, Guard& guard,
           std::span<const WorkerTransport> known)
        : records_(records), timebase_(timebase), guard_(guard), known_(known) {}

    // By verb; they must not outlive this.
    [[nodiscard]] std::map<std::string, Handler> handlers();

private:
    nlohmann::json facts(Request& request);
    nlohmann::json snapshot(Request& request);
    static nlohmann::json sync(Request& request);
    nlohmann::json listen(Request& request);
    nlohmann::json open(Request& request);
    nlohmann::json open_target(Fields& fields);
    nlohmann::json open_at_once(const Opening<Session>& opening);
    nlohmann::json opened(const std::function<std::unique_ptr<Session>()>& open);
    nlohmann::json run(Request& request);
    nlohmann::json generate(Request& request);
    template <class End, class Play>
    nlohmann::json traced(std::int64_t request, const RunParameters& parameters, End& end,
                          Play play);
    nlohmann::json close(Request& request);

    // A run that failed leaves messages on their way: nothing more can be measured over it.
    [[noreturn]] void fail(const Failure& failure);
    // An interruption shows as a failed call; this says what interrupted it.
    [[nodiscard]] Failure explained(const Failure& failure) const;
    void close_all();
    [[nodiscard]] OwnTraffic own_traffic() const;

    struct Trace {
        Snapshot before;
        Snapshot after;
    };

    RecordWriter& records_;
    Timebase& timebase_;
    Guard& guard_;
    std::span<const WorkerTransport> known_;
    std::unique_ptr<ListeningEnd> listener_;
    std::optional<Guard::Watch> listening_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<Burner> burner_;
    std::unique_ptr<Exclusion> claimed_;
    AskedKernelTrace kernel_trace_;
    Trace trace_;
};

} // namespace sonde
