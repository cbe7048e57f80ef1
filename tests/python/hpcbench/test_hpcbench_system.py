"""System logs from counters: the sample printed in Hpcbench's section 3.6, wraps, interrupts."""

import pytest
from hpcbench_made import snapshot

from netsonde.hpcbench.syslog import LogHead, busy_words, system_log
from netsonde.hpcbench.system import (
    ALL,
    ProcessorShares,
    SystemRow,
    devices_of,
    growth,
    interface_names,
    processor_names,
    system_row,
)
from netsonde.records.data import Snapshot

W32, W64 = 1 << 32, 1 << 64
# Row 1 of the sample: a TCP stream by default settings, at the client with four CPUs.
PRINTED = {
    "system.interrupts": 67269,
    "system.context_switches": 12894,
    "memory.paged_in_bytes": 32 * 1024,
    "interface.eth0.rx_packets": 47529,
    "interface.eth0.rx_bytes": 3137248,
    "interface.eth0.tx_packets": 223862,
    "interface.eth0.tx_bytes": 338915925,
    "interrupt_cpu.1.eth0": 46857,
    "cpu.1.system": 605,
    "cpu.1.idle": 395,
    "cpu.2.user": 1,
    "cpu.2.system": 272,
    "cpu.2.idle": 727,
    "cpu.0.idle": 1000,
    "cpu.3.idle": 1000,
    "cpu.all.user": 1,
    "cpu.all.system": 877,
    "cpu.all.idle": 3122,
}
ZEROS = ("memory.paged_out_bytes", "memory.swapped_in_pages", "memory.swapped_out_pages")
PROCESSOR_ZEROS = ("cpu.0.user", "cpu.0.system", "cpu.1.user", "cpu.3.user", "cpu.3.system")


def printed_row():
    memory = {"memory.total_bytes": 4 << 30, "memory.available_bytes": round(0.83 * (4 << 30))}
    flat = dict.fromkeys((*ZEROS, *PROCESSOR_ZEROS), 7)
    # All counters were at 1000 before, but those of interrupts, which were never zero.
    before = dict.fromkeys(PRINTED, 1000) | flat | memory
    after = {name: 1000 + grown for name, grown in PRINTED.items()} | flat | memory
    return system_row(Snapshot("before", 0, 0, before), Snapshot("after", 5 * 10**9, 0, after))


def test_the_printed_sample():
    text = system_log(LogHead("client", "hh25", "2004-06-14T10:00:00Z", "TCP"), [printed_row()] * 3)
    tables = text.split("\n\n\n")
    assert len(tables) == 1 + 1 + 4
    assert "# host hh25, 2004-06-14T10:00:00Z\n" in tables[0]
    assert "# 3 periods: row 0 is before the test, row 2 after it\n" in tables[0]
    assert "# 1 network interfaces: eth0\n# 4 CPUs\n" in tables[0]
    title, heading, *rows = tables[1].splitlines()
    assert title == "# interface eth0"
    assert heading.split() == [
        *("#No", "Window_s", "Load%", "User%", "Sys%", "Mem%", "Intr", "PageIn", "PageOut"),
        *("SwapIn", "SwapOut", "Ctx", "RecvPkg", "RecvByte", "SentPkg", "SentByte"),
        *("Int0", "Int1", "Int2", "Int3"),
    ]
    printed = "21.9 0.0 21.9 17.0 67269 32 0 0 0 12894 47529 3137248 223862 338915925 0 46857 0 0"
    assert rows[1].split() == ["1", "5.000", *printed.split()]
    assert tables[3].splitlines()[0] == "# CPU 1"
    printed = "60.5 0.0 60.5 39.5 21.9 0.0 21.9 78.0 0.0 0.0 0.0"
    assert tables[3].splitlines()[2].split() == ["0", "5.000", *printed.split()]
    assert tables[4].splitlines()[2].split()[2:6] == ["27.3", "0.1", "27.2", "72.7"]


