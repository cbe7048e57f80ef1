"""Workers that stay, one on each of many hosts, and meet in pairs that change from round to round.

A host whose worker dies or falls silent is dropped, and whoever was to meet it is told so; the
others go on.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from netsonde.errors import HostError, UsageError
from netsonde.launch.clocks import ASK_TIMEOUT_S, ClockReading, clock_records, read_clock
from netsonde.launch.closing import Closing
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import target_address
from netsonde.launch.pair import CLOSE_TIMEOUT_S, known_origin_address, session_secrets
from netsonde.launch.session import FACTS_TIMEOUT_S, SLACK_S, Record, Session
from netsonde.launch.worker import Worker, WorkerError, facts_told, most_telling, start_worker
from netsonde.limits import limit_s

STARTED_AT_ONCE = 8
"""Workers that are started at the same time: an ssh server refuses some of more than ten."""
OPEN_TIMEOUT_S = limit_s("open-flow")
FRUITLESS_MOST = 3
"""Meetings that a host may fail in one after the other until it counts as not reachable."""
CLOCK_PATIENCE_NS = 1_000_000
"""A host's clock is asked for so long: of a thousand hosts that is a second already."""
LOST_CODES = frozenset({"died", "silent", "garbage", "limit", "version"})
"""After these errors a worker cannot be asked any more."""

Pair = tuple[int, int]
Answers = dict[int, list[Record] | WorkerError]


