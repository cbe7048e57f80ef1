"""The processes that a lab is made of: ``python -m netsonde.lab.keeper``.

::

    keeper          watches the owner's pipe; in the machine's own namespaces
      init          pid 1 of the lab's pid namespace; its network namespace holds the switch
        host h1     holds the namespaces of one host
        host h2     ...

Each link of this chain ends with the one above it: the keeper when the owner's pipe closes, init
with the keeper (parent death signal), and everything else in the lab with init (that is what the
kernel does with a pid namespace). So there is no way to end that leaves something.

Standard input carries the specification, one JSON line, then nothing, or ``detach`` once the lab
shall outlive its owner. Standard output carries one JSON line: what was made, or why not.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from netsonde.errors import HostError, NetsondeError
from netsonde.lab import kernel, links
from netsonde.lab.brake import hold_back
from netsonde.lab.offload import switch_bundling_off
from netsonde.lab.receiving import receive_in_threads, receivers
from netsonde.lab.spec import LabSpec, host_name
from netsonde.lab.switch import calibrate, start_switch

SPEC_LIMIT_BYTES = 1 << 20
REPORT_LIMIT_BYTES = 65536
REAP_POLL_S = 0.01
CREDENTIALS = struct.Struct("iII")  # pid, uid, gid
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EINVAL)  # not allowed, too many, unknown
PRIVATE = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC


def main() -> int:
    spec = LabSpec(**json.loads(_read_line(0, SPEC_LIMIT_BYTES)))
    os.chdir("/")
    kernel.set_process_name("netsonde-lab")
    try:
        rootless = not kernel.may_make_namespaces()
        if rootless:
            kernel.become_root_of_a_user_namespace()
        kernel.unshare(kernel.CLONE_NEWPID, "a pid namespace")
        report_end, init_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        report_end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        init = _fork(partial(_init, spec, init_end, report_end), "netsonde-init")
    except OSError as error:
        _answer({"error": _sentence(error)})
        return 3
    init_end.close()
    # Also Python's way to leave poll(): the exception runs the clean-up below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        return _watch(init, report_end, rootless)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(init)


def _watch(init: int, report_end: socket.socket, rootless: bool) -> int:
    """Passes init's report on, then waits until the owner or init ends."""
    holders: dict[str, dict[str, int]] = {}
    poller = select.poll()
    poller.register(0, select.POLLIN)
    poller.register(report_end, select.POLLIN)
    poller.register(os.pidfd_open(init), select.POLLIN)
    while True:
        ready = {fd for fd, _ in poller.poll()}
        if report_end.fileno() in ready:
            report, pid = _receive(report_end)
            if "host" in report:
                holders[report["host"]] = {"pid": pid, "lab_pid": report["lab_pid"]}
                continue
            poller.unregister(report_end)
            if "ready" not in report:
                _answer(report)
                return 3
            _answer(_made(init, holders, report["ready"], rootless))
            _to_null(1, 2)
        elif 0 in ready:
            if _read_line(0, SPEC_LIMIT_BYTES) != "detach":
                return 0
            poller.unregister(0)
            _to_null(0)
        else:
            return 0


def _made(
    init: int, holders: dict[str, dict[str, int]], ready: dict[str, Any], rootless: bool
) -> dict[str, object]:
    """What was made, with each holder's pid here and as /proc inside the lab names it."""
    hosts = {
        name: {
            "pid": holder["pid"],
            "start_ticks": kernel.start_time_ticks(holder["pid"]),
            "lab_pid": holder["lab_pid"] if ready["own_proc"] else holder["pid"],
        }
        for name, holder in holders.items()
    }
    facts = {
        "init_pid": init,
        "rootless": rootless,
        "ipv6": ready["ipv6"],
        "calibration": ready["calibration"],
        "receive": ready["receive"],
        "hosts": hosts,
    }
    return {"ready": facts}


