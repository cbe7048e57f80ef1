"""A reader's shell: a directory with his files and runs, labs and servers of his own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs_pages import LAB_HOSTS, ROOT, files, lab_named

VERDICTS = re.compile(
    r"^(compare|explain|study (run|resume|judge)|\w+ .*--at-(least|most)|tune sockets .*--prove)\b"
)
"""Commands whose exit code 1 is an answer."""
SERVES = re.compile(r"^(serve|hpcbench (tcp|udp)server|trace endpoint)\b")
"""Commands that wait for others until they are ended."""
READY = re.compile(r"NETSONDE_PAIR=(\S+)|http://")
"""What they say once they do."""
NODES = f"lab up --name nodes --hosts {LAB_HOSTS} --rate 100M --links switch"
COMMAND_LIMIT_S = 600
READY_LIMIT_S = 30
INTERRUPTED = 4
"""The exit code of a command that was told to end before its time."""
JUDGED = """
cap = "20ms"
[path]
kind = "loopback"
[[measure]]
transports = "tcp"
test = "stream"
sizes = "64k"
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
[[require]]
figure = "throughput_bit_per_s"
at_least = "1M"
"""
"""A study that requires something; of other pages, whose runs are judged."""
TUNED = {
    "format": 1,
    "goals": ["latency"],
    "cap": "20ms",
    "sizes": {"latency": "64"},
    "call": None,
    "untuned": {"options": {"no_delay": False}, "host": {}},
    "tuned": {"options": {"no_delay": True}, "host": {}},
    "hosts": {"h1": {"before": {}}, "h2": {"before": {}}},
}
"""What an earlier search for settings found, as other searches write it."""
OUTPUTS = ROOT / "tests" / "python" / "peers" / "outputs"
WRITTEN_BY_OTHERS = {
    "iperf3.json": "iperf3-tcp.json",
    "before.json": "iperf3-tcp.json",
    "after.json": "iperf3-udp.json",
    "np.out": "netpipe-3.out",
    "sockperf.txt": "sockperf-udp.txt",
}


class Reader:
    """Plays commands as their page has them, one after the other. A context manager: what was
    started is gone afterwards."""

    def __init__(self, command: list[str], directory: Path, own: Path) -> None:
        """own: a folder with a short name, for sockets lie below it."""
        self._command = command
        self._directory = directory
        self._environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(own),
            "XDG_STATE_HOME": str(own),
            "XDG_CACHE_HOME": str(cache_with_programs(own)),
            "COLUMNS": "80",
        }
        self._ups: dict[str, str] = {"nodes": NODES}
        self._up: set[str] = set()
        self._servers: list[subprocess.Popen[bytes]] = []
        self._beside: list[subprocess.Popen[bytes]] = []
        self._code = self._port = ""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._servers, *self._beside):
            process.kill()
            process.wait()
        for trace in self._directory.glob("*.trace"):
            self.run(f"trace stop {trace.name}")
        for line in ("lab down --all", "hpcbench sysmon -k"):
            self.run(line)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        words, where = self._words(line)
        try:
            return subprocess.run(
                words, **where, capture_output=True, text=True, check=False, timeout=COMMAND_LIMIT_S
            )
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"netsonde {line}: not done after {error.timeout:.0f} s") from None

    def must(self, line: str) -> None:
        """Fails where the command does; notes how long it took."""
        begun = time.monotonic()
        done = self.run(line)
        print(f"{time.monotonic() - begun:6.1f} s  netsonde {line}")
        allowed = (0, 1) if VERDICTS.match(line) else (0,)
        assert done.returncode in allowed, f"netsonde {line}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"netsonde {line}: {done.stderr}"

    def play(self, line: str) -> None:
        """As a reader would: with the lab that the command is about, and no other one."""
        if line.startswith("lab up"):
            self._raise_lab(line)
            return
        needed = lab_named(line + self._studies_of(line))
        if needed is not None and (needed not in self._up if needed else not self._up):
            self._raise_lab(self._ups.get(needed, "lab up --hosts 4 --links switch"))
        if SERVES.match(line):
            self._serve(line)
        elif line.endswith("&"):
            self._beside.append(self._start(line.rstrip("& ")))
        else:
            if "CODE" in line and not self._code:
                self._serve("serve --port 0")
            self.must(line)
            self._name_own(line)
        if line.startswith("lab down"):
            self._up.clear()
        if line.startswith("lab capacity"):  # the reader's machine can do what he asks of it
            Path(self._environment["XDG_CACHE_HOME"], "netsonde/capacity.json").unlink(True)

    def _name_own(self, line: str) -> None:
        """A study that the page runs takes the place of what was to stand for it."""
        ran = re.match(r"study run (?:studies/)?([\w-]+)\.toml", line)
        if ran and (self._directory / "runs" / ran[1]).exists():
            self.name_run(ran[1])

    def _studies_of(self, line: str) -> str:
        """What the studies say that a command runs: their hosts may be a lab's."""
        named = re.match(r"study run.* (\w+\.toml)", line)
        study = self._directory / named[1] if named else None
        return study.read_text() if study is not None and study.exists() else ""

    def give(self, name: str, text: str) -> None:
        """A file that the reader is to have."""
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def name_run(self, name: str) -> None:
        """Gives the last run that was measured a name that pages use for one."""
        runs = self._directory / "runs"
        made = max((p for p in runs.iterdir() if p.name[:8].isdigit()), key=lambda p: p.name)
        shutil.rmtree(runs / name, ignore_errors=True)
        shutil.copytree(made, runs / name)

    def _words(self, line: str) -> tuple[list[str], dict[str, Any]]:
        """The words of a command, and where it is to run."""
        line = line.replace("CODE", self._code).replace("PORT", self._port)
        words = shlex.split(line)
        environment = dict(self._environment)
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        where = {"cwd": self._directory, "env": environment, "stdin": subprocess.DEVNULL}
        return [*self._command, *words], where

    def _raise_lab(self, line: str) -> None:
        named = re.search(r"--name (\w+)", line)
        self.run("lab down --all")
        self.must(line)
        self._up = {named[1] if named else "the only one"}
        if named:
            self._ups[named[1]] = line

    def _start(self, line: str) -> subprocess.Popen[bytes]:
        words, where = self._words(line)
        with self._said().open("wb") as said:
            return subprocess.Popen(words, **where, stdout=said, stderr=said)

    def _said(self) -> Path:
        return Path(self._environment["XDG_STATE_HOME"]) / "said"

    def _serve(self, line: str) -> None:
        """Until the next one; each must end in order when it is told to."""
        self.end_servers()
        process = self._start(line)
        self._servers.append(process)
        end = time.monotonic() + READY_LIMIT_S
        while not (ready := READY.search(self._said().read_text())):
            assert process.poll() is None, f"netsonde {line}: {self._said().read_text()}"
            assert time.monotonic() < end, f"netsonde {line}: says nothing"
            time.sleep(0.05)
        print(f"   beside  netsonde {line}")
        if ready[1]:
            self._code = ready[1]
            self._port = re.findall(r"(?::| -p )(\d+)\s", self._said().read_text())[0]

    def end_servers(self) -> None:
        """In order, as they must when they are told to."""
        for process in self._servers:
            process.terminate()
            assert process.wait(READY_LIMIT_S) in (0, INTERRUPTED), self._said().read_text()
        self._servers.clear()


