"""The commands of the documentation, and what they become on a machine that has none of the
reader's hosts: a lab stands for his cluster, this machine for his other host."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LAB = "lab:nodes/"
"""The lab that stands for the reader's nodes."""
LAB_HOSTS = 9
MPI = Path(shutil.which("mpicc", path=str(Path(sys.executable).parent)) or "/usr/bin/mpicc").parent

ELSEWHERE = {
    r"^study submit (?!.*--show)": "tests/lab/test_slurm_launch.py::test_submit",
    r"@srun\b": "tests/lab/test_slurm_launch.py::test_the_command_of_the_launchers_page",
    r"^model fit\b": "tests/python/platforms/test_model_fit.py::test_a_known_cluster_is_found",
}
"""What is not played here, and the test that runs the same command: a batch queue; runs of a
cluster whose parameters are known."""

FRAMES = rf"-- {sys.executable} burst.py \2 \1"
"""In place of ping, which not every machine has: as many frames, with a program of the page."""

STANDS_FOR: tuple[tuple[str, str], ...] = (
    # What the reader has and this machine has not.
    (r"-- (make -j8|\./my-program|mpiexec -n 8 \./solver)", "-- sleep 1"),
    (r"/opt/\w+/bin/", f"{MPI}/"),
    (r"\beth0\b", "lo"),
    (r"\bexplain DIR\b", "explain runs/base"),
    (r"runs/(?:TIME|\d{8}-\d{6})-([\w-]+)", r"runs/\1"),
    (r"trace-node1-\d{8}-\d{6}", "net.parquet.trace"),
    (r"--day \S+", f"--day {datetime.now(UTC):%Y-%m-%d}"),
    (r"\bpython3 (?=\w+\.py)", f"{sys.executable} "),
    (r"-- ping -c (\d) (\w+)", r"-- ping -c \1 \2" if shutil.which("ping") else FRAMES),
    # Servers: a port that is free, and then the one that it said.
    (r"^serve(?!.*--port)", "serve --port 0"),
    (r"^(hpcbench \w+server)$", r"\1 -p 0"),
    (r"192\.0\.2\.7:5959|-h node\d+ -p 5677", "127.0.0.1:PORT"),
    (r"^(.*hpcbench.*) 127\.0\.0\.1:PORT", r"\1 -h 127.0.0.1 -p PORT"),
    (r"\[2001:db8::7\]:5959", "[::1]:PORT"),
    (r"--bind 192\.0\.2\.7", "--bind 127.0.0.1"),
    (r"--listen \S+", "--listen 127.0.0.1:0"),
    # Hosts.
    (r"'node\[001-004\]!node002'", f"{LAB}h1,h3"),
    (r"'?node\[0*1-\d\d+\]'?", f"{LAB}h[1-4]"),
    (r'"\$SLURM_JOB_NODELIST"', f"{LAB}h[1-4]"),
    (r"^host node\d+", "host local"),
    (r"^tune sockets node\d+", f"tune sockets {LAB}h1,h2"),
    (r"^(tune sockets .*)--budget \S+", r"\1--budget 20s"),
    (r"^(tcp|udp|icmp) node\d+ (?!.*--from)", r"\1 local "),
    (r"-h node\d+", "-h local"),
    (r"^(tcp|udp) node\d+ (.+) --from node\d+", rf"\1 {LAB}h2 \2 --from {LAB}h1"),
    (r"--hosts (node0?1,node\d+|node7,node8|n1,n2)", f"--hosts {LAB}h1,h2"),
    (r"--hosts a,b,c,d", f"--hosts {LAB}h1,h2,h3,h4"),
    (r"\bnode1,node2,node3\b", f"{LAB}h[1-3]"),
    (r"'?\bnode\[0*1-(\d)\]'?", rf"{LAB}h[1-\1]"),
    (r" node9\b", f" {LAB}h9"),
    # Sizes and times for this machine, whose link to a node has 100 Mbit/s.
    (r"--like mpptest", "--like mpptest --sizes 1k,16k"),
    (r"stream --like osu --sizes 1M", "stream --like osu --sizes 64k"),
    # Each rank has a CPU, where ranks are to be in time or many passes would take minutes.
    (r"(--start window) -n \d+", r"\1 -n 2"),
    (r"-n 4(?= .*--like all)", "-n 2"),
    (r"mpich\+FI_TCP_IFACE=\w+,mpich\+FI_TCP_IFACE=\w+", "mpich,mpich+FI_TCP_IFACE=v0"),
    (r"-n 2\.\.(64|16)", "-n 2..4"),
    (r"-n 2,4,8,16", "-n 2,4"),
    (r"(?<!nice )-n (\d\d|[5-9])\b", "-n 4"),
    (r"--ppn \d+(?![\d,])", "--ppn 2"),
    (r"--pin all", "--pin all --oversubscribe"),
    (r"--launches \d+", "--launches 2"),
    (r"--repeat 12", "--repeat 5"),
    (r"--time (\d+s|\d+m|0\.2s)", "--time 20ms"),
    (r"--for 1h", "--for 2s"),
    (r"--seconds 60", "--seconds 2"),
    (r"sysmon -r 100 -t 1", "sysmon -r 3 -t 1"),
    (r"(hpcbench \w+test .*-t) \d+", r"\1 1"),
    (r"(hpcbench \w+test .*-r) \d+", r"\1 2"),
)
"""Patterns and what takes their place, one after the other."""
IN_FILES = {
    '"node[01-16]"': '"h1"',
    '["node17", "node[18-32]"]': '"h2"',
    'origin = "local"\ntarget = "node': f'origin = "{LAB}h1"\ntarget = "node',
    '"node6"': f'"{LAB}h1"',
    '"node7"': f'"{LAB}h2"',
    '"/opt/npb/mg.A.x"': '"echo", "Mop/s total = 1234.5"',
    '"900M"': '"90M"',
    'cap = "5s"': 'cap = "50ms"',
}
"""The same in the files that pages show."""
BRIEFLY = (
    (re.compile(r"^(tcp|udp|icmp|mpi) (?!.*(--time|--like|--repeat|--list))"), "--time 20ms"),
    (re.compile(r"^tune sockets (?!.*--(budget|prove|undo))"), "--budget 20s"),
    (re.compile(r"^tune sockets (?!.*--(prove|undo))"), "--time 20ms"),
    (re.compile(r"hpcbench \w+test (?!.* -t )"), "-t 1"),
    (re.compile(r"hpcbench \w+test (?!.* -r )"), "-r 2"),
)
"""Commands that would take their time, and what is added to them."""


