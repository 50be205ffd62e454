"""What the stored LSN costs: checkpoint stores, replay, guard slot, snapshot.

  drain     a backlog into Kafka with each store, in shuffled rounds; replay of
            the same rows from the WAL of the guard slot
  writes    WAL records a second that the source database writes for each store:
            idle, and beyond those of the load at a steady rate
  restart   from the start of the process to the first record acknowledged, with
            a checkpoint topic of 1 and of many records
  guard     CPU time of the server to advance a slot, per GB of WAL
  snapshot  `snapshot: initial` beside COPY ... TO STDOUT of the same rows

fsync is off in Postgres, as in the tests.
"""

import argparse
import contextlib
import random
import subprocess
import threading
import time

import rig
from pgbench import postgres_program
from processes import cpu_seconds

STORES = ("none", "file", "postgres", "kafka")
PUBLICATION = "bench"
TOPIC = "outbox.event.order"

_DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text not null default 'order',
  aggregate_id   text not null,
  payload        jsonb not null
);
create publication bench for table outbox with (publish = 'insert');
"""

# 100 rows of 250 B a transaction.
_LOAD = """
do $$ begin for batch in 1 .. {batches} loop
  insert into outbox (aggregate_id, payload)
    select 'customer-' || (batch * 100 + n) % 10000,
           jsonb_build_object('order', batch * 100 + n,
                              'note', rpad(md5(n::text), 210, '.'))
    from generate_series(1, 100) n;
  commit;
end loop; end $$
"""

# Ten rows a transaction, five hundred times a second.
_STEADY = """
do $$ declare begun timestamptz := clock_timestamp(); begin
for tick in 1 .. 500 * {seconds} loop
  insert into outbox (aggregate_id, payload)
    select 'customer-' || n, jsonb_build_object('tick', tick) from
    generate_series(1, 10) n;
  commit;
  perform pg_sleep(extract(epoch from
    begun + tick * interval '2 ms' - clock_timestamp()));
