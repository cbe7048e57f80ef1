"""What netsonde trace was asked for, and the table of a command from counters that are known."""

from typing import Any

import pytest
from trace_made import made_trace

from netsonde.errors import UsageError
from netsonde.trace.command_table import all_counted, command_table, moved_most
from netsonde.trace.names import is_loss
from netsonde.trace.request import CommandUse, folder_of, parse_long_duration_ns, trace_request
from netsonde.trace.series import load_trace

GIVEN: dict[str, Any] = {
    "every": "1s",
    "duration": None,
    "interfaces": (),
    "parts": None,
    "output": None,
    "most": "1G",
    "cpu": None,
    "command": (),
    "background": False,
    "listen": None,
    "root": None,
}
USE = CommandUse(3, 1_500_000, 500_000, 10, 20, 30, 40, 5_000_000)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("100ms", 0.1), ("90s", 90), ("1h", 3600), ("1.5d", 129_600), ("1w", 604_800), ("2", 2)],
)
def test_durations_up_to_weeks(text, seconds):
    assert parse_long_duration_ns(text) == seconds * 10**9


@pytest.mark.parametrize("text", ["", "w", "1y", "-1s", "1 week"])
def test_what_is_no_duration(text):
    with pytest.raises(UsageError, match="1h, 1d or 1w"):
        parse_long_duration_ns(text)


def test_what_goes_to_the_tracer(tmp_path):
    request = trace_request(
        **{
            **GIVEN,
            "every": "100ms",
            "duration": "1w",
            "interfaces": ["eth0,eth1", "ib0"],
            "parts": "cpu, interfaces",
            "output": tmp_path / "net.parquet",
            "cpu": 3,
        }
    )
    folder = folder_of(request)
    assert folder is not None
    assert folder == tmp_path / "net.parquet.trace"
    assert request.settings(folder) == {
        "folder": str(folder),
        "interval_ns": 100_000_000,
        "duration_ns": 604_800 * 10**9,
        "most_bytes": 1 << 30,
        "interfaces": ["eth0", "eth1", "ib0"],
        "parts": ["cpu", "interfaces"],
        "cpu": 3,
    }


def test_a_trace_without_a_name_gets_one_and_that_of_a_command_is_not_kept():
    assert str(folder_of(trace_request(**GIVEN))).startswith("trace-")
    assert folder_of(trace_request(**{**GIVEN, "command": ["true"]})) is None


def counted(tmp_path, **amounts):
    """A window of a second after 100 seconds of uptime; amounts: before, and in the window."""
    before = {name.replace("__", "."): value for name, (value, _) in amounts.items()}
    after = {name.replace("__", "."): sum(pair) for name, pair in amounts.items()}
    return made_trace(tmp_path, [before, after])


def test_what_moved_most_is_against_what_is_usual(tmp_path):
    folder = counted(
        tmp_path,
        snmp__Tcp__RetransSegs=(100, 50),  # 1 a second, now 50
        snmp__Tcp__InSegs=(100_000, 1500),  # 1000 a second, now 1500
        snmp__Tcp__OutSegs=(10_000, 900),  # 100 a second, now 900
        snmp__Udp__NoPorts=(0, 10),  # never before, but few
        cpu__0__user=(0, 100),  # said elsewhere
    )
    found = moved_most(all_counted(load_trace(folder)))
    assert [one.name for one in found] == ["snmp.Tcp.RetransSegs", "snmp.Tcp.OutSegs"]
    assert found[0].per_s == 50
    assert found[0].usual_per_s == 1


def test_the_table_of_a_command(tmp_path):
    folder = counted(
        tmp_path,
        cpu__all__user=(0, 50),
        cpu__all__idle=(0, 150),
        cpu__0__user=(0, 50),
        cpu__0__idle=(0, 50),
        cpu__1__idle=(0, 100),
        cpu__1__user=(0, 0),
        interface__eth0__rx_packets=(0, 12),
        interface__eth0__rx_bytes=(0, 123_456_789_012),
        interface__eth0__tx_packets=(0, 7),
        interface__eth0__tx_bytes=(0, 700),
        interface__eth0__rx_dropped=(5, 4),
        interrupt__eth0=(0, 9),
        interrupt_cpu__1__eth0=(1, 9),
    )
    text = command_table(folder, USE)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "ended with 3 after 1.000 s" in text
    assert "1.500 s user, 0.500 s system: 200% of one CPU" in text
    assert "2, busy 25.0%: user 25.0%" in text
    assert "the busiest: 0, 50.0%" in text
    (eth0,) = [line.split() for line in text.splitlines() if line.startswith("eth0 ")][:1]
    assert eth0 == ["eth0", "12", "123456789012", "7", "700", "4"]
    (lost,) = [line for line in text.splitlines() if line.startswith("interface.eth0.rx_dropped")]
    assert lost.split()[1] == "4"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("interface.eth0.rx_dropped", True),
        ("interface.lo.rx_dropped", False),
        ("qdisc.eth0.tbf@root.drops", True),
        ("qdisc.eth0.tbf@root.overlimits", False),
        ("snmp6.Udp6InErrors", True),
        ("snmp.Udp.RcvbufErrors", True),
        ("snmp.Ip.ReasmFails", True),
        ("snmp6.Ip6ReasmFails", True),
        ("snmp.Tcp.InSegs", False),
        ("netstat.TcpExt.TCPTimeouts", True),
        ("infiniband.mlx5_0.1.symbol_error", True),
    ],
)
def test_which_counters_are_losses(name, found):
    assert is_loss(name) == found
