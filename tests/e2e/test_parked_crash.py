"""Keys are parked and released while everything dies: nothing is lost, and each
key keeps its order (P1, P3), and with exactly_once nothing is sent twice (P5).

WALPOST_PARK_CRASHES is how often walpost is killed (20; the long form of the
suite says 500), WALPOST_SEED replays a run that failed.
"""

import os
import time

import pytest

from harness.matrix import LONG, long_only
from harness.poisoned import (POISON_LIMIT, Operator, Poisoned, judge, settle,
                              take_over)

_CRASHES = int(os.environ.get("WALPOST_PARK_CRASHES", "20"))
_TIMEOUT_S = 4  # wal_sender_timeout


def _settle(relay, database, kafka, topics):
    kafka.set_topic_config(topics + "order", "max.message.bytes", "1000000")
    settle(relay, database)


@pytest.fixture
def sections():
    return {"on_error": {"headers_unreadable": "park",
                         "record_too_large": "park"},
            "postgres": {"wal_sender_timeout": f"{_TIMEOUT_S}s"}}


@pytest.fixture
def order_topic(kafka, topics):
    kafka.create_topic(topics + "order", 3, max_message_bytes=POISON_LIMIT)


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
def test_p1_p3_p5_walpost_is_killed_while_keys_are_parked_and_released(
        walpost, database, kafka, outbox, topics, dice, sections, order_topic,
        guarantee):
    relay = walpost(database, kafka, topics, **sections,
                    delivery={"guarantee": guarantee},
                    checkpoint={"store": "kafka", "topic": topics + "c"}).run()
    pause = 0.01 if _CRASHES <= 50 else 0.05
    with Poisoned(outbox, dice.seed_text, pause) as written, \
            Operator(relay, dice.seed_text):
        for number in range(_CRASHES):
            if number % 5 == 2:  # what is released now can be delivered
                limit = str(dice.choice((POISON_LIMIT, 1_000_000)))
                kafka.set_topic_config(topics + "order", "max.message.bytes",
                                       limit)
            time.sleep(dice.choice((0.05, 0.5, 2)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
    relay.wait_ready(60)
    _settle(relay, database, kafka, topics)
    judge(database, kafka, topics, written, once=guarantee == "exactly_once")
    assert relay.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_p1_p3_p5_a_standby_takes_over_parked_keys(
        walpost, database, kafka, outbox, topics, dice, sections, order_topic,
        guarantee):
    """Also from one that is suspended in the middle of it, and wakes up."""
    sections = {**sections, "delivery": {"guarantee": guarantee},
                "checkpoint": {"store": "kafka", "topic": topics + "c"}}
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections).start()
    with Poisoned(outbox, dice.seed_text, 0.02) as written, \
            Operator(second, dice.seed_text):
        for _ in range(3 if LONG else 2):
            time.sleep(1 + dice.random())
            first, second = take_over(first, second, 1 + dice.random())
        second.kill()
    first.wait_ready(60)
    _settle(first, database, kafka, topics)
    judge(database, kafka, topics, written, strict=False,
          once=guarantee == "exactly_once")
    assert first.stop() == 0
