"""A study whose points differ in the MTU of the lab's links: what is planned, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from netsonde.errors import UsageError
from netsonde.model.goodput import expected_wire_udp
from netsonde.records.data import Point, Run
from netsonde.study import testbed
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml

BLOCK = {"transports": "tcp", "test": "stream", "sizes": "64k"}
LAB = {"kind": "hosts", "target": "lab:h1,h2"}


def study(*blocks: dict[str, Any], **path: Any) -> StudySpec:
    return StudySpec.model_validate({"path": path or LAB, "measure": [*blocks]})


def test_each_mtu_is_a_point_with_its_label() -> None:
    spec = study(
        {**BLOCK, "mtu": "576,1500,9000", "label": "buffer 64k", "options": {"buffer": "64k"}},
        {**BLOCK, "mtu": [1500], "transports": ["udp", "mpi"], "sizes": "64"},
    )
    points = plan_points(spec)
    assert [p.parameters["options"]["mtu"] for p in points] == [576, 1500, 9000, 1500, 1500]
    assert points[0].parameters["label"] == "MTU 576, buffer 64k"
    assert "label" not in points[3].parameters  # one MTU is no factor
    assert points[4].parameters["options"] == {"mtu": 1500}  # MPI has no other options
    assert parse_study(to_toml(spec), "again") == spec


@pytest.mark.parametrize(
    ("path", "block", "words"),
    [
        ({"kind": "loopback"}, {}, "interfaces of real hosts are not changed"),
        ({"kind": "hosts", "target": "node7"}, {}, "mtu goes with hosts of a lab only"),
        ({**LAB, "family": "ipv6"}, {"mtu": "576,9000"}, "mtu 576 is less than the 1280"),
        (LAB, {"mtu": "500"}, "greater than or equal to 576"),
        (LAB, {"mtu": "65522"}, "less than or equal to 65521"),
        (LAB, {"mtu": "big"}, "size 'big'"),
    ],
)
def test_refused_before_anything_starts(
    path: dict[str, Any], block: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        study({**BLOCK, "mtu": "1500", **block}, **path)


def test_every_block_says_its_mtu_or_none_does() -> None:
    with pytest.raises(ValidationError, match="in some blocks only"):
        study({**BLOCK, "mtu": "1500"}, BLOCK)


def test_a_path_that_turns_out_to_be_none_of_a_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netsonde.lab.permission_problem", lambda: "no namespaces")
    spec = study({**BLOCK, "mtu": "1500"}, kind="auto")
    with pytest.raises(UsageError, match="mtu goes with a lab only"), testbed.Testbed(spec):
        pass


def test_what_is_known_of_a_points_mtu() -> None:
    """The study's own word comes first, then the interface's, then Ethernet's."""
    opened: dict[int, dict[str, Any]] = {0: {"interface": "v0"}}
    plain = Point("p1", "udp", "stream", {"message_bytes": 1}, opened=opened)
    given = Point("p2", "udp", "stream", {"message_bytes": 1, "options": {"mtu": 576}})
    run = Run(None, {"hosts": {"": {"interface.v0.mtu": 9000}}}, [plain, given], True)  # type: ignore[arg-type]
    assert (run.mtu_bytes(plain), run.mtu_bytes(given)) == (9000, 576)
    assert Run(None, {}, [plain], True).mtu_bytes(plain) == 1500  # type: ignore[arg-type]
    assert expected_wire_udp(1, 1472, mtu_bytes=576).packets == 3
