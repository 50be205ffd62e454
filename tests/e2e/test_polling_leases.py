"""Whose rows are: leases that end, that are renewed, and by what column."""

import contextlib
import time

import pytest

from harness import KafkaReader
from harness.polled import STATE, PolledOutbox, assert_delivered
from harness.waiting import wait_until

def _leased(database, column):
    """The outbox, and a function that gives the sections which poll it."""
    polled = PolledOutbox(database)
    if column == "heartbeat_at":
        database.execute("alter table outbox add heartbeat_at timestamptz")

    def sections(**polling):
        sections = polled.sections(**polling)
        sections["outbox"]["tables"][0]["state"] = {
            **STATE, "locked_until": "", column: column}
        return sections

    return polled, sections


def _wait_held(polled, relay, count):
    wait_until(lambda: polled.counts().get("processing") == count,
               lambda: f"{count} rows to be held: {polled.counts()}\n"
                       f"{relay.log()}")


@pytest.mark.parametrize("column", ["locked_until", "heartbeat_at"])
def test_a_statement_that_comes_too_late_leaves_anothers_rows_alone(
        database, walpost, own_kafka, topics, column):
    polled, sections = _leased(database, column)
    relay = walpost(database, own_kafka, topics, **sections(lease="2s")).run()
    polled.insert(50)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(20)
    _wait_held(polled, relay, 20)
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        with connection.cursor() as cursor:
            # What would renew or release all rows waits for this one first.
            cursor.execute("select id from outbox where status = 'processing' "
                           "order by id limit 1 for update")
            first, = cursor.fetchone()
            relay.wait_log("calling back")
            time.sleep(2)
            database.execute(
                "set lock_timeout = '10s'; "
                f"update outbox set {column} = now() + interval '1 hour' "
                "where status = 'processing' and id <> %s", (first,))
    time.sleep(1)
    assert database.value(
        "select count(*) from outbox where status = 'processing' and "
        f"{column} > now() + interval '50 min'") == 19
    database.execute("update outbox set status = 'pending', "
                     f"{column} = null where status = 'processing'")
    own_kafka.thaw()
    polled.wait_published()
    # What the frozen broker had in its socket buffer may come twice.
    assert_delivered(polled.expected(),
                     KafkaReader(own_kafka.bootstrap).read_all(topics),
                     most_duplicates=20)


@pytest.mark.parametrize("column", ["locked_until", "heartbeat_at"])
def test_records_whose_rows_another_has_are_called_back(
        database, walpost, own_kafka, topics, column):
    """Whoever has them: it may be a renewal of ours whose answer was lost."""
    polled, sections = _leased(database, column)
    relay = walpost(database, own_kafka, topics, **sections(lease="6s")).run()
    polled.insert(50)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(20)
    _wait_held(polled, relay, 20)
    database.execute(f"update outbox set {column} = {column} + interval "
                     "'1 hour' where status = 'processing' and id = (select "
                     "min(id::text)::uuid from outbox where status = "
                     "'processing')")
    relay.wait_log("calling back 20 records: the lease of some")
    wait_until(lambda: relay.metric("walpost_in_flight_records") < 20,
               lambda: f"nothing to be in flight\n{relay.log()}")
    time.sleep(2)  # the others are tried again, not that one
    assert relay.metric("walpost_in_flight_records") < 20
    assert database.value("select count(*) from outbox where status = "
                          f"'processing' and {column} > now() + interval "
                          "'50 min'") == 1
    database.execute(f"update outbox set {column} = null, status = 'pending' "
                     "where status = 'processing'")
    own_kafka.thaw()
    polled.wait_published()
    # What the frozen broker had in its socket buffer may come twice.
    assert_delivered(polled.expected(),
                     KafkaReader(own_kafka.bootstrap).read_all(topics),
                     most_duplicates=40)


def test_heartbeats_keep_rows_while_kafka_stalls(
        database, walpost, own_kafka, topics):
    polled, sections = _leased(database, "heartbeat_at")
    relays = [walpost(database, own_kafka, topics,
                      **sections(lease="2s")).run() for _ in range(2)]
    polled.insert(100)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(100)

    def beats():
        return database.execute(
            "select id, heartbeat_at from outbox where status = 'processing' "
            "order by id")

    wait_until(lambda: len(beats()) >= 4, "rows to be held")
    time.sleep(1)
    before = dict(beats())
    time.sleep(5)  # more than two leases
    after = dict(beats())
    assert set(before) <= set(after)
    assert all(after[row] > before[row] for row in before)
    own_kafka.thaw()
    polled.wait_published()
    assert_delivered(polled.expected(),
                     KafkaReader(own_kafka.bootstrap).read_all(topics))
    assert all("calling back" not in relay.log() for relay in relays)


def test_rows_of_a_crashed_poller_come_back_after_its_last_heartbeat(
        database, walpost, own_kafka, topics):
    polled, sections = _leased(database, "heartbeat_at")
    first = walpost(database, own_kafka, topics, **sections(lease="3s")).run()
    polled.insert(50)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(20)
    _wait_held(polled, first, 20)
    first.kill()
    killed = time.monotonic()
    own_kafka.thaw()
    walpost(database, own_kafka, topics, **sections(lease="3s")).run()
    polled.wait_published()
    # The last heartbeat was up to a third of the lease ago.
    assert time.monotonic() - killed > 1
    assert_delivered(polled.expected(),
                     KafkaReader(own_kafka.bootstrap).read_all(topics),
                     most_duplicates=20)