def row_of(load, *, window_s=1.0, processors=2):
    shares = ProcessorShares(load, load, 0.0, 100 - load, 0.0, 0.0, 0.0)
    names = [ALL, *map(str, range(processors))]
    counted = ("interrupts", "context_switches", "paged_in_kib", "paged_out_kib")
    swapped = ("memory_percent", "swap_percent", "swapped_in_pages", "swapped_out_pages")
    nothing = dict.fromkeys((*counted, *swapped))
    return SystemRow(window_s, dict.fromkeys(names, shares), interfaces={}, **nothing)


@pytest.mark.parametrize(
    ("load", "processors", "window_s", "busy"),
    [
        (100.0, 2, 1.0, True),
        (6.0, 2, 1.0, True),
        (5.0, 2, 1.0, False),  # a tenth of a CPU counts as idle
        (1.0, 16, 1.0, True),
        (0.5, 16, 1.0, False),
        (30.0, 2, 0.05, False),  # three steps of the kernel's clock say nothing
    ],
)
def test_a_host_that_is_busy_before_or_after_the_test_is_said(load, processors, window_s, busy):
    quiet = row_of(0.0, processors=processors)
    loud = row_of(load, processors=processors, window_s=window_s)
    head = LogHead("client", "a", "now", "TCP")
    for rows, when in (([loud, quiet, quiet], "before"), ([quiet, quiet, loud], "after")):
        said = busy_words(head, rows)
        assert len(said) == busy
        assert all(f"not idle {when} the test" in sentence for sentence in said)
        assert all(f"# {sentence}\n" in system_log(head, rows) for sentence in said)
    assert busy_words(head, [quiet, loud, quiet]) == []  # that is the test's own
    broken = LogHead("client", "a", "now", "TCP", complete=False)
    assert busy_words(broken, [quiet, loud]) == []


def test_a_test_that_broke_off_says_so():
    head = LogHead("server", "b", "2026-07-30T12:00:00Z", "TCP", complete=False)
    assert "# 1 periods: row 0 is before the test, the test broke off\n" in system_log(
        head, [printed_row()]
    )


