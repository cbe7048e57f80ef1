"""Keys of a scenario that may be swept by a short name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SweptKey:
    """``key`` is the scenario's in full. ``is_choice``: who runs a cluster may set it to be faster;
    other keys say what has to be done, or over which lines, and points that differ in one of them
    are no alternatives to each other."""

    name: str
    key: str
    is_choice: bool = False


_TRANSPORT, _WORKLOAD = "simulation.transport.", "simulation.workload."
KEYS: tuple[SweptKey, ...] = (
    SweptKey("hosts", "hosts"),
    SweptKey("seed", "seed"),
    SweptKey("rate", "link.rate"),
    SweptKey("delay", "link.delay"),
    SweptKey("loss", "link.loss"),
    SweptKey("buffer", "switch.0.buffer", is_choice=True),
    SweptKey("switch", "switch.0.preset", is_choice=True),
    SweptKey("architecture", "switch.0.architecture", is_choice=True),
    SweptKey("window", f"{_TRANSPORT}window", is_choice=True),
    SweptKey("global_window", f"{_TRANSPORT}global_window", is_choice=True),
    SweptKey("timeout", f"{_TRANSPORT}timeout", is_choice=True),
    SweptKey("timeout_slots", f"{_TRANSPORT}timeout_slots", is_choice=True),
    SweptKey("acknowledge", f"{_TRANSPORT}acknowledge", is_choice=True),
    SweptKey("fast_retransmit", f"{_TRANSPORT}fast_retransmit", is_choice=True),
    SweptKey("transport", f"{_TRANSPORT}kind", is_choice=True),
    SweptKey("senders", f"{_WORKLOAD}senders"),
    SweptKey("packets", f"{_WORKLOAD}packets"),
    SweptKey("payload", f"{_WORKLOAD}payload"),
    SweptKey("load", f"{_WORKLOAD}load"),
    SweptKey("algorithm", f"{_WORKLOAD}algorithm", is_choice=True),
    SweptKey("block", f"{_WORKLOAD}block"),
    SweptKey("block_packets", f"{_WORKLOAD}block_packets"),
    SweptKey("fan_out", f"{_WORKLOAD}fan_out"),
    SweptKey("permutation", f"{_WORKLOAD}permutation", is_choice=True),
    SweptKey("remap", f"{_WORKLOAD}remap", is_choice=True),
)
_ROWS = {name: row for row in KEYS for name in (row.name, row.key)}
_GIVEN = ("link.", _WORKLOAD, "simulation.runs")


def is_choice(name: str) -> bool:
    """Of a key by its short name or in full. One without a row is a choice unless it is of the
    links, of the workload or of how often it is played."""
    row = _ROWS.get(name)
    return row.is_choice if row is not None else not name.startswith(_GIVEN)
