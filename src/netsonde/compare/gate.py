"""Which verdicts fail a comparison, and all of them as JUnit XML for a CI system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal
from xml.etree import ElementTree

from netsonde.compare.data import Comparison, FigureVerdict
from netsonde.compare.text import change_in_numbers
from netsonde.units import change_in_words, value_in_words

FailOn = Literal["worse", "beyond", "unknown", "never"]
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def failing(comparison: Comparison, fail_on: FailOn) -> list[FigureVerdict]:
    """Figures that fail: those that are worse; with ``beyond`` only where that is so by more than
    the margin for certain; with ``unknown`` those of which nothing is known as well."""
    if fail_on == "never":
        return []
    if fail_on == "beyond":
        return [f for f in comparison.figures if f.verdict == "worse" and f.beyond_margin]
    wrong = ("worse", "unknown") if fail_on == "unknown" else ("worse",)
    return [f for f in comparison.figures if f.verdict in wrong]


def gate_sentence(failed: Sequence[FigureVerdict]) -> str:
    """What an exit code of 1 means, in one sentence."""
    first = failed[0]
    effect = ""
    if first.ratio is not None:
        words = change_in_words(first.ratio, first.key.unit)
        effect = f" ({change_in_numbers(first)}): {words}"
    others = f", and {len(failed) - 1} more failed" if len(failed) > 1 else ""
    return f"{first.label}: {first.key.figure} is {first.verdict}{effect}{others}"


def junit_of(comparison: Comparison, fail_on: FailOn) -> str:
    """The comparison as JUnit XML: a case for each figure, which fails as the exit code does, and
    is skipped where it is unknown and that is no failure. Circumstances are properties."""
    failed = {id(figure) for figure in failing(comparison, fail_on)}
    cases = []
    for figure in comparison.figures:
        case = case_of(f"{figure.key.transport}.{figure.key.test}", _name(figure))
        if id(figure) in failed:
            add(case, "failure", _told(figure), type=figure.verdict)
        elif figure.verdict == "unknown":
            add(case, "skipped", figure.reason)
        add(case, "system-out", text=_told(figure))
        cases.append(case)
    properties = [("margin", f"{comparison.margin:g}"), ("unit", comparison.unit)]
    properties += [(f"before.{i}", run.directory) for i, run in enumerate(comparison.before, 1)]
    properties += [(f"after.{i}", run.directory) for i, run in enumerate(comparison.after, 1)]
    properties += [
        (f"changed.{c.kind}.{c.name}", f"{c.before} -> {c.after}") for c in comparison.circumstances
    ]
    return suites_of("netsonde compare", cases, properties)


def _name(figure: FigureVerdict) -> str:
    return f"{figure.label}: {figure.key.figure}"


def _told(figure: FigureVerdict) -> str:
    before, after = (
        value_in_words(side.median, figure.key.unit) for side in (figure.before, figure.after)
    )
    launches = len(figure.before.launches), len(figure.after.launches)
    parts = [
        f"{figure.verdict}: {before} before, {after} after",
        change_in_numbers(figure),
        "" if figure.ratio is None else change_in_words(figure.ratio, figure.key.unit),
        f"{launches[0]} and {launches[1]} launches",
        figure.reason,
    ]
    return "; ".join(part for part in parts if part)


def case_of(group: str, name: str, seconds: float = 0.0) -> ElementTree.Element:
    """One test case, which has passed unless something is added; how long it took."""
    attributes = {
        "classname": printable(group),
        "name": printable(name),
        "time": f"{seconds:.3f}",
    }
    return ElementTree.Element("testcase", attributes)


def add(
    case: ElementTree.Element, tag: str, message: str = "", *, text: str = "", **more: str
) -> None:
    """An element with a message or a text below a case."""
    given = {"message": message, **more} if message else more
    child = ElementTree.SubElement(case, tag, {k: printable(v) for k, v in given.items()})
    if text:
        child.text = printable(text)


def suites_of(
    name: str, cases: Sequence[ElementTree.Element], properties: Iterable[tuple[str, str]]
) -> str:
    """A document of one suite, counted as CI systems expect it."""
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{sum(float(case.get('time', 0)) for case in cases):.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts})
    listed = ElementTree.SubElement(suite, "properties")
    for key, value in properties:
        attributes = {"name": printable(key), "value": printable(value)}
        ElementTree.SubElement(listed, "property", attributes)
    suite.extend(cases)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, "us-ascii", xml_declaration=True)
    return text.decode("ascii") + "\n"


def printable(text: str) -> str:
    """Without what XML cannot hold."""
    return _NOT_XML.sub("?", text)
