"""What the checks say of repeated tests, and when a soak fails for them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """scripts/checks.py, with a ledger of its own."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("checks_under_test", SCRIPTS / "checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LEDGER", tmp_path / "attempts.jsonl")
    return module


def written(path: Path, *attempts: tuple[str, bool, str]) -> None:
    lines = [
        {"test": test, "attempt": 1, "within": within, "wrong": ["too slow"], "not_trusted": doubt}
        for test, within, doubt in attempts
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


GOOD = ("tests/truth/test_a.py::test_a", True, "")
BAD = ("tests/truth/test_a.py::test_b", False, "")
ELSEWHERE = ("tests/lab/test_c.py::test_c", False, "")
DOUBTED = ("tests/truth/test_a.py::test_d", False, "stolen")


@pytest.mark.parametrize(
    ("what", "attempts", "is_well"),
    [
        ("soak", [GOOD] * 19 + [BAD], True),
        ("soak", [GOOD] * 18 + [BAD], False),
        ("all", [GOOD] * 18 + [BAD], True),
        ("soak", [GOOD] * 19 + [ELSEWHERE, DOUBTED] * 9, True),
        ("soak", [], True),
    ],
)
def test_a_soak_fails_for_one_attempt_in_twenty(
    checks: ModuleType, what: str, attempts: list[tuple[str, bool, str]], is_well: bool
) -> None:
    written(checks.LEDGER, *attempts)
    assert checks.attempts_are_well(what) == is_well


def test_every_attempt_that_was_outside_is_named(
    checks: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    written(checks.LEDGER, GOOD, BAD, DOUBTED)
    checks.attempts_are_well("all")
    assert capsys.readouterr().out.splitlines() == [
        "outside: tests/truth/test_a.py::test_b, attempt 1: too slow",
        "repeated tests: 2 attempts, 1 outside of tolerance; 1 more on a machine that could not"
        " be trusted (attempts.jsonl)",
    ]
