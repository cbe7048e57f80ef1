"""Other work for hosts: how it is written, and how workers are asked for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.busy import ENDS, BusyWork, parse_busy
from netsonde.cli.common import study_of
from netsonde.errors import UsageError
from netsonde.study.plan import plan_points


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("none", None),
        ("target=80%", BusyWork("target", 0.8)),
        ("both=100%:nice", BusyWork("both", 1.0, 19)),
        ("origin=0.5%:nice7", BusyWork("origin", 0.005, 7)),
        ("all=50%@0-3+8", BusyWork("all", 0.5, 0, (0, 1, 2, 3, 8))),
        ("target=5%:nice0@2", BusyWork("target", 0.05, 0, (2,))),
    ],
)
def test_work_is_read(text, work):
    assert parse_busy(text) == work


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no other work"),
        ("h2=80%", "END one of origin, target, both, all"),
        ("target=80", "such as target=80%"),
        ("target=0%", "0.1 to 100 %"),
        ("target=101%", "asks for 101 %"),
        ("target=1%:nice20", "19 is the most"),
        ("target=1%@3-1", "'3-1' are no processors"),
        ("target=1%@1++2", "'' is no processor"),
        ("target=1%@9999", "from 0 to 4095"),
    ],
)
def test_what_is_no_work_is_refused(text, sentence):
    with pytest.raises(UsageError, match=r"^'") as refused:
        parse_busy(text)
    assert sentence in str(refused.value)


@given(
    st.sampled_from(ENDS), st.integers(1, 1000), st.integers(0, 19), st.sets(st.integers(0, 4095))
)
def test_what_is_written_comes_back(end, permille, nice, cpus):
    listed = "@" + "+".join(map(str, cpus)) if cpus else ""
    work = parse_busy(f"{end}={permille / 10:g}%:nice{nice}{listed}")
    assert work is not None
    assert (work.end, round(1000 * work.share), work.nice) == (end, permille, nice)
    assert work.cpus == tuple(sorted(cpus))


def test_each_work_is_a_point_of_its_own():
    block = {"transports": ["tcp"], "test": "latency", "sizes": "1,64"}
    spec = study_of({"measure": [{**block, "background_load": "none,target=80%"}]})
    points = plan_points(spec)
    found = {(p.parameters["message_bytes"], p.parameters["options"]["busy"]) for p in points}
    assert found == {(1, "none"), (1, "target=80%"), (64, "none"), (64, "target=80%")}
    assert {p.parameters["label"] for p in points} == {
        "background load none",
        "background load target=80%",
    }
    with pytest.raises(UsageError, match=r"^--background-load: 'target=8' is no other work"):
        study_of({"measure": [{**block, "background_load": "target=8"}]})
