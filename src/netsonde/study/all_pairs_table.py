"""The table ``all_pairs`` of a study: every host measures with every other, round by round."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from netsonde.study.values import Duration, Rate, Size
from netsonde.tables import Strict

Measure = Literal["latency", "one-way", "loss", "throughput"]
MEASURES: tuple[Measure, ...] = ("latency", "one-way", "loss", "throughput")
FOLLOW_UPS_MOST = 16


def _as_names(value: Any) -> Any:
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


Share = Annotated[float, Field(gt=0, le=10)]


class AllPairsTable(Strict):
    """A tournament of all hosts of the path, and what is named as slow.

    ``mode = "full"``: every pair meets once, N - 1 rounds of N hosts; ``group-testing``: ``rounds``
    random matchings, so that most pairs never meet, and hosts, switches and their links are still
    told apart. Where ``rounds`` is not given, they are three times log2 N, and up to four times as
    many where measurements scatter. ``rounds`` may shorten a full one, too.

    Of a pair, each of ``measures`` may take ``time``: ``latency``, round trips of UDP datagrams of
    ``latency_size``; ``loss``, datagrams of ``loss_size`` each way at ``loss_rate``, which must be
    far below what a link carries; ``one-way``, the delays of these same datagrams; ``throughput``,
    a TCP stream each way. ``at_once`` bounds how many pairs of a round are at it at the same time:
    all of them load the network as a parallel program does, one alone is not disturbed by others'
    traffic in the switches they share.

    What looks slow meets others in ``follow_ups`` further rounds before it is named. It is named
    where it is beyond chance (``false_alarms`` is the chance that a run without faults names
    anything) and beyond ``margin``, a share of the usual; losses beyond ``loss_margin``.
    ``topology`` is Slurm's topology.conf or a scenario of the lab; without one, and without tables
    ``switch``, groups of hosts are inferred (``infer``).
    """

    mode: Literal["full", "group-testing"] = "full"
    measures: Annotated[
        list[Measure], BeforeValidator(_as_names, json_schema_input_type=str | list[Measure])
    ] = Field(list(MEASURES), min_length=1, max_length=len(MEASURES))
    rounds: int | None = Field(None, ge=1, le=16384)
    time: Duration = 200_000_000
    at_once: int | None = Field(None, ge=1, le=16384)
    latency_size: Size = Field(16, ge=1, le=65507)
    loss_size: Size = Field(100, ge=8, le=65507)
    loss_rate: Rate = 1_000_000
    stream_size: Size = Field(16384, ge=1)
    follow_ups: int = Field(3, ge=0, le=FOLLOW_UPS_MOST)
    margin: Share = 0.25
    loss_margin: Annotated[float, Field(gt=0, lt=1)] = 0.003
    false_alarms: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    topology: str | None = None
    infer: bool = True
