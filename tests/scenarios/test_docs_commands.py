"""Commands of the documentation, run: those that need nothing but this machine in every run of the
tests, and all that a lab can stand in for in `make soak`; in the order of their page and in one
directory, so that one can use what another wrote."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import (
    LAB_HOSTS,
    PAGES,
    ROOT,
    commands,
    elsewhere,
    files,
    lab_named,
    on_this_machine,
)
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
BRIEF = ("--time", "20ms", "--quiet", "--out", "runs")
ALONE = ("schedule", "model", "man")
"""Commands that send nothing and need no host."""
LONG = ("--simulate", "check all")
FILES = ("cluster.json", "runs/")
"""What the reader is to have."""
SOCKETS = re.compile(
    r"(tcp|udp) node\d+ (latency|stream)"
    r"((?: --(?:rate|wait|batch|streams|time) \S+)*)$"
)
"""Tests between two hosts whose options need neither privileges nor a certain kernel."""
VERDICTS = re.compile(r"^(compare|explain|study run)\b")
"""Commands whose exit code 1 is an answer."""
OUTPUTS = ROOT / "tests" / "python" / "peers" / "outputs"
WRITTEN_BY_OTHERS = {
    "iperf3.json": "iperf3-tcp.json",
    "before.json": "iperf3-tcp.json",
    "after.json": "iperf3-udp.json",
    "np.out": "netpipe-3.out",
    "sockperf.txt": "sockperf-udp.txt",
}
NODES = f"lab up --name nodes --hosts {LAB_HOSTS} --rate 100M --links switch"
COMMAND_LIMIT_S = 300


def to_run(line: str) -> list[str] | None:
    """The words to run on this machine; None where the command needs more than that."""
    if line.split()[0] in ALONE and not any(word in line for word in (*LONG, *FILES)):
        return shlex.split(line)
    match = SOCKETS.match(line)
    if match is None:
        return None
    options = re.sub(r" --time \S+", "", match[3]).split()
    return [match[1], "local", match[2], *options, *BRIEF]


def chosen() -> dict[Path, list[str]]:
    """What is run of each page; what several have once."""
    found: dict[Path, list[str]] = {}
    seen: set[str] = set()
    for path in PAGES:
        for line in commands(path):
            words = to_run(line)
            if words is not None and str(words) not in seen:
                seen.add(str(words))
                found.setdefault(path, []).append(line)
    return found


CHOSEN = chosen()
PLAYED = [path for path in PAGES if commands(path)]


@pytest.mark.parametrize("path", CHOSEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_do_what_the_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in CHOSEN[path]:
        result = CliRunner().invoke(app, to_run(line))
        assert result.exit_code == 0, f"netsonde {line}: {result.output} {result.exception!r}"


def test_enough_of_them_are_run() -> None:
    assert sum(len(found) for found in CHOSEN.values()) >= 20
    assert len(CHOSEN) >= 5


def test_a_wrong_command_fails() -> None:
    assert CliRunner().invoke(app, ["schedule", "show", "nothing/at-all", "-p", "4"]).exit_code != 0


class Reader:
    """A reader's shell: a directory with his files and runs, and labs of his own."""

    def __init__(self, command: list[str], directory: Path, labs: Path) -> None:
        self._command = command
        self._directory = directory
        self._environment = {**os.environ, "XDG_RUNTIME_DIR": str(labs), "COLUMNS": "80"}
        self._ups: dict[str, str] = {"nodes": NODES}
        self._up: set[str] = set()

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self._command, *shlex.split(line)],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_LIMIT_S,
            )
        except subprocess.TimeoutExpired as error:
            pytest.fail(f"netsonde {line}: not done after {error.timeout:.0f} s")

    def must(self, line: str) -> None:
        done = self.run(line)
        allowed = (0, 1) if VERDICTS.match(line) else (0,)
        assert done.returncode in allowed, f"netsonde {line}: {done.stdout}{done.stderr}"

    def play(self, line: str) -> None:
        """As a reader would: with the lab that the command is about, and no other one."""
        if line.startswith("lab up"):
            self._raise_lab(line)
            return
        needed = lab_named(line)
        if needed is not None and (needed not in self._up if needed else not self._up):
            self._raise_lab(self._ups.get(needed, "lab up --hosts 4 --links switch"))
        self.must(line)
        if line.startswith("lab down"):
            self._up.clear()

    def _raise_lab(self, line: str) -> None:
        named = re.search(r"--name (\w+)", line)
        self.run("lab down --all")
        self.must(line)
        self._up = {named[1] if named else "the only one"}
        if named:
            self._ups[named[1]] = line

    def name_run(self, name: str) -> None:
        """Gives the last run that was measured a name that pages use for one."""
        runs = self._directory / "runs"
        made = max((p for p in runs.iterdir() if p.name[:8].isdigit()), key=lambda p: p.name)
        shutil.rmtree(runs / name, ignore_errors=True)
        shutil.copytree(made, runs / name)


@pytest.fixture
def reader(netsonde_command: list[str], tmp_path: Path) -> Iterator[Reader]:
    labs = Path(tempfile.mkdtemp(prefix="ns-"))  # short: sockets lie below it
    reader = Reader(netsonde_command, tmp_path, labs)
    try:
        yield reader
    finally:
        reader.run("lab down --all")
        shutil.rmtree(labs, ignore_errors=True)


def give_files(path: Path, directory: Path) -> None:
    """What the page shows, and what other programs wrote."""
    shutil.copytree(ROOT / "studies", directory / "studies")
    brief = (ROOT / "studies" / "acceptance.toml").read_text()
    (directory / "acceptance.toml").write_text(re.sub(r'cap = "\w+"', 'cap = "50ms"', brief))
    for name, text in files(path).items():
        (directory / name).write_text(text)
    for name, source in WRITTEN_BY_OTHERS.items():
        shutil.copy(OUTPUTS / source, directory / name)


def give_results(reader: Reader, lines: list[str]) -> None:
    """A run under each name that the page has for one, and what earlier commands wrote."""
    text = "\n".join(lines)
    names = set(re.findall(r"runs/([\w-]+)", text))
    if names:
        reader.must("mpi latency bcast -n 2 --launches 4 --sizes 64 --time 20ms --quiet")
        for name in names:
            reader.name_run(name)
        reader.must("tcp local sweep --sizes 1k,64k,1M --time 20ms --quiet")
        for name in {name for name in names if re.search("tcp|base|accept|quick", name)}:
            reader.name_run(name)
    if "mpibench --from" in text:
        reader.must("mpibench bcast -n 2 --max 64")
        reader.name_run("mpibench-bcast")
    if "cluster.json" in text:
        reader.must("model what-if fe-326 --link-rate 1G --out cluster.json")
    for name in sorted(set(re.findall(r"\bnode\d\.parquet\b", text))):
        reader.must(f"trace --every 100ms --for 1s -o {name}")


@pytest.mark.soak
@pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", PLAYED, ids=lambda p: str(p.relative_to(ROOT)))
def test_all_commands_of_a_page_in_their_order(path: Path, tmp_path: Path, reader: Reader) -> None:
    lines = [on_this_machine(line) for line in commands(path) if elsewhere(line) is None]
    give_files(path, tmp_path)
    give_results(reader, lines)
    for number, line in enumerate(lines):
        if line.startswith("lab ") or line not in lines[:number]:
            reader.play(line)


def test_what_is_played_elsewhere_is_little() -> None:
    every = {line for path in PAGES for line in commands(path)}
    assert len([line for line in every if elsewhere(line) is not None]) <= len(every) // 6
