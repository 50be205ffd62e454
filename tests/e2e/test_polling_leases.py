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


@pytest.fixture
def stall(database, walpost, own_kafka, topics):
    """A walpost that holds 20 rows, Kafka frozen, after 50 that it published.

    stall(column, lease) returns the outbox, its sections, and the walpost.
    """
    def begin(column, lease):
        polled, sections = _leased(database, column)
        relay = walpost(database, own_kafka, topics,
                        **sections(lease=lease)).run()
        polled.insert(50)
        polled.wait_published()
        own_kafka.freeze()
        polled.insert(20)
        wait_until(lambda: polled.counts().get("processing") == 20,
                   lambda: f"rows to be held: {polled.counts()}\n"
                           f"{relay.log()}")
        return polled, sections, relay

    return begin


def _held_for_long(database, column):
    """How many rows another has, who has taken them for an hour."""
    return database.value(
        "select count(*) from outbox where status = 'processing' and "
        f"{column} > now() + interval '50 min'")


def _deliver(polled, kafka, topics, column, most_duplicates):
    """Frees all rows and Kafka, and looks at every record.

    What the frozen broker had in its socket buffer may come twice.
    """
    polled.database.execute(f"update outbox set status = 'pending', {column} "
                            "= null where status = 'processing'")
    kafka.thaw()
    _assert_all(polled, kafka, topics, most_duplicates)


def _assert_all(polled, kafka, topics, most_duplicates=0):
    polled.wait_published()
    assert_delivered(polled.expected(),
                     KafkaReader(kafka.bootstrap).read_all(topics),
                     most_duplicates)


@pytest.mark.parametrize("column", ["locked_until", "heartbeat_at"])
@pytest.mark.sample(2)
def test_a_statement_that_comes_too_late_leaves_anothers_rows_alone(
        stall, database, own_kafka, topics, column):
    polled, _, relay = stall(column, "4s")
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        with connection.cursor() as cursor:
            # Whichever row the statement comes to first, it waits there.
            cursor.execute("select id from outbox where status = 'processing' "
                           "order by id for update")
            first, *_ = cursor.fetchone()
            relay.wait_log("calling back")
            time.sleep(2)
            cursor.execute(
                f"update outbox set {column} = now() + interval '1 hour' "
                "where status = 'processing' and id <> %s", (first,))
        connection.commit()
    time.sleep(1)
    assert _held_for_long(database, column) == 19
    _deliver(polled, own_kafka, topics, column, most_duplicates=20)


@pytest.mark.parametrize("column", ["locked_until", "heartbeat_at"])
@pytest.mark.long
def test_records_whose_rows_another_has_are_called_back(
        stall, database, own_kafka, topics, column):
    """Whoever has them: it may be a renewal of ours whose answer was lost."""
    polled, _, relay = stall(column, "6s")
    database.execute(f"update outbox set {column} = {column} + interval "
                     "'1 hour' where status = 'processing' and id = (select "
                     "min(id::text)::uuid from outbox where status = "
                     "'processing')")
    relay.wait_log("calling back 20 records: the lease of some")
    wait_until(lambda: relay.metric("walpost_in_flight_records") < 20,
               lambda: f"nothing to be in flight\n{relay.log()}")
    time.sleep(2)  # the others are tried again, not that one
    assert relay.metric("walpost_in_flight_records") < 20
    assert _held_for_long(database, column) == 1
    _deliver(polled, own_kafka, topics, column, most_duplicates=40)


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
    # After a long freeze the producer is replaced, and its records come again.
    replaced = sum(relay.metric("walpost_rewinds_total") for relay in relays)
    _assert_all(polled, own_kafka, topics, most_duplicates=100 * replaced)
    assert all("calling back" not in relay.log() for relay in relays)


@pytest.mark.long
def test_rows_of_a_crashed_poller_come_back_after_its_last_heartbeat(
        stall, database, walpost, own_kafka, topics):
    polled, sections, first = stall("heartbeat_at", "3s")
    first.kill()
    killed = time.monotonic()
    own_kafka.thaw()
    walpost(database, own_kafka, topics, **sections(lease="3s")).run()
    polled.wait_published()
    # The last heartbeat was up to a third of the lease ago.
    assert time.monotonic() - killed > 1
    _assert_all(polled, own_kafka, topics, most_duplicates=20)
