"""What pages, tables and comparisons say of each figure: as they said before there were rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from figures_made import method_of, runs, told_of

from netsonde.catalogue.known_figures import METHODS, UnknownFigureError, figure_kind
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure

STORED = json.loads(Path(__file__).with_name("figures_told.json").read_text())


def test_of_every_figure_the_same_is_said_as_before() -> None:
    told = {key: told_of(key) for key in STORED["figures"]}
    assert {key: said for key, said in told.items() if said != STORED["figures"][key]} == {}


def test_of_every_method_the_same_is_said_as_before() -> None:
    told = {place: method_of(place) for place in STORED["methods"]}
    assert {place: said for place, said in told.items() if said != STORED["methods"][place]} == {}


def test_runs_have_the_figures_that_they_had_by_the_same_methods() -> None:
    made = {
        f"{f.transport} {f.test} {f.name} {f.method}" for run in runs() for f in figures_of(run)
    }
    assert len(made) > 60
    assert made - STORED["figures"].keys() == set()


def test_every_figure_is_by_a_method_of_its_row() -> None:
    """Another tool's result under netsonde's name is by the tool's."""
    for key in STORED["figures"]:
        _, _, name, method = key.split(" ")
        if not method.startswith("other-tools#"):
            assert method in figure_kind(name).methods, key
        assert method in METHODS


def test_a_figure_without_a_row_is_an_error_at_once() -> None:
    with pytest.raises(UnknownFigureError, match="no row of the catalogue knows the figure 'x_ns'"):
        Figure("p001", "tcp", "latency", None, 64, "x_ns", 1.0, None, None, 1, None, "")
