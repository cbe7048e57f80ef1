"""What every test starts from."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings
from typer.main import get_command

import netsonde.lab
from attempts import Attempts
from machine_lock import machine
from netsonde.launch.exclusion import FOLDER
from own_time import counted

# A shell in the background starts its children with SIGINT ignored, and they theirs. With a
# handler here, what the tests start has the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No timing decides a test: on a busy machine any example may take long.
settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")

# The whole command line takes a tenth of a second to describe: once, not for each command given.
typer.testing._get_command = functools.cache(get_command)  # type: ignore[attr-defined]

# Whether a lab can be had is found by bringing one up: once, not for each file that needs one.
netsonde.lab.permission_problem = functools.cache(netsonde.lab.permission_problem)

TESTS = Path(__file__).parent
LOCKS = TESTS.parent / "build" / "checks"
ALL_MEASURE = pytest.StashKey[bool]()
"""Whether nothing was chosen but what measures."""


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests were read
    room = contextlib.ExitStack()
    room.enter_context(counted())  # by which what tests use is told from others' work
    # Tests beside each other do not wait for each other, nor for what else measures here.
    locks = room.enter_context(tempfile.TemporaryDirectory(prefix="netsonde-locks-"))
    os.environ[FOLDER] = locks
    config.add_cleanup(room.close)
    for words in (
        "counts: of tests/truth, but no time decides it",
        "measures: has the machine alone; most are set here, see CONTRIBUTING.md",
        "tolerant: measures, but its tolerance has room for one more of these beside it",
    ):
        config.addinivalue_line("markers", words)


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text()


def measures(item: pytest.Item) -> bool:
    """Whether a test needs the machine for itself: its neighbours spoil what it attempts."""
    if "attempts" in getattr(item, "fixturenames", ()):
        if "attempts" not in text_of(item.path):
            raise pytest.UsageError(f"{item.path} measures and does not name its attempts")
        return True
    return TESTS / "truth" in item.path.parents and item.get_closest_marker("counts") is None


def pytest_itemcollected(item: pytest.Item) -> None:
    """What measures can be chosen, and left out, by a mark (-m)."""
    if measures(item):
        item.add_marker("measures")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests that were read stay to the end: no collection looks at them again."""
    session.config.stash[ALL_MEASURE] = all(
        item.get_closest_marker("measures") for item in session.items
    )
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # no test's own timeout counts the waiting
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with machine(LOCKS, alone=has_machine_alone(item)):
        yield


def has_machine_alone(item: pytest.Item) -> bool:
    """Of those that measure all but the tolerant, which share it among themselves, not with what
    measures nothing and may use every CPU."""
    if not item.get_closest_marker("measures"):
        return False
    return not (item.config.stash[ALL_MEASURE] and item.get_closest_marker("tolerant"))


@pytest.fixture
def attempts(request: pytest.FixtureRequest) -> Attempts:
    """The rule for what is measured: see attempts.py."""
    return Attempts(request.node.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that leaves its attempts before they are decided has a rule of its own: it fails."""
    outcome = yield
    made = getattr(item, "funcargs", {}).get("attempts")
    if isinstance(made, Attempts) and made.open and outcome.excinfo is None:  # type: ignore[attr-defined]
        pytest.fail("attempts were left before they were decided", pytrace=False)


@pytest.hookimpl(trylast=True)  # behind those that leave tests out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes that share the files
        longest_first(items)


def longest_first(items: list[pytest.Item]) -> None:
    """Puts files in front whose tests share the machine, then those whose tests may take longest,
    then those with most tests: a long one that is begun last is waited for alone."""
    limits: dict[Path, float] = {}
    for item in items:
        given = item.get_closest_marker("timeout")
        limit = float(given.args[0]) if given is not None and given.args else 0.0
        limits[item.path] = max(limit, limits.get(item.path, 0.0))
    tests = Counter(item.path for item in items)
    sharing = {item.path for item in items if item.get_closest_marker("tolerant")}
    items.sort(key=lambda item: (item.path not in sharing, -limits[item.path], -tests[item.path]))
