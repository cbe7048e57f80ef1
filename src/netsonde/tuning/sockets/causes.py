"""Which knobs are worth a try for what ``explain`` finds: a table, a row a finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_BUFFERS = ("system-buffers", "program-buffers", "buffer-caps")
_WINDOWS = (*_BUFFERS, "window-scaling", "moderation", "route-window", "window-clamp")
_CONTROLS = ("control", "system-control")
_PACKETS = ("offloads", "mtu", "segment")
_WAKING = ("busy-poll",)

CAUSES: Mapping[str, tuple[str, ...]] = {
    "nagle-delayed-ack": ("nagle",),
    "retransmission-timer": ("least-time-out", *_CONTROLS),
    "cut-buffers": ("buffer-caps", "program-buffers"),
    "window-limited": _WINDOWS,
    "mtu-mismatch": ("mtu",),
    "congestion-control": _CONTROLS,
    "no-selective-acknowledgements": ("selective-acknowledgements",),
    "segments-lost": (*_CONTROLS, "selective-acknowledgements"),
    "control-by-loss": _CONTROLS,
    "overtaken": ("selective-acknowledgements", *_CONTROLS),
    "headers": ("mtu", "segment", "nagle"),
    "bottleneck": (*_WINDOWS, *_CONTROLS, "pacing", "not-sent"),
    "busy-processor": _PACKETS,
    "processor-bound": _PACKETS,
    "saturated": _PACKETS,
    "offloads-off": ("offloads",),
    "remembered-connections": ("remembered",),
    "varying-way": _WAKING,
    "interrupted-way": _WAKING,
    "several-modes": _WAKING,
    "power-saving": _WAKING,
    "gathered-interrupts": ("interrupts", *_WAKING),
    "acknowledgements": ("offloads",),
    "warm-up": ("remembered", *_CONTROLS),
}
"""Kinds of findings, and knobs in the order in which they are tried. A test holds that every kind
is one of ``explain`` and every knob has a row."""


def order(findings: Iterable[str], knobs: Sequence[str]) -> list[tuple[str, str]]:
    """(knob, the finding that named it) of all knobs: those that findings name in the findings'
    order, then the rest with an empty cause."""
    named: dict[str, str] = {}
    for kind in findings:
        for knob in CAUSES.get(kind, ()):
            if knob in knobs:
                named.setdefault(knob, kind)
    return [*named.items(), *((knob, "") for knob in knobs if knob not in named)]
