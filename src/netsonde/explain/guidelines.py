"""Performance guidelines of MPI that the library does not keep."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen
from netsonde.figures.data import Figure
from netsonde.figures.guidelines import Compared, compare_guidelines, points_of
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


def violated_guidelines(seen: Seen) -> list[Finding]:
    """Each violated guideline once, at the size where most is lost; else that all hold."""
    compared = compare_guidelines(seen.run, seen.figures)
    if not any(c.kind == "composition" for c in compared) and len(compared) < MOST_FINDINGS:
        return []
    violated = sorted((c for c in compared if c.is_violated), key=lambda c: -c.gain)
    worst: dict[tuple[str, str], list[Compared]] = {}
    for c in violated:
        worst.setdefault((c.kind, c.left.operation or ""), []).append(c)
    if not worst:
        return [
            Finding(
                "good",
                f"MPI keeps all {len(compared)} performance guidelines that could be judged.",
                "No operation takes longer than others that do the same, than itself with a "
                "larger message, or than itself in parts, where intervals decide.",
                "",
                (),
            )
        ]
    findings = [_finding(seen, same) for same in list(worst.values())[:MOST_FINDINGS]]
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
    return findings


def _finding(seen: Seen, same: list[Compared]) -> Finding:
    c = same[0]
    others = " and ".join(_sized(figure) for figure in c.right)
    others = f"{c.times} times {others}" if c.times > 1 else others
    sizes = sorted({format_size(other.left.message_bytes) for other in same})
    more = f" It is violated at {len(sizes)} sizes: {', '.join(sizes)}." if len(sizes) > 1 else ""
    return Finding(
        "warning" if c.gain >= LARGE else "note",
        f"MPI {_sized(c.left)} takes {c.left.value / c.right_ns:.2f} times {others} "
        f"({c.kind}): {c.gain:.0%} of its time could be saved.",
        f"Guideline {c.words}. {format_time(c.left.value)} against {format_time(c.right_ns)}; by "
        f"the nearest ends of the 95 % intervals still {c.certain_gain:.0%}.{more}",
        ADVICE[c.kind],
        tuple(point.id for point in points_of(seen.run, c)),
    )


def _sized(figure: Figure) -> str:
    size = f" of {format_size(figure.message_bytes)}" if figure.message_bytes else ""
    return f"{figure.operation}{size}"
