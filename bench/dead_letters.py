"""What dead letters cost: events a second through them, and their retry.

  drain     a backlog into Kafka, in shuffled rounds: no event is dead; each is
            a dead letter
  retry     `walpost dead-letters retry --all` of these dead letters, beside
            nothing else

fsync is off in Postgres, as in the tests.
"""

import argparse
import contextlib
import random
import time

import rig
from processes import cpu_seconds

PUBLICATION = "bench"

_DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text,
  aggregate_id   text not null,
  payload        jsonb not null
);
create publication bench for table outbox with (publish = 'insert');
"""

# 100 rows of 250 B a transaction. Kinds: of the type, by the row's number.
_LOAD = """
do $$ begin for batch in 1 .. {batches} loop
  insert into outbox (aggregate_type, aggregate_id, payload)
    select {type}, {key},
           jsonb_build_object('order', batch * 100 + n,
                              'note', rpad(md5(n::text), 210, '.'))
    from generate_series(1, 100) n;
  commit;
end loop; end $$
"""
_KINDS = {
    "none dead": ("'order'", "'customer-' || (batch * 100 + n) % 10000"),
    "all dead": ("null", "'customer-' || (batch * 100 + n) % 10000"),
}


class Bench:
    """A database for each kind of backlog."""

    def __init__(self, servers, rows, results):
        self._servers = servers
        self._rows = rows
        self._results = results
        self._databases = {}
        for kind, (type_, key) in _KINDS.items():
            database = servers.postgres.create_database()
            database.execute(_DDL)
            database.execute("select pg_create_logical_replication_slot(%s, "
                             "'pgoutput')", (database.name,))
            database.execute(_LOAD.format(batches=rows // 100, type=type_,
                                          key=key))
            self._databases[kind] = database

    def round(self):
        kinds = list(_KINDS)
        random.shuffle(kinds)
        for kind in kinds:
            self._drain(kind)

    def _drain(self, kind):
        name = f"bench_{random.getrandbits(32):08x}"
        database = self._databases[kind]
        database.execute("select pg_copy_logical_replication_slot(%s, %s)",
                         (database.name, name))
        self._servers.kafka.create_topic(f"{name}.dead", 4)
        self._servers.kafka.create_topic(f"{name}.order", 4)
        with self._walpost(name, kind) as relay:
            relay.start()
            self._wait_acknowledged(relay, self._rows // 4)
            before = relay.metric("walpost_acknowledged_records_total")
            begun, spent = time.monotonic(), cpu_seconds(relay.pid)
            self._wait_acknowledged(relay, self._rows)
            seconds = time.monotonic() - begun
            spent = cpu_seconds(relay.pid) - spent
            events = self._rows - before
            self._add(f"drain, {kind}", "events/s", events / seconds)
            self._add(f"CPU of walpost, {kind}", "s/M", spent * 1e6 / events)
            self._add(f"peak, {kind}", "MB",
                      relay.peak_memory_bytes() / (1 << 20))
            if kind == "all dead":
                self._retry(relay, name)
            relay.stop()
        database.wait_slot_inactive(name)
        database.execute("select pg_drop_replication_slot(%s)", (name,))

    def _retry(self, relay, name):
        relay.configure({**relay.config, "route": {
            "topic": name + ".{aggregate_type|default:order}"}})
        begun = time.monotonic()
        said = relay.verb("dead-letters", "retry", "--all", "--out-of-order",
                          "--why", "bench", seconds=600)
        seconds = time.monotonic() - begun
        assert said.stdout == f"{self._rows} retried\n", said
        self._add(f"retry of {self._rows} events", "s", seconds)
        self._add("retry", "events/s", self._rows / seconds)

    @contextlib.contextmanager
    def _walpost(self, name, kind):
        database = self._databases[kind]
        relay = rig.Walpost(self._servers.directory / name, {
            "postgres": {"conninfo": database.conninfo(), "slot": name,
                         "publication": PUBLICATION},
            "kafka": {"brokers": self._servers.kafka.bootstrap},
            "route": {"topic": name + ".{aggregate_type}"},
            "on_error": {"topic_field_missing": "dead_letter"},
            "dead_letter": {"topic": f"{name}.dead"},
            "log": {"level": "error"},
            "http": {"listen": f"127.0.0.1:{rig.free_port()}"},
        })
        try:
            yield relay
        finally:
            relay.close()

    @staticmethod
    def _wait_acknowledged(relay, records):
        name = "walpost_acknowledged_records_total"
        rig.wait_until(lambda: (relay.metric(name) or 0) >= records,
                       lambda: f"{records} records:\n{relay.log()}", 600, 0.02)

    def _add(self, what, unit, value):
        self._results.add({"what": what, "unit": unit, "value": value})
        print(f"  {what:48} {value:12.3f} {unit}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with rig.servers(max_wal_size="8GB") as servers:
        print(f"loading {options.rows} rows; warming up", flush=True)
        Bench(servers, options.rows // 10,
              rig.Results("dead-letters-warm-up")).round()
        results = rig.Results("dead-letters")
        bench = Bench(servers, options.rows, results)
        for _ in range(options.rounds):
            bench.round()
    rows = []
    for what in dict.fromkeys(row["what"] for row in results.rows):
        unit, = set(results.column("unit", what=what))
        rows.append([what, results.spread(
            "value", 0 if unit.endswith("s/s") else 2, what=what), unit])
    results.write_table(f"{rig.machine()}\n\n" + rig.table(
        ["what", "median (min–max)", "unit"], rows))


if __name__ == "__main__":
    main()
