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
    assert windows.uplink_loads((16, 1), [30]) == []
    for buffer, per_step in ((0, 1.0), (30, 0.0)):
        with pytest.raises(ValueError, match="expected"):
            windows.global_window(buffer, per_step)
