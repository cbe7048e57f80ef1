"""The MTU of a lab's links while something is measured; put back whatever ends it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from typing import Self

from netsonde.errors import HostError, UsageError
from netsonde.lab import links
from netsonde.lab.cluster import Lab
from netsonde.lab.host import enter_command
from netsonde.limits import limit_s

# It waits for the end of its input, which the end of the writing process brings as well, a kill
# too; then it puts back.
_PUT_BACK = 'cat >/dev/null; printf "%s" "$1" | "$2" -batch - && printf "%s" "$3" | "$4" -batch -'
PUT_BACK_TIMEOUT_S = limit_s("lab-mtu")


class LinkMtu:
    """Gives hosts of a lab, at both ends of their links, another MTU; a context manager.

    From its beginning a process waits in each host, and one where the switch is, for this process
    to end, and then gives the links their own MTU again. Raises HostError where the lab refuses.
    """

    def __init__(self, lab: Lab, hosts: Sequence[str]) -> None:
        self._lab = lab
        self._numbers = sorted({lab.hosts.index(lab.host(name)) + 1 for name in hosts})
        self._menders: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            for pid, ip, tc in self._places(None):
                self._menders.append(self._mender(pid, ip, tc))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self, mtu_bytes: int) -> None:
        """Raises UsageError where the lab's links cannot have this MTU."""
        spec = self._lab.spec
        if spec.fabric is None:
            if spec.rate_bit_per_s is not None and spec.buffer_bytes < links.frame_bytes(mtu_bytes):
                raise UsageError(
                    f"a packet of mtu {mtu_bytes} does not fit the lab's buffer of "
                    f"{spec.buffer_bytes} bytes; give it a larger buffer"
                )
            return
        lines = [link[way] for link in spec.fabric["topology"]["links"] for way in ("up", "down")]
        most = min(links.mtu_of_line(line) for line in lines)
        if mtu_bytes > most:
            raise UsageError(
                f"mtu {mtu_bytes} is more than the lab's links take, {most}; write the largest one "
                "under [link] of its scenario"
            )

    def set(self, mtu_bytes: int) -> None:
        """Takes effect for connections that are opened from now on."""
        self.check(mtu_bytes)
        for pid, ip, tc in self._places(mtu_bytes):
            links.run_batch("ip", ip, self._enter(pid))
            links.run_batch("tc", tc, self._enter(pid))

    def close(self) -> None:
        """Gives the links their own MTU again and waits until they have it. Idempotent."""
        menders, self._menders = self._menders, []
        for mender in menders:
            assert mender.stdin is not None
            mender.stdin.close()
            mender.stdin = None
        words = [text for text in map(_ending, menders) if text]
        if words and self._lab.alive:
            raise HostError(f"the lab's MTU could not be put back: {words[0]}")

    def _places(self, mtu_bytes: int | None) -> list[tuple[int, list[str], list[str]]]:
        """(process to enter, lines for ip, lines for tc), for the links' own MTU with None."""
        spec = self._lab.spec
        has_bridge = spec.fabric is None
        places = [
            (
                self._lab.hosts[number - 1].holder,
                links.host_mtu(spec, number, mtu_bytes),
                # The buckets of a switch's hosts are deep enough for the longest packet.
                links.host_buckets(spec, number, mtu_bytes) if has_bridge else [],
            )
            for number in self._numbers
        ]
        if has_bridge:
            ip, tc = links.port_mtu(spec, self._numbers, mtu_bytes)
            places.append((self._lab.made["init_pid"], ip, tc))
        return places

    def _enter(self, pid: int) -> list[str]:
        return enter_command(pid, rootless=bool(self._lab.made["rootless"]))

    def _mender(self, pid: int, ip: Sequence[str], tc: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                *(*self._enter(pid), "/bin/sh", "-c", _PUT_BACK, "sh"),
                *("".join(f"{line}\n" for line in ip), links.find_tool("ip")),
                *("".join(f"{line}\n" for line in tc), links.find_tool("tc")),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; it learns from its pipe
        )


def _ending(mender: subprocess.Popen[bytes]) -> str:
    """What went wrong, in the tool's words; empty where all is as it was."""
    try:
        words = mender.communicate(timeout=PUT_BACK_TIMEOUT_S)[1]
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            mender.kill()
        mender.communicate()
        return f"no answer within {PUT_BACK_TIMEOUT_S:.0f} s"
    if mender.returncode == 0:
        return ""
    return words.decode(errors="replace").strip()[:300] or f"status {mender.returncode}"
