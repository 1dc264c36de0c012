"""Debian's Chromium, driven over the WebDriver protocol: plain JSON over HTTP to the chromedriver that belongs to it.

Owns the starting and ending of both, and the few steps that these tests take. No page can reach another host.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncova_project import clock

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_PORT = re.compile(r"successfully on port (\d+)")
PATIENCE = 40.0


def programs() -> tuple[str, str] | None:
    """Return browser and driver, None where one of them is not installed."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One window."""

    def __init__(self, port: int) -> None:
        self._port, self._session = port, ""

    def begin(self, binary: str, profile: Path) -> None:
        """Open the window: small, without a screen, and with no way to other hosts."""
        words = [
            "--headless=new",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--window-size=1280,1600",
            f"--user-data-dir={profile}",
            # As root it has no sandbox; it sees our own pages alone.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        options = {"binary": binary, "args": words}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        opened = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{opened['sessionId']}"

    def end(self) -> None:
        """Close the window."""
        if self._session:
            self._send("DELETE", self._session)

    def go(self, address: str) -> None:
        """Open an address."""
        self._send("POST", f"{self._session}/url", {"url": address})

    def address(self) -> str:
        """Return where the window is."""
        return str(self._send("GET", f"{self._session}/url"))

    def text(self, css: str = "body") -> str:
        """Return what a person reads in an element."""
        return str(self._send("GET", f"{self._found('css selector', css)}/text"))

    def follow(self, words: str) -> None:
        """Click the first link whose text is this."""
        self._click(f"//a[normalize-space(.)={_quoted(words)}]")

    def press(self, words: str) -> None:
        """Click the button with this label, or the link that looks like one."""
        label = _quoted(words)
        self._click(f"//main//*[self::button or self::a][normalize-space(.)={label}] | //main//input[@value={label}]")

    def write(self, css: str, text: str) -> None:
        """Replace what a field holds."""
        field = self._found("css selector", css)
        self._send("POST", f"{field}/clear", {})
        self._send("POST", f"{field}/value", {"text": text})

    def run(self, script: str) -> Any:
        """Return what a script in the page returns."""
        return self._send("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def wait_for(self, words: str, css: str = "main") -> str:
        """Return the text of an element once it holds the words; the page is not loaded again meanwhile."""
        end = clock.monotonic() + PATIENCE
        shown = ""
        while clock.monotonic() < end:
            with contextlib.suppress(WebDriverError):
                shown = self.text(css)
            if words in shown:
                return shown
            clock.sleep(0.1)
        raise AssertionError(f"{words!r} did not come at {self.address()}:\n{shown}")

    def complaints(self) -> list[str]:
        """Return what the console has said: refused by the policy, missing, broken; a browser asks for icons itself."""
        lines = self._send("POST", f"{self._session}/se/log", {"type": "browser"})
        grave = [line["message"] for line in lines if line["level"] in {"SEVERE", "WARNING"}]
        return [message for message in grave if "/favicon.ico" not in message]

    def _click(self, xpath: str) -> None:
        self._send("POST", f"{self._found('xpath', xpath)}/click", {})

    def _found(self, using: str, value: str) -> str:
        found = self._send("POST", f"{self._session}/element", {"using": using, "value": value})
        return f"{self._session}/element/{found[_ELEMENT]}"

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
        finally:
            connection.close()
        if answer.status != 200:
            raise WebDriverError(f"{method} {path} {body}: {value.get('error')}: {value.get('message', '')[:500]}")
        return value


class WebDriverError(Exception):
    """The browser could not do what was asked."""


@contextlib.contextmanager
def opened(place: Path) -> Iterator[Browser]:
    """Start driver and browser; both end with all their children."""
    found = programs()
    assert found is not None
    binary, driver = found
    # The browser makes a socket below TMPDIR and ends where that path is longer than a socket's may be, so that it is
    # not the test's own directory, whose length is that of the clone's path and the test's name.
    with tempfile.TemporaryDirectory(prefix="window-", ignore_cleanup_errors=True) as short:
        process = subprocess.Popen(
            [driver, "--port=0"],
            env={**os.environ, "HOME": str(place), "TMPDIR": short},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        browser = None
        try:
            browser = Browser(_port_of(process))
            browser.begin(binary, place / "profile")
            yield browser
        finally:
            with contextlib.suppress(OSError, WebDriverError):
                if browser is not None:
                    browser.end()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()


def _port_of(process: "subprocess.Popen[str]") -> int:
    for line in process.stdout or ():
        match = _PORT.search(line)
        if match:
            return int(match[1])
    raise AssertionError("chromedriver did not say on which port it listens")


def _quoted(words: str) -> str:
    assert '"' not in words
    return f'"{words}"'
