"""A running lab: brought up, used and taken down."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import HostError, NetsondeError, UsageError
from netsonde.lab import kernel, links, switch
from netsonde.lab.host import LabHost, enter_command
from netsonde.lab.spec import (
    FRAME_HEADER_BYTES,
    SWITCH_FRAME_BYTES,
    LabSpec,
    host_name,
    ipv4_address,
    ipv6_address,
)
from netsonde.launch.binaries import find_worker
from netsonde.launch.closing import Closing
from netsonde.launch.commands import answer_of
from netsonde.limits import limit_s

UP_TIMEOUT_S = limit_s("lab-up")
DOWN_TIMEOUT_S = limit_s("lab-down")
ANSWER_LIMIT_BYTES = 1 << 20


class Lab(Closing):
    """A running lab. As a context manager it is taken down at the end of the block.

    ``lab_up`` starts one that ends with this process, whatever ends it; ``detach`` lets it outlive
    this process; ``Lab(spec, made)`` is one that runs already (see netsonde.lab.registry).
    """

    def __init__(
        self,
        spec: LabSpec,
        made: Mapping[str, Any],
        keeper: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.spec = spec
        self.made = dict(made)
        self._keeper = keeper
        rootless = bool(made["rootless"])
        holders: Mapping[str, Mapping[str, int]] = made["hosts"]
        neighbours = " ".join(f"{name}={holders[name]['lab_pid']}" for name in spec.host_names)
        self.hosts = [
            LabHost(
                name=host_name(number),
                addresses=_addresses(number, ipv6=bool(made["ipv6"])),
                holder=holders[host_name(number)]["pid"],
                start_ticks=holders[host_name(number)]["start_ticks"],
                neighbours=neighbours,
                path=self.path_facts(),
                rootless=rootless,
                clocks=_clocks(spec),
                slowed=spec.host_settings.get(host_name(number), {}).get("slow_down", 1.0) > 1,
            )
            for number in range(1, spec.hosts + 1)
        ]

    @property
    def alive(self) -> bool:
        started: int = self.made["keeper_start_ticks"]
        return kernel.start_time_ticks(self.made["keeper_pid"]) == started

    def host(self, name: str) -> LabHost:
        """The host of that name. Raises UsageError where there is none."""
        for host in self.hosts:
            if host.name == name:
                return host
        raise UsageError(
            f"lab {self.spec.name!r} has no host {name!r}; "
            f"its hosts are {host_name(1)} to {host_name(self.spec.hosts)}"
        )

    def path_facts(self) -> dict[str, object]:
        """What the path between two hosts is made of, for a run's manifest."""
        if self.spec.fabric is not None:
            return fabric_facts(self.spec, self.made)
        shaped = self.spec.rate_bit_per_s is not None
        return {
            "kind": "lab",
            "link": "veth + bridge + token bucket" if shaped else "veth + bridge",
            "hosts": self.spec.hosts,
            "rate_bit_per_s": self.spec.rate_bit_per_s,
            "buffer_bytes": self.spec.buffer_bytes if shaped else None,
            "burst_bytes": self.spec.bucket_bytes if shaped else None,
            "port_burst_bytes": self.spec.port_bucket_bytes if shaped else None,
            "host_queue_bytes": self.spec.host_queue_bytes if shaped else None,
            "counted_frame_header_bytes": FRAME_HEADER_BYTES,
            "segmentation_offload": False,
            "rootless": bool(self.made["rootless"]),
        }

    def set_link(self, host: str, *, up: bool) -> None:
        """Plugs a host's cable in or pulls it, at the switch."""
        number = self.hosts.index(self.host(host)) + 1
        if self.spec.fabric is not None:
            self.ask_switch("carrier", {"host": host, "up": up})
            return
        state = "up" if up else "down"
        self.in_switch(["ip", "link", "set", links.port_name(number), state])

    def ask_switch(self, verb: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The switch's answer to a request. Raises UsageError where the lab has a bridge instead,
        HostError with the switch's words where it refuses."""
        return switch.ask(self.switch_command("ask"), verb, fields)

    def set_line(self, link: str, direction: str, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Changes a link while the lab runs; what was changed and when, as the switch notes it.

        direction: up, down or both; plan as in the switch's topology. Raises HostError.
        """
        changed = self.ask_switch("set", {"link": link, "direction": direction, "line": plan})
        rate = plan.get("rate_bit_per_s")
        if rate is not None and direction != "down" and link in self.spec.host_names:
            host = self.host(link)
            mtu_bytes = links.own_mtu(self.spec, self.hosts.index(host) + 1)
            self.in_host(host, ["tc", *links.card_bucket(rate, mtu_bytes).split()])
        return changed

    def switch_command(self, mode: str) -> list[str]:
        """``sonde-switch MODE`` as a command of this machine that runs it in the switch's place."""
        if self.spec.fabric is None:
            raise UsageError(
                f"lab {self.spec.name!r} has a bridge with token buckets, no switch that can do "
                "this; bring it up with links = 'switch' or --links switch"
            )
        if not self.alive:
            raise HostError(f"lab {self.spec.name!r} has ended; bring it up again")
        enter = enter_command(self.made["init_pid"], rootless=bool(self.made["rootless"]))
        return [*enter, self.spec.fabric["program"], mode]

    def in_switch(self, argv: Sequence[str]) -> str:
        """Runs ip or tc in the switch's namespaces; its output."""
        if not self.alive:
            raise HostError(f"lab {self.spec.name!r} has ended; bring it up again")
        return self._run(self.made["init_pid"], argv)

    def in_host(self, host: LabHost, argv: Sequence[str]) -> str:
        """Runs ip or tc in a host's namespaces; its output."""
        host.command(())  # says so where the host has gone
        return self._run(host.holder, argv)

    def detach(self) -> None:
        """Lets the lab outlive this process; from now on only close() or a signal ends it."""
        if self._keeper is None or self._keeper.stdin is None:
            return
        self._keeper.stdin.write(b"detach\n")
        self._keeper.stdin.close()
        self._keeper.stdin = None

    def close(self) -> None:
        """Ends every process in the lab; returns when nothing of it is left. Idempotent."""
        if self._keeper is not None:
            _end_own(self._keeper)
        elif self.alive:
            _end_other(self.made["keeper_pid"], self.spec.name)

    def _run(self, pid: int, argv: Sequence[str]) -> str:
        command = enter_command(pid, rootless=bool(self.made["rootless"]))
        try:
            asked = [*command, links.find_tool(argv[0]), *argv[1:]]
            done = answer_of(asked, links.BATCH_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise HostError(f"{argv[0]} did not answer in the lab") from error
        if done.returncode != 0:
            raise HostError(f"{' '.join(argv)} failed in the lab: {done.stderr.strip()[:300]}")
        return done.stdout


def lab_up(spec: LabSpec) -> Lab:
    """Brings a lab up that ends with this process.

    Raises HostError with the reason where none can be had here.
    """
    for tool in ("ip", "tc", "bridge", "nsenter", "setpriv"):
        links.find_tool(tool)
    if spec.fabric is not None:
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            raise HostError(
                "the lab's switch needs /dev/net/tun, which this user may not open; run as root, "
                "have it opened to this user, or use links = 'bridge'"
            )
        program = str(find_worker("sonde-switch"))
        spec = dataclasses.replace(spec, fabric={**spec.fabric, "program": program})
    keeper = _start_keeper(spec)
    try:
        answer = _read_answer(keeper)
        if "ready" not in answer:
            raise HostError(str(answer.get("error", "the lab could not be brought up")))
        made = {
            **answer["ready"],
            "keeper_pid": keeper.pid,
            "keeper_start_ticks": kernel.start_time_ticks(keeper.pid),
        }
        return Lab(spec, made, keeper)
    except BaseException:
        _end_own(keeper)
        raise


def permission_problem() -> str | None:
    """Why no lab can be had here, in a sentence; None where one can. Tries it, leaves nothing."""
    try:
        lab_up(LabSpec(hosts=1, name="probe")).close()
    except NetsondeError as error:
        return str(error)
    return None


def _start_keeper(spec: LabSpec) -> subprocess.Popen[bytes]:
    packages = str(Path(netsonde.__file__).resolve().parent.parent)
    keeper = subprocess.Popen(
        # Without the site module: it needs the standard library only, and starts sooner.
        [sys.executable, "-S", "-m", "netsonde.lab.keeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # Ctrl-C is for us; the keeper learns from its pipe
        env={**os.environ, "PYTHONPATH": packages},
    )
    assert keeper.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # its answer says why
        keeper.stdin.write(json.dumps(dataclasses.asdict(spec)).encode() + b"\n")
    return keeper


def _read_answer(keeper: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert keeper.stdout is not None
    assert keeper.stderr is not None
    deadline = time.monotonic() + UP_TIMEOUT_S
    content = bytearray()
    while not content.endswith(b"\n") and len(content) < ANSWER_LIMIT_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([keeper.stdout], [], [], left_s)[0]:
            raise HostError(f"the lab was not up within {UP_TIMEOUT_S:.0f} s")
        piece = os.read(keeper.stdout.fileno(), 65536)
        if not piece:
            words = keeper.stderr.read().decode(errors="replace").strip().splitlines()
            reason = words[-1][:300] if words else "its keeper ended without a word"
            raise HostError(f"the lab could not be brought up: {reason}")
        content += piece
    answer: dict[str, Any] = json.loads(content)
    return answer


def _end_own(keeper: subprocess.Popen[bytes]) -> None:
    """Closes the life line and waits; the kernel does the rest even where the keeper hangs."""
    if keeper.stdin is not None:
        keeper.stdin.close()
    else:
        keeper.terminate()
    try:
        keeper.wait(DOWN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    for pipe in (keeper.stdout, keeper.stderr):
        if pipe is not None:
            pipe.close()


def _end_other(keeper_pid: int, name: str) -> None:
    """Ends the keeper of a lab that another process started, and waits until it has gone."""
    try:
        keeper = os.pidfd_open(keeper_pid)
        try:
            signal.pidfd_send_signal(keeper, signal.SIGTERM)
            if not select.select([keeper], [], [], DOWN_TIMEOUT_S)[0]:
                raise HostError(
                    f"lab {name!r} did not end in {DOWN_TIMEOUT_S:.0f} s; "
                    f"its keeper is process {keeper_pid}"
                )
        finally:
            os.close(keeper)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        raise HostError(f"lab {name!r} belongs to another user") from error


def fabric_facts(spec: LabSpec, made: Mapping[str, Any]) -> dict[str, object]:
    """What the path through the switch is made of; one rate where all hosts' links have it."""
    assert spec.fabric is not None
    topology = spec.fabric["topology"]
    lines = [link[way] for link in topology["links"] for way in ("up", "down")]
    rates = {line["rate_bit_per_s"] for line in lines}
    return {
        "kind": "lab",
        "link": "user-space switch on TAP devices",
        "hosts": spec.hosts,
        "rate_bit_per_s": rates.pop() if len(rates) == 1 else None,
        "buffer_bytes": None,
        "burst_bytes": None,
        "counted_frame_header_bytes": SWITCH_FRAME_BYTES,
        "segmentation_offload": False,
        "rootless": bool(made["rootless"]),
        "topology": topology,
        "loop": spec.fabric["loop"],
        "calibration": made.get("calibration"),
        "receive": made.get("receive"),
    }


def _clocks(spec: LabSpec) -> str:
    return " ".join(
        f"{name}={settings['clock_offset_ns']},{settings['clock_drift_ppb']}"
        for name, settings in spec.host_settings.items()
    )


def _addresses(number: int, *, ipv6: bool) -> dict[str, str]:
    return {"ipv4": ipv4_address(number)} | ({"ipv6": ipv6_address(number)} if ipv6 else {})
