"""A trace as Parquet and CSV, and the figures of a summary, from counters that are known."""

import json

import numpy as np
import polars as pl
import pytest
from trace_made import BEGIN_UNIX_NS, made_trace
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.trace import convert as converting
from netsonde.trace.convert import convert, load_table
from netsonde.trace.page_tables import summary_sections
from netsonde.trace.series import load_trace
from netsonde.trace.summary import by_day, by_hour, summarise
from netsonde.trace.summary_text import summary_document, summary_lines
from netsonde.trace.windows import load_windows

DAY_S = 86400


def sample(second, rate_bytes=1000, busy=0.25):
    """Two CPUs, of which the first has all the load; a packet of 100 bytes, an interrupt for
    each five packets."""
    packets = second * rate_bytes // 100
    jiffies = 100 * second
    return {
        "cpu.all.user": round(2 * jiffies * busy),
        "cpu.all.idle": 2 * jiffies - round(2 * jiffies * busy),
        "cpu.all.iowait": 0,
        "cpu.0.idle": jiffies - round(2 * jiffies * busy),
        "cpu.0.iowait": 0,
        "cpu.1.idle": jiffies,
        "cpu.1.iowait": 0,
        "interface.eth0.rx_bytes": second * rate_bytes,
        "interface.eth0.tx_bytes": second * 500,
        "interface.eth0.rx_packets": packets,
        "interface.eth0.tx_packets": second * 5,
        "interface.eth0.rx_dropped": second // 2,
        "interrupt.virtio3-input.0": (packets + second * 5) // 5,
        "interrupt.virtio9-req": 7 * second,
        "memory.total_bytes": 1000,
        "memory.available_bytes": 600 - second % 3,
        "snmp.Tcp.RetransSegs": 3 * second,
        "trace.cpu_us": 1000 * second,
    }


@pytest.mark.parametrize("values_in_a_piece", [1, 40, 10**6])
def test_a_table_holds_every_value(tmp_path, monkeypatch, values_in_a_piece):
    monkeypatch.setattr(converting, "VALUES_IN_A_PIECE", values_in_a_piece)
    samples = [{"a.x": 5, "b.y": 1}, {"a.x": 5}, {"a.x": 9, "c.z": 2}, {"c.z": -4}]
    folder = made_trace(tmp_path / "t", samples, numbers=[0, 1, 3, 4])
    assert convert(folder, tmp_path / "t.parquet") == []
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table["host"].to_list() == ["node1"] * 4
    assert table["number"].to_list() == [0, 1, 3, 4]
    assert table["time"].dt.epoch("ns")[0] == BEGIN_UNIX_NS
    for name in ("a.x", "b.y", "c.z"):
        assert table[name].to_list() == [one.get(name) for one in samples]
    convert(folder, tmp_path / "t.csv")
    again = pl.read_csv(tmp_path / "t.csv")
    for name in ("a.x", "b.y", "c.z"):
        assert again[name].to_list() == [one.get(name) for one in samples]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t", "t.csv", "t.parquet"]


def test_a_table_comes_back_as_the_trace_it_is_of(tmp_path):
    folder = made_trace(tmp_path / "t", [sample(s) for s in range(20)])
    convert(folder, tmp_path / "t.parquet")
    one, other = load_trace(folder), load_table(tmp_path / "t.parquet")
    assert one.host == other.host
    assert one.columns.keys() == other.columns.keys()
    np.testing.assert_array_equal(one.unix_ns, other.unix_ns)
    for name, column in one.columns.items():
        assert column.counter == other.columns[name].counter
        np.testing.assert_array_equal(column.values, other.columns[name].values)
    first, second = (
        summary_document([load_windows(path)], "day", None)
        for path in (folder, tmp_path / "t.parquet")
    )
    for document in (first, second):
        document["hosts"][0].pop("source")
    assert first == second


