"""What each command of ``netsonde model`` answers: lines of a terminal and a document for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from netsonde.errors import UsageError
from netsonde.model.congestion import ARCHITECTURES, Chances, output_efficiency
from netsonde.model.events import count_events, mean_chances, parse_events
from netsonde.model.fit import Fitted, fit_platform
from netsonde.model.platform import Architecture, Platform
from netsonde.model.predict import ALGORITHMS, Options, compare, predict
from netsonde.model.what_if import OVERHEADS, Change, Overhead, change
from netsonde.platforms import show
from netsonde.platforms.document import parse_platform, platform_document
from netsonde.platforms.observed import observe
from netsonde.platforms.published import SOURCE, find_table, tables
from netsonde.platforms.read import find_platform, preset, preset_names, write_platform
from netsonde.platforms.reduction import with_reduction
from netsonde.platforms.simulated import simulated
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes

_SHORT_NAMES = {"o_s": "send_overhead", "o_r": "receive_overhead", "u_r": "user_overhead"}
MOST_TRACE_BYTES = 64 * 1024 * 1024
MOST_GAMMA_NS = 1e9


@dataclass(frozen=True)
class Answer:
    """``lines`` have no more than 80 characters."""

    lines: list[str]
    document: dict[str, Any]


@contextmanager
def in_words() -> Iterator[None]:
    """What the model refuses is bad usage: its sentence says what was expected."""
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from error


def show_answer(word: str | None, as_model: str | None = None) -> Answer:
    """One platform, in the words of one other model where that is asked for; or the list of those
    that come with netsonde."""
    if word is not None:
        platform = find_platform(word)
        with in_words():
            if as_model is not None:
                return Answer(*show.in_another_model(platform, as_model))
            return Answer(show.platform_lines(platform), show.platform_answer(platform))
    names = preset_names()
    lines = []
    for name in names:
        lines += [name, *show.wrapped(preset(name).about, "    ")]
    return Answer(lines, {"platforms": [{"name": n, "about": preset(n).about} for n in names]})


def predict_answer(
    algorithm: str,
    platform_word: str,
    ranks: int,
    size_bytes: int,
    options: Options,
    simulate: bool = False,
) -> Answer:
    """One algorithm, or all of a family where ``algorithm`` has no slash; with ``simulate`` the one
    is simulated as well."""
    platform = find_platform(platform_word)
    with in_words():
        if "/" not in algorithm:
            if simulate:
                raise UsageError(f"--simulate takes one algorithm; {algorithm!r} is a family")
            found = compare(platform, algorithm, ranks, size_bytes, options)
            document = {"predictions": [show.prediction_document(each) for each in found]}
            return Answer(show.comparison_lines(found), document)
        one = predict(platform, algorithm, ranks, size_bytes, options)
        lines, answer = show.prediction_lines(platform, one), show.prediction_document(one)
        if simulate:
            beside = simulated(platform, algorithm, ranks, size_bytes, options)
            lines += ["", *show.simulated_lines(one, beside)]
            answer["simulated"] = show.simulated_document(one, beside)
        return Answer(lines, answer)


def algorithms_answer() -> Answer:
    """The names that can be predicted."""
    return Answer(list(ALGORITHMS), {"algorithms": list(ALGORITHMS)})


def what_if_answer(word: str, wanted: Change, out: Path | None) -> Answer:
    """A platform before and after; with ``out`` the changed one is written there."""
    before = find_platform(word)
    with in_words():
        changed = change(before, wanted)
        lines = show.change_lines(before, changed.platform, changed.steps)
        document = show.change_document(before, changed.platform, changed.steps)
    if out is not None:
        write_platform(replace(changed.platform, name=f"{before.name}-changed"), out)
    return Answer(lines, document)


def fit_answer(
    directories: Sequence[Path],
    name: str,
    rate: str | None,
    packet: str | None,
    out: Path | None,
) -> Answer:
    """A platform fitted to runs; with ``out`` it is written there."""
    observed = observe(
        directories,
        None if rate is None else float(parse_rate_bit_per_s(rate)),
        None if packet is None else parse_size_bytes(packet),
        name,
    )
    with in_words():
        fitted = with_reduction(fit_platform(observed), directories)
        # What cannot be read again is not written: its sentence says which law has no sense.
        parse_platform(json.dumps(platform_document(fitted.platform)), "the fitted platform")
        lines, document = show.fit_lines(fitted), show.fit_document(fitted)
    if out is not None:
        write_platform(fitted.platform, out)
        lines += ["", f"Written to {out}; netsonde model predict --platform reads it."]
    return Answer(lines, document)


def measured_answer(fitted: Fitted, run: Path, out: Path | None, as_model: str | None) -> Answer:
    """A platform that was measured; with ``out`` it is written there, whatever it is shown as."""
    with in_words():
        if as_model is not None:
            lines, document = show.in_another_model(fitted.platform, as_model)
        else:
            lines, document = show.fit_lines(fitted), show.fit_document(fitted)
    lines += ["", f"Run: {run}"]
    document |= {"run": str(run)}
    if out is not None:
        write_platform(fitted.platform, out)
        lines.append(f"Written to {out}; netsonde model score and model predict read it.")
    return Answer(lines, document)


def parse_change(
    copies: int | None,
    receive_copies: int | None,
    overheads: Sequence[str],
    link_rate: str | None,
    coalescing: int | None,
    hold: str | None,
) -> Change:
    """A change from options. ``overheads``: ``o_s=5us``, ``o_r=x0.5``, ``all=x0.5``. Raises
    UsageError."""
    found: dict[str, Overhead] = {}
    for text in overheads:
        name, _, value = text.partition("=")
        if (name not in _SHORT_NAMES and name != "all") or not value:
            raise UsageError(
                f"--overhead {text!r}: expected {', '.join(_SHORT_NAMES)} or all, and a time or a "
                "factor, as o_r=8us or all=x0.5"
            )
        overhead = _parse_overhead(text, value)
        for each in OVERHEADS if name == "all" else (_SHORT_NAMES[name],):
            if each in found:
                raise UsageError(f"--overhead {text!r}: this overhead was given before")
            found[each] = overhead
    return Change(
        send_copies=copies,
        receive_copies=receive_copies,
        overheads=found,
        link_bit_per_s=None if link_rate is None else parse_rate_bit_per_s(link_rate),
        coalesced_packets=coalescing,
        hold_ns=None if hold is None else parse_duration_ns(hold),
    )


def _parse_overhead(text: str, value: str) -> Overhead:
    if not value.startswith("x"):
        return Overhead(value_ns=parse_duration_ns(value))
    try:
        return Overhead(factor=float(value[1:]))
    except ValueError as error:
        raise UsageError(f"--overhead {text!r}: expected a factor such as x0.5") from error


def parse_options(
    fan_out: int | None, tree: str | None, segment: str | None, gamma_ns: float | None
) -> Options:
    """What a prediction takes beside sizes and ranks. Raises UsageError."""
    if gamma_ns is not None and not 0.0 <= gamma_ns <= MOST_GAMMA_NS:
        raise UsageError(f"--gamma {gamma_ns} is no time in ns; expected 0..{MOST_GAMMA_NS}")
    return Options(
        fan_out=fan_out,
        shape=None if tree is None else parse_tree(tree),
        gamma_ns=gamma_ns,
        segment_bytes=None if segment is None else parse_size_bytes(segment),
    )


def parse_tree(text: str) -> tuple[int, ...]:
    """``8x2``: 8 hosts at each of 2 switches. Raises UsageError."""
    words = text.split("x")
    if not all(word.isascii() and word.isdigit() and len(word) <= 9 for word in words):
        raise UsageError(f"--tree {text!r}: expected hosts at a switch and switches, such as 8x2")
    return tuple(int(word) for word in words)


# Traces.


@dataclass(frozen=True)
class Load:
    """A many-to-one load; what is None was not said."""

    window: int | None
    senders: int | None
    buffer_packets: int | None
    time_out_slots: float | None

    @property
    def is_whole(self) -> bool:
        return None not in (self.window, self.senders, self.buffer_packets, self.time_out_slots)


def estimate_answer(traces: Sequence[str], load: Load) -> Answer:
    """c, 1-a and f of event strings, and the efficiency that follows where the load is given."""
    if sum(map(len, traces)) > MOST_TRACE_BYTES:
        raise UsageError(f"the event strings have more than {MOST_TRACE_BYTES} characters")
    with in_words():
        counts = [count_events(parse_events(text)) for text in traces]
        chances = mean_chances(traces)
        efficiency = _efficiency(chances, load)
    severity = 1.0 - chances.a
    document: dict[str, Any] = {
        "senders": [asdict(each) for each in counts],
        "c": chances.c,
        "severity": severity,
        "f": chances.f,
    }
    lines = [f"{'sender':<8}{'P':>12}{'N':>10}{'TO':>10}{'c':>12}{'1-a':>12}{'f':>12}"]
    for number, each in enumerate(counts, start=1):
        shares = (each.c, each.severity, each.f)
        said = "".join(f"{show.MISSING if s is None else f'{float(s):.4f}':>12}" for s in shares)
        lines.append(f"{number:<8}{each.packs:>12}{each.nacks:>10}{each.time_outs:>10}{said}")
    mean = f"{chances.c:>12.4f}{severity:>12.4f}{chances.f:>12.4f}"
    lines.append(f"{'mean':<40}{mean}")
    unlike = sum(each.unlike for each in counts)
    if unlike:
        lines += [
            "",
            *show.wrapped(
                f"Note: {unlike} transitions are none of the model's, such as a timeout after a"
                " Pack; they are not counted."
            ),
        ]
    if efficiency is not None:
        document["efficiency"] = efficiency
        lines += ["", f"efficiency of the port, Eq. (4.10): {efficiency:.4f}"]
    return Answer(lines, document)


def _efficiency(chances: Chances, load: Load) -> float | None:
    if not load.is_whole:
        if (load.window, load.senders, load.buffer_packets, load.time_out_slots) != (None,) * 4:
            raise UsageError(
                "the efficiency needs all of --window, --senders, --buffer and --timeout"
            )
        return None
    assert load.window is not None
    assert load.senders is not None
    assert load.buffer_packets is not None
    assert load.time_out_slots is not None
    return output_efficiency(
        chances, load.window, load.senders, load.buffer_packets, load.time_out_slots
    )


def published_answer(word: str | None) -> Answer:
    """One of the published tables, or their list."""
    if word is not None:
        table = find_table(word)
        return Answer(show.published_lines(table), {**asdict(table), "source": SOURCE})
    lines = show.wrapped(SOURCE.replace("*", ""))
    lines.append("")
    for table in tables().values():
        lines += show.wrapped(f"{table.number}  {table.id}: {table.title}")
    listed = [{"id": t.id, "number": t.number, "title": t.title} for t in tables().values()]
    return Answer(lines, {"source": SOURCE, "tables": listed})


def parse_architecture(text: str) -> Architecture:
    """One of the three. Raises UsageError."""
    known: Mapping[str, Architecture] = {name: name for name in ARCHITECTURES}
    if text not in known:
        raise UsageError(f"--architecture {text!r} is none of {', '.join(known)}")
    return known[text]


def named_platform(word: str | None) -> Platform | None:
    """The platform of an option that may be missing."""
    return None if word is None else find_platform(word)
