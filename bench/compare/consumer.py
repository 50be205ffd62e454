"""A consumer that is nobody's relay, and the load whose events it looks for.

Every event carries its transaction's id in its payload; Postgres remembers
when that transaction was committed (track_commit_timestamp), the broker when
it appended the record, and the consumer when it came out. All on one clock.
"""

import os
import pathlib
import re
import subprocess
import threading
import time

import pgbench

TOPIC = "order"

# A key is written by one connection only, so that `seq` counts its events in
# commit order. jsonb puts short names first.
_TRANSACTION = """\
\\set customer random(1, 2500)
insert into outbox (aggregate_type, aggregate_id, type, payload)
select 'order', 'customer-' || :client_id || '-' || :customer, 'OrderPlaced',
       jsonb_build_object(
         'n', n, 'xid', pg_current_xact_id()::text::bigint,
         'customer', :customer::int, 'currency', 'EUR',
         'remark', repeat('please leave it with the neighbours ', 5))
from generate_series(1, {rows_per_transaction}) n;
"""

_RECORD = re.compile(rb'^(\d+) \{"n": (\d+), "xid": (\d+)')


class Consumer:
    """kcat, unbuffered; notes when each record came out.

    One clock reading serves all records that arrive in one read of the pipe;
    it comes after the read.
    """

    def __init__(self, bootstrap, topic_prefix):
        self._process = subprocess.Popen(
            ["kcat", "-C", "-q", "-u", "-b", bootstrap, "-t",
             topic_prefix + TOPIC, "-o", "beginning", "-f", "%T %s\\n"],
            stdout=subprocess.PIPE)
        self._chunks = []
        self._rest = b""
        self.arrivals = {}  # (xid, n): (arrived_us, appended_ms), the first
        self.records = 0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def duplicates(self):
        return self.records - len(self.arrivals)

    def take_in(self):
        """Parses what has arrived; returns the number of distinct events."""
        while self._chunks:
            arrived_us, chunk = self._chunks.pop(0)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                appended_ms, number, xid = map(int, _RECORD.match(line).groups())
                self.records += 1
                self.arrivals.setdefault((xid, number),
                                         (arrived_us, appended_ms))
        return len(self.arrivals)

    def close(self):
        self._process.terminate()
        self._thread.join()
        self._process.wait()
        self.take_in()

    def _read(self):
        while chunk := os.read(self._process.stdout.fileno(), 1 << 20):
            self._chunks.append((time.time_ns() // 1000, chunk))


class Load:
    """pgbench on a schedule, so that no wait is left out of the measurement.

    `rate` is of events per second.
    """

    def __init__(self, stage, outbox, rate, seconds, rows_per_transaction=1):
        self._rows_per_transaction = rows_per_transaction
        self._seconds = seconds
        directory = stage.new_directory("load")
        script = pathlib.Path(directory / "insert.sql")
        script.write_text(_TRANSACTION.format(
            rows_per_transaction=rows_per_transaction))
        self._process = subprocess.Popen(
            pgbench.command(script, outbox.conninfo("postgres"), seconds,
                            rate / rows_per_transaction),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=directory)

    def running(self):
        return self._process.poll() is None

    def result(self):
        """(events, events per second, mean lateness in ms)."""
        said = self._process.communicate()[0]
        if self._process.returncode != 0:
            raise RuntimeError(f"pgbench failed:\n{said}")
        events = pgbench.transactions(said) * self._rows_per_transaction
        late_ms, _ = pgbench.lateness_ms(said)
        return events, events / self._seconds, late_ms

    def stop(self):
        if self.running():
            self._process.terminate()
        self._process.wait()


def commit_times_us(database, xids):
    """{xid: microseconds since 1970}."""
    rows = database.execute(
        "select xid, (extract(epoch from pg_xact_commit_timestamp("
        "xid::text::xid)) * 1e6)::bigint from unnest(%s::bigint[]) xid",
        (sorted(set(xids)),))
    return dict(rows)


def latencies_ms(arrivals, commits_us, from_us):
    """(commit -> broker, commit -> consumer) of what was committed since.

    The broker's clock reading is cut to a millisecond; the next one is taken,
    so that no latency is understated.
    """
    to_broker, to_consumer = [], []
    for (xid, _), (arrived_us, appended_ms) in arrivals.items():
        committed_us = commits_us[xid]
        if committed_us >= from_us:
            to_broker.append(appended_ms + 1 - committed_us / 1e3)
            to_consumer.append((arrived_us - committed_us) / 1e3)
    return to_broker, to_consumer
