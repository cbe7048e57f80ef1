"""Ctrl-C: what the first one raises, what the second one does, and what none cuts in two."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from netsonde.errors import InterruptedByUserError

ENDING = (signal.SIGINT, signal.SIGTERM)


def answer_interruptions() -> None:
    """The first one is an error that the command ends by, the second one ends it at once."""
    for number in ENDING:
        signal.signal(number, _interrupt)


@contextmanager
def in_one_piece() -> Iterator[None]:
    """An interruption meanwhile comes behind it: what a console has written when it is interrupted
    stays in its buffer, and is written again with the next words."""
    if current_thread() is not main_thread():  # whose handlers never run here
        yield
        return
    caught: list[int] = []
    before = {int(number): signal.getsignal(number) for number in ENDING}

    def later(number: int, frame: FrameType | None) -> None:
        if caught or before[number] is _leave:  # a terminal that takes nothing holds nobody
            _leave(number, frame)
        caught.append(number)

    try:
        for number in ENDING:
            signal.signal(number, later)
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
    for again in caught:
        signal.raise_signal(again)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    interrupted = InterruptedByUserError("interrupted; what was measured is kept")
    interrupted.signal = signal.Signals(number).name
    # A second signal must not wait for the cleanup of the first: workers, labs and MPI jobs hang
    # on pipes to this process and end when it ends.
    for ending in ENDING:
        signal.signal(ending, _leave)
    raise interrupted


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    os._exit(InterruptedByUserError.exit_code)
