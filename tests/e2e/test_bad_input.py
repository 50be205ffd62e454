"""What is refused changes nothing, and what is unreachable is waited for.

What the answers say is in mistakes.py."""

import pytest

from harness import Kafka, KafkaReader, Outbox

_POSTGRES_REFUSES = 3


def _refused(relay, code, *words):
    """It ends with `code`, and one line of its log holds all the words."""
    relay.start()
    assert relay.wait_exit(20) == code, relay.log()
    lines = relay.log().splitlines()
    assert any(all(word in line for word in words) for line in lines), (
        f"no line with {words} in\n{relay.log()}")
    return relay.log()


@pytest.mark.long
def test_slot_that_does_not_exist(walpost, database, kafka, outbox, topics):
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    log = _refused(walpost(database, kafka, topics,
                           postgres={"create": False}),
                   _POSTGRES_REFUSES, "slot", database.name)
    assert "init" in log or "create: true" in log
    assert database.confirmed_lsn(database.name) is None, "it made the slot"


@pytest.mark.long
def test_publication_that_does_not_exist(walpost, database, kafka, outbox,
                                         topics):
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    before = database.confirmed_lsn(database.name)
    _refused(walpost(database, kafka, topics,
                     postgres={"create": False, "publication": "not_there"}),
             _POSTGRES_REFUSES, "not_there", "CREATE PUBLICATION")
    assert database.confirmed_lsn(database.name) == before


def test_unreachable_broker_is_waited_for(walpost, directory, database, outbox,
                                          topics):
    broker = Kafka(directory / "late-kafka")  # made, but not started
    try:
        relay = walpost(database, broker, topics).start()
        relay.wait_log("streaming from slot")
        outbox.insert("order", "order-1")
        relay.wait_log(broker.bootstrap)
        relay.wait_unready("Kafka|broker")
        limit = database.current_lsn()
        broker.start()
        relay.wait_ready(60)
        database.wait_confirmed(database.name, limit)
        record, = KafkaReader(broker.bootstrap).read_all(topics)
        assert record.key == b"order-1"
    finally:
        broker.close()


@pytest.mark.long
def test_unreachable_postgres_is_waited_for(walpost, own_postgres,
                                            own_database, kafka, reader,
                                            topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics)
    own_postgres.stop()
    relay.start()
    relay.wait_log(str(own_postgres.port))
    relay.wait_unready()
    own_postgres.start()
    relay.wait_ready(60)
    outbox.insert("order", "order-1")
    own_database.wait_confirmed(own_database.name)
    assert [r.key for r in reader.read_all(topics)] == [b"order-1"]
