"""Figures in the OpenMetrics text format, version 1.0, in base units: seconds, bytes, ratios."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

import netsonde
from netsonde.export.source import FIGURE_COLUMNS, Cell, Source
from netsonde.figures.all_pairs import host_names_of, pair_values
from netsonde.figures.keys import unit_of
from netsonde.records.data import ALL_PAIRS

PREFIX = "netsonde"
_UNITS = {
    "ns": ("seconds", 1e-9),
    "bit_per_s": ("bits_per_second", 1.0),
    "bytes": ("bytes", 1.0),
    "ratio": ("ratio", 1.0),
}
_LABELS = (
    *("point", "label", "transport", "test", "operation", "message_bytes", "launch"),
    *("basis", "launches", "from", "to"),
)
MOST_PAIRS = 20_000
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


@dataclass
class _Family:
    unit: str
    help: str
    samples: list[str] = field(default_factory=list)


def openmetrics(source: Source) -> str:
    """One document: ``netsonde_round_trip_median_seconds{point="p001",...} 2.3e-05``; the ends of
    the interval are ``..._low_seconds`` and ``..._high_seconds``, where there is one, and the label
    ``basis`` says what it is of."""
    families: dict[str, _Family] = {}
    for cells in source.figure_rows():
        row = dict(zip(FIGURE_COLUMNS, cells, strict=True))
        for bound in ("", "low", "high"):
            value = row[bound or "value"]
            if isinstance(value, int | float) and math.isfinite(value):
                _add(families, row, bound, float(value))
    for pair, middle in _pairs(source):
        _add(families, pair, "", middle)
    info = {
        "name": str(source.manifest.get("name", "")),
        "run": source.name,
        "origin": source.run.origin,
        "started_utc": str(source.manifest.get("started_utc") or ""),
        "version": netsonde.__version__,
    }
    lines = [f"# TYPE {PREFIX}_run info", f"# HELP {PREFIX}_run the run that the figures are of"]
    lines.append(f"{PREFIX}_run_info{_labelled(info.items())} 1")
    lines += [line for name, family in families.items() for line in _lines(name, family)]
    return "\n".join([*lines, "# EOF", ""])


def _pairs(source: Source) -> Iterator[tuple[dict[str, Cell], float]]:
    """Of all pairs, each measure of each pair by its two hosts, the median where it was measured
    several times; of more than ``MOST_PAIRS`` pairs, of each host by what it sends."""
    run = source.run
    rounds = [point for point in run.points if point.test == ALL_PAIRS and point.batches]
    hosts = host_names_of(run) if rounds else ()
    for name, measured in (pair_values(run) if rounds else {}).items():
        unit = unit_of(name)
        found: dict[tuple[str, ...], list[float]] = {}
        few = len(hosts) * (len(hosts) - 1) <= MOST_PAIRS
        for origin, target, value in zip(
            measured.origin, measured.target, measured.value, strict=True
        ):
            ends = (hosts[origin], hosts[target])[: 2 if few else 1]
            found.setdefault(tuple(ends), []).append(float(value))
        for named, values in found.items():
            row: dict[str, Cell] = {"test": ALL_PAIRS, "unit": unit, "method": "all-pairs#measures"}
            row["figure"] = f"pair_{name}" if few else f"host_{name}"
            row |= dict(zip(("from", "to"), named, strict=False))
            yield row, float(median(values))


def _add(families: dict[str, _Family], row: dict[str, Cell], bound: str, value: float) -> None:
    figure = str(row["figure"])
    unit, factor = _UNITS.get(str(row["unit"]), ("", 1.0))
    plain = figure.removesuffix(f"_{row['unit']}") if unit else figure
    words = [PREFIX, _NOT_IN_NAMES.sub("_", plain), bound, unit]
    name = "_".join(word for word in words if word)
    # These suffixes belong to other types of metrics.
    name = re.sub(r"_(total|count|sum|bucket|info|created|gsum|gcount)$", r"_\1_value", name)
    method = f"; docs/methods: {row['method']}" if row["method"] else ""
    which = f"{bound} end of the interval of " if bound else ""
    family = families.setdefault(name, _Family(unit, f"{which}{figure}{method}"))
    labels = ((key, str(row[key])) for key in _LABELS if row.get(key) is not None)
    family.samples.append(f"{name}{_labelled(labels)} {value * factor:.10g}")


def _lines(name: str, family: _Family) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    if family.unit:
        yield f"# UNIT {name} {family.unit}"
    yield f"# HELP {name} {_escaped(family.help)}"
    yield from dict.fromkeys(family.samples)


def _labelled(labels: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