def _init(spec: LabSpec, report: socket.socket, keepers_end: socket.socket) -> NoReturn:
    """Pid 1 of the lab: makes everything, then reaps until a host's holder or the switch ends."""
    keepers_end.close()  # so that a report to a keeper that has gone fails
    kernel.die_with_parent()
    try:
        _to_null(0, 1, 2)
        kernel.unshare(kernel.HOST_NAMESPACES, "namespaces for network, mounts, IPC and host name")
        kernel.allow_inspection()
        # Mounts that the machine makes later appear in the lab; none of the lab's appear outside.
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SLAVE)
        kernel.set_host_name("switch")
        own_proc = _mount_if_allowed("proc", "/proc")
        if not own_proc and any(s["slow_down"] > 1 for s in spec.host_settings.values()):
            raise HostError("hosts cannot be slowed down here: the lab may not mount its own /proc")
        receive = receivers(spec)
        needed = _make_hosts(spec, report, threaded=receive["by"] == "threads")
        calibration = calibrate(spec) if spec.fabric is not None else None
        ready = {
            "own_proc": own_proc,
            "ipv6": _has_ipv6(),
            "calibration": calibration,
            "receive": receive,
        }
        report.send(json.dumps({"ready": ready}).encode())
    except (OSError, NetsondeError) as error:
        report.send(json.dumps({"error": _sentence(error)}).encode())
        os._exit(3)
    report.close()
    while os.waitpid(-1, 0)[0] not in needed:
        pass
    os._exit(0)


def _make_hosts(spec: LabSpec, report: socket.socket, *, threaded: bool) -> set[int]:
    """Starts the hosts' holders and joins them to the switch; the pids that the lab needs."""
    ipv6 = _has_ipv6()
    lines: dict[int, socket.socket] = {}
    pids: dict[int, int] = {}
    for number in range(1, spec.hosts + 1):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pids[number] = _fork(
            partial(_hold, spec, number, ipv6, threaded, there, report),
            f"netsonde-{host_name(number)}",
        )
        there.close()
        lines[number] = here
    networks = _all_say("separate", lines)
    needed = set(pids.values())
    if spec.fabric is None:
        _forward_unfiltered()
        links.run_batch("ip", links.switch_links(pids))
        links.run_batch("bridge", links.switch_stations(list(pids)))
        links.run_batch("tc", links.switch_buckets(spec))
    else:
        needed.add(start_switch(spec, networks, threaded=threaded))
    for network in networks:
        os.close(network)
    for line in lines.values():
        line.send(b"linked")
    _all_say("ready", lines)
    return needed


def _all_say(word: str, lines: dict[int, socket.socket]) -> list[int]:
    """Waits until all have said the word; descriptors that came with it. Raises HostError."""
    came: list[int] = []
    for number, line in lines.items():
        content, descriptors, _, _ = socket.recv_fds(line, REPORT_LIMIT_BYTES, 1)
        came += descriptors
        if content.decode() != word:
            raise HostError(
                content.decode() or f"host {host_name(number)} of the lab ended as it was made"
            )
    return came


def _hold(
    spec: LabSpec,
    number: int,
    ipv6: bool,
    threaded: bool,
    line: socket.socket,
    report: socket.socket,
) -> NoReturn:
    """One host: makes its namespaces and what is in them, then only exists."""
    try:
        kernel.unshare(kernel.HOST_NAMESPACES, "a host's namespaces")
        kernel.allow_inspection()
        kernel.set_host_name(host_name(number))
        _mount_host_files(spec, number, ipv6)
        network = os.open("/proc/self/ns/net", os.O_RDONLY)
        socket.send_fds(line, [b"separate"], [network])
        os.close(network)
        line.recv(REPORT_LIMIT_BYTES)
        if spec.fabric is None:
            # So that the device counts what a real card would: frames of the link, not the
            # bundles that the kernel passes on within one machine. A TAP device knows no bundles.
            switch_bundling_off(links.HOST_DEVICE)
        elif threaded:
            receive_in_threads(links.HOST_DEVICE)
        _forget_connections()
        links.run_batch("ip", links.host_links(spec, number, ipv6=ipv6))
        links.run_batch("tc", links.host_buckets(spec, number))
        # The kernel tells the keeper which process said this, in the keeper's own pids.
        said = {"host": host_name(number), "lab_pid": os.getpid()}
        report.send(json.dumps(said).encode())
        line.send(b"ready")
    except (OSError, NetsondeError) as error:
        line.send(_sentence(error).encode())
        os._exit(3)
    report.close()
    line.close()
    slow_down = spec.host_settings.get(host_name(number), {}).get("slow_down", 1.0)
    if slow_down > 1.0:
        hold_back(slow_down)
    while True:
        signal.pause()


def _forget_connections() -> None:
    """TCP of this host starts each connection afresh, with nothing kept of earlier ones.

    Where /proc/sys may not be written, as in some containers, it stays as it is; a run records it.
    """
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1\n")


def _forward_unfiltered() -> None:
    """The bridge hands its frames to no packet filter, as a switch has none: where the module is
    loaded, its hooks cost a part of every frame's way and may put fragments together.

    The settings are those of the switch's own network namespace. Where they may not be written they
    stay as they are.
    """
    for name in ("iptables", "ip6tables", "arptables"):
        with contextlib.suppress(OSError):
            Path(f"/proc/sys/net/bridge/bridge-nf-call-{name}").write_text("0\n")