@pytest.mark.parametrize(
    ("before", "after", "grown"),
    [
        (5, 5, 0),
        (5, 9, 4),
        (W32 - 10, 5, 15),  # 32 bits were full
        (W64 // 2 - 10, 5 - W64 // 2, 15),  # beyond 63 bits a reading is negative
        (-10, 5, 15),  # 64 bits were full
        (1_000_000, 7, 7),  # the driver was loaded again
        (W32 + 100, 7, 7),
    ],
)
def test_counters_that_were_full_or_reset(before, after, grown):
    assert growth(before, after) == grown


def test_interrupts_belong_to_an_interface_by_its_name_or_that_of_its_device():
    before = snapshot(
        interface__eth1__rx_bytes=0,
        interface__eth0__rx_bytes=0,
        **{"interrupt_cpu__0__virtio2-input.0": 100},
    )
    after = snapshot(
        1.0,
        interface__eth1__rx_bytes=0,
        interface__eth0__rx_bytes=0,
        **{
            "interrupt_cpu__0__virtio2-input.0": 107,
            "interrupt_cpu__3__virtio2-output.0": 5,
            "interrupt_cpu__0__virtio20-input.0": 1000,
            "interrupt_cpu__1__eth1-TxRx-0": 3,
            "interrupt_cpu__1__eth1-TxRx-1": 4,
            "interrupt_cpu__1__eth10-TxRx-0": 1000,
            "interrupt_cpu__2__mlx5_comp1@pci:0000:03:00.0": 9,
        },
    )
    row = system_row(before, after, {"eth0": "virtio2"})
    assert row.interfaces["eth0"].interrupts == {0: 7, 3: 5}
    assert row.interfaces["eth1"].interrupts == {1: 7}
    assert system_row(before, after, {"eth0": "0000:03:00.0"}).interfaces["eth0"].interrupts == {
        2: 9
    }


# Names as drivers give them: ixgbe, mlx5 and virtio; the last of each is no queue of data.
QUEUES = {
    "eth0": [*(f"eth0-TxRx-{number}" for number in range(12)), "eth0"],
    "0000:5d:00.0": [f"mlx5_comp{n}@pci:0000:5d:00.0" for n in range(12)]
    + ["mlx5_async0@pci:0000:5d:00.0"],
    "virtio0": ["virtio0-input.0", "virtio0-output.0", "virtio0-config"],
}


@pytest.mark.parametrize("device", QUEUES)
def test_every_queue_is_counted_and_all_are_summed(device):
    names = QUEUES[device]
    before = {"interface.eth0.rx_bytes": 0, "interrupt.eth1-TxRx-0": 0}
    after = {"interface.eth0.rx_bytes": 0, "interrupt.eth1-TxRx-0": 1000}
    for number, name in enumerate(reversed(names)):
        before[f"interrupt.{name}"] = 100 if number else 0
        after[f"interrupt.{name}"] = before[f"interrupt.{name}"] + number
        if number:  # what was never used has no number by CPU
            before[f"interrupt_cpu.{number % 4}.{name}"] = 100
            after[f"interrupt_cpu.{number % 4}.{name}"] = 100 + number
    row = system_row(
        Snapshot("before", 0, 0, before), Snapshot("after", 10**9, 0, after), {"eth0": device}
    )
    counts = row.interfaces["eth0"]
    assert dict(counts.queues) == {name: len(names) - 1 - i for i, name in enumerate(names)}
    assert counts.all_interrupts == sum(range(len(names))) == sum(counts.interrupts.values())
    of_data = [name for name in counts.queues if "TxRx" in name or "comp" in name]
    assert of_data == [name for name in names if name in of_data]  # 2 before 10
    text = system_log(LogHead("client", "a", "now", "TCP"), [row, row])
    title, heading, first, _ = text.split("\n\n\n")[-1].splitlines()
    assert title == "# interrupts of eth0 by queue"
    assert heading.split() == ["#No", "Window_s", "IfIntr", *counts.queues]
    assert first.split()[2:] == [str(n) for n in (counts.all_interrupts, *counts.queues.values())]


def test_a_queue_whose_counter_was_full_is_counted_right():
    """A CPU's counter of 32 bits begins again, beside another's that is large, too."""
    full = {"interrupt_cpu.0.eth0": W32 - 10, "interrupt_cpu.1.eth0": W32 - 100}
    more = {"interrupt_cpu.0.eth0": 5, "interrupt_cpu.1.eth0": W32 - 99}
    before, after = (
        Snapshot("", 0, 0, {"interface.eth0.rx_bytes": 0, "interrupt.eth0": sum(c.values()), **c})
        for c in (full, more)
    )
    assert system_row(before, after).interfaces["eth0"].queues == {"eth0": 16}


def test_devices_are_found_among_the_facts():
    facts = {"interface.eth0.device": "virtio2", "interface.eth0.mtu": 1500, "cpu.count": 2}
    assert devices_of(facts) == {"eth0": "virtio2"}


def test_what_comes_and_goes():
    before = snapshot(interface__eth0__rx_bytes=5, cpu__0__user=1, cpu__0__idle=10)
    after = snapshot(
        1.0,
        **{"interface.wlan0.rx_bytes": 900, "cpu.0.user": 11, "cpu.0.idle": 5},
        **{"cpu.1.user": 500, "cpu.1.idle": 100},
    )
    row = system_row(before, after)
    assert list(row.interfaces) == ["wlan0"]
    assert row.interfaces["wlan0"].received_bytes == 0
    assert list(row.processors) == ["0"]  # of one that came there is nothing to compare with yet
    assert list(system_row(after, after).processors) == ["0", "1"]
    assert row.processors["0"].load == 100.0  # an idle time that went back counts as none
    assert row.interrupts is None
    text = system_log(LogHead("client", "a", "now", "TCP"), [system_row(before, before), row])
    assert "nan" in text


def test_names_in_order():
    values = {f"interface.{name}.rx_bytes": 0 for name in ("lo", "eth1", "eth0", "eth0:1")}
    assert interface_names(values) == ["eth0", "eth0:1", "eth1", "lo"]
    assert processor_names({f"cpu.{n}.user": 0 for n in (10, 2, "all")}) == ["all", "2", "10"]
