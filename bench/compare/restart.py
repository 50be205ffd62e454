"""From the start of the process to the first record, fresh and after kill -9."""

import time

from compare.consumer import Load, commit_times_us
from compare.live import Live

RATE = 1000


def cold_start(stage, name):
    """A row waits; how long until the broker has it."""
    with Live(stage, name) as live:
        live.contender.stop()
        void, duplicates = live.verdict(1)
        return {"contender": name, "first_record_s": live.first_record_s,
                "duplicates": duplicates, "void": void}


def recovery(stage, name, before_s, after_s):
    """kill -9 under load, started again at once, as a supervisor does.

    Counts until the broker has the first event that was committed after the
    kill, or, if it comes in a transaction of Kafka, until the consumer has it;
    what piled up and what is sent again comes before it.
    """
    with Live(stage, name) as live:
        load = Load(stage, live.outbox, RATE, before_s + after_s)
        try:
            _read_for(live, before_s)
            killed_us = time.time_ns() // 1000
            live.contender.kill()
            live.contender.start(live.run)
            while load.running():
                _read_for(live, 0.1)
            events, _, _ = load.result()
        finally:
            load.stop()
        live.wait_for_all(events + 1, 120)
        live.contender.stop()
        void, _ = live.verdict(events + 1, may_double=True)
        arrivals = live.consumer.arrivals
        commits = commit_times_us(live.outbox.database,
                                  (xid for xid, _ in arrivals))
        in_transactions = live.contender.publishes_in_transactions
        new = [arrived_us / 1e6 if in_transactions else appended_ms / 1e3
               for (xid, _), (arrived_us, appended_ms) in arrivals.items()
               if commits[xid] > killed_us]
        return {"contender": name,
                "recovery_s": min(new) - killed_us / 1e6 if new else None,
                "duplicates": live.consumer.duplicates,
                "void": void or ("" if new else "nothing after the kill")}


def _read_for(live, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        live.consumer.take_in()
        time.sleep(0.05)
