"""What is measured for a platform, and what is kept apart for its score."""

from __future__ import annotations

import pytest

from netsonde.errors import UsageError
from netsonde.modelling.plan import (
    burst_blocks,
    held_out_blocks,
    measured_blocks,
    plan_of,
    study_content,
    unseen_sizes,
)
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec

HOSTS = [f"h{number}" for number in range(1, 9)]


def names_in(blocks: list[dict[str, object]]) -> set[object]:
    return {block["test"] for block in blocks}


def test_each_test_needs_its_hosts() -> None:
    two, three, eight = (plan_of("udp", HOSTS[:n], None) for n in (2, 3, 8))
    own = {"send-series", "overheads", "latency", "stream"}
    assert names_in(measured_blocks(two)) == own
    assert names_in(measured_blocks(three)) == own | {"converge", "bursts"}
    assert names_in(measured_blocks(eight)) == own | {"converge", "bursts", "bisection"}
    assert names_in(measured_blocks(plan_of("tcp", HOSTS, None))) == own | {
        *("converge", "bisection", "pingpong"),
    }


@pytest.mark.parametrize("over", ["udp", "tcp", "link"])
@pytest.mark.parametrize("hosts", [2, 4, 8])
def test_what_is_held_out_is_forty_points_that_no_fit_has_seen(over: str, hosts: int) -> None:
    plan = plan_of(over, HOSTS[:hosts], None)
    blocks = held_out_blocks(plan, unseen_sizes(plan, plan.sizes))
    sizes = {int(size) for block in blocks for size in str(block["sizes"]).split(",")}
    assert not sizes & set(plan.sizes)
    points = 0
    for block in blocks:
        pairs = len({1, *(n for n in (2, 4) if 2 * n <= hosts)})
        each = pairs if block["test"] == "bisection" else 1
        points += each * len(str(block["sizes"]).split(","))
    assert points >= 40


@pytest.mark.parametrize("over", ["udp", "tcp", "link", "mpi"])
def test_the_blocks_are_a_study(over: str) -> None:
    plan = plan_of(over, ["local"] * 4 if over == "mpi" else HOSTS[:4], None)
    content = study_content(plan, "model-measure", measured_blocks(plan))
    if over == "mpi":
        content["path"], content["mpi"] = {"kind": "loopback"}, {"ranks": [2]}
    points = plan_points(StudySpec.model_validate(content))
    assert len(points) == sum(len(str(b["sizes"]).split(",")) for b in content["measure"])


def test_sizes_near_one_that_was_seen_are_left_out() -> None:
    plan = plan_of("udp", HOSTS, None)
    every = unseen_sizes(plan, [])
    assert every[7] not in unseen_sizes(plan, [every[7] + 3])
    assert len(unseen_sizes(plan, [every[7] + 3])) == len(every) - 1


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(UsageError, match="expected one of"):
        plan_of("icmp", HOSTS, None)
    with pytest.raises(UsageError, match="two hosts or more"):
        plan_of("udp", HOSTS[:1], None)
    with pytest.raises(UsageError, match="256 bytes or more"):
        plan_of("udp", HOSTS, 100)
    with pytest.raises(UsageError, match="three hosts or more"):
        burst_blocks(plan_of("tcp", HOSTS, None))


def test_operations_are_held_out_by_the_library_and_by_schedules() -> None:
    plan = plan_of("mpi", ["local"] * 4, None)
    content = study_content(plan, "model-score", held_out_blocks(plan, [100, 200, 300]))
    content["path"], content["mpi"] = {"kind": "loopback"}, {"ranks": [4]}
    points = plan_points(StudySpec.model_validate(content))
    schedules = {p.spec.to_json().get("schedule", {}).get("algorithm") for p in points}
    wanted = {"broadcast/binomial", "allgather/ring", "alltoall/pairwise"}
    assert schedules == wanted | {None}
    two = plan_of("mpi", ["local"] * 2, None)
    assert not any("algorithm" in block for block in held_out_blocks(two, [100]))
