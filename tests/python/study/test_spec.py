"""Studies as TOML: what is accepted, what is refused and in which words."""

from importlib.resources import files

import pytest
from pydantic import ValidationError

from netsonde.errors import UsageError
from netsonde.study.execute import without_secrets
from netsonde.study.measure_table import MeasureTable
from netsonde.study.options_table import OptionsTable
from netsonde.study.plan import in_order, plan_points
from netsonde.study.spec import StudySpec, parse_study, read_study, to_toml
from netsonde.study.values import expand_sizes

MINIMAL = """
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
"""


ECHOES = {"transports": "icmp", "test": "latency", "sizes": "64"}


def test_echoes_leave_the_options_of_others_to_them():
    options = {"buffer": "64k", "no_delay": False, "wait": "spin"}
    block = {**ECHOES, "transports": ["tcp", "udp", "icmp"], "options": options}
    spec = StudySpec.model_validate({"measure": [block]})
    assert [p.transport for p in plan_points(spec)] == ["tcp", "udp", "icmp"]
    alone = {**ECHOES, "options": {"wait": "spin", "traffic_class": "ef", "origin_cpu": 1}}
    spec = StudySpec.model_validate({"measure": [alone]})
    assert parse_study(to_toml(spec), "x.toml") == spec


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cork": True, "no_delay": True}, "ask for one of them"),
        ({"receive_buffer": "1k", "target_buffer": "1k"}, "target_buffer and receive_buffer"),
        ({"traffic_class": "gold"}, "quality of service"),
        ({"wait": "sleep"}, "wait"),
    ],
)
def test_options_that_do_not_go_together(options, words):
    with pytest.raises(ValidationError, match=words):
        OptionsTable.model_validate(options)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"transports": "udp", "test": "generate", "sizes": "1k"}, "must be bounded"),
        ({"transports": "tcp", "test": "generate", "sizes": "1k", "rate": "1M"}, "rate"),
        ({"transports": "udp", "test": "generate", "sizes": "0", "rate": "1M"}, "1 or more"),
        ({"transports": "udp", "test": "stream", "sizes": "1k", "port": 9}, "test generate's"),
        (
            {
                **{"transports": "udp", "test": "stream", "sizes": "1k", "rate": "1M"},
                "options": {"datagrams_per_call": 2},
            },
            "datagrams_per_call and rate",
        ),
        (
            {
                **{"transports": "udp", "test": "latency", "sizes": "1k"},
                "options": {"datagrams_per_call": 2},
            },
            "datagrams_per_call and test latency",
        ),
        *(
            ({"transports": ["udp", "icmp"], "test": test, "sizes": "1k"}, f"icmp and test {test}")
            for test in ("stream", "pingpong", "duplex", "incast", "victim")
        ),
        ({**ECHOES, "loads": "50%", "test": "open_loop"}, "icmp and test open_loop"),
        ({**ECHOES, "sizes": "65508"}, "does not fit an ICMP echo"),
        ({**ECHOES, "like": "sockperf"}, "like sockperf and transport icmp"),
        ({**ECHOES, "call": "1k"}, "call and transport icmp"),
        ({**ECHOES, "options": {"buffer": "64k"}}, "buffer and transport icmp"),
        ({**ECHOES, "options": {"no_delay": False}}, "no_delay and transport icmp"),
        ({**ECHOES, "options": {"target_cpu": 1}}, "target_cpu and transport icmp"),
        (
            {**ECHOES, "transports": ["tcp", "icmp"], "options": {"kernel_times": True}},
            "kernel_times and transport icmp",
        ),
        ({**ECHOES, "options": {"kernel_trace": True}}, "kernel_trace"),
        ({**ECHOES, "options": {"authenticated": True}}, "authenticated and transport icmp"),
        (
            {"transports": "udp", "test": "latency", "sizes": "23,64"}
            | {"options": {"authenticated": True}},
            "authenticated needs datagrams of at least 24 bytes",
        ),
        (
            {"transports": "udp", "test": "generate", "sizes": "64", "rate": "1M"}
            | {"options": {"authenticated": True}},
            "authenticated and test generate",
        ),
        (
            {"transports": "tcp", "test": "stream", "sizes": "1k", "streams": 2}
            | {"options": {"kernel_trace": True}},
            "kernel_trace and streams",
        ),
        (
            {
                "transports": "tcp",
                "test": "incast",
                "sizes": "64k",
                "options": {"kernel_trace": True},
            },
            "kernel_trace and test incast",
        ),
    ],
)
def test_blocks_that_do_not_go_together(block, words):
    with pytest.raises(ValidationError, match=words):
        MeasureTable.model_validate(block)


def test_a_cork_needs_nagle():
    assert OptionsTable.model_validate({"cork": True}).no_delay is False
    assert OptionsTable().no_delay is True


def test_the_shortest_study_gets_every_default():
    spec = parse_study(MINIMAL, "x.toml")
    assert spec.relative_precision == 0.01
    assert spec.cap == 2 * 10**9
    assert spec.path.kind == "auto"
    assert spec.measure[0].sizes == [64]


