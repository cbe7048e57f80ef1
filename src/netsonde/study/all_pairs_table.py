"""The table ``tournament`` of a study: every host measures with every other, round by round."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from netsonde.study.values import Duration, Rate, Size, as_names
from netsonde.tables import Strict

Measure = Literal["latency", "one-way", "loss", "throughput"]
MEASURES: tuple[Measure, ...] = ("latency", "one-way", "loss", "throughput")
FOLLOW_UPS_MOST = 16


Share = Annotated[float, Field(gt=0, le=10)]


class TournamentTable(Strict):
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

    mode: Literal["full", "group-testing"] = Field(
        "full", description="Every pair once, or random matchings."
    )
    measures: Annotated[
        list[Measure], BeforeValidator(as_names, json_schema_input_type=str | list[Measure])
    ] = Field(
        list(MEASURES),
        min_length=1,
        max_length=len(MEASURES),
        description="What is measured of each pair: latency, one-way, loss, throughput.",
    )
    rounds: int | None = Field(
        None, ge=1, le=16384, description="How many rounds are measured, in place of all."
    )
    time: Duration = Field(200_000_000, description="Time of each measure of a pair.")
    at_once: int | None = Field(
        None, ge=1, le=16384, description="How many pairs of a round are measured at the same time."
    )
    latency_size: Size = Field(16, ge=1, le=65507, description="Size of a datagram of latency.")
    loss_size: Size = Field(
        100, ge=8, le=65507, description="Size of a datagram of loss and one-way."
    )
    loss_rate: Rate = Field(
        1_000_000, description="Rate of these datagrams, far below what a link carries."
    )
    stream_size: Size = Field(16384, ge=1, description="Size of a message of throughput.")
    follow_ups: int = Field(
        3, ge=0, le=FOLLOW_UPS_MOST, description="How many further rounds measure what looks slow."
    )
    margin: Share = Field(0.25, description="A share of the usual that is no fault.")
    loss_margin: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.003, description="Share of lost datagrams that is no fault."
    )
    false_alarms: Annotated[float, Field(gt=0, lt=0.5)] = Field(
        0.05, description="The chance that a run without faults names anything."
    )
    topology: str | None = Field(None, description="Slurm's topology.conf or a lab's scenario.")
    infer: bool = Field(
        True, description="Whether groups of hosts are found where nobody describes them."
    )
