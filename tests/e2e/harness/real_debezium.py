"""Debezium's Postgres connector with its event router, on Kafka Connect."""

import json
import subprocess
import urllib.error
import urllib.request

from harness.paths import REPOSITORY
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

# Of a worker: to standard output, warnings and worse.
LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %c{1}: %m%n
"""


class RealDebezium:
    """A standalone worker with one connector; its files are in a folder."""

    def __init__(self, directory, brokers, connector, worker):
        self.directory = directory
        self._name = connector["name"]
        self._url = f"http://127.0.0.1:{free_port()}"
        fetched = subprocess.run(
            [REPOSITORY / "scripts" / "fetch-debezium"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip()
        self._jars = fetched
        directory.mkdir(exist_ok=True)
        worker = {
            "bootstrap.servers": brokers,
            "offset.storage.file.filename": directory / "offsets",
            "offset.flush.interval.ms": 1000,
            "plugin.path": f"{fetched}/plugins",
            "listeners": self._url.replace("http", "HTTP"),
            "connector.client.config.override.policy": "All",
            **worker}
        for name, properties in (("worker", worker),
                                 ("connector", connector)):
            (directory / f"{name}.properties").write_text("".join(
                f"{key}={value}\n" for key, value in properties.items()))
        (directory / "log4j2.properties").write_text(LOG4J)
        self._process = None

    def start(self):
        self._process = Process(
            ["java", "-Xms128M", "-Xmx512M", "-XX:+UseSerialGC",
             f"-Dlog4j2.configurationFile={self.directory}/log4j2.properties",
             "-cp", f"{self._jars}/connect/*",
             "org.apache.kafka.connect.cli.ConnectStandalone",
             self.directory / "worker.properties",
             self.directory / "connector.properties"],
            self.directory / "log")
        wait_until(self._runs, lambda: "a running connector; the log ends:\n"
                   + self._process.log_tail(), 120)
        return self

    def _ask(self, path, method="GET"):
        request = urllib.request.Request(self._url + path, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def _runs(self):
        assert self._process.running(), self._process.log_tail()
        try:
            status = self._ask(f"/connectors/{self._name}/status")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return [task["state"] for task in status["tasks"]] == ["RUNNING"]

    def task_state(self):
        return self._ask(f"/connectors/{self._name}/status")["tasks"][0]["state"]

    def stop_connector(self):
        self._ask(f"/connectors/{self._name}/stop", "PUT")
        wait_until(lambda: self._ask(f"/connectors/{self._name}/status")[
            "connector"]["state"] == "STOPPED", "the connector's end", 60)

    def offsets(self):
        return self._ask(f"/connectors/{self._name}/offsets")

    def forget_offsets(self):
        self._ask(f"/connectors/{self._name}/offsets", "DELETE")

    def resume_connector(self):
        self._ask(f"/connectors/{self._name}/resume", "PUT")
        wait_until(self._runs, lambda: "a running connector; the log ends:\n"
                   + self._process.log_tail(), 120)

    def close(self):
        if self._process is not None:
            self._process.end(seconds=20)
