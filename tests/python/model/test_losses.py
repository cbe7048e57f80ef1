"""Where packets were lost: printed counters, and losses that are known because they were made.

"Printed" is what B. Huang 2004 says of his own counters; where they say otherwise, the counters
decide and a comment names the difference.
"""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.losses import (
    FrameLoss,
    LostDatagrams,
    datagrams_lost,
    delivered_share,
    fragments_dropped,
    locate_loss,
)


def test_shares_of_the_printed_counters() -> None:
    assert delivered_share(408138652, 419904790) == pytest.approx(0.972, abs=5e-4)
    assert delivered_share(408138652, 419904790) == pytest.approx(1460 / 1502, abs=1e-4)
    assert delivered_share(368103456, 411701565) == pytest.approx(0.894, abs=5e-4)


def test_fragments_dropped_of_the_printed_counters() -> None:
    assert fragments_dropped(294110, 89870, 3) == 24500


def test_losses_of_4_kib_datagrams_add_up() -> None:
    found = locate_loss(244061, 294113, 294110, 89870, frames_per_datagram=3)
    losses = (found.sender_host, found.network, found.receiver_host)
    assert [loss.least_frames for loss in losses] == [438_070, 3, 24_500]
    assert [loss.most_frames for loss in losses] == [438_070, 3, 24_500]
    shares = [loss.least_frames / (3 * 244061) for loss in losses]
    assert shares == pytest.approx([0.598, 0.0, 0.0335], abs=5e-4)
    assert found.datagrams == 244061 - 89870
    assert sum(shares) == pytest.approx(found.datagrams / 244061)
    assert sum(shares) == pytest.approx(1 - 368103456 / 999669792, abs=1e-5)
    # All of what the receiver dropped may be the rest of datagrams that the sender spoiled.
    assert (found.place, found.incomplete_frames) == ("sender host", 24_500)


def test_losses_of_1460_byte_datagrams_lie_in_the_sender() -> None:
    # 317 of the frames are short ones of 74 bytes, one of them the end of the data.
    found = locate_loss(613181, 279866, 279861, 279548, other_frames=316)
    assert found.sender_host.least_frames / 613181 == pytest.approx(0.54, abs=0.005)
    assert found.network.most_frames <= 5 + 316
    assert (found.receiver_host.least_frames, found.receiver_host.most_frames) == (0, 313)
    assert found.place == "sender host"


def test_eleven_lost_datagrams_were_lost_between_the_cards() -> None:
    # Printed: the network loses only with two senders. On the faster cluster one sender lost 11
    # datagrams in each of two runs, and the cards say where: 1002 frames were others.
    for handed, sent, received, delivered in [
        (409670, 410672, 410661, 409659),
        (409656, 410658, 410647, 409645),
    ]:
        found = locate_loss(handed, sent - 1002, received - 1002, delivered)
        nothing = FrameLoss(0, 0)
        assert (found.sender_host, found.receiver_host) == (nothing, nothing)
        assert (found.network.least_frames, found.datagrams) == (11, 11)
        assert found.place == "network"


def test_nothing_is_certain_where_others_explain_it_all() -> None:
    found = locate_loss(216787, 217788, 217791, 216787, other_frames=1004)
    assert (found.place, found.datagrams) == (None, 0)
    losses = (found.sender_host, found.network, found.receiver_host)
    assert [(loss.least_frames, loss.most_frames) for loss in losses] == [(0, 0)] * 3


def test_two_senders_lose_in_the_network_too() -> None:
    found = locate_loss(1229978 + 1206566, 557858 + 556923, 768186, 384328 + 382991)
    handed = 1229978 + 1206566
    assert found.sender_host.least_frames / handed == pytest.approx(0.54, abs=0.005)
    assert found.network.least_frames == 346_595
    assert found.receiver_host.least_frames == 867
    # The faster cluster drops nothing in the sender and half of all in the switch.
    found = locate_loss(
        818496 + 819207, 819505 + 820210, 857163, 426516 + 418020, other_frames=2012
    )
    assert found.sender_host.least_frames == 0
    handed = 818496 + 819207
    assert found.network.least_frames / handed == pytest.approx(0.477, abs=0.002)
    assert found.place == "network"


def test_datagrams_lost_with_their_fragments() -> None:
    assert datagrams_lost(0, 3, 10) == LostDatagrams(0, 0)
    assert datagrams_lost(1, 3, 10) == LostDatagrams(1, 1)
    assert datagrams_lost(4, 3, 10) == LostDatagrams(2, 4)
    assert datagrams_lost(12, 3, 10) == LostDatagrams(4, 10)
    assert datagrams_lost(30, 3, 10) == LostDatagrams(10, 10)
    # Of 40 KiB in 28 fragments, one lost frame in 28 can spoil all.
    assert datagrams_lost(1000, 28, 1000) == LostDatagrams(36, 1000)


