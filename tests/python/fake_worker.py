"""A worker that only speaks: no traffic, and one kind of misbehaviour if MODE says so.

It stands alone, since it is also run by a user who may read nothing else.
"""

import base64
import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

MODE = "good"
VERSION = "0.2.0"


def write(record):
    line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    while line:
        line = line[os.write(1, line) :]


class Fake:
    def __init__(self):
        self.rank = 0

    def base(self, kind, request):
        return {"record": kind, "request": request, "rank": self.rank, "host": "fake"}

    def done(self, request, verb, values):
        write({**self.base("done", request), "verb": verb, "values": values})

    def hello(self):
        if MODE == "silent_hello":
            time.sleep(60)
        if MODE == "garbage_hello":
            os.write(1, b"Welcome to this host!\n")
            time.sleep(60)
        if MODE == "dead_hello":
            sys.stderr.write("first line\nlibmissing.so: cannot open\n")
            sys.exit(127)
        version = "9.9.9" if MODE == "other_version" else VERSION
        protocol = 2 if MODE == "other_protocol" else 1
        clock = {
            "source": "monotonic",
            "tick_ns": 1.0,
            "resolution_ns": 1.0,
            "cost_ns": 20.0,
            "reason": "fake",
        }
        write(
            {
                "record": "hello",
                "protocol": protocol,
                "worker": "sonde-worker",
                "version": version,
                "host": "fake",
                "rank": 0,
                "ranks": 1,
                "pid": os.getpid(),
                "clock": clock,
            }
        )

    def series(self, request, values, name="round_trip_ns"):
        content = base64.b64encode(struct.pack(f"<{len(values)}q", *values)).decode()
        write(
            {
                **self.base("series", request),
                "name": name,
                "unit": "ns",
                "offset": 0,
                "count": len(values),
                "total": len(values),
                "values": content,
            }
        )

    def run(self, request, fields):
        match MODE:
            case "garbage":
                os.write(1, b"\xff\x00not json\n")
                time.sleep(60)
            case "nested":
                os.write(1, b"[" * 100000 + b"\n")
                time.sleep(60)
            case "over_long":
                os.write(1, b"x" * ((1 << 20) + 70000))
                time.sleep(60)
            case "unknown_kind":
                write({**self.base("gossip", request)})
                time.sleep(60)
            case "extra_key":
                write({**self.base("done", request), "verb": "run", "values": {}, "more": 1})
                time.sleep(60)
            case "wrong_request":
                self.done(request + 7, "run", {})
                time.sleep(60)
            case "wrong_rank":
                self.rank = 5
            case "silent":
                time.sleep(60)
            case "exit":
                sys.stderr.write("some noise\nout of luck\n")
                sys.exit(3)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "bye":
                write({"record": "bye", "rank": self.rank, "host": "fake", "reason": "deadline"})
                sys.exit(0)
            case "system" | "peer_lost" | "timeout":
                if MODE == "system":
                    time.sleep(0.3)  # the cause is often said after the consequence
                write(
                    {
                        **self.base("error", request),
                        "code": MODE,
                        "message": f"the fake says {MODE}",
                    }
                )
                return
            case "escape":
                write(
                    {
                        **self.base("error", request),
                        "code": "system",
                        "message": "\x1b[2Jowned\n" + "x" * 60000,
                    }
                )
                return
            case "flood":
                while True:
                    self.series(request, list(range(90000)))
            case "deaf":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(60)
        if self.rank == 0:
            self.series(request, list(range(1, fields.get("count", 10) + 1)))
        sent = fields["message_bytes"] * fields.get("count", 1)
        write(
            {
                **self.base("counters", request),
                "values": {"bytes_sent": sent, "bytes_received": sent},
            }
        )
        self.done(request, "run", {"ended_by": "count"})

    def facts(self, request):
        limits: dict[str, object] = {}
        for line in Path("/proc/self/status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key in ("NoNewPrivs", "CapEff", "Groups", "Uid"):
                limits[f"test.{key}"] = " ".join(value.split())
        limits["test.environment"] = " ".join(sorted(os.environ))
        limits["test.directory"] = str(Path.cwd())
        limits["test.descriptors"] = len(list(Path("/proc/self/fd").iterdir()))
        write({**self.base("facts", request), "values": {"host.name": "fake", **limits}})
        self.done(request, "facts", {})

    def answer(self, line):
        fields = json.loads(line)
        verb, request = fields["verb"], fields["request"]
        if verb == "listen":
            self.rank = 1
            port = 0 if MODE == "no_port" else 40000
            shown = {f"asked_{k}": fields[k] for k in ("allow_address", "address") if k in fields}
            self.done(request, verb, {"port": port, **shown})
        elif verb == "open":
            shown = {f"asked_{k}": fields[k] for k in ("role", "address") if k in fields}
            self.done(request, verb, {"send_buffer_bytes": 1, **shown})
        elif verb == "run":
            self.run(request, fields)
        elif verb in ("claim", "release"):  # nobody else has the host
            self.done(request, verb, {"holder" if verb == "claim" else "beside": ""})
        elif verb == "facts":
            self.facts(request)
        else:
            self.done(request, verb, {})
        return verb != "quit"


def main():
    if sys.argv[1:] == ["--version"]:
        print(f"sonde-worker {VERSION}")
        return
    fake = Fake()
    fake.hello()
    for line in sys.stdin.buffer:
        if not fake.answer(line):
            break
    write({"record": "bye", "rank": fake.rank, "host": "fake", "reason": "quit"})


main()
