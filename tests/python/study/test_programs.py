"""Users' own programs in a study: what a block may say, its points, and when a point ends."""

from typing import Any

import pytest
from planned_points import planned_point

from netsonde.errors import HostError, UsageError
from netsonde.study import testbed
from netsonde.study.plan import longest_ns, plan_points
from netsonde.study.program import measure_program
from netsonde.study.spec import parse_study, to_toml

MEASURE = """
[[measure]]
transports = "tcp"
test = "latency"
sizes = "64"
"""
FULL = (
    MEASURE
    + r"""
[[program]]
command = ["./mg.A.x", "--text", "quotes \" and \\ and \u007f and \n"]
where = "both"
timeout = "5m"
environment = { "OMP_NUM_THREADS" = "4" }
label = "four"
count = 9
[program.figures.mops]
pattern = 'Mop/s total *= *([0-9.]+)'
unit = "Mop/s"
[program.figures.error]
pattern = 'error (\S+)'
better = "lower"

[[program]]
name = "exchange"
command = ["exchange", "--bytes={size}", "{size}"]
sizes = "1k,4k"
"""
)


def program(text):
    return parse_study(f"{MEASURE}\n[[program]]\n{text}\n", "x.toml")


def test_points_of_programs():
    points = [p for p in plan_points(parse_study(FULL, "x")) if p.test == "program"]
    assert [p.id for p in points] == ["p002", "p003", "p004", "p005"]
    assert {p.transport for p in points} == {"program"}
    assert [p.parameters["where"] for p in points] == ["origin", "target", "origin", "origin"]
    assert [p.parameters["name"] for p in points] == ["mg.A.x", "mg.A.x", "exchange", "exchange"]
    assert [p.parameters["message_bytes"] for p in points] == [0, 0, 1024, 4096]
    assert points[2].parameters["command"] == ["exchange", "--bytes=1024", "1024"]
    assert points[0].parameters["label"] == "four"
    assert points[0].parameters["figures"]["error"]["better"] == "lower"


def test_a_study_with_programs_reads_back_equal():
    spec = parse_study(FULL, "x")
    assert parse_study(to_toml(spec), "y") == spec
    assert [p.as_json() for p in plan_points(parse_study(to_toml(spec), "y"))] == [
        p.as_json() for p in plan_points(spec)
    ]


