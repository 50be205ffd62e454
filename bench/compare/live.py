"""A contender at work on an outbox that is being written to.

    with Live(stage, "walpost") as live:   # started, first record seen
        ...
"""

import time

from compare.consumer import TOPIC, Consumer
from compare.contenders import Run, make
from compare.outbox import Outbox
from compare.stage import settle, wait_until

START_S = 180


class Live:
    """Owns the contender, its database and the consumer of its topic."""

    def __init__(self, stage, name):
        self.stage = stage
        self.contender = make(name)
        self.outbox = Outbox(stage)
        self.consumer = None
        self.first_record_s = None  # from the start of the process
        self.run = Run(stage, self.outbox, stage.new_directory("run"),
                       stage.new_topics([TOPIC]), table="outbox")

    def __enter__(self):
        run = self.run
        run.log = self.stage.broker_log(run.topic_prefix)
        if self.contender.polls:
            self.outbox.make_pollable()
        if self.contender.reads_wal:
            run.slot = self.outbox.new_slot()
        self.contender.prepare(run)
        self.insert_one()
        settle()
        begun = time.time()
        self.contender.start(run)
        try:
            first_at = wait_until(
                self._first_record,
                lambda: (f"the first record of {self.contender.title}\n"
                         f"{self.contender.log_tail()}"),
                seconds=START_S, pause=0.01)
            self.first_record_s = first_at - begun
            self.consumer = Consumer(self.stage.kafka.bootstrap,
                                     run.topic_prefix)
            return self
        except BaseException:
            self.contender.kill()
            raise

    def __exit__(self, *_):
        self.contender.stop()
        if self.consumer is not None:
            self.consumer.close()
        self.outbox.close()
        self.stage.delete_topics(self.run.topic_prefix)

    def insert_one(self):
        self.outbox.database.execute(
            "insert into outbox (aggregate_type, aggregate_id, type, payload) "
            "select 'order', 'first', 'OrderPlaced', jsonb_build_object("
            "'n', 0, 'xid', pg_current_xact_id()::text::bigint)")

    def wait_for_all(self, events, seconds):
        """Whether the consumer has got so many distinct events in time."""
        deadline = time.monotonic() + seconds
        while self.consumer.take_in() < events:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def verdict(self, events, may_double=False):
        """(why the run is void or "", duplicates); the contender has stopped.

        A contender that deletes rows leaves nothing to compare with: then the
        number of distinct events decides.
        """
        if not self.contender.deletes_rows:
            return self.outbox.verdict(self.stage, self.run.topic_prefix,
                                       may_double)
        missing = events - self.consumer.take_in()
        duplicates = self.consumer.duplicates
        if missing:
            return f"{missing} missing", duplicates
        if duplicates and not may_double:
            return f"{duplicates} duplicates", duplicates
        return "", duplicates

    def _first_record(self):
        if not self.contender.running():
            raise RuntimeError(f"{self.contender.title} ended:\n"
                               f"{self.contender.log_tail()}")
        return self.contender.first_record_at(self.run)
