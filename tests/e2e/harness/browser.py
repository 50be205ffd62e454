"""Debian's Chromium without a window, driven over a pipe by its own protocol."""

import base64
import json
import os
import pathlib
import select
import signal
import subprocess
import time

from harness.paths import REPOSITORY
from harness.process import Process
from harness.waiting import wait_until

# Without the switches about the background it looks for Google's hosts.
_SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--remote-debugging-pipe")


class Browser:
    """One Chromium with a profile of its own."""

    def __init__(self, directory):
        folder = pathlib.Path(directory)
        folder.mkdir(parents=True)
        to, back = folder / "to", folder / "back"
        os.mkfifo(to)
        os.mkfifo(back)
        self._process = Process(
            ["sh", "-c", 'exec "$@" 3<"$0/to" 4>"$0/back"', folder, "chromium",
             *_SWITCHES, f"--user-data-dir={folder}/profile", "about:blank"],
            folder / "chromium.log")
        self._to = open(to, "wb", buffering=0)
        self._back = open(back, "rb", buffering=0)
        self._unread = b""
        self._number = 0
        self.events = []

    def call(self, method, session=None, **parameters):
        """Calls a method of the DevTools protocol; returns its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[self._to.write(data):]
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise AssertionError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self):
        return BrowserPage(self)

    def close(self):
        self._process.end(signal.SIGKILL)
        self._to.close()
        self._back.close()

    def _read(self, seconds=60):
        deadline = time.monotonic() + seconds
        while b"\0" not in self._unread:
            left = max(0, deadline - time.monotonic())
            ready = select.select([self._back], [], [], left)[0]
            data = os.read(self._back.fileno(), 1 << 20) if ready else b""
            assert data, f"no answer of Chromium:\n{self._process.log_tail()}"
            self._unread += data
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


class BrowserPage:
    """One tab."""

    def __init__(self, browser):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")
        self._target = target["targetId"]
        self._session = browser.call(
            "Target.attachToTarget", targetId=self._target,
            flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)

    def look(self, width=1280, height=900, dark=False, still=False):
        """The size of the screen, and what its user prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion",
             "value": "reduce" if still else "no-preference"}])

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && "
                  "document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression of JavaScript, awaited."""
        done = self.call("Runtime.evaluate", expression=script,
                         returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def text(self, selector="body"):
        """What a reader sees of it."""
        return self.run(f"document.querySelector({json.dumps(selector)})"
                        "?.innerText ?? ''")

    def wait(self, script, seconds=20):
        return wait_until(
            lambda: self.run(script),
            lambda: f"{script} in the page:\n{self.text()}", seconds)

    def wait_text(self, words, selector="body", seconds=20):
        wait_until(lambda: words in self.text(selector),
                   lambda: f"{words!r} in the page:\n{self.text()}", seconds)

    def picture(self, path):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={**size, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def barriers(self):
        """What axe-core finds."""
        if not self.run("'axe' in window"):
            fetched = subprocess.run(
                [REPOSITORY / "scripts" / "fetch-axe"], check=True, text=True,
                stdout=subprocess.PIPE).stdout.strip()
            self.run((pathlib.Path(fetched) / "axe.min.js").read_text())
        found = self.run("axe.run().then((result) => result.violations.map("
                         "({id, nodes}) => [id, ...nodes.map((node) => "
                         "node.html + ' ' + node.failureSummary)]))")
        return ["\n".join(rule) for rule in found]

    def complaints(self):
        """Exceptions, errors and refusals of the content policy so far; not that
        the server did not answer."""
        said = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                said.append(str(parameters["exceptionDetails"]))
            entry = parameters.get("entry", {})
            if entry.get("level") == "error" and entry["source"] != "network":
                said.append(entry["text"])
        return said
