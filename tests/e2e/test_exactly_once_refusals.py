"""delivery.guarantee: exactly_once, and events that Kafka does not take."""

import pytest

from harness import KafkaReader, judge_once, wait_until
from harness.exactly_once import once
from harness.matrix import LONG


@pytest.mark.long
def test_events_before_a_missing_topic_are_committed(
        walpost, database, strict_kafka, outbox, topics):
    strict_kafka.create_topic(topics + "order", 2)
    relay = walpost(database, strict_kafka, topics, **once(topics)).run()
    for number in range(20):
        outbox.insert("order", f"key-{number}")
    outbox.insert("invoice", "late")
    outbox.insert("order", "behind")
    reader = KafkaReader(strict_kafka.bootstrap)
    wait_until(lambda: len(reader.read(topics + "order")) == 20,
               lambda: relay.log(), 60)
    relay.wait_unready(topics + "invoice", 60)
    strict_kafka.create_topic(topics + "invoice", 2)
    database.wait_confirmed(relay.slot, seconds=60)
    judge_once(outbox, strict_kafka, relay, at_least=22)


def test_p8_dead_letters_are_in_the_transactions(
        walpost, database, kafka, outbox, topics, dice):
    letters = f"letters-{topics}"
    kafka.create_topic(topics + "small", 2, max_message_bytes=1000)
    sections = {**once(topics), "dead_letter": {"topic": letters},
                "on_error": {"record_too_large": "dead_letter",
                             "topic_illegal": "dead_letter"}}
    relay = walpost(database, kafka, topics, **sections).run()
    for number in range(60):
        outbox.insert("order", f"key-{number % 7}", sequence=number)
        if number % 10 == 3:
            outbox.insert("not a topic", f"key-{number % 7}")
        if number % 20 == 7:
            outbox.insert("small", f"key-{number % 7}",
                          payload='"' + "x" * 5000 + '"')
        if number % (15 if LONG else 30) == 11:
            relay.kill()
            relay.start()
    relay.wait_ready()
    database.wait_confirmed(relay.slot, seconds=60)
    reader = KafkaReader(kafka.bootstrap)
    ids = [record.id for record in reader.read_all(topics)]
    dead = [record.id for record in reader.read(letters)]
    assert len(ids) == len(set(ids)) == 60
    assert len(dead) == len(set(dead)) == 9