class StandingWorkers(Closing):
    """One worker on each host, by the host's number. A context manager.

    ``dropped`` has, by number, why a host no longer takes part. Raises HostError where fewer than
    two hosts can be had.
    """

    def __init__(self, hosts: Sequence[Host], family: str = "ipv4") -> None:
        for host in hosts:
            if launcher_row(host).is_served:
                raise UsageError(
                    f"{host.name} runs netsonde serve, which takes one test at a time: all pairs "
                    "needs hosts that ssh reaches, or hosts of a lab"
                )
        self._hosts = tuple(hosts)
        self._family = family
        self._workers: dict[int, Worker] = {}
        self._fruitless: dict[int, int] = {}
        self._clock_names: dict[int, str] = {}
        self._clocks_read: dict[int, ClockReading] = {}
        self.dropped: dict[int, str] = {}
        self._start_all()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self._hosts)

    def _start_all(self) -> None:
        wakeup = threading.Condition()

        def start(number: int) -> Worker | HostError:
            try:
                return start_worker(self._hosts[number], family=self._family, wakeup=wakeup)
            except HostError as error:
                return error

        with ThreadPoolExecutor(STARTED_AT_ONCE, "start worker") as starters:
            started = list(starters.map(start, range(len(self._hosts))))
        for number, worker in enumerate(started):
            if isinstance(worker, Worker):
                self._workers[number] = worker
            else:
                self.dropped[number] = str(worker)
        if len(self._workers) < 2:
            self.close()
            reason = next(iter(self.dropped.values()), "there is but one")
            raise HostError(f"fewer than two hosts can take part: {reason}")

    def facts(self) -> dict[str, Record]:
        """The facts of every host that takes part, by host name."""
        found: dict[str, Record] = {}
        asked = {number: self._submit(number, "facts", {}) for number in tuple(self._workers)}
        for number, answer in self._gather(asked, FACTS_TIMEOUT_S).items():
            if isinstance(answer, WorkerError):
                continue
            known = found.setdefault(self._hosts[number].name, {})
            known.update(facts_told(self._workers[number].hello, answer))
        return found

    def read_clocks(self, numbers: Iterable[int]) -> dict[int, ClockReading]:
        """Of those hosts that can be asked, by number; one that several read is read once."""
        wanted = [number for number in numbers if number in self._workers]
        unknown = [number for number in wanted if number not in self._clock_names]
        asked = {number: self._submit(number, "sync", {}) for number in unknown}
        for number, answer in self._gather(asked, ASK_TIMEOUT_S).items():
            if not isinstance(answer, WorkerError):
                self._clock_names[number] = str(answer[-1]["values"]["clock_group"])
        found: dict[str, ClockReading] = {}
        for number in wanted:
            name = self._clock_names.get(number)
            if name is None or name in found or number not in self._workers:
                continue
            try:
                found[name] = read_clock(self._workers[number], patience_ns=CLOCK_PATIENCE_NS)
            except WorkerError as error:
                self._drop(number, str(error))
        names = {number: self._clock_names.get(number, "") for number in wanted}
        read = {number: found[name] for number, name in names.items() if name in found}
        self._clocks_read |= read
        return read

    def last_clocks(self, numbers: Iterable[int]) -> dict[int, ClockReading]:
        """The same as they were read last, or now where they were not."""
        wanted = list(numbers)
        self.read_clocks([number for number in wanted if number not in self._clocks_read])
        return {n: self._clocks_read[n] for n in wanted if n in self._clocks_read}

    def open(
        self, pairs: Sequence[Pair], transport: str, options: Mapping[str, object]
    ) -> dict[Pair, str]:
        """Opens a transport from origin to target of each pair; the sentences of those that failed.

        No host may be in two pairs.
        """
        failed = self._without_the_dropped(pairs)
        common: dict[str, object] = {
            "transport": transport,
            "family": self._family,
            "timeout_ns": round(OPEN_TIMEOUT_S * 1e9),
        }
        known = {pair: session_secrets(options) for pair in pairs if pair not in failed}
        asked: dict[int, int | WorkerError] = {}
        for pair, own in known.items():
            origin, target = (self._hosts[number] for number in pair)
            fields = {**common, **own, "options": dict(options)}
            allow = known_origin_address(origin, target, self._family)
            if allow is not None:
                fields["allow_address"] = allow
            asked[pair[1]] = self._submit(pair[1], "listen", fields)
        listening = self._gather(asked, OPEN_TIMEOUT_S + SLACK_S)
        asked = {}
        for pair, own in known.items():
            answer = listening[pair[1]]
            if isinstance(answer, WorkerError):
                failed[pair] = str(answer)
                continue
            try:
                address = target_address(self._hosts[pair[0]], self._hosts[pair[1]], self._family)
            except HostError as error:
                failed[pair] = str(error)
                continue
            asked[pair[1]] = self._submit(
                pair[1], "open", {"role": "target", "timeout_ns": common["timeout_ns"]}
            )
            fields = {
                **common,
                **own,
                "role": "origin",
                "address": address,
                "port": answer[-1]["values"].get("port"),
                "options": dict(options),
            }
            asked[pair[0]] = self._submit(pair[0], "open", fields)
        opened = self._gather(asked, OPEN_TIMEOUT_S + SLACK_S)
        self._note_failures(known, opened, failed)
        return failed

    def run(
        self, requests: Mapping[Pair, Mapping[str, object]], timeout_s: float
    ) -> tuple[dict[Pair, list[Record]], dict[Pair, str]]:
        """One batch of every pair that is asked for one, at once, over its open transport.

        (the records of each that went well, origin's first; the sentences of the others).
        """
        failed = self._without_the_dropped(requests)
        asked: dict[int, int | WorkerError] = {}
        for pair, fields in requests.items():
            if pair in failed:
                continue
            request = {"timeout_ns": round(timeout_s * 1e9), **fields}
            for number in pair:
                asked[number] = self._submit(number, "run", request)
        answers = self._gather(asked, timeout_s + SLACK_S)
        self._note_failures(requests, answers, failed)
        found: dict[Pair, list[Record]] = {}
        for pair in requests:
            if pair not in failed:
                both = [answers[number] for number in pair]
                found[pair] = [r for records in both if isinstance(records, list) for r in records]
        return found, failed

    def close_transports(self, pairs: Sequence[Pair]) -> None:
        """Closes what open() opened, and what a failed meeting left behind."""
        asked: dict[int, int | WorkerError] = {
            number: self._submit(number, "close", {})
            for pair in pairs
            for number in pair
            if number in self._workers
        }
        self._gather(asked, CLOSE_TIMEOUT_S + SLACK_S)

    def close(self) -> None:
        """Ends all workers. Idempotent."""
        workers, self._workers = self._workers, {}
        with ThreadPoolExecutor(STARTED_AT_ONCE, "end worker") as enders:
            list(enders.map(Worker.close, workers.values()))

    def _without_the_dropped(
        self, pairs: Sequence[Pair] | Mapping[Pair, object]
    ) -> dict[Pair, str]:
        return {
            pair: self.dropped[number]
            for pair in pairs
            for number in pair
            if number in self.dropped
        }

    def _submit(self, number: int, verb: str, fields: Mapping[str, object]) -> int | WorkerError:
        if number not in self._workers:
            name = self._hosts[number].name
            return WorkerError(self.dropped.get(number, f"{name} takes no part"), "died", name)
        try:
            return self._workers[number].submit(verb, **fields)
        except WorkerError as error:
            return error

    def _gather(self, asked: Mapping[int, int | WorkerError], timeout_s: float) -> Answers:
        """The answer of each host that was asked, or what went wrong with it."""
        deadline = time.monotonic() + timeout_s
        answers: Answers = {}
        for number, request in asked.items():
            try:
                if isinstance(request, WorkerError):
                    raise request
                left_s = max(deadline - time.monotonic(), 0.001)
                answers[number] = self._workers[number].wait(request, left_s)
            except WorkerError as error:
                answers[number] = error
                if error.code in LOST_CODES:
                    self._drop(number, str(error))
        return answers

    def _note_failures(
        self,
        pairs: Sequence[Pair] | Mapping[Pair, object],
        answers: Answers,
        failed: dict[Pair, str],
    ) -> None:
        """Adds the pairs of which an end failed, with the sentence that tells the most, and drops
        hosts that nobody has met for a while."""
        for pair in pairs:
            if pair in failed:
                continue
            errors = [e for n in pair if isinstance(e := answers.get(n), WorkerError)]
            if not errors:
                self._fruitless.update(dict.fromkeys(pair, 0))
                continue
            failed[pair] = str(most_telling(errors))
            for number in pair:
                self._fruitless[number] = self._fruitless.get(number, 0) + 1
        for number, times in self._fruitless.items():
            if times >= FRUITLESS_MOST and number in self._workers:
                name = self._hosts[number].name
                self._drop(number, f"{name} failed with {times} partners one after the other")

    def _drop(self, number: int, reason: str) -> None:
        self.dropped.setdefault(number, reason)
        worker = self._workers.pop(number, None)
        if worker is not None:
            with contextlib.suppress(HostError):
                worker.close()


