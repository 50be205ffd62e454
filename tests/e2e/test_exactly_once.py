"""delivery.guarantee: exactly_once. Consumers that read committed records only,
as kcat does, see every event once, whatever dies.

WALPOST_CRASHES is how often walpost is killed (5; the long form of the suite
says 500), WALPOST_SEED replays a run that failed.
"""

import os
import re
import signal
import time

import pytest

from harness import (Kafka, KafkaReader, Load, Outbox, judge_once,
                     wait_until)
from harness.exactly_once import once
from harness.kafka_java import run_tool
from harness.matrix import LONG, long_only

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "5"))
_ROUNDS = 3 if LONG else 1
_TIMEOUT_S = 4  # wal_sender_timeout


def _sections(topics, **delivery):
    return {**once(topics, **delivery),
            "postgres": {"wal_sender_timeout": f"{_TIMEOUT_S}s"}}


def _committed(relay):
    return relay.metric("walpost_kafka_transaction_records_total") or 0


def _is_standby(relay):
    return relay.get("/readyz")[1].startswith("standby")


def _wait_standby(relay):
    wait_until(lambda: _is_standby(relay),
               lambda: f"{relay.get('/readyz')}\n{relay.log()}", 60)


def _wait_streaming(relay):
    wait_until(
        lambda: re.match("streaming|catching", relay.get("/readyz")[1]),
        lambda: f"{relay.get('/readyz')}\n{relay.log()}", 60)


def _count_by_java(kafka, topic):
    """Records that Java's console consumer sees, which is not our library."""
    said = run_tool(
        kafka.bootstrap, "consumer.ConsoleConsumer", "--topic", topic,
        "--from-beginning", "--isolation-level", "read_committed",
        "--formatter-property", "print.headers=true", "--timeout-ms", "5000")
    return said.count("walpost-position:")


@pytest.mark.parametrize("boundary", ["event", *long_only("source")])
def test_p5_walpost_is_killed_at_random_points(walpost, database, kafka,
                                               outbox, topics, dice, boundary):
    sections = _sections(topics, transaction_boundary=boundary)
    relay = walpost(database, kafka, topics, **sections).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(_CRASHES):
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        time.sleep(dice.random())
        relay.kill()
        relay.run(seconds=90)
        load.wait(100)
    judge_once(outbox, kafka, relay)
    assert relay.stop() == 0
    reader = KafkaReader(kafka.bootstrap)
    topic = reader.topics(topics)[0]
    assert _count_by_java(kafka, topic) == len(reader.read(topic))


@pytest.mark.long
def test_p5_it_is_told_to_stop_under_load(walpost, database, kafka, outbox,
                                          topics, dice):
    relay = walpost(database, kafka, topics, **_sections(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(_ROUNDS):
            time.sleep(0.5 + dice.random())
            assert relay.stop() == 0
            relay.run()
        load.wait(100)
    judge_once(outbox, kafka, relay)


@pytest.mark.long
def test_p5_postgres_crashes(walpost, own_postgres, own_database, kafka,
                             topics, dice):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics, **_sections(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(_ROUNDS):
            time.sleep(1 + dice.random())
            own_postgres.crash()
            own_postgres.start()
            relay.wait_ready(60)
        load.wait(100)
    judge_once(outbox, kafka, relay)


def test_p5_the_broker_is_killed(walpost, database, own_kafka, outbox, topics,
                                 dice):
    relay = walpost(database, own_kafka, topics, **_sections(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(_ROUNDS):
            time.sleep(1 + dice.random())
            own_kafka.kill()
            time.sleep(dice.random())
            own_kafka.start()
            load.wait(100)
    judge_once(outbox, own_kafka, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p5_brokers_are_killed_one_after_the_other(
        walpost, database, kafka_cluster, outbox, topics, dice):
    """So the coordinator of the transactions moves, too."""
    relay = walpost(database, kafka_cluster, topics,
                    **_sections(topics)).run(60)
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for node in kafka_cluster.nodes:
            load.wait(50)
            node.kill()
            time.sleep(1 + 3 * dice.random())
            node.mend()
            kafka_cluster.wait_in_sync()
        load.wait(100)
    judge_once(outbox, kafka_cluster, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p5_a_suspended_instance_wakes_up_beside_its_successor(
        walpost, database, kafka, outbox, topics, dice):
    first = walpost(database, kafka, topics, **_sections(topics)).run()
    second = walpost(database, kafka, topics, **_sections(topics)).start()
    _wait_standby(second)
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(_ROUNDS):
            before = _committed(first)
            wait_until(lambda: _committed(first) > before + 50, "commits", 60)
            time.sleep(dice.random())
            first.send(signal.SIGSTOP)
            _wait_streaming(second)
            if dice.random() < 0.5:
                before = _committed(second)
                wait_until(lambda: _committed(second) > before, "commits", 60)
            first.send(signal.SIGCONT)
            _wait_standby(first)
            first, second = second, first
        load.wait(100)
    judge_once(outbox, kafka, first)


@pytest.mark.long
def test_p5_an_instance_without_the_slot_fences_nobody(
        walpost, database, kafka, outbox, topics):
    first = walpost(database, kafka, topics, **_sections(topics)).run()
    with Load(outbox, seed=5, pause=0.005) as load:
        for _ in range(_ROUNDS):
            second = walpost(database, kafka, topics,
                             **_sections(topics)).start()
            _wait_standby(second)
            second.kill()
        load.wait(100)
    assert first.metric("walpost_rewinds_total") == 0, first.log()
    judge_once(outbox, kafka, first)


_FORGETFUL = {
    "id": {"producer.id.expiration.ms": 2000,
           "producer.id.expiration.check.interval.ms": 500},
    "transactional-id": {
        "transactional.id.expiration.ms": 2000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 500},
}


@pytest.mark.parametrize("of", ["transactional-id", *long_only("id")])
@pytest.mark.long
def test_p5_the_brokers_forget_an_idle_producer(walpost, database, outbox,
                                                topics, directory, of):
    broker = Kafka(directory / "kafka", properties=_FORGETFUL[of]).start()
    reader = KafkaReader(broker.bootstrap)
    topic = topics + "order"
    try:
        broker.create_topic(topic, 1)
        relay = walpost(database, broker, topics, **_sections(topics)).run()
        events = []
        for _ in range(_ROUNDS + 1):
            events.append(outbox.insert("order", "key-1"))
            wait_until(lambda: [record.id for record in reader.read(topic)]
                       == events, lambda: f"the events once\n{relay.log()}")
            time.sleep(4)  # it has expired and is removed
        relay.wait_ready()
        assert relay.stop() == 0
        forgotten = "INVALID_PRODUCER_ID_MAPPING" in relay.log()
        assert forgotten == (of == "transactional-id")
        said = run_tool(broker.bootstrap, "TransactionsCommand",
                        "describe-producers", "--topic", topic, "--partition",
                        "0").splitlines()
        assert (len(said) == 1) == (of == "id"), said
    finally:
        broker.close()
