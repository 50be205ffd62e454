"""One committed row: to Kafka, and only then out of the slot."""

import re
import time

import pytest

from harness import Checker, KafkaReader, Outbox


def test_committed_row_reaches_kafka(walpost, database, kafka, reader, topics):
    outbox = Outbox(database, "outbox.event.")
    walpost(database, kafka, topics, route=None).run()
    kind = topics + "order"  # only this test's topic: the template is usual
    with database.transaction() as cursor:
        event = outbox.insert(kind, "order-1", '{"total": 12.30,  "n": "é"}',
                              cursor)
        before_commit = database.lsn_before_commit(cursor)
    after_commit = database.current_lsn()
    database.wait_confirmed(database.name, after_commit)

    record, = reader.read("outbox.event." + kind)
    assert record.key == b"order-1"
    assert record.value == '{"n": "é", "total": 12.30}'.encode()
    assert [name for name, _ in record.headers] == ["id", "walpost-position"]
    assert record.id == event
    assert re.fullmatch("[0-9A-F]{8}-[0-9A-F]{16}-[0-9A-F]{16}",
                        record.position)
    timeline, commit, ordinal = (int(part, 16)
                                 for part in record.position.split("-"))
    assert timeline == database.value(
        "select timeline_id from pg_control_checkpoint()")
    assert before_commit <= commit < after_commit
    assert ordinal == 1
    assert record.timestamp == database.value(
        "select floor(extract(epoch from pg_xact_commit_timestamp(xmin)) "
        "* 1000)::bigint from outbox")


def test_p2_lsn_is_confirmed_only_after_the_acknowledgement(
        walpost, database, own_kafka, topics):
    outbox = Outbox(database, topics)
    walpost(database, own_kafka, topics).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)

    own_kafka.freeze()
    outbox.insert("order", "order-1")
    database.execute("create table noise as select generate_series(1, 1000)")
    goal = database.current_lsn()
    seen = [database.confirmed_lsn(database.name)]
    until = time.monotonic() + 3
    while time.monotonic() < until:
        seen.append(database.confirmed_lsn(database.name))
        time.sleep(0.02)
    own_kafka.thaw()
    database.wait_confirmed(database.name, goal)

    records = KafkaReader(own_kafka.bootstrap).read(topics + "order")
    Checker(outbox.expected(), records).assert_clean()
    commit_of_second = int(records[-1].position.split("-")[1], 16)
    assert max(seen) <= commit_of_second < goal
    assert seen == sorted(seen), "the confirmed LSN went back"


@pytest.mark.long
def test_p4_rolled_back_rows_never_appear(walpost, database, kafka, outbox,
                                          reader, topics):
    walpost(database, kafka, topics).run()
    try:
        with database.transaction() as cursor:
            outbox.insert("order", "order-1", cursor=cursor)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    with database.transaction() as cursor:
        outbox.insert("order", "order-2", cursor=cursor)
        cursor.execute("savepoint before")
        outbox.insert("order", "order-3", cursor=cursor)
        cursor.execute("rollback to savepoint before")
        outbox.insert("order", "order-4", cursor=cursor)
    database.wait_confirmed(database.name)

    records = reader.read_all(topics)
    assert sorted(record.key for record in records) == [b"order-2", b"order-4"]
    Checker(outbox.expected(), records).assert_clean()


@pytest.mark.long
def test_clean_restart_publishes_nothing_twice(walpost, database, kafka,
                                               outbox, reader, topics):
    relay = walpost(database, kafka, topics).run()
    for number in range(20):
        outbox.insert("order", f"order-{number}")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    for number in range(10):
        outbox.insert("order", f"order-{number}")
    relay.run()
    database.wait_confirmed(database.name)
    assert relay.stop() == 0

    checker = Checker(outbox.expected(), reader.read_all(topics))
    checker.assert_clean()
    assert checker.duplicates == 0
    assert len(reader.read_all(topics)) == 30


def test_p7_idle_outbox_lets_go_of_wal_written_elsewhere(
        walpost, database, kafka, outbox, reader, topics):
    walpost(database, kafka, topics).run()
    database.execute("create table noise (n int)")
    for _ in range(3):
        database.execute("insert into noise select generate_series(1, 50000)")
        database.wait_confirmed(database.name)
    assert reader.topics(topics) == []
    assert outbox.expected() == []
