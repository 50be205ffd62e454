"""Topics that vanish, and a Kafka that is gone for long.

Records that were acknowledged before their topic was deleted are gone with it.
walpost notices that when the topic is there again, and holds; recover brings them
back. Nothing is confirmed that is not in Kafka.

WALPOST_OUTAGE_SECONDS is how long Kafka is away (12; 600 in the long form of
the suite).
"""

import os
import re
import time

import pytest

from harness import (MOST_MEMORY, FencedMetadata, Kafka, KafkaReader, Load,
                     judge, note, wait_until)
from harness.kafka_java import new_id
from harness.matrix import LONG, long_only
from harness.ports import free_port

_OUTAGE_S = int(os.environ.get("WALPOST_OUTAGE_SECONDS", "12"))
_MIB = 1 << 20
_FENCED = 6 if LONG else 3  # times


def _create_topics(broker, prefix):
    for type_ in ("order", "invoice", "shipment"):
        broker.create_topic(prefix + type_, 4)


def _committed(database, topic_type):
    """Ids of the events of a type, as of now."""
    return {row[0] for row in database.execute(
        "select id::text from truth where aggregate_type = %s",
        (topic_type,))}


def _in_kafka(broker, topic):
    return {record.id for record in KafkaReader(broker.bootstrap).read(topic)}


def _stays_stuck_until(relay, pattern, seconds):
    """What /readyz says then; another producer does not make it ready."""
    def matching():
        status, text = relay.get("/readyz")
        assert status == 503, text
        return text if re.search(pattern, text) else None

    return wait_until(matching, f"/readyz to say {pattern}", seconds)


def _recover(outbox, broker, relay):
    """Publishes what went with its topic, of the rows that are still there."""
    assert relay.stop() == 0
    recovered = relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    note(recovered.stdout.strip().splitlines()[-1])
    relay.run()
    outbox.insert("order", "later")
    outbox.database.wait_confirmed(relay.slot, seconds=120)
    records = KafkaReader(broker.bootstrap).read_all(outbox.topic_prefix)
    there = {record.id for record in records}
    rows = {row[0] for row in outbox.database.execute(
        "select id::text from outbox")}
    assert rows and not rows - there, f"{len(rows - there)} rows are missing"


@pytest.mark.long
def test_p1_p2_a_topic_is_deleted_and_made_again_by_the_broker(
        walpost, database, kafka, outbox, topics):
    topic = topics + "order"
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, 1, pause=0.01):
        wait_until(lambda: len(_in_kafka(kafka, topic)) > 100
                   if topic in KafkaReader(kafka.bootstrap).topics(topics)
                   else False, "records", pause=0.3)
        kafka.delete_topic(topic)
        # The broker may take some more before it drops the log.
        time.sleep(1)
        gone_before = _committed(database, "order")
        wait_until(lambda: _committed(database, "order") - gone_before,
                   "more events")
        # What was acknowledged is not in Kafka any more: that is held.
        relay.wait_unready(r"\[kafka_replaced\]", 60)
    _recover(outbox, kafka, relay)
    assert relay.stop() == 0


def test_p1_p2_p10_a_topic_is_deleted_and_made_again_by_hand(
        walpost, database, strict_kafka, outbox, topics):
    """With fewer partitions; meanwhile the other topics do not hide it."""
    topic = topics + "order"
    _create_topics(strict_kafka, topics)
    relay = walpost(database, strict_kafka, topics).run()
    with Load(outbox, 2, pause=0.02):
        wait_until(lambda: len(_in_kafka(strict_kafka, topic)) > 100,
                   "records", pause=0.3)
        strict_kafka.delete_topic(topic)
        begun = time.monotonic()
        time.sleep(1)
        # Stuck within ten seconds; why, when librdkafka gives up the topic or
        # its successor has waited for it as long.
        relay.wait_unready("stuck", 12)
        text = _stays_stuck_until(relay, f"{topic}.*create the topic", 30)
        note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.90}")
        stands = database.confirmed_lsn(relay.slot)
        time.sleep(1)
        assert database.confirmed_lsn(relay.slot) == stands
        strict_kafka.create_topic(topic, 2)
        begun = time.monotonic()
        relay.wait_unready(r"\[kafka_replaced\]", 60)
        note(f"noticed {time.monotonic() - begun:.1f} s after it was made")
    _recover(outbox, strict_kafka, relay)
    assert relay.stop() == 0


