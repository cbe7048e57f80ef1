"""Rows and screen lines of repetitions whose figures are known."""

import csv
import io
import json

import pytest
from hpcbench_made import S, batch, end, snapshot

from netsonde.hpcbench.options import Given, settings_of
from netsonde.hpcbench.result_file import Setting, heading, row
from netsonde.hpcbench.results import Repetition, columns_of, figures_of, screen_line
from netsonde.hpcbench.spread import HEADING, spread_lines, spreads_of
from netsonde.hpcbench.system import system_row
from netsonde.hpcbench.twins import Outcome, csv_text, json_text

TCP_BYTES = 4995 * 65536  # Hpcbench's table 4-2: 523.97 Mbps
TCP_NS = round(TCP_BYTES * 8e9 / 523.97e6)


def tcp_repetition():
    return Repetition(
        1,
        65536,
        batch(
            end(
                0,
                start_ns=5,
                end_ns=5 + TCP_NS + 1_000_000,
                notice_held_ns=1_000_000,
                messages_sent=4995,
                bytes_sent=TCP_BYTES,
                sync_round_trip_ns=0,
            ),
            end(1, start_ns=7, end_ns=7 + TCP_NS, bytes_received=TCP_BYTES),
        ),
    )


def udp_repetition():
    """Hpcbench's table 4-5, datagrams of 1460 bytes: 1432.12 Mbps sent, 650.26 received."""
    sent, received = 895242832 // 1460, 279548
    return Repetition(
        2,
        1460,
        batch(
            end(
                0,
                start_ns=0,
                end_ns=6 * S,
                drained_ns=round(sent * 1460 * 8e9 / 1432.12e6),
                messages_sent=sent,
                bytes_sent=sent * 1460,
            ),
            end(
                1,
                start_ns=0,
                end_ns=round(received * 1460 * 8e9 / 650.26e6),
                messages_received=received,
                bytes_received=received * 1460,
                lost=sent - received,
                duplicates=3,
                reordered=4,
            ),
        ),
    )


def both_ways():
    sent = {"messages_sent": 1000, "bytes_sent": 10**6, "start_ns": 0, "end_ns": 2 * S}
    return Repetition(
        10,
        1000,
        batch(
            end(
                0,
                messages_received=500,
                bytes_received=500_000,
                last_arrival_ns=S // 4,
                lost=500,
                **sent,
            ),
            end(
                1,
                messages_received=900,
                bytes_received=900_000,
                last_arrival_ns=S // 2,
                lost=100,
                **sent,
            ),
        ),
    )


def settings(transport, **given):
    return settings_of(transport, Given("node7", **given))


def values(chosen, repetition):
    """The row by the names of its columns."""
    columns = columns_of(chosen)
    names = [name for name, _, _ in columns]
    return dict(zip(names, row(columns, repetition).split(), strict=True))


def test_a_row_of_a_tcp_stream():
    chosen = settings("tcp")
    columns = columns_of(chosen)
    assert row(columns, tcp_repetition()) == (
        "    1      65536       4995     327352320     523.970000     523.970000"
        "    4.998031    4.998031    0.0100   1.1900    0.0100   1.1900     0.000\n"
    )
    assert screen_line(chosen, tcp_repetition()) == " (1) : 523.970000 Mbps of payload (client)"


def test_a_row_of_a_udp_stream():
    chosen = settings("udp")
    found = values(chosen, udp_repetition())
    assert found["C_Mbps"] == "1432.120000"
    assert found["S_Mbps"] == "650.260000"
    assert found["Lost"] == str(613180 - 279548)
    assert found["Lost%"] == "54.4101"
    assert (found["Twice"], found["Reordered"]) == ("3", "4")
    assert screen_line(chosen, udp_repetition()) == (
        " (2) : 1432.120 Mbps sent (client), 650.2600 received (server), lost 54.41 %"
    )


def test_rows_of_both_ways():
    found = values(settings("tcp", both_ways=True, ready=True), both_ways())
    assert (found["S_Mbps"], found["C_Mbps"], found["BothMbps"]) == (
        "14.400000",
        "16.000000",
        "30.400000",
    )
    found = values(settings("udp", both_ways=True), both_ways())
    assert (found["OutLost%"], found["BackLost%"]) == ("10.0000", "50.0000")
    assert screen_line(settings("udp", both_ways=True), both_ways()) == (
        " (10) : 14.40000 Mbps out (server), 16.00000 back (client), lost 10.00 50.00 %"
    )


