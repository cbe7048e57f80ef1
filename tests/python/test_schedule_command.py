"""``netsonde schedule``: steps, proofs and their tables, by sonde-sim itself."""

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.schedules.show import check_lines

Command = Callable[..., Result]
pytestmark = pytest.mark.worker


@pytest.fixture
def schedule(monkeypatch: pytest.MonkeyPatch) -> Command:
    try:
        find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))
    monkeypatch.delenv("MPIR_BCAST_SHORT_MSG", raising=False)

    def run(words: str) -> Result:
        return CliRunner().invoke(app, ["schedule", *words.split()])

    return run


def test_a_table_of_partners(schedule: Command) -> None:
    assert schedule("show broadcast/binomial -p 8 --size 100").output.splitlines() == [
        "broadcast/binomial: a binomial tree, the whole message along each edge",
        "8 ranks, blocks of 100 bytes",
        "  3 rounds, fan-out 1",
        "  no two messages meet at a node",
        "",
        "round   slot   0  1  2  3  4  5  6  7",
        "    0      0   4  .  .  .  .  .  .  .",
        "    1      1   2  .  .  .  6  .  .  .",
        "    2      2   1  .  3  .  5  .  7  .",
        "",
        "A column is a rank, its entries are whom it sends to.",
    ]


def test_a_rank_s_steps(schedule: Command) -> None:
    lines = schedule("show allreduce/rabenseifner -p 4 --size 4k --rank 1").output.splitlines()
    assert lines[6:] == [
        " step after round   slot  action          peer     bytes  data",
        "    0     0     0      0  send               0      2048  +:0..1",
        "    1     0     0      0  receive aside      0      2048  +:2..3",
        "    2     2     0      0  combine            0      2048  +:2..3",
        "    3     3     1      1  send               3      1024  +:3",
        "    4     3     1      1  receive aside      3      1024  +:2",
        "    5     5     1      1  combine            3      1024  +:2",
        "    6     6     2      2  send               3      1024  +:2",
        "    7     6     2      2  receive            3      1024  +:3",
        "    8     8     3      3  send               0      2048  +:2..3",
        "    9     8     3      3  receive            0      2048  +:0..1",
    ]


@pytest.mark.parametrize(
    "words",
    [
        "show broadcast/chain -p 100000 --blocks 200",
        "show broadcast/scatter-recursive-doubling -p 1000 --size 1M --rank 999",
        "show gather/linear -p 40",
        "show allreduce/recursive-doubling -p 16 --size 1G --ordered",
        "show barrier -p 100",
        "list",
        "check reduce-scatter -p 2..9",
    ],
)
def test_tables_have_80_columns(schedule: Command, words: str) -> None:
    said = schedule(words)
    assert said.exit_code == 0
    assert said.output
    assert max(len(line) for line in said.output.splitlines()) <= 80


def test_what_is_left_out_is_said(schedule: Command) -> None:
    said = schedule("show allgather/ring -p 64 --limit 5").output
    assert "Ranks 22 to 63 are not shown" in said
    assert "There are more slots" in said
    assert len(said.splitlines()) == 5 + 1 + 5 + 4
    assert "There are more steps" in schedule("show allgather/ring -p 64 --rank 2 --limit 5").output
    assert "There are more" not in schedule("show allgather/ring -p 4 --rank 2").output


def test_steps_as_json(schedule: Command) -> None:
    shown = json.loads(schedule("show scatter/binomial -p 5 --sizes 1,0,2,4,5 --json").output)
    assert shown["schedule"]["claims"]["rounds"] == 3
    assert not shown["more_steps"]
    assert not shown["more_ranks"]
    first = shown["steps"][0]
    assert (first["rank"], first["peer"], first["bytes"]) == (0, 4, 5)
    assert {step["rank"] for step in shown["steps"]} == {0, 2, 3, 4}  # rank 1 gets nothing


def test_json_is_whole_unless_it_is_limited(schedule: Command) -> None:
    shown = json.loads(schedule("show allgather/ring -p 100 --json").output)
    assert len(shown["steps"]) == 100 * 99 * 2
    cut = json.loads(schedule("show allgather/ring -p 100 --rank 7 --limit 9 --json").output)
    assert [step["number"] for step in cut["steps"]] == list(range(9))
    assert cut["more_steps"]


