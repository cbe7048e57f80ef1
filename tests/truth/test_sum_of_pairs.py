"""What a link between switches carries in all is found by pairs at once, growing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab_runs import run_over

from attempts import Attempts
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]
HOSTS, LINK_MBIT, TRUNK_MBIT = 8, 5, 10
PAYLOAD_OF_LINE = 0.94
TOLERANCE = 0.1


def scenario(trunk_mbit: float) -> str:
    """The two hosts of each pair are below two switches."""
    sides = {
        name: ",".join(map(str, range(first, HOSTS + 1, 2)))
        for name, first in (("left", 1), ("right", 2))
    }
    leaves = (f'[[switch]]\nname = "{n}"\nhosts = "h[{side}]"' for n, side in sides.items())
    return "\n".join(
        (
            f'hosts = {HOSTS}\nlinks = "switch"',
            "[pace]\ncalibrate = false",
            f'[link]\nrate = "{LINK_MBIT}M"',
            *leaves,
            f'[[uplink]]\nlower = "left"\nupper = "right"\nrate = "{trunk_mbit:g}M"',
        )
    )


@pytest.mark.tolerant
@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("limited", [True, False])
def test_a_link_that_all_pairs_cross(tmp_path: Path, attempts: Attempts, limited: bool) -> None:
    text = scenario(TRUNK_MBIT if limited else 10 * TRUNK_MBIT)
    block = {"transports": ["tcp"], "test": "pairs", "sizes": "16k", "among": [2, 4, 6, 8]}
    for attempt in attempts(2, of=3):
        run = run_over(tmp_path / str(attempt.number), text, [block], cap="500ms")
        found = [f for f in explain(run, figures_of(run)) if f.kind == "sum-of-pairs"]
        attempt.found(claims=[f.claim for f in found])
        with attempt:
            assert len(found) == limited
            for one in found:
                pairs, rate = re.findall(r"From (\d+) pairs.* carry ([\d.]+) Mbit/s", one.claim)[0]
                # The first number that could fill it, or one more: streams share unevenly.
                assert int(pairs) - TRUNK_MBIT // LINK_MBIT in (0, 1)
                assert float(rate) == pytest.approx(PAYLOAD_OF_LINE * TRUNK_MBIT, rel=TOLERANCE)
