"""Lines of a journal: what is cut out of them, and what must not be."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.errors import HostError
from netsonde.records.counted import Counted, counted, growth
from netsonde.records.decode import decode_batch
from netsonde.records.lines import parse_line


def series(values, name="round_trip_ns"):
    text = base64.b64encode(np.array(values, "<i8").tobytes()).decode()
    return {
        **{"record": "series", "request": 1, "rank": 0, "host": "h", "name": name, "unit": "ns"},
        **{"offset": 0, "count": len(values), "total": len(values), "values": text},
    }


def as_line(entry):
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), max_size=4), st.text())
def test_a_batch_is_read_as_json_reads_it(parts, host):
    records = [{**series(values, f"s{n}"), "host": host} for n, values in enumerate(parts)]
    records.append({"record": "done", "rank": 0, "host": host, "values": {"note": '"values":"'}})
    entry = {"entry": "batch", "point": "p1", "batch": 0, "records": records}
    found = parse_line(as_line(entry))
    for record in found["records"]:
        if isinstance(record["values"], memoryview):
            record["values"] = bytes(record["values"]).decode()
    assert found == entry


def test_samples_are_cut_out_of_a_line():
    entry = {"entry": "batch", "point": "p1", "batch": 0, "records": [series([1, 2], "a")]}
    (record,) = parse_line(as_line(entry))["records"]
    assert isinstance(record["values"], memoryview)


@pytest.mark.parametrize(
    "entry",
    [
        {"entry": "batch", "note": {"values": "elsewhere"}, "records": []},
        {"entry": "batch", "records": [{"record": "odd", "values": 'a "quoted" \\ text'}]},
        {"entry": "batch", "records": "none"},
        {"entry": "point_finished", "values": "0"},
        {"entry": "batch", "records": [{"record": "done", "values": {"x": float("inf")}}]},
    ],
)
def test_what_is_not_as_usual_is_read_the_plain_way(entry):
    assert parse_line(as_line(entry)) == entry


@pytest.mark.parametrize("line", [b'{"entry":"batch","values":"AA\n', b"[1]\n", b"{\n", b"\xff\n"])
def test_a_damaged_line_is_an_error(line):
    with pytest.raises(ValueError, match=r".+"):
        parse_line(line)


def test_damaged_samples_are_an_error():
    record = {**series([1, 2]), "values": "AAAA*AAA"}
    found = parse_line(as_line({"entry": "batch", "batch": 0, "records": [record]}))
    with pytest.raises(HostError, match="damaged base64"):
        decode_batch(0, found["records"])


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.integers(0, 2**62), max_size=20))
def test_counted_values_are_a_mapping(values):
    packed = counted(values)
    assert isinstance(packed, Counted)
    assert packed == values
    assert list(packed) == list(values)
    assert dict(packed.items()) == values
    more = counted({name: value + 3 for name, value in values.items()})
    assert growth(packed, more) == dict.fromkeys(values, 3)
    assert growth(packed, more, "a") == {n: 3 for n in values if n.startswith("a")}
    assert growth(values, more, "a") == {n: 3 for n in values if n.startswith("a")}


def test_a_counter_beyond_64_bits_is_kept():
    assert counted({"x": 2**64}) == {"x": 2**64}
