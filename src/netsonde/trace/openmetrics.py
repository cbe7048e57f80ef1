"""The values of the moment in the OpenMetrics text format, version 1.0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.openmetrics.exposition import ALLOWUTF8, generate_latest

from netsonde.trace.journal import Counter

PREFIX = "netsonde"
_TYPES = {"c": "counter", "g": "gauge", "u": "unknown"}
_SECONDS = {"us": 1e-6, "ns": 1e-9}
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
_WORD_64 = 1 << 64
# Counter -> its family and labels; the first that matches holds. What none matches becomes a family
# of its own, without labels.
_FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"cpu\.(?P<cpu>\d+)\.(?P<mode>\w+)", "cpu"),
        (r"interface\.(?P<interface>.+)\.(?P<_>[a-z_]+)", "interface"),
        (r"interrupt\.(?P<interrupt>.+)", "interrupts"),
        (r"interrupt_cpu\.(?P<cpu>\d+)\.(?P<interrupt>.+)", "interrupts_by_cpu"),
        (r"softirq\.(?P<softirq>.+)", "softirqs"),
        (r"softirq_cpu\.(?P<cpu>\d+)\.(?P<softirq>.+)", "softirqs_by_cpu"),
        (r"softnet_cpu\.(?P<cpu>\d+)\.(?P<_>\w+)", "softnet_by_cpu"),
        (r"driver\.(?P<interface>[^.]+)\.(?P<statistic>.+)", "driver"),
        (r"qdisc\.(?P<interface>.+)\.(?P<kind>\w+)@(?P<parent>[0-9a-z:]+)\.(?P<_>\w+)", "qdisc"),
        (r"infiniband\.(?P<device>[^.]+)\.(?P<port>[^.]+)\.(?P<_>.+)", "infiniband"),
        (r"frequency\.(?P<cpu>\d+)(?:_khz)", "cpu_frequency"),
        (r"frequency\.(?P<cpu>\d+)\.(?P<_>\w+)", "cpu"),
        (r"pressure\.(?P<resource>\w+)\.(?P<_>\w+)", "pressure"),
        (r"link\.(?P<interface>.+)\.(?P<_>\w+)", "link"),
    )
)


def metrics(
    counters: Iterable[Counter],
    values: Iterable[int | None],
    info: Mapping[str, str],
    sampled_unix_s: float,
    jiffies_per_s: int,
) -> bytes:
    """All that is there, as one document. The CPUs together are left out: they are the sum of
    each."""
    families = [
        InfoMetricFamily(f"{PREFIX}_trace", "the traced host", dict(info)),
        GaugeMetricFamily(
            f"{PREFIX}_trace_sampled_timestamp_seconds",
            "when the values were read",
            round(sampled_unix_s, 3),
            unit="seconds",
        ),
        *_families(zip(counters, values, strict=False), jiffies_per_s),
    ]
    registry = SimpleNamespace(collect=lambda: families)
    text: bytes = generate_latest(registry, escaping=ALLOWUTF8)  # type: ignore[no-untyped-call]
    return text


def _families(read: Iterable[tuple[Counter, int | None]], jiffies_per_s: int) -> Iterator[Metric]:
    families: dict[str, Metric] = {}
    for counter, value in read:
        if value is None or counter.name.startswith("cpu.all."):
            continue
        name, labels = _place(counter.name)
        unit, one = _unit(counter, jiffies_per_s)
        name = _with_unit(name, unit)
        kind = _TYPES[counter.kind]
        if name not in families:
            what = re.sub(r"\d+", "N", counter.name, count=1)
            families[name] = Metric(name, what, kind, unit)
        if families[name].type != kind:
            continue
        suffix, shown = ("_total", value % _WORD_64) if kind == "counter" else ("", value)
        families[name].add_sample(name + suffix, labels, round(shown * one, 6))
    yield from families.values()


def _place(counter: str) -> tuple[str, dict[str, str]]:
    for pattern, family in _FAMILIES:
        match = pattern.fullmatch(counter)
        if match:
            labels = match.groupdict()
            last = labels.pop("_", None)
            return _plain(f"{PREFIX}_{family}_{last}" if last else f"{PREFIX}_{family}"), labels
    return _plain(f"{PREFIX}_{counter}"), {}


def _unit(counter: Counter, jiffies_per_s: int) -> tuple[str, float]:
    """The unit as OpenMetrics wants it, and how much of it one of the counter's is."""
    if counter.unit == "jiffies":
        return "seconds", 1 / jiffies_per_s
    if counter.unit in _SECONDS:
        return "seconds", _SECONDS[counter.unit]
    if counter.unit == "kHz":
        return "hertz", 1000
    if counter.unit == "1/1000":
        return "", 0.001
    return ("bytes" if counter.unit == "bytes" else ""), 1


def _with_unit(name: str, unit: str) -> str:
    """A family's name ends in its unit, and not in ``_total``, which its samples get."""
    for suffix in ("_us", "_ns", "_khz", "_milli", "_total"):
        name = name.removesuffix(suffix)
    return f"{name}_{unit}" if unit and not name.endswith(f"_{unit}") else name


def _plain(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)
