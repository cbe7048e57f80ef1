"""gamma of a fitted platform, from reductions whose cost a byte is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_points import latency_point, made_run, operation_point

from netsonde.model.fit import fit_platform
from netsonde.model.predict import predict
from netsonde.platforms import answers, observed, reduction
from netsonde.platforms.read import find_platform
from netsonde.records.data import Run

ALPHA, BETA, GAMMA = 20_000.0, 8.0, 3.0
SIZES = (64, 1024, 16384, 131072)


def run_with_reductions(joins: bool) -> Run:
    points = [
        latency_point(size, 2e-3 * (ALPHA + BETA * size), number)
        for number, size in enumerate(SIZES, 1)
    ]
    for size in SIZES if joins else ():
        for name, more in (("sendrecv", 0.0), ("reduce_scatter_block", GAMMA)):
            time_us = (ALPHA + (BETA + more) * size) / 1e3
            points.append(operation_point(name, size, time_us, ranks=2, number=len(points) + 1))
    run: Run = made_run(*points)
    run.manifest["path"]["rate_bit_per_s"] = 10**9
    return run


def test_a_platform_that_was_fitted_answers_for_reductions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (observed, reduction):
        monkeypatch.setattr(module, "open_run", lambda _: run_with_reductions(joins=True))
    found = answers.fit_answer([Path("run")], "mine", "1G", "1460", tmp_path / "mine.json")
    assert any("gamma" in line for line in found.lines)
    platform = find_platform(str(tmp_path / "mine.json"))
    cost = platform.costs["reduction"]
    assert cost.per_byte_ns == pytest.approx(GAMMA, rel=0.05)
    assert cost.start_ns == 0.0
    assert cost.origin.kind == "emulated"
    assert cost.fit is not None
    interval = cost.fit.intervals["per_byte_ns"]
    assert interval.low < GAMMA < interval.high
    # lg p (alpha + n beta + n gamma)
    expected = 3 * (ALPHA + 65536 * (BETA + GAMMA))
    prediction = predict(platform, "allreduce/recursive-doubling", 8, 65536)
    assert prediction.time_ns == pytest.approx(expected, rel=0.05)


def test_without_reductions_nothing_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (observed, reduction):
        monkeypatch.setattr(module, "open_run", lambda _: run_with_reductions(joins=False))
    fitted = fit_platform(observed.observe([Path("run")], 1e9, 1460, "mine"))
    assert reduction.with_reduction(fitted, [Path("run")]) == fitted
    with pytest.raises(ValueError, match="how long joining a byte takes"):
        predict(fitted.platform, "allreduce/ring", 8, 65536)
