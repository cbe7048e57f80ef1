"""Figures of messages that are frames on the link."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("copies_{way}", "link#copies", better="less", way=("sent", "received")),
    figure(
        "frames_{why}",
        "link#dropped",
        better="less",
        why=("of_strangers", "malformed", "without_room"),
    ),
    figure("messages_incomplete", "link#dropped", better="less"),
)
METHODS = {
    "link#copies": (
        "How often a byte of a message is copied between the program and the card, at the end that "
        "sends and at the one that receives: by the program, the driver and the kernel, counted as "
        "they are made."
    ),
    "link#dropped": (
        "Frames that came and were thrown away, by their reason, and messages of which a fragment "
        "was missing; both ends' together."
    ),
    "link#go-back-n": (
        "Packets sent again over all data packets sent; time-outs and Nacks of a batch, on average."
    ),
    "link#chances": (
        "The chances c, 1-a and f of the three states of Go-Back-N, of each sender's events alone "
        "and then averaged (Tam 2001, Eqs. 4.11 to 4.13)."
    ),
}
"""What each place of docs/methods says, in short."""
