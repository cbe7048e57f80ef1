"""One synthetic run and its page, and one browser, for all tests of the report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from report_browser import Browser, find_browser
from report_made import Made, make


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_browser() is None:
        pytest.skip("no Chromium on this machine; install the package chromium")
    with Browser() as started:
        yield started
