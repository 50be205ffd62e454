"""How long from a commit to Kafka while events come at a steady rate.

`steady` measures one rate; `sustainable` looks for the highest one at which
p99 from commit to consumer stays under a second.
"""

import contextlib
import time

from compare import reading
from compare.consumer import Load, commit_times_us, latencies_ms
from compare.figures import percentiles
from compare.live import Live
from compare.sections import READER

CATCH_UP_S = 120
SUSTAINABLE_P99_MS = 1000
WARM_UP_RATE = 2000
RATES = (500, 1000, 2000, 5000, 10_000, 20_000, 40_000)


def warm_up(stage, seconds):
    """Small requests until the broker's JVM has compiled what they need: that
    takes minutes of CPU, which no contender's figures shall have in them.
    """
    row = steady(stage, "walpost", WARM_UP_RATE, warm_up_s=0, seconds=seconds)
    print(f"warmed up: p50 {row['consumer_ms_p50']:.1f} ms at "
          f"{WARM_UP_RATE:,}/s", flush=True)


def steady(stage, name, rate, warm_up_s, seconds, rows_per_transaction=1,
           held_snapshot=False):
    """One contender at one rate; returns its row."""
    if name == READER:
        return reading.steady(stage, rate, warm_up_s, seconds,
                              rows_per_transaction)
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(Live(stage, name))
        database = live.outbox.database
        if held_snapshot:
            stack.enter_context(_held_snapshot(database))
        wal_before = live.outbox.wal_bytes()
        watch = stage.watch()
        watch.follow(live.contender.pid)
        load = Load(stage, live.outbox, rate, warm_up_s + seconds,
                    rows_per_transaction)
        stack.callback(load.stop)
        from_us = _warm_up(load, live, watch, warm_up_s)
        while load.running():
            watch.sample()
            live.consumer.take_in()
            time.sleep(0.1)
        watch.close()
        events, achieved, late_ms = load.result()
        ended = time.monotonic()
        live.wait_for_all(events + 1, CATCH_UP_S)
        catch_up_s = time.monotonic() - ended
        dead_tuples = live.outbox.dead_tuples("outbox")
        wal_bytes = live.outbox.wal_bytes() - wal_before
        live.contender.stop()
        void, duplicates = live.verdict(events + 1)
        arrivals = live.consumer.arrivals
        commits = commit_times_us(database, (xid for xid, _ in arrivals))
    to_broker, to_consumer = latencies_ms(arrivals, commits, from_us)
    return {
        "contender": name, "rate": rate, "held_snapshot": held_snapshot,
        "events": events, "achieved_per_s": achieved, "late_ms": late_ms,
        **percentiles(to_broker, "broker_ms"),
        **percentiles(to_consumer, "consumer_ms"),
        "catch_up_s": catch_up_s,
        **watch.cores("relay", "walsender", "backends", "broker"),
        "peak_mb": watch.peak_bytes / 1e6,
        "machine_busy": watch.machine_busy,
        "dead_tuples": dead_tuples,
        "wal_bytes_per_event": wal_bytes / events,
        "duplicates": duplicates, "void": void,
    }


def sustainable(stage, name, warm_up_s, seconds):
    """Climbs until a rate is too high; returns the row of the last good one.

    Ten rows per transaction, so that the load itself costs little.
    """
    best = None
    for rate in RATES:
        row = steady(stage, name, rate, warm_up_s, seconds,
                     rows_per_transaction=10)
        kept_up = (not row["void"] and row["achieved_per_s"] >= 0.95 * rate
                   and row["consumer_ms_p99"] < SUSTAINABLE_P99_MS)
        print(f"    {rate:,}/s: p99 {row['consumer_ms_p99'] or 0:,.0f} ms, "
              f"load {row['achieved_per_s']:,.0f}/s", flush=True)
        if not kept_up:
            break
        best = row
    best = dict(best or {**row, "rate": 0})
    # What has not arrived yet may be late; what is wrong is wrong at any rate.
    if not kept_up and row["catch_up_s"] < CATCH_UP_S:
        best["void"] = row["void"]
    return {key: best[key] for key in (
        "contender", "rate", "consumer_ms_p50", "consumer_ms_p99",
        "relay_cpu", "peak_mb", "machine_busy", "duplicates", "void")}


def _warm_up(load, live, watch, seconds):
    """Returns the moment from which commits count, in microseconds."""
    until = time.monotonic() + seconds
    while load.running() and time.monotonic() < until:
        live.consumer.take_in()
        time.sleep(0.1)
    watch.mark()
    return time.time_ns() // 1000


@contextlib.contextmanager
def _held_snapshot(database):
    """A transaction elsewhere that keeps dead rows from being removed."""
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        with connection.cursor() as cursor:
            cursor.execute("set transaction isolation level repeatable read")
            cursor.execute("select count(*) from outbox")
            yield
        connection.rollback()
