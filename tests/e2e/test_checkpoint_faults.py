"""What can befall a store of the checkpoint (P9): each is named, and mended as
the message says."""

import re
import signal
import subprocess
import time

import pytest

from harness import (STORES, Kafka, KafkaReader, Load, Store, judge,
                     wait_until)
from harness.brokers import create_topic
from harness.matrix import long_only, values
from harness.stored import with_other_system


@pytest.fixture(params=STORES)
def store(request, directory, database, kafka, topics):
    return Store(request.param, directory, database, kafka, topics)


@pytest.fixture
def topic_store(directory, database, kafka, topics):
    return Store("kafka", directory, database, kafka, topics, interval="20ms")


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics, store):
    """Has published one event, and was ended in order."""
    made = walpost(database, kafka, topics, checkpoint=store.section)
    _publish_one(made, database, outbox, "order-1")
    return made


def _publish_one(relay, database, outbox, key):
    """In a run of its own."""
    relay.run()
    outbox.insert("order", key)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0


def _keys(kafka, topics):
    """Sorted: they are of several partitions."""
    return sorted(record.key.decode()
                  for record in KafkaReader(kafka.bootstrap).read_all(topics))


@pytest.mark.parametrize("store", ["file", "postgres"], indirect=True)
@pytest.mark.long
def test_p9_a_stale_checkpoint(relay, database, outbox, store):
    before = store.read()
    stale = store.raw()
    _publish_one(relay, database, outbox, "order-2")
    assert store.read().position > before.position
    store.put(stale)
    relay.start()
    relay.wait_unready(re.escape("[slot_advanced]"))


@pytest.mark.parametrize("store", ["kafka"], indirect=True)
def test_p9_a_late_record_of_a_frozen_instance(
        relay, database, kafka, outbox, topics, store):
    """Kafka does not compare: the last record may be an older one."""
    before = store.read()
    stale = store.raw()
    _publish_one(relay, database, outbox, "order-2")
    newest = store.read()
    assert newest.position > before.position
    store.put(stale)
    relay.run()
    outbox.insert("order", "order-3")
    database.wait_confirmed(database.name)
    assert _keys(kafka, topics) == ["order-1", "order-2", "order-3"]
    assert relay.stop() == 0
    assert store.read().position > newest.position


@pytest.mark.parametrize("store", ["kafka"], indirect=True)
@pytest.mark.long
def test_p9_a_late_record_is_covered_by_the_one_who_has_the_slot(
        relay, database, outbox, store):
    """For compaction would keep the last one alone."""
    newest = store.read()
    stale = store.raw()
    relay.run()
    outbox.insert("order", "order-2")
    database.wait_confirmed(database.name)
    wait_until(lambda: store.read().position > newest.position, "its record")
    newest = store.read()
    store.put(stale)
    assert store.read().position < newest.position
    wait_until(lambda: store.read().position >= newest.position,
               "its record to be repeated", seconds=120)


@pytest.mark.long
def test_p9_a_checkpoint_of_another_cluster(relay, database, store):
    store.put(with_other_system(store))
    confirmed = database.confirmed_lsn(database.name)
    relay.start()
    relay.wait_unready(re.escape("[other_cluster]"))
    assert database.confirmed_lsn(database.name) == confirmed


def _tear(store):
    if store.kind == "postgres":  # rows do not tear
        return (*store.raw()[:6], -1, *store.raw()[7:])
    return store.raw()[:-7]


def _corrupt(store):
    if store.kind == "postgres":
        return (*store.raw()[:7], -1, *store.raw()[8:])
    raw = bytearray(store.raw())
    raw[20] ^= 1
    return bytes(raw)


_DAMAGES = {"torn": _tear, "corrupted": _corrupt}


@pytest.mark.parametrize("store, damage", [
    pytest.param(case["store"], _DAMAGES[case["damage"]], id=str(case))
    for case in values(store=STORES, damage=list(_DAMAGES))],
    indirect=["store"])
