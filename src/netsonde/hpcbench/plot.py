"""What gnuplot needs to draw a result file; ``gnuplot FILE.plot`` makes an image."""

from __future__ import annotations

from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.result_file import describe
from netsonde.hpcbench.results import Columns


def plot_text(settings: Settings, columns: Columns, output: str) -> str:
    """output: the result file's name as gnuplot is to open it."""
    names = [name for name, _, _ in columns]
    across = 2 if settings.exponential else 1  # the size, or the number of the repetition
    curves = [
        f"{quoted(output)} using {across}:{names.index(column) + 1} "
        f"with linespoints title {quoted(title)}"
        for column, title in _curves(settings)
    ]
    unit = "round trip, microseconds" if settings.mode == "round_trip" else "throughput, Mbit/s"
    size = "datagram" if settings.transport == "udp" else "message"
    axis = f"{size}, bytes" if settings.exponential else "repetition"
    lines = [
        "# For gnuplot. Leave out the next two lines to see it on the screen.",
        "set terminal svg size 800,500 background 'white'",
        f"set output {quoted(output + '.svg')}",
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


def quoted(text: str) -> str:
    """In single quotes, where gnuplot takes every character but the quote as it is."""
    return "'" + text.replace("'", "''") + "'"
