"""sysmon: when it samples, what it writes, and the summary of a week."""

import contextlib
import resource
import shutil
import signal
import subprocess
import threading
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hpcbench_made import snapshot

from netsonde.errors import HostError, UsageError
from netsonde.hpcbench.daemon import PidFile
from netsonde.hpcbench.monitor import (
    ENDING_SIGNALS,
    Clock,
    Logs,
    Screen,
    system_clock,
    watch,
    watched_interfaces,
)
from netsonde.hpcbench.monitor_log import (
    Sample,
    each_line,
    ending_line,
    log_heading,
    log_lines,
    screen_lines,
)
from netsonde.hpcbench.monitor_options import GivenMonitor, monitor_settings_of
from netsonde.hpcbench.summary import parse_day, parse_zone, read_traffic, summary_text
from netsonde.hpcbench.summary_plot import plot_text
from netsonde.hpcbench.sysmon import summarise
from netsonde.hpcbench.system import InterfaceCounts, ProcessorShares, SystemRow, system_row

BEGUN = datetime(2004, 8, 4, tzinfo=UTC)


class World:
    """Time that passes only where it is waited for, or where a reading takes some."""

    def __init__(self, reading_s=0.0, caught_at_s=None):
        self.now_s = 100.0
        self.reading_s = reading_s
        self.caught_at_s = caught_at_s
        self.readings = 0

    def clock(self):
        return Clock(lambda: self.now_s, self._wait)

    def _wait(self, seconds):
        due = self.now_s + max(0.0, seconds)
        if self.caught_at_s is not None and due >= 100.0 + self.caught_at_s:
            self.now_s = 100.0 + self.caught_at_s
            return signal.SIGTERM
        self.now_s = due
        return None

    def read(self):
        self.readings += 1
        self.now_s += self.reading_s(self.readings) if callable(self.reading_s) else self.reading_s
        return snapshot(
            self.now_s,
            interface__eth0__rx_bytes=round(1000 * self.now_s),
            interface__eth0__tx_bytes=0,
            cpu__all__user=0,
            cpu__all__idle=0,
        )


class Kept:
    def __init__(self):
        self.samples = []
        self.ended = None

    def add(self, sample):
        self.samples.append(sample)

    def end(self, samples, reason):
        self.ended = (samples, reason)


def watched(world, **given):
    kept = Kept()
    settings = monitor_settings_of(GivenMonitor(**given))
    caught = watch(settings, world.read, {}, [kept], world.clock())
    return kept, caught


def test_a_week_does_not_drift():
    """Every reading takes 30 ms; the last sample is due, and taken, after the whole week."""
    world = World(reading_s=0.03)
    kept, caught = watched(world, write=True, interval="600", minutes="10080")
    assert caught is None
    assert [s.number for s in kept.samples] == list(range(1, 1009))
    assert world.now_s == pytest.approx(100 + 0.03 + 7 * 86400 + 0.03)
    assert kept.ended == (1008, "as long as asked")
    assert all(
        s.row.interfaces["eth0"].received_bytes == pytest.approx(600_000, abs=40)
        for s in kept.samples[1:]
    )


def test_samples_that_are_an_interval_late_are_left_out():
    world = World(reading_s=lambda reading: 5.0 if reading == 3 else 0.0)
    kept, _ = watched(world, samples=8)
    assert [s.number for s in kept.samples] == [1, 2, 4, 5, 6, 7, 8]
    assert world.now_s == 100 + 16


def test_a_signal_ends_it_with_a_last_sample():
    kept, caught = watched(World(caught_at_s=7.0), samples=10)
    assert caught == signal.SIGTERM
    assert [s.row.window_s for s in kept.samples] == [2.0, 2.0, 2.0, 1.0]
    assert kept.ended == (4, "SIGTERM")


def test_a_signal_right_after_a_sample_adds_none():
    kept, _ = watched(World(caught_at_s=6.01), samples=10)
    assert len(kept.samples) == 3


