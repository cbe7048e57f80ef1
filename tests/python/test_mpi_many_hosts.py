"""Whoever names hosts gets ranks on them, or is told which of them have none."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from netsonde.cli import mpi as mpi_command
from netsonde.cli.main import app
from netsonde.cli.mpi_many import hosts_left_out, usual_ranks


@pytest.mark.parametrize("hosts", range(0, 40))
@pytest.mark.parametrize("ppn", [[], [1], [2], [4], [1, 2]])
def test_every_named_host_has_a_rank_unless_it_is_said(hosts: int, ppn: list[int]) -> None:
    named = [f"h{n}" for n in range(hosts)]
    usual = usual_ranks(named, ppn)
    assert usual >= 2
    assert hosts_left_out(named, ppn, usual) is None
    for ranks in range(1, usual):
        said = hosts_left_out(named, ppn, ranks)
        used = -(-ranks // min(ppn, default=1))
        assert (said is None) == (used >= hosts)
        if said is not None:
            assert f"{used} host" in said
            assert f"of the {hosts} that are named" in said


@pytest.mark.parametrize(
    ("words", "ranks", "said"),
    [
        (("--hosts", "h[1-32]"), [32], ""),
        (("--hosts", "h1"), [2], ""),
        (("--hosts", "a,b", "--ppn", "4"), [8], ""),
        (("--hosts", "a,b", "--ppn", "1,2"), [2], ""),
        (("--hosts", "h[1-32]", "-n", "2"), [2], "-n 2 has ranks on 2 hosts of the 32"),
        (("--hosts", "a,b,c", "-n", "2,3"), [2, 3], ""),
        ((), [2], ""),
    ],
)
def test_the_command_line(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], ranks: list[int], said: str
) -> None:
    specs = []
    monkeypatch.setattr(mpi_command, "measure_and_show", lambda spec, *_, **__: specs.append(spec))
    done = CliRunner().invoke(app, ["mpi", "allreduce", *words])
    assert done.exit_code == 0, done.exception
    assert list(specs[0].mpi.ranks) == ranks
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)
