"""Figures of all pairs from made round trips."""

import numpy as np
import pytest
from every_pair_made import flows_point, ranks_point

from netsonde.figures.compute import figures_of_point
from netsonde.figures.every_pair import pair_times

HOSTS = ("h1", "h2", "h3", "h4")


def trips(company, a, b):
    """Alone 100 ns and more by who asks, all at once three times that; with itself 10."""
    base = 10.0 if a == b else 100.0 + a + b / 10
    return [base * (3 if company == "together" else 1)] * 3


@pytest.mark.parametrize("point_of", [flows_point, ranks_point])
def test_the_round_trips_of_each_pair_are_found_in_records(point_of):
    found = pair_times(point_of(trips, HOSTS))
    assert list(found) == ["isolated", "together"]
    for company, times in found.items():
        assert times.hosts == HOSTS
        assert len(times.times_ns) == 16
        for (a, b), own in times.times_ns.items():
            assert own.tolist() == [round(trips(company, a, b)[0])] * 3


def values_of(point):
    return {figure.name: figure.value for figure in figures_of_point(point)}


def test_each_company_has_its_number_and_their_ratio():
    values = values_of(flows_point(trips, HOSTS, size=1000))
    assert values["isolated_round_trip_ns"] == pytest.approx(101.65, abs=0.3)
    assert values["together_round_trip_ns"] == pytest.approx(3 * 101.65, abs=0.5)
    assert values["together_times"] == pytest.approx(3, rel=0.01)
    assert values["isolated_self_round_trip_ns"] == 10
    assert values["together_self_round_trip_ns"] == 30
    # The payload over half of a round trip.
    rate = 8e9 * 1000 / (values["isolated_round_trip_ns"] / 2)
    assert values["isolated_rate_bit_per_s"] == pytest.approx(rate)
    assert values["isolated_left_out"] == 0


def test_an_outlier_is_left_out_and_counted():
    def with_one(company, a, b):
        return [5000.0] if (a, b) == (0, 2) else trips(company, a, b)[:1]

    values = values_of(flows_point(with_one, HOSTS))
    assert values["isolated_left_out"] == values["together_left_out"] == 1
    assert values["isolated_round_trip_ns"] == pytest.approx(101.7, abs=0.5)
    assert values["isolated_plain_round_trip_ns"] == pytest.approx(510, abs=2)
    assert values["isolated_most_round_trip_ns"] == 5000
    assert values["isolated_median_round_trip_ns"] == pytest.approx(102, abs=1)


def test_of_one_company_alone_there_is_no_ratio():
    values = values_of(ranks_point(trips, HOSTS, pairs="together"))
    assert "together_round_trip_ns" in values
    assert not {"isolated_round_trip_ns", "together_times"} & set(values)


def test_empty_messages_have_no_rate():
    assert "isolated_rate_bit_per_s" not in values_of(ranks_point(trips, HOSTS, size=0))


def test_unanswered_datagrams_are_a_share_of_those_sent():
    point = flows_point(trips, HOSTS, transport="udp", counters={"unanswered": 1})
    values = values_of(point)
    assert values["together_unanswered_ratio"] == 0.25


def test_an_answer_that_never_came_at_all_leaves_a_pair_out():
    def silent(company, a, b):
        return [] if (a, b) == (1, 2) else trips(company, a, b)

    found = pair_times(flows_point(silent, HOSTS, transport="udp"))["together"]
    assert np.isnan(found.means_ns[1, 2])
    assert "together_round_trip_ns" in values_of(flows_point(silent, HOSTS, transport="udp"))


def test_messages_with_wrong_content_are_counted():
    point = flows_point(trips, HOSTS, check_data=True, counters={"corrupt": 2})
    meetings = 2 * 3 * 2 + 4 + 16  # pairs alone, themselves, all
    assert values_of(point)["corrupt_messages"] == 2 * meetings


def test_hosts_of_one_name_are_told_apart():
    found = pair_times(flows_point(trips, ("local",) * 4))["together"]
    assert found.hosts == ("local 0", "local 1", "local 2", "local 3")
