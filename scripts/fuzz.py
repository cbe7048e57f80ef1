"""Runs the fuzzers of the engine one after the other, on CPU time that nobody else wants.

    scripts/fuzz.py --seconds 120          all of them, so long together
    scripts/fuzz.py --only request,echo    some of them
    scripts/fuzz.py --record               adds the executions to docs/methods/fuzzing.md
    scripts/fuzz.py --keep                 writes what reaches most, small, to the seeds

They are built by `cmake --preset fuzz && cmake --build --preset fuzz`. Each begins with its seeds
(a line of hexadecimal digits each), the examples of the schemas where it reads such, and what
earlier runs found worth keeping in build/fuzz/corpus. What makes one fail is written to
build/fuzz/found, and stands in the seeds from then on.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "fuzz" / "tests" / "engine" / "fuzz"
CORPUS = ROOT / "build" / "fuzz" / "corpus"
FOUND = ROOT / "build" / "fuzz" / "found"
SEEDS = ROOT / "tests" / "engine" / "fuzz" / "seeds"
PAGE = ROOT / "docs" / "methods" / "fuzzing.md"
TABLE = re.compile(r"(?<=<!-- executions -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
EXAMPLES = {
    "request": ROOT / "schema" / "examples" / "requests-valid.jsonl",
    "trace": ROOT / "tests" / "engine" / "fuzz" / "traces",
    "scenario": ROOT / "tests" / "engine" / "fuzz" / "scenarios",
}
"""Seeds that lie elsewhere: a file of lines, or a folder of files."""
LIMITS = ("-timeout=20", "-rss_limit_mb=1024", "-max_len=8192", "-print_final_stats=1")
KEPT_BYTES = 256
KEPT_SEEDS = 60


@dataclass(frozen=True)
class Played:
    """What a fuzzer did."""

    name: str
    executions: int
    seconds: int
    failed: bool


def fuzzers() -> list[str]:
    """The names of those that are built."""
    return sorted(path.name.removesuffix("-fuzz") for path in BUILT.glob("*-fuzz"))


def seeds_of(name: str, folder: Path) -> Path:
    """A folder with the seeds of a fuzzer, a file each."""
    into = folder / name
    into.mkdir()
    given: list[bytes] = []
    kept = SEEDS / f"{name}.hex"
    if kept.exists():
        given += [bytes.fromhex(line) for line in kept.read_text().split()]
    examples = EXAMPLES.get(name)
    if examples is not None and examples.is_dir():
        given += [path.read_bytes() for path in sorted(examples.iterdir())]
    elif examples is not None:
        given += [line + b"\n" for line in examples.read_bytes().splitlines()]
    for number, content in enumerate(given):
        (into / f"{number:04d}").write_bytes(content)
    return into


def play(name: str, seconds: int, folder: Path) -> Played:
    """Runs one; what it finds stays in FOUND."""
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    FOUND.mkdir(parents=True, exist_ok=True)
    command = [
        str(BUILT / f"{name}-fuzz"),
        f"-max_total_time={seconds}",
        *LIMITS,
        f"-artifact_prefix={FOUND}/{name}-",
        str(corpus),
        str(seeds_of(name, folder)),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=20 * seconds + 300,
    )
    counted = re.search(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    if done.returncode:
        print(done.stderr[-4000:])
    return Played(name, int(counted[1]) if counted else 0, seconds, done.returncode != 0)


def keep(name: str, folder: Path) -> None:
    """Writes the smallest set of what reaches as much, as far as it is small."""
    least = folder / f"{name}-least"
    least.mkdir()
    command = [str(BUILT / f"{name}-fuzz"), "-merge=1", str(least), str(CORPUS / name)]
    subprocess.run(command, capture_output=True, check=True, timeout=600)
    contents = sorted((path.read_bytes() for path in least.iterdir()), key=lambda c: (len(c), c))
    lines = [content.hex() for content in contents if 0 < len(content) <= KEPT_BYTES]
    SEEDS.mkdir(exist_ok=True)
    (SEEDS / f"{name}.hex").write_text("".join(f"{line}\n" for line in lines[-KEPT_SEEDS:]))


def record(played: list[Played]) -> None:
    """Adds the executions to the page's table."""
    text = PAGE.read_text()
    found = TABLE.search(text)
    if found is None:
        sys.exit(f"{PAGE} has no table of executions")
    counts: dict[str, list[int]] = {}
    for line in found[1].splitlines()[2:]:
        name, *numbers = (cell.strip().replace(",", "") for cell in line.strip("| ").split("|"))
        counts[name] = [int(number) for number in numbers]
    for one in played:
        row = counts.setdefault(one.name, [0, 0, 0])
        counts[one.name] = [row[0] + one.executions, row[1] + one.seconds, row[2] + one.failed]
    head = "| fuzzer | executions | seconds | found |\n| --- | ---: | ---: | ---: |\n"
    rows = [f"| {n} | {e:,} | {s:,} | {f} |\n" for n, (e, s, f) in sorted(counts.items())]
    PAGE.write_text(text[: found.start()] + head + "".join(rows) + text[found.end() :])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=120, help="of all together")
    parser.add_argument("--only", default="", help="names, with commas between")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else fuzzers()
    if not names:
        sys.exit(f"no fuzzers are built in {BUILT}")
    with tempfile.TemporaryDirectory() as folder:
        played = [play(n, max(1, given.seconds // len(names)), Path(folder)) for n in names]
        for one in played:
            verdict = f"failed: see {FOUND}" if one.failed else "ok"
            print(f"{one.name:<12}{one.executions:>12,} executions in {one.seconds} s  {verdict}")
        if given.keep:
            for name in names:
                keep(name, Path(folder))
    if given.record:
        record(played)
    return 1 if any(one.failed for one in played) else 0


if __name__ == "__main__":
    sys.exit(main())
