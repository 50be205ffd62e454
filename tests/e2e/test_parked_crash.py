"""Keys are parked and released while everything dies: nothing is lost, and each
key keeps its order (P1, P3).

WALPOST_PARK_CRASHES is how often walpost is killed (20; the long form of the
suite says 500), WALPOST_SEED replays a run that failed.
"""

import collections
import os
import random
import secrets
import signal
import threading
import time

import pytest

from harness import KafkaReader, note, wait_until

_CRASHES = int(os.environ.get("WALPOST_PARK_CRASHES", "20"))
_LIMIT = 5000
_WIDE = '"' + secrets.token_hex(5000) + '"'
_KEYS = 12
_TIMEOUT_S = 4  # wal_sender_timeout


class Poisoned:
    """Writes events of a few keys, some of which cannot be delivered: headers
    that are no object, and payloads that the topic does not accept."""

    def __init__(self, outbox, seed, pause):
        self._outbox = outbox
        self._dice = random.Random(seed)
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.ids = collections.defaultdict(list)  # by key

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        self._thread.join(60)

    @property
    def count(self):
        return sum(map(len, self.ids.values()))

    def _write(self):
        while not self._stop.is_set():
            with self._outbox.database.transaction() as cursor:
                for _ in range(self._dice.randint(1, 4)):
                    key = f"k{self._dice.randrange(_KEYS)}"
                    columns = {}
                    draw = self._dice.random()
                    if draw < 0.01:
                        columns["headers"] = "[1]"
                    payload = _WIDE if 0.01 <= draw < 0.015 else "1"
                    self.ids[key].append(self._outbox.insert(
                        "order", key, payload, cursor=cursor, **columns))
            time.sleep(self._pause)


class Operator:
    """Decides about dead events, all the time."""

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
        self._thread.join(60)

    def _decide(self):
        while not self._stop.is_set():
            time.sleep(self._dice.random())
            decide(self._relay, "release", "--class", "record_too_large")
            if self._dice.random() < 0.5:
                decide(self._relay, "discard", "--class", "headers_unreadable")


def decide(relay, *words):
    said = relay.verb("parked", *words, "--why", "a test")
    assert said.returncode in (0, 1, 3), said.stderr


def settle(relay, database, kafka, topics):
    """The causes are fixed, until nothing waits."""
    kafka.set_topic_config(topics + "order", "max.message.bytes", "1000000")
    database.wait_confirmed(relay.slot, seconds=120)

    def is_settled():
        decide(relay, "release", "--class", "record_too_large", "--all")
        decide(relay, "discard", "--class", "headers_unreadable", "--all")
        return not database.value(
            "select count(*) from walpost_parked where state in "
            "('dead', 'waiting', 'retry')")

    wait_until(is_settled, lambda: f"nothing parked\n{relay.log()}", 120, 0.3)
    wait_until(lambda: relay.metric("walpost_parked_keys") == 0,
               lambda: f"no parked key\n{relay.log()}")
    database.wait_confirmed(relay.slot, seconds=120)


def judge(database, kafka, topics, written, strict=True):
    """Each key has each event that was not discarded, in its order; a re-send
    repeats a contiguous run."""
    discarded = {row[0] for row in database.execute(
        "select o.id::text from outbox o join walpost_parked p on "
        "p.state = 'discarded' and position(decode(replace(o.id::text, '-', "
        "'-'), 'escape') in p.event) > 0")}
    found = collections.defaultdict(list)
    for record in KafkaReader(kafka.bootstrap).read(topics + "order"):
        found[record.key.decode()].append(record.id)
    resends = 0
    for key, ids in written.ids.items():
        expected = [event for event in ids if event not in discarded]
        first = list(dict.fromkeys(found[key]))
        assert first == expected, f"{key}: order, or something is lost"
        resends += len(found[key]) - len(first)
        place = {event: number for number, event in enumerate(expected)}
        for before, after in zip(found[key], found[key][1:]):
            assert not strict or place[after] <= place[before] + 1, key
    note(f"{written.count} events, {len(discarded)} discarded, "
         f"{resends} sent again")
    assert written.count > 200 and discarded


@pytest.fixture
def sections():
    return {"on_error": {"headers_unreadable": "park",
                         "record_too_large": "park"},
            "postgres": {"wal_sender_timeout": f"{_TIMEOUT_S}s"}}


@pytest.fixture
def order_topic(kafka, topics):
    kafka.create_topic(topics + "order", 3, max_message_bytes=_LIMIT)


def test_p1_p3_walpost_is_killed_while_keys_are_parked_and_released(
        walpost, database, kafka, outbox, topics, dice, sections, order_topic):
    relay = walpost(database, kafka, topics, **sections).run()
    pause = 0.01 if _CRASHES <= 50 else 0.05
    with Poisoned(outbox, dice.seed_text, pause) as written, \
            Operator(relay, dice.seed_text):
        for number in range(_CRASHES):
            if number % 5 == 2:  # what is released now can be delivered
                limit = str(dice.choice((_LIMIT, 1_000_000)))
                kafka.set_topic_config(topics + "order", "max.message.bytes",
                                       limit)
            time.sleep(dice.choice((0.05, 0.5, 2)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
    relay.wait_ready(60)
    settle(relay, database, kafka, topics)
    judge(database, kafka, topics, written)
    assert relay.stop() == 0


def test_p1_p3_a_standby_takes_over_parked_keys(
        walpost, database, kafka, outbox, topics, dice, sections, order_topic):
    """Also from one that is suspended in the middle of it, and wakes up."""
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections).start()
    with Poisoned(outbox, dice.seed_text, 0.02) as written, \
            Operator(second, dice.seed_text):
        for _ in range(3):
            time.sleep(1 + dice.random())
            first.send(signal.SIGSTOP)
            wait_until(lambda: not second.get("/readyz")[1].startswith(
                "standby"), "the take-over", 30)
            time.sleep(1 + dice.random())
            first.send(signal.SIGCONT)
            time.sleep(1)
            first, second = second, first
        second.kill()
    first.wait_ready(60)
    settle(first, database, kafka, topics)
    judge(database, kafka, topics, written, strict=False)
    assert first.stop() == 0
