"""Platforms on disk: presets hold what is published, documents come back, bad ones are refused."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.model.platform import (
    SYMBOLS,
    Buffer,
    Cost,
    Origin,
    Platform,
    Uplink,
    fit_cost,
)
from netsonde.platforms.document import parse_platform, platform_document
from netsonde.platforms.published import tables
from netsonde.platforms.read import find_platform, preset, preset_names, write_platform
from netsonde.platforms.safety import with_known_buffers


def test_presets_hold_table_5_2() -> None:
    (row,) = tables()["parameters_exchange"].rows
    names = ("send_overhead", "send_gap", "receive_gap", "receive_overhead", "user_overhead")
    for name, law in (("fe-326", row[5]), ("fe-416", row[6])):
        platform = preset(name)
        for parameter, us in zip(names, row[:5], strict=True):
            assert platform.at(parameter, 1492) / 1e3 == us
        latency = platform.cost("latency")
        assert f"{latency.per_rank_ns / 1e3:.4f} p + {latency.start_ns / 1e3:.0f}" == law


def test_presets_hold_table_a_1() -> None:
    buffers = {row[0]: row[1:] for row in tables()["switch_buffers"].rows}
    for name, switch in (("fe-326", "IBM 8275-326"), ("fe-416", "IBM 8275-416")):
        buffer = preset(name).buffer
        assert (buffer.architecture, buffer.packets) == buffers[switch]
    uplink = preset("fe-326").uplink
    assert uplink.buffer.packets == buffers["IBM 8275-326, gigabit uplink"][1]


@pytest.mark.parametrize("name", preset_names())
def test_every_number_of_a_preset_has_its_source(name: str) -> None:
    platform = preset(name)
    assert platform.name == name
    origins = [cost.origin for cost in platform.costs.values()]
    if platform.buffer is not None:
        origins.append(platform.buffer.origin)
    if platform.uplink is not None:
        origins += [platform.uplink.origin, platform.uplink.buffer.origin]
    if platform.messages is not None:
        origins.append(platform.messages.origin)
    assert origins
    for origin in origins:
        assert "section" in origin.source or "Table" in origin.source
        assert origin.kind in ("published", "derived", "assumed")


@pytest.mark.parametrize("name", preset_names())
def test_presets_come_back(name: str) -> None:
    platform = preset(name)
    assert parse_platform(json.dumps(platform_document(platform)), "here") == platform


def test_a_fitted_platform_comes_back(tmp_path: Path) -> None:
    sizes = np.array([1, 300, 600, 900, 1200, 1492])
    wobble = np.array([1.0, -1.0, 2.0, -2.0, 1.0, -1.0])
    origin = Origin("emulated", "os_gs", "runs/20260101-120000-gaps")
    costs = {
        "send_gap": fit_cost(sizes, 4000 + 80 * sizes + wobble, origin),
        "latency": Cost(9000.0, 80.0, 300.0, 0.5, origin=origin, sizes=(1, 1492), ranks=(2, 16)),
    }
    buffer = Buffer("shared", 820, origin)
    platform = Platform(
        "mine", "two words", 1492, 1e8, costs,
        ranks=16, buffer=buffer, uplink=Uplink(1e9, 1e8, buffer, origin),
    )  # fmt: skip
    path = tmp_path / "mine.json"
    write_platform(platform, path)
    assert find_platform(str(path)) == platform


@given(
    st.floats(0, 1e9), st.floats(0, 1e6), st.integers(1, 10_000), st.floats(1, 1e14),
    st.text(max_size=200),
)  # fmt: skip
def test_documents_come_back(
    start: float, byte: float, packet: int, rate: float, about: str
) -> None:
    cost = Cost(start, byte, origin=Origin("assumed", "made up"))
    platform = Platform("x", about, packet, rate, {"latency": cost})
    text = json.dumps(platform_document(platform))
    assert parse_platform(text, "here") == platform


def document() -> dict[str, Any]:
    return copy.deepcopy(platform_document(preset("fe-326")))


def changed(*keys: str, value: object) -> str:
    found = document()
    place = found
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return json.dumps(found)


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("format",), "netsonde-platform-2", "netsonde-platform-1"),
        (("colour",), "red", "unknown key colour"),
        (("name",), "a b", "name"),
        (("name",), "../x", "name"),
        (("packet_bytes",), 0, "packet_bytes"),
        (("packet_bytes",), 1e3, "packet_bytes"),
        (("packet_bytes",), "1492", "packet_bytes"),
        (("packet_bytes",), True, "packet_bytes"),
        (("packet_bytes",), 10**12, "packet_bytes"),
        (("packet_bytes",), 64, "at most 64"),
        (("link_bit_per_s",), 0, "link_bit_per_s"),
        (("link_bit_per_s",), -1e9, "link_bit_per_s"),
        (("link_bit_per_s",), 10**400, "link_bit_per_s"),
        (("serialisations",), 0, "serialisations"),
        (("about",), "x" * 1000, "about"),
        (("ranks",), 10**9, "ranks"),
        (("parameters", "speed"), document()["parameters"]["latency"], "'speed'"),
        (("parameters", "latency", "start_ns"), "149000", "start_ns"),
        (("parameters", "latency", "start_ns"), 1e300, "start_ns"),
        (("parameters", "latency", "start_ns"), -1e9, "below 0"),
        (("parameters", "send_gap", "start_ns"), 0, "0 ns"),
        (("parameters", "latency", "slope"), 1, "unknown key parameters.latency.slope"),
        (("parameters", "latency", "sizes"), [9, 1], "least first"),
        (("parameters", "latency", "sizes"), [1], "sizes"),
        (("parameters", "latency", "origin"), None, "origin"),
        (("parameters", "latency", "origin", "kind"), "heard", "kind"),
        (("parameters", "latency", "fit"), {"n": 2, "residual_ns": 0, "r_squared": 1}, "fit.n"),
        (("switch", "architecture"), "round", "architecture"),
        (("switch", "packets"), 0, "packets"),
        (("uplink", "ceiling_byte_per_s"), 0, "ceiling_byte_per_s"),
    ],
)
def test_bad_documents_are_refused(keys: tuple[str, ...], value: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        parse_platform(changed(*keys, value=value), "mine.json")
    assert "mine.json" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_platform_of_nothing_is_refused() -> None:
    bare = document() | {"parameters": {}}
    assert parse_platform(json.dumps(bare), "mine.json").buffer is not None  # of bursts alone
    del bare["switch"]
    with pytest.raises(UsageError, match="neither parameters, messages nor a switch"):
        parse_platform(json.dumps(bare), "mine.json")


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)


@given(st.data(), junk)
@settings(max_examples=300, derandomize=True)
def test_whatever_stands_somewhere_is_taken_or_refused(data: st.DataObject, value: object) -> None:
    """A document with one value replaced, at any depth, gives a platform that can be written again,
    or a sentence."""
    found: Any = document()
    place = found
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        deeper = isinstance(place[key], dict) and bool(place[key])
        if not deeper or data.draw(st.booleans()):
            place[key] = value
            break
        place = place[key]
    taken, sentence = taken_or_refused(json.dumps(found))
    assert sentence.isprintable()
    assert len(sentence) < 400
    if taken is not None:
        text = json.dumps(platform_document(taken), allow_nan=False)
        assert parse_platform(text, "mine.json") == taken


def taken_or_refused(text: str) -> tuple[Platform | None, str]:
    try:
        return parse_platform(text, "mine.json"), ""
    except UsageError as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no platform"),
        ("[]", "mine.json"),
        ("null", "mine.json"),
        ("{", "no platform"),
        ('{"name": "a", "name": "b"}', "'name' is there twice"),
        ('{"link_bit_per_s": NaN}', "NaN is no number"),
        ('{"link_bit_per_s": Infinity}', "Infinity is no number"),
        ("[" * 100_000, "mine.json"),
        ("9" * 10_000, "mine.json"),
        (" " * 300_000, "more than"),
    ],
)
def test_other_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        parse_platform(text, "mine.json")
    assert len(str(raised.value)) < 400


def test_what_is_quoted_cannot_steer_a_terminal() -> None:
    with pytest.raises(UsageError) as raised:
        parse_platform(changed("\x1b[31m\n", value=1), "mine.json")
    assert str(raised.value).isprintable()
    assert "unknown key" in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        find_platform(str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="cannot be read"):
        find_platform(f"{tmp_path}/")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        find_platform(str(tmp_path / "bytes.json"))
    with pytest.raises(UsageError, match="no path"):
        find_platform("a\0.json")
    with pytest.raises(UsageError, match="no platform is called 'fe-999'"):
        find_platform("fe-999")
    with pytest.raises(UsageError, match="cannot be written"):
        write_platform(preset("fe-326"), tmp_path / "none" / "x.json")


def test_the_platform_of_the_reference_is_one() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "platforms.md"
    shown = re.findall(r"(?ms)^```json\n(.*?)^```$", page.read_text())
    assert len(shown) == 1
    assert parse_platform(shown[0], "platforms.md").name == "mine"
    text = page.read_text()
    assert all(f"`{name}`" in text for name in (*SYMBOLS, *preset_names()))


def test_a_buffer_of_a_way_is_that_of_a_platform(tmp_path: Path) -> None:
    """What `netsonde mpi --algorithm` is asked for stands in numbers in its study."""
    file = tmp_path / "mine.json"
    platform = preset("fe-326")
    write_platform(platform, file)
    assert platform.uplink is not None
    assert platform.buffer is not None
    way = "modified-shuffle:hierarchy=8x2:uplink-buffer={}:root-buffer={}:over=link"
    known = way.format(platform.uplink.buffer.packets, platform.buffer.packets)
    assert with_known_buffers(f"native,{way.format(file, 'fe-326')}") == f"native,{known}"
    assert with_known_buffers(known) == known
    several = "modified-shuffle:uplink-buffer=45x510,native"
    assert with_known_buffers(several) == several
    with pytest.raises(UsageError, match="has no such buffer"):
        with_known_buffers("modified-shuffle:uplink-buffer=hydra-ethernet")
    with pytest.raises(UsageError, match=r"none\.json"):
        with_known_buffers("modified-shuffle:port-buffer=./none.json")
