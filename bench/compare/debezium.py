"""Debezium's connector with its outbox router on Kafka Connect, standalone.

Two profiles, both shown. What is the same for both makes the records equal to
those of the others: the columns' names, text converters, no extra headers. The
rest of "defaults" is as it comes; "tuned" is what Debezium's own advice for
throughput and latency comes down to.
"""

import dataclasses
import pathlib
import subprocess

from harness.ports import free_port

from compare.stage import REPOSITORY


@dataclasses.dataclass(frozen=True)
class Profile:
    name: str
    jvm: tuple
    worker: dict
    connector: dict


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

# Those of Kafka's own start scripts.
_JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
        "-XX:InitiatingHeapOccupancyPercent=35")

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %c{1}: %m%n
"""

_STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


def write_configuration(profile, run, publication):
    """Worker, connector and logging, into the run's folder."""
    worker = {
        "bootstrap.servers": run.brokers,
        "key.converter": _STRING_CONVERTER,
        "value.converter": _STRING_CONVERTER,
        "offset.storage.file.filename": run.directory / "offsets",
        "plugin.path": _jars() / "plugins",
        "listeners": f"HTTP://127.0.0.1:{free_port()}",
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
    (run.directory / "log4j2.properties").write_text(_LOG4J)


def command(profile, run):
    return ["java", *_JVM, *profile.jvm,
            f"-Dlog4j2.configurationFile={run.directory}/log4j2.properties",
            "-cp", f"{_jars()}/connect/*",
            "org.apache.kafka.connect.cli.ConnectStandalone",
            run.directory / "worker.properties",
            run.directory / "connector.properties"]


def _jars():
    fetch = subprocess.run([REPOSITORY / "scripts" / "fetch-debezium"],
                           stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetch.stdout.strip())
