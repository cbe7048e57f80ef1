"""The fuzzer of what sonde-sim reads, for as long as NETSONDE_FUZZ_SECONDS says (60): part of
`make soak`. The engine's own tests play 20,000 damaged texts in every run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = int(os.environ.get("NETSONDE_FUZZ_SECONDS", "60"))
BUILD_S = 1500


@pytest.mark.soak
@pytest.mark.timeout(BUILD_S + SECONDS + 120)
def test_no_text_makes_the_reader_fail(tmp_path: Path) -> None:
    if shutil.which("clang++") is None:
        pytest.skip("clang++ is not installed")
    empty = 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }'
    try_it = ["clang++", "-fsanitize=fuzzer,address", "-x", "c++", "-", "-o", str(tmp_path / "try")]
    if subprocess.run(try_it, input=empty, text=True, capture_output=True, check=False).returncode:
        pytest.skip("clang++ has no libFuzzer (Debian: libclang-rt-dev)")
    configure = ["cmake", "--preset", "fuzz", f"-DPython3_EXECUTABLE={sys.executable}"]
    build = ["cmake", "--build", "--preset", "fuzz", "--target", "scenario-fuzz"]
    for command in (configure, build):
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=BUILD_S
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    fuzzer = ROOT / "build" / "fuzz" / "tests" / "engine" / "fuzz" / "scenario-fuzz"
    seeds = ROOT / "tests" / "engine" / "fuzz" / "scenarios"
    found = tmp_path / "found"
    found.mkdir()
    limits = [f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=1024", "-seed=1"]
    done = subprocess.run(
        [str(fuzzer), *limits, f"-artifact_prefix={tmp_path}/", str(found), str(seeds)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=SECONDS + 60,
    )
    assert done.returncode == 0, done.stderr[-3000:]
