"""An output that is closed or full: no traceback, a fixed code, and what was measured is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netsonde.cli.streams import MOST_LOST_BYTES, OutputError, _Forgiving
from netsonde.records.rundir import open_run

COMMAND = f'"{sys.executable}" -m netsonde'
FULL = "netsonde: cannot write to standard output: No space left on device\n"
CLOSED = "netsonde: cannot write to standard output: it is closed\n"
MEASURE = "tcp local latency --sizes 64 --time 20ms"


@pytest.fixture
def unread() -> Iterator[int]:
    """The end of a pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--version > /dev/full", 3, FULL),
        ("--version >&-", 3, CLOSED),
        ("nonsense > /dev/full", 2, "netsonde: No such command 'nonsense'."),
        ("--version 2> /dev/full", 0, ""),
        (f"{MEASURE} --json > /dev/full", 3, FULL),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    line: str, code: int, said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec {COMMAND} {line}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr[: len(said or " ")]) == (code, said)
    assert done.stderr.count("\n") == bool(said)
    assert done.stdout.startswith("netsonde 0") or not done.stdout
    if line.startswith(MEASURE):
        [directory] = (tmp_path / "runs").iterdir()
        assert open_run(directory).finished


def test_a_reader_that_has_seen_enough_is_told_nothing(unread: int) -> None:
    words = [sys.executable, "-m", "netsonde", "--help"]
    done = subprocess.run(words, stdout=unread, stderr=subprocess.PIPE, timeout=100)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_that_is_opened_is_no_standard_output(tmp_path: Path) -> None:
    """Without a place kept for it, the first file that is opened gets the number of one that was
    closed, and what is printed ends up there."""
    program = (
        "from netsonde.cli.streams import guard_streams; guard_streams(); "
        f"f = open({str(tmp_path / 'journal')!r}, 'w'); print('astray', flush=True); "
        "import sys; print('astray', file=sys.stderr); sys.exit(f.fileno())"
    )
    words = ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", sys.executable, "-c", program]
    assert subprocess.run(words, timeout=100).returncode >= 3
    assert (tmp_path / "journal").read_text() == ""


def test_an_output_that_nobody_reads_ends(unread: int) -> None:
    stream = _Forgiving(unread, MOST_LOST_BYTES)
    assert stream.write(b"x" * MOST_LOST_BYTES) == MOST_LOST_BYTES
    with pytest.raises(OutputError, match="Broken pipe"):
        stream.write(b"x")
    assert stream.write(b"x") == 1  # of what unwinds
    errors = _Forgiving(unread, None)
    assert errors.write(b"x" * 10 * MOST_LOST_BYTES) == 10 * MOST_LOST_BYTES


def test_a_name_that_is_no_text_is_written() -> None:
    program = (
        "from netsonde.cli.streams import guard_streams; guard_streams(); "
        "import sys; print(sys.argv[1], '\\u2502'); print(sys.argv[1], file=sys.stderr)"
    )
    for variables in ({"LC_ALL": "C.UTF-8"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C"}):
        done = subprocess.run(
            [sys.executable, "-c", program, b"a\xff"],
            env={**os.environ, **variables},
            capture_output=True,
            check=True,
            timeout=100,
        )
        assert done.stdout.startswith(b"a\\udcff ")
        assert done.stderr == b"a\\udcff\n"