def test_tables_that_are_not_ours_and_places_that_will_not_do(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match="was not written by netsonde trace"):
        load_table(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(UsageError, match="cannot read"):
        load_table(tmp_path / "text.parquet")
    folder = made_trace(tmp_path / "t", [{"a.x": 5}])
    with pytest.raises(UsageError, match="cannot write"):
        convert(folder, tmp_path / "none" / "t.parquet")
    with pytest.raises(UsageError, match="neither in"):
        convert(folder, tmp_path / "t.txt")


def test_figures_of_known_counters(tmp_path):
    folder = made_trace(tmp_path, [sample(s) for s in range(41)])
    windows = load_windows(folder)
    found = summarise(windows)
    assert found.windows == 40
    assert found.observed_s == pytest.approx(40)
    assert found.busy.mean == pytest.approx(0.25)
    assert found.kinds["idle"] == pytest.approx(0.75)
    assert found.saturated == 0
    assert found.memory_most == pytest.approx(0.402)
    assert windows.processor_busy_s == {0: pytest.approx(20), 1: pytest.approx(0)}
    (eth0,) = found.interfaces
    assert eth0.received.bit_per_s.mean == pytest.approx(8000)
    assert eth0.received.bit_per_s.p95 == pytest.approx(8000)
    assert eth0.sent.total_bytes == 20_000
    assert eth0.received.packets_per_s.mean == pytest.approx(10)
    assert eth0.interrupts_per_s == pytest.approx(3)
    assert eth0.packets_per_interrupt == pytest.approx(5)
    assert eth0.losses == {"rx_dropped": 20}
    assert found.losses["snmp.Tcp.RetransSegs"] == 120
    assert eth0.received.above == 0


def test_the_share_of_time_above_a_rate_and_the_largest(tmp_path):
    """Three of ten seconds at 1 Mbyte/s, the rest at 1 kbyte/s."""
    moved, samples = 0, []
    for second in range(11):
        samples.append(
            {"interface.eth0.rx_bytes": moved, "interface.eth0.rx_packets": moved // 100}
        )
        moved += 1_000_000 if second in (2, 3, 7) else 1000
    (eth0,) = summarise(load_windows(made_trace(tmp_path, samples)), 1e6).interfaces
    assert eth0.received.above == pytest.approx(0.3)
    assert eth0.received.bit_per_s.most == pytest.approx(8e6)
    assert eth0.received.bit_per_s.median == pytest.approx(8e3)
    assert eth0.received.bit_per_s.mean == pytest.approx((3 * 8e6 + 7 * 8e3) / 10)
    # One gigabit a second: half of it was never reached.
    assert summarise(load_windows(tmp_path)).interfaces[0].received.above == 0


def test_days_and_hours_add_up(tmp_path):
    """Two days every ten minutes, from noon; each day has a rate of its own."""
    moved, samples = 0, []
    rates = {0: 100, 1: 200, 2: 400}
    for number in range(301):
        samples.append({"interface.eth0.rx_bytes": moved, "interface.eth0.rx_packets": number})
        moved += 600 * rates[(12 * 3600 + number * 600) // DAY_S]
    folder = made_trace(tmp_path, samples, interval_ns=600 * 10**9)
    windows = load_windows(folder)
    days = {
        str(day): summarise(part).interfaces[0].received.bit_per_s.mean / 8
        for day, part in by_day(windows).items()
    }
    assert list(days) == ["2026-07-30", "2026-07-31", "2026-08-01"]
    assert days["2026-07-31"] == pytest.approx(200, rel=0.01)
    assert sum(len(part) for part in by_hour(windows).values()) == 300
    assert set(by_hour(windows)) == set(range(24))
    total = summarise(windows).interfaces[0].received.total_bytes
    assert total == moved - 600 * rates[(12 * 3600 + 300 * 600) // DAY_S]


def test_what_is_odd_is_named(tmp_path):
    numbers = [*range(10), 13, 14]
    samples = [sample(s) for s in numbers]
    samples[5]["snmp.Tcp.RetransSegs"] = 0
    for one in samples[6:]:
        one["snmp.Tcp.RetransSegs"] = 9
    lines = summary_lines([load_windows(made_trace(tmp_path, samples, numbers))], None, None)
    text = " ".join(" ".join(lines).split())
    assert "snmp.Tcp.RetransSegs went back" in text
    assert "a gap of 4 s between two samples" in text
    assert "3 missed" in text
    assert "the busiest CPU is 0, 50.0% on average" in text


def test_tables_fit_80_columns(tmp_path):
    hosts = []
    for name in ("node1", "a-host-with-a-very-long-name.example"):
        samples = [sample(s, rate_bytes=9_876_543_210) for s in range(0, 30)]
        hosts.append(load_windows(made_trace(tmp_path / name, samples, host=name)))
    for by in (None, "day", "hour"):
        lines = summary_lines(hosts, by, 1e9)
        assert max(len(line) for line in lines) <= 80
    assert any("79.01 G" in line for line in lines)


def test_the_command_shows_several_hosts_and_draws(tmp_path):
    paths = []
    for name in ("node1", "node2"):
        folder = made_trace(tmp_path / name, [sample(s) for s in range(30)], host=name)
        paths.append(str(folder))
    convert(tmp_path / "node2", tmp_path / "node2.parquet")
    paths[1] = str(tmp_path / "node2.parquet")
    words = ["trace", "summary", *paths, "-i", "eth0", "--by", "hour"]
    result = CliRunner().invoke(app, [*words, "--plot", str(tmp_path / "plot.svg")])
    assert result.exit_code == 0, result.output
    assert "node2 eth0" in result.output
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    result = CliRunner().invoke(app, [*words, "--json", "--plot", str(tmp_path / "plot.html")])
    document = json.loads(result.output)
    rates = [
        h["summary"]["interfaces"][0]["received"]["bit_per_s"]["mean"] for h in document["hosts"]
    ]
    assert rates == pytest.approx([8000, 8000])
    page = (tmp_path / "plot.html").read_text()
    assert "What node1 and node2 did" in page
    assert "http-equiv" in page
    rate = '<td class="number">8.000 kbit/s</td>'
    for host in ("node1", "node2"):
        assert f"<td>{host}</td><td>eth0</td><td>in</td>{rate}{rate}{rate}{rate}" in page


def test_a_page_has_the_tables_of_the_terminal(tmp_path):
    windows = load_windows(made_trace(tmp_path, [sample(s) for s in range(31)]))
    sections = {one.id: one for one in summary_sections([windows], "hour", None)}
    assert list(sections) == ["cpus", "traffic", "packets", "lost", "by-hour", "odd"]
    tables = {name: one.table for name, one in sections.items()}
    host = windows.host
    assert tables["cpus"].rows[0][:3] == (host, pytest.approx(0.25), pytest.approx(0.25))
    rates = [row[:4] for row in tables["traffic"].rows]
    assert rates == [
        (host, "eth0", "in", pytest.approx(8000)),
        (host, "eth0", "out", pytest.approx(4000)),
    ]
    assert tables["packets"].rows[0][2:5] == pytest.approx((10, 5, 100))
    assert tables["lost"].rows[0] == (host, "snmp.Tcp.RetransSegs", pytest.approx(90))
    assert tables["by-hour"].rows[0][3:5] == ("eth0", pytest.approx(8000))
    assert any("the busiest CPU is 0, 50.0% on average" in words for words in sections["odd"].words)
    quiet = load_windows(made_trace(tmp_path / "quiet", [{"cpu.all.idle": s} for s in range(9)]))
    lost = next(one for one in summary_sections([quiet], None, None) if one.id == "lost")
    assert lost.table is None
    assert lost.words == ["Nothing was dropped or retransmitted."]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-i", "eth9"], "has no interface eth9; it has eth0"),
        (["--day", "monday"], "write it like 2026-07-30"),
        (["--plot", "x.doc"], "ends in none of .html"),
    ],
)
def test_what_cannot_be_summarised(tmp_path, words, said):
    folder = made_trace(tmp_path / "t", [sample(s) for s in range(5)])
    result = CliRunner().invoke(app, ["trace", "summary", str(folder), *words])
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_a_day_without_samples(tmp_path):
    folder = made_trace(tmp_path / "t", [sample(s) for s in range(5)])
    result = CliRunner().invoke(app, ["trace", "summary", str(folder), "--day", "2020-01-01"])
    assert "no two samples in the time asked for" in result.output
