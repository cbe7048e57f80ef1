"""What disturbance, memory, threads and HINT mean for who measures there: a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.host_benchmarks.judge import Judgement
from netsonde.host_benchmarks.plan import short_time
from netsonde.host_benchmarks.work_figures import NoiseFigures, WorkTables

QUIET_SHARE = 0.001
BUSY_SHARE = 0.01
SLOW_WAKE_NS = 20_000.0
FAST_LINK_BYTE_PER_S = 12.5e9
"""100 Gbit/s."""


def judge_work(tables: WorkTables) -> list[Judgement]:
    """What stands out."""
    return [*_alone(tables), *_memory(tables), *_hint(tables)]


def _alone(tables: WorkTables) -> Iterator[Judgement]:
    if tables.noise is not None:
        yield _noise(tables.noise)
    switches = tables.context_switches
    wake_ns = (switches.wake_ns or 0.0) if switches is not None else 0.0
    if wake_ns > SLOW_WAKE_NS:
        yield Judgement(
            "note",
            f"Waking a thread of another CPU takes {short_time(wake_ns)}: "
            "an idle CPU sleeps deeply here, or a hypervisor wakes it. "
            "Every message to a program that waits in a blocking call pays for that.",
        )


def _hint(tables: WorkTables) -> Iterator[Judgement]:
    for hint in tables.hint:
        if not hint.bounds_hold and hint.number != "float":
            words = f"HINT with {hint.number} lost its bounds"
            yield Judgement("bad", f"{words}: this CPU computes something wrong.")


def _noise(noise: NoiseFigures) -> Judgement:
    if noise.detours is None:
        return Judgement("good", "Nothing disturbed the work by a microsecond or more.")
    words = (
        f"{noise.share:.2%} of the time went elsewhere, {noise.detours_per_s:.0f} times a second, "
        f"for {short_time(noise.detours.median_ns)} (median) and "
        f"{short_time(noise.detours.max_ns)} at most"
    )
    if noise.share >= BUSY_SHARE:
        return Judgement(
            "warning",
            f"{words}: other programs or a hypervisor take this CPU, "
            "and times of single messages will show it.",
        )
    return Judgement("good" if noise.share < QUIET_SHARE else "note", f"{words}.")


def _memory(tables: WorkTables) -> Iterator[Judgement]:
    cold = [copy for copy in tables.copies if copy.kind == "memory to memory"]
    large = max(cold, key=lambda copy: copy.size_bytes, default=None)
    if large is not None and large.byte_per_s < FAST_LINK_BYTE_PER_S:
        yield Judgement(
            "note",
            f"One core copies from memory to memory at {large.byte_per_s / 1e9:.2f} GB/s, "
            f"{large.byte_per_s * 8 / 1e9:.0f} Gbit/s: a stream that is copied once at this host "
            "cannot be faster with one core.",
        )
