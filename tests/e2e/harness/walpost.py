"""The program under test."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

from harness.lsn import lsn
from harness.paths import walpost_binary
from harness.process import Process
from harness.waiting import wait_until


def can_be_pasted(text):
    """What walpost has said; its commands have their configuration."""
    assert "-c FILE" not in text, text
    return text


class Walpost:
    """One configuration file, and the walpost that runs with it.

    `config` is a dictionary in the shape of the YAML file, or the text of the
    file. At most one `run` at a time; the other verbs may be called beside it.
    Logs of all runs are in one file, which the tests print when they fail.
    """

    def __init__(self, directory, config, env=None):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._env = {**os.environ, **(env or {})}
        self._process = None
        self._peak = 0  # of the runs that have ended
        self._log_path = self._directory / "walpost.log"
        self._log_begin = 0
        self.config_path = self._directory / "walpost.yaml"
        self.configure(config)

    def configure(self, config):
        """Another configuration, for the next start."""
        self.config = config
        # JSON is YAML.
        self.config_path.write_text(
            config if isinstance(config, str)
            else json.dumps(config, indent=2, default=str,
                            ensure_ascii=False))

    @property
    def slot(self):
        return self.config["postgres"]["slot"]

    @property
    def guarantee(self):
        return self.config.get("delivery", {}).get("guarantee",
                                                   "at_least_once")

    @property
    def pid(self):
        return self._process.pid

    def start(self, *words, stderr=None):
        """Starts `walpost run`; does not wait for anything.

        Its log goes to the descriptor `stderr` instead, if that is given.
        """
        assert self._process is None or not self._process.running()
        if self._log_path.exists():
            self._log_begin = self._log_path.stat().st_size
        self._process = Process(
            [walpost_binary(), "run", "-c", self.config_path, *words],
            self._log_path, stderr=stderr, env=self._env)
        return self

    def run(self, seconds=30):
        """Starts it and waits until it says that it is ready."""
        self.start()
        return self.wait_ready(seconds)

    def wait_ready(self, seconds=30):
        wait_until(
            lambda: self._alive() and self.get("/readyz")[0] == 200,
            lambda: f"/readyz; it says {self.get('/readyz')}\n{self.log()}",
            seconds)
        return self

    def wait_unready(self, pattern="", seconds=30):
        """Waits for a 503 whose text has `pattern`; returns the text."""
        def refusal():
            code, text = self.get("/readyz")
            return (self._alive() and code == 503
                    and re.search(pattern, text) and (text or "unready"))

        return wait_until(
            refusal,
            lambda: (f"a 503 with /{pattern}/; /readyz says "
                     f"{self.get('/readyz')}\n{self.log()}"), seconds)

    def wait_looked(self, seconds=30):
        """Waits until it has looked at its slot and its publication anew."""
        begun = time.monotonic()

        def has_looked():
            age = self.metric("walpost_slot_report_age_seconds")
            return age is not None and age < time.monotonic() - begun

        wait_until(has_looked, lambda: f"a look at the slot\n{self.log()}",
                   seconds)

    def wait_acknowledged(self, count, seconds=30):
        """Waits until the brokers have acknowledged so many more records."""
        def acknowledged():
            return self.metric("walpost_acknowledged_records_total") or 0

        before = acknowledged()
        wait_until(lambda: acknowledged() >= before + count,
                   lambda: f"{count} more records\n{self.log()}", seconds)

    def wait_log(self, pattern, seconds=30):
        """Waits for a line of this run's log; returns the match."""
        return wait_until(
            lambda: re.search(pattern, self.log()),
            lambda: f"the log to say /{pattern}/; it says\n{self.log()}",
            seconds)

    def wait_exit(self, seconds=30):
        """Waits for the end of the run; returns the exit code."""
        return self._process.wait(seconds)

    def stop(self, seconds=15):
        """SIGTERM; returns the exit code."""
        self._note_peak()
        self._process.send(signal.SIGTERM)
        return self._process.wait(seconds)

    def kill(self):
        """SIGKILL, wherever it is."""
        self._note_peak()
        self._process.send(signal.SIGKILL)
        self._process.wait(10)

    def send(self, number):
        self._process.send(number)

    def running(self):
        return self._process is not None and self._process.running()

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def log(self):
        """What this run has written to stderr."""
        with open(self._log_path, "rb") as log:
            log.seek(self._log_begin)
            return log.read().decode(errors="replace")

    def whole_log(self):
        return can_be_pasted(self._log_path.read_text(errors="replace")
                             if self._log_path.exists() else "")

    def get(self, path):
        """HTTP GET; (status, text), or (0, reason) where nobody answers."""
        url = f"http://{self.config['http']['listen']}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.status, can_be_pasted(response.read().decode())
        except urllib.error.HTTPError as refusal:
            return refusal.code, can_be_pasted(refusal.read().decode())
        except OSError as failure:
            return 0, str(failure)

    def stopped_at(self):
        """LSN of the commit whose event it has stopped before; None if none."""
        position = json.loads(self.get("/status")[1]).get("stopped_position")
        return lsn(position.rpartition("/")[0]) if position else None

    def metric(self, name):
        """The value of a metric; None where nobody answers.

        Its labels belong to the name: 'walpost_x_total{outcome="y"}'.
        """
        found = re.search(rf"^{re.escape(name)} (\S+)$",
                          self.get("/metrics")[1], re.M)
        return float(found[1]) if found else None

    def peak_memory_bytes(self):
        """The most it has been resident with, by the kernel's account.

        Of all runs: a run that is stopped or killed is looked at before.
        """
        self._note_peak()
        return self._peak

    def verb(self, *words, seconds=60):
        """Runs another verb to its end: check, init, version, ..."""
        ran = subprocess.run(self.command(*words), capture_output=True,
                             text=True, timeout=seconds, env=self._env)
        can_be_pasted(ran.stdout + ran.stderr)
        return ran

    def command(self, verb, *words):
        if verb == "version":
            return [str(walpost_binary()), verb, *words]
        return [str(walpost_binary()), verb, "-c", str(self.config_path),
                *words]

    def spawn(self, verb, *words):
        """Starts another verb with its stdout in a pipe."""
        return Process(self.command(verb, *words), self._log_path,
                       stdout=subprocess.PIPE, env=self._env)

    def _note_peak(self):
        if not self.running():
            return
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        if found is not None:
            self._peak = max(self._peak, int(found[1]) * 1024)

    def _alive(self):
        if not self._process.running():
            raise RuntimeError("walpost ended with exit code "
                               f"{self._process.exit_code()}:\n{self.log()}")
        return True
