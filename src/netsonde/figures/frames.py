"""Of frames on the link: how often a message was copied, what was dropped and sent again, and what
the senders of Go-Back-N went through."""

from __future__ import annotations

from netsonde.catalogue.point import Collective
from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.records.data import Run

_DROPPED = (
    ("frames_of_strangers", "strangers"),
    ("frames_malformed", "malformed"),
    ("frames_without_room", "no_room"),
    ("messages_incomplete", "incomplete"),
)
_COPIES, _DROPS, _AGAIN, _CHANCES = (
    f"link#{place}" for place in ("copies", "dropped", "go-back-n", "chances")
)


def frame_figures(maker: Maker) -> list[Figure]:
    """None of a point whose messages are no frames."""
    point = maker.point
    of_schedule = isinstance(point.spec, Collective) and point.spec.frames is not None
    if not (point.carrier.has_frames or of_schedule) or not point.batches:
        return []
    batches = len(point.batches)
    found = [maker.figure(name, _sum(maker, key), batches) for name, key in _DROPPED]
    dropped = [figure for figure in found if figure.value]
    return [*_copies(maker), *dropped, *_sent_again(maker), *_chances(maker)]


def _is_counted(maker: Maker, name: str) -> bool:
    return any(name in end.counters for b in maker.point.batches for end in b.ends.values())


def _sum(maker: Maker, name: str) -> float:
    """Over all ends."""
    ends = (end for batch in maker.point.batches for end in batch.ends.values())
    return float(sum(end.counters.get(name, 0) for end in ends))


def _copies(maker: Maker) -> list[Figure]:
    """Of a byte of a message: by drivers and the kernel, each time that it leaves or comes, and by
    the ends themselves, once. Acknowledgements carry none, but come as other frames do."""
    sent, received = _sum(maker, "frames_sent"), _sum(maker, "frames_received")
    new = _sum(maker, "packets_sent")
    left = new + _sum(maker, "packets_resent") if new else sent
    taken = _sum(maker, "packets_received") or received
    figures = []
    for way, frames, driven, own in (
        ("sent", sent, left, new or sent),
        ("received", received, received, taken),
    ):
        if frames:
            copies = _sum(maker, f"driver_copies_{way}") / driven
            copies += _sum(maker, f"own_copies_{way}") / own
            figures.append(maker.figure(f"copies_{way}", copies, int(frames)))
    return figures


def _sent_again(maker: Maker) -> list[Figure]:
    again, sent = int(_sum(maker, "packets_resent")), int(_sum(maker, "packets_sent"))
    if not sent:
        return []
    batches = len(maker.point.batches)
    counts = {"time_outs": "events_time_out", "nacks_sent": "nacks_sent"}
    return [
        maker.ratio("retransmitted_ratio", again, sent + again, method=_AGAIN),
        *(
            maker.figure(name, _sum(maker, key) / batches, batches, method=_AGAIN)
            for name, key in counts.items()
            if _is_counted(maker, key)
        ),
    ]


def _chances(maker: Maker) -> list[Figure]:
    """c, 1 - a and f of Eqs. (4.11)-(4.13), as of a simulation."""
    from netsonde.figures.simulated import chances_of, event_runs

    chances = chances_of(maker.point.batches)
    if chances is None:
        return []
    flows = sum(len(event_runs(end)) for b in maker.point.batches for end in b.ends.values())
    values = {
        "loss_chance_ratio": chances.c,
        "severity_ratio": 1.0 - chances.a,
        "last_time_out_ratio": chances.f,
    }
    return [maker.figure(n, v, flows, method=_CHANCES) for n, v in values.items()]


def event_strings(run: Run) -> list[str]:
    """Of each sender in each batch of a run, as ``P^6 N TO^2``: what ``netsonde model estimate``
    takes."""
    from netsonde.figures.simulated import event_runs

    return [
        " ".join(one.event if one.count == 1 else f"{one.event}^{one.count}" for one in runs)
        for point in run.points
        for batch in point.batches
        for end in batch.ends.values()
        for runs in event_runs(end)
        if runs
    ]
