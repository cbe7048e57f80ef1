"""Eager and rendezvous by the modes of sending, of times that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mpi_points import operations_run

from netsonde.explain.data import Seen
from netsonde.explain.protocols import protocol_of_sending
from netsonde.figures.compute import figures_of
from netsonde.figures.protocols import modes_of
from netsonde.report.lookup import Study
from netsonde.report.mode_plots import BEST, modes
from netsonde.report.quantity import margin_text

SIZES = [64, 1024, 16384, 65536, 262144]
EAGER_UP_TO = 16384


def run_of(with_ready=True):
    """A send of 10 us and 1 ns a byte each way; a synchronous one waits 8 us more, and so does the
    plain one above 16 KiB; a buffered one copies 0.5 ns a byte each way."""
    times = {}
    for size in SIZES:
        plain = 20 + 2 * size / 1e3
        late = 8 if size > EAGER_UP_TO else 0
        times["send", size] = plain + late
        times["ssend", size] = plain + 8
        times["bsend", size] = plain + late + size / 1e3
        if with_ready:
            times["rsend", size] = 0.7 * (plain + late)
    return operations_run(times, ranks=2)


def test_the_change_to_rendezvous_is_found():
    run = run_of()
    (found,) = modes_of(run, figures_of(run))
    assert found.rendezvous_from == (16384, 65536)
    assert found.copy_ns_per_byte == pytest.approx(0.5, rel=0.1)
    (finding,) = protocol_of_sending(Seen(run, figures_of(run)))
    assert "from 64k on (rendezvous)" in finding.claim
    assert "up to 16k" in finding.claim


def test_a_send_that_never_waits_has_no_change():
    run = operations_run(
        {(op, s): us for s in SIZES for op, us in (("send", 10.0), ("ssend", 15.0))}
    )
    (found,) = modes_of(run, figures_of(run))
    assert found.rendezvous_from is None
    assert found.copy_ns_per_byte is None
    assert protocol_of_sending(Seen(run, figures_of(run))) == []


def test_the_best_is_marked_only_where_it_is_so():
    run = run_of()
    (found,) = modes_of(run, figures_of(run))
    assert {found.best(size) for size in SIZES} == {"rsend"}
    same = operations_run({("send", 64): 10.0, ("isend", 64): 10.0})
    (found,) = modes_of(same, figures_of(same))
    assert found.best(64) is None
    heat = modes(Study(run, figures_of(run))).panels[0].heat
    assert heat.rows == ["send", "ssend", "bsend", "rsend"]
    assert all(words.startswith(BEST) for words in heat.words[3])
    assert not any(words.startswith(BEST) for words in heat.words[0])


def test_every_cell_of_the_map_says_how_sure_it_is():
    run = run_of()
    figures = figures_of(run)
    heat = modes(Study(run, figures)).panels[0].heat
    assert all("±" in words for row in heat.words for words in row)
    figures = [
        replace(f, low=None, high=None) if f.name == "completion_median_ns" else f for f in figures
    ]
    heat = modes(Study(run, figures)).panels[0].heat
    assert all("[no interval]" in words for row in heat.words for words in row)


def test_a_margin_is_that_of_the_farther_end():
    assert margin_text(100.0, 99.5, 102.0) == "±2.0 %"
    assert margin_text(100.0, 60.0, 102.0) == "±40 %"
    assert margin_text(100.0, None, None) == margin_text(0.0, 0.0, 1.0) == ""


def test_a_send_alone_is_not_compared():
    run = operations_run({("send", 64): 10.0, ("bcast", 64): 5.0})
    assert modes_of(run, figures_of(run)) == []
    assert modes(Study(run, figures_of(run))) is None
