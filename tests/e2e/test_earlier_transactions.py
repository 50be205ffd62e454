"""delivery.guarantee: exactly_once, and transactions that are open since before
walpost took over: of another program, or one of its own that the brokers have
lost track of. Its own commit must not end that one (P5)."""

import json
import re
import secrets
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from harness import (Kafka, KafkaReader, Load, RequestProxy, judge_once, note,
                     wait_until)
from harness.exactly_once import once
from harness.kafka_java import run_tool
from harness.open_transaction import OpenTransaction
from harness.ports import free_port
from harness.request_proxy import END_TXN

_TIMEOUT_S = 30  # the least that is allowed
_HASTY = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 50}
_LIMIT = 5000  # bytes of a record
_COMMAND = (r"kafka-transactions\.sh --bootstrap-server (\S+) (abort "
            r"--topic \S+ --partition \d+ --start-offset \d+)")


def _make(walpost, database, kafka, topics):
    return walpost(database, kafka, topics, **once(
        topics, transaction_timeout=f"{_TIMEOUT_S}s",
        transaction_interval="500ms", transaction_idle="500ms"))


def test_p10_a_transaction_of_another_program_is_waited_for(
        walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "order", 2)
    relay = _make(walpost, database, kafka, topics).run()
    outbox.insert("order", "key-1")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topics + "order", "key-1", "not ours")
    outbox.insert("order", "key-1")
    relay.start()
    text = relay.wait_unready("a transaction is open from offset")
    assert f"topic {topics}order, partition " in text
    other.abort()
    relay.wait_ready()
    database.wait_confirmed(relay.slot)
    judge_once(outbox, kafka, relay, at_least=2)


@pytest.mark.long
def test_p10_a_topic_that_is_made_again_has_no_open_transaction(
        walpost, database, kafka, outbox, topics):
    topic = topics + "order"
    kafka.create_topic(topic, 2)
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topic, "key-1", "not ours")
    relay = _make(walpost, database, kafka, topics).run()
    outbox.insert("order", "key-1")
    relay.wait_unready("a transaction is open from offset")
    kafka.delete_topic(topic)
    kafka.create_topic(topic, 2)
    relay.wait_ready()
    database.wait_confirmed(relay.slot)
    judge_once(outbox, kafka, relay, at_least=1)
    other.abort()


@pytest.fixture(name="hasty_kafka")
def _hasty_kafka(directory):
    """It aborts what is open for too long before its partitions have leaders
    again: Kafka 4.3 loses track of it there."""
    broker = Kafka(directory / "kafka", properties=_HASTY).start()
    yield broker
    broker.close()


