"""The engine's fuzzers for an hour together, or as many seconds as NETSONDE_FUZZ_SECONDS says: part
of `make soak`. `make test` runs them for two minutes beside other tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = int(os.environ.get("NETSONDE_FUZZ_SECONDS", "3600"))


@pytest.mark.soak
@pytest.mark.timeout(4 * SECONDS + 1200)
def test_nothing_that_comes_makes_the_engine_fail() -> None:
    if not any((ROOT / "build" / "fuzz" / "tests" / "engine" / "fuzz").glob("*-fuzz")):
        pytest.skip("the fuzzers are not built (needs clang with libFuzzer)")
    done = subprocess.run(
        [sys.executable, "scripts/fuzz.py", "--seconds", str(SECONDS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
