"""Figures in the OpenMetrics text format, version 1.0, in base units: seconds, bytes, ratios."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from statistics import median
from types import SimpleNamespace

from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.openmetrics.exposition import ALLOWUTF8, generate_latest

import netsonde
from netsonde.catalogue.known_figures import unit_of
from netsonde.export.source import FIGURE_COLUMNS, Cell, Source
from netsonde.figures.all_pairs import host_names_of, pair_values
from netsonde.figures.ends import ends_of
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


class _Families:
    """The metrics by name, each sample once."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric] = {}
        self._given: set[tuple[object, ...]] = set()

    def add(self, row: dict[str, Cell], bound: str, value: float) -> None:
        figure = str(row["figure"])
        unit, factor = _UNITS.get(str(row["unit"]), ("", 1.0))
        name = _named(figure, str(row["unit"]), bound, unit)
        labels = {key: str(row[key]) for key in _LABELS if row.get(key) is not None}
        scaled = float(f"{value * factor:.10g}")
        given = (name, scaled, *labels.items())
        if given in self._given:
            return
        self._given.add(given)
        if name not in self.metrics:
            which = f"{bound} end of the interval of " if bound else ""
            method = f"; docs/methods: {row['method']}" if row["method"] else ""
            self.metrics[name] = Metric(name, f"{which}{figure}{method}", "gauge", unit)
        self.metrics[name].add_sample(name, labels, scaled)


def _named(figure: str, figure_unit: str, bound: str, unit: str) -> str:
    plain = figure.removesuffix(f"_{figure_unit}") if unit else figure
    words = [PREFIX, _NOT_IN_NAMES.sub("_", plain), bound, unit]
    name = "_".join(word for word in words if word)
    # These suffixes belong to other types of metrics.
    return re.sub(r"_(total|count|sum|bucket|info|created|gsum|gcount)$", r"_\1_value", name)


def openmetrics(source: Source, more: Iterable[Metric] = ()) -> bytes:
    """One document, with ``more`` metrics behind the run's:
    ``netsonde_round_trip_median_seconds{point="p001",...} 2.3e-05``. The ends of the interval are
    ``..._low_seconds`` and ``..._high_seconds``, where there is one, and the label ``basis`` says
    what it is of. ``from`` and ``to`` are the hosts of a point of one pair."""
    families = _Families()
    ends = {point.id: ends_of(point) for point in source.run.points}
    for cells in source.figure_rows():
        row = dict(zip(FIGURE_COLUMNS, cells, strict=True))
        row |= zip(("from", "to"), ends.get(str(row["point"])) or (), strict=False)
        for bound in ("", "low", "high"):
            value = row[bound or "value"]
            if isinstance(value, int | float) and math.isfinite(value):
                families.add(row, bound, float(value))
    for pair, middle in _pairs(source):
        families.add(pair, "", middle)
    info = {
        "name": str(source.manifest.get("name", "")),
        "run": source.name,
        "origin": source.run.origin,
        "started_utc": str(source.manifest.get("started_utc") or ""),
        "version": netsonde.__version__,
    }
    about = InfoMetricFamily(f"{PREFIX}_run", "the run that the figures are of", info)
    return document_of([about, *families.metrics.values(), *more])


def document_of(metrics: Iterable[Metric]) -> bytes:
    """Metrics as one document."""
    registry = SimpleNamespace(collect=lambda: metrics)
    # Names and labels are plain words: nothing of them is to be replaced.
    text: bytes = generate_latest(registry, escaping=ALLOWUTF8)  # type: ignore[no-untyped-call]
    return text


def _pairs(source: Source) -> Iterator[tuple[dict[str, Cell], float]]:
    """Of all pairs, each measure of each pair by its two hosts, the median where it was measured
    several times; of more than ``MOST_PAIRS`` pairs, of each host by what it sends."""
    run = source.run
    rounds = [point for point in run.points if point.kind.is_round and point.batches]
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