def cache_with_programs(own: Path) -> Path:
    """A cache of the reader's, in which are the MPI programs that other tests built."""
    built = ROOT / "build" / "cache" / "netsonde" / "sonde-mpi"
    built.mkdir(parents=True, exist_ok=True)
    programs = own / "cache" / "netsonde" / "sonde-mpi"
    programs.parent.mkdir(parents=True)
    programs.symlink_to(built)
    return own / "cache"


def give_files(path: Path, directory: Path) -> None:
    """What the page shows, and what other programs wrote."""
    shutil.copytree(ROOT / "studies", directory / "studies")
    for name, study in {"acceptance": "acceptance", "allpairs": "tournament"}.items():
        text = (ROOT / "studies" / f"{study}.toml").read_text()
        (directory / f"{name}.toml").write_text(re.sub(r'cap = "\w+"', 'cap = "50ms"', text))
    (directory / "judged.toml").write_text(JUDGED)
    (directory / "limits.toml").write_text(JUDGED[JUDGED.index("[[require]]") :])
    for name, text in files(path).items():
        (directory / name).write_text(text)
    for name, source in WRITTEN_BY_OTHERS.items():
        shutil.copy(OUTPUTS / source, directory / name)
    (directory / "hosts").write_text("local slots=2\n")


def results(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Commands that write what a page has from earlier, and the runs that each stands for."""
    text = "\n".join(lines)
    names = sorted(set(re.findall(r"runs/([\w-]+)", text)))
    if names:
        yield "mpi latency bcast -n 2 --launches 4 --sizes 64 --time 20ms --quiet", names
        sockets = [name for name in names if re.search("tcp|base|accept|quick", name)]
        yield "tcp local sweep --sizes 1k,64k,1M --time 20ms --quiet", sockets
    if "study judge" in text:
        judged = [name for name in names if "accept" in name]
        yield "study run judged.toml --quiet", judged
    if "--condition cubic" in text:
        varied = [name for name in names if re.search("study|tuning", name)]
        yield "tcp local stream --sizes 64k --congestion cubic,bbr --time 20ms --quiet", varied
    if "mpibench --from" in text:
        yield "mpibench bcast -n 2 --max 64", ["mpibench-bcast"]
    if "cluster.json" in text:
        yield "model what-if fe-326 --link-rate 1G --out cluster.json", []
    for name in sorted(set(re.findall(r"\bnode\d\.parquet\b", text))):
        yield f"trace --every 100ms --for 1s -o {name}", []
    for name in sorted(set(re.findall(r"\bhh\d\.log\b", text))):
        yield f"hpcbench sysmon -w -t 1 -r 2 -o {name}", []
    if "trace endpoint live.parquet" in text and "-o live.parquet" not in text:
        yield "trace --every 1s --for 1h -o live.parquet --background", []
    if "history show" in text and "history add" not in text:
        yield "history add cluster.duckdb runs/base", []


def give_results(reader: Reader, lines: list[str]) -> None:
    for line, names in results(lines):
        reader.must(line)
        for name in names:
            reader.name_run(name)
    if any("runs/tune-sockets" in line for line in lines):
        reader.give("runs/tune-sockets/tuning.json", json.dumps(TUNED))
