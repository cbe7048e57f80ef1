"""What ``netsonde watch`` was asked for, and what it would take of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from netsonde.catalogue.launcher import HERE
from netsonde.endpoint import Listen
from netsonde.errors import UsageError
from netsonde.study.estimate import Estimate, estimate
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec, parse_study
from netsonde.units import format_bytes, format_duration

SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS
USUAL_STUDY = "watch.toml"


@dataclass(frozen=True)
class WatchRequest:
    """``rounds`` and ``time_ns`` bound it where they are given; ``keep`` is how many run
    directories of its own stay, None all."""

    spec: StudySpec
    every_ns: int
    out: Path
    rounds: int | None = None
    time_ns: int | None = None
    history: Path | None = None
    metrics: Path | None = None
    listen: Listen | None = None
    keep: int | None = None
    pair: str | None = None

    @property
    def round(self) -> Estimate:
        """What one round takes at most."""
        return estimate(self.spec, plan_points(self.spec))

    @property
    def rounds_a_day(self) -> float:
        return DAY_NS / self.every_ns

    def in_words(self) -> str:
        """A sentence: how often, how long, how much."""
        one = self.round
        day = int(one.traffic_bytes * self.rounds_a_day)
        often = format_duration(self.every_ns).removesuffix(" 0 s")
        return (
            f"every {often}, at most {format_duration(one.time_ns)} and "
            f"{format_bytes(one.traffic_bytes)} a round, {format_bytes(day)} a day"
        )


def usual_study() -> StudySpec:
    """Round trips and streams of TCP and UDP, of a few seconds."""
    text = files("netsonde.watch").joinpath(USUAL_STUDY).read_text()
    return parse_study(text, USUAL_STUDY)


def between(spec: StudySpec, hosts: Sequence[str]) -> StudySpec:
    """The study between this host and a named one, or between the first of several and each other
    one. Raises UsageError where it has hosts of its own."""
    path = spec.path
    if path.hosts or path.between or {path.origin, path.target} != {HERE.word}:
        raise UsageError("the study has hosts of its own; name hosts here or there")
    ends = (
        {"kind": "hosts", "target": hosts[0]}
        if len(hosts) == 1
        else {"kind": "hosts", "between": [[hosts[0], other] for other in hosts[1:]]}
    )
    content = spec.model_dump(mode="json", exclude_unset=True)
    content["path"] = {**content.get("path", {}), **ends}
    return StudySpec.model_validate(content)


def check_budget(request: WatchRequest, most_a_day: int | None) -> None:
    """Raises UsageError where a round may last until the next one, or a day's traffic is more than
    ``most_a_day`` bytes."""
    one = request.round
    if one.time_ns >= request.every_ns:
        raise UsageError(
            f"a round may take {format_duration(one.time_ns)}, and the next one begins after "
            f"{format_duration(request.every_ns)}; give a longer --every or a smaller study"
        )
    if most_a_day is not None and one.traffic_bytes * request.rounds_a_day > most_a_day:
        day = int(one.traffic_bytes * request.rounds_a_day)
        raise UsageError(
            f"the rounds of a day may move {format_bytes(day)}, more than --daily-traffic "
            f"{format_bytes(most_a_day)}; give a longer --every or a smaller study"
        )
