"""A test between two tasks of a virtual machine of its own, which is there for one session.

A worker on each host starts that host's daemon, in a folder of its own, and is a task of the
machine. The first daemon asks for what each further one is started with, and is told what that
answers; so the hosts are reached by netsonde's launchers, and never in the daemons' own way. The
daemons end with their workers, and their files are removed as soon as all tasks are in.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netsonde.catalogue.options.tasks import LOCAL
from netsonde.catalogue.transport import transport_row
from netsonde.errors import UsageError
from netsonde.launch.flows import FlowsSession
from netsonde.launch.host import Host, check_origin
from netsonde.launch.local import target_address
from netsonde.launch.pair import PairSession
from netsonde.launch.session import SLACK_S, Record
from netsonde.launch.worker import Worker, start_worker, wait_all
from netsonde.limits import limit_s

DAEMON_TIMEOUT_S = limit_s("tasks-daemon")
JOIN_TIMEOUT_S = limit_s("tasks-join")
NORMAL = "normal"
"""The route that the workers know for both."""


@dataclass(frozen=True)
class Place:
    """A worker, and the address of its host that the others reach it by. Several may have one."""

    worker: Worker
    address: str


def open_tasks(
    origin: Host,
    target: Host,
    transport: str,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
    target_options: Mapping[str, object] | None = None,
) -> PairSession:
    """Starts a virtual machine of the two hosts and has a task of each meet the other's.

    options are those of a request, of both ends where target_options is not given; on the route
    ``local`` both tasks are the origin's host's. Raises HostError, with everything ended, where an
    end fails.
    """
    target_options = target_options or options
    if options and options.get("route") == LOCAL:
        target = origin
        options, target_options = (
            {**given, "route": NORMAL} for given in (options, target_options or {})
        )
    (session,) = _open(
        [(origin, target)], transport, family, options, target_options, threading.Condition()
    )
    return session


def open_task_flows(
    ends: Sequence[tuple[Host, Host]],
    transport: str,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
    target_options: Mapping[str, object] | None = None,
) -> FlowsSession:
    """Starts a virtual machine of all hosts, in which two tasks of each (origin, target) meet:
    those of one host share its daemon. Raises HostError, with everything ended, where an end
    fails."""
    options = dict(options or {})
    if options.get("route") == LOCAL:
        raise UsageError("route local is of two tasks on one host, not of many hosts")
    wakeup = threading.Condition()
    return FlowsSession(_open(ends, transport, family, options, target_options or options, wakeup))


def _open(
    ends: Sequence[tuple[Host, Host]],
    transport: str,
    family: str,
    options: Mapping[str, object] | None,
    target_options: Mapping[str, object] | None,
    wakeup: threading.Condition,
) -> list[PairSession]:
    row = transport_row(transport)
    if family not in row.families:
        raise UsageError(
            f"{row.title} does not know {family}: leave out --ipv6, or family under [path]"
        )
    for origin, _ in ends:
        check_origin(origin)
    program = row.worker
    addresses = _addresses(ends, family)
    with contextlib.ExitStack() as stack:

        def place(host: Host) -> Place:
            worker = start_worker(host, family=family, wakeup=wakeup, program=program)
            return Place(stack.enter_context(worker), addresses[host.kind, host.name])

        # The target first: where it refuses, nothing has been started at the origin.
        pairs = [tuple(reversed([place(target), place(origin)])) for origin, target in ends]
        places = [one for pair in pairs for one in pair]
        tasks = start_machine(places)
        sessions = []
        for number, (here, there) in enumerate(pairs):
            workers = (here.worker, there.worker)
            opened = _meet(workers, tasks[2 * number + 1], options, target_options)
            sessions.append(PairSession(transport, *workers, opened))
        tidy(places)
        stack.pop_all()
    return sessions


def _addresses(ends: Sequence[tuple[Host, Host]], family: str) -> dict[tuple[str, str], str]:
    """Where each host is reached by those that it has to do with: this machine by another address
    than loopback, where others are there."""
    found: dict[tuple[str, str], str] = {}
    for origin, target in ends:
        for host, other in ((origin, target), (target, origin)):
            key = (host.kind, host.name)
            if key not in found or key != (other.kind, other.name):
                found[key] = target_address(other, host, family)
    return found


def start_machine(places: Sequence[Place]) -> list[str]:
    """Starts a daemon on each host, the first worker's first, and has every worker enrol; their
    tasks. The workers share a ``wakeup``. Raises HostError."""
    owners = _owners(places)
    first, *further = owners.values()
    limit = {"timeout_ns": round(DAEMON_TIMEOUT_S * 1e9)}
    wait_s = DAEMON_TIMEOUT_S + SLACK_S
    folders = {
        first.address: first.worker.values(
            "start_machine",
            wait_s,
            address=first.address,
            others=[place.address for place in further],
            **limit,
        )["folder"]
    }
    for place in further:  # in this order they are asked for
        asked = first.worker.values("await_host", wait_s, **limit)["arguments"]
        started = place.worker.values(
            "start_daemon", wait_s, address=place.address, arguments=asked, **limit
        )
        folders[place.address] = started["folder"]
        first.worker.values("add_host", wait_s, introduction=started["introduction"], **limit)
    return _join(places, folders)


def tidy(places: Sequence[Place]) -> None:
    """Removes the daemons' files, which nobody needs any more by their names: whatever ends the
    machine, none is left. Raises HostError."""
    asked = [(place.worker, place.worker.submit("tidy")) for place in _owners(places).values()]
    wait_all(asked, SLACK_S)


def _owners(places: Sequence[Place]) -> dict[str, Place]:
    """By address, who has the daemon of a host."""
    owners: dict[str, Place] = {}
    for place in places:
        owners.setdefault(place.address, place)
    return owners


def _join(places: Sequence[Place], folders: Mapping[str, str]) -> list[str]:
    """The first one's daemon knows whether all hosts are there, so it is asked before the others:
    theirs let nobody in until then."""
    limit = {"timeout_ns": round(JOIN_TIMEOUT_S * 1e9)}
    wait_s = JOIN_TIMEOUT_S + SLACK_S

    def asked(place: Place) -> tuple[Worker, int]:
        folder = folders[place.address]
        fields = {"hosts": len(folders), "folder": folder, **limit}
        return place.worker, place.worker.submit("join", **fields)

    first, *further = places
    answers = wait_all([asked(first)], wait_s)
    if further:
        answers += wait_all([asked(place) for place in further], wait_s)
    return [str(records[-1]["values"]["task"]) for records in answers]


def _meet(
    workers: tuple[Worker, Worker],
    target_task: str,
    options: Mapping[str, object] | None,
    target_options: Mapping[str, object] | None,
) -> dict[int, Record]:
    origin, target = workers
    limit = {"timeout_ns": round(JOIN_TIMEOUT_S * 1e9)}
    # The origin sets the route up, so that it knows more of what went wrong: it speaks first.
    later = {"timeout_ns": round((JOIN_TIMEOUT_S + SLACK_S) * 1e9)}
    target.values("listen", SLACK_S, options=dict(target_options or {}))
    requests = [
        (target, target.submit("open", role="target", **later)),
        (
            origin,
            origin.submit(
                "open", role="origin", task=target_task, options=dict(options or {}), **limit
            ),
        ),
    ]
    target_records, origin_records = wait_all(requests, JOIN_TIMEOUT_S + 2 * SLACK_S)
    return {0: origin_records[-1]["values"], 1: target_records[-1]["values"]}
