"""Random faults: what a user reads of runs with them, and of clean ones, is it true?

    python tests/truth/random_faults.py --seed 1 --runs 50 --clean 100 --busy-half --kinds all

For each drawn run a lab is brought up. The measurement is made without a fault first, then with it
(and with a second beside it where two were drawn); where that cost 20 % or more, once more without.
The share that it cost against the worse of the runs without is the size of the effect. Runs
without are judged as clean ones. Prints each false or missing statement with its seed, then
precision over all that is said above a note and recall by size of effect. ``--number N`` makes one
run again. Ctrl-C and SIGTERM leave nothing running, and print what was found until then.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fault_actions import Bench, burning
from fault_grammar import Clean, Drawn, Measure, draw, draw_clean, harm_of
from fault_kinds import HELD_IN
from fault_kinds_held_out import HELD_OUT
from faults_harness import named_states
from faults_measured import Measured, measured
from statements import Asked, Score, Truth, Verdict

from netsonde.figures.compute import figures_of
from netsonde.lab import LabSpec
from netsonde.lab.registry import start_named, take_down

KINDS = {"held-in": HELD_IN, "held-out": HELD_OUT, "all": (*HELD_IN, *HELD_OUT)}
AGAIN = 0.2
"""The cost of a fault from which on it is measured without it once more."""
BUSY_SHARE = 1.0


@dataclass
class Scores:
    """Apart: runs with faults and the clean ones, idle and busy."""

    faults: Score = field(default_factory=Score)
    without: Score = field(default_factory=Score)
    clean: Score = field(default_factory=Score)
    busy: Score = field(default_factory=Score)
    others: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def count(
        self,
        score: Score,
        one: Measured,
        truths: Sequence[Truth],
        what: str,
        asked: Asked | None = None,
    ) -> list[Verdict]:
        self.others.append(one.counters["others"])
        verdicts: list[Verdict] = score.add(one.statements, truths, one.counters, what, asked)
        return verdicts

    def words(self) -> str:
        parts = [
            self.faults.words("runs with faults"),
            self.without.words("the same without"),
            self.clean.words("clean runs"),
            self.busy.words("clean runs beside busy processes"),
        ]
        used = sorted(self.others) or [0.0]
        parts.append(
            f"others used {used[len(used) // 2]:.2f} CPUs in the median run, "
            f"{used[0]:.2f} to {used[-1]:.2f}"
        )
        parts += [f"not made: {words}" for words in self.broken]
        return "\n".join(parts)


def make_run(drawn: Drawn, folder: Path, scores: Scores) -> None:
    """Measures a drawn run without, with, and where it cost much once more without its faults."""
    measure = drawn.measure
    with _lab(measure.place.spec(f"r{os.getpid()}", drawn.seed), folder, drawn) as bench:
        without = [_measure(bench, drawn, folder / "0")]
        found = []
        with contextlib.ExitStack() as faults:
            for turn, fault in enumerate(drawn.faults, 1):
                faults.enter_context(fault.kind.put(bench, fault.size))
                found.append(_measure(bench, drawn, folder / f"{turn}"))
        figures = [_figure(one, measure) for one in (*without, *found)]
        cost = max(harm_of(measure.better, _known(figures[:1]), one) for one in figures[1:])
        if cost >= AGAIN:
            without.append(_measure(bench, drawn, folder / "9"))
    truths: list[Truth] = []
    before = _known([_figure(one, measure) for one in without])
    for fault, one in zip(drawn.faults, found, strict=True):
        truths += fault.kind.truths
        cost = harm_of(measure.better, before, _figure(one, measure))
        asked = Asked(fault.kind.truths, cost) if fault.kind.has_effect else None
        what = f"{drawn} ({fault.kind.name})"
        _tell(
            f"{what}: cost {cost:.0%}", one, scores.count(scores.faults, one, truths, what, asked)
        )
        # What the second of two costs is told against the first alone.
        before = _known([_figure(one, measure)]) or before
    for one in without:
        what = f"{drawn}, without"
        _tell(what, one, scores.count(scores.without, one, (), what))


def _known(figures: Sequence[float | None]) -> list[float]:
    return [figure for figure in figures if figure is not None]


def make_clean(clean: Clean, folder: Path, scores: Scores) -> None:
    with contextlib.ExitStack() as stack:
        spec = clean.place.spec(f"c{os.getpid()}", clean.seed)
        bench = stack.enter_context(_lab(spec, folder, clean))
        for _ in range(clean.burners):
            stack.enter_context(burning(None, BUSY_SHARE))
        one = _measure(bench, clean, folder / "0")
    score = scores.busy if clean.burners else scores.clean
    _tell(str(clean), one, scores.count(score, one, (), str(clean)))


def _tell(what: str, one: Measured, verdicts: Sequence[str]) -> None:
    said = "; ".join(f"[{v}] {s.kind}" for s, v in zip(one.statements, verdicts, strict=True))
    use = f"others {one.counters['others']:.2f}"
    print(f"{what}: {use}; {said or 'nothing said'}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _lab(spec: LabSpec, folder: Path, drawn: Drawn | Clean) -> Iterator[Bench]:
    folder.mkdir(parents=True)
    with named_states(folder):
        lab = start_named(spec)
        try:
            yield Bench(lab, random.Random(f"{drawn.seed}.{drawn.number} moments"))
        finally:
            take_down(lab)


def _measure(bench: Bench, drawn: Drawn | Clean, out: Path) -> Measured:
    lab = f"lab:{bench.lab.spec.name}"
    command = drawn.command.replace("HOSTS", f"{lab}/h1,h2").replace("ALL", f"{lab}/h[1-3]")
    out.mkdir()
    bench.counters.clear()
    found = measured(bench.lab, command.split(), out)
    found.counters.update(bench.counters)
    return found


def _figure(found: Measured, measure: Measure) -> float | None:
    """The rate of a stream, or the mean of all round trips; None where nothing came."""
    if found.run is None:
        return None
    if measure.is_stream:
        rates = [f.value for f in figures_of(found.run) if f.name == measure.figure]
        return rates[0] if rates else None
    times = [point.series("round_trip_ns") for point in found.run.points]
    return float(times[0].mean()) if times and len(times[0]) else None


def _end(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def make_all(asked: argparse.Namespace, folder: Path) -> Scores:
    """All drawn runs, then the clean ones; a run that cannot be made is noted and passed over."""
    scores = Scores()
    kinds = [k for k in KINDS[asked.kinds] if not asked.only or k.name in asked.only]
    numbers = range(asked.runs) if asked.number is None else [asked.number]
    work: list[Drawn | Clean] = [draw(asked.seed, number, kinds) for number in numbers]
    work += [
        draw_clean(asked.seed, number, busy=asked.busy_half and number % 2 == 1)
        for number in range(asked.clean)
    ]
    deadline = time.monotonic() + asked.most_s if asked.most_s else None
    try:
        for place, item in enumerate(work):
            if deadline and time.monotonic() > deadline:
                scores.broken.append(f"{len(work) - place} of {len(work)} for lack of time")
                break
            _make(item, folder / str(place), scores)
    except KeyboardInterrupt:
        scores.broken.append(f"{len(work) - place} of {len(work)}: interrupted")
    return scores


def _make(item: Drawn | Clean, folder: Path, scores: Scores) -> None:
    try:
        if isinstance(item, Drawn):
            make_run(item, folder, scores)
        else:
            make_clean(item, folder, scores)
    except Exception as error:  # whatever it is: the others are still to be made
        scores.broken.append(f"{item}: {type(error).__name__}: {str(error)[:200]}")
        print(scores.broken[-1], file=sys.stderr, flush=True)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=0, help="runs with faults")
    parser.add_argument("--number", type=int, help="only the run of that number")
    parser.add_argument("--clean", type=int, default=0, help="clean runs")
    parser.add_argument("--busy-half", action="store_true", help="half of them beside others' work")
    parser.add_argument("--kinds", choices=sorted(KINDS), default="held-in")
    parser.add_argument("--only", action="append", help="kinds of that name; again for more")
    parser.add_argument("--most-s", type=float, help="begin no run after so many seconds")
    return parser.parse_args(words)


def main() -> None:
    asked = arguments()
    signal.signal(signal.SIGTERM, _end)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scores = make_all(asked, Path(folder))
    print(scores.words())
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {time.monotonic() - begun:.0f} s: {sys.argv[1:]}")


if __name__ == "__main__":
    main()
