"""Runs of many kinds with known content, and what is said of figures, whatever their values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from all_pairs_made import made_run as pairs_run
from factorial_runs import factorial_run
from mpi_points import operations_run
from program_points import program_point
from program_points import run_of as program_run
from study_made import drawn_study
from sweep_points import hockney, swept_points

from netsonde.catalogue.known_figures import label_of
from netsonde.catalogue.method import methods_of
from netsonde.figures.data import Figure
from netsonde.figures.programs import better_of
from netsonde.records.data import Point, Run


def runs() -> Iterator[Run]:
    """Small ones: sockets, MPI, several launches, sweeps, all pairs, a program."""
    yield from (factorial_run(seed) for seed in range(4))
    yield from (drawn_study(seed)[0] for seed in range(3))
    yield pairs_run(6)
    yield operations_run({("barrier", 0): 20.0, ("bcast", 8): 30.0, ("bcast", 1024): 60.0})
    yield program_run([program_point(1, [1.0, 2.0, 3.0])])
    points = swept_points(hockney())
    yield Run(Path("sweep"), {"origin": "real", "path": {}, "hosts": {}}, points, True)


def told_of(key: str) -> dict[str, Any]:
    """What is said of a figure of a transport and test, as its key has them."""
    transport, test, name, _ = key.split(" ")
    point = Point("p001", transport, test, {"message_bytes": 0, "figures": {}})
    better = better_of(point, name)
    return {
        "unit": figure_of(key).unit,
        "better": None if better == "neither" else better,
        "main": point.kind.is_main(name),
        "label": label_of(name),
    }


def figure_of(key: str) -> Figure:
    transport, test, name, method = key.split(" ")
    return Figure("p001", transport, test, None, 0, name, 0.0, None, None, 0, None, method)


def method_of(place: str) -> list[str]:
    """Where it is told, and in short, on a report's page."""
    (method,) = methods_of([figure_of(f"tcp latency round_trip_median_ns {place}")])
    return [method.command, method.short]
