"""Rules proven: fresh launches of the tuned library beside the untuned one, and patterns that show
whether the library obeys. What is no faster, or is not obeyed, is struck out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from netsonde.errors import HostError, UnsupportedError
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_ways import listing_of
from netsonde.operations import operations
from netsonde.schedules.algorithms import NATIVE
from netsonde.tuning.mpi.bench import Job, StudyBench
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.choose import Verdict, judge
from netsonde.tuning.mpi.library_files import Written, write_for
from netsonde.tuning.mpi.patterns import PatternJob, named_hosts, size_for
from netsonde.tuning.mpi.rules import Rule, needs_drop_in
from netsonde.units import format_count

LAUNCHES = 10
CAP_NS = 100_000_000
MOST_SIZES = 3
BEYOND = 2
"""So many times the end of a rule is looked at whether the library does as before."""


@dataclass(frozen=True)
class Obeyed:
    """Whether a library takes a rule from its file. ``is_seen``: its pattern tells the rule's
    algorithm from the library's own choice at a size of the rule; else its file is known to be
    read by the sizes of other rules, or not at all."""

    rule: Rule
    is_obeyed: bool | None
    words: str


@dataclass
class Proof:
    """``verdicts`` of each rule at some of its sizes; ``struck`` are rules that go, with the
    reason."""

    verdicts: dict[Rule, dict[int, Verdict]] = field(default_factory=dict)
    obeyed: list[Obeyed] = field(default_factory=list)
    struck: dict[Rule, str] = field(default_factory=dict)
    kept: tuple[Rule, ...] = ()


def library_file(rules: Sequence[Rule], job: Job, folder: Path) -> tuple[Written, Path, str]:
    """The rules for the library of a job, written into a folder; and the MPI that reads them, as
    ``--mpi`` has it. Raises UsageError and HostError."""
    mpi = find_mpi(job.mpi)
    listing = listing_of(job.mpi)
    names = {rule.operation: listing(operations()[rule.operation]) for rule in rules}
    written = write_for(mpi, rules, names)
    path = folder.absolute() / f"{mpi.family}-rules{written.suffix}"
    written.write(path)
    tuned = job.mpi + "".join(f"+{name}={value}" for name, value in written.settings_for(path))
    return written, path, tuned


def sizes_of(rule: Rule) -> list[int]:
    """The ends of a rule, and the middle; where the operation has whole words only, the first and
    the last that fit."""
    multiple = operations()[rule.operation].multiple_bytes
    first = -(-rule.from_bytes // multiple) * multiple
    last = first if rule.to_bytes is None else max(rule.to_bytes // multiple * multiple, first)
    middle = round((max(rule.from_bytes, 1) * max(last, 1)) ** 0.5) // multiple * multiple
    sizes = {first, last}
    if first < middle < last:
        sizes.add(middle)
    return sorted(sizes)[:MOST_SIZES]


def prove(
    rules: Sequence[Rule],
    bench: StudyBench,
    launches: int,
    cap_ns: int,
    say: Callable[[str], None],
) -> Proof:
    """Rules of the library's algorithms by the file that it reads, ours by the ranks themselves.
    Raises HostError where nothing could be measured."""
    proof = Proof()
    of_library = [rule for rule in rules if rule.library_algorithm is not None]
    ours = [rule for rule in rules if needs_drop_in(rule)]
    if of_library:
        written, _, tuned = library_file(of_library, bench.job, bench.folder)
        proof.struck |= written.unsaid
        said = [rule for rule in of_library if rule not in written.unsaid]
        title = find_mpi(bench.job.mpi).title
        say(f"whether {title} obeys {format_count(len(said), 'rule')} of its own algorithms")
        if written.unproven:
            proof.obeyed = [Obeyed(rule, None, written.unproven) for rule in said]
        else:
            proof.obeyed = obeyed(said, bench.job, tuned)
        proof.struck |= {o.rule: o.words for o in proof.obeyed if o.is_obeyed is False}
        said = [rule for rule in said if rule not in proof.struck]
        say(f"fresh launches: {format_count(len(said), 'rule')}, {launches} times")
        cells = _cells(said)
        measured = bench.beside(list(cells), (bench.job.mpi, tuned), launches, cap_ns, "prove")
        for cell, rule in cells.items():
            ways = measured.times.get(cell, {})
            of_both = ways.get(bench.job.mpi, {}), ways.get(tuned, {})
            verdict = judge(rule.algorithm, *of_both, among=len(sizes_of(rule)))
            proof.verdicts.setdefault(rule, {})[cell.size_bytes] = verdict
    if ours:
        say(f"fresh launches: {format_count(len(ours), 'rule')} of schedules, {launches} times")
        cells = _cells(ours)
        ways_of = {cell: (NATIVE, rule.algorithm) for cell, rule in cells.items()}
        fresh = bench.measure(ways_of, launches, cap_ns, "prove-ours")
        for cell, rule in cells.items():
            ways = fresh.times.get(cell, {})
            of_both = ways.get(NATIVE, {}), ways.get(rule.algorithm, {})
            verdict = judge(rule.algorithm, *of_both, among=len(sizes_of(rule)))
            proof.verdicts.setdefault(rule, {})[cell.size_bytes] = verdict
    _keep(rules, proof)
    return proof


def _cells(rules: Sequence[Rule]) -> dict[Cell, Rule]:
    return {
        Cell(rule.operation, rule.ranks, rule.ranks_per_host or 1, size): rule
        for rule in rules
        for size in sizes_of(rule)
    }


def _keep(rules: Sequence[Rule], proof: Proof) -> None:
    """A rule stays where every interval is below 1. Of one with larger and smaller ends that are
    not, the sizes that are proven stay."""
    kept: list[Rule] = []
    for rule in rules:
        if rule in proof.struck:
            continue
        verdicts = proof.verdicts.get(rule, {})
        if slower := [size for size, v in verdicts.items() if v.is_slower]:
            proof.struck[rule] = f"slower at {', '.join(map(str, slower))} bytes"
            continue
        proven = sorted(size for size, v in verdicts.items() if v.is_faster)
        unproven = sorted(size for size, v in verdicts.items() if not v.is_faster)
        if not proven:
            proof.struck[rule] = "no gain is proven"
        elif not unproven:
            kept.append(rule)
        else:
            inner = [s for s in unproven if proven[0] < s < proven[-1]]
            if inner:
                proof.struck[rule] = f"no gain is proven at {inner[0]} bytes"
            else:
                kept.append(_cut(rule, proven, sorted(verdicts)))
    proof.kept = tuple(kept)


def _cut(rule: Rule, proven: Sequence[int], measured: Sequence[int]) -> Rule:
    """To sizes that are proven; an end that is proven stays as it is."""
    first = rule.from_bytes if proven[0] == measured[0] else proven[0]
    last = rule.to_bytes if proven[-1] == measured[-1] else proven[-1]
    return replace(rule, from_bytes=first, to_bytes=last)


def obeyed(rules: Sequence[Rule], job: Job, tuned: str) -> list[Obeyed]:
    """Whether the tuned library does as the rules say, by whom it sends how much: at a size of a
    rule as when it is told to take the algorithm, and else as untuned."""
    found: list[Obeyed] = []
    for ranks, ppn in sorted({(rule.ranks, rule.ranks_per_host or 1) for rule in rules}):
        own = [r for r in rules if (r.ranks, r.ranks_per_host or 1) == (ranks, ppn)]
        with (
            named_hosts(job.hosts) as hosts,
            PatternJob(job.mpi, ranks, hosts, ppn) as plain,
            PatternJob(tuned, ranks, hosts, ppn) as ruled,
        ):
            found += [_obeyed(rule, plain, ruled) for rule in own]
    return found


def _obeyed(rule: Rule, plain: PatternJob, ruled: PatternJob) -> Obeyed:
    operation = operations()[rule.operation]
    size = size_for(operation, rule.from_bytes if rule.to_bytes is None else rule.to_bytes)
    try:
        native = plain.pattern(operation, size)
        forced = plain.pattern(operation, size, rule.algorithm)
        now = ruled.pattern(operation, size)
        strayed = _strayed(rule, plain, ruled)
    except (HostError, UnsupportedError) as error:
        return Obeyed(rule, False, str(error))
    if not now.is_same(forced):
        what = "chooses as before" if now.is_same(native) else "does something else"
        return Obeyed(rule, False, f"the library reads the file, but {what} at {size} bytes")
    if strayed is not None:
        return Obeyed(rule, False, f"with the file the library does otherwise at {strayed} bytes")
    if native.is_same(forced):
        return Obeyed(
            rule,
            None,
            f"at {size} bytes nobody can see it: the library's own choice sends the same",
        )
    return Obeyed(rule, True, f"obeyed at {size} bytes, where untuned it sends otherwise")


def _strayed(rule: Rule, plain: PatternJob, ruled: PatternJob) -> int | None:
    """A size beyond the rule at which the library does not do as it does untuned."""
    if rule.to_bytes is None:
        return None
    operation = operations()[rule.operation]
    beyond = size_for(operation, BEYOND * max(rule.to_bytes, operation.multiple_bytes))
    is_as_before = ruled.pattern(operation, beyond).is_same(plain.pattern(operation, beyond))
    return None if is_as_before else beyond
