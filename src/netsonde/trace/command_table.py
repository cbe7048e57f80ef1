"""What the system did while a command ran, in 80 columns."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsonde.trace.names import (
    IDLE_KINDS,
    PROCESSOR_KINDS,
    is_loss,
    is_part_of_another,
    split_interface,
)
from netsonde.trace.request import CommandUse
from netsonde.trace.series import Trace, load_trace

WIDTH = 80
INTERRUPTS_SHOWN = 6
MOVED_SHOWN = 8
LEAST_COUNTED = 20
LEAST_TIMES = 3.0
"""What moved has counted so often, and so many times what is usual."""


@dataclass(frozen=True)
class Counted:
    """One counter while the command ran. usual_per_s: its mean from the start of the host to that
    of the command. is_whole: no part of it is unknown."""

    name: str
    amount: float
    per_s: float
    usual_per_s: float
    is_whole: bool = True

    @property
    def times_usual(self) -> float:
        """How many times the usual, each count raised by one: few do not look like many then."""
        expected = self.usual_per_s * self.amount / self.per_s if self.per_s > 0 else 0.0
        return (self.amount + 1) / (expected + 1)


def command_table(folder: Path, use: CommandUse) -> str:
    """Raises UsageError where the trace cannot be read."""
    trace = load_trace(folder)
    counted = all_counted(trace)
    command = shlex.join(str(word) for word in trace.about.get("command", ()))
    command = "".join(c if c.isprintable() else "?" for c in command)
    elapsed_s = float(trace.since_ns[-1] - trace.since_ns[0]) / 1e9
    lines = ["", _cut(command, WIDTH), *_own_lines(use, elapsed_s), ""]
    lines += processor_lines(counted)
    lines += ["", *interface_lines(counted)]
    lines += _interrupt_lines(counted)
    lines += _loss_lines(counted)
    lines += _moved_lines(counted)
    if trace.missing:
        lines += ["", *_wrapped("not on this host: " + ", ".join(sorted(trace.missing)))]
    lines += [f"netsonde: {problem}" for problem in trace.problems]
    return "\n".join(lines)


def all_counted(trace: Trace) -> dict[str, Counted]:
    """Every counter that only counts up and was there."""
    elapsed_s = float(trace.since_ns[-1] - trace.since_ns[0]) / 1e9
    uptime_s = float(trace.about.get("begin_ns", 0)) / 1e9
    found = {}
    for name, column in trace.columns.items():
        if column.counter.kind != "c":
            continue
        increments = trace.increments(name)
        if increments is None or np.isnan(increments.amounts).all():
            continue
        amount = float(np.nansum(increments.amounts))
        first = float(column.values[0]) if column.present[0] else 0.0
        found[name] = Counted(
            name,
            amount,
            amount / elapsed_s if elapsed_s > 0 else 0.0,
            max(0.0, first) / uptime_s if uptime_s > 0 else 0.0,
            not np.isnan(increments.amounts).any(),
        )
    return found


def _own_lines(use: CommandUse, elapsed_s: float) -> list[str]:
    cpu_s = (use.user_us + use.system_us) / 1e6
    share = cpu_s / elapsed_s if elapsed_s > 0 else 0.0
    return [
        f"ended with {use.exit_code} after {elapsed_s:.3f} s",
        "",
        f"itself      {use.user_us / 1e6:.3f} s user, {use.system_us / 1e6:.3f} s system: "
        f"{share:.0%} of one CPU",
        f"            {use.voluntary_switches} switches by waiting, "
        f"{use.involuntary_switches} forced; page faults {use.minor_faults}, "
        f"from disk {use.major_faults}",
        f"            {use.most_resident_bytes / 1e6:.1f} MB of memory at most",
    ]


def processor_shares(counted: dict[str, Counted], cpu: str) -> dict[str, float]:
    """Shares of a CPU's time by kind; ``all`` is all of them together. Empty where the system
    does not tell."""
    spent = {
        kind: counted[f"cpu.{cpu}.{kind}"].amount
        for kind in PROCESSOR_KINDS
        if f"cpu.{cpu}.{kind}" in counted
    }
    total = sum(spent.values())
    return {kind: amount / total for kind, amount in spent.items()} if total > 0 else {}


def processor_lines(counted: dict[str, Counted]) -> list[str]:
    shares = processor_shares(counted, "all")
    if not shares:
        return ["CPUs        too short a time to tell: the kernel counts in hundredths of a second"]
    cpus = sorted(
        {int(n.split(".")[1]) for n in counted if n.startswith("cpu.") and n[4].isdigit()}
    )
    busy = {cpu: _busy(processor_shares(counted, str(cpu))) for cpu in cpus}
    by_kind = ", ".join(f"{kind} {shares.get(kind, 0):.1%}" for kind in PROCESSOR_KINDS[:3])
    rest = ", ".join(
        f"{kind} {shares.get(kind, 0):.1%}" for kind in ("irq", "softirq", "steal", "iowait")
    )
    lines = [
        f"CPUs        {len(cpus)}, busy {_busy(shares):.1%}: {by_kind}",
        f"            {rest}",
    ]
    if busy:
        most = max(busy, key=lambda cpu: busy[cpu])
        lines.append(f"            the busiest: {most}, {busy[most]:.1%}")
    rates = [
        f"{counted[name].per_s:,.0f} {words} a second"
        for name, words in (
            ("system.interrupts", "interrupts"),
            ("system.context_switches", "context switches"),
        )
        if name in counted
    ]
    return [*lines, "            " + ", ".join(rates)] if rates else lines


def _busy(shares: dict[str, float]) -> float:
    return sum(share for kind, share in shares.items() if kind not in IDLE_KINDS)


def interface_lines(counted: dict[str, Counted]) -> list[str]:
    """Packets and bytes of each interface that moved any."""
    found: dict[str, dict[str, Counted]] = {}
    for name, one in counted.items():
        place = split_interface(name)
        if place is not None:
            found.setdefault(place[0], {})[place[1]] = one
    if not found:
        return []
    lines = [
        f"{'interface':<14}{'in packets':>12}{'in bytes':>15}{'out packets':>13}{'out bytes':>15}"
        f"{'dropped':>9}"
    ]
    moved = False
    for interface in sorted(found):
        of = found[interface]
        cells = [_amount(of.get(n)) for n in ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")]
        lost = sum(of[n].amount for n in ("rx_dropped", "tx_dropped") if n in of)
        if any(cell not in ("0", "?") for cell in cells):
            moved = True
            lines.append(
                f"{_cut(interface, 13):<14}{cells[0]:>12}{cells[1]:>15}{cells[2]:>13}{cells[3]:>15}"
                f"{lost:>9.0f}"
            )
    return lines if moved else ["no interface moved a packet"]


def _amount(one: Counted | None) -> str:
    if one is None:
        return "?"
    return f"{one.amount:.0f}" if one.is_whole else f">{one.amount:.0f}"


def _interrupt_lines(counted: dict[str, Counted]) -> list[str]:
    devices = [
        one
        for name, one in counted.items()
        if name.startswith("interrupt.") and one.amount > 0 and not name[10:].isupper()
    ]
    if not devices:
        return []
    devices.sort(key=lambda one: -one.amount)
    lines = ["", f"{'interrupts of':<36}{'counted':>14}{'a second':>14}   most on"]
    for one in devices[:INTERRUPTS_SHOWN]:
        device = one.name.removeprefix("interrupt.")
        by_cpu = {
            name.split(".", 2)[1]: other.amount
            for name, other in counted.items()
            if name.startswith("interrupt_cpu.") and name.split(".", 2)[2] == device
        }
        most = max(by_cpu, key=lambda cpu: by_cpu[cpu]) if by_cpu else "?"
        lines.append(f"{_cut(device, 35):<36}{one.amount:>14.0f}{one.per_s:>14.1f}   {most}")
    return lines


def _loss_lines(counted: dict[str, Counted]) -> list[str]:
    lost = [one for name, one in counted.items() if is_loss(name) and one.amount > 0]
    if not lost:
        return ["", "nothing was dropped or retransmitted"]
    lost.sort(key=lambda one: -one.amount)
    return [
        "",
        f"{'dropped, retransmitted, swapped':<50}{'counted':>14}{'a second':>14}",
        *(f"{_cut(one.name, 49):<50}{one.amount:>14.0f}{one.per_s:>14.1f}" for one in lost),
    ]


def moved_most(counted: dict[str, Counted]) -> list[Counted]:
    """What counted far more than it usually does, the furthest first."""
    found = [
        one
        for name, one in counted.items()
        if not is_part_of_another(name)
        and one.amount >= LEAST_COUNTED
        and one.times_usual >= LEAST_TIMES
    ]
    return sorted(found, key=lambda one: -one.times_usual)


def _moved_lines(counted: dict[str, Counted]) -> list[str]:
    found = moved_most(counted)
    if not found:
        return ["", "nothing moved far more than it usually does"]
    lines = ["", f"{'far more than usual':<38}{'counted':>14}{'a second':>14}{'usually':>13}"]
    lines += [
        f"{_cut(one.name, 37):<38}{one.amount:>14.0f}{one.per_s:>14.1f}{one.usual_per_s:>13.3g}"
        for one in found[:MOVED_SHOWN]
    ]
    if len(found) > MOVED_SHOWN:
        lines.append(f"and {len(found) - MOVED_SHOWN} more")
    return lines


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(text, WIDTH)
