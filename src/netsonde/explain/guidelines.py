"""Performance guidelines of MPI that the library does not keep."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.explain.data import Confidence, Finding, Seen
from netsonde.explain.evidence import STEAL_NOTABLE, steal_share
from netsonde.explain.setting_rules import OTHERS_IDLE, others_use
from netsonde.figures.alike import LAUNCH, OPERATION, PASS, SIZE, condition, told_apart
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import Compared, compare_guidelines, points_of, sides_of
from netsonde.figures.rank_growth import is_crowded
from netsonde.units import format_size, format_time

MOST_FINDINGS = 4
LARGE = 0.3
"""A gain from which on a violation is a warning."""
ADVICE = {
    "composition": "Replace the operation by the others at these sizes, or choose another "
    "algorithm of the library for it.",
    "monotony": "Pad the message to the larger size, or move the size at which the library "
    "changes its algorithm or protocol.",
    "split-robustness": "Send it in parts, or move the size at which the library changes its "
    "algorithm or protocol.",
}


def violated_guidelines(seen: Seen) -> Iterator[Finding]:
    """Each violated guideline once, at the size where most is lost; else that all hold."""
    compared = compare_guidelines(seen.run, seen.figures)
    if not any(c.kind == "composition" for c in compared) and len(compared) < MOST_FINDINGS:
        return
    violated = sorted((c for c in compared if c.is_violated), key=lambda c: -c.gain)
    worst: dict[tuple[str, str, str], list[Compared]] = {}
    left = {c.left.point: points_of(seen.run, c)[0] for c in violated}
    for c in violated:
        under = condition(left[c.left.point], OPERATION, SIZE, LAUNCH, PASS)
        worst.setdefault((c.kind, c.left.operation or "", under), []).append(c)
    names = told_apart(left.values(), OPERATION, SIZE, LAUNCH, PASS)
    if not worst:
        cleared = sum(c.was_violated for c in compared)
        again = f" {cleared} seemed to be broken, and held when measured again." if cleared else ""
        yield Finding(
            "good",
            f"MPI keeps all {len(compared)} performance guidelines that could be judged.",
            "No operation takes longer than others that do the same, than itself with a "
            f"larger message, or than itself in parts, where intervals decide.{again}",
            "",
            (),
        )
        return
    findings = [
        _finding(seen, same, names[same[0].left.point])
        for same in list(worst.values())[:MOST_FINDINGS]
    ]
    rest = [same[0] for same in list(worst.values())[MOST_FINDINGS:]]
    if rest:
        findings.append(
            Finding(
                "note",
                f"{len(rest)} more operations do not keep a performance guideline.",
                "; ".join(f"{c.words}: {c.gain:.0%}" for c in rest) + ".",
                points=tuple(dict.fromkeys(c.left.point for c in rest)),
            )
        )
    yield from findings


def _finding(seen: Seen, same: list[Compared], under: str) -> Finding:
    c = same[0]
    others = " and ".join(_sized(figure) for figure in c.right)
    others = f"{c.times} times {others}" if c.times > 1 else others
    sizes = sorted({format_size(other.left.message_bytes) for other in same})
    more = f" It is violated at {len(sizes)} sizes: {', '.join(sizes)}." if len(sizes) > 1 else ""
    taken = _who_took_the_machine(seen)
    points = points_of(seen.run, c)
    launches = len({point.spec.launch for point in points})
    again = (
        f" So it was each of {c.rounds} times that it was measured"
        + (f", in {launches} launches." if launches > 1 else ", in one launch.")
        if c.rounds > 1
        else " It was measured once: --launches 3 tells a disturbance from the library."
    )
    sure: Confidence = "certain" if launches > 1 else "likely" if c.rounds > 1 else "possible"
    return Finding(
        "warning" if c.gain >= LARGE and not taken and c.rounds > 1 else "note",
        f"MPI {_sized(c.left)}{under and f' ({under})'} takes "
        f"{c.left.value / c.right_ns:.2f} times {others} ({c.kind}): {c.gain:.0%} of its time "
        "could be saved.",
        f"Guideline {c.words}. {format_time(c.left.value)} against {format_time(c.right_ns)}; by "
        f"the nearest ends of the 95 % intervals still {c.certain_gain:.0%}.{again}{more}{taken}",
        f"Measure it again with CPUs for all ranks and nothing beside. {ADVICE[c.kind]}"
        if taken
        else ADVICE[c.kind],
        tuple(point.id for point in points),
        sides=tuple(tuple(f.point for f in side) for side in sides_of(c)),
        factor=(OPERATION | SIZE).name,
        confidence="possible" if taken else sure,
    )


def _who_took_the_machine(seen: Seen) -> str:
    """Others, or the ranks from each other, in a sentence; empty where nobody did: then a violated
    guideline is the library's, else it may be theirs."""
    used = others_use(seen.run)
    busiest = max((use.least for use in used.values()), default=0.0)
    points = [p for p in seen.run.of_operations if p.batches]
    stolen = max((steal_share(p) for p in points), default=0.0)
    words = []
    if busiest > OTHERS_IDLE:
        words.append(f"others used {busiest:.2f} CPUs or more")
    if stolen >= STEAL_NOTABLE:
        words.append(f"other virtual machines took {stolen:.1%}")
    if any(is_crowded(seen.run, p) for p in points):
        words.append("there were more ranks than CPUs")
    return f" The machine was not the test's alone: {'; '.join(words)}." if words else ""


def _sized(figure: Figure) -> str:
    size = f" of {format_size(figure.message_bytes)}" if figure.message_bytes else ""
    return f"{figure.operation}{size}"
