"""Switching a device's segmentation offloads off and on, as ``ethtool -K`` does."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

_SIOCETHTOOL = 0x8946
_GET_STRINGS = 0x1B
_GET_STRING_COUNTS = 0x37
_GET_FEATURES = 0x3A
_SET_FEATURES = 0x3B
_FEATURES = 4  # the set of strings that names the features
_STRING_BYTES = 32
_REQUEST = struct.Struct("16sP")  # struct ifreq: the device's name and a pointer
_REQUEST_BYTES = 40


def switch_bundling_off(device: str) -> None:
    """Every packet crosses the device by itself; for a device in our network namespace.

    Raises OSError.
    """
    _switch_bundling(device, on=False)


def switch_bundling_on(device: str) -> None:
    """Packets cross the device many at once, as they are without a lab. Raises OSError."""
    _switch_bundling(device, on=True)


def _switch_bundling(device: str, *, on: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        names = _feature_names(control, device)
    set_features(device, {name: on for name in names if _bundles(name)})


def set_features(device: str, wanted: Mapping[str, bool]) -> None:
    """Switches features on or off, by name; one that the device has not is passed over. Raises
    OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        names = _feature_names(control, device)
        blocks = (len(names) + 31) // 32
        valid, values = [0] * blocks, [0] * blocks
        for index, name in enumerate(names):
            if name in wanted:
                valid[index // 32] |= 1 << index % 32
                values[index // 32] |= wanted[name] << index % 32
        content = struct.pack("=II", _SET_FEATURES, blocks)
        pairs = zip(valid, values, strict=True)
        _call(control, device, content + b"".join(struct.pack("=II", *pair) for pair in pairs))


@dataclass(frozen=True)
class FeatureState:
    """Of one feature of a device."""

    is_on: bool
    can_change: bool


def feature_states(device: str) -> dict[str, FeatureState]:
    """Every feature of a device in our network namespace, by name. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        names = _feature_names(control, device)
        blocks = (len(names) + 31) // 32
        header = struct.Struct("=II")
        block = struct.Struct("=IIII")  # available, requested, active, never changed
        asked = header.pack(_GET_FEATURES, blocks) + bytes(blocks * block.size)
        content = _call(control, device, asked)[header.size :]
    masks = [block.unpack_from(content, number * block.size) for number in range(blocks)]

    def state(index: int) -> FeatureState:
        available, _, active, never = (mask >> index % 32 & 1 for mask in masks[index // 32])
        return FeatureState(bool(active), bool(available and not never))

    return {name: state(index) for index, name in enumerate(names) if name}


def _bundles(feature: str) -> bool:
    """Whether packets are cut up or put together by it; kernels keep adding kinds."""
    return feature == "rx-gro" or (feature.startswith("tx-") and feature.endswith("segmentation"))


def _feature_names(control: socket.socket, device: str) -> list[str]:
    header = struct.Struct("=IIQI")
    asked = header.pack(_GET_STRING_COUNTS, 0, 1 << _FEATURES, 0)
    count = header.unpack(_call(control, device, asked))[3]
    header = struct.Struct("=III")
    asked = header.pack(_GET_STRINGS, _FEATURES, count) + bytes(count * _STRING_BYTES)
    strings = _call(control, device, asked)[header.size :]
    pieces = (
        strings[index : index + _STRING_BYTES] for index in range(0, len(strings), _STRING_BYTES)
    )
    return [piece.split(b"\0")[0].decode() for piece in pieces]


def _call(control: socket.socket, device: str, content: bytes) -> bytes:
    """One ethtool command; content after the kernel wrote its answer into it."""
    buffer = ctypes.create_string_buffer(content, len(content))
    request = _REQUEST.pack(device.encode(), ctypes.addressof(buffer))
    fcntl.ioctl(control, _SIOCETHTOOL, request.ljust(_REQUEST_BYTES, b"\0"))
    return buffer.raw
