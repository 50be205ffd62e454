"""SIGTERM while rows are held, by each strategy."""

import time

import pytest

from harness import KafkaReader
from harness.polled import PolledOutbox, assert_delivered
from harness.waiting import wait_until


def _sections(polled, strategy):
    """`locks` is `claim` on a table without a lease."""
    table = {"name": polled.name, "order_by": "sequence"}
    if strategy in ("claim", "lease table"):
        return polled.sections()
    if strategy == "locks":
        table["state"] = {"status": "status"}
        strategy = "claim"
    polled.database.execute("create unique index on outbox (sequence)")
    if strategy == "cursor":
        polled.database.execute(
            "alter table outbox add transaction_id xid8 not null default "
            "pg_current_xact_id(); "
            "create index on outbox (transaction_id, sequence)")
        table["state"] = {"transaction_id": "transaction_id"}
    return {**polled.sections(strategy=strategy), "outbox": {"tables": [table]}}


@pytest.mark.long
def test_a_shutdown_settles_what_is_in_flight(
        walpost, database, kafka, topics, reader):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics, **polled.sections()).run()
    polled.insert(3000)
    time.sleep(0.1)
    assert relay.stop() == 0
    assert "processing" not in polled.counts()
    relay.run()
    polled.wait_published()
    assert_delivered(polled.expected(), reader.read_all(topics))


@pytest.mark.parametrize(
    "strategy", ["claim", "lease table", "locks", "delete", "cursor"])
@pytest.mark.sample(5)
def test_a_shutdown_while_kafka_stalls_ends_in_time_and_loses_nothing(
        database, walpost, own_kafka, topics, strategy):
    polled = PolledOutbox(
        database, "table" if strategy == "lease table" else "column")
    sections = _sections(polled, strategy)
    reader = KafkaReader(own_kafka.bootstrap)
    polled.insert(50)
    expected = polled.expected()
    relay = walpost(database, own_kafka, topics, **sections,
                    delivery={"shutdown_timeout": "3s"}).run()
    wait_until(lambda: len(reader.read_all(topics)) == 50,
               lambda: f"the first rows\n{relay.log()}")
    wait_until(lambda: relay.metric("walpost_in_flight_records") == 0,
               "them to be acknowledged")
    own_kafka.freeze()
    with database.transaction() as cursor:
        polled.insert(30, cursor=cursor)
        cursor.execute("select id::text, aggregate_type || '/' || "
                       "aggregate_id, sequence from outbox where sequence > "
                       "50 order by 3")
        expected += cursor.fetchall()
    wait_until(lambda: relay.metric("walpost_in_flight_records") == 30,
               lambda: f"the rows to be in flight\n{relay.log()}")
    begun = time.monotonic()
    assert relay.stop(30) == 0
    assert time.monotonic() - begun < 9
    # Nobody holds them: not a lease, not a transaction.
    assert polled.held() == 0
    assert database.value("select count(*) from (select from outbox where "
                          "sequence > 50 for update skip locked) free") == 30
    own_kafka.thaw()
    relay.run()
    wait_until(lambda: len({r.id for r in reader.read_all(topics)}) == 80,
               lambda: f"all rows\n{relay.log()}")
    # What the frozen broker had in its socket buffer may come twice.
    assert_delivered(expected, reader.read_all(topics), most_duplicates=30)
