"""How fast a backlog drains.

Rows are committed first; then every contender publishes all of them, round
after round in shuffled order, each to topics of its own. The first quarter
warms it up; the clock runs from then to the last record, by the broker's
clock. So a JVM's start is not counted (that has a scenario of its own), nor a
part of its compiling.
"""

import time

from compare.contenders import Run, make
from compare.outbox import Outbox
from compare.stage import settle

DEADLINE_S = 1200


class Drain:
    """One loaded database, and the drains of its backlog."""

    def __init__(self, stage, rows, per_transaction, payload_bytes):
        self._stage = stage
        self._per_transaction = per_transaction
        self._payload_bytes = payload_bytes
        self._outbox = Outbox(stage)
        self._outbox.load(rows, per_transaction, payload_bytes)

    def warm_broker(self):
        """Some drains that nobody counts: the broker compiles, too."""
        for name in ("produce", "produce", "walpost", "walpost"):
            self.measure(name)

    def measure(self, name):
        """One drain; returns its row."""
        contender = make(name)
        rows = self._outbox.rows
        run = Run(self._stage, self._outbox, self._stage.new_directory("run"),
                  self._stage.new_topics(), rows=rows,
                  warm_up=rows // 4 if contender.warms_up else 0)
        run.log = self._stage.broker_log(run.topic_prefix)
        if contender.reads_wal:
            run.slot = self._outbox.copy_slot()
        if contender.polls:
            run.table = self._outbox.pollable_copy()
        contender.prepare(run)
        settle()
        try:
            row = self._drain(contender, run)
        finally:
            contender.stop()
            if run.slot:
                self._outbox.drop_slot(run.slot)
        row.update(self._judge(contender, run))
        if run.table:
            row["dead_tuples"] = self._outbox.dead_tuples(run.table)
            self._outbox.database.execute(f"drop table {run.table}")
        self._stage.delete_topics(run.topic_prefix)
        return {"per_transaction": self._per_transaction,
                "payload_bytes": self._payload_bytes, "rows": rows,
                "contender": name, **row}

    def close(self):
        self._outbox.close()

    def _drain(self, contender, run):
        wal_before = self._outbox.wal_bytes()
        watch = self._stage.watch()
        begun = time.time()
        contender.start(run)
        watch.follow(contender.pid)
        marked, marked_at = 0, begun
        while (done := contender.progress(run)) < run.rows:
            if run.warm_up and not marked and done >= run.warm_up:
                marked, marked_at = done, time.time()
                watch.mark()
            if not contender.running():
                raise RuntimeError(f"{contender.title} ended:\n"
                                   f"{contender.log_tail()}")
            if time.time() - begun > DEADLINE_S:
                raise TimeoutError(f"{contender.title}: {done} of {run.rows} "
                                   f"after {DEADLINE_S} s\n"
                                   f"{contender.log_tail()}")
            watch.sample()
            time.sleep(0.02)
        watch.close()
        ended = contender.finished_at(run) or time.time()
        # Re-sends would still be on their way.
        settle()
        return self._figures(watch, run, marked, marked_at, begun, ended,
                             self._outbox.wal_bytes() - wal_before)

    @staticmethod
    def _figures(watch, run, marked, marked_at, begun, ended, wal_bytes):
        counted = run.rows - marked
        elapsed = ended - marked_at
        return {
            "events_per_s": counted / elapsed,
            "elapsed_s": elapsed,
            "start_to_last_s": ended - begun,
            **{f"{role}_cpu_s_per_million":
               watch.cpu_s(role) / (counted / 1e6)
               for role in ("relay", "walsender", "backends", "broker",
                            "background")},
            "walsender_on_cpu": watch.cpu_s("walsender") / watch.elapsed_s,
            "machine_busy": watch.machine_busy,
            "peak_mb": watch.peak_bytes / 1e6,
            "wal_bytes_per_event": wal_bytes / run.rows,
            "dead_tuples": 0,
        }

    def _judge(self, contender, run):
        if contender.is_ceiling:
            return {"duplicates": 0, "void": ""}
        void, duplicates = self._outbox.verdict(self._stage, run.topic_prefix)
        return {"duplicates": duplicates, "void": void}
