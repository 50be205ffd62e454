"""Runs of walpost beside recordings of Debezium: many configurations read one
table of one database, each by a slot of its own."""

import collections
import concurrent.futures
import dataclasses
import json
import time
import typing

import psycopg2

from harness.debezium_import import connector_of, imported
from harness.debezium_records import SKIPPED_CLASSES, sections
from harness.waiting import wait_until

PARTITIONS = 4
# For a server of many slots, and a broker that keeps records of any time.
SERVER = {"max_replication_slots": 400, "max_wal_senders": 60,
          "max_connections": 200}
BROKER = {"log.retention.ms": "-1",
          "log.message.timestamp.after.max.ms": "9223372036854775807",
          "log.message.timestamp.before.max.ms": "9223372036854775807"}
_AT_ONCE = 6


@dataclasses.dataclass
class Run:
    """One walpost, and where it was when it was stopped."""

    number: int  # of the setting
    key_converter: str
    value_converter: str
    prefix: str
    slot: str
    kind: str  # "", "stops" (at a row at which Debezium fails), "imported"
    walpost: typing.Any = dataclasses.field(default=None, repr=False)
    exit_code: typing.Optional[int] = None  # of one that ended by itself
    state: str = ""
    stopped: str = ""  # reason code
    reason: str = ""
    stopped_id: str = ""
    set_aside: int = 0
    confirmed: int = 0
    records: list = dataclasses.field(default_factory=list, repr=False)

    @property
    def name(self):
        return name_of(self.number, self.key_converter, self.value_converter,
                       self.kind)


def name_of(number, key_converter, value_converter, kind=""):
    return f"{number}-{key_converter}-{value_converter}{kind}"


class GroupRuns:
    """All runs of a group of recordings."""

    def __init__(self, group, database, kafka, reader, make, topics):
        self.group, self.database = group, database
        self._kafka, self._reader, self._make = kafka, reader, make
        self._topics = topics
        self.runs = {}
        self.began_ms = 0
        self.lsns = []  # before each statement
        self.goal = 0
        database.execute("create schema if not exists ob")
        database.execute(group.ddl)
        self._tables = ["ob.outbox"]
        if "outbox2" in group.ddl:
            self._tables.append("ob.outbox2")
        database.execute(
            f"create publication walpost for table {', '.join(self._tables)} "
            "with (publish_via_partition_root = true)")

    def add(self, number, key_converter, value_converter, kind=""):
        place = len(self.runs)
        run = Run(number, key_converter, value_converter,
                  f"{self._topics}{place}.", f"{self.database.name}_{place}",
                  kind)
        run.walpost = self._walpost(run)
        self.database.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (run.slot,))
        self.runs[run.name] = run
        return run

    def _walpost(self, run):
        group = self.group
        made = sections(
            group.connector, group.settings[run.number], run.key_converter,
            run.value_converter, run.prefix, self._tables)
        if run.kind == "imported":
            made = imported(connector_of(
                group.connector, group.settings[run.number], run.key_converter,
                run.value_converter, self._tables), run.prefix)
        made["postgres"] = {"slot": run.slot, "create": False}
        if run.kind != "stops":
            made["on_error"] = dict.fromkeys(SKIPPED_CLASSES, "skip")
        return self._make(self.database, self._kafka, run.prefix, **made)

    def execute(self):
        """The statements of the group."""
        self.began_ms = int(time.time() * 1000) - 1
        for statement in self.group.statements:
            self.lsns.append(self.database.current_lsn())
            try:
                self.database.execute(statement.sql)
                assert not statement.is_refused, statement.sql
            except psycopg2.Error:
                if not statement.is_refused:
                    raise
        self.goal = self.database.current_lsn()

    def stream(self):
        """Lets every walpost stream what there is; then reads the topics."""
        with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._stream, self.runs.values()))
            self._read(pool)

    def stream_live(self):
        """Every walpost streams while the statements are executed."""
        for run in self.runs.values():
            run.walpost.run()
        self.execute()
        self.stream()

    def _stream(self, run):
        if not run.walpost.running():
            run.walpost.start()
        wait_until(lambda: self._has_ended(run), lambda: (
            f"run {run.name} to end; {run.walpost.get('/readyz')}\n"
            f"{run.walpost.log()}"), 60, pause=0.1)
        run.confirmed = self.database.confirmed_lsn(run.slot)
        if run.exit_code is None:
            run.set_aside = sum(
                run.walpost.metric(f'{name}{{class="{kind}"}}') or 0
                for kind in SKIPPED_CLASSES
                for name in ("walpost_skipped_events_total",
                             "walpost_dead_letters_total"))
            run.walpost.stop()

    def _has_ended(self, run):
        if not run.walpost.running():
            run.exit_code = run.walpost.wait_exit()
            run.reason = run.walpost.log()[-400:]
            return True
        if (self.database.confirmed_lsn(run.slot) or 0) >= self.goal:
            run.state = "done"
            return True
        code, text = run.walpost.get("/status")
        status = json.loads(text) if code == 200 else {}
        # It is stuck for a moment while it reads the catalog again.
        is_stuck = (status.get("state") == "stuck"
                    and status["in_state_seconds"] > 5)
        if status.get("stopped_reason_code") or is_stuck:
            run.state = "stuck"
            run.stopped = status.get("stopped_reason_code") or ""
            run.stopped_id = status.get("stopped_event_id") or ""
            run.reason = status["reason"]
            return True
        return False

    def _read(self, pool):
        topics = self._reader.topics(self._topics)
        by_run = collections.defaultdict(list)
        for topic, records in zip(topics, pool.map(self._reader.read, topics)):
            by_run[topic[:topic.index(".", len(self._topics)) + 1]] += records
        for run in self.runs.values():
            run.records = by_run[run.prefix]
