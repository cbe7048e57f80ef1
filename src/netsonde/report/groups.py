"""Groups of figures of UDP streams that a person may ask the terminal for, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from netsonde.catalogue.known_figures import label_of
from netsonde.errors import UsageError
from netsonde.figures import Figure
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.quantity import format_value_and_interval, no_interval

GROUPS: dict[str, tuple[str, ...]] = {
    "rate": ("throughput_bit_per_s", "throughput_origin_bit_per_s", "sent_datagrams_per_s"),
    "loss": ("lost_ratio", "loss_run_max", "lost_sender_", "lost_network_", "lost_receiver_"),
    "reorder": ("reordered_ratio", "reordering_extent_max", "duplicate_ratio"),
    "jitter": ("jitter_ns", "delay_variation_"),
    "gaps": ("send_gap_", "arrival_gap_"),
    "one-way": ("one_way_delay_",),
}
"""Each group's figures by name; a name that ends in _ stands for all that begin with it."""
NAME_WIDTH = 28


def parse_groups(text: str) -> tuple[str, ...]:
    """``loss,jitter`` as names of groups, in that order. Raises UsageError for others."""
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if name not in GROUPS:
            raise UsageError(
                f"--report {name!r} is no group of figures; choose from {', '.join(GROUPS)}"
            )
    return tuple(dict.fromkeys(names))


def print_groups(study: Study, groups: Sequence[str], console: Console) -> None:
    """The figures of the groups, point by point; a sentence for a group that a run has not."""
    points = study.run.select()
    for point in points:
        console.print(Text(point_label(point), style="bold"))
        for figure in (f for group in groups for f in figures_of_group(study, point, group)):
            value, interval = format_value_and_interval(figure)
            line = f"  {label_of(figure.name):<{NAME_WIDTH}} {value}"
            console.print(Text(line), Text(f"[{interval or no_interval(figure)}]", style="dim"))
    for group in groups:
        if not any(figures_of_group(study, point, group) for point in points):
            console.print(f"This run has no figures of the group {group}.")


def figures_of_group(study: Study, point: Point, group: str) -> list[Figure]:
    """The figures of a point that belong to a group, in the group's order."""
    figures = study.of_point(point)
    return [
        figure
        for wanted in GROUPS[group]
        for figure in figures
        if figure.name == wanted or (wanted.endswith("_") and figure.name.startswith(wanted))
    ]
