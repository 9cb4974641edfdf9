"""A headless Chromium that tests look through, over the DevTools protocol on a pair of pipes."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium")
DEADLINE_S = 60
_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a page that asks the network for something gets an error to show
    "--remote-debugging-pipe",
]


class Browser:
    """One page of a Chromium of its own, which ends with the block."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 1000) -> None:
        assert CHROMIUM is not None
        self.console: list[str] = []
        self.requested: list[str] = []
        self._loads, self._count, self._rest = 0, 0, b""
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # the protocol's numbers in the child are 3 and 4, which may be ours for something else
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (theirs_in, theirs_out)]

        def connect() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._log = (profile.parent / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self._session: str | None = None
        try:
            targets = self._ask("Target.getTargets")["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            self._session = self._ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self._ask(f"{domain}.enable")
            self._ask(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
        except BaseException:
            self.close()
            raise

    def open(self, page: Path) -> None:
        """Open a file; wait until it is loaded, and its charts are drawn."""
        before = self._loads
        self._ask("Page.navigate", url=page.absolute().as_uri())
        while self._loads == before:
            self._take_in()
        self.until("[...document.querySelectorAll('.js-plotly-plot')].every((plot) => plot.querySelector('.main-svg'))")

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is in the page; a promise is awaited."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait, frame by frame, until an expression is true; its value."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := self.value(condition)):
            assert time.monotonic() < deadline, f"not true after {DEADLINE_S} s: {condition}"
            self.value("new Promise(requestAnimationFrame).then(() => 0)")
        return found

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """One mouse event at a place of the window, such as ``mouseMoved`` or ``mouseWheel``."""
        self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def screenshot(self, target: Path) -> None:
        """The whole page as PNG."""
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        target.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._log.close()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take_in()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])

    def _take_in(self) -> dict[str, Any]:
        """The next message, noted where it tells of the console, the network or a loaded page."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], DEADLINE_S)
            assert ready, f"Chromium said nothing for {DEADLINE_S} s: {self._log.name}"
            read = os.read(self._in, 1 << 20)
            assert read, f"Chromium ended: {Path(self._log.name).read_text(errors='replace')[-2000:]}"
            self._rest += read
        whole, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        told = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loads += 1
            case "Runtime.consoleAPICalled":
                self.console.append(f"{told['type']}: {[part.get('value', part) for part in told['args']]}")
            case "Runtime.exceptionThrown":
                self.console.append(f"exception: {told['exceptionDetails']}")
            case "Log.entryAdded":
                self.console.append(f"{told['entry']['level']}: {told['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requested.append(told["request"]["url"])
        return message
