"""What gnuplot needs to draw a routine's files; ``gnuplot NAME.gnu`` makes NAME.svg."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.hpcbench.plot import quoted
from netsonde.mpibench.measured import column_of

BESIDE = 0.6
"""How much of a process's place its sizes take, beside each other."""
MOST_CURVES = 12
"""Sizes in one panel; more cannot be told apart."""


def plot_text(name: str, operation: str, sizes: Sequence[int], log_time: bool) -> str:
    """name: that of the files without their suffix, as gnuplot is to open them. Panels: times and
    bandwidth against size, the histograms of the sizes over each other (of twelve, evenly chosen),
    that of the largest one with its least, mean and standard deviation, and the processes."""
    shown = _chosen(len(sizes))
    several = len(set(sizes)) > 1
    panels = [
        *(_growth(name, min(sizes) > 0) if several else []),
        *(_bandwidth(name, min(sizes) > 0) if several else []),
        *_panel(
            "distribution",
            "time, microseconds",
            "share of the values",
            [
                f"{quoted(name + '.histograms')} index {i} using 3:5 with histeps "
                f"title {quoted(f'{sizes[i]} bytes')}"
                for i in shown
            ],
            log_x=log_time,
        ),
        *_marked(name, sizes, log_time),
        "set offsets 0.5, 0.5, 0, 0",  # half a process on either side
        *_panel(
            "processes: least, mean and largest time",
            "process",
            "time, microseconds",
            [
                f"{quoted(name + '.processes')} index {i} using "
                f"($1 + {BESIDE * (place / len(shown) - 0.5):.3f}):4:3:5 with yerrorbars "
                f"title {quoted(f'{sizes[i]} bytes')}"
                for place, i in enumerate(shown)
            ],
            log_y=True,
        ),
    ]
    rows = 5 if several else 3
    lines = [
        "# For gnuplot. Leave out the next two lines to see it on the screen.",
        f"set terminal svg size 800,{400 * rows} background 'white'",
        f"set output {quoted(name + '.svg')}",
        # How high the lines of the last distribution go; not to be asked for within a multiplot.
        f"stats {quoted(name + '.histograms')} index {len(sizes) - 1} using 5 name 'H' nooutput",
        f"set multiplot layout {rows},1 title {quoted(operation)} noenhanced",
        "set grid",
        "set key outside right",
        *panels,
        "unset multiplot",
    ]
    return "\n".join(lines) + "\n"


def _chosen(count: int) -> list[int]:
    if count <= MOST_CURVES:
        return list(range(count))
    return sorted({round(i * (count - 1) / (MOST_CURVES - 1)) for i in range(MOST_CURVES)})


def _growth(name: str, log_x: bool) -> list[str]:
    curves = [
        f"{quoted(name + '.summary')} using 1:{column_of(name_of)} with linespoints "
        f"title {quoted(name_of.lower())}"
        for name_of in ("Mean", "Min", "Median", "P95", "P99")
    ]
    return _panel(
        "against size", "size, bytes", "time, microseconds", curves, log_y=True, log_x=log_x
    )


def _bandwidth(name: str, log_x: bool) -> list[str]:
    curve = (
        f"{quoted(name + '.summary')} using 1:{column_of('MB/s')} with linespoints "
        f"title {quoted('size / mean')}"
    )
    return _panel("bandwidth", "size, bytes", "MB/s", [curve], log_x=log_x)


def _marked(name: str, sizes: Sequence[int], log_x: bool) -> list[str]:
    """The histogram of the largest size; lines stand at what the summary's row of it says."""
    last = len(sizes) - 1
    row = f"{quoted(name + '.summary')} every ::{last}::{last} using"
    least, mean, deviation = (column_of(each) for each in ("Min", "Mean", "StdDev"))
    marks = (
        *(("least", f"{least}"), ("mean", f"{mean}")),
        *((f"mean {sign} σ", f"(${mean}{sign}${deviation})") for sign in "-+"),
    )
    return _panel(
        f"distribution of {sizes[last]} bytes",
        "time, microseconds",
        "share of the values",
        [
            f"{quoted(name + '.histograms')} index {last} using 3:5 with histeps notitle",
            *(
                f"{row} {column}:(0):(0):(H_max) with vectors nohead title {quoted(title)}"
                for title, column in marks
            ),
        ],
        log_x=log_x,
    )


def _panel(
    title: str,
    x: str,
    y: str,
    curves: Sequence[str],
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> list[str]:
    return [
        "unset logscale",
        *(["set logscale x 2"] if log_x else []),
        *(["set logscale y"] if log_y else []),
        f"set title {quoted(title)}",
        f"set xlabel {quoted(x)}",
        f"set ylabel {quoted(y)}",
        "plot " + ", \\\n     ".join(curves),
    ]
