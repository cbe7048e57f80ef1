"""One line on a terminal that is written anew each second: what is measured, what is known, how
long it may take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.text import Text

from netsonde.catalogue.test import Test
from netsonde.cli.interruption import in_one_piece
from netsonde.figures.so_far import Known
from netsonde.report.quantity import format_value, kind_of, margin_text
from netsonde.units import format_bytes, format_count, format_duration

GAP = "  "


@dataclass(frozen=True)
class Part:
    """Some words of a line; where it is too long, those of the highest ``rank`` go first."""

    words: str
    rank: int


def fitted(parts: Sequence[Part], columns: int) -> str:
    """The parts that have room beside each other, in their order; of a single one its beginning."""
    kept = [part for part in parts if part.words]
    while len(kept) > 1 and len(GAP.join(part.words for part in kept)) > columns:
        kept.remove(max(kept, key=lambda part: part.rank))
    return GAP.join(part.words for part in kept)[:columns]


def known_parts(known: Known, kind: Test) -> list[Part]:
    """In the order of iperf3: ``0.00-3.00 s``, ``2.1 GB``, ``9.41 Gbit/s ±0.3 %``,
    ``12 retransmitted``; of times ``1234 messages``, ``median 23.4 µs ±0.8 %``, ``p99 41 µs``."""
    is_of_times = known.p99 is not None
    counted = "message" if kind.is_round_trip or kind.has_threads else "repetition"
    amount = format_bytes(known.sent_bytes) if known.sent_bytes else ""
    middle = ""
    if known.middle is not None:
        figure = known.middle
        value = format_value(figure.value, kind_of(figure.unit))
        margin = margin_text(figure.value, figure.low, figure.high)
        middle = f"{'median ' if is_of_times else ''}{value} {margin}".rstrip()
    return [
        Part(f"0.00-{known.lasted_ns / 1e9:.2f} s", 7),
        Part(format_count(known.samples, counted) if is_of_times else amount, 6),
        Part(middle, 0),
        Part(f"p99 {format_value(known.p99, 'time_ns')}" if is_of_times else "", 5),
        Part(_losses(known), 3),
    ]


def _losses(known: Known) -> str:
    if known.lost is not None:
        share = known.lost / known.sent if known.sent else 0.0
        return f"{known.lost}/{known.sent} lost ({100 * share:.2g} %)"
    is_known = known.again is not None and (known.again > 0 or known.p99 is None)
    return f"{known.again} retransmitted" if is_known else ""


class TimeLeft:
    """How long some work may take still: at first what it takes at most, then by what was done."""

    def __init__(self, most_s: float | None, whole: float) -> None:
        """``whole`` is all work, in any unit; ``most_s`` None where nobody knows."""
        self._most_s, self._whole = most_s, whole
        self._begun = self._last = monotonic()
        self._done = 0.0

    def add(self, work: float) -> None:
        self._done += work
        self._last = monotonic()

    def in_words(self) -> str:
        """``≤ 7 s left`` or ``~7 s left``; nothing where nobody knows, or it should be over."""
        now, sign = monotonic(), "≤ "
        left_s = (self._most_s or 0.0) - (now - self._begun)
        if self._done > 0:
            each_s = (self._last - self._begun) / self._done
            left_s, sign = each_s * (self._whole - self._done) - (now - self._last), "~"
        return f"{sign}{format_duration(math.ceil(left_s) * 1e9)} left" if left_s > 0 else ""


class LiveLine:
    """The line itself. Whoever prints through the same console meanwhile prints above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._parts: tuple[Part, ...] = ()
        self._left: TimeLeft | None = None
        self._live: Live | None = None

    def begin(self, left: TimeLeft) -> None:
        """A second between two lines: whoever measures here is to have the processor."""
        self.end()
        self._left = left
        self._live = Live(
            console=self._console,
            get_renderable=self._line,
            refresh_per_second=1,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._live.refresh()

    @property
    def is_shown(self) -> bool:
        return self._live is not None

    def show(self, parts: Sequence[Part]) -> None:
        """What is written when the next second is over."""
        self._parts = tuple(parts)

    def end(self, last: Sequence[Part] = ()) -> None:
        """Takes the line away, or leaves it with what is known at the end."""
        if self._live is None:
            return
        with in_one_piece():
            self._live.stop()
            self._live = None
        if last:
            self._console.print(self._text(last), highlight=False)

    def _line(self) -> Text:
        left = self._left.in_words() if self._left is not None else ""
        return self._text([*self._parts, Part(left, 2)])

    def _text(self, parts: Sequence[Part]) -> Text:
        # The last column stays free: a terminal may go on to the next line behind it.
        return Text(fitted(parts, self._console.width - 1), no_wrap=True, end="")
