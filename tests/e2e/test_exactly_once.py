"""delivery.guarantee: exactly_once. Consumers that read committed records only,
as kcat does, see every event once, whatever dies.

WALPOST_CRASHES is how often walpost is killed (20; the long form of the suite
says 500), WALPOST_SEED replays a run that failed.
"""

import collections
import os
import re
import signal
import subprocess
import time

import pytest

from harness import KafkaReader, Load, Outbox, judge_once, wait_until
from harness.kafka_java import java

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "20"))
_TIMEOUT_S = 4  # wal_sender_timeout


def _once(topics, **delivery):
    return {"delivery": {"guarantee": "exactly_once", **delivery},
            "checkpoint": {"topic": f"checkpoints-{topics}"},
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
    said = subprocess.run(
        java("org.apache.kafka.tools.consumer.ConsoleConsumer",
             "--bootstrap-server", kafka.bootstrap, "--topic", topic,
             "--from-beginning", "--isolation-level", "read_committed",
             "--formatter-property", "print.headers=true",
             "--timeout-ms", "5000"),
        capture_output=True, text=True, timeout=60)
    return said.stdout.count("walpost-position:")


@pytest.mark.parametrize("boundary", ["event", "source"])
def test_p5_walpost_is_killed_at_random_points(walpost, database, kafka,
                                               outbox, topics, dice, boundary):
    sections = _once(topics, transaction_boundary=boundary)
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


def test_p5_it_is_told_to_stop_under_load(walpost, database, kafka, outbox,
                                          topics, dice):
    relay = walpost(database, kafka, topics, **_once(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(5):
            time.sleep(0.5 + dice.random())
            assert relay.stop() == 0
            relay.run()
        load.wait(100)
    judge_once(outbox, kafka, relay)


def test_p5_postgres_crashes(walpost, own_postgres, own_database, kafka,
                             topics, dice):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics, **_once(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(3):
            time.sleep(1 + dice.random())
            own_postgres.crash()
            own_postgres.start()
            relay.wait_ready(60)
        load.wait(100)
    judge_once(outbox, kafka, relay)


def test_p5_the_broker_is_killed(walpost, database, own_kafka, outbox, topics,
                                 dice):
    relay = walpost(database, own_kafka, topics, **_once(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(3):
            time.sleep(1 + dice.random())
            own_kafka.kill()
            time.sleep(dice.random())
            own_kafka.start()
            load.wait(100)
    judge_once(outbox, own_kafka, relay)
    assert relay.stop() == 0


def test_p5_brokers_are_killed_one_after_the_other(
        walpost, database, kafka_cluster, outbox, topics, dice):
    """So the coordinator of the transactions moves, too."""
    relay = walpost(database, kafka_cluster, topics, **_once(topics)).run(60)
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


def test_p5_a_suspended_instance_wakes_up_beside_its_successor(
        walpost, database, kafka, outbox, topics, dice):
    first = walpost(database, kafka, topics, **_once(topics)).run()
    second = walpost(database, kafka, topics, **_once(topics)).start()
    _wait_standby(second)
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(3):
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


def test_p5_an_instance_without_the_slot_fences_nobody(
        walpost, database, kafka, outbox, topics):
    first = walpost(database, kafka, topics, **_once(topics)).run()
    with Load(outbox, seed=5, pause=0.005) as load:
        for _ in range(3):
            second = walpost(database, kafka, topics, **_once(topics)).start()
            _wait_standby(second)
            second.kill()
        load.wait(100)
    assert first.metric("walpost_rewinds_total") == 0, first.log()
    judge_once(outbox, kafka, first)


# ---- Transactions of Postgres.

_WIDE = """
insert into outbox (aggregate_type, aggregate_id, type, payload, sequence)
select (array['order', 'invoice', 'shipment'])[1 + n % 3], 'key-' || {0} || n,
       'batch', to_jsonb({0}), {0}
from generate_series(1, {1}) n
"""


def _parts(kafka, topics):
    """Committed records by the transaction of Postgres that they belong to."""
    return collections.Counter(
        record.value for record in KafkaReader(kafka.bootstrap).read_all(topics))


def test_source_transactions_are_whole_whenever_walpost_is_killed(
        walpost, database, kafka, outbox, topics, dice):
    sections = _once(topics, transaction_boundary="source",
                     transaction_interval="5ms", max_in_flight_records=50)
    relay = walpost(database, kafka, topics, **sections).run()
    for number in range(8):
        for batch in range(5):
            database.execute(_WIDE.format(10 * number + batch, 400))
        time.sleep(0.1 * dice.random())
        relay.kill()
        parts = _parts(kafka, topics)
        assert set(parts.values()) <= {400}, parts
        relay.run(60)
    database.wait_confirmed(relay.slot)
    parts = _parts(kafka, topics)
    assert len(parts) == 40 and set(parts.values()) == {400}, parts


def test_a_source_transaction_beyond_a_limit_is_split(
        walpost, database, kafka, outbox, topics):
    sections = _once(topics, transaction_boundary="source",
                     max_transaction_records=1000)
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute(_WIDE.format(1, 5000))
    database.wait_confirmed(relay.slot)
    assert _parts(kafka, topics) == {b"1": 5000}
    assert relay.metric("walpost_split_transactions_total") >= 1
    assert "in several Kafka transactions" in relay.log()


def test_a_source_transaction_beyond_a_limit_stops_the_flow(
        walpost, database, kafka, outbox, topics):
    sections = _once(topics, transaction_boundary="source",
                     max_transaction_records=1000,
                     on_large_transaction="stop")
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute(_WIDE.format(1, 10))
    database.wait_confirmed(relay.slot)
    database.execute(_WIDE.format(2, 5000))
    end = database.current_lsn()
    relay.wait_unready("delivery.on_large_transaction")
    rewinds = relay.metric("walpost_rewinds_total")
    for _ in range(20):  # it stays so, and is not tried again and again
        time.sleep(0.1)
        code, text = relay.get("/readyz")
        assert code == 503 and "delivery.on_large_transaction" in text
    assert relay.metric("walpost_rewinds_total") == rewinds
    assert _parts(kafka, topics) == {b"1": 10}
    assert database.confirmed_lsn(relay.slot) < end
    relay.stop()
    relay.configure({**relay.config, "delivery": {
        **relay.config["delivery"], "on_large_transaction": "split"}})
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _parts(kafka, topics) == {b"1": 10, b"2": 5000}


# ---- Events that cannot be delivered.

def test_events_before_a_missing_topic_are_committed(
        walpost, database, strict_kafka, outbox, topics):
    strict_kafka.create_topic(topics + "order", 2)
    relay = walpost(database, strict_kafka, topics, **_once(topics)).run()
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
    sections = {**_once(topics), "dead_letter": {"topic": letters},
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
        if number % 15 == 11:
            relay.kill()
            relay.start()
    relay.wait_ready()
    database.wait_confirmed(relay.slot, seconds=60)
    reader = KafkaReader(kafka.bootstrap)
    ids = [record.id for record in reader.read_all(topics)]
    dead = [record.id for record in reader.read(letters)]
    assert len(ids) == len(set(ids)) == 60
    assert len(dead) == len(set(dead)) == 9


# ---- From one guarantee to the other.

def test_switching_there_and_back(walpost, database, kafka, outbox, topics,
                                  dice):
    topic = f"checkpoints-{topics}"
    least = {"guarantee": "at_least_once"}
    once = {"guarantee": "exactly_once", "transaction_timeout": "30s"}
    relay = walpost(database, kafka, topics, delivery=least,
                    checkpoint={"store": "kafka", "topic": topic}).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for delivery in (once, least, once):
            load.wait(50)
            assert relay.stop() == 0
            relay.configure({**relay.config, "delivery": delivery})
            relay.run()
        load.wait(50)
        relay.kill()  # what is open is neither seen nor sent again
        relay.configure({**relay.config, "delivery": least})
        relay.run(90)
        load.wait(50)
    # It hides what lies behind it until the brokers abort it.
    database.wait_confirmed(relay.slot)
    events = len(outbox.expected())
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) >= events,
               lambda: f"{events} records", 60, pause=1)
    judge_once(outbox, kafka, relay)
