"""Truth tests that fail: asked again, and no verdict where the machine was taken meanwhile."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parent.parent / "conftest.py"
FAILING = """
from pathlib import Path

def test_it():
    note = Path(__file__).with_suffix(".note")
    note.write_text(note.read_text() + "x" if note.exists() else "x")
    assert len(note.read_text()) > {fails}, "a figure that is not the truth"
"""


def outcome(folder: Path, kind: str, stolen_most: float, fails: int) -> tuple[str, int]:
    """(pytest's last line, how many attempts were made) of a test of that kind."""
    source = CONFTEST.read_text()
    line = next(text for text in source.split("\n") if text.startswith("STOLEN_MOST = "))
    (folder / "conftest.py").write_text(source.replace(line, f"STOLEN_MOST = {stolen_most}"))
    (folder / kind).mkdir()
    (folder / kind / "test_one.py").write_text(FAILING.format(fails=fails))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
    )
    shutil.rmtree(folder / kind / "__pycache__", ignore_errors=True)
    return done.stdout, len((folder / kind / "test_one.note").read_text())


@pytest.mark.parametrize(
    ("kind", "stolen_most", "fails", "words", "attempts"),
    [
        ("truth", 1.0, 1, "1 passed, 1 rerun", 2),
        ("truth", 1.0, 9, "1 failed, 2 rerun", 3),
        ("truth", -1.0, 9, "1 skipped, 2 rerun", 3),
        ("other", -1.0, 9, "1 failed", 1),
    ],
)
def test_what_becomes_of_a_failure(
    tmp_path: Path, kind: str, stolen_most: float, fails: int, words: str, attempts: int
) -> None:
    said, made = outcome(tmp_path, kind, stolen_most, fails)
    assert words in said
    assert made == attempts
    if "skipped" in words:
        assert "the hypervisor gave" in said
        assert "a figure that is not the truth" in said
