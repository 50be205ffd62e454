"""Nothing is lost, whatever dies, whenever it dies.

WALPOST_CRASHES is how often walpost is killed (10; the long form of the suite
says 500), WALPOST_SEED replays a run that failed.
"""

import os
import time

import pytest

from harness import Load, Outbox, judge, judge_once, wait_until
from harness.exactly_once import once

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "10"))
# So that a long run ends with as many events as can be judged.
_PAUSE_S = 0.005 if _CRASHES <= 50 else 0.05

_PARTITIONS = 1000
_ROWS = 40_000
_MOST_IN_FLIGHT = 4 * _PARTITIONS
_KILLS = 2


def test_p1_p3_p5_walpost_is_killed_at_random_points(
        walpost, database, kafka, outbox, topics, dice):
    relay = walpost(database, kafka, topics).run()  # makes the slot
    with Load(outbox, dice.seed_text, pause=_PAUSE_S) as load:
        for _ in range(_CRASHES):
            # From amid its start to amid its stream.
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        time.sleep(dice.random())
        relay.kill()
        relay.run(seconds=90)
        load.wait(100)
    judge(outbox, kafka, relay)
    assert relay.stop() == 0


def test_p1_p3_walpost_is_killed_amid_a_large_transaction(
        walpost, database, kafka, outbox, topics, dice):
    # A small window makes it take its time.
    relay = walpost(database, kafka, topics,
                    delivery={"max_in_flight_records": 200}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 100, to_jsonb(n), n "
        "from generate_series(1, 60000) n")
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
    judge(outbox, kafka, relay)


def test_p1_p2_p3_postgres_crashes(walpost, own_postgres, own_database, kafka,
                                   topics, dice):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(2):
            time.sleep(1 + dice.random())
            own_postgres.crash()
            own_postgres.start()
            relay.wait_ready(60)
        load.wait(100)
    judge(outbox, kafka, relay)


def test_p1_p2_p3_broker_is_killed(walpost, database, own_kafka, outbox,
                                   topics, dice):
    relay = walpost(database, own_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(2):
            time.sleep(1 + dice.random())
            own_kafka.kill()
            time.sleep(dice.random())
            own_kafka.start()
            load.wait(100)
    judge(outbox, own_kafka, relay)
    assert relay.stop() == 0


def test_p1_p3_everything_dies(walpost, own_postgres, own_database, own_kafka,
                               topics, dice):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, own_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        relay.wait_acknowledged(100)
        own_kafka.kill()
        time.sleep(0.5)
        relay.kill()
        own_postgres.crash()
        relay.start()
        time.sleep(0.5)
        own_postgres.start()
        own_kafka.start()
        load.wait(200)
    judge(outbox, own_kafka, relay)


@pytest.mark.long
@pytest.mark.parametrize("is_once", [False, True])
def test_p1_p3_p5_p6_killed_with_many_partitions(
        walpost, database, own_kafka, outbox, topics, dice, is_once):
    """More records are in flight then."""
    own_kafka.create_topic(topics + "order", _PARTITIONS)
    relay = walpost(database, own_kafka, topics,
                    **(once(topics) if is_once else {})).run()

    def acknowledged():
        return relay.metric("walpost_acknowledged_records_total") or 0

    for kill in range(_KILLS):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "sequence) select 'order', 'key-' || n % 3000, to_jsonb(n), n "
            f"from generate_series({kill * _ROWS + 1}, {(kill + 1) * _ROWS}) n")
        wait_until(lambda: relay.metric("walpost_max_in_flight_records")
                   == _MOST_IN_FLIGHT, "room for more records", pause=0.05)
        amid = acknowledged() + dice.randrange(_ROWS // 8)
        wait_until(lambda: acknowledged() >= amid, "a point amid the rows",
                   pause=0.01)
        relay.kill()
        relay.run(seconds=90)
    checker = (judge_once if is_once else judge)(outbox, own_kafka, relay)
    # What the brokers have of the records behind the oldest in flight.
    assert checker.duplicates <= _KILLS * 4 * 4096
    assert relay.stop() == 0
