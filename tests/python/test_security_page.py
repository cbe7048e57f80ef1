"""The page for whoever decides whether netsonde may run: each class says what holds it."""

from __future__ import annotations

import re

from test_docs import missing_tests

from docs_pages import ROOT

CLASSES = 13
PARTS = ["iperf3", "netsonde", "Tests", "Open"]


def test_each_class_has_its_report_its_answer_its_tests_and_what_is_open() -> None:
    text = (ROOT / "docs" / "methods" / "security.md").read_text()
    numbers = re.findall(r"(?m)^### (\d+)\. ", text)
    assert numbers == [str(number) for number in range(1, CLASSES + 1)]
    for number, part in zip(numbers, re.split(r"(?m)^### .*$", text)[1:], strict=True):
        assert re.findall(r"(?m)^- (\w+):", part) == PARTS, number
        named = re.findall(r"`python/[^`]+::test_\w+`", part)
        assert named, number
        assert missing_tests(part) == [], number