def test_mpich_s_choice(schedule: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(words: str) -> str:
        return schedule(f"show {words}").output.split(":")[0]

    assert taken("broadcast -p 8 --size 12287") == "broadcast/binomial"
    assert taken("broadcast -p 8 --size 12288") == "broadcast/scatter-recursive-doubling"
    moved = "broadcast -p 8 --size 12288 --switch MPIR_BCAST_SHORT_MSG=20000"
    assert taken(moved) == "broadcast/binomial"
    assert taken("reduce -p 8 --size 4k") == "reduce/rabenseifner"
    assert taken("reduce -p 8 --size 4k --user-operation") == "reduce/binomial"
    monkeypatch.setenv("MPIR_BCAST_SHORT_MSG", "20000")
    assert taken("broadcast -p 8 --size 12288") == "broadcast/binomial"
    monkeypatch.setenv("MPIR_BCAST_SHORT_MSG", "2O000")
    said = schedule("show broadcast -p 8 --size 12288")
    assert isinstance(said.exception, UsageError)
    assert "2O000" in str(said.exception)


def test_everything_is_proven(schedule: Command) -> None:
    said = schedule("check all -p 2,3,8 --json")
    assert said.exit_code == 0
    checked = json.loads(said.output)
    assert checked["good"]
    listed = json.loads(schedule("list --json").output)
    names = {record["algorithm"] for record in listed if record["record"] == "algorithm"}
    assert {check["algorithm"] for check in checked["checks"]} == names
    assert {check["ranks"] for check in checked["checks"]} == {2, 3, 8}
    ring = next(c for c in checked["checks"] if c["algorithm"] == "allgather/ring")
    assert ring["rounds"] == ring["ranks"] - 1


def test_a_failed_proof_is_a_row_with_its_reasons() -> None:
    good = {"record": "check", "algorithm": "a/b", "good": True, "cases": 3, "rounds": 1}
    good |= {"fan_out": 1, "problems": [], "ranks": 2}
    bad = good | {"good": False, "ranks": 3, "rounds": 2, "problems": ["root 1: it is wrong"]}
    lines = list(check_lines([good, bad, good | {"algorithm": "c/d"}, {"record": "end"}]))
    assert lines[1].split() == ["a/b", "2..3", "6", "1..2", "1", "NO"]
    assert lines[2] == "  3 ranks, root 1: it is wrong"
    assert lines[3].split() == ["c/d", "2", "3", "1", "1", "yes"]


def test_the_exit_code_is_1_where_a_proof_fails(
    schedule: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"record": "check", "algorithm": "a/b", "good": False, "cases": 3, "rounds": 1}
    record |= {"fan_out": 1, "problems": ["wrong"], "ranks": 2}
    monkeypatch.setattr("netsonde.cli.schedule.ask_schedules", lambda _: iter([record]))
    assert schedule("check a/b -p 2").exit_code == 1
    assert schedule("check a/b -p 2 --json").exit_code == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("show broadcast/star -p 4", "there is no algorithm broadcast/star; there are "),
        ("show broadcast/chain -p 1000000000", "ranks is 1000000000, expected an integer"),
        ("show broadcast/chain -p 4 --root 4", "root must be from 0 to 3, not 4"),
        ("show broadcast/chain -p 4 --rank 4", "rank is 4, expected an integer from 0 to 3"),
        ("show broadcast/chain -p 4 --size 2T", "block_bytes is 2199023255552"),
        ("show broadcast/chain -p 4 --packet 0", "segment_bytes from 1 on"),
        ("show allgather/ring -p 4 --root 1", "allgather/ring has no use for a root"),
        ("show allgather/ring -p 4 --sizes 1,2", "sizes must be 4 numbers"),
        ("show allreduce/ring -p 4 --ordered", "needs an operation that commutes"),
        ("show broadcast/chain -p 4 --switch MPIR_BCAST_SHORT_MSG=1", "is one already"),
        ("check allreduce/ring -p 4 --ordered", "needs an operation that commutes"),
        ("check all -p 5000", "from 1 to 4096, not 5000"),
        ("check nothing -p 4", "there is no algorithm nothing"),
    ],
)
def test_what_cannot_be_is_a_sentence(schedule: Command, words: str, sentence: str) -> None:
    said = schedule(words)
    assert isinstance(said.exception, UsageError)
    assert sentence in str(said.exception)
