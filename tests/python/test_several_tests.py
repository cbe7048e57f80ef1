"""Several tests in one call, and several launches."""

from __future__ import annotations

import pytest

from netsonde.cli import sockets
from netsonde.cli.commands import app_with
from netsonde.errors import UsageError


def spec_of(monkeypatch, *words):
    specs = []
    monkeypatch.setattr(sockets, "measure_and_show", lambda spec, *_, **__: specs.append(spec))
    app_with([words[0]])(list(words), standalone_mode=False)
    (spec,) = specs
    return spec


def test_each_test_has_its_own_sizes_and_shares_what_was_asked(monkeypatch):
    spec = spec_of(monkeypatch, "tcp", "node7", "latency,stream", "--buffer", "64k,1M")
    assert [block.test for block in spec.measure] == ["latency", "latency", "stream", "stream"]
    assert [block.options.buffer for block in spec.measure] == [65536, 1 << 20] * 2
    assert spec.measure[0].sizes != spec.measure[2].sizes
    assert spec.name == "tcp-latency-stream"


def test_options_go_to_the_tests_that_take_them(monkeypatch):
    spec = spec_of(monkeypatch, "udp", "node7", "stream,latency", "--load", "50%")
    loads = {block.test: block.loads not in (None, []) for block in spec.measure}
    assert loads == {"stream": False, "open_loop": True}
    perturbed = spec_of(monkeypatch, "tcp", "node7", "latency,sweep", "--perturb", "5").measure
    assert [bool(block.perturb) for block in perturbed] == [False, True]
    with pytest.raises(UsageError, match="--load goes with latency and sweep"):
        spec_of(monkeypatch, "udp", "node7", "stream", "--load", "50%")


def test_launches_are_those_of_the_study(monkeypatch):
    assert spec_of(monkeypatch, "tcp", "node7", "latency", "--launches", "6").launches == 6
    assert spec_of(monkeypatch, "icmp", "node7", "latency", "--launches", "2").launches == 2
    assert spec_of(monkeypatch, "tcp", "node7", "latency").launches == 1
