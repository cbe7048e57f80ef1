"""The tables of a week and a day of two clusters that were printed in 2004 come out of logs again.

Tables B-1, B-2 and B-3 of B. Huang, *Network Performance Studies in High Performance Computing
Environments*, 2004. Each row is made of three samples: one of the least rates and load, one of the
largest, and the rest of the time at what is left of the mean.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from netsonde.hpcbench.monitor_log import Sample, log_heading, log_lines
from netsonde.hpcbench.summary import Traffic, merged, read_traffic, summary_text, unread
from netsonde.hpcbench.system import InterfaceCounts, ProcessorShares, SystemRow

BEGUN = datetime(2004, 8, 4, tzinfo=UTC)
DAY_S = 86400


class Table(NamedTuple):
    period_s: int
    sample_s: int
    most_kbit: float
    """What the largest rates are printed in."""
    rows: str


# Node; load: mean, least, largest; received, then sent: total, mean, least and largest rate. Means
# and least rates are in kbit/s. The totals are headed GB there, and are MiB.
TABLES = {
    "B-1": Table(
        7 * DAY_S,
        600,
        1000,
        """
        hh1-0 1.52 0.70 25.6 695 9.64 0.75 0.71 9095 126.15 0.01 1.09
        hh1-1 1.52 0.70 25.6 42648 591.54 45.84 59.14 35443 491 52.08 58.92
        hh2 N/A
        hh3 65.6 0.10 100 402758 5586.28 5.57 89.65 89266 1238.13 4.17 31.83
        hh4 58.3 0.10 100 149064 2067.54 4.52 90.20 17242 239.15 3.59 9.73
        hh5 84.7 0 100 2965 41.13 2.83 5.82 15638 216.90 2.16 9.70
        hh6 59.5 0.1 98.3 2583 35.20 3.38 18.13 8954 124.20 2.47 19.49
        hh7 84.6 25.0 100 855 11.87 2.87 1.03 2892 40.12 2.12 1.72
        hh8 55.5 0 100 960 13.32 1.43 1.03 7852 108.92 0.77 2.02
        hh9 75.4 0 100 5535 76.77 1.63 2.86 5906 81.93 1.34 2.38
        hh10 59.2 0.1 100 16705 231.71 4.08 4.29 12313 170.79 2.97 11.60
        hh11 N/A
        hh12 85.0 0 100 20008 277.52 3.94 6.46 16080 223.04 3.21 1.46
        hh13 72.0 0 98.0 2103 29.18 1.67 4.25 2714 37.65 1.37 10.98
        hh14 80.7 0 100 1493 20.71 1.67 9.09 2334 32.38 1.38 0.88
        hh15 77.2 0 100 165542 2296.09 1.68 88.21 27903 387.02 1.42 6.59
        hh16 65.4 0 99.7 63009 873.94 1.34 86.31 15474 214.64 0.72 5.31
        hh17 63.6 0 100 5789 80.30 3.55 15.15 11412 158.29 2.55 32.40
        hh18 66.5 0 100 96324 1336.03 2.83 87.82 11036 153.08 2.10 5.82
        hh19 71.8 0 100 177108 2456.50 1.36 92.61 26394 366.10 0.77 5.86
        hh20 76.4 0 100 163673 2270.16 1.42 85.54 11203 155.39 0.75 6.21
        hh21 81.7 0 100 4760 66.03 2.04 1.12 2647 36.72 1.86 1.37
        hh22 61.8 0 99.9 1190 16.51 2.76 0.74 21479 297.92 1.85 1.31
        hh23 37.8 0 99.8 158357 2196.42 3.11 87.14 14334 198.82 2.45 6.40
        hh24 32.3 0 99.9 648506 8994.82 2.87 122.03 609426 8452.78 2.12 42.63
        hh25 83.5 0 100 474 6.59 1.63 0.55 513 7.12 1.36 0.21
        hh26 80.2 0 100 342 4.75 1.64 0.60 304 4.23 1.36 0.42
        hh27 N/A
        hh28 0 0 1.7 238 3.30 1.22 0.70 148 2.06 0.61 0.03
        """,
    ),
    "B-2": Table(
        7 * DAY_S,
        300,
        1000,
        """
        dp1-0 1.4 0.8 20.7 474 6.58 1.40 0.09 384 4.83 0 1.51
        dp1-1 1.4 0.8 20.7 3182 44.15 23.37 2.46 3008 41.73 23.40 2.50
        dp2 99.8 46.8 100 418 5.80 3.54 1.52 443 6.15 2.62 0.68
        dp3 99.8 0 100 360 5.00 2.18 1.52 2804 38.90 1.79 39.78
        dp4 99.7 0 100 3246 45.03 2.09 2.48 142924 1982.38 1.70 119.17
        dp5 99.8 0 100 830 11.52 3.52 1.51 10902 151.22 2.62 3.70
        dp6 99.9 0 100 516 7.16 5.94 0.73 739 10.25 5.36 4.03
        dp7 99.9 64.8 100 304 4.22 2.12 1.25 2135 29.62 1.76 6.89
        dp8 99.9 65.6 100 755 10.48 3.57 1.52 8536 118.39 2.64 10.75
        dp9 99.9 0 100 291 4.04 2.10 0.77 3101 43.01 1.69 4.43
        dp10 99.9 63.0 100 593 8.23 2.11 1.52 7975 110.62 1.75 5.20
        dp11 100 83.2 100 402 5.58 2.80 1.51 2775 38.49 2.13 6.24
        dp12 99.9 63.3 100 594 8.25 2.10 1.50 9904 137.38 1.69 2.59
        """,
    ),
    "B-3": Table(
        DAY_S,
        300,
        1,
        """
        dp1-0 1.45 1.40 6.20 61 6.03 5.31 14.07 20 2.03 1.41 43.36
        dp1-1 1.45 1.40 6.20 377 36.79 24.64 1940.79 320 31.21 24.89 145.56
        dp2 100 100 100 41 4.02 3.91 5.69 31 3.03 2.92 5.02
        dp3 100 100 100 23 2.28 2.18 3.94 20 1.94 1.84 3.93
        dp4 99.6 0 100 24 2.42 2.18 14.01 34 3.37 1.83 7.99
        dp5 100 99.1 100 42 4.09 3.91 13.49 31 3.09 2.90 11.25
        dp6 100 100 100 64 6.28 5.95 8.22 62 6.11 5.38 10.29
        dp7 100 100 100 23 2.30 2.12 8.36 20 1.95 1.77 3.95
        dp8 100 100 100 41 4.03 3.79 5.92 31 3.04 2.84 5.26
        dp9 100 100 100 23 2.32 2.19 3.95 27 2.65 1.84 5.43
        dp10 100 99.7 100 23 2.31 2.18 10.75 20 1.97 1.82 8.47
        dp11 100 100 100 32 3.16 2.82 4.80 25 2.51 2.14 4.47
        dp12 100 100 100 23 2.30 2.18 8.49 20 1.97 1.76 4.14
        """,
    ),
}
MISPRINTED = {("B-1", "hh6", "received"), ("B-2", "dp1-0", "sent")}
"""Total and mean of these disagree in print, by 2 and by 10 per cent."""


def between(values, table):
    """What the rest of the time has, so that the mean comes out."""
    mean, least, most = values
    rest_s = table.period_s - 2 * table.sample_s
    return (mean * table.period_s - (least + most) * table.sample_s) / rest_s


def sample(number, window_s, values, interface):
    load, received_kbit, sent_kbit = values
    shares = ProcessorShares(load, load, 0.0, 100 - load, 0.0, 0.0, 0.0)
    received, sent = (round(rate * 125 * window_s) for rate in (received_kbit, sent_kbit))
    counts = InterfaceCounts(0, received, 0, sent, {})
    row = SystemRow(window_s, {"all": shares}, 50.0, None, 0, 0, 0, 0, 0, 0, {interface: counts})
    return Sample(number, BEGUN + timedelta(hours=number), row)


def traffic_of(name, words, table):
    host, _, interface = name.partition("-")
    values = [float(word) for word in words]
    load, received, sent = values[:3], values[4:7], values[8:11]
    for rates in (received, sent):
        rates[2] *= table.most_kbit
    series = [load, received, sent]
    rest_s = table.period_s - 2 * table.sample_s
    rest = [between(one, table) for one in series]
    rest[0] = min(max(rest[0], 0.0), 100.0)  # means of loads are rounded
    samples = [
        sample(1, table.sample_s, [one[1] for one in series], interface or "eth0"),
        sample(2, rest_s, rest, interface or "eth0"),
        sample(3, table.sample_s, [one[2] for one in series], interface or "eth0"),
    ]
    text = log_heading(host, BEGUN, table.sample_s, [interface or "eth0"])
    text += "".join(log_lines(one, [interface or "eth0"]) for one in samples)
    return read_traffic(name, text.splitlines(keepends=True))


def slack_mib(mean, table):
    """The mean is rounded in print, the total was cut to whole MiB, and a log may lack a sample."""
    half_of_last_digit = 0.5 * 10 ** -len(mean.partition(".")[2])
    rounded = half_of_last_digit * table.period_s + float(mean) * table.sample_s
    return rounded * 125 / (1 << 20) + 1


@pytest.mark.parametrize("title", TABLES)
def test_the_printed_table_comes_out(title):
    table = TABLES[title]
    printed = [line.split() for line in table.rows.strip().splitlines()]
    traffic: list[Traffic] = []
    for name, *words in printed:
        found = [unread(f"{name}.log")] if words == ["N/A"] else traffic_of(name, words, table)
        traffic += found
    lines = [line.split() for line in summary_text(merged(traffic)).splitlines()]
    rows = [cells for cells in lines if not cells[0].startswith("#")]
    assert [cells[0].removesuffix("-eth0") for cells in rows] == [name for name, *_ in printed]
    for cells, (name, *words) in zip(rows, printed, strict=True):
        if words == ["N/A"]:
            assert cells[1:] == ["N/A"] * 11
            continue
        for cell, word in zip(cells[1:4], words[:3], strict=True):
            assert float(cell) == pytest.approx(float(word), abs=0.06), name
        for at, way in ((4, "received"), (8, "sent")):
            total, mean, least, most = words[at - 1 : at + 3]
            assert float(cells[at + 1]) == pytest.approx(float(mean), abs=0.006)
            assert float(cells[at + 2]) == pytest.approx(float(least), abs=0.006)
            assert float(cells[at + 3]) == pytest.approx(float(most) * table.most_kbit, abs=0.006)
            off = abs(int(cells[at]) - int(total))
            assert (off > slack_mib(mean, table)) == ((title, name, way) in MISPRINTED), (
                name,
                way,
                cells[at],
                total,
            )


@pytest.mark.parametrize("title", TABLES)
def test_a_total_is_mean_rate_times_period(title):
    """total = mean rate x period / 8, of the printed numbers alone."""
    table = TABLES[title]
    for name, *words in (line.split() for line in table.rows.strip().splitlines()):
        for at, way in ((3, "received"), (7, "sent")):
            if words == ["N/A"]:
                continue
            total, mean = words[at], words[at + 1]
            mib = float(mean) * 1000 * table.period_s / 8 / (1 << 20)
            off = abs(mib - int(total))
            assert (off > slack_mib(mean, table)) == ((title, name, way) in MISPRINTED), name
