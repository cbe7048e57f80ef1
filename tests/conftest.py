"""What every test starts from."""

from __future__ import annotations

import functools
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings
from typer.main import get_command

# A shell in the background starts its children with SIGINT ignored, and they theirs. With a
# handler here, what the tests start has the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No timing decides a test: on a busy machine any example may take long.
settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")

# The whole command line takes a tenth of a second to describe: once, not for each command given.
typer.testing._get_command = functools.cache(get_command)  # type: ignore[attr-defined]

TRUTH = Path(__file__).parent / "truth"
WAITING = tuple(Path(__file__).parent / folder for folder in ("scenarios", "lab"))
"""What is here waits for many processes."""
AGAIN = 2
"""Further attempts of a truth test that failed."""
WAITING_AGAIN = 1
"""One more of what waits for processes on a machine that may be taken: scenarios, labs, and tests
that drive the workers; not where these are the sanitizers' build, which must be clean each time."""
STOLEN_MOST = 0.005
"""Of the processors' time, while a truth test ran: with more given to other machines by the
hypervisor, timers and links of this one are late, and what was measured is no verdict."""


def is_truth(item: pytest.Item) -> bool:
    return TRUTH in item.path.parents


def waits(item: pytest.Item) -> bool:
    if any(folder in item.path.parents for folder in WAITING):
        return True
    sanitized = "ASAN_OPTIONS" in os.environ
    return item.get_closest_marker("worker") is not None and not sanitized


@pytest.hookimpl(trylast=True)  # behind those that leave tests out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Asks a truth test that failed twice more, and what waits for processes once: they measure or
    wait, and the machine may have been taken.

    What is wrong fails each time. The summary counts what was asked again.
    """
    if hasattr(config, "workerinput"):  # one of several processes that share the files
        longest_first(items)
    for item in items:
        if is_truth(item):
            item.add_marker(pytest.mark.flaky(reruns=AGAIN, reruns_delay=2))
        elif waits(item):
            item.add_marker(pytest.mark.flaky(reruns=WAITING_AGAIN, reruns_delay=2))


def longest_first(items: list[pytest.Item]) -> None:
    """Puts files whose tests may take longest in front, then those with most tests: a long one that
    is begun last is waited for alone."""
    limits: dict[Path, float] = {}
    for item in items:
        given = item.get_closest_marker("timeout")
        limit = float(given.args[0]) if given is not None and given.args else 0.0
        limits[item.path] = max(limit, limits.get(item.path, 0.0))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-limits[item.path], -tests[item.path]))


class StolenTime:
    """The share of the processors' time that the hypervisor gave to others, since it was made."""

    def __init__(self) -> None:
        self._before = self._jiffies()

    @staticmethod
    def _jiffies() -> tuple[int, int]:
        """(stolen, all) of all processors since the start; (0, 0) where it is not told."""
        try:
            first = Path("/proc/stat").read_text().split("\n", 1)[0]
        except OSError:
            return 0, 0
        # user nice system idle iowait irq softirq steal; guests are in user and nice already.
        values = [int(word) for word in first.split()[1:9]]
        return (values[7], sum(values)) if len(values) == 8 else (0, 0)

    def share(self) -> float:
        stolen, total = (
            now - then for now, then in zip(self._jiffies(), self._before, strict=True)
        )
        return stolen / total if total > 0 else 0.0


STOLEN = pytest.StashKey[StolenTime]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    item.stash[STOLEN] = StolenTime()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A truth test that failed to the last on a machine that was taken meanwhile is skipped, with
    what it found and how much was taken."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when != "call" or not report.failed or not is_truth(item):
        return
    taken = item.stash[STOLEN].share()
    if taken > STOLEN_MOST and getattr(item, "execution_count", 1) > AGAIN:
        found = str(call.excinfo.value).split("\n", 1)[0] if call.excinfo is not None else ""
        report.outcome = "skipped"
        report.longrepr = (
            str(item.path),
            (item.location[1] or 0) + 1,
            f"Skipped: the hypervisor gave {taken:.1%} of the processors' time to others: {found}",
        )
