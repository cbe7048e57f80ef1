"""What a program calls: counted by the library that is loaded into it, put together, and made a
plan of."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mpi_needed import mpi_here
from netsonde.errors import HostError
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_programs import ProgramEnd, preload_for, run_program
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.called import VARIABLE, Called, Cost, Kind, read_called
from netsonde.tuning.mpi.called_plan import Places, plan_of, widened
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.listen import Program
from netsonde.tuning.mpi.prove import sizes_of
from netsonde.tuning.mpi.rules import Rule
from netsonde.tuning.mpi.run import Asked, tune

SOURCE = Path(__file__).parents[1] / "known_collectives.c"
RANKS = 4
TIMEOUT_S = 60
COMPILE_S = 60
KNOWN: dict[Kind, int] = {
    Kind("allreduce", "blocking", 4, 4, 800): 5,
    Kind("alltoall", "blocking", 4, 4, 256): 3,
    Kind("bcast", "blocking", 4, 4, 1000): 7,
    Kind("barrier", "blocking", 4, 4, 0): 2,
    Kind("gather", "blocking", 4, 4, 24, in_place=True): 1,
    Kind("reduce", "blocking", 4, 4, 24): 1,
    Kind("allreduce", "blocking", 2, 2, 8): 8,  # of both halves
    Kind("allreduce", "blocking", 4, 4, 64, in_place=True): 2,
    Kind("scan", "blocking", 4, 4, 24): 2,
    Kind("allreduce", "blocking", 4, 4, 16, own_operation=True): 1,
    Kind("allreduce", "started", 4, 4, 32): 3,
    Kind("bcast", "blocking", 4, 4, 80, gaps=True): 6,
    # Parts of 4, 8, 12 and 16 bytes.
    Kind("gatherv", "blocking", 4, 4, 10): 2,
    Kind("scatterv", "blocking", 4, 4, 10): 2,
    Kind("allgatherv", "blocking", 4, 4, 10): 2,
    Kind("alltoallv", "blocking", 4, 4, 10): 1,
    Kind("allreduce", "blocking", 4, 4, 16): 100,  # of two threads
}
"""What known_collectives.c calls with four ranks."""


@pytest.fixture(
    scope="module", params=["mpich", pytest.param("openmpi-debian", marks=pytest.mark.soak)]
)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    return find_mpi(mpi_here(request.param))


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program") / "known_collectives"
    wrapper = mpi.wrapper
    if mpi.abi_folder is not None:
        wrapper = mpi.mpiexec.with_name("mpicc_abi")
    assert wrapper is not None
    subprocess.run(
        [wrapper, "-O1", "-w", "-pthread", "-o", made, SOURCE], check=True, timeout=COMPILE_S
    )
    return made


def counted(mpi: Mpi, program: Path, end: str, folder: Path) -> tuple[ProgramEnd, Called]:
    variables = {
        "LD_PRELOAD": str(preload_for(mpi.name, program)),
        VARIABLE: str(folder),
        "HWLOC_COMPONENTS": "-gl",
    }
    command = [str(program), end, str(folder)]
    ended = run_program(mpi.name, None, RANKS, 1, "loopback", command, variables, TIMEOUT_S)
    return ended, read_called(folder)


def calls_of(called: Called) -> dict[Kind, float]:
    return {kind: cost.calls for kind, cost in called.kinds.items()}


def test_known_calls_are_counted(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    ended, called = counted(mpi, program, "finalize", tmp_path)
    assert (ended.status, called.told, called.finished) == (0, RANKS, RANKS), ended.said
    assert calls_of(called) == KNOWN
    assert all(cost.time_ns > 0 for cost in called.kinds.values())
    assert called.beyond == Cost()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"calls.{i}.json" for i in range(4)]


def test_who_aborts_has_told_before(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    ended, called = counted(mpi, program, "abort", tmp_path)
    assert ended.status != 0
    assert called.told >= 1
    assert called.finished < RANKS
    told = json.loads((tmp_path / "calls.0.json").read_text())
    assert told["end"] == "abort"
    assert (
        sum(row["calls"] for row in told["calls"]) == sum(KNOWN.values()) - 4
    )  # of one half alone


@pytest.mark.soak
def test_a_killed_program_leaves_what_it_wrote_last(
    mpi: Mpi, program: Path, tmp_path: Path
) -> None:
    _, called = counted(mpi, program, "kill", tmp_path)
    assert json.loads((tmp_path / "calls.0.json").read_text())["end"] == "running"
    found = calls_of(called)
    endless = ("barrier", "bcast")
    assert {k: n for k, n in found.items() if k.operation not in endless} == {
        k: n for k, n in KNOWN.items() if k.operation not in endless
    }


@pytest.mark.soak
def test_a_program_that_takes_too_long_is_ended(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    variables = {"LD_PRELOAD": str(preload_for(mpi.name, program)), VARIABLE: str(tmp_path)}
    command = ["sleep", "60"]
    ended = run_program(mpi.name, None, 2, 1, "loopback", command, variables, 1.0)
    assert ended.was_ended
    assert read_called(tmp_path).told == 0


# Put together.


def row(operation: str, calls: int, time_ns: int, **more: Any) -> dict[str, Any]:
    found = {"operation": operation, "form": "blocking", "ranks": 2, "ranks_per_host": 2}
    return {**found, "bytes": 8, "calls": calls, "time_ns": time_ns, **more}


def write(folder: Path, rank: int, *rows: dict[str, Any], **more: Any) -> None:
    document = {
        "format": "netsonde calls",
        "version": 1,
        "rank": rank,
        "ranks": 2,
        "end": "finalize",
        "elapsed_ns": 1000,
        "beyond": {"calls": 0, "time_ns": 0},
        "calls": list(rows),
    }
    (folder / f"calls.{rank}.json").write_text(json.dumps({**document, **more}))


def test_the_root_speaks_and_others_time_counts(tmp_path: Path) -> None:
    write(tmp_path, 0, row("gatherv", 3, 30, root=True, bytes=100))
    write(tmp_path, 1, row("gatherv", 3, 60, bytes=4), row("gatherv", 1, 9, root=True, bytes=200))
    (tmp_path / "other").write_text("x")
    called = read_called(tmp_path)
    of_it = {kind.size_bytes: cost for kind, cost in called.kinds.items()}
    assert of_it == {100: Cost(3, 30 + 60 * 3 / 4), 200: Cost(1, 9 + 60 * 1 / 4)}
    assert called.share_of_program == pytest.approx(99 / 2000)


def test_ranks_that_tell_nothing_called_the_same(tmp_path: Path) -> None:
    write(tmp_path, 0, row("allreduce", 6, 30), end="abort")
    called = read_called(tmp_path)
    assert (called.ranks, called.told, called.finished) == (2, 1, 0)
    assert list(called.kinds.values()) == [Cost(6, 30)]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "no JSON"),
        ("[]", "does not hold"),
        ('{"format": "netsonde calls", "version": 2}', "does not hold"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "calls.0.json").write_text(content)
    with pytest.raises(HostError, match=why):
        read_called(tmp_path)


@pytest.mark.parametrize("change", [{"calls": -1}, {"bytes": "x"}, {"operation": 3}])
def test_a_row_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    write(tmp_path, 0, row("allreduce", 1, 1) | change)
    with pytest.raises(HostError, match="does not hold"):
        read_called(tmp_path)


# A plan.


def blocking(operation: str, size: int, ranks: int = 8, on_a_host: int = 8, **flags: bool) -> Kind:
    return Kind(operation, "blocking", ranks, on_a_host, size, **flags)


HERE = Places((8,), (1,), has_hosts=False)


def test_the_costliest_come_first_at_their_costliest_size() -> None:
    called = Called(
        kinds={
            blocking("bcast", 70): Cost(9, 10),
            blocking("bcast", 100): Cost(5, 30),
            blocking("allreduce", 12): Cost(1, 60),
        }
    )
    plan = plan_of(called, HERE)
    assert list(plan.costs.items()) == [
        (Cell("allreduce", 8, 1, 16), 60),  # whole words of 8 bytes
        (Cell("bcast", 8, 1, 100), 40),
    ]
    assert plan.spans[Cell("bcast", 8, 1, 100)] == (70, 100)
    assert plan.calls[Cell("bcast", 8, 1, 100)] == 14
    assert plan.share(plan.costs) == 1.0
    assert plan.share([Cell("bcast", 8, 1, 100)]) == 0.4


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (blocking("bcast", 64, ranks=4), "on communicators of other sizes"),
        (blocking("bcast", 64, in_place=True), "in place"),
        (blocking("bcast", 64, gaps=True), "of datatypes with gaps"),
        (blocking("allreduce", 64, own_operation=True), "with an operation of the program's own"),
        (blocking("scan", 64), "of operations that no rule is for"),
        (blocking("neighbor_alltoall", 0), "of operations that no rule is for"),
        (blocking("bcast", 0), "of no bytes"),
        (Kind("bcast", "started", 8, 8, 64), "that return before they are done"),
        (blocking("bcast", 0, 0, 0, rare=True), "on communicators of two groups or programs"),
        (blocking("bcast", 0, rare=True), "with rare arguments"),
    ],
)
def test_what_no_rule_is_for_is_told(kind: Kind, why: str) -> None:
    called = Called(kinds={kind: Cost(1, 25), blocking("barrier", 0): Cost(1, 75)})
    plan = plan_of(called, HERE)
    assert plan.uncovered == {why: 25}
    assert plan.share(plan.costs) == 0.75


def test_on_hosts_ranks_have_to_lie_as_in_the_plan() -> None:
    called = Called(
        kinds={blocking("bcast", 64, 8, 2): Cost(1, 1), blocking("bcast", 64): Cost(1, 3)}
    )
    plan = plan_of(called, Places((8,), (2,), has_hosts=True))
    assert list(plan.costs) == [Cell("bcast", 8, 2, 64)]
    assert plan.uncovered == {"on communicators that lie on hosts otherwise": 3}


def test_a_rule_of_half_words_is_proven_at_whole_ones() -> None:
    """Calls of 4 bytes are measured with 8; the rule is for both, and stays so."""
    cell = Cell("allreduce", 8, 1, 8)
    (rule,) = widened([Rule("allreduce", 8, None, 8, 8, "ring")], [cell], {cell: (4, 4)})
    assert (rule.from_bytes, rule.to_bytes) == (4, 8)
    assert sizes_of(rule) == [8]
    assert sizes_of(Rule("allreduce", 8, None, 4, 20, "ring")) == [8, 16]
    assert sizes_of(Rule("bcast", 8, None, 4, 20, "linear")) == [4, 9, 20]


def test_who_calls_nothing_leaves_no_folder(tmp_path: Path) -> None:
    program = Program(("sh", "-c", "echo said >&2; exit 3"), 10 * 10**9)
    job = Job(mpi_here("mpich"))
    asked = Asked(job, ("bcast",), (64,), (2,), (1,), 10**10, 0.03, program=program)
    with pytest.raises(HostError, match=r"sh told nothing .* ended with status 3; it said: said"):
        tune(asked, tmp_path, ["test"], lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_rules_hold_for_called_sizes_up_to_the_next_measured_one() -> None:
    cells = [Cell("bcast", 8, 1, size) for size in (100, 158, 250, 4000)]
    spans = {cells[0]: (70, 120), cells[2]: (130, 250), cells[3]: (4000, 4090)}
    rules = [
        Rule("bcast", 8, None, 100, 100, "binomial"),
        Rule("bcast", 8, None, 250, 4000, "linear"),
    ]
    found = widened(rules, cells, spans)
    assert [(rule.from_bytes, rule.to_bytes) for rule in found] == [(70, 120), (159, 4090)]