def test_the_resolved_study_reads_back_equal():
    text = files("netsonde.study").joinpath("quickstart.toml").read_text()
    spec = parse_study(text, "quickstart.toml")
    assert parse_study(to_toml(spec), "again") == spec


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("64", [64]),
        ("1..8", [1, 2, 4, 8]),
        ("1..1k:4", [1, 4, 16, 64, 256, 1024]),
        ("1,1k,1kB", [1, 1024, 1000]),
        (["1", 2, "4..8"], [1, 2, 4, 8]),
        ("4..16:1.5", [4, 6, 8, 12, 16]),
        ("8..32:1.41421", [8, 11, 16, 23, 32]),
        ("1..4:1.2", [1, 2, 3, 4]),
    ],
)
def test_sizes(text, sizes):
    assert expand_sizes(text) == sizes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("name = 'a b'", "name"),
        ("speed = 3", "unknown key speed"),
        ("cap = 'soon'", "'soon' is not a duration"),
        ("relative_precision = 2", "relative_precision"),
        ("[lab]\nrate = 'fast'", "'fast' is not a rate"),
        ("[lab]\nhosts = 1000", "lab.hosts"),
        ("[path]\nkind = 'moon'", "path.kind"),
        ("cap = ", "is not TOML"),
    ],
)
def test_a_wrong_study_is_refused_in_one_sentence(change, words):
    with pytest.raises(UsageError) as caught:
        parse_study(change + "\n" + MINIMAL, "x.toml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("x.toml")


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("transports='udp'\ntest='latency'\nsizes='64k'", "does not fit a UDP datagram"),
        (
            "transports='fabric'\ntest='stream'\nsizes='1k'\nrate='1M'",
            "rate of transport fabric goes with endpoint = 'dgram' and test stream only",
        ),
        ("transports='tcp'\ntest='latency'\nsizes='0'", "cannot be sent over TCP"),
        ("transports='tcp'\ntest='latency'\nsizes='8..2'", "is no range of sizes"),
        ("transports='tcp'\ntest='latency'\nsizes='1..'", "is not a size"),
        ("transports='tcp'\ntest='latency'\nsizes='-1'", "is not a size"),
        ("transports='tcp'\ntest='latency'\nsizes='8G'", "must be at most 4294967296"),
        ("transports='tcp'\ntest='collective'\nsizes='8'\noperations='bcast'", "needs transports"),
        ("transports='mpi'\ntest='collective'\nsizes='8'", "needs operations"),
        ("transports='mpi'\ntest='latency'\nsizes='8'\noperations='bcast'", "go with test"),
        (
            "transports='mpi'\ntest='collective'\nsizes='9'\noperations='allreduce'",
            "multiples of 8",
        ),
        ("transports='tcp'\ntest='stream'\nsizes='9'\nrate='1M'", "rate goes with"),
        (
            "transports='tcp'\ntest='stream'\nsizes='9'\noptions={multipath=true,pacing='1M'}",
            "pacing and multipath do not go together",
        ),
        (
            "transports='tcp'\ntest='stream'\nsizes='9'\n"
            "options={multipath=true,window_clamp='64k'}",
            "window_clamp and multipath do not go together",
        ),
        (
            "transports='tcp'\ntest='stream'\nsizes='9'\n"
            "options={multipath=true,sending='zerocopy'}",
            "sending = 'zerocopy' and multipath do not go together",
        ),
    ],
)
def test_impossible_combinations_are_refused(measure, words):
    with pytest.raises(UsageError) as caught:
        parse_study("[[measure]]\n" + measure, "x.toml")
    assert words in str(caught.value)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not TOML"):
        read_study(tmp_path / "binary.toml")


def test_the_order_is_random_by_seed_and_ids_are_not():
    text = "[[measure]]\ntransports=['tcp','udp']\ntest='latency'\nsizes='1..16k'"
    points = plan_points(parse_study(text, "x"))
    assert [p.id for p in points][:3] == ["p001", "p002", "p003"]
    assert in_order(points, 7) == in_order(points, 7)
    assert in_order(points, 7) != in_order(points, 8)
    assert sorted(p.id for p in in_order(points, 7)) == [p.id for p in points]


def test_a_barrier_has_no_sizes():
    text = (
        "[[measure]]\ntransports='mpi'\ntest='collective'\noperations=['barrier','bcast']\n"
        "sizes='1k,64k'"
    )
    points = plan_points(parse_study(text, "x"))
    assert [(p.parameters["operation"], p.parameters["message_bytes"]) for p in points] == [
        ("barrier", 0),
        ("bcast", 1024),
        ("bcast", 65536),
    ]


@pytest.mark.parametrize("given", [["--pairing-code", "ns1-secret"], ["--pairing-code=ns1-secret"]])
def test_pairing_codes_are_not_kept(given):
    kept = without_secrets(["netsonde", "tcp", "h", *given, "--json"])
    assert "secret" not in " ".join(kept)
    assert kept[-1] == "--json"