def test_a_lost_worker_is_written_down():
    world = World()

    def read():
        if world.readings == 3:
            raise HostError("the worker was killed")
        return world.read()

    kept = Kept()
    with pytest.raises(HostError):
        watch(monitor_settings_of(GivenMonitor()), read, {}, [kept], world.clock())
    assert kept.ended == (2, "the worker was killed")


def test_interfaces_are_known_or_refused():
    assert watched_interfaces(["eth0", "lo"], None) == ["eth0", "lo"]
    assert watched_interfaces(["eth0", "lo"], "eth0") == ["eth0"]
    with pytest.raises(UsageError, match="eth0, lo"):
        watched_interfaces(["eth0", "lo"], "wlan0")


def row(received=0, sent=0, window_s=2.0, load=25.0, memory=50.0, swaps=0, interface="eth0"):
    shares = ProcessorShares(load, load / 5, 4 * load / 5, 100 - load, 0.0, 0.0, 0.0)
    return SystemRow(
        window_s=window_s,
        processors={"all": shares, "0": shares},
        memory_percent=memory,
        swap_percent=None,
        interrupts=4000,
        context_switches=100,
        paged_in_kib=1,
        paged_out_kib=2,
        swapped_in_pages=swaps,
        swapped_out_pages=0,
        interfaces={interface: InterfaceCounts(10, received, 20, sent, {0: 3, 1: 4})},
    )


def test_the_lines_of_a_sample():
    sample = Sample(7, BEGUN, row(received=250_000, sent=500_000))
    assert log_lines(sample, ["eth0", "gone"]) == (
        "7 2004-08-04T00:00:00Z system all 2.000 25.0 5.0 20.0 50.0 4000 1 2 0 0 100\n"
        "7 2004-08-04T00:00:00Z cpu 0 2.000 25.0 5.0 20.0 75.0\n"
        "7 2004-08-04T00:00:00Z net eth0 2.000 10 250000 20 500000 7\n"
        "7 2004-08-04T00:00:00Z net gone 2.000 nan nan nan nan nan\n"
    )
    counts = "25.0 5.0 20.0 50.0 4000 1 2 0 0 100 10 250000 20 500000 7"
    assert each_line(sample, "eth0").split()[:3] == ["7", "2004-08-04T00:00:00Z", "2.000"]
    assert " ".join(each_line(sample, "eth0").split()[3:]) == counts
    first, second = screen_lines(sample, ["eth0", "a-name-that-is-long"]).splitlines()
    assert first.split() == [
        "7",
        "25.0",
        "5.0",
        "20.0",
        "50.0",
        "2000",
        "50",
        "eth0",
        "1.000",
        "2.000",
    ]
    assert second.split() == ["a-name-tha", "nan", "nan"]
    assert max(len(first), len(second)) <= 80


def with_queues(queues):
    made = row(received=250_000, sent=500_000)
    counts = replace(made.interfaces["eth0"], queues=queues)
    return replace(made, interfaces={"eth0": counts})


def test_queues_stand_below_their_interface_and_add_up_to_it():
    queues = {"eth0-TxRx-0": 3, "eth0-TxRx-1": 0, "eth0": 4}
    sample = Sample(7, BEGUN, with_queues(queues))
    lines = [text.split(maxsplit=5) for text in log_lines(sample, ["eth0"]).splitlines()]
    assert [(kind, values) for _, _, kind, _, _, values in lines[2:]] == [
        ("net", "10 250000 20 500000 7"),
        ("queue", "eth0-TxRx-0 3"),
        ("queue", "eth0-TxRx-1 0"),
        ("queue", "eth0 4"),
    ]
    assert " queue INTERFACE Window_s NAME Intr" in log_heading("a", BEGUN, 2, ["eth0"])
    # A summary reads over them.
    (traffic,) = read_traffic("x", log_of("a", [sample]).splitlines(keepends=True))
    assert [sample.received_bytes for sample in traffic.samples] == [250_000]
    alone = Sample(7, BEGUN, with_queues({"eth0": 7}))
    assert "queue" not in log_lines(alone, ["eth0"])


