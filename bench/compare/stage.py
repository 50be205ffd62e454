"""The servers that everything is compared on: one Postgres, one Kafka.

They are private ones of the end-to-end tests' kind, but set up as people run
them: fsync and synchronous_commit on, a broker with its whole compiler.
"""

import contextlib
import itertools
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from harness import Kafka, KafkaReader, Postgres, wait_until
from harness.paths import REPOSITORY

from compare.broker_log import BrokerLog
from compare.watch import RELAY_ROLE, Watch
from processes import child_named

AGGREGATE_TYPES = ("order", "invoice", "payment", "shipment")
PARTITIONS = 4

POSTGRES_SETTINGS = {"fsync": "on", "max_wal_size": "8GB",
                     "max_replication_slots": 60, "max_wal_senders": 60,
                     "log_min_messages": "warning"}
BROKER_JVM = ("-Xmx1g", "-Xms256m", "-XX:TieredStopAtLevel=4")
BROKER_PROPERTIES = {"log.message.timestamp.type": "LogAppendTime",
                     "message.max.bytes": 4_000_000}


class Stage:
    """Owns nothing but names; see `servers()`."""

    def __init__(self, directory, postgres, kafka):
        self.directory = directory
        self.postgres = postgres
        self.kafka = kafka
        self._broker_pid = child_named("java")
        self._numbers = itertools.count(1)
        with contextlib.closing(postgres.connect()) as connection:
            with connection.cursor() as cursor:
                cursor.execute(f"create role {RELAY_ROLE} superuser login "
                               "replication")

    def watch(self):
        return Watch(self.postgres.pid, self._broker_pid)

    def new_name(self, what):
        """A name that this run has not used: of a folder, slot or table."""
        return f"{what}_{next(self._numbers)}"

    def new_directory(self, what):
        directory = self.directory / self.new_name(what)
        directory.mkdir()
        return directory

    def new_topics(self, types=AGGREGATE_TYPES):
        """Makes a topic for each aggregate type; returns their prefix."""
        prefix = f"run{next(self._numbers)}."
        for name in types:
            # A producer that asks about a topic makes the broker create it.
            subprocess.run(["kcat", "-P", "-b", self.kafka.bootstrap, "-t",
                            prefix + name], check=True,
                           stdin=subprocess.DEVNULL)
            asking = ["kcat", "-L", "-b", self.kafka.bootstrap, "-t",
                      prefix + name]
            wait_until(
                lambda asking=asking: f"partition {PARTITIONS - 1}, leader 1"
                in subprocess.run(asking, capture_output=True, text=True,
                                  check=False).stdout,
                f"topic {prefix + name}", seconds=60, pause=0.1)
        return prefix

    def delete_topics(self, prefix):
        self.kafka.delete_topics(
            KafkaReader(self.kafka.bootstrap).topics(prefix))

    def broker_log(self, prefix):
        return BrokerLog(self.directory / "kafka" / "data", prefix)


@contextlib.contextmanager
def servers():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="walpost-bench-"))
    directory.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        postgres = Postgres(directory / "postgres",
                            settings=POSTGRES_SETTINGS)
        stack.callback(postgres.close)
        postgres.start()
        kafka = Kafka(directory / "kafka", partitions=PARTITIONS,
                      properties=BROKER_PROPERTIES, jvm=BROKER_JVM)
        stack.callback(kafka.close)
        kafka.start()
        yield Stage(directory, postgres, kafka)


def bench_program(name):
    """A contender's program, built from bench/programs."""
    directory = pathlib.Path(os.environ.get(
        "WALPOST_BENCH_PROGRAMS", REPOSITORY / "build" / "release" / "bench"))
    program = directory / f"walpost_bench_{name}"
    if not program.exists():
        raise RuntimeError(f"{program} is missing: run scripts/build release "
                           "--target bench_programs")
    return str(program)


def settle(seconds=1.0):
    """Lets the machine come to rest between two runs."""
    time.sleep(seconds)
