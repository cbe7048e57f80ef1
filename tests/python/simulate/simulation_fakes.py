"""A sonde-sim for tests: it writes what the record format says, of a cluster that never loses."""

from __future__ import annotations

import os
import stat
import sys
import textwrap
from pathlib import Path

PROGRAM = textwrap.dedent(
    """
    import base64, json, os, signal, struct, sys, time

    plan = json.load(sys.stdin)
    mode = os.environ.get("FAKE_SIM", "")
    workload, seed = plan["workload"], plan["seed"]
    if "pid_file" in os.environ.get("FAKE_SIM_OPTIONS", ""):
        with open(os.environ["FAKE_SIM_PIDS"], "a") as file:
            file.write(f"{os.getpid()}\\n")
    if mode == "hang":
        time.sleep(60)
    if mode == "refuse" or workload.get("packets") == 13:
        sys.exit(sys.stderr.write("sonde-sim: workload: 13 packets are unlucky\\n") and 2)
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "garbage":
        print("no record")
        sys.exit(0)

    def put(record, rank=0, **fields):
        head = {"record": record, "request": 1, "rank": rank, "host": f"h{rank}"}
        print(json.dumps({**head, **fields}))

    def series(rank, name, unit, values):
        packed = base64.b64encode(struct.pack(f"<{len(values)}q", *values)).decode()
        put("series", rank, name=name, unit=unit, total=len(values), offset=0,
            count=len(values), values=packed)

    hosts = sum(group["count"] for group in plan["hosts"])
    packets = workload.get("packets") or workload.get("block_packets") or 1
    payload = workload["payload_bytes"]
    senders = workload.get("senders", list(range(1, hosts)))
    # The fake's own truth: half as fast with every doubling of the window beyond 24.
    slot = (payload + 46) * 80
    window = plan["transport"].get("window_packets", 1)
    elapsed = int(len(senders) * packets * slot * max(1.0, window / 24)) + seed
    put("facts", values={"simulator.seed": seed, "simulator.hosts": hosts})
    series(0, "completion_ns", "ns", [elapsed] * hosts)
    for rank in range(hosts):
        sends = rank in senders
        got = len(senders) * packets if rank == workload.get("target", 0) else 0
        if plan.get("record", {}).get("events") and sends:
            # P^9 N P^9 N TO P^9: c = 2/27, 1-a = 1/2, f = 1
            series(rank, "event_target", "count", [0] * 6)
            series(rank, "event_kind", "count", [0, 1, 0, 1, 2, 0])
            series(rank, "event_count", "count", [9, 1, 9, 1, 1, 9])
            series(rank, "event_ns", "ns", [1, 2, 3, 4, 5, 6])
        put("counters", rank, values={
            "start_ns": 0, "end_ns": elapsed,
            "packets_sent": packets * sends, "bytes_sent": packets * payload * sends,
            "packets_received": got, "bytes_received": got * payload,
            "packets_retransmitted": packets // 10 * sends, "time_outs": sends * 1,
        })
    put("done", verb="run", values={
        "ended_by": "idle" if mode == "idle" else "finished", "elapsed_ns": elapsed,
        "packets_created": 1000, "lost_overflow": 100, "lost_random": 0, "lost_receive_pool": 0,
    })
    """
)


def install(folder: Path) -> Path:
    """An executable called sonde-sim in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sonde-sim"
    path.write_text(f"#!{sys.executable} -S\n{PROGRAM}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert os.access(path, os.X_OK)
    return folder


SMALL = """
name = "small"
seed = 5
hosts = 4
[link]
rate = "100M"
[[switch]]
name = "s1"
preset = "ibm-8275-416"
[simulation.transport]
kind = "go-back-n"
window = 24
timeout_slots = 400
[simulation.workload]
kind = "many-to-one"
packets = 100
"""
