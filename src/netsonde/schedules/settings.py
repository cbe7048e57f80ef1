"""What stands behind an algorithm's name, as ``segment=1460`` or ``over=link``: settings of the
schedule itself, and of frames that carry its messages in the place of MPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from netsonde.catalogue.option import Choice, Count, Duration, Kind, Size
from netsonde.catalogue.options.frames import FRAMES, USUAL_FRAGMENT_BYTES
from netsonde.catalogue.transport import names_with
from netsonde.errors import UsageError
from netsonde.schedules.request import parse_hierarchy
from netsonde.units import parse_duration_ns, parse_size_bytes

Part = Literal["schedule", "frames"]
OVER = "over"
"""The setting that frames need."""
_CARRIERS = names_with("has_frames")
_TCP_FRAME_BYTES = 1448
"""What a frame of an MTU of 1500 carries of a message over TCP."""


@dataclass(frozen=True)
class Setting:
    """``key`` of what ranks are asked for, in its ``part``; ``needs``: the use of an algorithm that
    a setting of a schedule needs. ``is_buffer``: of frames, see in_messages()."""

    key: str
    read: Callable[[str], Any]
    needs: str = ""
    part: Part = "schedule"
    is_switch: bool = False
    is_buffer: bool = False


def takes(uses: Sequence[str]) -> list[str]:
    """The settings that an algorithm has a use for."""
    return [name for name, each in SETTINGS.items() if not each.needs or each.needs in uses]


def read_settings(text: str, settings: Sequence[str], uses: Sequence[str]) -> Mapping[Part, Any]:
    """``["segment=1460", "over=link"]`` behind an algorithm's name; a number alone is the fan-out.

    Raises UsageError; ``text`` is all that was written."""
    found: dict[Part, dict[str, Any]] = {"schedule": {}, "frames": {}}
    for written in settings:
        setting, value = _read(written, text, uses)
        own = found[setting.part]
        if setting.key in own:
            raise UsageError(f"{text[:80]!r} says {written.partition('=')[0]} twice")
        own[setting.key] = value
    if found["schedule"].get("remap") and "hierarchy" not in found["schedule"]:
        raise UsageError(f"{text[:80]!r}: remap needs a hierarchy, such as hierarchy=4x2")
    if found["frames"] and not found["frames"].get("reliable"):
        raise UsageError(
            f"{text[:80]!r} says how frames carry messages, and MPI carries them: add "
            f"{OVER}={_CARRIERS[0]}"
        )
    return found


def _read(written: str, text: str, uses: Sequence[str]) -> tuple[Setting, Any]:
    word, equals, value = written.partition("=")
    if written.isdecimal():
        word, equals, value = "fan-out", "=", written
    known = takes(uses)
    if word not in known:
        name = text.partition(":")[0]
        raise UsageError(f"{written[:80]!r} is no setting of {name}; it takes {', '.join(known)}")
    setting = SETTINGS[word]
    if bool(equals) == setting.is_switch:
        shape = word if setting.is_switch else f"{word}=..."
        raise UsageError(f"{written[:80]!r} is no setting; write it like {shape}")
    return setting, setting.read(value)


def in_messages(settings: Mapping[Part, Any], message_bytes: int | None) -> dict[str, Any]:
    """The settings of a schedule, with buffers of frames as buffers of messages, which a window
    counts: a message is a segment of the block, or all of it. Raises UsageError where not even one
    fits."""
    asked: dict[str, Any] = settings["schedule"]
    known = {each.key for each in SETTINGS.values() if each.is_buffer}
    if message_bytes is None or not known & asked.keys():
        return asked
    own = settings["frames"]
    carries = own.get("fragment_bytes", USUAL_FRAGMENT_BYTES) if own else _TCP_FRAME_BYTES
    segment = asked.get("segment_bytes") or message_bytes
    frames = max(1, -(-min(segment, message_bytes) // carries))
    found = dict(asked)
    for key in known & asked.keys():
        fits = _each(asked[key], lambda packets: packets // frames)
        if 0 in (fits if isinstance(fits, tuple) else (fits,)):
            raise UsageError(
                f"a message of {min(segment, message_bytes)} bytes is {frames} frames, and the "
                f"buffer has not so many: cut messages, as segment={carries}"
            )
        found[key] = fits
    return found


def _each(value: Any, change: Callable[[int], int]) -> Any:
    return tuple(change(one) for one in value) if isinstance(value, tuple) else change(value)


def _count(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise UsageError(f"{name} is {text[:40]!r}; write a number from 1 on")
    return int(text)


def _one_of(name: str, words: tuple[Any, ...], text: str) -> str:
    if text not in words:
        *before, last = words
        said = f"there are {', '.join(before)} and {last}" if before else f"there is {last}"
        raise UsageError(f"{name} is {text[:40]!r}; {said}")
    return text


def _within(name: str, kind: Size | Duration | Count, text: str) -> int:
    parse = {Size: parse_size_bytes, Duration: parse_duration_ns}.get(type(kind))
    value = parse(text) if parse else _count(name, text)
    if not kind.least <= value <= kind.most:
        raise UsageError(f"{name} is {text[:40]}; it can be {kind.least} to {kind.most}")
    return value


def _by_kind(name: str, kind: Kind) -> Callable[[str], Any]:
    if isinstance(kind, Choice):
        return partial(_one_of, name, kind.words)
    assert isinstance(kind, (Size, Duration, Count))
    return partial(_within, name, kind)


def _packets(name: str, text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{name} is {text[:80]!r}; write packets, as 45")
    return _count(name, text)


def _uplinks(name: str, text: str) -> tuple[int, ...]:
    """``45``, or ``45x510`` from the leaf switches' on."""
    return tuple(_packets(name, part) for part in text.split("x"))


def _of_frames(name: str, key: str) -> Setting:
    row = next(row for row in FRAMES if row.key == key)
    return Setting(row.wire[0], _by_kind(name, row.kind), part="frames")


def _count_of(name: str, key: str) -> Setting:
    return Setting(key, partial(_count, name), needs=key)


SETTINGS = {
    "fan-out": _count_of("fan-out", "fan_out"),
    "segment": Setting("segment_bytes", parse_size_bytes, needs="segment_bytes"),
    "window": _count_of("window", "window"),
    "uplink-buffer": Setting(
        "uplink_buffer_packets", partial(_uplinks, "uplink-buffer"), "window", is_buffer=True
    ),
    "port-buffer": Setting(
        "port_buffer_packets", partial(_packets, "port-buffer"), "window", is_buffer=True
    ),
    "root-buffer": Setting(
        "root_buffer_packets", partial(_packets, "root-buffer"), "window", is_buffer=True
    ),
    "permutation": Setting(
        "permutation",
        partial(_one_of, "permutation", ("shift", "xor", "edge-colour")),
        needs="permutation",
    ),
    "hierarchy": Setting("hierarchy", lambda text: tuple(parse_hierarchy(text)), needs="hierarchy"),
    "remap": Setting("remap", lambda _: True, needs="remap", is_switch=True),
    OVER: Setting("reliable", lambda text: bool(_one_of(OVER, _CARRIERS, text)), part="frames"),
    "driver": _of_frames("driver", "driver"),
    "wait": Setting("wait", partial(_one_of, "wait", ("block", "spin", "hybrid")), part="frames"),
    "fragment": _of_frames("fragment", "fragment"),
    "flow-window": _of_frames("flow-window", "window_packets"),
    "timeout": _of_frames("timeout", "resend_after"),
}
"""In the order in which they are told."""
