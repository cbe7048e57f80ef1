"""Every point of the study: what was asked, what came out, how it ended, what was checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netsonde.catalogue.options.run_keys import study_key
from netsonde.catalogue.point import Collective
from netsonde.catalogue.within import CARRIED
from netsonde.explain.unlike_hosts import ChangedFact, changed_facts
from netsonde.operations import operations
from netsonde.records.data import Point
from netsonde.reductions import reduction_in_words
from netsonde.report.lookup import Study, mark_of, marks_in_words, point_label
from netsonde.report.plot import Table, plain_table
from netsonde.report.program_table import further_figures
from netsonde.report.quantity import format_figure, group_digits, short_rate
from netsonde.units import format_count, format_size, format_time

ENDED = {
    "interval": "interval reached",
    "time": "time cap",
    "count": "count reached",
    "duration": "whole duration",
    "imported": "imported",
}
STATUS = {
    "finished": "finished",
    "partial": "broken off",
    "failed": "failed",
    "planned": "not measured",
}
_SHOWN_ELSEWHERE = frozenset({"message_bytes", "operation"})


@dataclass(frozen=True)
class Check:
    """``verdict``: ``passed``, ``failed``, or ``told`` where there is nothing to pass. ``name`` is
    enough of a check that passed."""

    verdict: Literal["passed", "failed", "told"]
    name: str
    text: str


@dataclass(frozen=True)
class PointRow:
    id: str
    label: str
    parameters: str
    figures: list[str]
    samples: str
    ended: str
    checks: list[Check]
    status: str
    failed: bool
    error: str


def point_rows(study: Study) -> list[PointRow]:
    """One row for every planned point, in the order of the study."""
    changes = [change for change in changed_facts(study.run) if change.is_decisive]
    return [
        PointRow(
            point.id,
            point_label(point),
            _parameters(point),
            _figures(study, point),
            _samples(study, point),
            ENDED.get(point.ended_by or "", point.ended_by or ""),
            [
                *checks_in_words(point.checks),
                *_late(point),
                *_reduction(point),
                *_changes(point, changes),
            ],
            STATUS[point.status],
            point.status == "failed",
            point.error or "",
        )
        for point in study.run.points
    ]


def rows_shown(rows: Sequence[PointRow], most: int) -> list[PointRow]:
    """In their order, ``most`` of them: those without a result, then the first of the others."""
    if len(rows) <= most:
        return list(rows)
    wanted = sorted(range(len(rows)), key=lambda place: (not rows[place].error, place))[:most]
    return [rows[place] for place in sorted(wanted)]


def _late(point: Point) -> list[Check]:
    """What the mark beside its figures means."""
    return [Check("told", "late", words) for words in marks_in_words([point])]


def _reduction(point: Point) -> list[Check]:
    """By what an operation that joins words did so, and whether that commutes."""
    known = operations().get(point.operation or "")
    if known is None or not known.reduces or not isinstance(point.spec, Collective):
        return []
    reduced_by, datatype = point.spec.reduced_by, point.spec.joined_datatype
    return [Check("told", "reduction", reduction_in_words(reduced_by, datatype))]


def _changes(point: Point, changes: Sequence[ChangedFact]) -> list[Check]:
    """What had changed on its hosts, beside its figures."""
    return [
        Check("told", "changed", f"since session {change.session}, {change.in_words}")
        for change in changes
        if point.id in change.points
    ]


def failures(rows: list[PointRow]) -> list[tuple[str, list[PointRow]]]:
    """Each error once, with the points that ended by it."""
    found: dict[str, list[PointRow]] = {}
    for row in rows:
        if row.error:
            found.setdefault(row.error, []).append(row)
    return list(found.items())


def points_table(study: Study) -> Table:
    """The same as plain columns."""
    return plain_table(
        "points",
        "Points",
        study.run.points,
        point=lambda p: p.id,
        transport=lambda p: p.transport,
        test=lambda p: p.test,
        operation=lambda p: p.operation,
        message_bytes=lambda p: p.message_bytes,
        parameters=_parameters,
        status=lambda p: p.status,
        ended_by=lambda p: p.ended_by,
        batches=lambda p: len(p.batches),
        checks=lambda p: "; ".join(c.text for c in checks_in_words(p.checks)),
        error=lambda p: p.error,
    )


def checks_in_words(checks: Mapping[str, Any]) -> list[Check]:
    """Each check of a point in a few words; those that are not known by their fields."""
    known = {
        "samples": _samples_check,
        "transport": _transport_check,
        "carried": _carried_check,
        "counters": _counters_check,
        "ends": _ends_check,
        "data": _data_check,
        "partners": _partners_check,
        "busy": _busy_check,
        "exclusion": _exclusion_check,
        "round": _round_check,
    }
    found = []
    for name, fields in checks.items():
        if name in known and isinstance(fields, Mapping):
            found.append(known[name](fields))
        elif name == "beside" and isinstance(fields, list):
            others = ", ".join(str(other) for other in fields)
            found.append(Check("told", "beside", f"at the same time as {others}"))
        else:
            found.append(_unknown_check(name, fields))
    return found


def _round_check(fields: Mapping[str, Any]) -> Check:
    """Of a round of all pairs."""
    pairs, failed = fields.get("pairs", 0), fields.get("failed_pairs") or []
    dropped = fields.get("dropped") or {}
    words = [f"{format_count(pairs, 'pair')} met"] if not failed else []
    if failed:
        origin, target, reason = failed[0]
        words.append(f"{len(failed)} of {format_count(pairs, 'pair')} failed")
        words.append(f"the first, {origin} and {target}: {reason}")
    words += [f"{host} takes no part: {reason}" for host, reason in dropped.items()]
    return Check("failed" if failed else "told", "round", "; ".join(words))


def _samples_check(fields: Mapping[str, Any]) -> Check:
    messages, samples = fields.get("messages", 0), fields.get("samples", 0)
    if fields.get("equal"):
        return Check("passed", "samples", f"a sample for each of {group_digits(messages)} messages")
    return Check(
        "failed",
        "samples",
        f"{group_digits(samples)} samples for {group_digits(messages)} messages",
    )


def _transport_check(fields: Mapping[str, Any]) -> Check:
    if fields.get("verified") is None:
        return Check("told", "transport", "interface counters could not be read")
    interface = fields.get("interface")
    counted, payload = (
        group_digits(fields.get(name, 0)) for name in ("interface_bytes", "payload_bytes")
    )
    if fields["verified"]:
        return Check("passed", "transport", f"payload crossed {interface}")
    return Check(
        "failed", "transport", f"{interface} counted {counted} bytes for {payload} of payload"
    )


def _carried_check(fields: Mapping[str, Any]) -> Check:
    row = CARRIED.get(fields.get("by", ""), CARRIED["unknown"])
    if fields.get("interface") is None:
        return Check("told", "carried", f"over {row.title}: interface counters could not be read")
    counted, least = (group_digits(fields.get(n, 0)) for n in ("interface_bytes", "least_bytes"))
    return Check(
        "told",
        "carried",
        f"over {row.title}: {fields['interface']} sent most, {counted} of {least} bytes",
    )


def _partners_check(fields: Mapping[str, Any]) -> Check:
    partners, within = fields.get("partners", 0), fields.get("within_hosts", 0)
    if not within:
        return Check("passed", "partners", f"all {partners} partners are on other hosts")
    ranks = ", ".join(str(rank) for rank in fields.get("ranks", ()))
    return Check(
        "told", "partners", f"{within} of {partners} partners are on the same host: ranks {ranks}"
    )


def _counters_check(fields: Mapping[str, Any]) -> Check:
    compared = fields.get("compared", 0)
    if fields.get("exact"):
        return Check("passed", "counters", f"{compared} packet and byte counts exact")
    if not compared:
        return Check("told", "counters", "no counters to compare")
    differences = fields.get("differences") or [{}]
    return Check("failed", "counters", f"counters: {_difference_in_words(differences[0])}")


def _difference_in_words(fields: Mapping[str, Any]) -> str:
    """``batch 3, rank 0 rx: 0 packets and 24 bytes more than sent``."""
    try:
        more = {
            unit: fields[f"{unit}_counted"] - fields[f"{unit}_expected"]
            for unit in ("packets", "bytes")
        }
        place = f"batch {fields['batch']}, rank {fields['rank']} {fields['direction']}"
    except (KeyError, TypeError):  # a journal of another version
        return ", ".join(f"{name} {value}" for name, value in fields.items())
    return f"{place}: {more['packets']:+d} packets, {more['bytes']:+d} bytes against what was sent"


def _ends_check(fields: Mapping[str, Any]) -> Check:
    ratio = fields.get("ratio")
    if ratio is None:
        return Check("told", "ends", "the ends cannot be compared")
    return Check("told", "ends", f"ends differ by {abs(ratio - 1) * 100:.2g} %")


def _busy_check(fields: Mapping[str, Any]) -> Check:
    """``other work on h2: 79 to 80 % of 2 CPUs, 80 % asked for``."""
    told = []
    for host, got in fields.items():
        shares = sorted(100 * float(share) for share in got.get("share", ())) or [0.0]
        least, most = f"{shares[0]:.0f}", f"{shares[-1]:.0f}"
        span = least if least == most else f"{least} to {most}"
        processors = f"{len(shares)} CPU{'s' if len(shares) > 1 else ''}"
        nice = f", nice {got['nice']}" if got.get("nice") else ""
        asked = f"{100 * float(got.get('asked_share', 0)):.3g} % asked for{nice}"
        told.append(f"{host}: {span} % of {processors}, {asked}")
    return Check("told", "busy", f"other work on {'; '.join(told)}")


def _exclusion_check(fields: Mapping[str, Any]) -> Check:
    """``waited 2.1 s for another measurement on h2``; beside one it has failed."""
    beside = [host for host, told in fields.items() if "beside" in told or "meanwhile" in told]
    if beside:
        return Check("failed", "exclusion", f"beside another measurement on {', '.join(beside)}")
    longest_s = max(float(told.get("waited_s", 0)) for told in fields.values())
    hosts = ", ".join(fields)
    return Check(
        "told", "exclusion", f"waited {longest_s:.1f} s for another measurement on {hosts}"
    )


def _data_check(fields: Mapping[str, Any]) -> Check:
    if fields.get("intact") is None:
        return Check("told", "data", "no end looked at the data")
    if fields["intact"]:
        return Check("passed", "data", "all data as expected")
    ranks = ", ".join(str(rank) for rank in fields.get("ranks", []))
    return Check(
        "failed", "data", f"wrong data {group_digits(fields.get('corrupt', 0))} times, rank {ranks}"
    )


def _unknown_check(name: str, fields: Any) -> Check:
    words = name.replace("_", " ")
    if isinstance(fields, bool):
        return Check("passed" if fields else "failed", words, words)
    if isinstance(fields, Mapping):
        fields = ", ".join(f"{k} {v}" for k, v in fields.items())
    return Check("told", words, f"{words}: {fields}")


def _parameters(point: Point) -> str:
    words = []
    for name, value in point.parameters.items():
        if name in _SHOWN_ELSEWHERE | point.kind.shown_with or value in (None, {}, []):
            continue
        if name == "environment":
            words += [f"{k}={v}" for k, v in value.items()]
        elif isinstance(value, Mapping):
            words += [f"{study_key(k).replace('_', ' ')} {_value(k, v)}" for k, v in value.items()]
        else:
            words.append(f"{_bare(study_key(name))} {_value(name, value)}")
    return ", ".join(words)


def _bare(name: str) -> str:
    for unit in ("_bit_per_s", "_bytes", "_ns"):
        name = name.removesuffix(unit)
    return name.replace("_", " ")


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return shlex.join(map(str, value))
    if isinstance(value, str):
        return value
    if name.endswith("_ns"):
        return format_time(value).replace(".000", "").replace(".00", "").replace(".0", "")
    if name.endswith("_bytes"):
        return format_size(value)
    if name.endswith("_bit_per_s"):
        return short_rate(value)
    if name == "interval":
        return f"±{value:.3g}"
    if name == "intervals":
        return ", ".join(f"{quantile} ±{share:.3g}" for quantile, share in value.items())
    return str(value)


def _figures(study: Study, point: Point) -> list[str]:
    found, mark = [], mark_of([point])
    for name, word in point.kind.tells:
        figure = study.figure(point, name)
        if figure and not (figure.unit == "ratio" and figure.value == 0):
            found.append(f"{word} {format_figure(figure)}{mark}".strip())
    shown = [name for name, _ in point.kind.tells]
    return found + further_figures(study, point, shown)


def _samples(study: Study, point: Point) -> str:
    main = next(
        (f for name, _ in point.kind.tells if (f := study.figure(point, name))),
        None,
    )
    if main is None or not point.batches:
        return ""
    batches = len(point.batches)
    if point.kind.is_stream:
        return f"{batches} batches"
    if point.kind.is_program:
        return f"{main.samples} run{'s' if main.samples > 1 else ''}"
    return f"{group_digits(main.samples)} in {batches} batch{'es' if batches > 1 else ''}"
