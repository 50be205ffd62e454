"""How long from a commit to Kafka, at a steady rate.

pgbench inserts rows in single-row transactions on a schedule that was fixed
beforehand (-R): a slow moment makes it late, never slower, so no wait is left
out. Several connections write. Postgres runs with fsync and synchronous_commit
on; everything shares the machine. Measured after a warm-up:

  commit -> acknowledged  walpost's own histogram, /metrics before and after:
                          from the commit's timestamp, which the server takes
                          before it flushes the commit, to the brokers'
                          acknowledgement
  INSERT -> consumer      the row holds when it was inserted; kcat, unbuffered,
                          prints each record, and its arrival is noted here
"""

import argparse
import contextlib
import os
import re
import subprocess
import threading
import time

import pgbench
import rig

TOPIC = "outbox.event.order"
PARTITIONS = 4
SLOT = "bench_latency"
PUBLICATION = "bench"

DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id   text not null,
  type           text not null,
  payload        jsonb not null
);
create publication bench for table outbox with (publish = 'insert');
"""

TRANSACTION = """\
\\set customer random(1, 10000)
insert into outbox (aggregate_type, aggregate_id, type, payload)
values ('order', 'customer-' || :customer, 'OrderPlaced',
        jsonb_build_object(
          'at', (extract(epoch from clock_timestamp()) * 1e6)::bigint,
          'customer', :customer::int, 'currency', 'EUR', 'note',
          repeat('please leave it with the neighbours ', 5)));
