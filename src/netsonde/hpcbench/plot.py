"""What gnuplot needs to draw a result file; ``gnuplot FILE.plot`` makes an image."""

from __future__ import annotations

from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.result_file import describe
from netsonde.hpcbench.results import Columns


def plot_text(settings: Settings, columns: Columns, output: str) -> str:
    """output: the result file's name, beside which the script lies."""
    names = [name for name, _, _ in columns]
    across = 2 if settings.exponential else 1  # the size, or the number of the repetition
    curves = [
        f"beside using {across}:{names.index(column) + 1} with linespoints title {quoted(title)}"
        for column, title in _curves(settings)
    ]
    unit = "round trip, microseconds" if settings.mode == "round_trip" else "throughput, Mbit/s"
    size = "datagram" if settings.carrier.counts_datagrams else "message"
    axis = f"{size}, bytes" if settings.exponential else "repetition"
    lines = [
        "# For gnuplot. Leave out the next two lines to see it on the screen.",
        "set terminal svg size 800,500 background 'white'",
        *beside(output, ".plot"),
        "set output beside.'.svg'",
        f"set title {quoted(describe(settings))} noenhanced",
        f"set xlabel {quoted(axis)}",
        f"set ylabel {quoted(unit)}",
        "set grid",
        "set key below",
        "set yrange [0:*]",
        *(
            ["set logscale x 2"]
            if settings.exponential
            else [f"set xrange [0.5:{settings.repetitions}.5]"]
        ),
        "plot " + ", \\\n     ".join(curves),
    ]
    return "\n".join(lines) + "\n"


def _curves(settings: Settings) -> list[tuple[str, str]]:
    match settings.mode:
        case "round_trip":
            return [("Mean_us", "mean"), ("Median_us", "median"), ("Min_us", "least")]
        case "generator":
            return [("C_Mbps", "sent")]
        case "both_ways":
            return [
                ("S_Mbps", "to the server"),
                ("C_Mbps", "back to the client"),
                ("BothMbps", "together"),
            ]
        case "stream" | "ping_pong":
            return [("C_Mbps", "by the client"), ("S_Mbps", "by the server")]


def beside(name: str, suffix: str) -> list[str]:
    """Lines that set ``beside`` to where the file NAME is that a script NAME + suffix belongs to.

    gnuplot knows how the script itself was named (ARG0), so that both may be moved and renamed
    together. Where it does not know, as from its standard input, the name is as it was written.
    """
    return [
        f"beside = {quoted(name)}",
        f"if (exists('ARG0') && strlen(ARG0) > {len(suffix)}) "
        f"beside = ARG0[1:strlen(ARG0)-{len(suffix)}]",
    ]


def quoted(text: str) -> str:
    """In single quotes, where gnuplot takes every character but the quote as it is."""
    return "'" + text.replace("'", "''") + "'"
