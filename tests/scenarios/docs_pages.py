"""The commands of the documentation, and what they become on a machine that has none of the
reader's hosts: a lab stands for his cluster, this machine for his other host."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
LAB = "lab:nodes/"
"""The lab that stands for the reader's nodes."""
LAB_HOSTS = 9

ELSEWHERE = {
    r"--pair CODE": "the code of a server: test_serve_real, test_hpcbench_commands",
    r"^serve\b": "waits for strangers: test_serve_real",
    r"^hpcbench (tcp|udp)server\b": "waits for strangers: test_hpcbench_commands",
    r"^study submit .*-N \d+(?! --show)": "a batch queue: test_slurm_launch",
    r"--listen\b": "serves until it is ended: test_openmetrics",
    r"/opt/": "an MPI of the reader's: test_mpi_families",
    r"burst\.py": "a script of the page: test_switch_bursts",
    r"^model fit\b": "runs of one way and of both: test_model_fit",
    r"--machinefile": "a file of the reader's hosts: test_mpi_facades",
    r"^hpcbench sysmon (-b|-k|--summary)": "logs of days: test_hpcbench_commands",
}
"""What is not played here, and the test that runs the same command."""

STANDS_FOR: tuple[tuple[str, str], ...] = (
    # What the reader has and this machine has not.
    (r"-- (make -j8|\./my-program|mpiexec -n 8 \./solver)", "-- sleep 1"),
    (r",/opt/site/bin/mpicc", ""),
    (r"\beth0\b", "lo"),
    (r"\bexplain DIR\b", "explain runs/base"),
    (r"runs/(?:TIME|\d{8}-\d{6})-([\w-]+)", r"runs/\1"),
    (r"--day \S+", f"--day {datetime.now(UTC):%Y-%m-%d}"),
    # Hosts.
    (r"'node\[001-004\]!node002'", f"{LAB}h1,h3"),
    (r"'?node\[0*1-\d\d+\]'?", f"{LAB}h[1-4]"),
    (r'"\$SLURM_JOB_NODELIST"', f"{LAB}h[1-4]"),
    (r"^host node\d+", "host local"),
    (r"^(tcp|udp|icmp) node\d+ (?!.*--from)", r"\1 local "),
    (r"-h node\d+", "-h local"),
    (r"^(tcp|udp) node\d+ (\S+) --from node\d+", rf"\1 {LAB}h1,h2 \2"),
    (r"--hosts (node0?1,node\d+|node7,node8|n1,n2)", f"--hosts {LAB}h1,h2"),
    (r"--hosts a,b,c,d", f"--hosts {LAB}h1,h2,h3,h4"),
    (r"\bnode1,node2,node3\b", f"{LAB}h[1-3]"),
    (r"'?\bnode\[0*1-(\d)\]'?", rf"{LAB}h[1-\1]"),
    (r" node9\b", f" {LAB}h9"),
    # Sizes and times for this machine.
    (r"-n 2\.\.64", "-n 2..4"),
    (r"-n 2,4,8,16", "-n 2,4"),
    (r"-n (\d\d|[5-9])\b", "-n 4"),
    (r"--ppn \d+", "--ppn 2"),
    (r"--launches \d+", "--launches 2"),
    (r"--repeat 12", "--repeat 3"),
    (r"--time (\d+s|\d+m|0\.2s)", "--time 20ms"),
    (r"--for 1h", "--for 2s"),
    (r"-t \d+ -r", "-t 1 -r"),
    (r"-r (20|10)\b", "-r 2"),
)
"""Patterns and what takes their place, one after the other."""
BRIEF = re.compile(r"^(tcp|udp|icmp|mpi) (?!.*(--time|--like|--repeat|generate))")


def commands(path: Path) -> list[str]:
    """The commands of a page's indented and fenced blocks, without ``netsonde``."""
    text = path.read_text()
    found = [] if path.name == "cli.md" else re.findall(r"(?m)^    netsonde (.+)$", text)
    for block in re.findall(r"(?ms)^```\n(.*?)^```$", text):
        found += re.findall(r"(?m)^netsonde (.+)$", block)
    return [re.split(r"\s+[#>]", line)[0] for line in found]


def elsewhere(line: str) -> str | None:
    """Which test runs a command that is not played here; None where it is played."""
    if ",/opt/" in line:
        return None
    return next((where for pattern, where in ELSEWHERE.items() if re.search(pattern, line)), None)


def on_this_machine(line: str) -> str:
    """A command of the documentation as it can be played here."""
    for pattern, words in STANDS_FOR:
        line = re.sub(pattern, words, line)
    return f"{line} --time 20ms" if BRIEF.match(line) else line


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
    for block in re.finditer(r"(?ms)^```toml\n(.*?)^```$", text):
        named = re.match(r"# (\w+\.toml)", block[1])
        before = re.findall(r"`(\w+\.toml)`", text[: block.start()])
        name = named[1] if named else before[-1] if before else "rack.toml"
        found.setdefault(name, block[1])
    return found
