"""Topics are isolated and drained while everything dies, beside keys that are
parked: nothing is lost, and each key keeps its order (P1, P3).

WALPOST_PARK_CRASHES is how often walpost is killed (8; the long form of the
suite says 500), WALPOST_SEED replays a run that failed.
"""

import os
import time

import pytest

from harness import wait_until
from harness.matrix import long_only
from harness.poisoned import (POISON_LIMIT, Operator, Poisoned, judge, settle,
                              take_over)

_KILLS_A_ROUND = 8
_ROUNDS = int(os.environ.get("WALPOST_PARK_CRASHES", "8")) // _KILLS_A_ROUND
_TYPES = ("order", "frail")
_TIMEOUT_S = 4  # wal_sender_timeout


@pytest.fixture
def kafka(guarded, topics):
    """Has the topics, and lets walpost write to them."""
    for resource in (("--topic", topics), ("--transactional-id", "walpost-")):
        guarded.grant("--allow-principal", "User:walpost", "--operation", "All",
                      *resource, "--resource-pattern-type", "prefixed")
    for name in _TYPES:
        guarded.create_topic(topics + name, 3, max_message_bytes=POISON_LIMIT)
    yield guarded
    guarded.revoke(topics)


@pytest.fixture
def make(walpost, database, kafka, topics):
    def made(guarantee="at_least_once"):
        return walpost(
            database, kafka, topics, kafka=kafka.login(),
            parking={"isolate_after": "10s"},
            delivery={"guarantee": guarantee},
            checkpoint={"store": "kafka", "topic": topics + "c"},
            on_error={"headers_unreadable": "park", "record_too_large": "park"},
            postgres={"wal_sender_timeout": f"{_TIMEOUT_S}s"})
    return made


def _wait_isolated(count, *relays):
    """Any of them has so many."""
    wait_until(lambda: count in [relay.metric("walpost_isolated_topics")
                                 for relay in relays],
               lambda: f"{count} isolated topics\n{relays[0].log()}", 120)


def _end(relay, database, kafka, topics, written, **options):
    for name in _TYPES:
        kafka.set_topic_config(topics + name, "max.message.bytes", "1000000")
    relay.wait_ready(60)
    settle(relay, database)
    _wait_isolated(0, relay)
    judge(database, kafka, topics, written, **options)
    assert relay.stop() == 0


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
def test_p1_p3_p5_walpost_is_killed_while_a_topic_is_isolated_and_drained(
        make, database, kafka, outbox, topics, dice, guarantee):
    relay = make(guarantee).run()
    pause = 0.02 if _ROUNDS <= 4 else 0.1

    def kill():
        for _ in range(_KILLS_A_ROUND // 2):
            time.sleep(dice.choice((0.05, 0.5, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()

    with Poisoned(outbox, dice.seed_text, pause, _TYPES) as written, \
            Operator(relay, dice.seed_text):
        for _ in range(_ROUNDS):
            kafka.deny(topics + "frail")
            _wait_isolated(1, relay)
            kill()
            kafka.allow(topics + "frail")
            kill()
    _end(relay, database, kafka, topics, written,
         once=guarantee == "exactly_once")


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_p1_p3_p5_a_standby_takes_over_an_isolated_topic(
        make, database, kafka, outbox, topics, dice, guarantee):
    """Also from one that is suspended in the middle of it, and wakes up."""
    first = make(guarantee).run()
    second = make(guarantee).start()
    with Poisoned(outbox, dice.seed_text, 0.02, _TYPES) as written, \
            Operator(first, dice.seed_text):
        kafka.deny(topics + "frail")
        _wait_isolated(1, first, second)
        for number in range(3):
            if number == 1:
                kafka.allow(topics + "frail")
            first, second = take_over(first, second, 1 + dice.random())
        second.kill()
    _end(first, database, kafka, topics, written, strict=False,
         once=guarantee == "exactly_once")
