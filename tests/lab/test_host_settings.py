"""What a scenario makes particular about a host: its clock, and how fast it computes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from attempts import Attempts
from netsonde.lab import Lab, lab_up
from netsonde.lab.scenario import lab_spec, scenario_of
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch

pytestmark = [pytest.mark.lab]
WORK = """
import json, time
wall, own = time.monotonic(), time.process_time()
while time.process_time() - own < 0.2:
    pass
print(json.dumps(time.monotonic() - wall))
"""


@pytest.fixture(scope="module", params=["bridge", "switch"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    tables = {
        "hosts": 3,
        "links": request.param,
        "host": [
            {"name": "h2", "clock_offset": "3ms", "clock_drift_ppm": 500},
            {"name": "h3", "slow_down": 4},
        ],
    }
    with lab_up(lab_spec(scenario_of(tables))) as lab:
        yield lab


def test_clocks_have_their_offset_and_drift(lab: Lab) -> None:
    """Both ends begin a batch within a round trip; what is more between them is the clocks'."""
    with open_pair(lab.hosts[0], lab.hosts[1], "tcp") as session:
        fields = {"test": "latency", "message_bytes": 64, "count": 200}
        batch = decode_batch(0, session.run(fields, 30))
    origin, target = (batch.ends[rank].counters["start_ns"] for rank in (0, 1))
    wanted_ns = 3_000_000 + origin * 500e-6
    assert target - origin == pytest.approx(wanted_ns, abs=2_000_000)


def test_a_slow_host_computes_slowly(lab: Lab, attempts: Attempts) -> None:
    def took_s(number: int) -> float:
        done = subprocess.run(
            lab.hosts[number].command([sys.executable, "-c", WORK]),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return float(json.loads(done.stdout))

    for attempt in attempts(2, of=3):
        ratio = took_s(2) / took_s(0)
        attempt.found(ratio=ratio)
        with attempt:
            assert 3 < ratio < 6