def test_a_row_of_ping_pong_counts_both_crossings():
    moved = {"bytes_sent": 4000, "bytes_received": 4000}
    repetition = Repetition(
        1,
        1000,
        batch(
            end(
                0,
                {"round_trip_ns": [10_000] * 4},
                start_ns=0,
                end_ns=90_000,
                messages_sent=4,
                **moved,
            ),
            end(1, start_ns=0, end_ns=32_000, **moved),
        ),
    )
    found = values(settings("tcp", both_ways=True), repetition)
    assert (found["Bytes"], found["C_Mbps"], found["S_Mbps"]) == (
        "8000",
        "1600.000000",
        "2000.000000",
    )


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_row_of_round_trips(transport):
    repetition = Repetition(
        3,
        64,
        batch(
            end(
                0,
                {"round_trip_ns": [50_000, 60_000, 100_000, 50_000]},
                messages_sent=5,
                unanswered=1,
            ),
            end(1),
        ),
    )
    chosen = settings(transport, round_trip=True)
    found = values(chosen, repetition)
    assert [found[f"{name}_us"] for name in ("Mean", "Median", "Min", "Max")] == [
        "65.000",
        "55.000",
        "50.000",
        "100.000",
    ]
    assert found["Unanswered"] == "1"
    assert screen_line(chosen, repetition) == " (3) : 65.000 us round trip, the mean (client)"


def test_a_row_of_generated_traffic():
    client = end(
        0,
        start_ns=0,
        last_send_ns=S // 2,
        messages_sent=1000,
        bytes_sent=1_460_000,
        refusals=9,
    )
    chosen = settings("udp", generator=True, rate="1M")
    found = values(chosen, Repetition(1, 1460, batch(client)))
    assert (found["C_Mbps"], found["Dgrams/s"], found["Refused"]) == ("23.360000", "2000.0", "9")


def test_screen_lines_fit():
    big = both_ways()
    for one in big.batch.ends.values():
        one.counters["bytes_received"] = 50_000_000_000
    line = screen_line(settings("udp", both_ways=True), Repetition(1000, 1460, big.batch))
    assert "800000.0" in line
    assert len(line) <= 80


def test_the_result_file_says_what_was_asked_for_and_obtained():
    chosen = settings("tcp", buffer="100k", quality=3)
    opened: dict[int, dict[str, object]] = {
        0: {
            "local_address": "192.0.2.1",
            "local_port": 4000,
            "send_buffer_bytes": 102400,
            "receive_buffer_bytes": 102400,
            "no_delay": False,
            "interface": "eth0",
        },
        1: {"send_buffer_bytes": 102400},
    }
    text = heading(
        chosen,
        Setting("2026-07-30T12:00:00Z", "netsonde hpcbench tcptest", ("a", "b"), opened),
        columns_of(chosen),
    )
    assert "# hosts: a (client), b (server)\n" in text
    assert "client buffer 102400, server buffer 102400, segment the system's" in text
    assert "quality of service 3\n" in text
    assert (
        "# client has: 192.0.2.1 port 4000, send buffer 102400, receive buffer 102400, "
        "no delay off, interface eth0\n" in text
    )
    assert "# server has: send buffer 102400\n" in text
    assert all(line.lstrip().startswith("#") for line in text.splitlines())
    last = text.splitlines()[-1]
    assert len(last) == len(row(columns_of(chosen), tcp_repetition()).rstrip("\n"))


EVERY_TEST: dict[str, tuple[str, dict[str, object]]] = {
    "tcp": ("tcp", {}),
    "udp": ("udp", {}),
    "tcp both": ("tcp", {"both_ways": True, "ready": True}),
    "udp both": ("udp", {"both_ways": True}),
}


def repetitions_of(name):
    made = {"tcp": tcp_repetition, "udp": udp_repetition}.get(name, both_ways)
    return [made()] * 4


@pytest.mark.parametrize("name", EVERY_TEST)
def test_every_rate_on_the_screen_says_its_end_and_unit(name):
    transport, given = EVERY_TEST[name]
    line = screen_line(settings(transport, **given), repetitions_of(name)[0])
    assert " Mbps " in line
    numbers = [word for word in line.split() if word.replace(".", "").isdigit()]
    rates = [word for word in numbers if f"lost {word}" not in line and f"{word} %" not in line]
    assert sum(line.count(end) for end in ("(client)", "(server)")) == len(rates)
    assert len(line) <= 80


