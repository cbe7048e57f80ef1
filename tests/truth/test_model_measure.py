"""`netsonde model measure` and `model score` over networks that are known: buffers and their
architecture, the line's gap, L, one switch or two, and what a platform foretells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_runs import Silent, named_lab, run_over

from netsonde.figures.costs import bursts
from netsonde.hosts import split_hosts
from netsonde.lab import permission_problem
from netsonde.model.buffers import BufferFit, fit_buffer
from netsonde.model.fit import Fitted, fit_platform
from netsonde.model.platform import wire_time_ns
from netsonde.modelling.measure import measure, run_study
from netsonde.modelling.plan import held_out_blocks, plan_of, unseen_sizes
from netsonde.modelling.score import score_run, sizes_seen
from netsonde.platforms.observed import observe
from netsonde.records.rundir import open_run

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

HEADERS = 28
SIZES = (64, 368, 700, 1104, 1472)
MOST_OFF_NS = 5_000
HOSTS = 8
PACKET = 1472
LEAST_POINTS = 40
MEDIAN_ERROR = 0.05


def scenario(architecture: str, packets: int, rate: str, hosts: int = HOSTS) -> str:
    return (
        f'hosts = {hosts}\nlinks = "switch"\n[link]\nrate = "{rate}"\n'
        f'[[switch]]\nname = "s1"\narchitecture = "{architecture}"\nbuffer = "{packets} packets"\n'
        "[pace]\ncalibrate = false\nbeyond_capacity = true\n"
    )


@pytest.mark.counts
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("architecture", "packets", "hosts"),
    [
        ("input", 43, 6),
        *(
            pytest.param(*each, HOSTS, marks=pytest.mark.soak)
            for each in (("output", 95), ("output", 128), ("shared", 820))
        ),
    ],
)
def test_buffers_by_real_bursts(
    tmp_path: Path, architecture: str, packets: int, hosts: int
) -> None:
    """Counts decide: the gate lets all sources begin at one instant, however late they ran."""
    block = {
        "transports": "udp",
        "test": "bursts",
        "sizes": PACKET,
        "cap": "10s",
        "options": {"target_buffer": "4M"},
    }
    run = run_over(tmp_path / "run", scenario(architecture, packets, "100M", hosts), [block])
    losses = [one.as_loss("") for one in bursts(run.points[0]) if not one.spilled]
    found: BufferFit | None = fit_buffer(losses, [])
    assert found is not None
    assert (found.architecture, found.told_apart) == (architecture, True)
    assert abs(round(found.packets) - packets) <= 1


def blocks(*tests: str, **own: Any) -> list[dict[str, Any]]:
    sizes = ",".join(map(str, SIZES))
    usual = {"transports": "udp", "sizes": sizes, "cap": "1500ms"}
    return [{**usual, "test": test, **own} for test in tests]


def fitted(run: Any, rate: float) -> Fitted:
    return fit_platform(observe([run.directory], rate, PACKET, "truth"))


@pytest.mark.timeout(300)
@pytest.mark.soak
def test_the_gap_is_the_lines(tmp_path: Path, attempts: Any) -> None:
    """g_s by series of sends and g_r by many to one, each within 1 % at a full packet."""
    for number, attempt in enumerate(attempts(2, of=3)):
        file = scenario("output", 128, "50M", 3)
        few = {"sizes": "368,1104,1472"}
        asked = blocks("send-series", cap="4s", **few) + blocks("converge", cap="600ms", **few)
        platform = fitted(run_over(tmp_path / str(number), file, asked), 50e6).platform
        assert {platform.costs[name].origin.kind for name in ("send_gap", "receive_gap")} == {
            "emulated"
        }
        line = wire_time_ns(PACKET + HEADERS, 50e6)
        off = {
            name: platform.costs[name].at(PACKET) / line - 1 for name in ("send_gap", "receive_gap")
        }
        attempt.found(**off)
        with attempt:
            assert max(map(abs, off.values())) <= 0.01


@pytest.mark.timeout(300)
@pytest.mark.soak
def test_latency_is_what_the_switch_was_told(tmp_path: Path, attempts: Any) -> None:
    """By the kernel's times, which see no process wake, at 64, 700 and 1492 bytes on the wire."""
    for number, attempt in enumerate(attempts(2, of=3)):
        file = (
            'hosts = 2\nlinks = "switch"\n[link]\nrate = "1G"\ndelay = "50us"\n'
            '[pace]\nmode = "busy"\nawake = true\n'
        )
        asked = blocks("latency", options={"kernel_times": True})
        run = run_over(tmp_path / str(number), file, asked)
        platform = fitted(run, 1e9).platform
        off = {}
        for size in (64, 700, PACKET - 8):
            told = 100_000 + 2 * wire_time_ns(size + HEADERS, 1e9)
            off[f"off_{size}_ns"] = platform.costs["latency"].at(size) - told
        late = [point.checks["lab"]["late_p99_ns"] for point in run.points]
        attempt.found(late_p99_ns=max(late), **off)
        with attempt:
            assert max(map(abs, off.values())) <= MOST_OFF_NS


TWO = (
    'links = "switch"\n[link]\nrate = "50M"\n'
    '[[switch]]\nname = "left"\nhosts = "h[1-4]"\n'
    '[[switch]]\nname = "right"\nhosts = "h[5-8]"\n'
    '[[uplink]]\nlower = "left"\nupper = "right"\nrate = "10M"\n'
    "[pace]\ncalibrate = false\n"
)


@pytest.mark.timeout(300)
@pytest.mark.soak
@pytest.mark.parametrize(("file", "shared"), [(TWO, True), (scenario("output", 128, "50M"), False)])
def test_one_switch_is_told_from_two(
    tmp_path: Path, attempts: Any, file: str, shared: bool
) -> None:
    for number, attempt in enumerate(attempts(2, of=3)):
        asked = blocks("send-series", count=64) + blocks("overheads", "bisection")
        run = run_over(tmp_path / str(number), file, asked)
        plane = fitted(run, 50e6).plane
        assert plane is not None
        attempt.found(growth_ns=plane.growth_ns, low_ns=plane.growth_interval.low)
        with attempt:
            assert plane.is_shared == shared


@pytest.mark.timeout(1800)
@pytest.mark.soak
@pytest.mark.parametrize("over", ["udp", "tcp", "link"])
@pytest.mark.parametrize("hosts", [2, 4, 8])
def test_a_platform_foretells_what_it_has_not_seen(
    tmp_path: Path, attempts: Any, over: str, hosts: int
) -> None:
    """Median error of at most 5 % over forty points; the full-duplex condition is right."""
    for attempt in attempts(2, of=3):
        with named_lab(f"score{hosts}", hosts) as names:
            plan = plan_of(over, split_hosts(names), None)
            found, _ = measure(
                plan, tmp_path, ["test"], Silent(), rate_bit_per_s=10e6, name="truth"
            )
            platform = found.platform
            asked = held_out_blocks(plan, unseen_sizes(plan, sizes_seen(platform, plan)))
            outcome = run_study(plan, "model-score", asked, tmp_path, ["test"], Silent())
            score = score_run(platform, open_run(outcome.directory))
        times = platform.times()
        attempt.found(median=score.median_error, points=len(score.counted), late=len(score.items))
        assert len(score.items) >= LEAST_POINTS
        with attempt:
            assert len(score.counted) >= LEAST_POINTS
            assert times.is_full_duplex  # a line of 10 Mbit/s is slower than any host
            assert score.median_error <= MEDIAN_ERROR
