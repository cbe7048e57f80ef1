"""An outlier that was put into every launch at the same place is told from those of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.figures.recurrence import recurrences
from netsonde.launch.mpi import open_mpi
from netsonde.records.data import Point, Run
from netsonde.records.decode import decode_batch

DELAYED = 97
LAUNCHES = 3


@pytest.mark.timeout(180)
def test_real_launches_with_a_delay_in_one_repetition(attempts):
    """Three programs one after the other, rank 1 delayed by 30 ms in the same repetition of each;
    what the machine does meanwhile comes at other places."""
    for attempt in attempts(2, of=3):
        manifest = {"origin": "real", "path": {"kind": "loopback"}, "hosts": {}}
        points = [launched(number) for number in range(1, LAUNCHES + 1)]
        (over,) = recurrences(Run(Path("made"), manifest, points, finished=True))
        found = [again for again in over.again if again.is_real and again.way == "place"]
        attempt.found(again=[(again.what, again.hits) for again in found])
        with attempt:
            assert any((again.what, again.hits) == (DELAYED, LAUNCHES) for again in found)


def launched(number):
    try:
        session = open_mpi(None, 2, within="loopback")
    except HostError as error:
        pytest.skip(str(error))
    fields = {
        **{"test": "collective", "operation": "allreduce", "message_bytes": 8, "count": 200},
        "delay": {"rank": 1, "repetition": DELAYED, "time_ns": 3 * 10**7},
    }
    with session:
        batch = decode_batch(0, session.run(fields, 60))
    parameters = {"message_bytes": 8, "operation": "allreduce", "interval": 0.01, "ranks": 2}
    return Point(
        f"p{number:03d}",
        "mpi",
        "collective",
        {**parameters, "mpi": "mpich", "launch": number},
        "finished",
        batches=[batch],
    )
