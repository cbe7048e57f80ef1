"""What gnuplot needs to draw the load and the traffic of a host over the time of sysmon's log.

Beside LOG stand LOG.data, a table for each interface, and LOG.plot; ``gnuplot LOG.plot`` makes
LOG.svg, wherever the three lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from netsonde.errors import HostError
from netsonde.hpcbench.files import cannot_write, check_place, move_earlier
from netsonde.hpcbench.monitor_log import TIME_FORMAT
from netsonde.hpcbench.plot import beside, quoted
from netsonde.hpcbench.summary import Traffic
from netsonde.hpcbench.table import Cell, table

DATA, PLOT = ".data", ".plot"
HEADING = ("#Time", "Load%", "RecvKbps", "SentKbps")


def write_plots(log: str, traffic: Sequence[Traffic], zone: tzinfo | None = UTC) -> str | None:
    """Writes LOG.data and LOG.plot, times in that zone; earlier ones are moved out of the way.

    Returns the name of the latter, None where the log has no samples. Raises UsageError where they
    cannot be written there, HostError where writing fails.
    """
    sampled = [one for one in traffic if one.samples]
    if not sampled:
        return None
    check_place(log, (DATA, PLOT), "--plot")
    move_earlier(log, (DATA, PLOT))
    for name, text in (
        (log + DATA, data_text(sampled, zone)),
        (log + PLOT, plot_text(sampled, log, zone)),
    ):
        try:
            with Path(name).open("x") as file:
                file.write(text)
        except OSError as error:
            raise HostError(cannot_write(name, error)) from error
    return log + PLOT


def data_text(traffic: Sequence[Traffic], zone: tzinfo | None = UTC) -> str:
    """Tables, two empty lines apart so that gnuplot finds each with ``index``."""
    return "\n\n".join(f"# {one.host} {one.interface}\n{_table(one, zone)}" for one in traffic)


def plot_text(traffic: Sequence[Traffic], log: str, zone: tzinfo | None = UTC) -> str:
    """log: the log's name, beside which the data lie."""
    data = f"beside.{quoted(DATA)}"
    times = _format_in(zone)
    title = f"{traffic[0].host}, {zone_name(zone, traffic[0].samples[0].ended)}"
    longest = max(range(len(traffic)), key=lambda index: len(traffic[index].samples))
    load = f"{data} index {longest} using 1:2 with lines title 'processors'"
    curves = [
        f"{data} index {index} using 1:{column} with lines "
        f"title {quoted(f'{one.interface} {way}')} noenhanced"
        for index, one in enumerate(traffic)
        for column, way in ((3, "received"), (4, "sent"))
    ]
    lines = [
        "# For gnuplot. Leave out the next two lines to see it on the screen.",
        "set terminal svg size 900,700 background 'white'",
        *beside(log, PLOT),
        "set output beside.'.svg'",
        "set xdata time",
        f"set timefmt {quoted(times)}",
        'set format x "%d %b\\n%H:%M"',
        "set grid",
        "set key below",
        "set yrange [0:*]",
        f"set multiplot title {quoted(title)} noenhanced layout 2,1",
        "set ylabel 'load, per cent'",
        f"plot {load}",
        "set ylabel 'traffic, kbit/s'",
        "plot " + ", \\\n     ".join(curves),
        "unset multiplot",
    ]
    return "\n".join(lines) + "\n"


def zone_name(zone: tzinfo | None, at: datetime) -> str:
    """What the zone is called at a time: ``UTC``, ``CEST``."""
    return at.astimezone(zone).strftime("%Z")


def _format_in(zone: tzinfo | None) -> str:
    return TIME_FORMAT if zone is UTC else TIME_FORMAT.removesuffix("Z")


def _table(one: Traffic, zone: tzinfo | None) -> str:
    rows: list[list[Cell]] = [
        [
            sample.ended.astimezone(zone).strftime(_format_in(zone)),
            f"{sample.load_percent:.1f}",
            *(f"{sample.kbit_per_s(way):.3f}" for way in ("received", "sent")),
        ]
        for sample in one.samples
    ]
    return table(HEADING, rows)
