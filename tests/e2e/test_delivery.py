"""What committed transactions become, whatever they are made of."""

import io
import time

import pytest

from harness import Checker, KafkaReader, Load

_MIB = 1024 * 1024
# Where the window is full of wide rows: 16 MiB, and copies of what is sent.
_MOST_MEMORY = 80 * _MIB


def _judge(outbox, reader, topics):
    """Waits until all is confirmed; returns the records, found in order."""
    outbox.database.wait_confirmed(outbox.database.name, seconds=120)
    records = reader.read_all(topics)
    checker = Checker(outbox.expected(), records)
    checker.assert_clean()
    assert checker.duplicates == 0
    return records


def _in_order(records):
    return sorted(records, key=lambda record: record.position)


def test_p1_p3_p4_concurrent_writers(walpost, database, kafka, outbox, reader,
                                     topics):
    walpost(database, kafka, topics).run()
    with Load(outbox, seed=20, writers=4) as load:
        load.wait(5000)
    assert min(load.committed) > 0
    records = _judge(outbox, reader, topics)
    assert len({record.topic for record in records}) == 3


@pytest.mark.long
def test_copy_and_multi_row_inserts_count_their_rows(
        walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        lines = "".join(f"order\tkey-{n % 7}\t{n}\t{n}\n" for n in range(500))
        cursor.copy_expert("copy outbox (aggregate_type, aggregate_id, "
                           "payload, sequence) from stdin", io.StringIO(lines))
        cursor.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "sequence) select 'order', 'key-' || n % 7, to_jsonb(n), n "
            "from generate_series(500, 999) n")
    records = _in_order(_judge(outbox, reader, topics))
    assert [int(record.value) for record in records] == list(range(1000))
    timeline, commit, _ = records[0].position.split("-")
    assert [record.position for record in records] == [
        f"{timeline}-{commit}-{ordinal:016X}" for ordinal in range(1, 1001)]


def test_p3_order_is_that_of_commits_not_of_inserts(
        walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    with database.transaction() as slow:
        outbox.insert("order", "order-1", '"inserted first"', slow)
        with database.transaction() as quick:
            outbox.insert("order", "order-1", '"committed first"', quick)
        outbox.insert("order", "order-1", '"committed last"', slow)
    records = _judge(outbox, reader, topics)
    assert [record.value for record in records] == [
        b'"committed first"', b'"inserted first"', b'"committed last"']


@pytest.mark.long
def test_p4_savepoints(walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        outbox.insert("order", "a", cursor=cursor)
        cursor.execute("savepoint outer_one")
        outbox.insert("order", "b", cursor=cursor)
        cursor.execute("savepoint inner_one")
        outbox.insert("order", "gone", cursor=cursor)
        cursor.execute("rollback to savepoint inner_one")
        outbox.insert("order", "c", cursor=cursor)
        cursor.execute("release savepoint outer_one")
        cursor.execute("savepoint last_one")
        outbox.insert("order", "gone too", cursor=cursor)
        cursor.execute("rollback to savepoint last_one")
    records = _judge(outbox, reader, topics)
    assert [record.key for record in _in_order(records)] == [b"a", b"b", b"c"]


@pytest.mark.long
def test_row_deleted_by_its_own_transaction_is_published(
        walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        outbox.insert("order", "order-1", '"kept nowhere"', cursor)
        cursor.execute("delete from outbox")
    assert database.value("select count(*) from outbox") == 0
    record, = _judge(outbox, reader, topics)
    assert record.value == b'"kept nowhere"'


def test_updates_deletes_and_truncates_are_no_events(
        walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    database.execute("update outbox set payload = '2', aggregate_id = 'x'")
    database.execute("delete from outbox")
    outbox.insert("order", "order-2")
    database.execute("truncate outbox")
    records = _judge(outbox, reader, topics)
    assert [record.key for record in _in_order(records)] == [b"order-1",
                                                             b"order-2"]


def test_p6_memory_does_not_grow_with_the_transaction(
        walpost, database, kafka, outbox, reader, topics):
    relay = walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        cursor.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "sequence) select 'order', 'key-' || n % 1000, "
            "jsonb_build_object('n', n, 'pad', repeat('x', 1280)), n "
            "from generate_series(1, 100000) n")
    records = _judge(outbox, reader, topics)
    assert len(records) == 100000
    assert sum(len(record.value) for record in records) > 120 * _MIB
    assert relay.peak_memory_bytes() < _MOST_MEMORY


def test_p6_memory_does_not_grow_while_kafka_is_away(
        walpost, database, own_kafka, outbox, topics):
    relay = walpost(database, own_kafka, topics).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    own_kafka.freeze()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 10, to_jsonb(repeat('x', 4000)), n "
        "from generate_series(1, 30000) n")
    time.sleep(2)  # it reads no further
    assert relay.peak_memory_bytes() < _MOST_MEMORY
    own_kafka.thaw()
    _judge(outbox, KafkaReader(own_kafka.bootstrap), topics)
    assert relay.peak_memory_bytes() < _MOST_MEMORY