def with_rates(*mbps):
    """TCP streams of these rates."""
    found = []
    for number, rate in enumerate(mbps, 1):
        one = tcp_repetition()
        elapsed_ns = round(TCP_BYTES * 8e3 / rate)
        one.client.counters.update(end_ns=5 + elapsed_ns + 1_000_000)
        one.server.counters.update(end_ns=7 + elapsed_ns)
        found.append(Repetition(number, 65536, one.batch))
    return found


def test_what_repetitions_have_in_common():
    """The three rates that Hpcbench's sample prints (section 3.6)."""
    chosen = settings("tcp")
    found = spreads_of(chosen, columns_of(chosen), with_rates(521.247565, 522.272930, 521.964908))
    first = found[0]
    assert (first.column, first.number) == ("C_Mbps", 3)
    assert [round(v, 3) for v in (first.mean, first.median, first.least, first.most)] == [
        *(521.828, 521.965, 521.248, 522.273)
    ]
    assert first.deviation == pytest.approx(0.526, abs=0.001)
    heading, by_client, by_server = spread_lines(found)
    assert heading.split() == ["of", "3", "repetitions", *HEADING]
    assert by_client.split()[-5:-1] == ["521.828", "521.965", "521.248", "522.273"]
    assert by_server.split()[:5] == ["payload,", "Mbps,", "by", "the", "server"]


@pytest.mark.parametrize("name", EVERY_TEST)
def test_the_table_of_repetitions_fits(name):
    transport, given = EVERY_TEST[name]
    chosen = settings(transport, **given)
    lines = spread_lines(spreads_of(chosen, columns_of(chosen), repetitions_of(name)))
    assert len(lines) == 1 + len(figures_of(chosen))
    assert max(map(len, lines)) < 79


def test_one_repetition_has_no_table_and_sizes_are_never_mixed():
    chosen = settings("tcp")
    assert spread_lines(spreads_of(chosen, columns_of(chosen), with_rates(500.0))) == []
    sizes = settings("tcp", exponential=3)
    assert spreads_of(sizes, columns_of(sizes), with_rates(500.0, 600.0)) == []


def outcome_of(name, **changes):
    transport, given = EVERY_TEST[name]
    chosen = settings(transport, output="out", pair="a secret", **given)
    setting = Setting("2026-07-30T12:00:00Z", "netsonde", ("a", "b"), {0: {"no_delay": False}})
    fields = {"complete": True, **changes}
    return Outcome(chosen, setting, columns_of(chosen), repetitions_of(name), **fields)


@pytest.mark.parametrize("name", EVERY_TEST)
def test_the_twins_say_what_the_result_file_says(name):
    outcome = outcome_of(name)
    document = json.loads(json_text(outcome))
    table = list(csv.DictReader(io.StringIO(csv_text(outcome))))
    names = [column["name"] for column in document["columns"]]
    for repetition, from_json, from_csv in zip(
        outcome.repetitions, document["rows"], table, strict=True
    ):
        assert list(from_json) == list(from_csv) == names
        cells = row(outcome.columns, repetition).split()
        for cell, key in zip(cells, names, strict=True):
            missing = cell == "nan"
            assert from_json[key] == (None if missing else pytest.approx(float(cell)))
            assert from_csv[key] == "" if missing else float(from_csv[key]) == float(cell)
    assert "a secret" not in json_text(outcome)
    assert document["obtained"] == {"client": {"no_delay": False}}
    assert {one["column"] for one in document["spread"]} <= set(names)
    units = {column["name"]: column["unit"] for column in document["columns"]}
    assert units["C_Mbps"] == "Mbit/s"
    assert units["C_s"] == "s"
    assert units["No"] is None


def test_a_twin_holds_the_logs_of_both_systems():
    before = snapshot(interface__eth0__rx_bytes=5, cpu__all__user=0, cpu__all__idle=0)
    after = snapshot(1.0, interface__eth0__rx_bytes=9, cpu__all__user=1, cpu__all__idle=3)
    rows = [system_row(before, after)]
    document = json.loads(json_text(outcome_of("tcp", logs=[rows, rows], complete=False)))
    assert document["complete"] is False
    log = document["system_logs"]["server"][0]
    assert log["interfaces"]["eth0"]["received_bytes"] == 4
    assert log["processors"]["all"]["load"] == 25.0
