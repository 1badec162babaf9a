"""Headless Chromium, driven over a pipe by its own protocol: no driver and no library is needed."""

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 60.0


def find_browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    return found


class Tab:
    """A page in the browser: it counts what goes wrong, runs JavaScript, and presses keys and buttons."""

    def __init__(self, write, read):
        self._write, self._read, self._number, self._session = write, read, 0, None
        self._rest, self.errors = b"", []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        """Return the answer to one command; note errors of the page that come before it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)
        raise TimeoutError(method)

    def _receive(self):
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            if not more:
                raise EOFError("the browser went away")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def _note(self, event):
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"]["exception"].get("description"))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str(params["args"]))

    def open(self, address, size=(1400, 1000), scheme="light"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=media)
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        self.send("Page.navigate", url=address)
        self.wait("window.explorer !== undefined")

    def ask(self, expression):
        """Return what an expression is in the page, awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if self.ask(expression):
                return
            time.sleep(0.02)
        raise TimeoutError(expression)

    def press(self, key, text=""):
        common = {"key": key, **({"text": text} if text else {})}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@contextmanager
def browser_tab(folder):
    """Yield a tab of a browser that keeps what it writes in a folder of its own."""
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()

    def three_and_four():  # where Chromium reads and writes its protocol
        low, high = os.dup(theirs_in), os.dup(theirs_out)
        os.dup2(low, 3)
        os.dup2(high, 4)

    command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    command += [f"--user-data-dir={folder}", "--no-first-run", "--disable-extensions", "about:blank"]
    process = subprocess.Popen(
        command, preexec_fn=three_and_four, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Tab(ours_out, ours_in)
    finally:
        process.kill()
        process.wait()
        os.close(ours_in)
        os.close(ours_out)