class RoundSession(Closing):
    """One round: which hosts meet. Unlike a Session it is measured pair by pair.

    Its records have the ranks 2 i (origin) and 2 i + 1 (target) of pair i of ``pairs``, whichever
    way a batch goes round.

    ``failed`` has the sentences of pairs that could not be measured in some batch.
    """

    transport = "all_pairs"

    def __init__(self, workers: StandingWorkers, pairs: Sequence[Pair]) -> None:
        self._workers = workers
        self.pairs = tuple(pairs)
        self.ranks = 2 * len(self.pairs)
        self.hosts = frozenset(workers.names)
        self.opened: dict[int, Record] = {}
        self.failed: dict[Pair, str] = {}

    @property
    def dropped(self) -> dict[str, str]:
        """Why hosts no longer take part, by name."""
        names = self._workers.names
        return {names[number]: reason for number, reason in self._workers.dropped.items()}

    def facts(self) -> dict[str, Record]:
        return self._workers.facts()

    def meet(
        self, numbers: Sequence[int], turn: int, transport: str, options: Mapping[str, object]
    ) -> list[int]:
        """Opens the pairs of those numbers, from their second host to the first with turn 1. The
        numbers of those that are open."""
        ends = {number: self._ends(number, turn) for number in numbers}
        failed = self._workers.open(list(ends.values()), transport, options)
        self._note(ends, failed)
        return [number for number, pair in ends.items() if pair not in failed]

    def run_pairs(
        self, requests: Mapping[int, Mapping[str, object]], turn: int, timeout_s: float
    ) -> dict[int, list[Record]]:
        """A batch of every pair of the requests, by its number; without those that failed."""
        ends = {number: self._ends(number, turn) for number in requests}
        asked = {ends[number]: fields for number, fields in requests.items()}
        found, failed = self._workers.run(asked, timeout_s)
        self._note(ends, failed)
        return {
            number: [{**record, "rank": 2 * number + record["rank"]} for record in found[pair]]
            for number, pair in ends.items()
            if pair in found
        }

    def run_timed_pairs(
        self, requests: Mapping[int, Mapping[str, object]], turn: int, timeout_s: float
    ) -> dict[int, list[Record]]:
        """The same as run_pairs(), with what the hosts' clocks were before and after it, of those
        that could be asked: one-way delays need them."""
        before = self._workers.last_clocks(self._hosts_of(requests))
        found = self.run_pairs(requests, turn, timeout_s)
        after = self._workers.read_clocks(self._hosts_of(found))
        for number, records in found.items():
            records += self._clock_records(number, turn, records, before, after)
        return found

    def _hosts_of(self, numbers: Iterable[int]) -> list[int]:
        return [host for number in numbers for host in self.pairs[number]]

    def _clock_records(
        self,
        number: int,
        turn: int,
        records: Sequence[Record],
        before: Mapping[int, ClockReading],
        after: Mapping[int, ClockReading],
    ) -> list[Record]:
        names = self._workers.names
        return [
            record
            for rank, host in enumerate(self._ends(number, turn), 2 * number)
            if host in before and host in after
            for record in clock_records(
                rank, names[host], records[-1]["request"], before[host], after[host]
            )
        ]

    def part(self, numbers: Sequence[int], turn: int) -> None:
        """Closes what meet() opened."""
        self._workers.close_transports([self._ends(number, turn) for number in numbers])

    def close(self) -> None:
        """Nothing: the workers stay for the next round."""

    def _ends(self, number: int, turn: int) -> Pair:
        origin, target = self.pairs[number]
        return (target, origin) if turn else (origin, target)

    def _note(self, ends: Mapping[int, Pair], failed: Mapping[Pair, str]) -> None:
        for number, pair in ends.items():
            if pair in failed:
                self.failed.setdefault(self.pairs[number], failed[pair])


AnySession = Session | RoundSession
"""What a point is measured over."""
