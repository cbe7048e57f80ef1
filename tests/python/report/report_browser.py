"""Chromium without a window, driven over a pipe with the DevTools protocol.

Nothing listens anywhere: requests go in on file descriptor 3, answers come out on 4, each a JSON
text that ends with a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of one browser process. Everything it logs and asks the network for is kept."""

    def __init__(self, timeout_s: float = 60) -> None:
        self._timeout_s = timeout_s
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        program = find_browser()
        assert program is not None
        self._profile = tempfile.TemporaryDirectory(prefix="netsonde-browser-")
        requests_out, self._write = os.pipe()
        self._read, answers_in = os.pipe()
        # The browser wants exactly 3 and 4; the shell puts whatever we have there.
        line = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                line,
                "browser",
                str(requests_out),
                str(answers_in),
                program,
                *FLAGS,
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            pass_fds=(requests_out, answers_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(requests_out)
        os.close(answers_in)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._read, selectors.EVENT_READ)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        self._selector.close()
        os.close(self._write)
        os.close(self._read)
        with contextlib.suppress(OSError):
            self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends one request and waits for its answer; events on the way are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        text = memoryview(json.dumps(message).encode() + b"\0")
        while text:
            text = text[os.write(self._write, text) :]
        end = time.monotonic() + self._timeout_s
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            assert left > 0, "the browser did not answer in time"
            assert self._selector.select(left), "the browser did not answer in time"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def show(self, width: int, height: int = 900, scheme: str = "light", scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def open(self, path: Path) -> None:
        """Opens a file and waits until its plots are drawn."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + self._timeout_s
        while time.monotonic() < end:
            if self.value("document.documentElement?.dataset.plots") == "drawn":
                return
            time.sleep(0.1)
        raise AssertionError(f"the plots were not drawn in time: {self.complaints()}")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is worth."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions that nobody caught."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    found.append(json.dumps(parameters["exceptionDetails"])[:500])
                case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                    found.append(json.dumps(parameters["args"])[:500])
                case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                    found.append(json.dumps(parameters["entry"])[:500])
        return found

    def requested(self) -> list[str]:
        """Everything that was fetched; what a page holds itself (data:) is not."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
            and not event["params"]["request"]["url"].startswith("data:")
        ]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        picture = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole)
        )
        path.write_bytes(base64.b64decode(picture["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        }

    def pdf(self, path: Path) -> None:
        path.write_bytes(
            base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
        )
