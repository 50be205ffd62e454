"""How soon a program that only reads has an event: no relay has it sooner."""

import contextlib
import time

from compare.consumer import Load
from compare.contenders import PUBLICATION
from compare.figures import percentiles
from compare.outbox import Outbox
from compare.sections import READER
from compare.stage import bench_program
from compare.watch import RELAY_ROLE
from harness.process import Process

# More than any load has.
_ENDLESS = 10 ** 12


def steady(stage, rate, warm_up_s, seconds, rows_per_transaction=1):
    """The reader's row, as rate.steady has it of a relay.

    "To the broker" is into the reader's hands; there is no consumer.
    """
    with contextlib.ExitStack() as stack:
        outbox = Outbox(stage)
        stack.callback(outbox.close)
        slot = outbox.new_slot()
        directory = stage.new_directory("reader")
        lags = directory / "lags"
        reader = Process(
            [bench_program(READER), outbox.conninfo(RELAY_ROLE), slot,
             PUBLICATION, 1, _ENDLESS, lags], directory / "reader.log")
        stack.callback(reader.end)
        watch = stage.watch()
        watch.follow(reader.pid)
        load = Load(stage, outbox, rate, warm_up_s + seconds,
                    rows_per_transaction)
        stack.callback(load.stop)
        time.sleep(warm_up_s)
        watch.mark()
        from_us = time.time_ns() // 1000
        while load.running():
            watch.sample()
            time.sleep(0.1)
        watch.close()
        events, achieved, late_ms = load.result()
        time.sleep(1)  # for the last ones
        reader.end()
        read = _read(lags)
    void = ("" if len(read) * rows_per_transaction == events
            else f"{len(read)} transactions read, of {events} events")
    return {
        "contender": READER, "rate": rate, "held_snapshot": False,
        "events": events, "achieved_per_s": achieved, "late_ms": late_ms,
        **percentiles([lag_us / 1e3 for committed_us, lag_us in read
                       if committed_us >= from_us], "broker_ms"),
        **watch.cores("relay", "walsender", "backends", "broker"),
        "peak_mb": watch.peak_bytes / 1e6,
        "machine_busy": watch.machine_busy,
        "duplicates": 0, "void": void,
    }


def _read(path):
    """(when it was committed, how long after that it was read) of each."""
    return [tuple(map(int, line.split()))
            for line in path.read_text().splitlines()]