@pytest.mark.long  # the next one has it, too, without the load
def test_p5_p10_the_brokers_lose_track_of_a_transaction(
        walpost, database, hasty_kafka, outbox, topics, dice):
    relay = _make(walpost, database, hasty_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.05) as load:
        load.wait(50)
        hasty_kafka.kill()
        time.sleep(_TIMEOUT_S + 5)
        hasty_kafka.start()
        aborted = _abort_what_it_names(relay, database)
        load.wait(50)
    note(f"{aborted} transactions aborted by hand")
    judge_once(outbox, hasty_kafka, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p5_the_checkpoint_of_a_lost_transaction_is_not_committed(
        walpost, database, directory, outbox, topics):
    """It would cover events that were aborted: the next start skipped them."""
    port = free_port()
    broker = Kafka(directory / "kafka", advertised_port=port,
                   properties=_HASTY).start()
    proxy = RequestProxy(broker.behind_port, port)
    try:
        for kind in ("order", "invoice"):
            broker.create_topic(topics + kind, 1)
        relay = _make(walpost, database, proxy, topics).run()
        for kind in ("order", "invoice"):
            outbox.insert(kind, "key-1")
        database.wait_confirmed(relay.slot)
        held = proxy.delay(END_TXN)
        for kind in ("order", "invoice", "order", "invoice"):
            outbox.insert(kind, "key-1")
        wait_until(held.is_kept, relay.log, 60)
        relay.kill()
        broker.kill()
        held.deliver()
        time.sleep(_TIMEOUT_S + 5)
        broker.start()
        checkpoints = f"checkpoints-{topics}"
        hanging = [topic for topic in (checkpoints, topics + "order",
                                       topics + "invoice")
                   if _hangs(broker, topic)]
        note(f"lost in {len(hanging)} of 3 topics")
        relay.start()
        if hanging:
            text = relay.wait_unready("a transaction is open from offset")
            # That of the checkpoints comes first. One is put right, and walpost
            # has time to commit.
            assert f"topic {checkpoints}, " in text or checkpoints not in hanging
            _abort(text)
            time.sleep(5)
            assert relay.stop() == 0
            relay.start()
        _abort_what_it_names(relay, database)
        outbox.insert("order", "key-1")
        judge_once(outbox, broker, relay, at_least=7)
        assert relay.stop() == 0
    finally:
        proxy.close()
        broker.close()


def _hangs(broker, topic):
    """Whether a transaction is open in partition 0."""
    ends = []
    for isolation in ("read_uncommitted", "read_committed"):
        consumer = Consumer({"bootstrap.servers": broker.bootstrap,
                             "group.id": "none", "isolation.level": isolation})
        ends.append(consumer.get_watermark_offsets(
            TopicPartition(topic, 0), timeout=30)[1])
        consumer.close()
    return ends[0] != ends[1]


def _abort_what_it_names(relay, database):
    """Does what /readyz says, until all so far is confirmed; how often."""
    aborted = set()
    end = database.current_lsn()

    def is_confirmed():
        text = relay.get("/readyz")[1]
        command = re.search(_COMMAND, text)
        if command and command[0] not in aborted:
            aborted.add(command[0])
            _abort(text)
        return database.confirmed_lsn(relay.slot) >= end

    wait_until(is_confirmed, lambda: f"{relay.get('/readyz')}\n{relay.log()}", 180)
    return len(aborted)

def _abort(text):
    """Runs the command that the text has."""
    brokers, words = re.search(_COMMAND, text).groups()
    run_tool(brokers, "TransactionsCommand", *words.split())


# ---- Senders beside the stream.


@pytest.fixture(name="too_wide")
def _too_wide(database, kafka, outbox, topics):
    """Inserts an event that its topic takes only after `kafka` was told so."""
    topic = topics + "narrow"
    kafka.create_topic(topic, 1, max_message_bytes=_LIMIT)

    def insert(relay):
        event = outbox.insert("narrow", "key-1",
                              json.dumps(secrets.token_hex(_LIMIT)))
        database.wait_confirmed(relay.slot)
        kafka.set_topic_config(topic, "max.message.bytes", 4 * _LIMIT)
        return event

    return insert


@pytest.mark.long
def test_p5_a_dead_letter_is_not_retried_meanwhile(
        walpost, database, kafka, topics, too_wide):
    relay = walpost(database, kafka, topics,
                    on_error={"record_too_large": "dead_letter"},
                    dead_letter={"topic": topics + "dead"}).run()
    event = too_wide(relay)
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topics + "narrow", "key-1", "not ours")
    words = ("dead-letters", "retry", "--out-of-order", "--why", "it is wider",
             "--by", "alice", "--id", event)
    said = relay.verb(*words)
    assert said.returncode == 1
    assert re.search(_COMMAND, said.stdout), said
    other.abort()
    said = relay.verb(*words)
    assert said.returncode == 0 and "1 retried" in said.stdout, said.stderr
    _wait_seen(kafka, topics, [event])


@pytest.mark.long
def test_p5_a_parked_event_is_not_released_meanwhile(
        walpost, database, kafka, outbox, topics, too_wide):
    relay = walpost(database, kafka, topics, **once(topics),
                    on_error={"record_too_large": "park"}).run()
    events = [too_wide(relay), outbox.insert("narrow", "key-1")]
    database.wait_confirmed(relay.slot)
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topics + "narrow", "key-1", "not ours")
    words = ("parked", "release", "--all", "--why", "it is wider", "--by",
             "alice")
    # Other topics wait for a while, and no longer.
    said = relay.verb(*words)
    assert said.returncode == 1 and "0 sent, 1 dead again" in said.stdout, said
    assert re.search(_COMMAND, said.stdout), said
    assert re.search(f"parked events are not sent: .*{_COMMAND}", relay.log())
    other.abort()
    said = relay.verb(*words)
    assert said.returncode == 0, said
    _wait_seen(kafka, topics, events)


def _wait_seen(kafka, topics, ids):
    wait_until(lambda: [record.id for record in
                        KafkaReader(kafka.bootstrap).read(topics + "narrow")]
               == ids, f"{ids} to be visible")
