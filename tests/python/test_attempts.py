"""The rule for what is measured: k of n, whatever the control says; and its ledger."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attempts import NOT_TRUSTED_MOST, Attempts, Rule
from machine_control import Look, judged, look, wait_until_quiet
from own_time import GROUP, MARK, own_s

TESTS = Path(__file__).parent.parent
USED = [Rule(2, 3), Rule(3, 5), Rule(10, 12)]
"""All that tests use; `test_no_test_has_a_rule_of_its_own` holds that."""


class Scripted:
    """A control whose verdicts are known beforehand."""

    def __init__(self, verdicts: list[str]) -> None:
        self._verdicts = verdicts

    def verdict(self) -> str:
        return self._verdicts.pop(0) if self._verdicts else ""


def attempts(folder: Path, doubts: tuple[str, ...] = ()) -> Attempts:
    verdicts = list(doubts)
    ledger = folder / "attempts.jsonl"
    return Attempts("a test", ledger=ledger, control=lambda: Scripted(verdicts), quiet_s=0.0)


def ask(made: Attempts, results: list[bool]) -> None:
    """Makes attempts that end so, and takes those from the list."""
    for attempt in made(2, of=3):
        with attempt:
            assert results.pop(0), "a figure that is not the truth"


def outcome(made: Attempts, results: list[bool]) -> tuple[str, int]:
    """(passed, failed or skipped; how many attempts were made) of attempts that end so."""
    left = list(results)
    ended = "passed"
    try:
        ask(made, left)
    except pytest.fail.Exception:
        ended = "failed"
    except pytest.skip.Exception:
        ended = "skipped"
    return ended, len(results) - len(left)


@pytest.mark.parametrize(
    ("results", "doubts", "expected", "made"),
    [
        ([True, True, True], (), "passed", 2),
        ([True, False, True], (), "passed", 3),
        ([False, True, False], (), "failed", 3),
        ([False, False, True], (), "failed", 2),
        # What was measured on a machine that cannot be trusted counts neither way.
        ([True, True, True], ("stolen",), "passed", 3),
        ([False, False, True, True], ("stolen", "stolen"), "passed", 4),
        ([True] * 9, ("stolen",) * 9, "skipped", NOT_TRUSTED_MOST),
        ([False] * 9, ("stolen",) * 9, "skipped", NOT_TRUSTED_MOST),
    ],
)
def test_what_becomes_of_attempts(
    tmp_path: Path, results: list[bool], doubts: tuple[str, ...], expected: str, made: int
) -> None:
    assert outcome(attempts(tmp_path, doubts), results) == (expected, made)


def test_chances_of_the_rules() -> None:
    """A broken method that comes out right one time in ten passes 2.8 % of the time by 2 of 3 and
    0.9 % by 3 of 5; a right one that comes out right 99 times in 100 nearly always."""
    assert [round(rule.passes(0.1), 4) for rule in USED] == [0.028, 0.0086, 0.0]
    assert all(rule.passes(0.99) > 0.9995 for rule in USED)
    # What was done before: any one of 15, and half of all broken methods pass.
    assert Rule(1, 15).passes(0.1) == pytest.approx(0.794, abs=0.001)


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.99])
def test_chances_by_simulation(tmp_path: Path, chance: float) -> None:
    """Through the loop itself, with one attempt in five not trusted."""
    draw = random.Random(round(100 * chance))
    times, passed = 300, 0
    for _ in range(times):
        doubts = tuple("taken" if draw.random() < 0.2 else "" for _ in range(9))
        ended, _ = outcome(attempts(tmp_path, doubts), [draw.random() < chance for _ in range(9)])
        passed += ended == "passed"
    expected = Rule(2, 3).passes(chance)
    assert passed / times == pytest.approx(expected, abs=0.02 + 3 * (expected / times) ** 0.5)


def test_a_failure_names_every_attempt(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        ask(attempts(tmp_path, ("", "stolen")), [False, False, True, False])
    lines = str(failure.value).splitlines()
    assert lines[0] == "1 of 3 attempts within, wanted are 2 of 3"
    assert ["not the truth" in line for line in lines[1:]] == [True, True, False, True]
    assert "(not counted: stolen)" in lines[2]


def lose(made: Attempts) -> None:
    for attempt in made(2, of=3):
        assert attempt.number < 2, "lost"
        with attempt:
            pass


def test_what_holds_always_is_no_matter_of_chance(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="lost"):
        lose(attempts(tmp_path))


def break_down(made: Attempts) -> None:
    for attempt in made(2, of=3):
        with attempt:
            raise OSError("no lab")


def test_other_errors_are_no_matter_of_chance(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no lab"):
        break_down(attempts(tmp_path))


def test_an_attempt_that_cannot_be_wrong_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="cannot be wrong"):
        for _ in attempts(tmp_path)(2, of=3):
            pass


def test_each_attempt_is_a_line_of_the_ledger(tmp_path: Path) -> None:
    for attempt in attempts(tmp_path, ("", "taken", ""))(2, of=3):
        attempt.found(rate_bit_per_s=1e9 / attempt.number)
        with attempt:
            assert attempt.number > 1, "too fast"
    lines = [json.loads(line) for line in (tmp_path / "attempts.jsonl").read_text().splitlines()]
    assert [(line["attempt"], line["within"], line["not_trusted"]) for line in lines] == [
        (1, False, ""),
        (2, True, "taken"),
        (3, True, ""),
        (4, True, ""),
    ]
    assert {line["rule"] for line in lines} == {"2 of 3"}
    assert lines[0]["found"] == {"rate_bit_per_s": "1e+09"}
    assert lines[0]["wrong"][0].startswith("too fast")


NESTED = """
def test_it(attempts):
    for attempt in attempts(2, of=3):
        with attempt:
            assert {what}, "a figure that is not the truth"
        {then}
