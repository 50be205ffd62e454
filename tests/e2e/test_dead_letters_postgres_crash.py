"""Dead letters are stored in Postgres, retried and discarded while everything
dies: each event is in Kafka or has its row, and the others keep the order of
their key (P1, P2, P3), and with exactly_once nothing is sent twice (P5).

WALPOST_PARK_CRASHES is how often walpost is killed (20; the long form of the
suite says 500), WALPOST_SEED replays a run that failed.
"""

import collections
import os
import random
import threading
import time

import pytest

from harness import KafkaReader, note, wait_until
from harness.matrix import LONG, long_only
from harness.poisoned import POISON_LIMIT, WIDE, Poisoned, take_over

_CRASHES = int(os.environ.get("WALPOST_PARK_CRASHES", "20"))
_TIMEOUT_S = 4  # wal_sender_timeout


class _Operator:
    """Retries what is too large, also in vain, and discards the rest."""

    def __init__(self, relay, seed):
        self._relay = relay
        self._dice = random.Random(f"{seed}/operator")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._decide)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(90)

    def _decide(self):
        while not self._stop.is_set():
            time.sleep(self._dice.random())
            _decide(self._relay, "retry", "--out-of-order", "--class",
                    "record_too_large")
            if self._dice.random() < 0.3:
                _decide(self._relay, "discard", "--class",
                        "headers_unreadable")


def _decide(relay, *words):
    said = relay.verb("dead-letters", *words, "--why", "a test", seconds=80)
    assert said.returncode in (0, 1, 3), said.stderr
    return said


def _settle(relay, database, kafka, topics):
    """What is too large is sent at last."""
    database.wait_confirmed(relay.slot, seconds=120)  # each bad one has its row
    kafka.set_topic_config(topics + "order", "max.message.bytes", "1000000")

    def is_settled():
        _decide(relay, "retry", "--out-of-order", "--class",
                "record_too_large")
        return not database.value(
            "select count(*) from walpost_parked where state = "
            "'dead_letter_retry' or (state = 'dead_letter' and error_class = "
            "'record_too_large')")

    wait_until(is_settled, relay.log, 120, 0.3)


def _judge(database, kafka, topics, written, once):
    """What is in no row is in Kafka in its order, and what has one is there if
    it was retried. A row may be of an event that was in Kafka before, but not
    with `once`: then nothing is sent twice."""
    states = dict(database.execute(
        "select convert_from(id, 'UTF8'), state from walpost_parked"))
    unreadable, wide = ({row[0] for row in database.execute(
        f"select id::text from outbox where {condition}")} for condition in (
            "headers is not null",
            f"octet_length(payload::text) > {POISON_LIMIT}"))
    assert unreadable <= set(states) <= unreadable | wide, "a row too few or many"
    found, retried = collections.defaultdict(list), collections.Counter()
    for record in KafkaReader(kafka.bootstrap).read(topics + "order"):
        if "walpost-retried" in dict(record.headers):
            retried[record.id] += 1
        else:
            found[record.key.decode()].append(record.id)
    assert set(retried) == {event for event, state in states.items()
                            if state == "dead_letter_retried"}
    resends = retried.total() - len(retried)
    for (_, key), ids in written.ids.items():
        expected = [event for event in ids if event not in states]
        first = [event for event in dict.fromkeys(found[key])
                 if event not in states]
        assert first == expected, f"{key}: order, or something is lost"
        resends += len(found[key]) - len(first)
    note(f"{written.count} events, {len(states)} dead letters, {len(retried)} "
         f"retried, {resends} sent again")
    assert written.count > 200 and retried
    assert not once or resends == 0


@pytest.fixture
def sections(kafka, topics, guarantee):
    kafka.create_topic(topics + "order", 3, max_message_bytes=POISON_LIMIT)
    return {"delivery": {"guarantee": guarantee},
            "checkpoint": {"store": "kafka", "topic": topics + "c"},
            "on_error": {"headers_unreadable": "dead_letter",
                         "record_too_large": "dead_letter"},
            "dead_letter": {"store": "postgres"},
            "postgres": {"wal_sender_timeout": f"{_TIMEOUT_S}s"}}


def _has_letters(database):
    """walpost makes the table a moment after it streams."""
    return (database.execute("select to_regclass('walpost_parked')") != [(None,)]
            and database.execute("select 1 from walpost_parked"))


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
def test_p1_p2_p5_walpost_is_killed_while_letters_are_stored_and_retried(
        walpost, database, kafka, outbox, topics, dice, sections, guarantee):
    relay = walpost(database, kafka, topics, **sections).run()
    outbox.insert("order", "one to retry, in any case", WIDE)
    wait_until(lambda: _has_letters(database),
               relay.log)
    pause = 0.01 if _CRASHES <= 50 else 0.05
    with Poisoned(outbox, dice.seed_text, pause) as written, \
            _Operator(relay, dice.seed_text):
        for number in range(_CRASHES):
            limit = {2: 1_000_000, 4: POISON_LIMIT}.get(number % 5)
            if limit:  # for a while, what is retried can be delivered
                kafka.set_topic_config(topics + "order", "max.message.bytes",
                                       str(limit))
            time.sleep(dice.choice((0.05, 0.5, 2)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
    relay.wait_ready(60)
    _settle(relay, database, kafka, topics)
    _judge(database, kafka, topics, written,
           once=guarantee == "exactly_once")
    assert relay.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])
def test_p1_p2_p5_a_standby_takes_over_the_letters(
        walpost, database, kafka, outbox, topics, dice, sections, guarantee):
    """Also from one that is suspended in the middle of it, and wakes up."""
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections).start()
    outbox.insert("order", "one to retry, in any case", WIDE)
    wait_until(lambda: _has_letters(database),
               first.log)
    with Poisoned(outbox, dice.seed_text, 0.02) as written, \
            _Operator(second, dice.seed_text):
        for _ in range(3 if LONG else 2):
            time.sleep(1 + dice.random())
            first, second = take_over(first, second, 1 + dice.random())
        second.kill()
    first.wait_ready(60)
    _settle(first, database, kafka, topics)
    _judge(database, kafka, topics, written,
           once=guarantee == "exactly_once")
    assert first.stop() == 0