def test_how_long_it_may_last():
    ends = {
        "count = 9\ntimeout = '10s'": 90,
        "timeout = '10s'": 60,
        "timeout = '1s'\ncap = '20s'": 21,
    }
    for text, seconds in ends.items():
        point = plan_points(program(f"command = ['x']\n{text}"))[-1]
        assert longest_ns(point) == seconds * 10**9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("command = []", "program.0.command"),
        ("command = ['']", "command needs a program"),
        ('command = ["a\\u0000b"]', "program.0.command"),
        ("command = 'mg -x'", "program.0.command"),
        ("command = ['a']\nsizes = '1k'", "sizes and a command without {size}"),
        ("command = ['a', '{size}']", "needs sizes"),
        ("command = ['a']\nwhere = 'all'", "program.0.where"),
        ("command = ['a']\ntimeout = '25h'", "program.0.timeout"),
        ("command = ['a']\ncount = 0", "program.0.count"),
        ("command = ['a']\nenvironment = { 'A=B' = 'x' }", "program.0.environment"),
        ("command = ['a']\nfigures = { Rate = { pattern = '(x)' } }", "program.0.figures"),
        ("command = ['a']\nfigures = { elapsed = { pattern = '(x)' } }", "elapsed is always"),
        ("command = ['a']\nfigures = { r = { pattern = '(x' } }", "is no regular expression"),
        ("command = ['a']\nfigures = { r = { pattern = 'x' } }", "has 0 groups"),
        ("command = ['a']\nfigures = { r = { pattern = '(x)(y)' } }", "has 2 groups"),
        ("command = ['a']\nfigures = { r = { pattern = '(x)', best = 1 } }", "unknown key"),
        ("command = ['a']\nfigures = { r = { pattern = '(x)', better = 'up' } }", "better"),
        ("command = ['a']\nshell = true", "unknown key program.0.shell"),
    ],
)
def test_a_wrong_block_is_refused_in_one_sentence(text, words):
    with pytest.raises(UsageError) as caught:
        program(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


class FakeSession:
    """A host whose program does what it is told, run by run."""

    def __init__(self, runs: Any) -> None:
        self._runs = list(runs)
        self.asked: list[Any] = []

    def run(self, fields, timeout_s):
        self.asked.append((fields, timeout_s))
        values = {
            "elapsed_ns": 10**9,
            "exit_status": 0,
            "timed_out": False,
            "output_tail": "",
            **self._runs.pop(0),
        }
        return [{"record": "done", "request": 1, "rank": 0, "host": "h1", "values": values}]


def measured(runs, **changed):
    parameters = {
        "command": ["./mg"],
        "environment": {"A": "b"},
        "figures": {"rate": {"pattern": "rate ([0-9]+)", "unit": "", "better": "higher"}},
        "cap_ns": 10**9,
        "interval": 0.01,
        "timeout_ns": 5 * 10**9,
        **changed,
    }
    point = planned_point("program", "program", {"message_bytes": 0, **parameters})
    session: Any = FakeSession(runs)
    kept: list[Any] = []
    ending: Any
    try:
        ending = measure_program(session, point, lambda i, r: kept.append((i, r)))
    except HostError as error:
        ending = str(error)
    return session, kept, ending


RATES = [{"figure.rate": float(value)} for value in (1000, 1001, 1000, 999, 1000, 1001, 1000)]


def test_it_ends_when_its_figures_are_known():
    session, kept, ending = measured(RATES)
    assert ending.ended_by == "interval"
    assert len(kept) == len(ending.batches) == 6
    fields, timeout_s = session.asked[0]
    assert fields["command"] == ["./mg"]
    assert fields["environment"] == {"A": "b"}
    assert fields["figures"] == {"rate": "rate ([0-9]+)"}
    assert timeout_s == 5.0


def test_six_runs_even_where_the_time_is_over():
    spread = [{"figure.rate": float(value)} for value in (1, 9, 2, 8, 3, 7, 5)]
    _, kept, ending = measured(spread, cap_ns=1)
    assert ending.ended_by == "time"
    assert len(kept) == 6


def test_without_figures_its_time_is_what_is_to_be_known():
    runs = [{"elapsed_ns": 10**9 + i} for i in range(7)]
    _, kept, ending = measured(runs, figures={})
    assert (ending.ended_by, len(kept)) == ("interval", 6)


def test_as_many_runs_as_asked():
    _, kept, ending = measured(RATES, count=2)
    assert (ending.ended_by, len(kept)) == ("count", 2)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            {"exit_status": 3, "output_tail": "reading\nno such mesh\n\n"},
            "h1: ./mg ended with status 3: no such mesh",
        ),
        ({"exit_status": 139}, "h1: ./mg was killed by signal 11"),
        (
            {"timed_out": True, "exit_status": 137},
            "h1: ./mg was killed at its timeout of 5.000 s",
        ),
        (
            {"figure.other": 1.0},
            "h1: ./mg wrote no number for the figure rate: no line of the end of its output has "
            "'rate ([0-9]+)'",
        ),
    ],
)
def test_a_failed_run_is_one_sentence_and_is_kept(run, sentence):
    _, kept, ending = measured([RATES[0], run])
    assert ending == sentence
    assert len(kept) == 2


@pytest.mark.parametrize(("where", "refused"), [("origin", False), ("target", True)])
def test_a_host_that_serves_starts_nobodys_programs(monkeypatch, where, refused):
    code = "ns1-00000-00000-00000-00000-00000-00000-00000-00000-00000"
    monkeypatch.setattr("netsonde.launch.paired.PairingCode.parse", lambda text: text)
    spec = parse_study(
        f"{MEASURE}\n[[program]]\ncommand=['./mg']\nwhere='{where}'\n"
        "[path]\nkind = 'hosts'\ntarget = '127.0.0.1:5959'\n",
        "x",
    )
    if refused:
        with (
            pytest.raises(UsageError, match="mg and where = 'target' do not go together"),
            testbed.Testbed(spec, code),
        ):
            pass
    else:
        with testbed.Testbed(spec, code) as place:
            assert place.facts["kind"] == "network"