"""


@pytest.mark.parametrize(
    ("what", "then", "words"),
    [
        ("attempt.number != 1", "pass", "1 passed"),
        ("attempt.number == 1", "pass", "1 of 3 attempts within, wanted are 2 of 3"),
        ("True", "break", "left before they were decided"),
    ],
)
def test_the_fixture(tmp_path: Path, what: str, then: str, words: str) -> None:
    shared = ("attempts", "machine_control", "machine_lock", "own_time")
    for name in ("conftest.py", *(f"{module}.py" for module in shared)):
        source = (TESTS / name).read_text()
        # How the machine is at the moment is not asked here.
        (tmp_path / name).write_text(source.replace("OTHERS_MOST = 0.2", "OTHERS_MOST = 99.0"))
    (tmp_path / "test_one.py").write_text(NESTED.format(what=what, then=then))
    environment = {**os.environ, "NETSONDE_ATTEMPTS": str(tmp_path / "ledger")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=environment,
    )
    assert words in done.stdout or "1 skipped" in done.stdout


def test_no_test_has_a_rule_of_its_own() -> None:
    known = {f"({rule.least}, of={rule.of})" for rule in USED}
    for path in TESTS.rglob("*.py"):
        if path.name in ("test_attempts.py", "attempts.py"):
            continue
        for line in path.read_text().splitlines():
            if " in attempts(" in line:
                assert any(f" in attempts{rule}:" in line for rule in known), path.name


QUIET = Look(at_s=0.0, busy_s=0.0, own_s=0.0, stolen_s=0.0)


@pytest.mark.parametrize(
    ("after", "pause_s", "words"),
    [
        (Look(10.0, 20.0, 19.0, 0.0), 0.0001, ""),
        (Look(10.0, 20.0, 15.0, 0.0), 0.0001, "other processes used 0.50 CPUs"),
        (Look(10.0, 20.0, 20.0, 8.0), 0.0001, "the hypervisor gave"),
        (Look(10.0, 20.0, 20.0, 0.0), 0.008, "a CPU stood still for 8.0 ms"),
    ],
)
def test_what_a_control_says(after: Look, pause_s: float, words: str) -> None:
    said = judged(QUIET, after, pause_s)
    assert said.startswith(words) if words else said == ""


needs_group = pytest.mark.skipif(
    GROUP not in os.environ, reason="no group of processes of our own can be made here"
)
BURN = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


@contextlib.contextmanager
def burning(words: list[str], environment: dict[str, str] | None = None) -> Iterator[None]:
    process = subprocess.Popen([*words, sys.executable, "-c", BURN], env=environment)
    try:
        time.sleep(0.3)
        yield
    finally:
        process.kill()
        process.wait()


def own_processors() -> float:
    """So many of them this run uses at the moment."""
    before = look()
    time.sleep(0.6)
    after = look()
    return float((after.own_s - before.own_s) / (after.at_s - before.at_s))


@pytest.mark.measures  # the run's other tests use CPUs as well
def test_own_processes_are_told_from_others_by_their_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two loops that burn a CPU, only the one without our mark is somebody else's."""
    monkeypatch.delenv(GROUP, raising=False)
    stranger = {name: value for name, value in os.environ.items() if name != MARK}
    with burning([]):
        assert own_processors() > 0.05
    with burning([], stranger):
        assert own_processors() < 0.05


@needs_group
@pytest.mark.measures
def test_own_processes_are_told_from_others_by_their_group() -> None:
    """Without our environment as well; and not what left the group."""
    leave = f'echo $$ >{Path(os.environ[GROUP]).parent}/cgroup.procs; exec "$@"'
    with burning(["env", "-i"]):
        assert own_processors() > 0.05
    with burning(["sh", "-c", leave, "sh"]):
        assert own_processors() < 0.05


@needs_group
@pytest.mark.measures
def test_what_ended_with_its_namespace_is_counted() -> None:
    """As a lab's processes do, for which then nobody waits."""
    before_s = own_s()
    with burning(["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@" & wait', "sh"]):
        time.sleep(0.5)
    time.sleep(0.3)  # until the kernel has ended it
    assert own_s() - before_s > 0.05


def test_a_machine_that_stays_busy_is_waited_for_no_longer_than_that() -> None:
    begun = time.monotonic()
    wait_until_quiet(0.3)
    assert time.monotonic() - begun < 5
