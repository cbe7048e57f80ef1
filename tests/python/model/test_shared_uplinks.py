"""Windows of programs that share uplinks: the printed ones alone, and shares of them together."""

import random

import pytest

from netsonde.model.shared_uplinks import SharedUplinks, all_to_all, loads_of
from netsonde.model.windows import packets_per_step


def tree(width, leaves):
    return {f"h{n + 1}": f"s{n // width}" for n in range(width * leaves)}


def shared(width, leaves, buffer, **given):
    buffers = {f"s{n}": buffer for n in range(leaves)}
    return SharedUplinks(tree(width, leaves), buffers, **given)


@pytest.mark.parametrize(("shape", "window"), [((8, 2), 5), ((8, 3), 4), ((6, 4), 4), ((8, 4), 3)])
def test_one_program_has_the_printed_window(shape, window):
    """Section 6.3.2; 6x4 is printed as 5, which no rounding of 4.79 gives."""
    uplinks = shared(shape[0], shape[1], 45)
    assert uplinks.begin("one", all_to_all(uplinks.places)) == {"one": window}


@pytest.mark.parametrize("shape", [(4, 4), (8, 2), (6, 4), (5, 3)])
def test_loads_are_those_of_equation_6_1(shape):
    places = tree(*shape)
    loads = loads_of(all_to_all(places), places)
    expected = packets_per_step(shape[0], len(places))
    assert list(loads.values()) == pytest.approx([expected] * len(loads))


def test_windows_change_with_nodes_and_pattern():
    """Fewer hosts cross less, a ring crosses once at each switch: the window grows, then shrinks
    again."""
    uplinks = shared(8, 2, 45)
    hosts = list(uplinks.places)
    whole = uplinks.begin("one", all_to_all(hosts))["one"]
    fewer = uplinks.begin("one", all_to_all([*hosts[:4], *hosts[8:12]]))["one"]
    ring = uplinks.begin("one", frozenset(zip(hosts, [*hosts[1:], hosts[0]], strict=True)))["one"]
    assert (whole, fewer, ring) == (5, 9, 22)
    assert uplinks.begin("one", all_to_all(hosts))["one"] == whole
    assert uplinks.begin("one", all_to_all(hosts[:8]))["one"] is None
    assert uplinks.end("one") == {}


def test_two_programs_split_what_they_share():
    uplinks = shared(8, 2, 45)
    first = [f"h{n}" for n in (*range(1, 5), *range(9, 13))]
    second = [f"h{n}" for n in (*range(5, 9), *range(13, 17))]
    alone = uplinks.begin("first", all_to_all(first))["first"]
    assert uplinks.begin("second", all_to_all(second)) == {"first": 4, "second": 4}
    assert uplinks.end("second") == {"first": alone} == {"first": 9}


def test_who_shares_nothing_keeps_all():
    """One of three programs is alone on its uplinks; the tight one does not hold it back."""
    uplinks = shared(4, 4, 48)
    places = {"a": (1, 2, 5, 6), "b": (3, 4, 7, 8), "c": (9, 10, 13, 14)}
    for name, numbers in places.items():
        found = uplinks.begin(name, all_to_all(f"h{n}" for n in numbers))
    assert found["a"] == found["b"]
    assert found["c"] == 2 * found["a"]


def test_no_buffer_overflows_and_none_could_grow():
    """Of random programs on random hosts: safe for every uplink, and each is held by a full one."""
    draw = random.Random(7)
    for _ in range(50):
        uplinks = shared(6, 4, draw.randrange(5, 200), control=draw.random() < 0.5)
        hosts = draw.sample(list(uplinks.places), 24)
        cuts = sorted(draw.sample(range(2, 23), 2))
        parts = [hosts[: cuts[0]], hosts[cuts[0] : cuts[1]], hosts[cuts[1] :]]
        programs = {n: all_to_all(part) for n, part in enumerate(parts) if len(part) > 1}
        for name, flows in programs.items():
            windows = uplinks.begin(name, flows)
        loads = {name: loads_of(flows, uplinks.places) for name, flows in programs.items()}
        for name, window in windows.items():
            if window is None:
                continue
            ways = loads[name]
            room = {way: uplinks.buffers[way[0]] / (2 if uplinks.control else 1) for way in ways}
            used = {
                way: sum(windows[p] * own[way] for p, own in loads.items() if way in own)
                for way in ways
            }
            assert all(used[way] <= room[way] + 1e-6 for way in ways)
            slack = {way: sum(own[way] for own in loads.values() if way in own) for way in ways}
            assert any(used[way] + slack[way] > room[way] - 1e-6 for way in ways)


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ({("h1", "h99")}, "h99 is at no switch"),
        ({("h1", "h1")}, "sends to itself"),
    ],
)
def test_flows_that_there_are_not(flows, said):
    with pytest.raises(ValueError, match=said):
        shared(4, 2, 30).begin("one", frozenset(flows))


def test_a_host_has_one_program():
    uplinks = shared(4, 2, 30)
    uplinks.begin("one", all_to_all(["h1", "h5"]))
    with pytest.raises(ValueError, match="h1 is a host of one as well"):
        uplinks.begin("two", all_to_all(["h1", "h6"]))
