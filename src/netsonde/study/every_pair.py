"""Round trips of all pairs of hosts, measured: alone in rounds, and all at once."""

from __future__ import annotations

from typing import Any

from netsonde.catalogue.point import EveryPair
from netsonde.catalogue.test import names_of
from netsonde.launch.session import Session
from netsonde.limits import limit_s
from netsonde.model.meetings import Meeting, all_meetings
from netsonde.study.plan import PlannedPoint
from netsonde.study.repetitions import UDP_PATIENCE_MOST_NS, UDP_PATIENCE_NS
from netsonde.study.series import MEASURERS, Ending, KeepBatch, Series, over_slowest_ns

USUAL_COUNT = 20
"""Round trips of a pair, size and company, as in P. Dasgupta's study."""
WARM_COUNT = 2
"""Of each pair before those that count: they make connections and find routes."""
MEETING_NS = 300_000_000
"""What a meeting takes beside its round trips, about: agreeing on its start, reading counters."""
PATIENCE_NS = int(limit_s("run-of-pairs") * 1e9)


def asked_of(point: PlannedPoint, meeting: Meeting) -> dict[str, Any]:
    """The fields of a request for one meeting. Ranks are told who asks whom; of all others each
    pair has two workers of its own, flow a * hosts + b from a to b."""
    if point.carrier.has_ranks:
        return {"asked": [list(pair) for pair in meeting.pairs]}
    hosts = point.spec.of(EveryPair).hosts
    return {"flows": [a * hosts + b for a, b in meeting.pairs]}


@MEASURERS.of(*names_of("is_all_pairs"))
def measure_every_pair(session: Session, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """A batch for each meeting, with ``count`` round trips of each of its pairs."""
    asked, series = point.spec.of(EveryPair), Series(session, point, keep)
    count = asked.count or USUAL_COUNT
    (together,) = all_meetings(asked.hosts, "together")
    series.warm_up(
        over_slowest_ns(WARM_COUNT, asked),
        patience_ns=_patience_ns(point, WARM_COUNT, together),
        count=WARM_COUNT,
        **asked_of(point, together),
    )
    for meeting in all_meetings(asked.hosts, asked.pairs):
        series.run(
            over_slowest_ns(count * _of_one_host(asked, meeting), asked),
            patience_ns=_patience_ns(point, count, meeting),
            count=count,
            **asked_of(point, meeting),
        )
    return Ending("count", series.batches)


def _of_one_host(asked: EveryPair, meeting: Meeting) -> int:
    """How many others a host asks in a meeting."""
    return -(-len(meeting.pairs) // asked.hosts)


def _patience_ns(point: PlannedPoint, count: int, meeting: Meeting) -> float:
    """With what unanswered datagrams take; ranks ask one another one by one."""
    lost_ns = count * UDP_PATIENCE_NS if point.carrier.has_datagrams else 0
    if point.carrier.has_ranks:
        lost_ns *= _of_one_host(point.spec.of(EveryPair), meeting)
    return PATIENCE_NS + min(lost_ns, UDP_PATIENCE_MOST_NS)


def every_pair_estimate(asked: EveryPair, each_ns: float) -> tuple[int, int]:
    """About how long a point takes, ns, and how many round trips it makes, where one takes
    ``each_ns``; all at once, a host's share its link."""
    count = asked.count or USUAL_COUNT
    lasting_ns, trips = float(MEETING_NS), WARM_COUNT * asked.hosts**2
    for meeting in all_meetings(asked.hosts, asked.pairs):
        lasting_ns += MEETING_NS + count * _of_one_host(asked, meeting) * each_ns
        trips += count * len(meeting.pairs)
    return round(lasting_ns), trips