def _mount_host_files(spec: LabSpec, number: int, ipv6: bool) -> None:
    """The host's own /sys (its devices), /etc/hosts, /etc/hostname and /dev/shm."""
    _mount_own_sys()
    shared_memory = Path("/dev/shm")
    if not shared_memory.is_dir():
        raise HostError("the lab needs the folder /dev/shm, which is not there")
    files = {
        "hosts": links.hosts_file(spec.hosts, ipv6=ipv6),
        "hostname": f"{host_name(number)}\n",
    }
    # The files lie in a file system of their own, which the host's /dev/shm then hides.
    kernel.mount("tmpfs", str(shared_memory), "tmpfs", PRIVATE, "mode=755,size=1m")
    for name, content in files.items():
        (shared_memory / name).write_text(content)
        if Path("/etc", name).exists():
            kernel.mount(str(shared_memory / name), f"/etc/{name}", None, kernel.MS_BIND)
    kernel.mount("tmpfs", str(shared_memory), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV)


def _has_ipv6() -> bool:
    return Path("/proc/net/if_inet6").exists()


def _mount_own_sys() -> None:
    """A /sys that shows the host's devices, with the machine's control groups still in it."""
    before = os.open("/sys", os.O_PATH | os.O_DIRECTORY)
    try:
        groups = "fs/cgroup"
        if _mount_if_allowed("sysfs", "/sys") and Path("/sys", groups).is_dir():
            with contextlib.suppress(OSError):
                flags = kernel.MS_BIND | kernel.MS_REC
                kernel.mount(f"/proc/self/fd/{before}/{groups}", f"/sys/{groups}", None, flags)
    finally:
        os.close(before)


def _mount_if_allowed(kind: str, target: str) -> bool:
    """Mounts it unless the kernel forbids, as it does without root where a container masks it."""
    try:
        kernel.mount(kind, target, kind, PRIVATE)
    except PermissionError:
        return False
    return True


def _fork(body: Callable[[], NoReturn], name: str) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            kernel.set_process_name(name)
            body()
        finally:
            os._exit(70)
    return pid


def _end(init: int) -> None:
    """Kills init and with it everything in the lab; returns when all of it has gone."""
    entered = _entered(init)
    with contextlib.suppress(ProcessLookupError):
        os.kill(init, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(init, os.WNOHANG) == (0, 0):
            # Who waits for a process of the lab may have been stopped with it.
            for pid in entered:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)
            time.sleep(REAP_POLL_S)


def _entered(init: int) -> set[int]:
    """Processes outside the lab that have started one in it, and wait for its end."""
    inside: dict[int, int] = {}
    with contextlib.suppress(OSError):
        spaces = Path(f"/proc/{init}/ns/pid").stat().st_ino
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if (entry / "ns/pid").stat().st_ino == spaces:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    inside[int(entry.name)] = int(fields[1])
    return set(inside.values()) - inside.keys() - {os.getpid()}


def _receive(report_end: socket.socket) -> tuple[dict[str, Any], int]:
    """The next report and the pid of who sent it; an error report where init has ended."""
    content, ancillary, _, _ = report_end.recvmsg(
        REPORT_LIMIT_BYTES, socket.CMSG_SPACE(CREDENTIALS.size)
    )
    if not content:
        return {"error": "the lab ended as it was made"}, 0
    pid: int = CREDENTIALS.unpack(ancillary[0][2])[0]
    report: dict[str, Any] = json.loads(content)
    return report, pid


def _read_line(fd: int, limit_bytes: int) -> str:
    """One line, or what came before the end. Reads nothing beyond it."""
    content = bytearray()
    while len(content) < limit_bytes:
        byte = os.read(fd, 1)
        if byte in (b"", b"\n"):
            break
        content += byte
    return content.decode()


def _answer(answer: dict[str, object]) -> None:
    # An owner that has gone is noticed by its pipe.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(answer).encode() + b"\n")


def _to_null(*fds: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(null, fd)
    os.close(null)


def _sentence(error: Exception) -> str:
    """Why there is no lab, and what to do."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    if error.errno in REFUSALS:
        return (
            f"no lab can be had here: {reason}; run as root, or allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns"
            ", user.max_user_namespaces; in a container its privileges)"
        )
    if error.errno == errno.EMFILE:
        return (
            f"no lab can be had here: {reason}; it needs three for each host, raise the limit "
            "(ulimit -n)"
        )
    return f"no lab can be had here: {reason}"


if __name__ == "__main__":
    sys.exit(main())
