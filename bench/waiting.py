"""A receive call that waits by itself beside one that is told by poll(): UDP round trips, in turn.

Hpcbench's loop waits in the receive call, which a timeout ends; its author found 5 to 10 % shorter
round trips than with a select() for each packet (B. Huang 2004, section 3.7).
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from functools import partial

import numpy as np

from bench.comparisons import SMALL_BYTES
from bench.ours import answered, open_session
from bench.peers import Route
from bench.settings import BUFFERS
from bench.turns import Beside, beside, in_turn, line
from netsonde.launch.session import Session
from netsonde.records.decode import decode_batch

NAME = "waiting"
COUNT = 2000
BATCH_TIMEOUT_S = 30
BLOCK, READY = "block", "ready"


def waiting(route: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """Batches of the one and of the other in turn, over connections that are open all the time.

    Raises HostError.
    """
    with contextlib.ExitStack() as stack:
        ways = {}
        for wait in (BLOCK, READY):
            session = stack.enter_context(open_session(route, "udp", {**BUFFERS, "wait": wait}))
            ways[wait] = partial(_median_ns, session)
        rounds = in_turn(ways, seconds, draw)
    blocking, polling = ([one[wait] for one in rounds] for wait in (BLOCK, READY))
    return [beside("UDP 64 B median", "ns", blocking, polling)]


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: the round trips of both ways and their ratio."""
    said = ["UDP round trips: waiting in the receive call, by poll(), and their ratio"]
    said += [line(one, one.lies(0.0, 1.0)) for one in found]
    pairs = min((one.ratio.n for one in found), default=0)
    said.append(f"Goal: below 1, by {pairs} or more pairs of batches of {COUNT} round trips.")
    return said


def _median_ns(session: Session) -> float:
    fields = {"test": "latency", "message_bytes": SMALL_BYTES, "count": COUNT}
    return float(np.median(answered(decode_batch(0, session.run(fields, BATCH_TIMEOUT_S)))))
