"""The values of the moment in the OpenMetrics text format, version 1.0."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from netsonde.trace.journal import Counter

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
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


@dataclass
class _Family:
    kind: str
    unit: str
    counters: str
    samples: list[str] = field(default_factory=list)


def metrics(
    counters: Iterable[Counter],
    values: Iterable[int | None],
    info: Mapping[str, str],
    sampled_unix_s: float,
    jiffies_per_s: int,
) -> str:
    """All that is there, as one document. The processors together are left out: they are the sum of
    each."""
    families: dict[str, _Family] = {
        f"{PREFIX}_trace": _Family(
            "info", "", "the traced host", [_labelled("_info", info) + " 1"]
        ),
        f"{PREFIX}_trace_sampled_timestamp_seconds": _Family(
            "gauge", "seconds", "when the values were read", [f" {sampled_unix_s:.3f}"]
        ),
    }
    for counter, value in zip(counters, values, strict=False):
        if value is None or counter.name.startswith("cpu.all."):
            continue
        name, labels = _place(counter.name)
        unit, scaled = _unit(counter, jiffies_per_s)
        name = _with_unit(name, unit)
        kind = _TYPES[counter.kind]
        family = families.setdefault(
            name, _Family(kind, unit, re.sub(r"\d+", "N", counter.name, count=1))
        )
        if family.kind != kind:
            continue
        suffix = "_total" if kind == "counter" else ""
        shown = value % _WORD_64 if kind == "counter" else value
        family.samples.append(f"{_labelled(suffix, labels)} {scaled(shown)}")
    lines = [line for name, family in families.items() for line in _lines(name, family)]
    return "\n".join([*lines, "# EOF", ""])


def _lines(name: str, family: _Family) -> Iterable[str]:
    yield f"# TYPE {name} {family.kind}"
    if family.unit:
        yield f"# UNIT {name} {family.unit}"
    yield f"# HELP {name} {_escaped(family.counters)}"
    for sample in family.samples:
        yield name + sample


def _place(counter: str) -> tuple[str, dict[str, str]]:
    for pattern, family in _FAMILIES:
        match = pattern.fullmatch(counter)
        if match:
            labels = match.groupdict()
            last = labels.pop("_", None)
            return _plain(f"{PREFIX}_{family}_{last}" if last else f"{PREFIX}_{family}"), labels
    return _plain(f"{PREFIX}_{counter}"), {}


def _unit(counter: Counter, jiffies_per_s: int) -> tuple[str, Callable[[int], str]]:
    """The unit as OpenMetrics wants it, and how a value is written in it."""
    if counter.unit == "jiffies":
        return "seconds", lambda value: f"{value / jiffies_per_s:.2f}"
    if counter.unit in _SECONDS:
        factor = _SECONDS[counter.unit]
        return "seconds", lambda value: f"{value * factor:.6f}"
    if counter.unit == "kHz":
        return "hertz", lambda value: str(value * 1000)
    if counter.unit == "1/1000":
        return "", lambda value: f"{value / 1000:.3f}"
    return ("bytes" if counter.unit == "bytes" else ""), str


def _with_unit(name: str, unit: str) -> str:
    """A family's name ends in its unit, and not in ``_total``, which its samples get."""
    for suffix in ("_us", "_ns", "_khz", "_milli", "_total"):
        name = name.removesuffix(suffix)
    return f"{name}_{unit}" if unit and not name.endswith(f"_{unit}") else name


def _plain(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)


def _labelled(suffix: str, labels: Mapping[str, str]) -> str:
    if not labels:
        return suffix
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{suffix}{{{inside}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