"""

_AT = re.compile(rb'"at": (\d+)')


class Consumer:
    """kcat on the topic; notes how old each record is when it arrives."""

    def __init__(self, bootstrap):
        self._ages_us = []
        self._keep = False
        self._process = subprocess.Popen(
            ["kcat", "-C", "-q", "-u", "-b", bootstrap, "-t", TOPIC, "-o",
             "end", "-f", "%s\\n"], stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def start(self):
        self._keep = True

    def stop(self):
        """Ends it; returns the ages since `start` in microseconds, sorted."""
        self._keep = False
        self._process.terminate()
        self._thread.join()
        self._process.wait()
        return sorted(self._ages_us)

    def _read(self):
        """One clock reading serves all lines of a read; it comes after it."""
        rest = b""
        while chunk := os.read(self._process.stdout.fileno(), 1 << 20):
            now_us = time.time_ns() // 1000
            lines, newline, tail = (rest + chunk).rpartition(b"\n")
            rest = tail
            if self._keep and newline:
                self._ages_us += [now_us - int(at)
                                  for at in _AT.findall(lines)]


class Histogram:
    """walpost_commit_to_acknowledgement_seconds of a /metrics page."""

    _BUCKET = re.compile(
        r'^walpost_commit_to_acknowledgement_seconds_bucket\{le="([^"]+)"\} '
        r"(\d+)", re.M)

    def __init__(self, page):
        self._cumulative = [(float(bound), int(count))
                            for bound, count in self._BUCKET.findall(page)]

    def since(self, earlier):
        difference = Histogram("")
        difference._cumulative = [
            (bound, count - before)
            for (bound, count), (_, before) in zip(self._cumulative,
                                                   earlier._cumulative)]
        return difference

    @property
    def count(self):
        return self._cumulative[-1][1]

    def quantile_ms(self, fraction):
        """Within a bucket, records are taken to lie evenly."""
        goal = fraction * self.count
        low, below = 0.0, 0
        for bound, count in self._cumulative:
            if count >= goal:
                share = (goal - below) / (count - below) if count > below else 1
                return 1e3 * (low + (bound - low) * share)
            low, below = bound, count
        return float("inf")


def quantile_ms(sorted_us, fraction):
    return sorted_us[min(len(sorted_us) - 1,
                         int(fraction * len(sorted_us)))] / 1e3


def run_load(servers, database, script, rate, seconds):
    """Returns (transactions, mean and worst lateness in ms)."""
    said = subprocess.run(
        pgbench.command(script, database.conninfo(), seconds, rate),
        capture_output=True, text=True, check=True, cwd=servers.directory)
    return pgbench.transactions(said.stdout), *pgbench.lateness_ms(said.stdout)


def measure(servers, database, walpost, script, rate, warm_up_s, seconds):
    """One run at one rate."""
    consumer = Consumer(servers.kafka.bootstrap)
    try:
        run_load(servers, database, script, rate, warm_up_s)
        time.sleep(0.5)
        consumer.start()
        before = Histogram(walpost.get("/metrics")[1])
        accounts = rig.Accounts({"walpost": walpost.pid,
                                 "broker": servers.broker_pid})
        done, late_ms, latest_ms = run_load(servers, database, script, rate,
                                            seconds)
        accounts.close()
        rig.wait_until(
            lambda: Histogram(walpost.get("/metrics")[1]).count
            >= before.count + done, "the last acknowledgement")
        time.sleep(0.5)
    finally:
        ages_us = consumer.stop()
    acknowledged = Histogram(walpost.get("/metrics")[1]).since(before)
    row = {"rate": rate, "achieved_per_s": done / seconds,
           "events": acknowledged.count, "consumed": len(ages_us),
           "late_ms": late_ms, "latest_ms": latest_ms,
           "machine_busy": accounts.machine_busy,
           "walpost_cpu": accounts.cpu_s("walpost") / accounts.elapsed_s}
    for name, fraction in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99),
                           ("p999", 0.999)):
        row[f"ack_{name}_ms"] = acknowledged.quantile_ms(fraction)
        row[f"consumer_{name}_ms"] = quantile_ms(ages_us, fraction)
    return row


def walpost_config(servers, database, properties):
    return {
        "postgres": {"conninfo": database.conninfo(), "slot": SLOT,
                     "publication": PUBLICATION, "create": True},
        "kafka": {"brokers": servers.kafka.bootstrap,
                  "properties": dict(pair.split("=", 1)
                                     for pair in properties)},
        "http": {"listen": f"127.0.0.1:{rig.free_port()}"},
    }


def _show(results, rates):
    rows = []
    for rate in rates:
        for measured, prefix in (("commit → acknowledged", "ack"),
                                 ("INSERT → consumer", "consumer")):
            rows.append(
                [f"{rate}", measured]
                + [results.spread(f"{prefix}_{name}_ms", 2, rate=rate)
                   for name in ("p50", "p95", "p99", "p999")]
                + [results.spread("achieved_per_s", 0, rate=rate),
                   results.spread("late_ms", 2, rate=rate),
                   results.spread("machine_busy", 0, 100, rate=rate)])
    results.write_table(
        f"{rig.machine()}\n\n" + rig.table(
            ["events/s", "ms", "p50", "p95", "p99", "p99.9", "achieved/s",
             "load late by, ms", "machine busy, %"], rows))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--property", action="append", default=[],
                        metavar="NAME=VALUE", help="of kafka.properties")
    parser.add_argument("--name", default="latency",
                        help="of the files in build/bench")
    options = parser.parse_args()

    results = rig.Results(options.name)
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(rig.servers(fsync="on"))
        servers.kafka.create_topic(TOPIC, PARTITIONS)
        database = servers.postgres.create_database()
        database.execute(DDL)
        script = servers.directory / "insert.sql"
        script.write_text(TRANSACTION)
        walpost = rig.Walpost(
            servers.directory / "walpost",
            walpost_config(servers, database, options.property))
        stack.callback(walpost.close)
        walpost.run()
        for number in range(1, options.rounds + 1):
            for rate in options.rates:
                row = measure(servers, database, walpost, script, rate,
                              options.warm_up, options.seconds)
                results.add(row)
                print(f"  round {number}  {rate:5}/s  acknowledged p50 "
                      f"{row['ack_p50_ms']:.2f} p99 {row['ack_p99_ms']:.2f} "
                      f"consumer p50 {row['consumer_p50_ms']:.2f} p99 "
                      f"{row['consumer_p99_ms']:.2f} ms  machine "
                      f"{row['machine_busy']:.0%}", flush=True)
        if walpost.stop() != 0:
            raise RuntimeError(walpost.log())
    _show(results, options.rates)


if __name__ == "__main__":
    main()
