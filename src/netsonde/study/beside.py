"""Points of different hosts, measured at the same time: a thread waits for each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from netsonde.launch.session import Session
from netsonde.study.plan import PlannedPoint
from netsonde.study.run_point import Attempt, PointRunner
from netsonde.study.testbed import Testbed


class _Sessions:
    """Those that are open, so that an interrupted study can end them all."""

    def __init__(self) -> None:
        self._open: list[Session] = []
        self._ended = False
        self._one_at_a_time = threading.Lock()

    def add(self, session: Session) -> None:
        with self._one_at_a_time:
            self._open.append(session)
            ended = self._ended
        if ended:
            session.close()

    def end(self) -> None:
        with self._one_at_a_time:
            self._ended = True
            sessions = list(self._open)
        for session in sessions:
            with contextlib.suppress(Exception):
                session.close()


def measure_beside(
    runner: PointRunner, testbed: Testbed, points: Sequence[PlannedPoint], numbers: Sequence[int]
) -> list[Attempt]:
    """The attempts, in the order of the points, when the last one has ended.

    Where this thread is interrupted, all are broken off. Raises what one of them raised.
    """
    sessions = _Sessions()
    with ThreadPoolExecutor(len(points)) as pool:
        try:
            waiting = [
                pool.submit(runner.beside, testbed, point, number, sessions.add)
                for point, number in zip(points, numbers, strict=True)
            ]
            return [one.result() for one in waiting]
        except BaseException:
            sessions.end()
            raise
