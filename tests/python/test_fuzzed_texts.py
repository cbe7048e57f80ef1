"""Texts from elsewhere, made of valid ones that are cut, repeated and changed: each is read, or
refused by the error that its reader promises. NETSONDE_EXAMPLES says how many of each (60)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from netsonde.errors import NetsondeError
from netsonde.launch.pairing import PairingCode
from netsonde.launch.record_check import BadRecordError, parse_record
from netsonde.peers.read import READERS, read_output
from netsonde.serve.proof import parse_proof
from netsonde.serve.requests import BadRequestError, parse_request
from netsonde.trace.journal import TraceReader, read_trace

EXAMPLES = Path(__file__).parents[2] / "schema" / "examples"
OUTPUTS = Path(__file__).parent / "peers" / "outputs"
CODE = PairingCode.make(b"certificate").text()
PROOF = (
    b'{"netsonde":"client","client":"c","measurement":"m","nonce":"'
    + b"0a" * 16
    + b'","proof":"'
    + b"1b" * 32
    + b'"}\n'
)
TRACE = (
    b'netsonde-trace 1 {"interval_ns":1000000,"begin_ns":5}\n'
    b"N 0 c0 count cpu.user\nN 1 g1 bytes memory.free\nM kernel_trace it is not allowed\n"
    b"S 0 5 100 0=17 1=4\nS 1 9 90 0+1 1-2\nB begin 1500000 40 0+3\nE 2 0 0 asked for\n"
)
JUNK = (
    *(b"", b"0", b"-1", b"1e999", b"NaN", b"null", b"[]", b"{}", b'"', b"\0", b"\xff", b"\n"),
    b"9" * 400,
)
fuzzed = settings(
    max_examples=int(os.environ.get("NETSONDE_EXAMPLES", "60")),
    suppress_health_check=list(HealthCheck),
)


def lines_of(name: str) -> list[bytes]:
    return (EXAMPLES / name).read_bytes().splitlines()


@some.composite
def damaged(draw: some.DrawFn, whole: list[bytes]) -> bytes:
    """One of some texts, with pieces of it and of others cut out, put in, or repeated."""
    text = draw(some.sampled_from(whole))
    for _ in range(draw(some.integers(0, 4))):
        begin = draw(some.integers(0, len(text)))
        end = draw(some.integers(begin, min(len(text), begin + 40)))
        other = draw(some.sampled_from(whole))
        at = draw(some.integers(0, len(other)))
        pieces = some.sampled_from([*JUNK, text[begin:end] * 2, other[at : at + 40]])
        text = text[:begin] + draw(pieces | some.binary(max_size=8)) + text[end:]
    return text


def refused(read: Callable[[], object], *errors: type[Exception]) -> None:
    """Read, or refused in one sentence."""
    said = "read"
    try:
        read()
    except errors as error:
        said = str(error)
    assert said
    assert "\n" not in said


@fuzzed
@given(damaged([PROOF]))
def test_what_a_client_answers(line: bytes) -> None:
    refused(lambda: parse_proof(line), ValueError)


@fuzzed
@given(some.text(max_size=80) | damaged([CODE.encode()]).map(lambda b: b.decode(errors="replace")))
def test_pairing_codes(text: str) -> None:
    refused(lambda: PairingCode.parse(text), NetsondeError)


@fuzzed
@given(damaged([*lines_of("requests-valid.jsonl"), *lines_of("requests-invalid.jsonl")]))
def test_requests_to_a_server(line: bytes) -> None:
    refused(lambda: parse_request(line), BadRequestError)


@fuzzed
@given(damaged([*lines_of("records-valid.jsonl"), *lines_of("records-invalid.jsonl")]))
def test_records_of_a_worker(line: bytes) -> None:
    refused(lambda: parse_record(line), BadRecordError)


@fuzzed
@given(
    damaged([path.read_bytes() for path in sorted(OUTPUTS.rglob("*")) if path.is_file()]),
    some.sampled_from([None, *READERS]),
)
def test_outputs_of_other_tools(content: bytes, tool: str | None) -> None:
    refused(lambda: read_output(content.decode(errors="replace"), tool), NetsondeError)


@fuzzed
@given(damaged([TRACE]))
def test_traces(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "trace-000001.log").write_bytes(content)
        refused(lambda: list(read_trace(Path(folder), TraceReader())), NetsondeError)


def test_the_whole_texts_are_read() -> None:
    """Else none of the others tries what it is for."""
    assert parse_proof(PROOF).client == "c"
    assert PairingCode.parse(CODE)
    reader = TraceReader()
    for line in TRACE.decode().splitlines():
        reader.feed(line)
    assert reader.value("cpu.user") == 21
