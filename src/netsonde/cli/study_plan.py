"""What a study would measure, as lines."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from netsonde.cli.progress import label
from netsonde.study.all_pairs import plan_all_pairs
from netsonde.study.budget import budget_in_words, in_words, left_out
from netsonde.study.estimate import estimate, estimate_of, path_rate_bit_per_s
from netsonde.study.plan import PlannedPoint, in_order
from netsonde.study.spec import StudySpec
from netsonde.units import format_bytes, format_count, format_duration, format_rate


def print_plan(spec: StudySpec, points: Sequence[PlannedPoint]) -> None:
    """A line for each point and the sums; what does not fit the budget is said."""
    for point in points:
        if point.kind.is_round:
            continue
        one = estimate_of(spec, point)
        what = ", ".join(filter(None, (label(point), point.spec.label)))
        traffic = format_bytes(one.traffic_bytes) if one.is_bounded else "any traffic"
        typer.echo(f"{point.id}  {what:<42}  {format_duration(one.time_ns):>9}  {traffic:>9}")
    all_pairs = plan_all_pairs(spec)
    if all_pairs is not None:
        typer.echo("\n".join(all_pairs.lines))
    total = estimate(spec, points)
    rate = format_rate(path_rate_bit_per_s(spec))
    sooner = ";\npoints that are known well enough sooner end sooner" if spec.measure else ""
    planned = format_count(len(points), "point")
    typer.echo(f"{planned}, at most {in_words(total)} over a path of {rate}{sooner}")
    if not total.is_bounded:
        typer.echo("what the programs send is not known and not among it")
    further = sum(block.refine * len(block.transports) for block in spec.measure)
    if further:
        typer.echo(f"and up to {further} more points where sweeps break")
    for requirement in spec.requirements:
        typer.echo(f"requires {requirement.in_words()}")
    out = left_out(spec, in_order(points, spec.seed or 0))
    if out:
        typer.echo(
            f"{format_count(len(out), 'point')} would be left out to keep within "
            f"{budget_in_words(spec.budget)}"
        )
