// Time in which this process was not let run: it waited for a CPU, its group had used up
// what it may use of them, or somebody had stopped it.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "counters/parse.hpp"

namespace sonde {

// Before any thread is started: from now on it is known how often the process was continued after
// a stop. The signal still continues it, and nothing else is done about it.
void watch_stops();

// process.run_wait_ns: ready to run, without a CPU, this thread.
// process.continued: how often the process was continued, at least, since watch_stops().
// process.throttled_ns, .throttled_periods, .quota_periods: of the control groups it is in, all
// levels together; the last are the periods in which a quota was counted against.
// What the system does not tell is left out.
void add_withheld(CounterValues& values);

// cpu.quota_processors: the least that a control group of this process may use; left out where
// none is limited.
void add_quota(nlohmann::json& facts);

// One cpu.stat, of either version of control groups.
void parse_throttling(std::string_view text, CounterValues& values);

} // namespace sonde
