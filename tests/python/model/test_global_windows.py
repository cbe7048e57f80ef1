"""Global windows: the source's worked cases, its one disagreement, and bijections."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model import windows

CEILING = 103e6
shapes = st.lists(st.integers(1, 8), min_size=1, max_size=4).filter(lambda s: np.prod(s) >= 2)


@pytest.mark.parametrize(
    ("d1", "d2", "buffer", "control", "window"),
    [
        (4, 4, 30, False, 9),
        (8, 2, 45, False, 10),
        (8, 2, 45, True, 5),
        (8, 3, 45, True, 4),
        (8, 4, 45, True, 3),
        (6, 4, 45, True, 4),  # printed 5: 45 / 9.39 is 4.79, and every other case rounds down
    ],
)
def test_printed_windows(d1: int, d2: int, buffer: int, control: bool, window: int) -> None:
    per_step = windows.packets_per_step(d1, d1 * d2)
    assert windows.global_window(buffer, per_step, control=control) == window
    (load,) = windows.uplink_loads((d1, d2), [buffer], control=control)
    assert (load.window, load.hosts) == (window, d1)


def test_printed_loads_of_uplinks() -> None:
    found = [windows.packets_per_step(d1, p) for d1, p in ((4, 16), (8, 16), (8, 24), (8, 32))]
    assert found == pytest.approx([3.2, 8.53 / 2, 11.13 / 2, 12.39 / 2], abs=0.003)


def test_a_whole_quotient_is_not_rounded_down() -> None:
    assert windows.global_window(32, 3.2) == 10
    # 36 * 35 / 180 is 7, and 36 / (180 / 35) less than 7 by rounding.
    assert windows.global_window(36, windows.packets_per_step(6, 36)) == 7
    assert windows.global_window(18, windows.packets_per_step(3, 15)) == 7


@pytest.mark.parametrize(
    ("d1", "d2", "best"), [(8, 2, 12.07), (8, 3, 9.25), (6, 4, 10.96), (8, 4, 8.32)]
)
def test_printed_ceilings(d1: int, d2: int, best: float) -> None:
    found = windows.best_node_byte_per_s(d1, d1 * d2, CEILING) / 1e6
    assert found == pytest.approx(best, abs=0.01)
    # 103 (p-1) / (2 (p-d_1) d_1), as it is printed.
    p = d1 * d2
    assert found == pytest.approx(103 * (p - 1) / (2 * (p - d1) * d1), rel=1e-12)
    time = windows.least_cross_time_s(64, 1492, d1, p, CEILING)
    assert time == pytest.approx(2 * 64 * 1492 * (p - d1) * d1 / CEILING)


def test_numbers_of_eq_6_3() -> None:
    shape = (4, 4)
    assert [windows.logical_number(h, shape) for h in range(6)] == [0, 4, 8, 12, 1, 5]
    for d1, d2 in ((8, 2), (8, 3), (6, 4), (16, 1)):
        for host in range(d1 * d2):
            assert windows.logical_number(host, (d1, d2)) == host // d1 + host % d1 * d2


def test_the_golden_table_of_fig_6_4() -> None:
    """XOR over logical numbers, 4x4: where nodes 0 to 3 send at each step, in physical numbers."""
    golden = {
        1: [4, 5, 6, 7], 2: [8, 9, 10, 11], 3: [12, 13, 14, 15], 4: [1, 0, 3, 2],
        5: [5, 4, 7, 6], 8: [2, 3, 0, 1], 12: [3, 2, 1, 0], 15: [15, 14, 13, 12],
    }  # fmt: skip
    for step, targets in golden.items():
        found = [
            windows.physical_number(windows.logical_number(host, (4, 4)) ^ step, (4, 4))
            for host in range(4)
        ]
        assert found == targets


@given(shapes)
def test_numbers_are_a_bijection(shape: list[int]) -> None:
    p = windows.ranks_of(shape)
    numbers = [windows.logical_number(h, shape) for h in range(p)]
    assert sorted(numbers) == list(range(p))
    assert [windows.physical_number(n, shape) for n in numbers] == list(range(p))


@pytest.mark.parametrize("shape", [(4, 4), (8, 2), (8, 3), (6, 4), (8, 4)])
def test_shift_over_these_numbers_changes_the_switch(shape: tuple[int, int]) -> None:
    """At each step switches send to switches as a permutation, and never twice in a row to one."""
    d1, p = shape[0], shape[0] * shape[1]
    logical = [windows.logical_number(h, shape) for h in range(p)]
    before: list[int] = []
    for step in range(1, p):
        targets = [windows.physical_number((n + step) % p, shape) // d1 for n in logical]
        pairs = {(host // d1, target) for host, target in enumerate(targets)}
        # Steps that wrap around at p may part a switch's hosts; each switch is sent to evenly.
        assert all(targets.count(switch) == d1 for switch in range(shape[1]))
        assert len(pairs) >= shape[1]
        if before:
            assert all(a != b for a, b in zip(before, targets, strict=True))
        before = targets


@given(shapes, st.integers(1, 2000), st.booleans())
def test_no_window_overfills_its_buffer(shape: list[int], buffer: int, control: bool) -> None:
    loads = windows.uplink_loads(shape, [buffer] * (len(shape) - 1), control=control)
    for load in loads:
        each = load.packets_per_step * (2 if control else 1)
        assert load.window * each <= buffer + 1e-6
        assert (load.window + 1) * each > buffer
    # Three levels as two: what is below a switch counts, not how it is arranged.
    if len(shape) == 3 and len(loads) == 2:
        flat = windows.uplink_loads([shape[0] * shape[1], shape[2]], [buffer], control=control)
        assert flat[0].packets_per_step == pytest.approx(loads[1].packets_per_step)


@given(st.integers(1, 6), st.integers(2, 5), st.integers(1, 9))
def test_equal_volumes_are_eq_6_1(d1: int, d2: int, packets: int) -> None:
    p = d1 * d2
    volumes = np.full((p, p), packets)
    inside = [host < d1 for host in range(p)]
    found = windows.packets_per_step_of_volumes(volumes, inside)
    assert found == pytest.approx(windows.packets_per_step(d1, p))


def test_unequal_volumes() -> None:
    volumes = np.zeros((4, 4))
    volumes[0, 2] = 10  # across
    volumes[0, 1] = 30  # within
    volumes[3, 3] = 99  # nobody's line
    assert windows.packets_per_step_of_volumes(volumes, [True, True, False, False]) == 0.25
    with pytest.raises(ValueError, match="nobody sends"):
        windows.packets_per_step_of_volumes(np.eye(3), [True, False, False])
    for bad in (np.full((2, 2), -1.0), np.full((2, 2), np.nan), np.ones((2, 3)), np.ones((3, 3))):
        with pytest.raises(ValueError, match="volumes"):
            windows.packets_per_step_of_volumes(bad, [True, False])


def test_programs_that_share_an_uplink_add_up() -> None:
    """Two exchanges of 8 hosts, each 4 + 4 over the same uplink: half the window of one."""
    one = windows.packets_per_step(4, 8)
    assert windows.global_window(45, 2 * one) == windows.global_window(45, one) // 2


def test_packets_under_way() -> None:
    assert windows.under_way(154.4, 122.0) == 2
    assert windows.under_way(122.0, 122.0) == 1
    with pytest.raises(ValueError, match="send gap"):
        windows.under_way(1.0, 0.0)


def test_bad_trees_are_refused() -> None:
    for shape, limit in product(([], [0, 4], [1], [10**6, 10**6], [2] * 9), [None]):
        assert limit is None
        with pytest.raises(ValueError, match="a tree of"):
            windows.ranks_of(shape)
    with pytest.raises(ValueError, match="each needs one"):
        windows.uplink_loads((4, 4), [30, 30])
    with pytest.raises(ValueError, match="nothing crosses"):
        windows.best_node_byte_per_s(16, 16, CEILING)
    with pytest.raises(ValueError, match="host 16"):
        windows.logical_number(16, (4, 4))
    assert windows.uplink_loads((16, 1), [30]) == []
    for buffer, per_step in ((0, 1.0), (30, 0.0)):
        with pytest.raises(ValueError, match="expected"):
            windows.global_window(buffer, per_step)
