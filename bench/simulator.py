"""How fast the simulator is: ``python -m bench.simulator [PATH-OF-SONDE-SIM]``.

Prints packet hops (packets put on a line) for each second of processor time, of jobs that differ in
what they ask of it: queues at one output, many queues at once, head-of-line blocking, windows with
losses, and a collective on a large tree.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

PAYLOAD_BYTES = 1492
GO_BACK_N = {
    "kind": "go_back_n",
    "window_packets": 24,
    "timeout_ns": 49_216_000,
    "control_bytes": 46,
}


def one_switch(
    hosts: int,
    switch: Mapping[str, Any],
    workload: Mapping[str, Any],
    transport: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """So many hosts at 100 Mbit/s on one switch."""
    return {
        "simulation": 1,
        "host_kinds": {"pc": {}},
        "link_kinds": {"fast": {"rate_bit_per_s": 100_000_000}},
        "switch_kinds": {"s": dict(switch)},
        "switches": [{"name": "s0", "kind": "s"}],
        "hosts": [{"switch": "s0", "count": hosts, "kind": "pc", "link": "fast"}],
        "transport": dict(transport or {"kind": "datagram"}),
        "workload": {**workload, "payload_bytes": PAYLOAD_BYTES},
        "record": {"ranks": False},
    }


def tree(leaves: int, hosts: int, workload: Mapping[str, Any]) -> dict[str, Any]:
    """So many leaf switches of so many hosts below one root."""
    scenario = one_switch(2, {"architecture": "output", "cut_through": True}, workload)
    scenario["link_kinds"]["up"] = {"rate_bit_per_s": 10_000_000_000}
    names = [f"leaf{i}" for i in range(leaves)]
    scenario["switches"] += [
        {"name": name, "kind": "s", "parent": "s0", "link": "up"} for name in names
    ]
    scenario["hosts"] = [
        {"switch": name, "count": hosts, "kind": "pc", "link": "fast"} for name in names
    ]
    return scenario


def jobs() -> dict[str, dict[str, Any]]:
    """What is measured, by name."""
    output = {"architecture": "output", "buffer_packets": 95}
    gather = {"kind": "many_to_one", "target": 0}
    uniform = {"kind": "uniform"}
    exchange = {"kind": "schedule", "algorithm": "alltoall/synchronous-shuffle"}
    broadcast = {"kind": "schedule", "algorithm": "broadcast/binomial"}
    return {
        "15 to one, datagrams": one_switch(
            16, {"architecture": "output"}, {**gather, "packets": 200_000}
        ),
        "15 to one, Go-Back-N with losses": one_switch(
            16, output, {**gather, "packets": 100_000}, GO_BACK_N
        ),
        "16 uniform, output": one_switch(16, output, {**uniform, "packets": 300_000}),
        "16 uniform, input": one_switch(
            16, {"architecture": "input", "buffer_packets": 43}, {**uniform, "packets": 300_000}
        ),
        "256 uniform, output": one_switch(256, output, {**uniform, "packets": 20_000}),
        "1,024 hosts exchange 16 packets": tree(16, 64, {**exchange, "block_packets": 16}),
        "65,536 hosts broadcast": tree(1024, 64, {**broadcast, "block_bytes": PAYLOAD_BYTES}),
    }


def run(program: str, scenario: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """The values of the last record, and the processor time in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(
        [program, "run"], input=json.dumps(scenario), capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    values: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])["values"]
    return values, spent


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else "sonde-sim"
    print(f"{'job':34} {'hops':>12} {'events':>12} {'time':>9} {'hops/s':>10}")
    for name, scenario in jobs().items():
        values, spent = run(program, scenario)
        rate = values["packet_hops"] / max(spent, 1e-3)
        print(
            f"{name:34} {values['packet_hops']:12,} {values['events']:12,}"
            f" {spent:7.2f} s {rate / 1e6:7.2f} M",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
