"""One page of a browser without a window, by Playwright; everything it says and fetches is kept."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from playwright.sync_api import ConsoleMessage, TimeoutError, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-quic", "--disable-gpu")
TIMEOUT_MS = 60_000.0


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """The system's browser; Playwright brings none along."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._requested: list[str] = []
        self._open: Path | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as parts:
            playwright = parts.enter_context(sync_playwright())
            started = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
            parts.callback(started.close)
            self.page = started.new_page()
            self.page.set_default_timeout(TIMEOUT_MS)
            self.page.on("console", self._hear)
            self.page.on("pageerror", lambda error: self._said.append(str(error)))
            self.page.on("request", lambda request: self._requested.append(request.url))
            self._parts = parts.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._parts.close()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._said.append(message.text)

    def show(
        self, width: int, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> None:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=scheme)

    def open(self, path: Path) -> None:
        """Opens a file and waits until its plots are drawn."""
        self._said.clear()
        self._requested.clear()
        self._open = path
        self.page.goto(path.resolve().as_uri())
        try:
            self.page.wait_for_selector("html[data-plots=drawn]", state="attached")
        except TimeoutError as error:
            raise AssertionError(f"the plots were not drawn in time: {self._said}") from error

    def have(self, path: Path) -> None:
        """The same, unless the file is open already: for who only looks at it."""
        if self._open != path:
            self.open(path)

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is worth."""
        return self.page.evaluate(expression)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions that nobody caught."""
        self.page.evaluate("0")  # what was said before has arrived then
        return list(self._said)

    def requested(self) -> list[str]:
        """Everything that was fetched; what a page holds itself (data:) is not."""
        return [url for url in self._requested if not url.startswith("data:")]
