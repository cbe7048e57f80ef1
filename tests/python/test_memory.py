"""Under a limit of address space a command works, or ends with one sentence, and hears SIGTERM."""

from __future__ import annotations

import importlib.util
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netsonde import memory
from netsonde.figures.table_files import write_table_files
from netsonde.memory import MemoryLimitError, is_for_memory, lacks_room, meet_limit, memory_in_words
from netsonde.records.data import Run

NETSONDE = [sys.executable, "-m", "netsonde"]


def limited(kib: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))


@pytest.mark.parametrize(
    ("kib", "words", "code", "said"),
    [
        (100_000, ["--version"], 0, ""),
        (100_000, ["study", "schema"], 3, "netsonde: this needs numpy, which takes 100 MiB of"),
        (200_000, ["study", "schema"], 0, ""),
    ],
)
def test_a_command_works_or_says_what_it_needs(
    kib: int, words: list[str], code: int, said: str
) -> None:
    done = subprocess.run(
        [*NETSONDE, *words], preexec_fn=limited(kib), capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr[: len(said)]) == (code, said), done.stderr
    assert done.stderr.count("\n") == bool(said)


def test_sigterm_ends_a_command_that_is_limited() -> None:
    words = [*NETSONDE, "serve", "--bind", "127.0.0.1", "--port", "0", "--time", "90s"]
    process = subprocess.Popen(
        words, preexec_fn=limited(200_000), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"pairing code")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (0, 4)  # 4: it was about to begin


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may have 300 MiB, of which 90 are left."""
    monkeypatch.setattr(memory, "_limit_bytes", lambda: 300 << 20)
    monkeypatch.setattr(memory, "_left_bytes", lambda: 90 << 20)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])


@pytest.mark.usefixtures("little")
def test_a_library_that_has_no_room_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"OPENBLAS_NUM_THREADS": "64"}
    meet_limit(variables)
    assert variables == {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    expected = "this needs polars, which takes 1024 MiB .* of this process's 300 MiB, 90 are left"
    with pytest.raises(MemoryLimitError, match=expected):
        importlib.util.find_spec("polars")
    assert importlib.util.find_spec("wave") is not None
    assert lacks_room("polars")
    assert "its limit is 300 MiB" in memory_in_words()
    # By-products are left out: a run that was measured is shown.
    assert write_table_files(Run(Path(), {}, [], True), [], Path("nowhere")) == []


def test_without_a_limit_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_limit_bytes", lambda: None)
    before, variables = [*sys.meta_path], dict[str, str]()
    meet_limit(variables)
    assert (variables, sys.meta_path) == ({}, before)
    assert not lacks_room("polars")
    assert memory_in_words().startswith("there is no memory left")


def test_which_errors_are_for_memory() -> None:
    cause = RuntimeError("started nothing")
    cause.__cause__ = RuntimeError("can't start new thread")
    assert is_for_memory(MemoryError())
    assert is_for_memory(cause)
    assert is_for_memory(OSError(12, "Cannot allocate memory"))
    assert is_for_memory(ImportError("x.so: failed to map segment from shared object"))
    assert not is_for_memory(ImportError("x"))
    assert not is_for_memory(RuntimeError("x"))
