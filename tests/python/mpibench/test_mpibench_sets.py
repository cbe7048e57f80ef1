"""A run's files by what it varied: nothing is mixed or lost, and every head says what it was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rank_records import rank_batch, rank_point

from netsonde.cli.mpibench_files import write_files_of
from netsonde.mpibench.files import SUFFIXES
from netsonde.mpibench.heading import head
from netsonde.mpibench.options import Summing
from netsonde.mpibench.sets import names_of, sets_of
from netsonde.ranks.times import rank_times
from netsonde.records.data import Point, Run

PLAIN = Summing(warm_up=0, parts=2, bins=4)
CONDITIONS: Mapping[str, tuple[Any, ...]] = {
    "ranks": (2, 3, 4),
    "ppn": (None, 1, 2),
    "launch": (None, 1, 2),
    "mpi": (None, "mpich", "/opt/a/bin/mpiexec", "/opt/b/bin/mpiexec+A_B=1"),
    "start": (None, "window"),
    "cache": (None, "flush"),
    "clock": (None, "offset"),
    "rotate_root": (None, True),
    "pass": (None, 1, 2),
    "label": (None, "busy 10%"),
    "partners": (None, [[0, 1]], [[1, 0]]),
}


def made(number: int, size: int, conditions: Mapping[str, Any], stay: float = 5.0) -> Point:
    ranks = conditions.get("ranks", 2)
    batch = rank_batch([[0, 100, 200]] * ranks, [[stay] * 3] * ranks)
    own = {name: value for name, value in conditions.items() if value is not None}
    point: Point = rank_point("bcast", batch, size=size, **own)
    return replace(point, id=f"p{number:03d}")


def run_of(points: list[Point], **manifest: Any) -> Run:
    told = {"origin": "real", "hosts": {"h0": {"host.name": "h0"}}, **manifest}
    return Run(Path("runs/x"), told, points, True)


@pytest.mark.parametrize("seed", range(40))
def test_points_that_differ_in_more_than_size_are_in_files_of_their_own(seed: int) -> None:
    draw = random.Random(seed)
    varied = draw.sample(sorted(CONDITIONS), draw.randint(0, 4))
    every = {
        tuple(sorted((name, str(draw_from)) for name, draw_from in one.items())): one
        for one in ({n: draw.choice(CONDITIONS[n]) for n in varied} for _ in range(6))
    }
    points = list[Point]()
    for conditions in every.values():
        points += [made(len(points), size, conditions) for size in (64, 8, 1024)]
    draw.shuffle(points)
    sets = sets_of(points)
    assert len(sets) == len(every)
    for found in sets:
        own = [{k: v for k, v in p.parameters.items() if k in CONDITIONS} for p in found.points]
        assert own == [own[0]] * 3
        assert [p.message_bytes for p in found.points] == [8, 64, 1024]
    names = names_of("out", sets)
    assert len(set(names)) == len(sets)
    assert all("/" not in name for name in names)
    if len(sets) > 1:
        assert len({found.in_words for found in sets}) == len(sets)


def test_process_counts_and_launches_have_their_own_tables(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    points = [
        made(number, 64, {"ranks": ranks, "launch": launch}, stay=10.0 * ranks + launch)
        for number, (ranks, launch) in enumerate([(2, 1), (4, 1), (2, 2), (4, 2)])
    ]
    assert write_files_of(run_of(points), PLAIN, "out", quiet=True) == []
    assert len(list(tmp_path.iterdir())) == 4 * len(SUFFIXES)
    for ranks, launch in ((2, 1), (4, 2)):
        text = (tmp_path / f"out-n{ranks}-launch{launch}.summary").read_text()
        assert f"routine: bcast, {ranks} processes;" in text
        assert f"apart from other files of this run: {ranks} processes, launch {launch}" in text
        (row,) = (line.split() for line in text.splitlines() if "#" not in line)
        assert float(row[4]) == 10.0 * ranks + launch


@pytest.mark.parametrize("lost", [1, 2])
def test_a_size_without_survivors_is_named_and_no_file_is_lost(
    tmp_path, monkeypatch, lost: int
) -> None:
    monkeypatch.chdir(tmp_path)
    all_late = rank_batch([[0, 100]] * 2, [[5, 5]] * 2, late_us=[[0, 0], [50, 50]])
    points = [rank_point("bcast", all_late, size=8 * (n + 1), start="window") for n in range(lost)]
    points += [made(7, 64, {"start": "window"})] * (2 - lost)
    told = write_files_of(run_of(points), PLAIN, "out", quiet=True)
    assert len(told) == lost
    for suffix in SUFFIXES:
        text = (tmp_path / f"out{suffix}").read_text()
        assert "no value: bcast of 8 bytes: no repetition is left" in text
    rows = [x for x in (tmp_path / "out.summary").read_text().splitlines() if "#" not in x]
    assert len(rows) == 2 - lost


def test_the_head_says_network_pairs_binding_clock_and_data() -> None:
    batch = rank_batch([[0, 100]] * 4, [[5, 5]] * 4)
    for rank, to in enumerate((3, 2, 1, 0)):
        batch.ends[rank].counters["partner"] = to
    point = rank_point(
        "one_way", batch, ranks=4, pattern="list", partners=[[0, 3], [1, 2]], cache="flush",
        cache_bytes=1 << 20, clock="offset", count=2,
    )  # fmt: skip
    point.opened = {rank: {"processor": rank + 4} for rank in range(4)}
    facts = {"clock.source": "tsc", "mpi.library": "M", "mpi.environment.MPIR_CVAR_NOLOCAL": "1"}
    point.checks = {"carried": {"by": "loopback"}}
    run = run_of([point], path={"kind": "loopback"}, hosts={"h0": facts})
    text = head(run, sets_of([point])[0], PLAIN, "netsonde")
    for words in (
        "pairs: from a file: 0-3 1-2",
        "network: this machine alone; MPI goes over TCP over loopback, as counters say",
        "settings: MPIR_CVAR_NOLOCAL=1",
        "binding: process 0 on 4, 1 on 5, 2 on 6, 3 on 7",
        "clock: tsc of each process; compared once",
        "data: flush, 1048576 bytes",
        "repetitions: 2 of each size",
    ):
        assert words in text, words
    point.checks = {"carried": {"by": "memory"}}
    shared = run_of([point], path={"kind": "node"}, hosts={"h0": {"mpi.library": "M"}})
    assert "MPI goes over shared memory of one node" in head(shared, sets_of([point])[0], PLAIN, "")
    point.checks = {}
    assert "shared memory" not in head(shared, sets_of([point])[0], PLAIN, "netsonde")


def test_a_message_is_its_recorded_partners() -> None:
    """Of a file of pairs no pattern says who they are."""
    batch = rank_batch([[10, 0], [20, 0], [30, 0], [40, 0]], [[1, 1], [1, 1], [20, 1], [30, 1]])
    for rank, to in enumerate((3, 2, 1, 0)):
        batch.ends[rank].counters["partner"] = to
    found = rank_times(rank_point("one_way", batch, pattern="list", partners=[[0, 3], [1, 2]]))
    assert found.times_ns[3][0] == 60_000  # from rank 0's entry at 10 to rank 3's exit at 70
    assert found.times_ns[2][0] == 30_000


def test_a_size_that_was_measured_again_has_one_row() -> None:
    first, again = made(1, 64, {}, stay=5.0), made(2, 64, {"refined": 1}, stay=9.0)
    added = made(3, 128, {"refined": 1})  # a size between others, by --refine
    (found,) = sets_of([first, again, added])
    assert found.points == (first, added)