@given(st.integers(1, 6), st.integers(1, 12), st.data())
def test_bounds_hold_for_fragments_lost_anyhow(
    each: int, datagrams: int, data: st.DataObject
) -> None:
    everything = list(range(each * datagrams))
    lost = data.draw(st.sets(st.sampled_from(everything)))
    spoilt = len({fragment // each for fragment in lost})
    bounds = datagrams_lost(len(lost), each, datagrams)
    assert bounds.least <= spoilt <= bounds.most
    # Both bounds are met: by fragments in order, and by one of each datagram in turn.
    in_order = {fragment // each for fragment in everything[: len(lost)]}
    in_turn = {fragment % datagrams for fragment in everything[: len(lost)]}
    assert (bounds.least, bounds.most) == (len(in_order), len(in_turn))


@given(st.integers(1, 5), st.integers(1, 20), st.integers(0, 30), st.integers(0, 30), st.data())
def test_losses_that_were_made_are_found(
    each: int, datagrams: int, others_sent: int, others_received: int, data: st.DataObject
) -> None:
    places = ["sender host", "network", "receiver host", "kept"]
    fate = data.draw(
        st.lists(st.sampled_from(places), min_size=each * datagrams, max_size=each * datagrams)
    )
    lost = Counter(fate)
    sent = len(fate) - lost["sender host"]
    received = sent - lost["network"]
    whole = sum(
        all(f == "kept" for f in fate[i : i + each]) for i in range(0, each * datagrams, each)
    )
    found = locate_loss(
        datagrams,
        sent + others_sent,
        received + others_received,
        whole,
        frames_per_datagram=each,
        other_frames=max(others_sent, others_received),
    )
    useless = received - lost["receiver host"] - whole * each
    truth = [lost["sender host"], lost["network"], received - whole * each]
    for loss, made in zip(
        (found.sender_host, found.network, found.receiver_host), truth, strict=True
    ):
        assert loss.least_frames <= made <= loss.most_frames
    assert found.datagrams == datagrams - whole
    if lost["receiver host"] == 0:
        assert useless <= found.incomplete_frames
        assert found.place != "receiver host"
    if found.place is not None:
        assert lost[found.place] > 0


def test_without_others_the_losses_are_exact() -> None:
    found = locate_loss(100, 90, 70, 30)
    assert found.sender_host == FrameLoss(10, 10)
    assert found.network == FrameLoss(20, 20)
    assert found.receiver_host == FrameLoss(40, 40)
    assert (found.place, found.datagrams) == ("receiver host", 70)
    assert locate_loss(100, 100, 100, 100).place is None
    # Ten fragments lost on the way make up to 20 more useless: the receiver host did nothing wrong.
    found = locate_loss(100, 300, 290, 90, frames_per_datagram=3)
    assert (found.place, found.incomplete_frames) == ("network", 20)
    assert found.receiver_host.least_frames == 20


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="delivered of 10 counted by the card"):
        delivered_share(11, 10)
    with pytest.raises(ValueError, match="the card received only 8"):
        fragments_dropped(8, 3, 3)
    with pytest.raises(ValueError, match="10 datagrams have only 30"):
        datagrams_lost(31, 3, 10)
    with pytest.raises(ValueError, match="fragments of a datagram is 0"):
        datagrams_lost(0, 0, 10)
    with pytest.raises(ValueError, match="datagrams is -1"):
        fragments_dropped(8, -1, 3)


@pytest.mark.parametrize(
    "counters", [(10, 11, 11, 10), (10, 9, 10, 9), (10, 10, 8, 9), (10, 10, 10, 11)]
)
def test_counters_that_rise_are_refused_unless_others_explain_it(
    counters: tuple[int, int, int, int],
) -> None:
    with pytest.raises(ValueError, match="counters rise"):
        locate_loss(*counters)
    if counters[:2] == (10, 11) or counters[1:3] == (9, 10):
        locate_loss(*counters, other_frames=1)
    else:  # no traffic of others makes a process receive what its card did not
        with pytest.raises(ValueError, match="counters rise"):
            locate_loss(*counters, other_frames=1)


@pytest.mark.parametrize("value", [-1, math.nan])
def test_negative_counters_are_refused(value: int) -> None:
    calls = [
        lambda: locate_loss(value, 1, 1, 1),
        lambda: locate_loss(1, value, 1, 1),
        lambda: locate_loss(1, 1, value, 1),
        lambda: locate_loss(1, 1, 1, value),
        lambda: locate_loss(1, 1, 1, 1, frames_per_datagram=value),
        lambda: locate_loss(1, 1, 1, 1, other_frames=value),
        lambda: delivered_share(value, 1),
        lambda: datagrams_lost(value, 1, 1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="expected"):
            call()
