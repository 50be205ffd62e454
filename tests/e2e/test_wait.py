"""`walpost wait` and `/wait`: what was committed is in Kafka, or why it is not."""

import re
import time
import uuid

import pytest

from harness import KafkaReader
from harness.polled import PolledOutbox


@pytest.fixture
def outbox(outbox, database):
    database.execute("alter table outbox add created_at timestamptz "
                     "default clock_timestamp()")
    return outbox


@pytest.fixture
def walpost(walpost):
    """Rows of the second in which the slot begins count as older ones."""
    def make(database, *words, **sections):
        relay = walpost(database, *words, **sections)
        relay.verb("init")
        time.sleep(1.1)
        return relay

    return make


def _lsn(database):
    return database.value("select pg_current_wal_insert_lsn()::text")


def _exits(said, code, words=""):
    assert said.returncode == code, said.stdout + said.stderr
    assert re.search(words, said.stdout + said.stderr), said.stdout + said.stderr


def test_what_was_committed_is_there(walpost, database, kafka, outbox, topics):
    """At once, for each of twenty commits; nothing is read twice."""
    relay = walpost(database, kafka, topics).run()
    reader = KafkaReader(kafka.bootstrap)
    for n in range(20):
        event = outbox.insert("order", f"order-{n}")
        if n % 2:
            said = relay.verb("wait", "--event", event, "--timeout", "20s")
        else:
            said = relay.verb("wait", "--lsn", _lsn(database))
        _exits(said, 0, "^acknowledged: ")
        assert len(reader.read_all(topics)) == n + 1


def test_while_kafka_does_not_answer(walpost, database, outbox, topics,
                                     own_kafka):
    """Not before the record is there."""
    relay = walpost(database, own_kafka, topics).run()
    own_kafka.freeze()
    event = outbox.insert("order", "order-1")
    lsn = _lsn(database)
    _exits(relay.verb("wait", "--event", event, "--timeout", "2s"), 1,
           f"event {event} is not acknowledged yet: slot .* has confirmed")
    _exits(relay.verb("wait", "--lsn", lsn, "--timeout", "1s"), 1,
           f"has confirmed .*reaches .*walpost status -c")
    own_kafka.thaw()
    _exits(relay.verb("wait", "--event", event, "--timeout", "60s"), 0)
    _exits(relay.verb("wait", "--lsn", lsn), 0)


def test_what_nobody_can_know(walpost, database, kafka, outbox, topics):
    """Refused with the reason, and at once where time would not help."""
    early = outbox.insert("order", "before")
    before = _lsn(database)
    relay = walpost(database, kafka, topics).run()
    _exits(relay.verb("wait", "--lsn", before), 2, "lies before slot")
    _exits(relay.verb("wait", "--event", early), 3,
           "not known that it came through slot .*walpost verify")
    database.execute("alter table outbox drop created_at")
    _exits(relay.verb("wait", "--event", early), 3,
           "no column that tells the age of a row.*or wait for an LSN")
    _exits(relay.verb("wait", "--lsn", "FFFF/0"), 2,
           "is ahead of this server, whose WAL ends at")
    _exits(relay.verb("wait", "--event", str(uuid.uuid4()), "--timeout", "1s"), 1,
           "no table of outbox.tables has a row with the id")
    _exits(relay.verb("wait", "--event", "not-a-uuid", "--timeout", "1s"), 1,
           "no table of outbox.tables has a row with the id not-a-uuid")
    _exits(relay.verb("wait"), 2, "for what")
    _exits(relay.verb("wait", "--lsn", "x"), 2, "is not an LSN")
    _exits(relay.verb("wait", "--lsn", "0/1", "--event", "x"), 2, "excludes")
    _exits(relay.verb("wait", "--lsn", "0/1", "--timeout", "soon"), 2,
           "--timeout: ")


def test_an_event_that_is_not_committed_yet(walpost, database, kafka, outbox,
                                            topics):
    relay = walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        event = outbox.insert("order", "order-1", cursor=cursor)
        _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
               "no table of outbox.tables has a row")
    _exits(relay.verb("wait", "--event", event), 0)


def test_events_that_were_set_aside(walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "dead", 1)
    relay = walpost(database, kafka, topics,
                    on_error={"topic_illegal": "park",
                              "headers_unreadable": "dead_letter"},
                    dead_letter={"topic": topics + "dead"}).run()
    parked = outbox.insert("not legal!", "order-1")
    dead = outbox.insert("order", "order-2", headers="[1]")
    good = outbox.insert("order", "order-3")
    _exits(relay.verb("wait", "--event", parked), 1,
           f"event {parked} is parked: walpost parked -c ")
    _exits(relay.verb("wait", "--event", dead), 1,
           f"event {dead} is a dead letter: walpost dead-letters -c ")
    _exits(relay.verb("wait", "--event", good), 0)


def test_a_gap_is_not_taken_for_sent(walpost, database, kafka, outbox, topics):
    """The slot that was made again is confirmed past what it never had."""
    relay = walpost(database, kafka, topics,
                    checkpoint={"store": "kafka",
                                "topic": topics + "checkpoint"}).run()
    outbox.insert("order", "order-0")
    _exits(relay.verb("wait", "--lsn", _lsn(database)), 0)
    assert relay.stop() == 0
    event = outbox.insert("order", "order-1")
    lsn = _lsn(database)
    database.wait_slot_inactive(relay.slot)
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    database.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')",
                     (relay.slot,))
    _exits(relay.verb("wait", "--lsn", lsn, "--timeout", "2s"), 3,
           "because of a gap .*walpost recover -c .* --dry-run")
    _exits(relay.verb("wait", "--event", event, "--timeout", "2s"), 3,
           "because of a gap")


@pytest.mark.parametrize("crash", [False, True])
def test_nobody_runs(walpost, database, kafka, outbox, topics, crash):
    relay = walpost(database, kafka, topics).run()
    relay.kill() if crash else relay.stop()
    event = outbox.insert("order", "order-1")
    _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
           "is not acknowledged yet")
    relay.run()
    _exits(relay.verb("wait", "--event", event), 0)


def test_polled_rows(walpost, database, kafka, topics):
    outbox = PolledOutbox(database)
    relay = walpost(database, kafka, topics,
                    **outbox.sections(max_attempts=1))
    outbox.insert(1)
    good, = database.execute("select id::text from outbox")[0]
    _exits(relay.verb("wait", "--event", good, "--timeout", "1s"), 1,
           f"event {good} is not sent yet")
    relay.run()
    _exits(relay.verb("wait", "--event", good), 0)
    outbox.insert(1, aggregate_type="not legal!")
    bad, = database.execute(
        "select id::text from outbox where aggregate_type = 'not legal!'")[0]
    _exits(relay.verb("wait", "--event", bad), 3,
           f"event {bad} was given up: its row in .* is marked as failed: ")
    _exits(relay.verb("wait", "--lsn", "0/1"), 2, "polled rows have no LSN")
