"""`netsonde explain DIR --probe`, as a user runs it."""

from __future__ import annotations

import json

import pytest

import warm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("probed")


@pytest.fixture(scope="module")
def netsonde(folder):
    def run(*words):
        return warm.run(words, folder=folder, timeout_s=100)

    return run


@pytest.fixture(scope="module")
def measured(netsonde, folder):
    netsonde("tcp", "local", "latency", "--count", "20", "--sizes", "64,1k", "-q")
    (directory,) = (folder / "runs").iterdir()
    return directory


@pytest.mark.slow
def test_a_point_is_measured_again(netsonde, measured):
    said = netsonde("explain", str(measured), "--probe", "--repeat", "5", "--json")
    assert said.returncode == 0, said.stderr
    document = json.loads(said.stdout)
    effects = {effect["label"]: effect for effect in document["effects"]}
    assert {"spinning", "origin busy", "target busy"} <= set(effects)
    assert all(effect["runs"] == 5 and effect["low"] for effect in effects.values())
    again = netsonde("explain", document["run"], "--json", "--most", "40")
    kinds = [finding["kind"] for finding in json.loads(again.stdout)["findings"]]
    assert kinds.count("experiments") == 1
    assert len(list(measured.parent.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--point", "p001"], "--point goes with --probe"),
        (["--probe", "--point", "p007"], "has no point p007; it has p001 to p002"),
        (["--probe", "--verbose"], "--verbose and --probe do not go together"),
        (["--quiet"], "--quiet goes with --probe"),
    ],
)
def test_what_does_not_go_together(netsonde, measured, words, sentence):
    said = netsonde("explain", str(measured), *words)
    assert said.returncode == 2
    assert sentence in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1
