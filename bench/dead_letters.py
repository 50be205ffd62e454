"""What dead letters and parked events cost: events a second, and their retry.

  drain     a backlog into Kafka, in shuffled rounds: no event is dead, with and
            without `park`; each is a dead letter; all wait behind a parked one
  retry     `walpost dead-letters retry --all` of these dead letters, beside
            nothing else
  release   of the parked events, from the decision to the last record

fsync is off in Postgres, as in the tests.
"""

import argparse
import contextlib
import random
import time

import rig
from harness import KafkaReader
from processes import cpu_seconds

PUBLICATION = "bench"

_DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text,
  aggregate_id   text not null,
  payload        jsonb not null,
  headers        jsonb
);
create publication bench for table outbox with (publish = 'insert');
"""

# 100 rows of 250 B a transaction.
_LOAD = """
do $$ begin for batch in 1 .. {batches} loop
  insert into outbox (aggregate_type, aggregate_id, payload, headers)
    select {type}, {key},
           jsonb_build_object('order', batch * 100 + n,
                              'note', rpad(md5(n::text), 210, '.')),
           {headers}
    from generate_series(1, 100) n;
  commit;
end loop; end $$
"""
_ORDERS = {"type": "'order'", "headers": "null",
           "key": "'customer-' || (batch * 100 + n) % 10000"}
# What the rows are, and what becomes of those that cannot be delivered.
_KINDS = {
    "none dead": (_ORDERS, {}),
    "none dead, park": (_ORDERS, {"headers_unreadable": "park"}),
    "all dead": ({**_ORDERS, "type": "null"},
                 {"topic_field_missing": "dead_letter"}),
    "all parked": ({**_ORDERS, "key": "'customer'",
                    "headers": "case batch * n when 1 then '[]'::jsonb end"},
                   {"headers_unreadable": "park"}),
}


class Bench:
    """A database for each kind of backlog."""

    def __init__(self, servers, rows, results):
        self._servers = servers
        self._rows = rows
        self._results = results
        self._databases = {}
        for kind, (columns, _) in _KINDS.items():
            database = servers.postgres.create_database()
            database.execute(_DDL)
            database.execute("select pg_create_logical_replication_slot(%s, "
                             "'pgoutput')", (database.name,))
            database.execute(_LOAD.format(batches=rows // 100, **columns))
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
            self._wait_done(relay, kind, self._rows // 4)
            before = self._done(relay, kind)
            begun, spent = time.monotonic(), cpu_seconds(relay.pid)
            self._wait_done(relay, kind, self._rows)
            seconds = time.monotonic() - begun
            spent = cpu_seconds(relay.pid) - spent
            events = self._rows - before
            self._results.note(f"drain, {kind}", "events/s", events / seconds)
            self._results.note(f"CPU of walpost, {kind}", "s/M", spent * 1e6 / events)
            self._results.note(f"peak, {kind}", "MB",
                      relay.peak_memory_bytes() / (1 << 20))
            if kind == "all dead":
                self._retry(relay, name)
            if kind == "all parked":
                self._release(relay, name)
            relay.stop()
        database.wait_slot_inactive(name)
        database.execute("select pg_drop_replication_slot(%s)", (name,))

    @staticmethod
    def _done(relay, kind):
        name = ("walpost_events_parked_behind_total" if kind == "all parked"
                else "walpost_acknowledged_records_total")
        return relay.metric(name) or 0

    def _wait_done(self, relay, kind, events):
        events -= kind == "all parked"  # the first is dead
        rig.wait_until(lambda: self._done(relay, kind) >= events,
                       lambda: f"{events} events:\n{relay.log()}", 600, 0.02)

    def _release(self, relay, name):
        begun, spent = time.monotonic(), cpu_seconds(relay.pid)
        said = relay.verb("parked", "discard", "--all", "--why", "bench")
        assert said.returncode == 0, said.stderr
        reader = KafkaReader(self._servers.kafka.bootstrap)
        rig.wait_until(lambda: relay.metric("walpost_parked_keys") == 0,
                       relay.log, 600, 0.02)
        seconds = time.monotonic() - begun
        assert reader.size(f"{name}.order") == self._rows - 1
        self._results.note(f"release of {self._rows} events", "s", seconds)
        self._results.note("release", "events/s", self._rows / seconds)
        self._results.note("CPU of walpost, release", "s/M",
                           (cpu_seconds(relay.pid) - spent) * 1e6 / self._rows)

    def _retry(self, relay, name):
        relay.configure({**relay.config, "route": {
            "topic": name + ".{aggregate_type|default:order}"}})
        begun = time.monotonic()
        said = relay.verb("dead-letters", "retry", "--all", "--out-of-order",
                          "--why", "bench", seconds=600)
        seconds = time.monotonic() - begun
        assert said.stdout == f"{self._rows} retried\n", said
        self._results.note(f"retry of {self._rows} events", "s", seconds)
        self._results.note("retry", "events/s", self._rows / seconds)

    @contextlib.contextmanager
    def _walpost(self, name, kind):
        database = self._databases[kind]
        relay = rig.Walpost(self._servers.directory / name, {
            "postgres": {"conninfo": database.conninfo(), "slot": name,
                         "publication": PUBLICATION},
            "kafka": {"brokers": self._servers.kafka.bootstrap},
            "route": {"topic": name + ".{aggregate_type}"},
            "on_error": _KINDS[kind][1],
            "dead_letter": {"topic": f"{name}.dead"},
            "log": {"level": "error"},
            "http": {"listen": f"127.0.0.1:{rig.free_port()}"},
        })
        try:
            yield relay
        finally:
            relay.close()


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
    results.write_notes()


if __name__ == "__main__":
    main()
