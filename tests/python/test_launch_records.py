"""The hand-written check of records against schema/record.schema.json."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from netsonde.launch.record_check import BadRecordError, check_record, parse_record

SCHEMA = json.loads((Path(__file__).parents[2] / "schema/record.schema.json").read_text())
VALID = Draft202012Validator(SCHEMA)
OF = {"request": 3, "rank": 1, "host": "h1"}
CLOCK = {"source": "monotonic", "tick_ns": 1, "resolution_ns": 2.5, "cost_ns": 20, "reason": ""}
GOOD = [
    {
        "record": "hello",
        "protocol": 1,
        "worker": "sonde-mpi",
        "version": "0.1.0",
        "host": "h1",
        "rank": 0,
        "ranks": 4,
        "pid": 12,
        "clock": CLOCK,
    },
    {"record": "facts", **OF, "values": {"a": 1, "b": 1.5, "c": "x", "d": True}},
    {
        "record": "series",
        **OF,
        "name": "round_trip_ns",
        "unit": "ns",
        "offset": 0,
        "count": 1,
        "total": 1,
        "values": "AQAAAAAAAAA=",
    },
    {"record": "counters", **OF, "values": {"lost": 0, "large": 2**64 - 1}},
    {"record": "snapshot", **OF, "phase": "before", "time_ns": 5, "cost_ns": 6, "values": {}},
    {"record": "done", **OF, "verb": "run", "values": {}},
    {"record": "error", **OF, "code": "peer_lost", "message": "gone"},
    {"record": "bye", "rank": 0, "host": "h1", "reason": "quit"},
]
REPLACEMENTS: list[object] = [
    None,
    True,
    -1,
    0,
    1,
    2**70,
    1.5,
    "",
    "x",
    "ns",
    "a\n",
    [],
    {},
    {"a": None},
    {"a": True},
    {"a": 1.5},
    {"a": []},
    "y" * 300,
    [1],
    {"a": {"b": 1}},
]


def agrees(record):
    """Ours refuses what the schema refuses. It may be stricter only where is_stricter() says so."""
    try:
        check_record(record)
    except BadRecordError:
        assert not VALID.is_valid(record) or is_stricter(record), record
    else:
        assert VALID.is_valid(record), record


def is_stricter(record):
    """An integer over 64 bits or a text that is not the encoding of `count` values."""
    numbers = [v for v in record.values() if isinstance(v, int)]
    if any(abs(n) > 2**64 for n in numbers):
        return True
    if record["record"] == "series":
        return (
            len(record["values"]) != 4 * -(-8 * record["count"] // 3)
            or len(record["name"]) > 64
            or record["name"].endswith("\n")
        )
    return False


@pytest.mark.parametrize("record", GOOD, ids=lambda r: r["record"])
def test_good_records_pass(record):
    VALID.validate(record)
    assert parse_record(json.dumps(record).encode()) == record


@given(st.data())
def test_damaged_records_are_judged_like_the_schema_does(data):
    record = copy.deepcopy(data.draw(st.sampled_from(GOOD)))
    place = record["clock"] if "clock" in record and data.draw(st.booleans()) else record
    match data.draw(st.sampled_from(["drop", "add", "replace"])):
        case "drop":
            del place[data.draw(st.sampled_from(sorted(place)))]
        case "add":
            place[data.draw(st.text(max_size=5))] = 1
        case "replace":
            key = data.draw(st.sampled_from(sorted(place)))
            place[key] = data.draw(st.sampled_from(REPLACEMENTS))
    agrees(record)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_a_sentence(line):
    with pytest.raises(BadRecordError) as caught:
        parse_record(line)
    assert str(caught.value).startswith("wrote ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b"1" * 100_000,
        b"NaN",
        b'{"record":["hello"]}',
        b'{"record":"done","request":NaN,"rank":0,"host":"h","verb":"x","values":{}}',
    ],
    ids=["brackets", "objects", "digits", "nan", "kind", "constant"],
)
def test_bombs_are_refused(line):
    with pytest.raises(BadRecordError):
        parse_record(line)


TWO_GREET_AT_ONCE = """
import json, sys, threading, time
import msgspec._utils
from netsonde.launch.record_check import check_record

hello, begun, annotation = json.loads(sys.argv[1]), threading.Event(), msgspec._utils._forward_ref

def slow(value):
    if "cycle_counter" in str(value) and not begun.is_set():
        begun.set()
        time.sleep(0.3)
    return annotation(value)

msgspec._utils._forward_ref = slow
first = threading.Thread(target=check_record, args=(hello,))
first.start()
assert begun.wait(10)
check_record(hello)
first.join()
"""


def test_two_workers_that_greet_at_once_crash_nothing():
    """The library learns a type when it is first used; whoever used it meanwhile crashed."""
    command = [sys.executable, "-c", TWO_GREET_AT_ONCE, json.dumps(GOOD[0])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
