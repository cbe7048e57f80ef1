// The verbs that measure this host alone: clocks, sleeps, disturbance, memory, threads; and those
// that give it other work.
#pragma once

#include <memory>

#include <nlohmann/json.hpp>

#include "core/clock.hpp"
#include "core/guard.hpp"
#include "core/records.hpp"
#include "core/request.hpp"
#include "host_benchmarks/burner.hpp"

namespace sonde {

// `read_clock`: writes the series call_ns; the values say by how much the clock steps.
[[nodiscard]] nlohmann::json answer_read_clock(Request& request, RecordWriter& records,
                                               Timebase& timebase, Guard& guard);

// `sleep`: writes the series slept_ns.
[[nodiscard]] nlohmann::json answer_sleep(Request& request, RecordWriter& records, Guard& guard);

// `work`: a fixed amount of work again and again; writes the series quantum_ns.
[[nodiscard]] nlohmann::json answer_work(Request& request, RecordWriter& records,
                                         Timebase& timebase, Guard& guard);

// `copy`: memory to memory; writes the series copies_ns.
[[nodiscard]] nlohmann::json answer_copy(Request& request, RecordWriter& records,
                                         Timebase& timebase, Guard& guard);

// `hand_over`: a byte goes round between two threads; writes the series round_trip_ns.
[[nodiscard]] nlohmann::json answer_hand_off(Request& request, RecordWriter& records, Guard& guard);

// `hint`: HINT for growing numbers of subintervals; writes one value of each series for each.
[[nodiscard]] nlohmann::json answer_hint(Request& request, RecordWriter& records, Guard& guard);

// `burn`: other work begins, in threads of its own, and lasts until `rest` or the time given.
[[nodiscard]] nlohmann::json answer_burn(Request& request, std::unique_ptr<Burner>& burner);

// `rest`: the work ends; writes the series cpu, processor_ns and lasted_ns, a value for each
// CPU.
[[nodiscard]] nlohmann::json answer_rest(Request& request, RecordWriter& records,
                                         std::unique_ptr<Burner>& burner);

} // namespace sonde
