"""What is to be measured of a host, checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.errors import UsageError
from netsonde.units import format_time, parse_duration_ns

CLOCKS = {
    "counter": "counter",
    "monotonic": "CLOCK_MONOTONIC",
    "monotonic_raw": "CLOCK_MONOTONIC_RAW",
    "monotonic_coarse": "CLOCK_MONOTONIC_COARSE",
    "realtime": "CLOCK_REALTIME",
    "realtime_coarse": "CLOCK_REALTIME_COARSE",
    "gettimeofday": "gettimeofday",
    "process_cputime": "CLOCK_PROCESS_CPUTIME_ID",
    "thread_cputime": "CLOCK_THREAD_CPUTIME_ID",
    "system_call": "(a system call)",
}
"""The clocks that a worker reads, and how people know them. The last is CLOCK_MONOTONIC asked of
the kernel, to compare with."""
NOTHING = "nothing"
"""What a worker calls its own clock alone, without another one read in between."""
CALL_UNITS_NS = {
    "nanosleep": 1,
    "usleep": 1000,
    "clock_nanosleep": 1,
    "select": 1000,
    "poll": 1_000_000,
}
"""The calls that sleep, and what their argument counts in, in ns."""
READINGS = 100_000
READINGS_LIMIT = 1_000_000
SLEEPS = "0,1us,10us,10ms,100ms"
COUNT = 100
COUNT_LIMIT = 10_000
SLEEPS_LIMIT = 20
LONGEST_SLEEP_NS = 10**9
LONGEST_WHOLE_NS = 600 * 10**9
NO_SLEEPS = "none"


@dataclass(frozen=True)
class HostPlan:
    """How often each clock is read, and how often each of the sleeps (call, ns) is slept."""

    readings: int
    count: int
    sleeps: tuple[tuple[str, int], ...]

    @property
    def asked_ns(self) -> int:
        """All sleeps together, if none were longer than asked."""
        return self.count * sum(asked_ns for _, asked_ns in self.sleeps)


PARTS = ("clocks", "sleeps", "noise", "copies", "threads", "hint", "kernel", "ceiling")
"""What ``netsonde host`` can measure; all of it unless some are named."""
QUANTUM_NS = 10_000
NOISE = "3s"
LONGEST_NOISE_NS = 10 * 10**9
HINT_SUBINTERVALS = 1 << 21
"""84 MB with numbers of 8 bytes: beyond the caches of nearly all CPUs."""


@dataclass(frozen=True)
class WorkPlan:
    """What a host does by itself beside clocks and sleeps; 0 or False where it is not asked for."""

    quantum_ns: int
    noise_quanta: int
    copies: bool
    threads: bool
    hint_subintervals: int

    @property
    def is_empty(self) -> bool:
        return not (self.noise_quanta or self.copies or self.threads or self.hint_subintervals)


def make_work_plan(only: str | None, noise: str | None) -> WorkPlan:
    """The plan that ``--only`` and ``--noise`` mean; None where one was not given. UsageError."""
    parts = parse_parts(only)
    if noise is not None and "noise" not in parts:
        raise UsageError(f"--noise {noise} is for noise, and --only {only} does not name it")
    length_ns = parse_duration_ns(NOISE if noise is None else noise)
    if not QUANTUM_NS <= length_ns <= LONGEST_NOISE_NS:
        raise UsageError(
            f"--noise {noise} is not between {short_time(QUANTUM_NS)} and "
            f"{short_time(LONGEST_NOISE_NS)}"
        )
    return WorkPlan(
        QUANTUM_NS,
        length_ns // QUANTUM_NS if "noise" in parts else 0,
        "copies" in parts,
        "threads" in parts,
        HINT_SUBINTERVALS if "hint" in parts else 0,
    )


def parse_parts(only: str | None) -> tuple[str, ...]:
    """The parts that ``--only`` names, in the order of ``PARTS``; all without it. UsageError."""
    if only is None:
        return PARTS
    named = [part.strip() for part in only.split(",")]
    for part in named:
        if part not in PARTS:
            raise UsageError(f"--only {part!r} is none of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in named)


def make_plan(readings: int, sleeps: str | None, count: int | None, calls: str | None) -> HostPlan:
    """The plan that the options of ``netsonde host`` mean; None where one was not given.

    Calls of a coarser unit are left out where a sleep is no whole number of it. Raises UsageError
    with one sentence that names the options.
    """
    if not 1 <= readings <= READINGS_LIMIT:
        raise UsageError(f"--readings {readings} is not between 1 and {READINGS_LIMIT}")
    if sleeps is not None and sleeps.strip() == NO_SLEEPS:
        for name, value in (("--count", count), ("--calls", calls)):
            if value is not None:
                raise UsageError(f"{name} {value} is for sleeps, and --sleeps none asks for none")
        return HostPlan(readings, 0, ())
    repeated = COUNT if count is None else count
    if not 1 <= repeated <= COUNT_LIMIT:
        raise UsageError(f"--count {repeated} is not between 1 and {COUNT_LIMIT}")
    wanted_ns = _sleeps_ns(SLEEPS if sleeps is None else sleeps)
    wanted_calls = list(CALL_UNITS_NS) if calls is None else _calls(calls)
    pairs = tuple(
        (call, asked_ns)
        for call in wanted_calls
        for asked_ns in wanted_ns
        if asked_ns % CALL_UNITS_NS[call] == 0
    )
    if not pairs:
        raise UsageError(
            f"--calls {calls} cannot sleep for any of --sleeps {sleeps or SLEEPS}: "
            + ", ".join(f"{c} counts in {short_time(CALL_UNITS_NS[c])}" for c in wanted_calls)
        )
    plan = HostPlan(readings, repeated, pairs)
    if plan.asked_ns > LONGEST_WHOLE_NS:
        raise UsageError(
            f"--sleeps {sleeps or SLEEPS} with --count {repeated} would sleep for "
            f"{format_time(plan.asked_ns)}; {LONGEST_WHOLE_NS // 10**9} s are the most"
        )
    return plan


def short_time(time_ns: float) -> str:
    """A time in its unit without the zeros of a measured one: 10000 ns -> ``10 µs``; ``0``."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if time_ns >= scale:
            return f"{time_ns / scale:.4g} {unit}"
    return f"{time_ns:.4g} ns" if time_ns else "0"


def _sleeps_ns(text: str) -> list[int]:
    try:
        found = [parse_duration_ns(part) for part in text.split(",")]
    except UsageError as error:
        raise UsageError(f"--sleeps {text}: {error}") from error
    if len(found) > SLEEPS_LIMIT:
        raise UsageError(f"--sleeps names {len(found)} sleeps; {SLEEPS_LIMIT} are the most")
    for sleep_ns in found:
        if sleep_ns > LONGEST_SLEEP_NS:
            raise UsageError(
                f"--sleeps {text}: {format_time(sleep_ns)} is longer than the most, "
                f"{format_time(LONGEST_SLEEP_NS)}"
            )
    return list(dict.fromkeys(found))


def _calls(text: str) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for call in found:
        if call not in CALL_UNITS_NS:
            raise UsageError(f"--calls {call!r} is none of {', '.join(CALL_UNITS_NS)}")
    return list(dict.fromkeys(found))