def shell_lines(text: str) -> Iterator[str]:
    """The lines of a page's indented blocks and of its fenced blocks in no language or a shell's,
    in the order of the page; a loop as often as it goes round."""
    text = re.sub(
        r"(?ms)^for (\w+) in ([^;\n]+); do\n(.*?)^done$",
        lambda loop: "".join(loop[3].replace(f"${loop[1]}", word) for word in loop[2].split()),
        text,
    )
    language: str | None = None
    for line in text.splitlines():
        if line.startswith("```"):
            language = line[3:].strip() if language is None else None
        elif not line.strip():
            continue
        elif language in ("", "sh", "bash") or (language is None and line.startswith("    ")):
            yield line.strip()


def examples(text: str) -> Iterator[str]:
    """The commands that the reference gives as examples; they are those of ``--help``."""
    for paragraph in re.findall(r"(?ms)^Examples?: (.+?)\n\n", text):
        yield from re.findall(r"`([^`]+)`", paragraph.replace("\n", " "))


def commands(path: Path) -> list[str]:
    """A page's commands in their order, without ``netsonde``; a variable that is set for one
    stands before it."""
    shown = (examples if path.name == "cli.md" else shell_lines)(path.read_text())
    found = (re.match(r"((?:[A-Z_]+=\S+ )?)netsonde (.+)$", line) for line in shown)
    return [re.split(r"\s+[#>]", line[1] + line[2])[0] for line in found if line]


def elsewhere(line: str) -> str | None:
    """Which test runs a command that is not played here; None where it is played."""
    return next((where for pattern, where in ELSEWHERE.items() if re.search(pattern, line)), None)


def on_this_machine(line: str) -> str:
    """A command of the documentation as it can be played here."""
    for pattern, words in STANDS_FOR:
        line = re.sub(pattern, words, line)
    return " ".join([line, *(words for pattern, words in BRIEFLY if pattern.search(line))])


def lab_named(line: str) -> str | None:
    """The lab that a command needs to be up: its name, empty for the only one; None where none."""
    if line.startswith("lab up"):
        return None
    named = re.search(r"--name (\w+)", line) if line.startswith("lab ") else None
    if named:
        return named[1]
    place = re.search(r"lab:(?:(\w+)/)?h", line)
    if place:
        return place[1] or ""
    without = ("lab presets", "lab capacity", "lab down")
    return "" if line.startswith("lab ") and not line.startswith(without) else None


def files(path: Path) -> dict[str, str]:
    """The files that a page shows: name to text. One has its name in its first line, or in the
    last words before it."""
    found: dict[str, str] = {}
    text = path.read_text()
    for block in re.finditer(r"(?ms)^```(toml|python)\n(.*?)^```$", text):
        ending = "toml" if block[1] == "toml" else "py"
        named = re.match(rf"# (\w+\.{ending})", block[2])
        before = re.findall(rf"`(\w+\.{ending})`", text[: block.start()])
        name = named[1] if named else before[-1] if before else f"rack.{ending}"
        found.setdefault(name, reduce(lambda t, of: t.replace(*of), IN_FILES.items(), block[2]))
    return found
