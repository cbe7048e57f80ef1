"""Where a study is measured: brings a testbed up, opens sessions on it, takes it down.

A testbed is the lab, loopback, or hosts that were named. It says of itself whether results are
``emulated`` or ``real``, and what is known of the path between its hosts.

Who measures on one kind of testbed does not wait for the modules of the others to load: these are
imported where they are used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from netsonde.busy import parse_busy
from netsonde.catalogue.launcher import HERE, is_closed
from netsonde.catalogue.point import AllPairs, EveryPair, Threads
from netsonde.catalogue.transport import some_ranks, transport_row
from netsonde.catalogue.within import WITHINS
from netsonde.errors import HostError, UnsupportedError, UsageError
from netsonde.hosts import parse_hosts
from netsonde.launch.contact import connect_all, failure_in_words, let_go_after
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import LocalHost
from netsonde.launch.session import Session
from netsonde.launch.worker import start_worker
from netsonde.patterns import OF_MANY, flows_of
from netsonde.records.carried import NODE
from netsonde.study.dropped import problems_of
from netsonde.study.open_sockets import EndHosts, open_sockets
from netsonde.study.plan import Job, PlannedPoint, job_of, longest_ns
from netsonde.study.spec import StudySpec

if TYPE_CHECKING:
    from netsonde.lab import Lab, LabSpec
    from netsonde.lab.mtu import LinkMtu
    from netsonde.launch.busy_hosts import BusyHosts
    from netsonde.launch.rounds import AnySession, RoundSession, StandingWorkers

Placed = tuple[int, str | None]
"""What tells jobs that run beside each other apart: ranks one after the other on a host, and what
their threads may do."""
KeptFor = tuple[str, int, str, tuple[str, ...] | None]
"""What points of all pairs must have in common for one session: transport, hosts, options, and who
is left out."""
KEPT_MOST = 512
"""Workers of all pairs that stay from point to point; they sleep."""
MANY_ON_LOOPBACK = 4
"""Hosts of a pattern where there is but one."""
WORK_LEAST_S = 600
"""Other work ends by itself after this and ten times the point's cap, if nobody ends it."""


