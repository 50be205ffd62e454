"""Nothing is lost, whatever dies, whenever it dies.

WALPOST_CRASHES is how often walpost is killed (10; the long form of the suite
says 200), WALPOST_SEED replays a run that failed.
"""

import os
import random
import secrets
import time

import pytest

from harness import Checker, KafkaReader, Load, Outbox, wait_until

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "10"))


@pytest.fixture
def dice(capsys):
    seed = os.environ.get("WALPOST_SEED") or secrets.token_hex(4)
    with capsys.disabled():
        print(f"\nWALPOST_SEED={seed}", flush=True)
    random_numbers = random.Random(seed)
    random_numbers.seed_text = seed
    return random_numbers


def _judge(outbox, broker, topics, capsys):
    outbox.database.wait_confirmed(outbox.database.name, seconds=180)
    records = KafkaReader(broker.bootstrap).read_all(topics)
    checker = Checker(outbox.expected(), records)
    with capsys.disabled():
        print(checker.summary(), flush=True)
    checker.assert_clean()
    assert len(outbox.expected()) > 100
    return checker


def test_p1_p3_p5_walpost_is_killed_at_random_points(
        walpost, database, kafka, outbox, topics, dice, capsys):
    relay = walpost(database, kafka, topics).run()  # makes the slot
    with Load(outbox, dice.seed_text, pause=0.005):
        for _ in range(_CRASHES):
            # From amid its start to amid its stream.
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        time.sleep(dice.random())
        relay.kill()
        relay.run(seconds=90)
        time.sleep(1)
    _judge(outbox, kafka, topics, capsys)
    assert relay.stop() == 0


def test_p1_p3_walpost_is_killed_amid_a_large_transaction(
        walpost, database, kafka, outbox, topics, dice, capsys):
    # A small window makes it take its time.
    relay = walpost(database, kafka, topics,
                    delivery={"max_in_flight_records": 200}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 100, to_jsonb(n), n "
        "from generate_series(1, 200000) n")
    end = database.current_lsn()
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total"),
               "the first records", pause=0.01)
    relay.kill()
    assert database.confirmed_lsn(database.name) < end, "it came too late"
    for _ in range(3):
        relay.start()
        time.sleep(0.5 * dice.random())
        relay.kill()
    relay.run(seconds=90)
    _judge(outbox, kafka, topics, capsys)


def test_p1_p2_p3_postgres_crashes(walpost, own_postgres, own_database, kafka,
                                   topics, dice, capsys):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.005):
        for _ in range(3):
            time.sleep(1 + dice.random())
            own_postgres.crash()
            own_postgres.start()
            relay.wait_ready(60)
        time.sleep(1)
    _judge(outbox, kafka, topics, capsys)


def test_p1_p2_p3_broker_is_killed(walpost, database, own_kafka, outbox,
                                   topics, dice, capsys):
    relay = walpost(database, own_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.005):
        for _ in range(2):
            time.sleep(1 + dice.random())
            own_kafka.kill()
            time.sleep(dice.random())
            own_kafka.start()
            time.sleep(1)
    _judge(outbox, own_kafka, topics, capsys)
    assert relay.stop() == 0


def test_p1_p3_everything_dies(walpost, own_postgres, own_database, own_kafka,
                               topics, dice, capsys):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, own_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.005):
        time.sleep(2)
        own_kafka.kill()
        time.sleep(0.5)
        relay.kill()
        own_postgres.crash()
        relay.start()
        time.sleep(0.5)
        own_postgres.start()
        own_kafka.start()
        time.sleep(2)
    _judge(outbox, own_kafka, topics, capsys)
