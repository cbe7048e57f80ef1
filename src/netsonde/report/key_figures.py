"""The table that a reader looks at first: one row per transport and condition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from netsonde.catalogue.method import method_anchor
from netsonde.catalogue.transport import transport_row
from netsonde.figures import Figure
from netsonde.figures.headlines import Headline, fastest_of
from netsonde.figures.keys import labels_of
from netsonde.figures.waiting import waits_of
from netsonde.report.lookup import Study
from netsonde.report.quantity import (
    format_value_and_interval,
    group_digits,
    list_in_words,
    size_text,
)
from netsonde.report.theme import transport_name
from netsonde.units import format_count


@dataclass(frozen=True)
class KeyCell:
    """``of`` says what was measured, ``basis`` what the interval is of, ``worth`` how many samples
    stand behind it, ``anchor`` leads to the method; empty where there is nothing to say.
    ``headline`` is the figure itself."""

    label: str
    value: str
    interval: str = ""
    of: str = ""
    basis: str = ""
    worth: str = ""
    anchor: str = ""
    headline: Headline | None = None


@dataclass(frozen=True)
class KeyRow:
    """``condition``: what tells it from other rows of the transport, in words."""

    transport: str
    name: str
    condition: str
    cells: tuple[KeyCell, ...]

    @property
    def launches(self) -> str:
        """``1 launch``, ``5 launches``, ``4 to 5 launches``: those of its figures."""
        counts = {c.headline.over.launches for c in self.cells if c.headline} or {1}
        least, most = min(counts), max(counts)
        span = f"{least} to {most}" if least < most else f"{most}"
        return f"{span} launch{'es' if most > 1 else ''}"


HEADINGS = (
    "Round trip, median",
    "Round trip, p99",
    "Throughput, one way",
    "Both ways at once",
    "Lost",
)
WAIT = "options.wait"
OF_A_ROW = ("label", "mpi", "pair", "ppn", "ranks", "threads", "like", WAIT)
"""Parameters of a point that make a row of its own: tests of one row have them alike. What else
differs, as the number of flows, stands with the figure."""
MOST_ROWS = 24
Condition = tuple[tuple[str, str], ...]


def key_rows(study: Study) -> list[KeyRow]:
    """Latency of the smallest message, throughput of the fastest stream, and what was lost, over
    all launches; no row for a transport whose tests are all of another kind."""
    rows = []
    for transport in study.transports:
        groups: dict[Condition, list[Headline]] = {}
        for headline in study.headlines.all:
            key = headline.key
            is_asked_for = headline.is_of_points and not headline.is_beside
            if key.transport == transport and key.kind.is_between_two and is_asked_for:
                own = tuple(item for item in key.parameters if item[0] in OF_A_ROW)
                groups.setdefault(own, []).append(headline)
        cells = {own: _cells(found, transport) for own, found in groups.items()}
        words = _in_words(list(cells))
        rows += [
            KeyRow(transport, transport_name(transport), _with_waits(study, words[own], row), row)
            for own, row in cells.items()
        ]
    return rows


def _with_waits(study: Study, condition: str, cells: Sequence[KeyCell]) -> str:
    """How the ends of the round trip waited, as an MPI that spins beside a socket that sleeps is
    faster for that alone."""
    median = cells[0].headline
    point = study.point(median.points[0]) if median else None
    waits = waits_of(point) if point else None
    return ", ".join(filter(None, (condition, waits)))


def _in_words(conditions: Sequence[Condition]) -> dict[Condition, str]:
    """Each by what it has not in common with all."""
    common = set(conditions[0]).intersection(*conditions) if conditions else set()
    return {
        own: ", ".join(
            _word(n, json.loads(text)) for n, text in own if (n, text) not in common and n != WAIT
        )
        for own in conditions
    }


def _word(name: str, value: object) -> str:
    if name in ("label", "mpi"):
        return str(value)
    if isinstance(value, list):
        return f"ranks {list_in_words([str(v) for v in value])}"
    if name == "ppn":
        return f"{format_count(int(str(value)), 'rank')} a host"
    return f"{value} {name}"


def _cells(found: Sequence[Headline], transport: str) -> tuple[KeyCell, ...]:
    median = _smallest(found, "round_trip_median_ns")
    tail = None
    if median is not None:
        tail = next((h for h in found if _is_same(h, median, "round_trip_p99_ns")), None)
    one_way = fastest_of(found, transport, lambda test: test.is_one_way_stream)
    stream = one_way or fastest_of(found, transport, lambda test: test.is_round_trip)
    both = "throughput_sum_bit_per_s"
    duplex = fastest_of(found, transport, lambda test: test.both_ways, both)
    names = HEADINGS
    return (
        *(_cell(n, h, found) for n, h in zip(names, (median, tail, stream, duplex), strict=False)),
        _loss(names[-1], transport, stream, found),
    )


def _smallest(found: Iterable[Headline], name: str) -> Headline | None:
    own = [h for h in found if h.key.kind.asks_round_trip and h.key.figure == name]
    return min(own, key=lambda h: h.key.message_bytes, default=None)


def _is_same(other: Headline, headline: Headline, name: str) -> bool:
    """Whether it is another figure of the same condition."""
    ours, its = headline.key, other.key
    return its.figure == name and (ours.test, ours.message_bytes, ours.parameters) == (
        its.test,
        its.message_bytes,
        its.parameters,
    )


def _cell(label: str, headline: Headline | None, found: Sequence[Headline]) -> KeyCell:
    if headline is None:
        return KeyCell(label, "not measured")
    value, interval = format_value_and_interval(headline.figure)
    return KeyCell(
        label,
        value,
        interval or headline.figure.why_no_interval,
        _of(headline, found),
        headline.basis_in_words(),
        _worth(headline),
        method_anchor(headline.figure.method),
        headline,
    )


def _loss(
    label: str, transport: str, stream: Headline | None, found: Sequence[Headline]
) -> KeyCell:
    if stream is None:
        return KeyCell(label, "not measured")
    lost, again = (
        next((h for h in found if _is_same(h, stream, name)), None)
        for name in ("lost_ratio", "retransmitted_segments")
    )
    if transport_row(transport).counts_datagrams:
        return _cell(label, lost, found)
    if transport_row(transport).has_connection and again:
        return KeyCell(
            label,
            "none",
            of=_counted(again.figure, "segments retransmitted"),
            basis=again.basis_in_words(),
            anchor=method_anchor(again.figure.method),
            headline=again,
        )
    return KeyCell(label, "none", of="repaired below" if transport_row(transport).has_ranks else "")


def _counted(figure: Figure, words: str) -> str:
    """``3 segments retransmitted``, with the span of several launches."""
    value, interval = format_value_and_interval(figure)
    return f"{value} {words}" + (f" [{interval}]" if interval else "")


def _of(headline: Headline, found: Sequence[Headline]) -> str:
    """``stream, 64k``, with what tells it from others of that test, size and row."""
    key = headline.key
    alike = [h.key for h in found if replace(h.key, parameters=key.parameters) == key]
    apart = labels_of(alike)[key].partition(", ")[2]
    return ", ".join(filter(None, (key.test, size_text(key.message_bytes), apart)))


def _worth(headline: Headline) -> str:
    figure = headline.figure
    if figure.is_of_another_tool and figure.samples == 1:
        return "one run"
    if figure.kind.is_stream and figure.unit == "bit_per_s":
        return f"{group_digits(figure.samples)} batch{'es' * (figure.samples != 1)}"
    samples = f"{group_digits(figure.samples)} {format_count(figure.samples, 'sample').split()[1]}"
    worth = figure.effective_samples
    if worth is None or worth >= 0.995 * figure.samples:
        return samples
    return f"{samples}, as good as {group_digits(round(worth))} independent ones"
