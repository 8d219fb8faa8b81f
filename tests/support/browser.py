"""Chromium without a window, driven through its own protocol over a pipe: opens a page of the disk
with no way to any network, runs scripts in it, moves the pointer, takes pictures."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe",
)  # fmt: skip
_TIMEOUT_S = 300.0


def chromium() -> str | None:
    """The browser's path, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page in Chromium. `problems` collects the errors of its console and scripts, and
    `requests` every address that it requested."""

    def __init__(self, profile: Path, width: int = 1360, height: int = 900) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._size = width, height
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._events: list[str] = []
        self._rest = b""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        program = chromium()
        assert program is not None
        words = [program, *_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        # The protocol lies on 3 and 4.
        shell = 'exec "$@" 3<&"$CHROMIUM_IN" 4>&"$CHROMIUM_OUT"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *words],
            pass_fds=(theirs_in, theirs_out),
            env={**os.environ, "CHROMIUM_IN": str(theirs_in), "CHROMIUM_OUT": str(theirs_out)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session: str | None = None
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)  # fmt: skip

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        os.close(self._to)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    def open(self, page: Path) -> None:
        """Opens a file and waits until it is loaded."""
        self._events.clear()
        self._send("Page.navigate", url=page.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._read()

    def run(self, script: str) -> Any:
        """The value of an expression in the page, awaited."""
        done = self._send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str) -> Any:
        """The value of an expression once it is true."""
        poll = (
            "new Promise((resolve) => {const look = () => {const value = (" + condition + ");"
            "if (value) resolve(value); else setTimeout(look, 20);}; look();})"
        )
        return self.run(poll)

    def prefer_color_scheme(self, scheme: str) -> None:
        """Sets the system's preferred colors: 'light' or 'dark'."""
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        self._send("Emulation.setEmulatedMedia", features=[preferred])

    def resize(self, width: int, height: int = 900) -> None:
        self._size = width, height
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)  # fmt: skip

    def move_mouse(self, x: float, y: float) -> None:
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.move_mouse(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def save_screenshot(self, file: Path, whole: bool = False) -> None:
        """The window, or all of the page, as a PNG."""
        width, height = self._size
        if whole:
            height = self.run("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        extra: dict[str, Any] = {"clip": clip, "captureBeyondViewport": True} if whole else {}
        file.write_bytes(base64.b64decode(self._send("Page.captureScreenshot", **extra)["data"]))

    # ---- the protocol -------------------------------------------------------------------------

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while self._number not in self._answers:
            self._read()
        answer = self._answers.pop(self._number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> None:
        """Reads and handles the browser's next message."""
        ready, _, _ = select.select([self._from], [], [], _TIMEOUT_S)
        assert ready, "the browser says nothing any more"
        data = os.read(self._from, 1 << 20)
        assert data, "the browser has ended"
        *whole, self._rest = (self._rest + data).split(b"\0")
        for text in whole:
            self._handle_message(json.loads(text))

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, facts = message["method"], message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(facts["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning"):
            self.problems.append(json.dumps(facts["args"]))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.problems.append(facts["entry"]["text"])
