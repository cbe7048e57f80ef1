"""The times of every rank in every repetition, where they are known."""

import numpy as np
import pytest
from rank_records import US, rank_batch, rank_point

from netsonde.ranks.times import is_message, partner_of, rank_times


def test_a_collective_has_every_ranks_stay():
    first = rank_batch([[0, 100], [1, 101]], [[5, 6], [9, 4]])
    second = rank_batch([[0], [1]], [[7], [8]], index=1)
    found = rank_times(rank_point("bcast", first, second))
    assert found.times_ns.tolist() == [[5000, 6000, 7000], [9000, 4000, 8000]]
    assert found.slowest_ns.tolist() == [9000, 6000, 8000]
    assert found.slowest_rank.tolist() == [1, 0, 1]
    assert found.repetition.tolist() == [0, 1, 2]
    assert found.without_first(1).of([1]).times_ns.tolist() == [[4000, 8000]]


def test_windows_begin_the_time_and_late_repetitions_are_out():
    batch = rank_batch(
        [[0, 50, 100], [0, 50, 100]],
        [[5, 5, 5], [6, 6, 6]],
        late_us=[[0.5, 30, 0], [0, 0, 0]],
    )
    found = rank_times(rank_point("bcast", batch))
    assert found.times_ns.tolist() == [[5500, 5000], [6000, 6000]]
    assert (found.late, found.repetition.tolist()) == (1, [0, 2])


def test_a_message_lasts_from_the_senders_entry_to_the_receivers_exit():
    # Ranks 0 and 1, 2 and 3 by pairs; the lower one sends in even repetitions.
    begin = [[10, 110], [2, 113], [20, 120], [25, 128]]
    stay = [[1, 20], [19, 1], [30, 31], [40, 3]]
    found = rank_times(rank_point("one_way", rank_batch(begin, stay), pattern="pairs"))
    assert np.isnan(found.times_ns[0, 0])
    assert found.times_ns[1, 0] == 11 * US  # sent at 10, there at 2 + 19
    assert found.times_ns[0, 1] == 17 * US  # sent at 113, there at 110 + 20
    assert found.times_ns[3, 0] == 45 * US
    assert found.times_ns[2, 1] == 23 * US
    assert np.isnan(found.times_ns).sum() == 4
    assert found.of([1]).repetition.tolist() == [0]


def test_a_message_has_no_time_without_common_clocks():
    batch = rank_batch([[0], [0]], [[1], [1]])
    for end in batch.ends.values():
        del end.counters["clock_group"]
    with pytest.raises(ValueError, match="clocks"):
        rank_times(rank_point("one_way", batch))


def test_partners_are_those_of_the_engine():
    assert [partner_of("half", rank, 6) for rank in range(6)] == [3, 4, 5, 0, 1, 2]
    assert [partner_of("pairs", rank, 5) for rank in range(5)] == [1, 0, 3, 2, None]
    assert [partner_of("half", rank, 3) for rank in range(3)] == [1, 0, None]


def test_what_is_a_message():
    assert is_message("one_way")
    assert is_message("sendrecv")
    assert not is_message("bcast")
    assert not is_message("nothing")
