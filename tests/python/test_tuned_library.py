"""The library that runs other programs' collective operations by rules: what programs get stays the
same, whatever the way, and wrong rules end no program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from rules_made import random_rules, write_rules

from netsonde.errors import HostError, UsageError
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import (
    CROWDED_SETTINGS,
    LOOPBACK_SETTINGS,
    OPENMPI_CROWDED_SETTINGS,
    OPENMPI_LOOPBACK_SETTINGS,
    environment_of,
    launcher_arguments,
)
from netsonde.launch.tuned_library import needs_standard_abi, tuned_library_for
from netsonde.schedules.algorithms import ALGORITHMS

HERE = Path(__file__).parent
SCHEMA = HERE.parents[1] / "schema" / "rules.schema.json"
SOURCE = HERE / "random_collectives.c"
TIMEOUT_S = 120
SOAK_TIMEOUT_S = 900
SETTINGS = {
    **LOOPBACK_SETTINGS,
    **CROWDED_SETTINGS,
    **OPENMPI_LOOPBACK_SETTINGS,
    **OPENMPI_CROWDED_SETTINGS,
    "HWLOC_COMPONENTS": "-gl",  # which waits for a display that does not answer
}


@pytest.fixture(scope="module")
def mpich() -> Mpi:
    try:
        found = find_mpi("mpich")
        tuned_library_for(found)
    except HostError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def program(mpich: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(mpich, "mpicc_abi", tmp_path_factory.mktemp("program"))


def compiled(mpi: Mpi, wrapper: str, folder: Path) -> Path:
    """The program of random calls, by a compiler wrapper beside an MPI's mpiexec."""
    made = folder / "random_collectives"
    by = mpi.mpiexec.with_name(wrapper)
    if not by.exists():
        pytest.skip(f"there is no {by}")
    subprocess.run([by, "-O1", "-w", "-pthread", "-o", made, SOURCE], check=True, timeout=TIMEOUT_S)
    return made


