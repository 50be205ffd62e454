"""walpost, and Debezium Server with its sink for the same broker.

Debezium Server is set for throughput as its documentation advises: short
polls, large batches, offsets flushed every second.
"""

import os
import pathlib
import re
import resource
import signal
import subprocess

from harness.ports import free_port
from harness.process import Process
from harness.walpost import Walpost
from processes import peak_memory

from harness.paths import REPOSITORY

PUBLICATION = "bench"
_OLDEST_JAVA = 21


class WalpostRelay:
    """This build."""

    name = "walpost"

    def __init__(self, directory, broker, database, slot):
        self._walpost = Walpost(directory, {
            "postgres": {"conninfo": database.conninfo(), "slot": slot,
                         "publication": PUBLICATION},
            "outbox": {"tables": [{"name": "public.outbox"}]},
            **broker.walpost(),
            "http": {"listen": f"127.0.0.1:{free_port()}"}})

    def start(self):
        self._walpost.start()

    @property
    def pid(self):
        return self._walpost.pid

    def kill(self):
        self._walpost.kill()

    def peak_bytes(self):
        return peak_memory(self.pid)

    def close(self):
        self._walpost.close()

    def log(self):
        return self._walpost.log()


class DebeziumServer:
    """One JVM, with the smallest heap that has held every rate here."""

    name = "Debezium Server"
    _JVM = ("-Xms128M", "-Xmx256M")

    def __init__(self, directory, broker, database, slot):
        self._directory = pathlib.Path(directory)
        (self._directory / "config").mkdir(parents=True)
        self._process = None
        words = dict(word.split("=", 1)
                     for word in database.conninfo().split())
        source = {
            "connector.class":
                "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage":
                "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self._directory / "offsets",
            "offset.flush.interval.ms": 1000,
            "database.hostname": words["host"],
            "database.port": words["port"], "database.user": words["user"],
            "database.password": "none", "database.dbname": words["dbname"],
            "plugin.name": "pgoutput", "slot.name": slot,
            "publication.name": PUBLICATION,
            "publication.autocreate.mode": "disabled",
            "table.include.list": "public.outbox", "snapshot.mode": "no_data",
            "topic.prefix": "bench", "tombstones.on.delete": "false",
            "poll.interval.ms": 10, "max.batch.size": 4096,
            "max.queue.size": 16384}
        router = {
            "type": "io.debezium.transforms.outbox.EventRouter",
            "route.by.field": "aggregate_type",
            "route.topic.replacement": "outbox.event.${routedByValue}",
            "table.field.event.id": "id",
            "table.field.event.key": "aggregate_id",
            "table.field.event.payload": "payload"}
        lines = [
            *(f"debezium.source.{key}={value}" for key, value in source.items()),
            *(f"debezium.sink.{key}={value}"
              for key, value in broker.debezium().items()),
            "debezium.transforms=outbox",
            *(f"debezium.transforms.outbox.{key}={value}"
              for key, value in router.items()),
            "debezium.format.key=simplestring",
            "debezium.format.value=simplestring",
            "quarkus.log.level=WARN", "quarkus.log.console.json=false",
            "quarkus.http.host=127.0.0.1", f"quarkus.http.port={free_port()}"]
        # An expression of Quarkus begins with a $ and a brace.
        text = "\n".join(lines).replace("${", "\\\\${")
        (self._directory / "config" / "application.properties").write_text(text)

    def start(self):
        home = pathlib.Path(subprocess.run(
            [REPOSITORY / "scripts" / "fetch-debezium-server"],
            check=True, capture_output=True, text=True).stdout.strip())
        runner, = home.glob("*-runner.jar")
        self._process = Process(
            [_java(), *self._JVM, "-cp", f"{runner}:{home}/lib/*",
             "io.debezium.server.Main"],
            self._directory / "server.log", cwd=self._directory)

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        self._process.send(signal.SIGKILL)
        self._process.wait(10)

    def peak_bytes(self):
        return peak_memory(self.pid)

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def log(self):
        return (self._directory / "server.log").read_text()[-3000:]


class Client:
    """The client library alone, with records from no database."""

    name = "client alone"

    def __init__(self, broker, rows):
        self._command = [
            REPOSITORY / "build" / "release" / "bench" /
            f"walpost_bench_{broker.name}", "127.0.0.1",
            str(broker.server.port), str(rows)]

    def run(self):
        """Its CPU time, in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(self._command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime
                - before.ru_utime - before.ru_stime)


def _java():
    """The newest Java, which is not always the one in the PATH."""
    found = {}
    for path in pathlib.Path("/usr/lib/jvm").glob("*/bin/java"):
        said = subprocess.run([path, "-version"], capture_output=True,
                              text=True, check=False).stderr
        version = re.search(r'version "(\d+)', said)
        if version and os.access(path, os.X_OK):
            found[int(version[1])] = path
    if not found or max(found) < _OLDEST_JAVA:
        raise RuntimeError(f"Debezium Server needs Java {_OLDEST_JAVA}: none "
                           "in /usr/lib/jvm")
    return found[max(found)]


CONTENDERS = (WalpostRelay, DebeziumServer)