class Testbed:
    """A context manager; ``open`` gives a session for a point and closes the one before where it
    cannot serve."""

    def __init__(self, spec: StudySpec, pair_code: str | None = None) -> None:
        self._spec = spec
        self._pair_code = pair_code
        self._stack = ExitStack()
        self._pair: Session | None = None
        self._kept: dict[KeptFor, Session] = {}
        self._mpi: dict[Placed, Session] = {}
        self._job: Job | None = None
        self._mpi_on: list[Host] | None = None
        self._standing: StandingWorkers | None = None
        self._origin: Host | None = None
        self._target: Host | None = None
        self._many: Sequence[Host] = ()
        self._between: dict[str, Host] = {}
        self._mpi_hosts: Sequence[Host] | None = None
        self._lab: Lab | None = None
        self._switch_used_ns = 0
        self._links: LinkMtu | None = None
        self._busy: BusyHosts | None = None
        self._mtu_bytes: int | None = None
        self.kind = spec.path.kind
        self.facts: dict[str, Any] = {}
        self.notice: str | None = None

    @property
    def label(self) -> str:
        """``emulated`` or ``real``: what every figure of a run on this testbed says of itself."""
        return "emulated" if self.kind == "lab" else "real"

    def __enter__(self) -> Self:
        try:
            self._bring_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close_sessions()
        finally:
            self._stack.close()

    def _bring_up(self) -> None:
        self._prepare_mpis()
        if self.kind == "auto":
            from netsonde.lab import permission_problem

            problem = permission_problem()
            self.kind = "loopback" if problem else "lab"
            if problem:
                self.notice = (
                    f"No emulated cluster can be had here ({problem}), so this run measures plain "
                    "loopback: the speed of this machine's network stack, not of a network."
                )
        if self.kind == "lab":
            self._bring_up_lab()
        elif self.kind == "loopback":
            if self._spec.path.between:
                raise UsageError("between names hosts of a lab, and none can be had here")
            self._origin = self._target = LocalHost()
            self._many = [self._origin] * max(MANY_ON_LOOPBACK, self._spec.lab.hosts)
            self.facts = {"kind": "loopback", "rate_bit_per_s": None}
        else:
            self._name_hosts()
        self.facts |= self._within_one_node()
        if self._spec.path.rate is not None:
            self._state_rate(self._spec.path.rate)
        if self._spec.mtus:
            self._prepare_mtus()

    def _within_one_node(self) -> dict[str, Any]:
        """How ranks of one node are to reach each other, and what the path is where nothing but
        them is measured."""
        hosts = self._mpi_hosts or []
        is_asked = any(some_ranks(block.transports) for block in self._spec.measure)
        several = len({host.name for host in hosts}) > 1
        if not is_asked or several or any(launcher_row(host).is_closed for host in hosts):
            return {}
        within = WITHINS[self._spec.mpi.within]
        if self._has_pairs():
            return {"within": within.name}
        return {"within": within.name, "kind": "loopback" if within.keeps_on else NODE}

    def _state_rate(self, rate_bit_per_s: int) -> None:
        """What the user says the path carries, where nobody here knows better."""
        if self.kind == "lab":
            raise UsageError(
                "a lab's links have the rate that the lab was given; leave out the stated one "
                "(--link-rate, or rate under [path])"
            )
        self.facts |= {"rate_bit_per_s": rate_bit_per_s, "rate_stated": True}

    def _prepare_mtus(self) -> None:
        """From now on the lab's links get their own MTU back when the testbed is taken down."""
        from netsonde.lab.mtu import LinkMtu

        if self._lab is None:
            raise UsageError(
                "mtu goes with a lab only, and none can be had here: interfaces of real hosts are "
                "not changed"
            )
        hosts = [self._origin, self._target, *self._many, *(self._mpi_hosts or [])]
        names = [host.name for host in hosts if host is not None]
        links = LinkMtu(self._lab, names)
        for mtu_bytes in self._spec.mtus:
            links.check(mtu_bytes)
        self._links = self._stack.enter_context(links)

    def _give_mtu(self, mtu_bytes: int | None) -> None:
        """Connections keep the segment that they began with, so none outlives a change."""
        if mtu_bytes is None or self._links is None or mtu_bytes == self._mtu_bytes:
            return
        self.close_sessions()
        self._mtu_bytes = None  # until it is known to be so
        self._links.set(mtu_bytes)
        self._mtu_bytes = mtu_bytes

    def _bring_up_lab(self) -> None:
        from netsonde.lab import lab_up

        lab = self._lab = self._stack.enter_context(lab_up(self._lab_spec()))
        if len(lab.hosts) < 2:
            raise UsageError("a study needs a lab of at least 2 hosts; set hosts = 2 under [lab]")
        self._origin, self._target = lab.hosts[0], lab.hosts[1]
        self._mpi_hosts = self._many = lab.hosts
        for name in self._spec.path.between_hosts:
            self._between[name] = lab.host(name)
        self._check_patterns()
        self.facts = lab.path_facts()

    def _lab_spec(self) -> LabSpec:
        from netsonde.lab import LabSpec
        from netsonde.lab.scenario import lab_spec, read_scenario

        table = self._spec.lab
        if table.scenario is not None:
            return dataclasses.replace(lab_spec(read_scenario(table.scenario)), name="study")
        return LabSpec(
            hosts=table.hosts,
            rate_bit_per_s=table.rate,
            buffer_bytes=table.buffer,
            burst_bytes=table.burst,
            name="study",
        )

    def begin_point(self) -> None:
        """Whatever point_checks() says of a point is of the time from now on."""
        if self._lab is not None:
            from netsonde.lab.observe import begin_watch

            self._switch_used_ns = begin_watch(self._lab)

    def point_checks(self) -> dict[str, Any]:
        """What is known of the point that was measured last: ``lab``, whether the emulated
        network was what it claims; ``busy``, what hosts' other work got. Ends that work."""
        found: dict[str, Any] = {}
        if self._lab is not None:
            from netsonde.lab.observe import kept_time

            kept = kept_time(self._lab, self._switch_used_ns)
            if kept is not None:
                found["lab"] = kept
        if self._busy is not None:
            busy, self._busy = self._busy, None
            found["busy"] = busy.rest()
        return found

    def _give_work(self, point: PlannedPoint) -> None:
        """The hosts' other work, from now until this point is checked or the next one begins."""
        self._end_work()
        asked = point.spec.chosen.busy
        work = parse_busy(asked) if asked is not None else None
        if work is None:
            return
        from netsonde.launch.busy_hosts import BusyHosts

        hosts = self._hosts_of(work.end, point)
        self._busy = BusyHosts(hosts, work, WORK_LEAST_S + 10 * longest_ns(point) / 1e9)

    def _hosts_of(self, end: str, point: PlannedPoint) -> list[Host]:
        if point.carrier.has_ranks:
            among = self._left_of(self._mpi_hosts, point) or [LocalHost()]
        elif point.kind.is_of_many:
            among = self._left_of(self._many, point)
        else:
            among = [host for host in (self._origin, self._target) if host is not None]
        chosen = {"origin": among[:1], "target": among[-1:], "both": [among[0], among[-1]]}
        return chosen.get(end, among)

    def _end_work(self) -> None:
        if self._busy is not None:
            busy, self._busy = self._busy, None
            busy.close()

    def _name_hosts(self) -> None:
        table = self._spec.path
        paired = parse_hosts(table.between_hosts, launcher=table.launcher)
        self._between = dict(zip(table.between_hosts, paired, strict=True))
        self._many = paired or parse_hosts(table.hosts, self._pair_code, table.launcher)
        if self._many:
            self._origin, self._target = self._many[0], self._many[-1]
        else:
            targets = parse_hosts([table.target], self._pair_code, table.launcher)
            origins = parse_hosts([table.origin], launcher=table.launcher)
            if len(targets) == 2 and table.origin == HERE.word:  # lab:h1,h2 names both ends
                self._origin, self._target = targets
            else:
                self._origin, self._target = origins[0], targets[-1]
            self._many = [self._origin, self._target]
        self._check_programs()
        self._mpi_hosts = parse_hosts(self._spec.mpi.hosts, launcher=table.launcher) or None
        if self._mpi_hosts is None and launcher_row(self._target).is_closed:
            self._mpi_hosts = [self._origin, self._target]
        self._check_patterns()
        pairs = self._many if self._has_pairs() else []
        self._describe([*pairs, *(self._mpi_hosts or [])])
        if self.kind == "lab":
            named = [*table.hosts, *table.between_hosts, table.target, table.origin]
            named += self._spec.mpi.hosts
            from netsonde.lab.registry import lab_of

            labs = {lab.spec.name: lab for lab in map(lab_of, _of_labs(named))}
            # Of several labs none is watched: each point is in one of them.
            self._lab = next(iter(labs.values())) if len(labs) == 1 else None
        if pairs:
            self._reach(self._origin, self._target)

    def _reach(self, origin: Host, target: Host) -> None:
        """Connects to the hosts, which are let go when the testbed is taken down. Raises HostError
        where nothing could be measured because of those that do not answer."""
        hosts = {host.name for host in (*self._many, origin, target)}
        self._stack.enter_context(let_go_after(*self._many, origin, target))
        failed = connect_all([*self._many, origin, target])
        tests = {block.test for block in self._spec.measure}
        if self._between or self._spec.tournament:
            lost = len(hosts) - len(failed) < 2
        elif tests <= set(OF_MANY) and not self._spec.program:
            left = len(hosts) - len(failed)
            lost = bool(failed) and (self._spec.path.on_dead_host != "shrink" or left < 2)
        else:
            lost = bool(failed.keys() & {origin.name, target.name})
        if lost and failed:
            raise HostError(failure_in_words(failed))
        if failed:
            self.notice = failure_in_words(failed)

    def _check_patterns(self) -> None:
        for block in self._spec.measure:
            if block.kind.is_of_many:
                flows_of(block.test, max(block.among, default=len(self._many)))

    def _check_programs(self) -> None:
        ends = {"origin": self._origin, "target": self._target}
        for block in self._spec.program:
            for end in block.ends:
                host = ends[end]
                if host is not None and launcher_row(host).is_served:
                    raise UsageError(
                        f"{host.name} runs netsonde serve, which starts nobody's programs: the "
                        f"program {block.shown_name} and where = '{block.where}' do not go "
                        "together"
                    )

    def _has_pairs(self) -> bool:
        return bool(self._spec.program or self._spec.tournament) or any(
            not transport_row(name).has_ranks
            for block in self._spec.measure
            for name in block.transports
        )

    def _describe(self, hosts: Sequence[Host]) -> None:
        """What lies between the named hosts."""
        launchers = {host.kind: launcher_row(host) for host in hosts} or {HERE.name: HERE}
        one = len(launchers) == 1
        if any(row.is_closed for row in launchers.values()) and not one:
            raise UsageError(
                "a host of the lab reaches only hosts of the same lab; name both ends, as lab:h1,h2"
            )
        if all(row.is_closed for row in launchers.values()):
            self.kind = "lab"
            self.facts = getattr(hosts[0], "path_facts", dict)()
        elif all(row.is_here for row in launchers.values()):
            self.facts = {"kind": "loopback", "rate_bit_per_s": None}
        else:
            self.facts = {"kind": "network", "rate_bit_per_s": None}
            if batch := [name for name, row in launchers.items() if row.has_job]:
                self.facts["launcher"] = min(batch)

    def open(self, point: PlannedPoint) -> AnySession:
        """A session that can measure the point. Raises HostError where an end cannot be had."""
        self._give_mtu(point.spec.chosen.mtu)
        session = self._open(point)
        self._give_work(point)
        return session

    def _open(self, point: PlannedPoint) -> AnySession:
        if point.carrier.has_ranks:
            return self._open_mpi(point)
        self._close_pair()
        if point.kind.is_round:
            return self._open_round(point)
        if point.kind.is_all_pairs and not self._spec.path.forget:
            return self._open_every_pair(point)
        self._pair = self.open_beside(point)
        return self._pair

    def _open_every_pair(self, point: PlannedPoint) -> Session:
        """Every pair of hosts has two workers, which take longer to start than to measure a size:
        they stay for the next point that is the same but for it."""
        asked = point.spec.of(EveryPair)
        key = (point.transport, asked.hosts, repr(asked.chosen), asked.without)
        if key not in self._kept:
            workers = 2 * asked.hosts**2
            while self._kept and workers + sum(s.ranks for s in self._kept.values()) > KEPT_MOST:
                self._kept.pop(next(iter(self._kept))).close()
            self._kept[key] = self.open_beside(point)
        return self._kept[key]

    def open_beside(self, point: PlannedPoint) -> Session:
        """A session of its own, while others may be open on other hosts; whoever asked closes it.
        Raises HostError."""
        ends = self._ends_of(point)
        if self._spec.path.forget and point.carrier.has_connection:
            from netsonde.launch.memory import forget_connections

            several = ends.many if point.kind.is_of_many else (ends.origin, ends.target)
            for host in {host.name: host for host in several}.values():
                forget_connections(host)
        return open_sockets(ends, point)

    def _ends_of(self, point: PlannedPoint) -> EndHosts:
        ends = (self._origin, self._target)
        many = self._left_of(self._many, point)
        if point.spec.between is not None:
            origin, target = point.spec.between
            ends = (self._between[origin], self._between[target])
            many = [host for host in ends if host is not None]
        origin_host, target_host = ends
        if origin_host is None or target_host is None:
            raise HostError("the testbed is not up")
        family = self._spec.path.family
        gate = None
        if self._lab is not None:
            from netsonde.lab.observe import switch_gate

            gate = switch_gate(self._lab)
        return EndHosts(origin_host, target_host, many, family, self._on_this_machine, gate)

    def taken_by(self, points: Sequence[PlannedPoint]) -> list[Host]:
        """The hosts that points are measured on."""
        found: dict[str, Host] = {}
        for point in points:
            named = [self._between[name] for name in point.spec.between or ()]
            for host in named or self._hosts_of("all", point):
                found[host.name] = host
        return list(found.values())

    def problem_of(self, name: str) -> str | None:
        """Why nothing can be started on one of the hosts, by its name in hosts_of(), or None."""
        known = {host.name: host for host in (*self._many, *(self._mpi_hosts or ()))}
        host = self._between.get(name) or known[name]
        try:
            start_worker(host, family=self._spec.path.family).close()
        except HostError as error:
            return str(error)
        return None

    def hosts_of(self, point: PlannedPoint) -> tuple[str, ...]:
        """The hosts of a point between two named ones, of a pattern or of an MPI program; none
        where there is but one path, or one machine."""
        if point.spec.between is not None:
            return point.spec.between
        without = point.spec.without or ()
        names = [name for name in self.many_of(point) if name not in without]
        if point.carrier.has_ranks:
            names = names[: -(-(point.spec.ranks or 0) // (point.spec.ppn or 1))]
        return tuple(names)

    def many_of(self, point: PlannedPoint) -> list[str]:
        """Every host that a pattern or an MPI program may take, in order; none of other points."""
        is_mpi = point.carrier.has_ranks
        hosts = self._mpi_hosts if is_mpi else self._many if point.kind.is_of_many else None
        names = list(dict.fromkeys(host.name for host in hosts or ()))
        return names if len(names) > 1 else []

    def _left_of(self, hosts: Sequence[Host] | None, point: PlannedPoint) -> list[Host]:
        without = point.spec.without or ()
        return [host for host in hosts or () if host.name not in without]

    @property
    def _on_this_machine(self) -> bool:
        return self.kind in ("lab", "loopback")

    def _open_mpi(self, point: PlannedPoint) -> Session:
        """MPI's start-up is long, so one job serves all MPI points of a run that place their ranks
        in the same way, or of a launch where there are several; the ranks of the others sleep."""
        from netsonde.launch.mpi import open_mpi

        table, wanted, asked = self._spec.mpi, job_of(point), point.spec
        name = (wanted[1] if wanted else "") or table.mpi[0]
        self._require_operation(name, asked.operation)
        hosts = self._left_of(self._mpi_hosts, point) or None
        if wanted != self._job or hosts != self._mpi_on:
            self._close_mpi()
        self._job, self._mpi_on = wanted, hosts
        ppn = asked.ppn or 1
        level = asked.thread_level if isinstance(asked, Threads) else None
        if (ppn, level) not in self._mpi:
            with self._hosts_named(point):
                self._mpi[ppn, level] = open_mpi(
                    hosts,
                    asked.ranks or 0,
                    mpi=name,
                    ppn=ppn,
                    within=table.within,
                    pin=table.pin,
                    share=table.oversubscribe,
                    threads=self._most_threads if level else 1,
                    multiple=level == "multiple",
                    forced=self._forces_algorithms,
                )
        return self._mpi[ppn, level]

    @contextmanager
    def _hosts_named(self, point: PlannedPoint) -> Iterator[None]:
        """A launch that failed because of its hosts says which and why; mpiexec seldom does."""
        try:
            yield
        except HostError as error:
            found = list(problems_of(self.hosts_of(point), self.problem_of).values())
            if not found:
                raise
            more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
            raise HostError(f"MPI was not started: {'; '.join(found[:3])}{more}") from error

    @property
    def _most_threads(self) -> int:
        """Of a rank, in any point: how its MPI is to wait must be the same in all of them."""
        return max((n for block in self._spec.measure for n in block.threads), default=1)

    @property
    def _forces_algorithms(self) -> bool:
        """In any point: its MPI is to start in the same way for all of them."""
        asked = [b.algorithm for b in self._spec.measure if b.algorithm is not None]
        if not asked:
            return False
        from netsonde.schedules.algorithms import library_of

        return any(library_of(name) is not None for name in asked)

    def _require_operation(self, name: str, operation: str | None) -> None:
        from netsonde.launch.mpi_build import lacking_operations
        from netsonde.launch.mpi_found import find_mpi

        mpi = find_mpi(name)
        if operation is not None and operation in lacking_operations(mpi):
            raise UnsupportedError(
                f"{mpi.title} ({name}) has no {operation}: persistent operations came with MPI 4"
            )

    def _prepare_mpis(self) -> None:
        """Of several MPIs, all must be there before anything is measured; what has to be built for
        them is built now."""
        is_asked = any(some_ranks(block.transports) for block in self._spec.measure)
        if is_asked and len(self._spec.mpi.mpi) > 1:
            from netsonde.launch.mpi_build import lacking_operations
            from netsonde.launch.mpi_found import find_mpi

            for name in self._spec.mpi.mpi:
                lacking_operations(find_mpi(name))

    def drop(self, session: AnySession) -> None:
        """Closes a session that failed, so that the next point gets a fresh one."""
        self._end_work()
        if session in self._mpi.values():
            self._mpi = {at: job for at, job in self._mpi.items() if job is not session}
        elif session is self._pair:
            self._pair = None
        self._kept = {key: kept for key, kept in self._kept.items() if kept is not session}
        session.close()

    def _open_round(self, point: PlannedPoint) -> RoundSession:
        """The workers of all hosts stay from round to round."""
        from netsonde.figures.all_pairs import pairs_of_round
        from netsonde.launch.rounds import RoundSession, StandingWorkers

        if self.kind == "loopback":
            raise UsageError(
                "[tournament] measures between hosts, and there is but this machine: give --hosts "
                "'node[1-16]', or run where a lab can be had"
            )
        planned = point.spec.of(AllPairs).hosts
        if len(self._many) != planned:
            raise HostError(
                f"the study was planned for {planned} hosts, and the path has {len(self._many)}"
            )
        if self._standing is None:
            self._standing = StandingWorkers(self._many, self._spec.path.family)
        return RoundSession(self._standing, pairs_of_round(point.spec.of(AllPairs)))

    def _close_pair(self) -> None:
        if self._pair is not None:
            pair, self._pair = self._pair, None
            pair.close()

    def close_sessions(self) -> None:
        self._end_work()
        self._close_pair()
        kept, self._kept = self._kept, {}
        for session in kept.values():
            session.close()
        self._close_mpi()
        if self._standing is not None:
            standing, self._standing = self._standing, None
            standing.close()

    def _close_mpi(self) -> None:
        jobs, self._mpi = self._mpi, {}
        for job in jobs.values():
            job.close()


def _of_labs(names: Sequence[str]) -> list[str]:
    return [name for name in names if is_closed(name)]
