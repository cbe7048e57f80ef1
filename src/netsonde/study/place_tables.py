"""Tables of a study that say where it is measured: ``path`` and ``lab``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.catalogue.launcher import AUTO, HERE, default_launcher, starters
from netsonde.catalogue.options.commands import PATH
from netsonde.hosts import LauncherName, split_hosts
from netsonde.launch.nodes import HOSTS_LIMIT
from netsonde.study.mpi_table import HostNames
from netsonde.study.values import Rate, Size, of
from netsonde.tables import Strict, text_by


@text_by
def _as_pair(value: str) -> tuple[str, ...]:
    """``n1,n2``, ``node[1-2]`` or ``lab:h1,h2``."""
    names = split_hosts(value)
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"{value!r} is not two hosts; write n1,n2 or node[1-2]")
    return tuple(names)


HostPair = Annotated[
    tuple[str, str], BeforeValidator(_as_pair, json_schema_input_type=str | tuple[str, str])
]


class LabTable(Strict):
    """The emulated cluster to measure on: ``scenario``, a file or preset, or what a
    plain one has."""

    scenario: str | None = Field(
        None, description="A scenario's file or preset, in place of the keys below."
    )
    hosts: int = Field(2, ge=1, le=64, description="How many hosts the lab has.")
    rate: Rate | None = Field(10**9, description="Rate of each host's link, such as '1G'.")
    buffer: Size = Field(256 * 1024, description="Buffer of the switch, for each link.")
    burst: Size | None = Field(None, description="Bytes that a link lets pass at once.")

    @model_validator(mode="after")
    def _one_of_both(self) -> LabTable:
        beside = self.model_fields_set - {"scenario"}
        plain = LabTable.model_fields
        differing = [n for n in sorted(beside) if getattr(self, n) != plain[n].default]
        if self.scenario is not None and differing:
            raise ValueError(f"{differing[0]} and a scenario do not go together; write it in there")
        return self


class PathTable(Strict):
    """What lies between the ends: ``auto`` is the lab, or loopback where no lab can be had.

    ``hosts`` are those of patterns (incast and the like), in order. ``between``: pairs of hosts,
    each of which every point is measured between; up to ``concurrent`` of them at the same time,
    where they have no host in common and no uplink that the study describes. Of these,
    Of these, and of patterns and MPI programs,
    ``on_dead_host`` drops one that nothing can be started on, and its points, or stops; ``shrink``
    measures patterns and MPI programs on the hosts that are left, too.
    ``rate`` is what the path carries, where nobody could read it (loopback, a tunnel, a slower
    link beyond the first switch).
    ``forget`` empties what both kernels remember of earlier TCP connections before each point.
    ``launcher`` is what starts processes on hosts: ``auto`` is the batch system's for nodes of the
    job that netsonde is in, and ssh for others.
    """

    kind: Literal["auto", "lab", "loopback", "hosts"] = Field(
        "auto", description="A lab, loopback, hosts that are named, or what can be had."
    )
    origin: str = of(PATH["origin"])
    target: str = Field(HERE.word, description="The host that answers.")
    hosts: HostNames = Field(
        [],
        max_length=HOSTS_LIMIT,
        description="Hosts of incast and other patterns, in order; also sets such as 'node[1-8]'.",
    )
    between: list[HostPair] = Field(
        [],
        max_length=4096,
        description="Pairs of hosts, such as 'node[1-2]': every point is measured between each.",
    )
    concurrent: int = Field(
        1,
        ge=1,
        le=1024,
        description="How many pairs are measured at once, where they share no host and no uplink.",
    )
    on_dead_host: Literal["drop", "shrink", "stop"] = Field(
        "drop",
        description="A host that nothing can be started on: drop it, go on with fewer, or stop.",
    )
    family: Literal["ipv4", "ipv6"] = of(PATH["family"])
    rate: Rate | None = of(PATH["rate"])
    forget: bool = of(PATH["forget"], False)
    launcher: LauncherName = Field(
        AUTO,
        description=f"What starts processes on hosts; auto: {starters()} on nodes of the job, "
        f"else {default_launcher().needs}.",
    )

    @property
    def between_hosts(self) -> list[str]:
        """Every host of ``between``, once."""
        return list(dict.fromkeys(name for pair in self.between for name in pair))

    @model_validator(mode="after")
    def _pairs_possible(self) -> PathTable:
        if self.between and self.kind == "loopback":
            raise ValueError("between names hosts, and kind = 'loopback' has this one only")
        if self.between and self.hosts:
            raise ValueError("between and hosts both say who takes part; leave out one")
        if len(set(self.between)) < len(self.between):
            raise ValueError("between has a pair twice")
        if self.concurrent > 1 and not self.between:
            raise ValueError(
                "concurrent goes with between: points of one pair of hosts disturb each other"
            )
        return self
