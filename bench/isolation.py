"""What a topic that takes no records costs the others.

pgbench inserts rows at a fixed rate (latency.py), a tenth of them for a second
topic. In shuffled order, each round measures how old the records of the first
topic are when they reach a consumer:

  undisturbed  both topics take records
  isolated     the second topic does not exist, and is isolated already
  draining     it has been made: its stored events go to Kafka beside the load

The time until the topic is isolated is not measured: the flow stands for
`isolate_after`, and that is what the option says.
"""

import argparse
import contextlib
import random
import subprocess
import time

import latency
import pgbench
import rig

_SHARE = 10  # one row in so many is for the second topic
_SLOT = "bench_isolation"


class Bench:
    def __init__(self, servers, options, results):
        self._servers = servers
        self._options = options
        self._results = results
        self._topics = 0
        self._database = servers.postgres.create_database()
        self._database.execute(latency.DDL)
        servers.kafka.create_topic(latency.TOPIC, latency.PARTITIONS)
        servers.kafka.create_topic("outbox.event.fine", 4)
        self.walpost = rig.Walpost(servers.directory / "walpost", {
            "postgres": {"conninfo": self._database.conninfo(), "slot": _SLOT,
                         "publication": "bench", "create": True},
            "kafka": {"brokers": servers.kafka.bootstrap},
            "parking": {"isolate_after": "10s", "max_isolated_bytes": "10GiB"},
            "http": {"listen": f"127.0.0.1:{rig.free_port()}"}})

    def warm_up(self):
        """The brokers are slower in their first minutes."""
        self._load("fine", 90)

    def round(self):
        phases = [self._undisturbed, self._isolated]
        random.shuffle(phases)
        for phase in phases:
            phase()

    def _undisturbed(self):
        self._measure("undisturbed", "fine", self._options.seconds)

    def _isolated(self):
        self._topics += 1
        kind = f"frail{self._topics}"
        self._load(kind, 1)
        rig.wait_until(
            lambda: self.walpost.metric("walpost_isolated_topics") == 1,
            self.walpost.log, 120)
        self._settle()
        self._measure("isolated", kind, self._options.seconds)
        waiting = self.walpost.metric("walpost_isolated_events")
        self._results.note("stored for the topic", "events", waiting)
        self._results.note("WAL that the slot keeps then", "MB", float(
            self._database.value(
                "select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) "
                "from pg_replication_slots where slot_name = %s",
                (_SLOT,))) / (1 << 20))
        self._servers.kafka.create_topic(f"outbox.event.{kind}", 4)
        begun = time.monotonic()
        self._measure("draining", kind, min(10, self._options.seconds))
        rig.wait_until(
            lambda: self.walpost.metric("walpost_isolated_topics") == 0,
            self.walpost.log, 600, 0.05)
        self._results.note("until it has drained, at most", "s",
                           time.monotonic() - begun)
        self._settle()

    def _settle(self):
        self._database.wait_confirmed(_SLOT, seconds=60)

    def _load(self, kind, seconds):
        script = self._servers.directory / "insert.sql"
        aggregate_type = (f"case when random() < 1.0 / {_SHARE} then '{kind}' "
                          "else 'order' end")
        script.write_text(latency.TRANSACTION.replace(
            "values ('order',", f"values ({aggregate_type},"))
        subprocess.run(
            pgbench.command(script, self._database.conninfo(), seconds,
                            self._options.rate),
            capture_output=True, check=True, cwd=self._servers.directory)

    def _measure(self, phase, kind, seconds):
        consumer = latency.Consumer(self._servers.kafka.bootstrap)
        accounts = rig.Accounts({"walpost": self.walpost.pid})
        try:
            time.sleep(1)
            consumer.start()
            self._load(kind, seconds)
            accounts.close()
            time.sleep(1)
        finally:
            ages_us = consumer.stop()
        for name, fraction in (("p50", 0.5), ("p99", 0.99)):
            self._results.note(f"{name}, {phase}", "ms",
                               latency.quantile_ms(ages_us, fraction))
        self._results.note(f"CPU of walpost, {phase}", "% of a core",
                           100 * accounts.cpu_s("walpost") / accounts.elapsed_s)
        self._results.note(f"peak of walpost by the end of {phase}", "MB",
                           self.walpost.peak_memory_bytes() / (1 << 20))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(rig.servers(
            {"auto.create.topics.enable": "false"}, fsync="on"))
        results = rig.Results("isolation")
        bench = Bench(servers, options, results)
        stack.callback(bench.walpost.close)
        bench.walpost.run()
        bench.warm_up()
        for _ in range(options.rounds):
            bench.round()
        if bench.walpost.stop() != 0:
            raise RuntimeError(bench.walpost.log())
    results.write_notes()


if __name__ == "__main__":
    main()
