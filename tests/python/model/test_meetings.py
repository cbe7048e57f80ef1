"""In which order all pairs are measured: everybody with everybody, and alone where that is said."""

from itertools import product

import pytest

from netsonde.model.meetings import all_meetings


@pytest.mark.parametrize("hosts", range(2, 12))
def test_alone_every_pair_meets_once_each_way_and_no_host_is_in_two(hosts):
    met: list[tuple[int, int]] = []
    for meeting in all_meetings(hosts, "isolated"):
        busy = [host for a, b in meeting.pairs for host in {a, b}]
        assert len(busy) == len(set(busy))
        met += meeting.pairs
    assert sorted(met) == list(product(range(hosts), repeat=2))


@pytest.mark.parametrize("hosts", [2, 5, 8])
def test_all_at_once_is_one_meeting_in_the_middle(hosts):
    every = all_meetings(hosts)
    (place,) = (n for n, meeting in enumerate(every) if meeting.company == "together")
    assert abs(place - (len(every) - 1 - place)) <= 1
    assert sorted(every[place].pairs) == list(product(range(hosts), repeat=2))
    assert all_meetings(hosts, "together") == (every[place],)
    assert len(all_meetings(hosts, "isolated")) == len(every) - 1
