"""A real browser, driven through the DevTools protocol over a pipe; only Chromium is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

EXECUTABLE = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Page:
    """One tab. `complaints` are console errors, exceptions and requests that left the page."""

    def __init__(self, commands: int, replies: int) -> None:
        self._commands, self._replies = commands, replies
        self._unread = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self._home = "file:"
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply["error"]
                return reply["result"]

    def look(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Set the size of the window and the colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.send(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": scheme},
                # A click during smooth scrolling would hit the wrong place.
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )

    def open(self, place: Path | str) -> None:
        """Open a file, or the root of a server, from which the page may load its files."""
        self._home = "file:" if isinstance(place, Path) else place
        self._events.clear()
        address = place.resolve().as_uri() if isinstance(place, Path) else place
        self.send("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._next()

    def run(self, script: str) -> Any:
        """The value of a script; promises are awaited."""
        reply = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def click(self, selector: str) -> None:
        """Click where the element is, as a person does."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def choose(self, selector: str, value: str) -> None:
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f"e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input')); })()"
        )

    def screenshot(self, path: Path, whole: bool = False) -> None:
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            chunk = os.read(self._replies, 1 << 16)
            assert chunk, "the browser exited"
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self._events.append(message)
            self._listen(message["method"], message["params"])
        return message

    def _listen(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(json.dumps(parameters["entry"]))
        elif method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith((self._home, "data:")):
                self.complaints.append(f"requested {address}")


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A new Chromium with an empty profile, closed on exit."""
    assert EXECUTABLE is not None
    to_browser, commands = os.pipe()
    replies, from_browser = os.pipe()
    # Chromium reads from descriptor 3 and writes to 4; a shell puts the pipes there.
    shell = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", str(to_browser), str(from_browser),
         EXECUTABLE, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(commands, replies)
    finally:
        os.close(commands)
        os.close(replies)
        process.terminate()
        process.wait(30)


# JavaScript: what axe-core rates serious or critical, each with its first element.
BARRIERS = """
  axe.run({resultTypes: ["violations"]}).then(({violations}) => violations
    .filter(({impact}) => ["serious", "critical"].includes(impact))
    .map(({id, nodes}) => `${id}: ${nodes[0].html}`))
"""


def axe_script() -> str | None:
    """axe-core, which a page's policy blocks unless it comes through the DevTools protocol."""
    try:
        found = resources.files("axe_playwright_python")
    except ModuleNotFoundError:
        return None
    return (found / "axe.min.js").read_text(encoding="utf-8")


# JavaScript: `contrast(element)` is that of its text with the background (WCAG 2.1).
CONTRAST = """
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = channels(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (element) => {
    const [a, b] = [channels(getComputedStyle(element).color), behind(element)].map(light);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
"""
