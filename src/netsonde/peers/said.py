"""A figure as another tool says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netsonde.published import content_of

METHODS = {
    "iperf3": "other-tools#iperf3",
    "netperf": "other-tools#netperf",
    "sockperf": "other-tools#sockperf",
    "netpipe": "other-tools#netpipe",
    "osu": "other-tools#osu-micro-benchmarks",
    "imb": "other-tools#intel-mpi-benchmarks",
    "pmb": "other-tools#pallas-mpi-benchmarks",
    "skampi": "other-tools#skampi",
    "mpptest": "other-tools#mpptest",
    "mpbench": "other-tools#mpbench",
    "reprompi": "other-tools#reprompi",
    "mpibench": "other-tools#mpibench",
}
"""Where each tool's figures are explained."""


@dataclass(frozen=True)
class Told:
    """One figure as a tool defines it.

    ``name`` and ``value`` are in netsonde's units, the name begins with the tool's. ``words`` is
    what the tool would print, in its unit. ``beside`` names netsonde's figure of the same thing,
    and ``why`` says in one sentence how they differ.
    """

    name: str
    value: float
    samples: int
    words: str
    beside: str
    why: str


def tell(
    name: str,
    value: float,
    samples: int,
    words: str,
    *,
    differs: str | None = None,
    beside: str | None = None,
    **filled: object,
) -> Told:
    """A figure with what ``said.toml`` has of it: netsonde's beside it, and how they differ.

    ``differs``: the name there, where it is not the figure's. ``beside``: netsonde's figure, where
    it goes with the point. ``filled``: what stands in the sentence.
    """
    known = _sentences()[differs or name]
    return Told(
        name, value, samples, words, beside or known["beside"], known["why"].format(**filled)
    )


def what_remains(tool: str, transport: str, test: str) -> str:
    """How netsonde's way of measuring as the tool does is not the tool's; empty where it is."""
    said = _sentences()
    return str(said["remains"].get(f"{tool} {transport} {test}", "")).format(**said["shared"])


def _sentences() -> dict[str, Any]:
    return content_of("netsonde.peers", "said.toml")
