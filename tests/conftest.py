"""What every test starts from."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A shell in the background starts its children with SIGINT ignored, and they theirs. With a
# handler here, what the tests start has the default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No timing decides a test: on a busy machine any example may take long.
settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")

TRUTH = Path(__file__).parent / "truth"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Asks a truth test that failed twice more: it measures, and the machine may have been taken.

    What is wrong fails three times. The summary counts what was asked again.
    """
    for item in items:
        if TRUTH in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))
