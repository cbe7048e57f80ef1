"""Requests of strangers: judged as the schema does, then by policy."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from netsonde.serve.limits import Limits
from netsonde.serve.policy import Peer, RefusedError, SessionPolicy
from netsonde.serve.requests import BadRequestError, check_request, parse_request

SCHEMA = json.loads((Path(__file__).parents[2] / "schema/request.schema.json").read_text())
VALID = Draft202012Validator(SCHEMA)
PEER = Peer("192.0.2.7", "192.0.2.1", "ipv4")
SECOND = 10**9

OPTIONS = {
    "send_buffer_bytes": 1,
    "receive_buffer_bytes": 1 << 30,
    "no_delay": True,
    "congestion_control": "cubic",
    "max_segment_bytes": 88,
    "wait": "spin",
    "cpu": 0,
}
LISTEN = {
    "verb": "listen",
    "request": 1,
    "transport": "udp",
    "family": "ipv4",
    "cookie": "0a" * 16,
    "timeout_ns": SECOND,
}
OPEN = {"verb": "open", "request": 2, "role": "target", "timeout_ns": SECOND}
OPEN_ORIGIN = {**LISTEN, "verb": "open", "role": "origin", "address": "192.0.2.9", "port": 22}
RUN = {
    "verb": "run",
    "request": 3,
    "test": "latency",
    "message_bytes": 64,
    "count": 10,
    "timeout_ns": SECOND,
}
STREAM = {
    "verb": "run",
    "request": 3,
    "test": "stream",
    "message_bytes": 64,
    "duration_ns": SECOND,
    "rate_bit_per_s": 10**6,
    "interval_ns": 10**6,
    "record_messages": False,
    "system_counters": False,
    "check_data": True,
    "seed": 0,
    "call_bytes": 1,
    "timeout_ns": SECOND,
}
GENERATE = {
    **{"verb": "generate", "request": 6, "test": "stream", "family": "ipv4", "port": 9},
    **{"address": "192.0.2.9", "message_bytes": 1460, "rate_bit_per_s": 10**7},
    **{"duration_ns": 10**9, "timeout_ns": 5 * 10**9, "record_messages": False},
}
READ_CLOCK = {
    **{"verb": "read_clock", "request": 8, "clock": "counter"},
    **{"count": 100, "timeout_ns": SECOND},
}
SLEEP = {
    **{"verb": "sleep", "request": 8, "call": "select", "asked_ns": 1000},
    **{"count": 100, "timeout_ns": SECOND},
}
OPEN_ALONE = {
    **{"verb": "open", "request": 4, "role": "alone", "transport": "icmp", "family": "ipv6"},
    **{"address": "2001:db8::9", "options": {"wait": "spin", "cpu": 1}},
}
GOOD = [
    *({"verb": verb, "request": 1} for verb in ("facts", "snapshot", "close", "quit")),
    LISTEN,
    {**LISTEN, "address": "::", "port": 0, "allow_address": "::1", "options": OPTIONS},
    OPEN,
    OPEN_ORIGIN,
    OPEN_ALONE,
    RUN,
    STREAM,
    GENERATE,
    READ_CLOCK,
    SLEEP,
    {**RUN, "test": "collective", "operation": "bcast", "root": 0},
]
EDGES: list[object] = [
    None,
    True,
    -1,
    0,
    1,
    1000,
    10**6,
    2**24,
    2**24 + 1,
    2**30,
    2**30 + 1,
    2**32,
    2**32 + 1,
    10**12 + 1,
    36 * 10**11 + 1,
    864 * 10**11 + 1,
    2**53,
    2**70,
    1.5,
    "",
    "x",
    "ab",
    "z" * 65,
    "0a" * 16,
    "0A" * 16,
    "target",
    "origin",
    "alone",
    "icmp",
    [],
    {},
    {"cpu": 1},
    {"cpu": 1.5},
    {"more": 1},
    {"congestion_control": "Cubic"},
    {"max_segment_bytes": 87},
    {"wait": None},
    "facts",
]


@given(st.data())
def test_requests_are_judged_like_the_schema_does(data):
    request = copy.deepcopy(data.draw(st.sampled_from(GOOD)))
    for _ in range(data.draw(st.integers(0, 2))):
        match data.draw(st.sampled_from(["drop", "add", "replace"])):
            case "drop":
                del request[data.draw(st.sampled_from(sorted(request)))]
            case "add":
                names = st.sampled_from(["count", "duration_ns", "port", "role", "more", "test"])
                request.setdefault(data.draw(names), data.draw(st.sampled_from(EDGES)))
            case "replace":
                request[data.draw(st.sampled_from(sorted(request)))] = data.draw(
                    st.sampled_from(EDGES)
                )
        if not request:
            break
    try:
        accepted = check_request(request)
    except BadRequestError:
        assert not VALID.is_valid(request), request
    else:
        assert VALID.is_valid(request), request
        assert accepted == request


def test_the_good_ones_are_good():
    for request in GOOD:
        VALID.validate(request)
        assert parse_request(json.dumps(request).encode()) == request


@given(st.binary(max_size=100) | st.text(max_size=100).map(lambda t: json.dumps(t).encode()))
def test_any_bytes_are_refused_in_a_sentence(line):
    with pytest.raises(BadRequestError, match="not a JSON object"):
        parse_request(line)


@pytest.mark.parametrize("line", [b"[" * 65000, b'{"a":' * 13000, b"1" * 65000, b"\xff", b""])
def test_bombs_are_refused(line):
    with pytest.raises(BadRequestError):
        parse_request(line)


def test_the_number_of_a_bad_request_is_known_where_it_can_be():
    with pytest.raises(BadRequestError) as caught:
        check_request({"verb": "exec", "request": 12, "command": "id"})
    assert caught.value.request == 12
    assert "'exec' is unknown" in str(caught.value)
    for request in (0, True, "1", 2**60, None):
        with pytest.raises(BadRequestError) as caught:
            check_request({"verb": "exec", "request": request})
        assert caught.value.request == 0


class TestPolicy:
    def admit(self, request, **limits):
        VALID.validate(request)
        admitted = SessionPolicy(Limits(**limits), PEER).admit(request)
        VALID.validate(admitted)
        return admitted

    def test_the_test_talks_to_the_address_that_paired_and_to_no_other(self):
        for asked in ({}, {"allow_address": "198.51.100.1", "address": "0.0.0.0", "port": 22}):
            admitted = self.admit({**LISTEN, **asked})
            assert admitted["allow_address"] == PEER.address
            assert admitted["address"] == PEER.local_address
            assert admitted["port"] == 0

    def test_the_family_is_that_of_the_pairing(self):
        with pytest.raises(RefusedError, match="tests use ipv4 too"):
            self.admit({**LISTEN, "family": "ipv6"})

    def test_nothing_is_loaded_into_the_kernel_for_a_stranger(self):
        with pytest.raises(RefusedError, match="loads no eBPF programs"):
            self.admit({**LISTEN, "options": {"depth": True}})
        self.admit({**LISTEN, "options": {"depth": False}})

    def test_a_stranger_never_makes_this_host_connect(self):
        for request in (OPEN_ORIGIN, OPEN_ALONE):
            with pytest.raises(RefusedError, match="only ever the target"):
                self.admit(request)

    @pytest.mark.parametrize("request_", [GENERATE, READ_CLOCK, SLEEP], ids=lambda r: r["verb"])
    def test_what_has_no_other_end_is_not_for_strangers(self, request_):
        with pytest.raises(RefusedError, match="does not take that verb"):
            self.admit(request_)

    @pytest.mark.parametrize(
        ("request_", "limits", "sentence"),
        [
            ({**RUN, "test": "collective", "operation": "bcast"}, {}, "none between two hosts"),
            ({**RUN, "message_bytes": 1 << 20}, {"message_bytes": 1024}, "1M bytes was asked for"),
            ({**STREAM, "duration_ns": 90 * SECOND}, {}, "a run of 90 s was asked for"),
            (STREAM, {"rate_bit_per_s": 10**5}, "1.000 Mbit/s was asked for"),
            (
                {k: v for k, v in STREAM.items() if k != "rate_bit_per_s"},
                {"rate_bit_per_s": 10**5},
                "no rate was asked for",
            ),
            (RUN, {"total_bytes": 1000}, "would go over the 1000 bytes"),
            (STREAM, {"total_bytes": 100_000}, "would go over the 100000 bytes"),
            (RUN, {"runs": 0}, "had its 0 runs"),
        ],
    )
    def test_limits(self, request_, limits, sentence):
        with pytest.raises(RefusedError) as caught:
            self.admit(request_, **limits)
        assert sentence in str(caught.value)

    def test_what_was_really_moved_counts(self):
        policy = SessionPolicy(Limits(total_bytes=10_000), PEER)
        policy.admit(RUN)
        policy.count_bytes(9_000)
        with pytest.raises(RefusedError, match="would go over"):
            policy.admit(RUN)
        assert (policy.runs, policy.moved_bytes) == (1, 9_000)

    def test_time_outs_end_with_the_session(self):
        for request in (RUN, OPEN, LISTEN):
            admitted = self.admit({**request, "timeout_ns": 1000 * SECOND}, session_s=5)
            assert admitted["timeout_ns"] <= 5 * SECOND
            assert self.admit(request)["timeout_ns"] == SECOND
