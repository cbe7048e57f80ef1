"""``netsonde model safe-window --program``: windows of programs that share a tree's uplinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.errors import UsageError
from netsonde.model.shared_uplinks import Flows, SharedUplinks, loads_of
from netsonde.model.windows import ranks_of
from netsonde.patterns import PATTERNS, flows_of
from netsonde.platforms import show
from netsonde.platforms.answers import Answer, in_words

USUAL_PATTERN = "alltoall"


@dataclass(frozen=True)
class Program:
    """``text`` is how it was named; its hosts in the order of their ranks."""

    text: str
    pattern: str
    hosts: tuple[str, ...]

    @property
    def flows(self) -> Flows:
        """Raises UsageError where the hosts do not fit the pattern."""
        pairs = flows_of(self.pattern, len(self.hosts))
        return frozenset((self.hosts[origin], self.hosts[target]) for origin, target in pairs)


def program_of(text: str, hosts: Sequence[str]) -> Program:
    """Of ``PATTERN=HOSTS`` or ``HOSTS``, whose hosts somebody has told apart. Raises UsageError."""
    pattern, equals, _ = text.rpartition("=")
    name = pattern if equals else USUAL_PATTERN
    if name not in PATTERNS:
        raise UsageError(f"--program {text}: {name} is none of {', '.join(PATTERNS)}")
    return Program(text, name, tuple(hosts))


def programs_answer(
    shape: tuple[int, ...], buffer_packets: int, programs: Sequence[Program]
) -> Answer:
    """Each program's window alone, and of all at once. Raises UsageError for another tree than one
    of two levels, and hosts that it has not or that two programs have."""
    if len(shape) != 2:
        raise UsageError("--program knows two levels of switches; give a tree such as 8x2")
    with in_words():
        ranks = ranks_of(shape)
        places = {f"h{n + 1}": f"switch {n // shape[0] + 1}" for n in range(ranks)}
        buffers = dict.fromkeys(places.values(), buffer_packets)
        together = SharedUplinks[str](places, buffers)
        alone: dict[str, int | None] = {}
        for program in programs:
            own = SharedUplinks[str](places, buffers)
            alone |= own.begin(program.text, program.flows)
            windows = together.begin(program.text, program.flows)
        loads = {p.text: loads_of(p.flows, places) for p in programs}
    tree = "x".join(map(str, shape))
    lines = [
        f"{tree} hosts, B_L {buffer_packets} packets of each uplink, answers counted",
        "",
        f"{'program':<40}{'nu':>8}{'W_g alone':>12}{'together':>12}",
    ]
    rows: list[dict[str, Any]] = []
    for program in programs:
        text = program.text
        most = max(loads[text].values(), default=0.0)
        said = ["any" if w is None else str(w) for w in (alone[text], windows[text])]
        lines.append(f"{text[:39]:<40}{most:>8.3f}{said[0]:>12}{said[1]:>12}")
        rows.append(
            {
                "program": text,
                "pattern": program.pattern,
                "hosts": list(program.hosts),
                "packets_per_step": most,
                "window_alone": alone[text],
                "window": windows[text],
            }
        )
    if any(window == 0 for window in windows.values()):
        lines += ["", *show.wrapped("0: no window is safe; a packet of each host is too much.")]
    return Answer(lines, {"tree": list(shape), "buffer_packets": buffer_packets, "programs": rows})
