"""Debezium's connector with its outbox router on Kafka Connect.

Profiles, all shown. What is the same for all makes the records equal to those
of the others: the columns' names, text converters, no extra headers. The rest
of "defaults" is as it comes; "tuned" is what Debezium's own advice for
throughput and latency comes down to. Both are standalone. "small" is "tuned"
with the smallest heap that holds 3,000 events a second and drains a backlog.
"once" is "tuned" with exactly-once delivery, which needs a distributed worker.
"""

import dataclasses
import http.client
import json
import pathlib
import random
import re
import subprocess
import urllib.error
import urllib.request

from harness.ports import free_port
from harness.real_debezium import LOG4J

from compare.stage import REPOSITORY


@dataclasses.dataclass(frozen=True)
class Profile:
    name: str
    jvm: tuple
    worker: dict
    connector: dict
    is_distributed: bool = False

    @property
    def title(self):
        """With its heap: a JVM's memory is what its flags give it."""
        size, unit = re.search(r"-Xmx(\d+)([MG])", " ".join(self.jvm)).groups()
        return f"Debezium, {self.name}, heap {size} {unit}B"


DEFAULTS = Profile(
    "defaults",
    jvm=("-Xms256M", "-Xmx2G"),  # of Kafka's connect-standalone.sh
    worker={},
    connector={})

TUNED = Profile(
    "tuned",
    jvm=("-Xms1G", "-Xmx1G"),
    worker={"offset.flush.interval.ms": 1000},
    connector={
        "poll.interval.ms": 10,
        "max.batch.size": 16384,
        "max.queue.size": 131072,
        "tombstones.on.delete": "false",
        "producer.override.linger.ms": 5,
        "producer.override.batch.size": 1048576,
        "producer.override.buffer.memory": 67108864,
    })

# Found by trying 96, 128, 192, 256 and 384 MB; see README.md.
SMALL = dataclasses.replace(TUNED, jvm=("-Xms128M", "-Xmx128M"))

ONCE = dataclasses.replace(
    TUNED, name="exactly once", is_distributed=True,
    connector={**TUNED.connector, "exactly.once.support": "required",
               "transaction.boundary": "poll"})

# Those of Kafka's own start scripts.
_JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
        "-XX:InitiatingHeapOccupancyPercent=35")

_STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


def write_configuration(profile, run, publication):
    """Worker, connector and logging, into the run's folder.

    Returns where a distributed worker is told its connector, and what.
    """
    port = free_port()
    worker = {
        "bootstrap.servers": run.brokers,
        "key.converter": _STRING_CONVERTER,
        "value.converter": _STRING_CONVERTER,
        **(_cluster() if profile.is_distributed else
           {"offset.storage.file.filename": run.directory / "offsets"}),
        "plugin.path": _jars() / "plugins",
        "listeners": f"HTTP://127.0.0.1:{port}",
        "connector.client.config.override.policy": "All",
        **profile.worker,
    }
    database = dict(word.split("=", 1) for word in run.conninfo.split())
    router = "transforms.outbox."
    connector = {
        "name": "bench",
        "connector.class":
            "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": 1,
        "database.hostname": database["host"],
        "database.port": database["port"],
        "database.user": database["user"],
        "database.password": "none",
        "database.dbname": database["dbname"],
        "plugin.name": "pgoutput",
        "slot.name": run.slot,
        "publication.name": publication,
        "publication.autocreate.mode": "disabled",
        "table.include.list": "public.outbox",
        "snapshot.mode": "no_data",
        "topic.prefix": "bench",
        "extended.headers.enabled": "false",
        "transforms": "outbox",
        f"{router}type": "io.debezium.transforms.outbox.EventRouter",
        f"{router}route.by.field": "aggregate_type",
        f"{router}route.topic.replacement":
            run.topic_prefix + "${routedByValue}",
        f"{router}table.field.event.id": "id",
        f"{router}table.field.event.key": "aggregate_id",
        f"{router}table.field.event.payload": "payload",
        **profile.connector,
    }
    for name, properties in (("worker", worker), ("connector", connector)):
        (run.directory / f"{name}.properties").write_text("".join(
            f"{key}={value}\n" for key, value in properties.items()))
    (run.directory / "log4j2.properties").write_text(LOG4J)
    return (f"http://127.0.0.1:{port}/connectors/bench/config",
            json.dumps(connector))


def _cluster():
    """A cluster of one worker, which nobody else knows."""
    name = f"connect-{random.getrandbits(32):08x}"
    topics = {}
    for kind in ("config", "offset", "status"):
        topics[f"{kind}.storage.topic"] = f"{name}-{kind}"
        topics[f"{kind}.storage.replication.factor"] = 1
    return {"group.id": name, "exactly.once.source.support": "enabled", **topics}


def submit(url, connector):
    """False: the worker does not take it yet."""
    request = urllib.request.Request(
        url, connector.encode(), {"Content-Type": "application/json"},
        method="PUT")
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return False
    return True


def command(profile, run):
    words = [run.directory / "worker.properties"]
    if not profile.is_distributed:
        words.append(run.directory / "connector.properties")
    return ["java", *_JVM, *profile.jvm,
            f"-Dlog4j2.configurationFile={run.directory}/log4j2.properties",
            "-cp", f"{_jars()}/connect/*",
            "org.apache.kafka.connect.cli." + (
                "ConnectDistributed" if profile.is_distributed else
                "ConnectStandalone"),
            *words]


def _jars():
    fetch = subprocess.run([REPOSITORY / "scripts" / "fetch-debezium"],
                           stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetch.stdout.strip())