def test_what_the_monitor_counts_is_said():
    """Unit, what was counted, and where: on the screen and below a summary, in 80 characters."""
    said: list[str] = []
    Screen("eth0", said.append).add(Sample(1, BEGUN, row()))
    below = summary_text(read_traffic("x", log_of("a", week(1, 1)).splitlines(keepends=True)))
    for text in (said[0], below.splitlines()[-1]):
        assert "bit/s" in text
        assert "interface" in text
        assert "frames" in text
        assert len(text) <= 80


def test_the_screen_repeats_its_heading():
    said: list[str] = []
    screen = Screen("eth0", said.append)
    for number in range(1, 42):
        screen.add(Sample(number, BEGUN, row()))
    assert sum("Load%" in text for text in said) == 3


def test_logs_are_whole_at_any_moment(tmp_path):
    settings = monitor_settings_of(GivenMonitor(write_each=True))
    name = str(tmp_path / "x.log")
    logs = Logs(settings, name, "hh1", ["eth0"])
    logs.add(Sample(1, BEGUN, row()))
    assert (tmp_path / "x.log").read_text().endswith("net eth0 2.000 10 0 20 0 7\n")
    assert (tmp_path / "x.log.eth0").read_text().count("\n") == 3
    logs.end(1, "SIGTERM")
    assert (tmp_path / "x.log").read_text().endswith("after 1 samples: SIGTERM\n")
    again = Logs(settings, name, "hh1", ["eth0"])
    again.end(0, "")
    assert again.moved == name + ".1"
    assert "1 2004" in (tmp_path / "x.log.1.eth0").read_text() or (
        "1 2004" in (tmp_path / "x.log.1").read_text()
    )


