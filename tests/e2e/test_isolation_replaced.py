"""A topic that was isolated is deleted and created again: the events that its
drain had delivered are missing, and walpost says so (P9)."""

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import long_only

def _guarantees(usual, other):
    """The other one is tried in a long run."""
    return pytest.mark.parametrize("guarantee", [usual, *long_only(other)])


_ENOUGH = 40_000  # events: the drain takes longer than a topic's deletion


@pytest.fixture
def kafka(strict_kafka, topics):
    """Has the topic `order`, and makes none by itself."""
    strict_kafka.create_topic(topics + "order", 1)
    return strict_kafka


@pytest.fixture
def make(walpost, database, kafka, outbox, topics):
    """make(guarantee, events): a walpost whose topic `gone` is isolated."""
    assert outbox  # the table

    def started(guarantee, events):
        relay = walpost(
            database, kafka, topics, parking={"isolate_after": "10s"},
            delivery={"guarantee": guarantee},
            checkpoint={"store": "kafka", "topic": f"checkpoints-{topics}"})
        relay.run()
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload) select "
            f"'gone', 'k', to_jsonb(n) from generate_series(1, {events}) n")
        _wait_isolated(relay, 1)
        database.wait_confirmed(database.name)
        return relay
    return started


def _wait_isolated(relay, count):
    wait_until(lambda: relay.metric("walpost_isolated_topics") == count,
               lambda: f"{count} isolated topics\n{relay.log()}", 60)


def _replace(kafka, topic):
    kafka.delete_topic(topic)
    wait_until(lambda: topic not in KafkaReader(kafka.bootstrap).topics(topic),
               "the topic to be gone")
    kafka.create_topic(topic, 1)


def _drain(relay, kafka, topic):
    kafka.create_topic(topic, 1)
    _wait_isolated(relay, 0)
    assert "it has all of its events" in relay.log()


@_guarantees("exactly_once", "at_least_once")
def test_p9_a_topic_that_was_drained_is_replaced(
        make, kafka, outbox, topics, guarantee):
    relay = make(guarantee, 10)
    _drain(relay, kafka, topics + "gone")
    _replace(kafka, topics + "gone")
    outbox.insert("gone", "k", "11")
    relay.wait_unready(r"\[kafka_replaced\]", 45)
    assert relay.stop() == 0
    relay.start()
    relay.wait_unready(r"\[kafka_replaced\]")


@_guarantees("at_least_once", "exactly_once")
@pytest.mark.long
def test_p9_a_topic_that_was_drained_is_replaced_before_a_restart(
        make, kafka, outbox, topics, guarantee):
    relay = make(guarantee, 10)
    _drain(relay, kafka, topics + "gone")

    def is_stored():
        outbox.insert("order", "k", "0")
        written = KafkaReader(kafka.bootstrap).read(f"checkpoints-{topics}")
        return any(topics + "gone=" in str(record.value) for record in written)

    wait_until(is_stored, lambda: f"the topic's id\n{relay.log()}", 20, pause=1)
    assert relay.stop() == 0
    _replace(kafka, topics + "gone")
    relay.start()
    relay.wait_unready(r"\[kafka_replaced\]")


@_guarantees("exactly_once", "at_least_once")
@pytest.mark.long
def test_p9_a_topic_is_replaced_while_it_is_drained(
        make, database, kafka, topics, guarantee):
    relay = make(guarantee, _ENOUGH)

    def waiting():
        return database.value(
            "select count(*) from walpost_parked where state = 'waiting'")

    kafka.create_topic(topics + "gone", 1)
    wait_until(lambda: waiting() < 0.9 * _ENOUGH, relay.log, 60, pause=0.01)
    _replace(kafka, topics + "gone")
    relay.wait_unready(r"\[kafka_replaced\]", 60)
    assert waiting() > 0, "it was replaced too late"
    assert "it has all of its events" not in relay.log()
