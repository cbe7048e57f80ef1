"""Where packets were lost, by comparing counters along their way.

A datagram passes four counters: handed over by the sending process, sent by its card, received by
the other card, received by the other process. What one counter has less than the one before was
lost between them. F10-F15 are the formulas of B. Huang, Network Performance Studies in High
Performance Computing Environments, 2004, sections 4.2.1.4, 4.2.2.4 and 4.4.1.
"""

from dataclasses import dataclass
from typing import Literal

from netsonde.model.goodput import check_count, check_positive

Place = Literal["sender host", "network", "receiver host"]


@dataclass(frozen=True, slots=True)
class LostDatagrams:
    """How many datagrams at least and at most."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class FrameLoss:
    """Frames lost at one place, at least and at most."""

    least_frames: int
    most_frames: int


@dataclass(frozen=True, slots=True)
class LossVerdict:
    """What was lost where.

    ``place`` is where most frames were lost for certain and for a reason of that place; None where
    there is no such. ``incomplete_frames`` is how many of the receiver host's losses at most were
    fragments that arrived and were dropped because another of their datagram was lost before.
    ``datagrams`` were lost altogether.
    """

    sender_host: FrameLoss
    network: FrameLoss
    receiver_host: FrameLoss
    incomplete_frames: int
    datagrams: int
    place: Place | None


def delivered_share(payload_bytes: int, card_bytes: int) -> float:
    """Payload that reached the process over bytes that reached its card, 0..1 (F14).

    Without loss behind the card it is the payload's share of a frame (1460 of 1502); what is
    missing was lost in the host. Raises ``ValueError`` for counters < 0, no bytes, or more payload
    than bytes.
    """
    return _share(payload_bytes, card_bytes, "delivered", "counted by the card")


def fragments_dropped(frames_received: int, whole_datagrams: int, frames_per_datagram: int) -> int:
    """Frames that reached the card and no whole datagram (F13).

    frames - whole datagrams * fragments of each. Raises ``ValueError`` for counters < 0, no
    fragments, or more whole datagrams than the frames can hold.
    """
    check_count("frames", frames_received)
    check_count("datagrams", whole_datagrams)
    check_positive("number of fragments of a datagram", frames_per_datagram)
    whole = whole_datagrams * frames_per_datagram
    if whole > frames_received:
        raise ValueError(
            f"{whole_datagrams} whole datagrams are {whole} frames;"
            f" the card received only {frames_received}"
        )
    return frames_received - whole


def datagrams_lost(fragments_lost: int, frames_per_datagram: int, datagrams: int) -> LostDatagrams:
    """How many of ``datagrams`` are lost if so many of their fragments are: one loses all (F12).

    At least the lost fragments / fragments of each, rounded up: they hit the same datagrams. At
    most one for each, but no more than there are. Raises ``ValueError`` for numbers < 0, no
    fragments, or more lost than there are.
    """
    check_count("fragments lost", fragments_lost)
    check_count("datagrams", datagrams)
    check_positive("number of fragments of a datagram", frames_per_datagram)
    if fragments_lost > datagrams * frames_per_datagram:
        raise ValueError(
            f"{fragments_lost} fragments were lost; {datagrams} datagrams have only"
            f" {datagrams * frames_per_datagram}"
        )
    return LostDatagrams(-(-fragments_lost // frames_per_datagram), min(fragments_lost, datagrams))


def locate_loss(
    datagrams_sent: int,
    frames_sent: int,
    frames_received: int,
    datagrams_received: int,
    *,
    frames_per_datagram: int = 1,
    other_frames: int = 0,
) -> LossVerdict:
    """Where datagrams of one size were lost, from the four counters along their way.

    Compared in frames: datagrams * frames_per_datagram (:func:`netsonde.model.packets.udp_frames`),
    so that the three losses add up to the whole. ``other_frames`` is how many frames of each card
    at most did not belong to the test; with it, a loss is known from least to most. Source: B.
    Huang 2004, section 4.2.1.4; the bounds follow from the order of the counters. Raises
    ``ValueError`` for numbers < 0, nothing sent, or a counter that is larger than the one before by
    more than other frames explain.
    """
    check_positive("number of datagrams sent", datagrams_sent)
    check_count("datagrams received", datagrams_received)
    check_positive("number of fragments of a datagram", frames_per_datagram)
    handed = datagrams_sent * frames_per_datagram
    whole = datagrams_received * frames_per_datagram
    sent, received = _of_the_test(handed, frames_sent, frames_received, whole, other_frames)
    sender = FrameLoss(handed - sent[1], handed - sent[0])
    network = FrameLoss(max(0, sent[0] - received[1]), sent[1] - received[0])
    receiver = FrameLoss(received[0] - whole, received[1] - whole)
    # Each frame lost before the receiver can make useless all the others of its datagram.
    useless = (frames_per_datagram - 1) * (handed - received[0])
    return LossVerdict(
        sender,
        network,
        receiver,
        min(receiver.most_frames, useless),
        datagrams_sent - datagrams_received,
        _place(sender.least_frames, network.least_frames, receiver.least_frames - useless),
    )


def _share(part: int, whole: int, part_name: str, whole_name: str) -> float:
    check_count(part_name, part)
    check_positive(f"number {whole_name}", whole)
    if part > whole:
        raise ValueError(f"{part} {part_name} of {whole} {whole_name}; expected no more")
    return part / whole


def _of_the_test(
    handed: int, frames_sent: int, frames_received: int, whole: int, other_frames: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many frames of the test each card had, least and most: sent, received.

    No more than the counter before, no less than the one behind.
    """
    check_count("frames sent", frames_sent)
    check_count("frames received", frames_received)
    check_count("other frames", other_frames)
    sent_most = min(frames_sent, handed)
    received_most = min(frames_received, sent_most)
    received_least = max(frames_received - other_frames, whole)
    sent_least = max(frames_sent - other_frames, received_least)
    if sent_least > sent_most or received_least > received_most:
        raise ValueError(
            f"counters rise on the way: {handed} frames handed over, {frames_sent} sent,"
            f" {frames_received} received, {whole} in whole datagrams; expected no rise beyond"
            f" {other_frames} other frames"
        )
    return (sent_least, sent_most), (received_least, received_most)


def _place(sender: int, network: int, receiver: int) -> Place | None:
    """Where most was lost; of equals, the first on the way."""
    losses: dict[Place, int] = {
        "sender host": sender,
        "network": network,
        "receiver host": receiver,
    }
    place = max(losses, key=lambda name: losses[name])
    return place if losses[place] > 0 else None