def test_p1_p2_p6_p10_kafka_is_gone_for_long(
        walpost, database, strict_kafka, outbox, topics):
    _create_topics(strict_kafka, topics)
    relay = walpost(database, strict_kafka, topics).run()
    with Load(outbox, 3, pause=0.02):
        wait_until(lambda: relay.metric("walpost_acknowledged_records_total"),
                   "records")
        strict_kafka.kill()
        begun = time.monotonic()
        relay.wait_unready("stuck", 12)
        note(f"noticed after {time.monotonic() - begun:.1f} s")
        stands = database.confirmed_lsn(relay.slot)
        while time.monotonic() - begun < _OUTAGE_S:
            assert relay.get("/readyz")[0] == 503
            assert database.confirmed_lsn(relay.slot) == stands
            time.sleep(0.5)
        peak = relay.peak_memory_bytes()
        note(f"{peak / _MIB:.1f} MiB at most in {_OUTAGE_S} s without Kafka")
        assert peak < MOST_MEMORY
        strict_kafka.start()
        begun = time.monotonic()
        relay.wait_ready(60)
        note(f"ready {time.monotonic() - begun:.1f} s after Kafka was back")
    judge(outbox, strict_kafka, relay, seconds=600)
    assert relay.stop() == 0


@pytest.mark.parametrize("client", ["has not noticed", "has noticed"])
@pytest.mark.long
def test_p10_a_topic_is_gone_while_nothing_goes_to_it(
        walpost, database, strict_kafka, outbox, topics, client):
    """Nothing is in flight that would tell."""
    topic = topics + "order"
    _create_topics(strict_kafka, topics)
    relay = walpost(database, strict_kafka, topics).run()
    outbox.insert("order", "o-1")
    outbox.insert("invoice", "i-1")
    database.wait_confirmed(relay.slot)
    strict_kafka.delete_topic(topic)
    if client == "has noticed":
        time.sleep(15)
    outbox.insert("order", "o-1")
    end = database.current_lsn()
    begun = time.monotonic()
    text = relay.wait_unready("stuck", 15)
    note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.100}")
    assert database.confirmed_lsn(relay.slot) < end
    strict_kafka.create_topic(topic, 2)
    relay.wait_unready(r"\[kafka_replaced\]", 60)
    _recover(outbox, strict_kafka, relay)
    assert relay.stop() == 0


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
def test_p1_the_only_broker_is_fenced(walpost, database, directory, outbox,
                                      topics, guarantee):
    """librdkafka drops all brokers that it knows, and then may know none."""
    way_port = free_port()
    cluster_id = new_id()
    broker = Kafka(directory / "fenced", advertised_port=way_port,
                   cluster_id=cluster_id).start()
    way = FencedMetadata(broker.behind_port, topics + "order", cluster_id,
                         port=way_port)
    try:
        relay = walpost(database, broker, topics, kafka={
            "brokers": f"127.0.0.1:{way.port}"},
            delivery={"guarantee": guarantee}).run()
        outbox.insert("order", "key")
        database.wait_confirmed(database.name)
        for _ in range(_FENCED):
            way.is_fenced = True
            before = way.answered
            wait_until(lambda before=before: way.answered > before,
                       "metadata without brokers", 20)
            way.is_fenced = False
            outbox.insert("order", "key")
            database.wait_confirmed(database.name, seconds=30)
        judge(outbox, broker, relay, at_least=1 + _FENCED)
    finally:
        way.close()
        broker.close()
