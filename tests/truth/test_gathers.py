"""Real gathers over a switch that is known, beside the simulator's of the same switch, window and
time-out; and which of these explains how much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab_runs import run_over
from lab_truth import ROOT

from netsonde.figures.frames import event_strings
from netsonde.lab import permission_problem
from netsonde.model.events import mean_chances
from netsonde.modelling.gathers import WITHIN, Gathered, gathered

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]
SLOT_NS = 1538 * 8e9 / 20e6
"""Of a full packet at the labs' rate."""


@dataclass(frozen=True)
class Asked:
    """``timeout_slots``: times of a packet at 20 Mbit/s."""

    architecture: str
    buffer_packets: int
    window: int
    timeout_slots: int
    simple: bool = False
    count: int = 1500

    @property
    def scenario(self) -> str:
        priority = "priority = 20\n" if ROOT else ""
        return (
            'hosts = 8\nlinks = "switch"\n[link]\nrate = "20M"\n[[switch]]\nname = "s1"\n'
            f'architecture = "{self.architecture}"\nbuffer = "{self.buffer_packets} packets"\n'
            f"[pace]\ncalibrate = false\n{priority}"
        )

    @property
    def block(self) -> dict[str, Any]:
        options = {
            "wait": "block",
            "window_packets": self.window,
            "resend_after": round(self.timeout_slots * SLOT_NS),
            **({"simple_go_back_n": True} if self.simple else {}),
        }
        own = {"test": "gather", "sizes": 1492, "count": self.count, "cap": "1s"}
        return {"transports": ["link"], **own, "options": options}


POINTS = (
    Asked("output", 48, 6, 150),
    Asked("output", 48, 12, 150),
    Asked("output", 48, 12, 350),
    Asked("output", 48, 24, 150),
    Asked("output", 48, 24, 350),
    Asked("shared", 64, 12, 150),
    Asked("shared", 64, 24, 350),
    Asked("input", 21, 20, 300),
    Asked("input", 21, 24, 300),
    Asked("input", 21, 32, 300),
    Asked("input", 21, 48, 300),
    Asked("output", 48, 12, 150, simple=True),
)


def held(folder: Path, asked: Asked) -> Gathered:
    run = run_over(folder, asked.scenario, [asked.block])
    (one,) = gathered(run)
    strings = event_strings(run)
    lost = any("N" in text or "TO" in text for text in strings)
    # What the senders noted is what the chances are of.
    if one.chances is not None:
        chances = mean_chances(strings)
        assert (one.chances.c, one.chances.a) == pytest.approx((chances.c, chances.a))
    assert lost == (one.measured.median < 0.99)
    return one


def note(attempt: Any, one: Gathered) -> None:
    load = one.load
    attempt.found(
        point=f"{load.architecture} W {load.window} TO {load.timeout_slots:.0f}",
        measured=one.measured.median,
        simulated=one.simulated.median,
        model=one.model,
        late_p99_ns=one.late_p99_ns,
        moved=one.moved,
    )


@pytest.mark.timeout(120)
def test_a_gather_beyond_an_inputs_buffer_is_as_simulated(tmp_path: Path, attempts: Any) -> None:
    """An eighth of a second of frames that arrive, where Eq. (4.2) says that less than half do."""
    asked = Asked("input", 8, 12, 100, count=60)
    for attempt in attempts(2, of=3):
        one = held(tmp_path / str(attempt.number), asked)
        note(attempt, one)
        with attempt:
            assert not one.is_decided_by_lateness
            assert abs(one.apart) <= WITHIN


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_gathers_have_the_simulators_efficiency(tmp_path: Path, attempts: Any) -> None:
    """Ten of twelve points within 0.05, none of them decided by how late the emulation was."""
    for attempt in attempts(10, of=12):
        asked = POINTS[(attempt.number - 1) % len(POINTS)]
        one = held(tmp_path / str(attempt.number), asked)
        note(attempt, one)
        with attempt:
            assert not one.is_decided_by_lateness
            assert abs(one.apart) <= WITHIN