@contextlib.contextmanager
def room(size_bytes):
    """A limit on the size of files, which is as a full disk to this process. It holds within a
    test only: what pytest writes is limited, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("extra_bytes", [0, 1, 60, 119, 200])
def test_where_the_disk_is_full_no_line_is_torn_and_it_goes_on(tmp_path, extra_bytes):
    """However much fits: a sample is in the log whole or not at all, and what is not is counted."""
    said: list[str] = []
    name = tmp_path / "x.log"
    logs = Logs(
        monitor_settings_of(GivenMonitor(write=True)), str(name), "a", ["eth0"], said.append
    )
    logs.add(Sample(1, BEGUN, row()))
    with room(name.stat().st_size + extra_bytes):
        for number in (2, 3, 4):
            logs.add(Sample(number, BEGUN, row()))
    found = name.read_text().splitlines()
    whole = [line for line in found if " net eth0 " in line]
    fitted = len(whole) - 1
    assert found[-1] == whole[-1]
    assert fitted == (1 if extra_bytes == 200 else 0)
    assert len(said) == 1
    assert f"cannot write {name}: " in said[0]
    logs.add(Sample(5, BEGUN, row()))
    logs.end(5, "as long as asked")
    lost = 3 - fitted
    assert f"\n# {lost} samples are missing here: " in name.read_text()
    assert logs.missed == f"{lost} samples are not in {name}: File too large"
    (traffic,) = read_traffic("x", name.read_text().splitlines(keepends=True))
    assert len(traffic.samples) == 5 - lost


def test_a_heading_that_does_not_fit_leaves_no_file(tmp_path):
    settings = monitor_settings_of(GivenMonitor(write=True))
    with pytest.raises(HostError, match=r"cannot write .*x\.log: "), room(10):
        Logs(settings, str(tmp_path / "x.log"), "a", ["eth0"])
    assert list(tmp_path.iterdir()) == []


def with_interfaces(*names):
    one = row(received=1000, sent=10)
    return replace(one, interfaces=dict.fromkeys(names, one.interfaces["eth0"]))


def test_interfaces_that_come_later_are_watched(tmp_path):
    """On the screen, in the log and, with -W, in a log of its own; those that went stay."""
    logs = Logs(
        monitor_settings_of(GivenMonitor(write_each=True)), str(tmp_path / "x.log"), "a", ["eth0"]
    )
    said: list[str] = []
    screen = Screen(None, said.append)
    for number, names in enumerate((["eth0"], ["eth0", "wlan0"], ["wlan0"]), 1):
        for sink in (logs, screen):
            sink.add(Sample(number, BEGUN, with_interfaces(*names)))
    logs.end(3, "as long as asked")
    text = (tmp_path / "x.log").read_text()
    assert "# interface wlan0 came\n2 " in text
    assert [
        line.split()[3] for line in text.splitlines() if " net " in line and "#" not in line
    ] == [*("eth0", "eth0", "wlan0", "eth0", "wlan0")]
    assert (tmp_path / "x.log.wlan0").read_text().count("\n") == 2 + 2 + 1
    assert sum("wlan0" in text for text in said) == 2
    found = {one.interface: one for one in read_traffic("x", text.splitlines(keepends=True))}
    assert [len(found[name].samples) for name in ("eth0", "wlan0")] == [2, 2]


def test_one_interface_that_was_asked_for_stays_alone(tmp_path):
    settings = monitor_settings_of(GivenMonitor(write=True, interface="eth0"))
    logs = Logs(settings, str(tmp_path / "x.log"), "a", ["eth0"])
    logs.add(Sample(1, BEGUN, with_interfaces("eth0", "wlan0")))
    logs.end(1, "")
    assert "wlan0" not in (tmp_path / "x.log").read_text()


def test_the_record_of_a_monitor_keeps_its_last_words(tmp_path):
    record = PidFile(tmp_path)
    record.hold()
    record.write(12345)
    size_bytes = record.path.stat().st_size
    record.say("a long sentence " * 20)
    record.say("3 samples are not in x.log: the disk was full")
    assert record.path.stat().st_size == size_bytes  # it needs no room that may not be there
    record.release()
    with pytest.raises(UsageError, match=r"the last one said: 3 samples are not in x\.log: the"):
        PidFile(tmp_path).kill()


def log_of(host, samples, interface="eth0"):
    text = log_heading(host, BEGUN, 86400, [interface])
    for sample in samples:
        text += log_lines(sample, [interface])
    return text + ending_line(BEGUN, len(samples), "as long as asked")


def week(received_kbps, sent_kbps, days=7):
    """A sample for each day, of constant rates."""
    return [
        Sample(
            day,
            BEGUN + timedelta(days=day) - timedelta(seconds=1),
            row(
                round(received_kbps * 1000 / 8 * 86400),
                round(sent_kbps * 1000 / 8 * 86400),
                window_s=86400.0,
            ),
        )
        for day in range(1, days + 1)
    ]


def test_one_day_of_a_week(tmp_path):
    name = tmp_path / "x.log"
    samples = week(10, 20)
    samples[4] = week(80, 160)[4]
    name.write_text(log_of("dp4", samples))
    assert "80.00" in summarise([str(name)], parse_day("2004-08-08")).splitlines()[1]
    assert "80.00" in summarise([str(name)]).splitlines()[1]
    assert "80.00" not in summarise([str(name)], parse_day("2004-08-09"))
    empty = summarise([str(name)], parse_day("2005-01-01")).splitlines()[1].split()
    assert empty == ["dp4", *["N/A"] * 11]


def test_a_missing_log_is_a_row_of_its_own(tmp_path):
    (tmp_path / "hh1.log").write_text(log_of("hh1", week(10, 20)))
    (tmp_path / "hh3.log").write_text("no log\n")
    names = [str(tmp_path / f"hh{number}.log") for number in (1, 2, 3)]
    said: list[str] = []
    rows = summarise(names, plots=True, warn=said.append).splitlines()
    assert [text.split()[0] for text in rows[1:4]] == ["hh1-eth0", "hh2", "hh3"]
    for text in rows[2:4]:
        assert text.split()[1:] == ["N/A"] * 11
    assert ["hh2.log" in said[0], "hh3.log" in said[1], len(said)] == [True, True, 2]
    with pytest.raises(UsageError, match=r"hh2\.log.*hh3\.log"):
        summarise(names[1:])


def test_a_log_whose_last_line_was_cut_off_is_read():
    """At whatever byte the host went down."""
    text = log_of("hh1", week(10, 20))
    text = text[: text.rindex("# ended")]
    for cut in range(1, 160, 13):
        found = read_traffic("x", text[:-cut].splitlines(keepends=True))
        assert len(found[0].samples) == 6


def test_logs_of_one_host_are_merged(tmp_path):
    """As one log of the whole time; what was of the same time is not added up."""
    samples = week(10, 20)
    parts = {"a": samples[4:], "b": samples[:4], "all": samples}
    for name, part in parts.items():
        (tmp_path / name).write_text(log_of("hh1", part))
    names = {name: str(tmp_path / name) for name in parts}
    assert summarise([names["a"], names["b"]]) == summarise([names["all"]])
    assert len(summarise([names["all"], names["a"]]).splitlines()) == 1 + 2 + 1


@pytest.mark.parametrize(
    ("zone", "day", "shown"),
    [
        ("utc", "2004-08-07", "2004-08-07T23:59:59Z"),
        ("Europe/Berlin", "2004-08-08", "2004-08-08T01:59:59"),
        ("America/New_York", "2004-08-07", "2004-08-07T19:59:59"),
    ],
)
def test_days_and_plots_are_of_the_zone(tmp_path, zone, day, shown):
    """The fourth sample of the week ends at 23:59:59 UTC of 7 August."""
    name = tmp_path / "x.log"
    samples = week(10, 20)
    samples[3] = week(80, 160)[3]
    name.write_text(log_of("dp4", samples))
    text = summarise([str(name)], parse_day(day), True, parse_zone(zone))
    assert "80.00" in text.splitlines()[1]
    assert shown in Path(f"{name}.data").read_text()
    assert f"dp4, {'UTC' if zone == 'utc' else ''}" in Path(f"{name}.plot").read_text()


def test_the_zone_of_this_host_and_one_that_is_none():
    assert parse_zone("local") is None
    with pytest.raises(UsageError, match="--zone 'Moon/Sea' is no time zone"):
        parse_zone("Moon/Sea")
    with pytest.raises(UsageError, match="--zone"):
        parse_zone("../etc/passwd")


def test_plots_are_written_beside_each_log(tmp_path):
    names = [str(tmp_path / name) for name in ("hh1.log", "hh2.log")]
    for name in names:
        Path(name).write_text(log_of("hh1", week(10, 20)))
    text = summarise(names, parse_day("2004-08-08"), plots=True)
    assert text.splitlines()[-2:] == [f"# plot: {name}.plot" for name in names]
    assert Path(names[0] + ".data").read_text().splitlines()[:3] == [
        "# hh1 eth0",
        "               #Time Load% RecvKbps SentKbps",
        "2004-08-08T23:59:59Z  25.0   10.000   20.000",
    ]
    assert len(Path(names[0] + ".data").read_text().splitlines()) == 3  # the day and no other
    summarise(names[:1], plots=True)
    assert len(Path(names[0] + ".data").read_text().splitlines()) == 2 + 7
    assert Path(names[0] + ".1.data").exists()  # what was there is kept
    assert "no samples, no plot" in summarise(names, parse_day("2005-01-01"), plots=True)


def test_what_cannot_be_written_beside_a_log_is_refused(tmp_path):
    (tmp_path / "x.log").write_text(log_of("hh1", week(10, 20)))
    (tmp_path / "x.log.plot").mkdir()
    with pytest.raises(UsageError, match=r"--plot .*x\.log\.plot is there and is no regular file"):
        summarise([str(tmp_path / "x.log")], plots=True)
    assert not (tmp_path / "x.log.data").exists()


def test_a_plot_has_two_curves_for_each_interface():
    (found,) = read_traffic("x", log_of("hh1", week(10, 20)).splitlines(keepends=True))
    both = [found, replace(found, interface="eth1", samples=found.samples[:3])]
    script = plot_text(both, "x.log")
    assert "beside.'.data' index 0 using 1:2" in script
    for curve in ("0 using 1:3", "0 using 1:4", "1 using 1:3", "1 using 1:4"):
        assert f"beside.'.data' index {curve} with lines" in script


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_gnuplot_draws_a_node(tmp_path):
    samples = [
        replace(one, row=replace(one.row, interfaces={**one.row.interfaces, "it's_1": counts}))
        for one in week(10, 20)
        for counts in one.row.interfaces.values()
    ]
    text = log_of("hh1", [])
    text += "".join(log_lines(sample, ["eth0", "it's_1"]) for sample in samples)
    (tmp_path / "hh1.log").write_text(text)
    summarise([str(tmp_path / "hh1.log")], plots=True)
    moved = tmp_path / "moved"
    moved.mkdir()
    for suffix in (".data", ".plot"):
        (tmp_path / f"hh1.log{suffix}").rename(moved / f"hh1.log{suffix}")
    drawn = subprocess.run(
        ["gnuplot", "moved/hh1.log.plot"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (drawn.returncode, drawn.stderr) == (0, "")
    image = (moved / "hh1.log.svg").read_text()
    for words in ("eth0 received", "it's_1 sent", "load, per cent", "hh1, UTC"):
        assert words in image.replace("&#39;", "'").replace("&apos;", "'")


def test_what_stands_out():
    samples = week(10, 30)
    samples[2] = Sample(3, samples[2].ended, row(10**10, 10**10, 86400.0, memory=96, swaps=5))
    (traffic,) = read_traffic("x", log_of("hh24", samples).splitlines(keepends=True))
    text = summary_text([traffic])
    assert "# hh24-eth0: memory over 95 %, swapping, and more traffic than usual in 1 " in text
    assert "# hh24-eth0: 1 bursts of more than 10 times the median rate" in text
    (lopsided,) = read_traffic("x", log_of("dp4", week(10, 30)).splitlines(keepends=True))
    assert "# dp4-eth0: sends 3.0 times what it receives" in summary_text([lopsided])
    (other,) = read_traffic("x", log_of("dp2", week(30, 10)).splitlines(keepends=True))
    assert "# dp2-eth0: receives 3.0 times what it sends" in summary_text([other])
    (even,) = read_traffic("x", log_of("dp3", week(10, 10)).splitlines(keepends=True))
    _, _, units, *remarks = summary_text([even]).splitlines()
    assert units.startswith("# Kbps: 1000 bit/s, MiB: 2^20 bytes")
    assert remarks == []


@pytest.mark.parametrize(
    "text",
    ["", "hello world\n", "1 2 3 4 5 6\n", "x" * 5000, "# sysmon log of a, b\n1 soon net eth0 2\n"],
)
def test_what_is_no_log_is_refused(text):
    with pytest.raises(UsageError, match=r"x\.log"):
        read_traffic("x.log", text.splitlines(keepends=True))


def test_days():
    with pytest.raises(UsageError, match="--day"):
        parse_day("yesterday")


def test_shares_of_a_row_are_of_the_window():
    before = snapshot(0.0, cpu__all__user=0, cpu__all__idle=0)
    after = snapshot(2.0, cpu__all__user=50, cpu__all__idle=150)
    assert system_row(before, after).processors["all"].load == 25.0


def test_memory_does_not_grow_with_the_samples(tmp_path):
    """As many samples again leave no more behind than the first ones did."""

    def left_behind(samples):
        settings = monitor_settings_of(GivenMonitor(write_each=True, samples=samples))
        name = str(tmp_path / f"{samples}.log")
        world = World()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        watch(settings, world.read, {}, [Logs(settings, name, "a", ["eth0"])], world.clock())
        _, most = tracemalloc.get_traced_memory()
        return most - before

    tracemalloc.start()
    try:
        left_behind(50)  # what is made once only
        few, many = left_behind(200), left_behind(4000)
    finally:
        tracemalloc.stop()
    assert many < 1.5 * few


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_that_another_thread_gets_is_found_between_two_samples(number):
    before = signal.getsignal(number)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        with system_clock() as clock:
            assert clock.wait(0) is None
            assert other.ident is not None
            signal.pthread_kill(other.ident, number)
            assert clock.wait(20) == number
            assert clock.wait(0) is None
    finally:
        over.set()
        other.join()
    assert signal.getsignal(number) is before