end loop; end $$
"""


class Bench:
    """One database with a backlog, and what is done to it."""

    def __init__(self, servers, rows, results):
        self._servers = servers
        self._rows = rows
        self._results = results
        self._database = servers.postgres.create_database()
        self._database.execute(_DDL)
        self._base = self._database.name
        self._database.execute("select pg_create_logical_replication_slot(%s, "
                               "'pgoutput')", (self._base,))
        begin = self._database.current_lsn()
        self._database.execute(_LOAD.format(batches=rows // 100))
        self._database.execute("checkpoint")
        self._wal_bytes = self._database.current_lsn() - begin

    def drain(self, store):
        """Returns events a second, from the end of the first quarter: how long
        a start takes is measured by itself.
        """
        with self._copy_of_slot() as slot, self._walpost(slot, store) as relay:
            relay.start()
            rig.wait_acknowledged(relay, self._rows // 4)
            before = relay.metric("walpost_acknowledged_records_total")
            begun, spent = time.monotonic(), cpu_seconds(relay.pid)
            rig.wait_acknowledged(relay, self._rows)
            seconds = time.monotonic() - begun
            spent = cpu_seconds(relay.pid) - spent
        events = self._rows - before
        rate = events / seconds
        self._results.note(f"drain, {store}", "events/s", rate)
        self._results.note(f"CPU of walpost, {store}", "s/M", spent * 1e6 / events)
        return rate

    def drains(self):
        """One of each; what else runs on the machine changes by the minute, so
        ratios are of one round."""
        rates = {store: self.drain(store)
                 for store in random.sample(STORES, len(STORES))}
        for store in STORES[1:]:
            self._results.note(f"drain, {store}, of none", "×",
                      rates[store] / rates["none"])

    def replay(self):
        with self._copy_of_slot() as slot, self._walpost(
                slot, "none", replay={"window": "8GiB"},
                postgres={"wal_budget": "64GiB"}) as relay:
            relay.start()
            rig.wait_acknowledged(relay, self._rows)
            self._database.wait_confirmed(slot)
            begun = time.monotonic()
            said = relay.verb("replay", "--since", "10h", seconds=600)
            seconds = time.monotonic() - begun
            assert said.stdout.startswith(f"{self._rows} events"), said
            self._results.note("replay", "events/s", self._rows / seconds)
            relay.stop()
            self._database.execute("select pg_drop_replication_slot(%s)",
                                   (slot + "_guard",))

    def writes(self, store, seconds):
        """Idle, then at 5,000 events a second."""
        with self._copy_of_slot() as slot, self._walpost(slot, store) as relay:
            relay.start()
            rig.wait_acknowledged(relay, self._rows)
            self._database.wait_confirmed(slot, seconds=300)
            time.sleep(3)
            self._results.note(f"WAL records, idle, {store}", "1/s",
                      self._wal_records(seconds))
            load = threading.Thread(target=self._steady, args=(seconds + 4,))
            load.start()
            time.sleep(2)
            before = self._database.execute(
                "select sum(n_tup_ins + n_tup_upd), now() from "
                "pg_stat_user_tables where relname = 'walpost_checkpoint'")[0]
            events = relay.metric("walpost_acknowledged_records_total")
            time.sleep(seconds)
            events = relay.metric("walpost_acknowledged_records_total") - events
            # Statistics of a session are flushed when it pauses.
            after = self._database.execute(
                "select sum(n_tup_ins + n_tup_upd), now() from "
                "pg_stat_user_tables where relname = 'walpost_checkpoint'")[0]
            elapsed = (after[1] - before[1]).total_seconds()
            self._results.note(f"rows of the checkpoint table, under load, {store}",
                      "1/s", float((after[0] or 0) - (before[0] or 0)) / elapsed)
            self._results.note(f"load, {store}", "events/s", events / elapsed)
            load.join()
            relay.stop()

    def restart(self, records):
        topic = f"checkpoint.{records}"
        self._servers.kafka.create_topic(topic, 1, cleanup_policy="compact")
        self._fill(topic, records - 1)
        with self._copy_of_slot(at_end=True) as slot, self._walpost(
                slot, "kafka", checkpoint={"topic": topic}) as relay:
            relay.run(120)
            self._insert_one()
            self._database.wait_confirmed(slot)
            relay.stop()
            for _ in range(5):
                self._insert_one()
                begun = time.monotonic()
                relay.start()
                rig.wait_acknowledged(relay, 1, pause=0.002)
                self._results.note(f"restart, topic of {records}", "s",
                          time.monotonic() - begun)
                relay.stop()

    def guard(self):
        """The statement of ReplayWindowService, over the whole backlog."""
        with self._copy_of_slot() as slot, contextlib.closing(
                self._database.connect()) as connection:
            with connection.cursor() as cursor:
                cursor.execute("select pg_backend_pid()")
                pid = cursor.fetchone()[0]
                before = cpu_seconds(pid)
                cursor.execute("select pg_replication_slot_advance(%s, "
                               "pg_current_wal_lsn())", (slot,))
                spent = cpu_seconds(pid) - before
        self._results.note("guard slot, CPU", "s/GB", spent / (self._wal_bytes / 1e9))

    def snapshot(self):
        slot = f"bench_{random.getrandbits(32):08x}"
        rows = self._database.value("select count(*) from outbox")
        with self._walpost(slot, "none", snapshot="initial",
                           postgres={"create": True}) as relay:
            begun = time.monotonic()
            relay.start()
            relay.wait_log("rows are in Kafka", seconds=600)
            self._results.note("snapshot", "rows/s", rows / (time.monotonic() - begun))
            relay.stop()
        self._database.wait_slot_inactive(slot)
        self._database.execute("select pg_drop_replication_slot(%s)", (slot,))
        begun = time.monotonic()
        subprocess.run([postgres_program("psql"), "-Xqc",
                        "copy outbox to stdout", self._database.conninfo()],
                       stdout=subprocess.DEVNULL, check=True)
        self._results.note("COPY TO STDOUT", "rows/s",
                  rows / (time.monotonic() - begun))

    @contextlib.contextmanager
    def _copy_of_slot(self, at_end=False):
        slot = f"bench_{random.getrandbits(32):08x}"
        self._database.execute("select pg_copy_logical_replication_slot(%s, "
                               "%s)", (self._base, slot))
        if at_end:
            self._database.execute("select pg_replication_slot_advance(%s, "
                                   "pg_current_wal_lsn())", (slot,))
        yield slot
        self._database.wait_slot_inactive(slot)
        self._database.execute("select pg_drop_replication_slot(%s)", (slot,))

    @contextlib.contextmanager
    def _walpost(self, slot, store, **sections):
        folder = self._servers.directory / slot
        config = {
            "postgres": {"conninfo": self._database.conninfo(), "slot": slot,
                         "publication": PUBLICATION},
            "kafka": {"brokers": self._servers.kafka.bootstrap},
            "checkpoint": {"store": store, "path": str(folder / "checkpoint")},
            "http": {"listen": f"127.0.0.1:{rig.free_port()}"},
        }
        for section, keys in sections.items():
            if isinstance(keys, dict):
                keys = {**config.get(section, {}), **keys}
            config[section] = keys
        relay = rig.Walpost(folder, config)
        try:
            yield relay
        finally:
            relay.close()

    def _wal_records(self, seconds):
        """A second, of the whole server."""
        before = self._database.value("select wal_records from pg_stat_wal")
        time.sleep(seconds)
        after = self._database.value("select wal_records from pg_stat_wal")
        return float(after - before) / seconds

    def _steady(self, seconds):
        with contextlib.closing(self._database.connect()) as connection:
            with connection.cursor() as cursor:
                cursor.execute(_STEADY.format(seconds=seconds))

    def _insert_one(self):
        self._database.execute("insert into outbox (aggregate_id, payload) "
                               "values ('customer', '{}')")

    def _fill(self, topic, records):
        lines = "".join(f"slot-{number}:{'x' * 90}\n"
                        for number in range(records))
        subprocess.run(["kcat", "-b", self._servers.kafka.bootstrap, "-P",
                        "-t", topic, "-K", ":"], input=lines, text=True,
                       check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20,
                        help="of the writes, idle and under load")
    parser.add_argument("--topic-records", type=int, default=100_000)
    parser.add_argument("--drains-only", action="store_true",
                        help="only the stores against each other")
    parser.add_argument("--short", action="store_true",
                        help="a tenth of it, to see that it works")
    options = parser.parse_args()
    if options.short:
        options.rows, options.rounds, options.seconds = 50_000, 1, 5

    results = rig.Results("stores")
    with rig.servers(max_wal_size="8GB") as servers:
        servers.kafka.create_topic(TOPIC, 4)
        print(f"loading {options.rows} rows; warming up", flush=True)
        warm = Bench(servers, options.rows, rig.Results("stores-warm-up"))
        for store in ("none", "none", "kafka"):
            warm.drain(store)
        bench = Bench(servers, options.rows, results)
        for _ in range(options.rounds):
            bench.drains()
            if not options.drains_only:
                bench.replay()
                bench.guard()
                bench.snapshot()
        if not options.drains_only:
            for store in STORES:
                bench.writes(store, options.seconds)
            for records in (1, options.topic_records):
                bench.restart(records)
    results.write_notes()


if __name__ == "__main__":
    main()
