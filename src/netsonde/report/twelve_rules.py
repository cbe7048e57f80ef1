"""Which of the twelve rules for performance reports a report meets, and where not, why.

Source: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015. The
rules are given in our words. What a program can see is judged by what the run holds; what only its
reader can judge is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from netsonde.report.lookup import Study

State = Literal["met", "in part", "not met", "does not apply"]
EXTREMES = ("_min_ns", "_max_ns", "_max", "_mean_ns")
"""Ends of the names of figures that have no interval by their nature, and of means beside them."""
STATES: tuple[State, ...] = ("met", "in part", "not met", "does not apply")
Answer = tuple[State, str]


@dataclass(frozen=True)
class Rule:
    """``why`` is a sentence or two: what in this report meets it, or what is missing."""

    number: int
    asks: str
    state: State
    why: str


def rules_of(study: Study) -> list[Rule]:
    """All twelve, in their order."""
    return [Rule(n, asks, *judge(study)) for n, (asks, judge) in enumerate(_RULES, 1)]


def in_a_line(rules: Sequence[Rule]) -> str:
    """``9 met; in part: 7; not met: 11; do not apply: 10``."""
    parts = [f"{sum(rule.state == 'met' for rule in rules)} met"]
    for state in STATES[1:]:
        numbers = [str(rule.number) for rule in rules if rule.state == state]
        if numbers:
            words = "do not apply" if state == "does not apply" else state
            parts.append(f"{words}: {', '.join(numbers)}")
    return "; ".join(parts)


def _base(study: Study) -> Answer:
    compared = [
        p for p in study.run.points if p.spec.launch is not None or p.spec.pass_number is not None
    ]
    ratios = [f for f in study.figures if f.unit == "ratio" and "_over_" in f.name]
    if not compared and not ratios:
        return "does not apply", "No speed-up is given."
    return "met", "Every ratio stands beside the values that it is of, with their units."


def _subset(study: Study) -> Answer:
    missing = [p for p in study.run.points if not p.measured]
    if not missing:
        return "met", "Every point of the study is here; plots that thin out say what they left."
    known = [p for p in missing if p.error]
    if len(known) == len(missing):
        return "met", f"{len(missing)} points have no result; each is listed with its reason."
    unknown = len(missing) - len(known)
    return "in part", f"{unknown} points were not measured: the run ended before. Resume it."


def _means(_: Study) -> Answer:
    return (
        "met",
        "Means are of times, arithmetic. Rates are payload over time, or medians over batches; no "
        "rates are averaged.",
    )


def _ratios(_: Study) -> Answer:
    return "met", "Shares are totals over totals, ratios are of medians; none are averaged."


def _intervals(study: Study) -> Answer:
    if study.run.origin == "simulated":
        return "met", "Simulated: the same seed gives the same values."
    own = [f for f in study.figures if not f.name.endswith(EXTREMES)]
    if not own:
        return "does not apply", "There are no figures."
    without = [f for f in own if f.low is None]
    if not without:
        return "met", "Every figure but extremes has a 95 % interval."
    names = sorted({f.name for f in without})
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        "in part",
        f"{len(own) - len(without)} of {len(own)} figures have a 95 % interval. Without one, for "
        f"too few values or because none can be given: {', '.join(names[:3])}{more}.",
    )


def _normality(study: Study) -> Answer:
    fits = sorted({f.method for f in study.figures if f.method in _BY_STUDENT})
    if fits:
        return (
            "in part",
            "Intervals of quantiles assume no distribution. Those of fitted lines are Student's, "
            "whose residuals were not tested for normality.",
        )
    return "met", "Intervals are order statistics or Wilson's: no normality is assumed."


_BY_STUDENT = frozenset(
    {"rank-growth#laws", "sweeps#start-up", "sweeps#asymptotic-bandwidth"}
    | {"sweeps#half-performance-size"}
)


def _comparison(study: Study) -> Answer:
    launches = {p.spec.launch for p in study.run.points if p.spec.launch is not None}
    if len(launches) > 1:
        return "met", f"Compared over {len(launches)} launches, by intervals over launches."
    return (
        "does not apply",
        "Nothing is compared here, and one launch allows it for itself only: repeat with "
        "--launches 8, and let netsonde compare judge two runs.",
    )


def _percentiles(study: Study) -> Answer:
    if any(f.name.endswith("_p99_ns") for f in study.figures):
        return "met", "Median, p90, p99, p99.9 and extremes are beside the mean, with the shape."
    if study.run.origin == "imported":
        return "not met", "Another tool measured and kept means only."
    return "in part", "Medians of a few values; there is no distribution to show."


def _factors(study: Study) -> Answer:
    if study.run.origin in ("imported", "simulated"):
        state: State = "met" if study.run.origin == "simulated" else "not met"
        why = (
            "The scenario holds every factor." if state == "met" else "The file says little of it."
        )
        return state, why
    hosts = study.run.manifest.get("hosts") or {}
    if not hosts:
        return "not met", "The run holds no facts of its hosts."
    least = min(len(facts) for facts in hosts.values())
    return (
        "met",
        f"Command, versions, path, options obtained and {least} or more facts of each host are "
        "under Circumstances. What lies between the hosts, such as other traffic, only you know.",
    )


def _parallel(study: Study) -> Answer:
    tests = [p.kind for p in study.run.select() if not p.kind.is_program]
    if any(t.has_common_clock or t.has_threads or t.is_round or t.is_pattern for t in tests):
        return (
            "met",
            "How a repetition starts, how clocks are compared and how ranks are summarised is with "
            "each plot; times of ranks are not averaged away: the slowest counts.",
        )
    return "met", "Two ends, synchronised before each batch; round trips are timed by one clock."


def _bounds(study: Study) -> Answer:
    if study.rate_bit_per_s:
        return "met", "What the link allows after headers is drawn and said."
    return "not met", "The link's rate is not known, so no upper bound is shown."


def _plots(study: Study) -> Answer:
    if not study.run.select():
        return "does not apply", "Nothing was measured."
    return (
        "met",
        "Distributions, tails and the course of time are drawn, with intervals. Lines between "
        "sizes only guide the eye; the points are what was measured.",
    )


_RULES: tuple[tuple[str, Callable[[Study], Answer]], ...] = (
    ("Speed-ups come with the absolute base.", _base),
    ("What was left out is said, with the reason.", _subset),
    ("Arithmetic means of costs, harmonic ones of rates.", _means),
    ("No means of ratios.", _ratios),
    ("Deterministic, or with confidence intervals.", _intervals),
    ("No normality is assumed without a test.", _normality),
    ("Comparisons by sound statistics.", _comparison),
    ("Percentiles where mean or median is not the answer.", _percentiles),
    ("All factors and their levels are documented.", _factors),
    ("Parallel times: how measured, synchronised, summarised.", _parallel),
    ("Upper bounds or models stand beside the results.", _bounds),
    ("Plots show as much as they can, and no lines where none belong.", _plots),
)
