// What sonde-pvm does with its requests: it starts a daemon of PVM or joins one, meets another
// task, and batches run between the two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/guard.hpp"
#include "core/loop.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "transport/pvm/cleaner.hpp"
#include "transport/pvm/daemon.hpp"
#include "transport/pvm/library.hpp"
#include "worker/pvm_ends.hpp"

namespace sonde {

class PvmTask {
public:
    // All of them must outlive this.
    PvmTask(RecordWriter& records, Timebase& timebase, Guard& guard, const pvm::Cleaner& cleaner)
        : records_(records), timebase_(timebase), guard_(guard), cleaner_(cleaner) {}

    // By verb; they must not outlive this.
    [[nodiscard]] std::map<std::string, Handler> handlers();

private:
    nlohmann::json facts(Request& request);
    nlohmann::json snapshot(Request& request);
    static nlohmann::json sync(Request& request);
    nlohmann::json start_machine(Request& request);
    nlohmann::json await_host(Request& request);
    nlohmann::json add_host(Request& request);
    nlohmann::json start_daemon(Request& request);
    nlohmann::json join(Request& request);
    nlohmann::json tidy(Request& request);
    nlohmann::json listen(Request& request);
    nlohmann::json open(Request& request);
    nlohmann::json run(Request& request);
    nlohmann::json close(Request& request);

    nlohmann::json play(std::int64_t request, const RunParameters& run);
    pvm::Daemon& daemon();
    int own_task() const;
    [[nodiscard]] pvm::Patience patience(std::int64_t timeout_ns) const;
    [[nodiscard]] PvmSurroundings surroundings();
    [[nodiscard]] CounterValues daemon_counters() const;
    // What a failed call of the library was the consequence of.
    [[nodiscard]] Failure explained(const Failure& failure);
    // The guard's thread, where a call of the library cannot be called back.
    void give_up(std::int64_t request, const char* what);

    RecordWriter& records_;
    Timebase& timebase_;
    Guard& guard_;
    const pvm::Cleaner& cleaner_;
    std::optional<pvm::Daemon> daemon_;
    std::optional<pvm::Enrolment> enrolment_;
    std::string interface_;
    std::optional<PvmOptions> listening_;
    std::unique_ptr<PvmSession> session_;
};

} // namespace sonde
