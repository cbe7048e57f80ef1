"""Platforms in the forms of other simulators, and what lies beside the parameters in a file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from netsonde.errors import UsageError
from netsonde.model.buffers import BurstLoss
from netsonde.model.fit import Observed, fit_platform
from netsonde.model.platform import Buffer, Cost, MessageLine, Origin, Platform
from netsonde.model.views import hockney, loggp
from netsonde.platforms.document import MOST_OTHERS, parse_platform, platform_document
from netsonde.platforms.export import exported
from netsonde.platforms.read import preset
from netsonde.platforms.show import fit_lines, in_another_model, platform_lines
from netsonde.stats.quantiles import Interval

ORIGIN = Origin("emulated", "bursts", "runs/one")


def test_simgrids_cluster_has_the_lines_time() -> None:
    """A message of n bytes takes two latencies and n over the bandwidth."""
    platform = preset("fe-326")
    root = ElementTree.fromstring(exported(platform, "simgrid", 16))
    cluster = root.find("cluster")
    assert cluster is not None
    assert cluster.get("radical") == "0-15"
    bandwidth = float(re.sub("Bps$", "", cluster.get("bw", "")))
    latency_ns = 1e3 * float(re.sub("us$", "", cluster.get("lat", "")))
    line = hockney(platform, 16)
    for size in (1, 1492, 1_000_000):
        expected = pytest.approx(line.time_ns(size), rel=1e-4)
        assert 2 * latency_ns + 1e9 * size / bandwidth == expected


def test_loggopsims_options_are_picoseconds() -> None:
    platform = preset("fe-416")
    said = dict(re.findall(r"--LogGOPS_(\w) (\d+)", exported(platform, "loggopsim", 8)))
    known = loggp(platform, ranks=8)
    assert int(said["L"]) == round(1e3 * known.small.latency_ns)
    assert int(said["G"]) == round(1e3 * known.gap_per_byte_ns)
    assert (said["O"], said["S"]) == ("0", "0")


def test_what_cannot_be_exported_is_said() -> None:
    with pytest.raises(UsageError, match="expected simgrid or loggopsim"):
        exported(preset("fe-326"), "ns3", None)
    with pytest.raises(UsageError, match="does not say its send overhead"):
        exported(preset("hydra-myrinet"), "loggopsim", None)
    slow = {**preset("fe-326").costs, "latency": Cost(3e6)}
    with pytest.raises(UsageError, match=r"end at 2\.1 ms"):
        exported(replace(preset("fe-326"), costs=slow), "loggopsim", None)


def test_another_models_words() -> None:
    lines, document = in_another_model(preset("fe-326"), "loggp")
    assert document["gap_per_byte_ns"] > 0
    assert max(map(len, lines)) <= 80
    with pytest.raises(ValueError, match="expected hockney"):
        in_another_model(preset("fe-326"), "bsp")


def measured() -> Platform:
    return replace(
        preset("fe-326"),
        others={"send_overhead": (Cost(1_000.0, 0.5, origin=ORIGIN), Cost(2_000.0, origin=ORIGIN))},
        buffer=Buffer("output", 94, ORIGIN, 94.0, 95.0),
        messages=MessageLine(9e4, 80.0, ORIGIN, Interval(8e4, 1e5, 0.95), None),
    )


def test_what_lies_beside_is_written_read_and_shown() -> None:
    platform = measured()
    text = json.dumps(platform_document(platform))
    assert parse_platform(text, "it") == platform
    shown = "\n".join(platform_lines(platform))
    assert shown.count("  or  ") == 2
    assert "94..95 by shape of burst" in shown


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"others": {"speed": []}}, "no parameter is called 'speed'"),
        ({"others": {"latency": [{"start_ns": "5"}]}}, "start_ns"),
        ({"others": {"latency": [{}] * (MOST_OTHERS + 1)}}, "others"),
        ({"others": []}, "others"),
        (
            {
                "switch": {
                    "architecture": "output",
                    "packets": 5,
                    "low": 1e300,
                    "origin": {"kind": "assumed", "source": ""},
                }
            },
            "low",
        ),
    ],
)
def test_hostile_files_are_refused_in_a_sentence(change: dict[str, object], says: str) -> None:
    document = platform_document(measured()) | change
    with pytest.raises(UsageError, match=re.escape(says)) as refused:
        parse_platform(json.dumps(document), "it")
    assert len(str(refused.value)) < 400


def test_bursts_alone_make_a_platform() -> None:
    losses = [BurstLoss(s, r, k, r / s + 95 * r / k, "run") for s, r in SHAPES for k in COUNTS]
    bare = Observed("alone", "", 1472, 28, 1e8, 2, 8, "emulated", bursts=losses)
    fitted = fit_platform(bare)
    buffer = fitted.platform.buffer
    assert buffer is not None
    assert (buffer.architecture, buffer.packets, buffer.origin.run) == ("output", 95, "run")
    text = json.dumps(platform_document(fitted.platform))
    assert parse_platform(text, "it") == fitted.platform
    assert any("output-buffered" in line for line in fit_lines(fitted))


SHAPES = ((2, 1), (4, 1), (4, 2))
COUNTS = (512, 768, 1024, 2048)
