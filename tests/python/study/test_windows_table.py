"""Bounds of windows, and lists of CPUs: from the command line to the request."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from netsonde.catalogue.point import ASKED
from netsonde.cli.mpi_choices import binding
from netsonde.errors import UsageError
from netsonde.launch.mpi import MpiSession
from netsonde.launch.mpi_places import Places
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec
from netsonde.study.windows_table import start_of


def study(start, pin="none", oversubscribe=False):
    return StudySpec.model_validate(
        {
            "name": "windows",
            "path": {"kind": "loopback"},
            "mpi": {"ranks": 2, **binding(pin, oversubscribe)},
            "measure": [
                {"transports": ["mpi"], "test": "collective", "operations": ["bcast"],
                 "sizes": "8", **start_of(start)}
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "request_has"),
    [
        ("barrier", None),
        ("none", None),
        ("window", None),
        ("window:late=2us", {"late_ns": 2000, "late_most_ns": 100_000}),
        ("window:late=1ms", {"late_ns": 1_000_000, "late_most_ns": 1_000_000}),
        ("window:late=2us,late-most=5us,count=8,growth=64,slack=1ms",
         {"late_ns": 2000, "late_most_ns": 5000, "at_once": 8, "growth": 64,
          "slack_ns": 1_000_000}),
    ],
)  # fmt: skip
def test_what_the_command_line_says_reaches_the_request(text, request_has):
    (point,) = plan_points(study(text))
    assert point.parameters.get("windows") == request_has
    assert point.parameters.get("start", "barrier") == text.partition(":")[0]
    assert "windows" in ASKED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("windows", "--start windows is unknown"),
        ("barrier:late=2us", "--start barrier takes no bounds"),
        ("window:", "is no bound of windows"),
        ("window:late", "is no bound of windows"),
        ("window:soon=2us", "is no bound of windows"),
        ("window:late=2us,late=3us", "write each once"),
    ],
)
def test_what_is_no_start_is_refused_in_a_sentence(text, words):
    with pytest.raises(UsageError, match=words):
        start_of(text)


@pytest.mark.parametrize("text", ["late=2h", "late=1ms,late-most=1us", "count=0", "growth=x"])
def test_bounds_beyond_all_measure_are_refused(text):
    with pytest.raises(ValidationError):
        study("window:" + text)


@pytest.mark.parametrize(
    ("pin", "asked"),
    [
        ("none", {}),
        ("all", {"pin": "all", "share": True}),
        ("not-zero", {"pin": "not_zero", "share": True}),
        ("0,2", {"pin": "listed", "share": True, "processors": [0, 2]}),
        ("3,0-1", {"pin": "listed", "share": True, "processors": [3, 0, 1]}),
        ("0-6:3,1", {"pin": "listed", "share": True, "processors": [0, 3, 6, 1]}),
    ],
)
def test_processors_that_are_named_reach_the_ranks(monkeypatch, pin, asked):
    given = study("barrier", pin, oversubscribe=pin != "none").mpi
    seen = []
    session = MpiSession.__new__(MpiSession)

    def ask(_verb, fields, _timeout_s):
        seen.append(fields)
        return []

    monkeypatch.setattr(session, "_ask", ask)
    unbound = Places((1, 2), (-1, -1))
    monkeypatch.setattr("netsonde.launch.mpi.read_places", lambda *_: unbound)
    monkeypatch.setattr(MpiSession, "ranks", 2, raising=False)
    session.place(given.pin, given.oversubscribe)
    assert seen == [asked]


@pytest.mark.parametrize("pin", ["some", "0,0", "0,", "1-0", "5000", "0-2:0", "0:2"])
def test_what_are_no_processors_is_refused(pin):
    with pytest.raises((UsageError, ValidationError)):
        study("barrier", pin)
