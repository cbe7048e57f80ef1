"""Counters that stay in the journal: the same values as by the plain way, whatever their names."""

import copy
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsonde.errors import UsageError
from netsonde.records import journal as journals
from netsonde.records.counted import Counted, counted_in
from netsonde.records.decode import decode_batch
from netsonde.records.journal import read_journal
from netsonde.records.later import Later
from netsonde.records.lines import parse_line

MANY = {f"netstat.TcpExt.Counter{i}": 1000 + 7 * i for i in range(100)}
ODD_NAMES = st.text(st.sampled_from('ab{}":,\\ é'), min_size=1, max_size=6)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def line_of(records):
    entry = {"entry": "batch", "point": "p1", "batch": 0, "records": records}
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def snapshot(values, phase="before"):
    return {
        **{"record": "snapshot", "rank": 0, "host": "a", "phase": phase},
        **{"time_ns": 1, "cost_ns": 2, "values": values},
    }


def write(directory, lines):
    (directory / "journal.jsonl").write_bytes(b"".join(lines))


@given(odd=st.dictionaries(ODD_NAMES, st.one_of(NUMBERS, ODD_NAMES), max_size=5), tail=ODD_NAMES)
@settings(max_examples=300, deadline=None)
def test_names_that_look_like_json_change_nothing(odd, tail):
    records = [
        snapshot({**MANY, **odd}),
        {"record": "counters", "rank": 0, "host": "a", "values": {**MANY, "start_ns": 5}},
        {"record": "done", "rank": 0, "host": "a", "values": {"output_tail": tail, **odd}},
        snapshot(MANY, "after"),
    ]
    line = line_of(records)
    before = b"something else\n"
    text = before + line

    def later(begin, end):
        return json.loads(text[begin:end])

    assert parse_line(text, len(before), len(text), later) == json.loads(line)


@given(values=st.dictionaries(ODD_NAMES.filter(lambda n: "\\" not in n and '"' not in n), NUMBERS))
def test_counters_are_read_as_json_reads_them(values):
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()
    assert dict(counted_in(text)) == values


@pytest.mark.parametrize(
    "text", ['{"a":1,"b":18446744073709551615}', '{"a":"x"}', '{"a":1, "b" : 2}', '{"a":{"b":1}}']
)
def test_what_is_no_flat_object_of_small_integers_is_read_as_it_is(text):
    assert dict(counted_in(text.encode())) == json.loads(text)


@pytest.mark.parametrize("text", ['{"a":1"b":2}', '{"a":1', '{"a":1]', ""])
def test_damaged_counters_are_an_error(text):
    with pytest.raises(ValueError, match=r".+"):
        counted_in(text.encode())


@pytest.mark.parametrize("block_bytes", [1, 7, 1000, 5000, 1 << 22])
def test_places_in_the_file_are_right_whatever_the_blocks(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(journals, "BLOCK_BYTES", block_bytes)
    made = [{name: value + 11 * i for name, value in MANY.items()} for i in range(6)]
    write(tmp_path, [b'{"entry":"x"}\n', *(line_of([snapshot(values)]) for values in made)])
    entries = list(read_journal(tmp_path))[1:]
    assert all(isinstance(entry["records"][0]["values"], Later) for entry in entries)
    snapshots = [decode_batch(0, entry["records"]).ends[0].before for entry in entries]
    assert [dict(found.values) for found in snapshots] == made
    assert isinstance(snapshots[0].values, Counted)


def test_a_copy_has_them_too_and_the_file_may_be_gone(tmp_path):
    write(tmp_path, [line_of([snapshot(MANY)])])
    (entry,) = read_journal(tmp_path)
    found = decode_batch(0, entry["records"]).ends[0].before
    (tmp_path / "journal.jsonl").unlink()
    assert copy.deepcopy(found) == found
    assert dict(found.values) == MANY


def test_a_journal_that_changed_meanwhile_is_said(tmp_path):
    write(tmp_path, [line_of([snapshot(MANY)])])
    (entry,) = read_journal(tmp_path)
    found = decode_batch(0, entry["records"]).ends[0].before
    os.truncate(tmp_path / "journal.jsonl", 500)
    with pytest.raises(UsageError, match="changed while it was read"):
        _ = found.values


def test_batches_can_be_left_out(tmp_path):
    write(tmp_path, [line_of([snapshot(MANY)]), b'{"entry":"point_finished","point":"p1"}\n'])
    assert [e["entry"] for e in read_journal(tmp_path, batches=False)] == ["point_finished"]
