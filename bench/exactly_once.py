"""What exactly-once costs, beside at-least-once with a checkpoint topic.

  drain    a backlog into Kafka with each guarantee, in shuffled rounds, for
           each size of the transactions in Postgres: rows per transaction
  latency  from INSERT to a consumer that reads committed records, at a steady
           rate, for each delivery.transaction_interval
  restart  from kill -9 and a new start to the first new record

fsync is off in Postgres for drain and restart, as in the tests.
"""

import argparse
import contextlib
import random
import subprocess
import time

import latency
import pgbench
import rig
from processes import cpu_seconds

GUARANTEES = ("at_least_once", "exactly_once")
_RECORDS = "walpost_acknowledged_records_total"

_LOAD = """
do $$ begin for batch in 1 .. {batches} loop
  insert into outbox (aggregate_type, aggregate_id, type, payload)
    select 'order', 'customer-' || (batch * {rows} + n) % 10000, 'OrderPlaced',
           jsonb_build_object('order', batch * {rows} + n,
                              'note', rpad(md5(n::text), 210, '.'))
    from generate_series(1, {rows}) n;
  commit;
end loop; end $$
"""


def _new_slot():
    """All share a checkpoint topic, which remembers the others."""
    return f"once_{random.getrandbits(32):08x}"


class Bench:
    def __init__(self, servers, results):
        self._servers = servers
        self._results = results
        self._starts = 0
        servers.kafka.create_topic(latency.TOPIC, latency.PARTITIONS)

    def drains(self, rows, rows_per_transaction, boundary):
        """A ratio is of one round: what else runs changes by the minute."""
        database = self._servers.postgres.create_database()
        database.execute(latency.DDL)
        base = database.name
        database.execute("select pg_create_logical_replication_slot(%s, "
                         "'pgoutput')", (base,))
        database.execute(_LOAD.format(batches=rows // rows_per_transaction,
                                      rows=rows_per_transaction))
        database.execute("checkpoint")
        figures = {}
        for guarantee in random.sample(GUARANTEES, len(GUARANTEES)):
            figures[guarantee] = self._drain(database, base, rows, guarantee,
                                             boundary)
        of = f"{rows_per_transaction} rows per transaction, {boundary}"
        once, least = (figures[g] for g in reversed(GUARANTEES))
        self._results.note(f"drain, exactly once, {of}", "×",
                           once[0] / least[0])
        self._results.note(f"CPU of walpost, exactly once, {of}", "×",
                           once[1] / least[1])
        database.drop()

    def _drain(self, database, base, rows, guarantee, boundary):
        slot = _new_slot()
        database.execute("select pg_copy_logical_replication_slot(%s, %s)",
                         (base, slot))
        options = {}
        if guarantee == "exactly_once":
            options["transaction_boundary"] = boundary
        relay = self._walpost(database, slot, guarantee, **options)
        try:
            relay.start()
            rig.wait_acknowledged(relay, rows // 4)
            before = relay.metric(_RECORDS)
            begun, spent = time.monotonic(), cpu_seconds(relay.pid)
            rig.wait_acknowledged(relay, rows)
            seconds = time.monotonic() - begun
            spent = cpu_seconds(relay.pid) - spent
            database.wait_confirmed(slot)
            relay.stop()
        finally:
            relay.close()
            database.wait_slot_inactive(slot)
            database.execute("select pg_drop_replication_slot(%s)", (slot,))
        rate, cpu = (rows - before) / seconds, spent * 1e6 / (rows - before)
        self._results.note(f"drain, {guarantee}", "events/s", rate)
        self._results.note(f"CPU of walpost, {guarantee}", "s/M", cpu)
        self._results.note(f"peak of walpost, {guarantee}", "MB",
                           relay.peak_memory_bytes() / 1e6)
        return rate, cpu

    def ages(self, rate, interval, seconds):
        """`interval`: None: at least once."""
        guarantee = GUARANTEES[interval is not None]
        database = self._servers.postgres.create_database()
        database.execute(latency.DDL)
        options = {"transaction_interval": interval} if interval else {}
        relay = self._walpost(database, _new_slot(), guarantee, **options)
        consumer = latency.Consumer(self._servers.kafka.bootstrap)
        script = self._servers.directory / "insert.sql"
        script.write_text(latency.TRANSACTION)
        try:
            relay.run()
            self._load(database, script, rate, 3)
            consumer.start()
            begun, spent = time.monotonic(), cpu_seconds(relay.pid)
            self._load(database, script, rate, seconds)
            elapsed = time.monotonic() - begun
            spent = cpu_seconds(relay.pid) - spent
            time.sleep(1)
        finally:
            ages_us = consumer.stop()
            relay.stop()
            database.drop()
        of = f"{rate}/s, {interval or guarantee}"
        for name, fraction in (("p50", 0.5), ("p99", 0.99)):
            self._results.note(f"{name}, {of}", "ms",
                               latency.quantile_ms(ages_us, fraction))
        self._results.note(f"CPU of walpost, {of}", "% of a core",
                           100 * spent / elapsed)

    def _load(self, database, script, rate, seconds):
        subprocess.run(
            pgbench.command(script, database.conninfo(), seconds, rate),
            capture_output=True, check=True, cwd=self._servers.directory)

    def restart(self, guarantee):
        database = self._servers.postgres.create_database()
        database.execute(latency.DDL)
        slot = _new_slot()
        relay = self._walpost(database, slot, guarantee)
        insert = ("insert into outbox (aggregate_type, aggregate_id, type, "
                  "payload) values ('order', 'a', 'x', '{}')")
        try:
            relay.run()
            for _ in range(5):
                database.execute(insert)
                database.wait_confirmed(slot)
                relay.kill()
                database.execute(insert)
                begun = time.monotonic()
                relay.start()
                rig.wait_acknowledged(relay, 1, pause=0.002)
                self._results.note(f"kill -9 to new record, {guarantee}", "s",
                                   time.monotonic() - begun)
            # Else its transaction would hold up the next one.
            relay.stop()
        finally:
            relay.close()
            database.drop()

    def _walpost(self, database, slot, guarantee, **delivery):
        self._starts += 1
        return rig.Walpost(
            self._servers.directory / f"walpost-{self._starts}", {
                "postgres": {"conninfo": database.conninfo(), "slot": slot,
                             "publication": "bench", "create": True,
                             "wal_budget": "64GiB"},
                "kafka": {"brokers": self._servers.kafka.bootstrap},
                "checkpoint": {"store": "kafka"},
                "delivery": {"guarantee": guarantee, **delivery},
                "http": {"listen": f"127.0.0.1:{rig.free_port()}"}})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--only", choices=["drain", "latency", "restart"])
    options = parser.parse_args()
    results = rig.Results("exactly-once")
    chosen = [options.only] if options.only else ["drain", "latency", "restart"]
    with contextlib.ExitStack() as stack:
        fsync = "on" if chosen == ["latency"] else "off"
        bench = Bench(stack.enter_context(rig.servers(fsync=fsync)), results)
        for _ in range(options.rounds):
            if "drain" in chosen:
                bench.drains(options.rows, 100, "event")
                bench.drains(options.rows, 100, "source")
                bench.drains(options.rows // 4, 1, "source")
                bench.drains(options.rows, options.rows, "event")
            if "latency" in chosen:
                for rate in (1_000, 5_000):
                    for interval in (None, "10ms", "25ms", "50ms", "100ms",
                                     "250ms"):
                        bench.ages(rate, interval, options.seconds)
            if "restart" in chosen:
                for guarantee in GUARANTEES:
                    bench.restart(guarantee)
    results.write_notes()


if __name__ == "__main__":
    main()