def run(
    mpi: Mpi,
    ranks: int,
    *command: object,
    by: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    folder: Path | None = None,
) -> list[str]:
    """What the ranks say, sorted; what the library says of it to standard error, behind it."""
    preload = [] if by is None else ["env", *(f"{name}={value}" for name, value in by.items())]
    done = subprocess.run(
        [mpi.mpiexec, *launcher_arguments(mpi, [], ranks), *preload, *map(str, command)],
        env={**os.environ, **SETTINGS, **environment_of(mpi)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [*sorted(done.stdout.splitlines()), *done.stderr.splitlines()]


def by_rules(mpi: Mpi, rules: Path, **more: str) -> dict[str, str]:
    return {"LD_PRELOAD": str(tuned_library_for(mpi)), "NETSONDE_RULES": str(rules), **more}


def without_report(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("rank ")]


@pytest.mark.parametrize(("ranks", "threads"), [(3, 2), (4, 0)])
def test_random_calls_have_the_same_results(
    mpich: Mpi, program: Path, tmp_path: Path, ranks: int, threads: int
) -> None:
    rules = random_rules(ranks, (ranks, (ranks + 1) // 2, ranks // 2))
    path = write_rules(tmp_path / "rules.json", rules)
    command = (program, ranks, 250 // max(threads, 1), 5, 3, threads)
    native = run(mpich, ranks, *command)
    said = run(mpich, ranks, *command, by=by_rules(mpich, path, NETSONDE_RULES_REPORT="1"))
    assert without_report(said) == native
    assert len(native) == 50 * ranks
    report = "\n".join(line for line in said if not line.startswith("rank "))
    for operation in ("bcast", "gatherv", "alltoallw", "reduce_scatter"):
        assert f"  {operation} " in report
    # Forms that return early are run where somebody may go on beside the program.
    native_only = "native (not MPI_THREAD_MULTIPLE)" in report
    assert native_only == (not threads)


def test_a_call_takes_the_way_of_its_rule(mpich: Mpi, program: Path, tmp_path: Path) -> None:
    rules = [{"operation": "bcast", "ranks": 2, "algorithm": "linear"}]
    path = write_rules(tmp_path / "rules.json", [*rules])
    by = by_rules(mpich, path, NETSONDE_RULES_REPORT="1")
    said = run(mpich, 2, program, 1, 40, 40, 1, by=by)
    ways = {line.split()[0]: line.split(maxsplit=1)[1] for line in said if line.startswith("  ")}
    assert ways["bcast"].startswith("linear ")
    assert ways["allreduce"].startswith("native (no rule for it)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("{", "rules"),
        ('{"format":"netsonde rules","version":3,"rules":[]}', "version is 3"),
    ],
)
def test_wrong_rules_are_one_sentence(
    mpich: Mpi, program: Path, tmp_path: Path, text: str | None, why: str
) -> None:
    path = tmp_path / "rules.json"
    if text is not None:
        path.write_text(text)
    native = run(mpich, 2, program, 1, 20, 20, 1)
    said = run(mpich, 2, program, 1, 20, 20, 1, by=by_rules(mpich, path))
    assert without_report(said) == native
    [sentence] = said[len(native) :]
    assert sentence.startswith(f"netsonde: the rules of {path} are not followed: ")
    assert why in sentence


def test_every_algorithm_is_read(mpich: Mpi, program: Path, tmp_path: Path) -> None:
    """As netsonde's own reader writes them; the engine's is asked for the rest."""
    settings = {
        "fan_out": ":3", "segment_bytes": ":segment=1.5k", "window": ":window=2",
        "permutation": ":permutation=edge-colour", "hierarchy": ":hierarchy=2x4", "remap": ":remap",
    }  # fmt: skip
    names = {"broadcast": "bcast", "reduce-scatter": "reduce_scatter"}
    rules = []
    for row in ALGORITHMS:
        words = row.name + "".join(text for use, text in settings.items() if use in row.uses)
        operation = names.get(row.family, row.family)
        rules.append({"operation": operation, "ranks": 8, "algorithm": words})
    path = write_rules(tmp_path / "rules.json", rules)
    assert run(mpich, 1, program, 1, 2, 2, 1, by=by_rules(mpich, path))[1:] == []


def test_the_schema_takes_what_the_library_takes(tmp_path: Path) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    made = json.loads(write_rules(tmp_path / "rules.json", random_rules(1, (4,))).read_text())
    assert list(validator.iter_errors(made)) == []
    made["made"] = {
        "by": "netsonde tune mpi",
        "for": {"program": ["./program", "input"], "ranks": 4},
    }
    assert list(validator.iter_errors(made)) == []
    made["made"]["for"] = {"ranks": 4}
    assert len(list(validator.iter_errors(made))) == 1
    del made["made"]
    made["rules"][0]["more"] = 1
    assert len(list(validator.iter_errors(made))) == 1


def test_a_program_of_another_interface_runs_without_the_library(
    mpich: Mpi, tmp_path: Path
) -> None:
    other = compiled(mpich, "mpicc", tmp_path)
    assert not needs_standard_abi(other)
    path = write_rules(tmp_path / "rules.json", random_rules(1, (2,)))
    native = run(mpich, 2, other, 1, 20, 20, 3)
    said = run(mpich, 2, other, 1, 20, 20, 3, by=by_rules(mpich, path))
    assert without_report(said) == native
    [sentence] = said[len(native) :]
    assert "is made for the MPI 5 standard ABI, and the program has MPICH's own" in sentence


def test_what_a_program_is_linked_with(program: Path) -> None:
    assert needs_standard_abi(program)
    with pytest.raises(UsageError, match="not loaded with an MPI"):
        needs_standard_abi(Path("/bin/true"))
    with pytest.raises(UsageError, match="there is no program"):
        needs_standard_abi(Path("/nonexistent"))


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("name", "forms"),
    [("mpich", 3), ("mpich-debian", 2), ("openmpi-debian", 2)],
    # Debian's MPICH fails in its own persistent operations, Open MPI 4 has none.
)
def test_ten_thousand_random_calls(name: str, forms: int, tmp_path: Path) -> None:
    mpi = find_mpi(name)
    ending = mpi.mpiexec.name.partition(".")[2]
    wrapper = "mpicc_abi" if mpi.abi_folder else f"mpicc.{ending}" if ending else "mpicc"
    program = compiled(mpi, wrapper, tmp_path)
    for seed, ranks in enumerate((2, 3, 4, 5, 7)):
        path = write_rules(
            tmp_path / "rules.json", random_rules(seed, (ranks, (ranks + 1) // 2, ranks // 2))
        )
        threads = 1 + seed % 2
        command = (program, seed, 2000 // threads, 50, forms, threads)
        native = run(mpi, ranks, *command, timeout_s=SOAK_TIMEOUT_S)
        said = run(mpi, ranks, *command, by=by_rules(mpi, path), timeout_s=SOAK_TIMEOUT_S)
        assert said == native


# What HPL's input says, by its lines: what stands behind a value is for people.
HPCC_INPUT = (
    *("a heading", "another one", "HPL.out", "8", "1", "{n}", "1", "16", "0", "1", "2", "2"),
    *("16.0", "1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "1", "2", "64", "0", "0"),
    *("1", "8", "a line between", "0", "100", "0", "16"),
)
HPCC_TIMED = re.compile(
    r"flops|gb|time|usec|gups|latency|bandwidth|sec$|resol|rate|tics|min|avg|stream_[acst]"
)


def found_by_hpcc(folder: Path) -> dict[str, str]:
    """What is in its summary, but what it timed; and its checks of residuals."""
    text = (folder / "hpccoutf.txt").read_text()
    begin, end = text.index("Begin of Summary section."), text.index("End of Summary section.")
    lines = [line.partition("=") for line in text[begin:end].splitlines()[1:]]
    found = {name: value for name, _, value in lines if not HPCC_TIMED.search(name.lower())}
    checks = re.findall(r"^ +\d+ tests completed .* residual checks", text, re.MULTILINE)
    (residual,) = re.findall(r"^\|\|Ax-b\|\|.*", text, re.MULTILINE)
    return {**found, "checks": str(checks), "residual": residual}


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_hpcc_finds_the_same(tmp_path: Path) -> None:
    """Linear algebra, transposition, random access and transforms of 4 ranks."""
    program = shutil.which("hpcc")
    if program is None:
        pytest.skip("there is no hpcc")
    mpi = find_mpi("openmpi-debian")
    rules = write_rules(tmp_path / "rules.json", random_rules(4, (4, 2)))
    found = []
    for by in (None, by_rules(mpi, rules, NETSONDE_RULES_REPORT="1")):
        folder = tmp_path / ("native" if by is None else "ruled")
        folder.mkdir()
        (folder / "hpccinf.txt").write_text("\n".join(HPCC_INPUT).format(n=300) + "\n")
        said = run(mpi, 4, program, by=by, timeout_s=SOAK_TIMEOUT_S, folder=folder)
        found.append(found_by_hpcc(folder))
    native, ruled = found
    assert native["Success"] == "1"
    assert "0 tests completed and failed" in native["checks"]
    assert ruled == native
    assert any(line.startswith("  allreduce ") and "native" not in line for line in said)
