"""A real Prometheus that scrapes walposts and applies the rules of
monitoring/alerts.yaml, faster than in production."""

import json
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

from harness.paths import REPOSITORY
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

MONITORING = REPOSITORY / "monitoring"
RULES = MONITORING / "alerts.yaml"
DASHBOARD = MONITORING / "grafana-dashboard.json"

_INTERVAL = "250ms"
# What an alert waits for, or looks back at, so that it fires and resolves within
# seconds. The text of the rules is otherwise the one that is shipped.
_FASTER = ((r"^( *for:) .*$", r"\1 1s"),
           (r"\[15m\]", "[3s]"),
           (r"\[30m\]", "[8s]"),
           (r"_seconds > \d+", "_seconds > 3"))


def rules():
    """The rules as they are shipped, each a dictionary."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard_queries():
    """(panel, query) of each query of the dashboard."""
    dashboard = json.loads(DASHBOARD.read_text())
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"]
            for target in panel.get("targets", [])]


def promtool(*words, cwd=MONITORING, stdin=None):
    return subprocess.run(["promtool", *map(str, words)], cwd=cwd, input=stdin,
                          text=True, capture_output=True, timeout=120)


def _faster(text):
    for pattern, replacement in _FASTER:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return text


class Prometheus:
    """`relays`: the Walposts to scrape, by the label `relay`. The scrape job is
    that of monitoring/prometheus.yaml."""

    def __init__(self, directory, relays):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
        config["global"] = {"scrape_interval": _INTERVAL,
                            "evaluation_interval": _INTERVAL}
        job, = config["scrape_configs"]
        job["static_configs"] = [
            {"targets": [instance.config["http"]["listen"]
                         for instance in instances],
             "labels": {"relay": relay}}
            for relay, instances in relays.items()]
        (self._directory / "prometheus.yml").write_text(json.dumps(config))
        (self._directory / "alerts.yaml").write_text(_faster(RULES.read_text()))
        self._url = f"http://127.0.0.1:{free_port()}"
        self._process = None

    def start(self):
        address = self._url.removeprefix("http://")
        self._process = Process(
            ["prometheus", f"--config.file={self._directory}/prometheus.yml",
             f"--storage.tsdb.path={self._directory}/data",
             f"--web.listen-address={address}"],
            self._directory / "prometheus.log", cwd=self._directory)
        wait_until(self._is_ready, lambda: "Prometheus to start:\n" +
                   self._process.log_tail())
        return self

    def query(self, expression):
        """The samples of an instant query; an AssertionError if it is wrong."""
        words = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/query?{words}",
                                        timeout=10) as response:
                return json.load(response)["data"]["result"]
        except urllib.error.HTTPError as refusal:
            raise AssertionError(
                f"{expression}: {refusal.read().decode()}") from None

    def firing(self):
        """Labels of each alert that fires, by its name."""
        with urllib.request.urlopen(f"{self._url}/api/v1/alerts",
                                    timeout=10) as response:
            alerts = json.load(response)["data"]["alerts"]
        return {alert["labels"]["alertname"]: alert["labels"]
                for alert in alerts if alert["state"] == "firing"}

    def wait_firing(self, *names, seconds=30):
        """Waits until these alerts fire, and no other; returns their labels."""
        def fires():
            return set(self.firing()) == set(names)

        wait_until(fires, lambda: f"{names or 'no alert'} to fire; what fires "
                   f"is {self.firing()}", seconds)
        return self.firing()

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGTERM)

    def _is_ready(self):
        assert self._process.running(), self._process.log_tail()
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5):
                return True
        except OSError:
            return False