@pytest.mark.long
def test_p9_an_unreadable_checkpoint_and_what_mends_it(
        relay, database, kafka, outbox, topics, store, damage):
    store.put(damage(store))
    outbox.insert("order", "order-2")
    confirmed = database.confirmed_lsn(database.name)
    relay.start()
    reason = relay.wait_unready(re.escape("[checkpoint_unreadable]"))
    assert database.confirmed_lsn(database.name) == confirmed
    if store.kind == "file":
        assert "mv " in reason
        store.path.rename(store.path.with_suffix(".broken"))
    elif store.kind == "postgres":
        assert "delete the row" in reason
        database.execute("delete from walpost_checkpoint")
    else:
        command = re.search(r"echo .*-Z", reason)[0]
        subprocess.run(command, shell=True, check=True)
    relay.wait_ready()
    database.wait_confirmed(database.name)
    assert _keys(kafka, topics) == ["order-1", "order-2"]
    assert relay.stop() == 0
    assert store.read().position[0] > confirmed


def test_p1_the_topic_is_deleted_while_it_runs_and_while_it_does_not(
        walpost, database, kafka, outbox, topics, topic_store):
    relay = walpost(database, kafka, topics,
                    checkpoint=topic_store.section).run()
    with Load(outbox, "deleted", pause=0.01) as load:
        relay.wait_acknowledged(100)
        kafka.delete_topic(topic_store.topic)
        relay.wait_log("was deleted: made again", seconds=60)
        relay.wait_ready(60)
        relay.wait_acknowledged(100)
        relay.kill()
        kafka.delete_topic(topic_store.topic)
        relay.start()
        relay.wait_log(f"checkpoint topic {topic_store.topic} made")
        relay.wait_ready(60)
        load.wait(100)
    judge(outbox, kafka, relay)
    wait_until(topic_store.read, "a checkpoint")
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p5_the_topic_is_compacted(walpost, database, directory, topics,
                                      outbox):
    broker = Kafka(directory / "kafka", properties={
        "log.cleaner.backoff.ms": 200}).start()
    try:
        store = Store("kafka", directory, database, broker, topics,
                      interval="10ms")
        create_topic(broker.bootstrap, store.topic, 1,
                     cleanup_policy="compact", segment_ms=200,
                     min_cleanable_dirty_ratio=0.01, delete_retention_ms=100)
        store.put_record("another_slot", b"whatever")
        relay = walpost(database, broker, topics,
                        checkpoint=store.section).run()
        reader = KafkaReader(broker.bootstrap)

        def compacted():
            outbox.insert("order", "key")
            return len(reader.read(store.topic)) < reader.size(
                store.topic) - 20

        wait_until(compacted, "the topic to be compacted", seconds=90)
        database.wait_confirmed(database.name)
        assert relay.stop() == 0
        stored = store.read()
        assert stored is not None
        assert b"another_slot" in {r.key for r in reader.read(store.topic)}
        relay.run()
        outbox.insert("order", "key")
        checker = judge(outbox, broker, relay, at_least=20)
        assert checker.duplicates == 0
        assert store.read().position > stored.position
        relay.close()
    finally:
        broker.close()


@pytest.mark.parametrize("store", ["kafka", *long_only("postgres")],
                         indirect=True)
def test_p2_p9_two_that_write(walpost, database, kafka, outbox, topics, store):
    """The first freezes, the second takes over, the first comes back."""
    sections = {"checkpoint": store.section,
                "postgres": {"wal_sender_timeout": "4s"}}
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections).start()
    second.wait_ready()
    seen = []

    def look():
        stored = store.read()
        seen.append((stored.confirmed, stored.position))

    with Load(outbox, "two", pause=0.01):
        first.wait_acknowledged(100)
        look()
        first.send(signal.SIGSTOP)
        wait_until(lambda: re.match("streaming|catching",
                                    second.get("/readyz")[1]),
                   "the second to stream", seconds=30)
        second.wait_acknowledged(100)
        look()
        first.send(signal.SIGCONT)
        for _ in range(10):
            time.sleep(0.2)
            look()
        wait_until(lambda: first.get("/readyz")[1].startswith("standby"),
                   "the first to stand by", seconds=30)
        look()
    assert seen == sorted(seen), "it went back"
    judge(outbox, kafka, second, takeover=True)
    assert second.stop() == 0
    outbox.insert("order", "last")
    judge(outbox, kafka, first, takeover=True)
