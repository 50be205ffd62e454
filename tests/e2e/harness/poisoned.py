"""Poison rows while everything dies, an operator who decides about them, and a
judge of what is in Kafka then."""

import collections
import random
import secrets
import signal
import threading
import time

from harness.figures import note
from harness.kafka_reader import KafkaReader
from harness.waiting import wait_until

POISON_LIMIT = 5000  # bytes of a record that the topics accept
# Such a record is larger, however it is compressed.
WIDE = '"' + secrets.token_hex(5000) + '"'
_KEYS = 12


class Poisoned:
    """Writes events of a few keys, some of which cannot be delivered: headers
    that are no object, and payloads that the topic does not accept."""

    def __init__(self, outbox, seed, pause, types=("order",)):
        self._outbox = outbox
        self._types = types
        self._dice = random.Random(seed)
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.ids = collections.defaultdict(list)  # by type and key

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
                    aggregate = (self._dice.choice(self._types),
                                 f"k{self._dice.randrange(_KEYS)}")
                    columns = {}
                    draw = self._dice.random()
                    if draw < 0.01:
                        columns["headers"] = "[1]"
                    payload = WIDE if 0.01 <= draw < 0.015 else "1"
                    self.ids[aggregate].append(self._outbox.insert(
                        *aggregate, payload, cursor=cursor, **columns))
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


def settle(relay, database):
    """An operator decides until nothing waits."""
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


_HAS_SLOT = ("streaming", "catching up", "degraded", "stuck", "at risk")


def take_over(one, other, seconds):
    """Of two on a slot, suspends the one that has it until the other one has had
    it for so long. Then both run: returns that one first.

    The slot also changes hands by itself, whenever a stream begins again.
    """
    def says(relay, *states):
        return relay.get("/readyz")[1].startswith(states)

    def roles():
        for active, standby in ((one, other), (other, one)):
            if says(standby, "standby") and says(active, *_HAS_SLOT):
                return active, standby
        return None

    active, standby = wait_until(
        roles, lambda: f"a standby\n{one.log()}\n{other.log()}", 60)
    active.send(signal.SIGSTOP)
    wait_until(lambda: says(standby, *_HAS_SLOT),
               lambda: f"the take-over\n{standby.log()}", 60)
    time.sleep(seconds)
    active.send(signal.SIGCONT)
    time.sleep(1)  # what it does when it wakes up
    return standby, active


def judge(database, kafka, topics, written, strict=True, once=False):
    """Each key has each event that was not discarded, in its order; a re-send
    repeats a contiguous run, and with `once` there is none."""
    discarded = {row[0] for row in database.execute(
        "select o.id::text from outbox o join walpost_parked p on "
        "p.state = 'discarded' and position(decode(replace(o.id::text, '-', "
        "'-'), 'escape') in p.event) > 0")}
    found = collections.defaultdict(list)
    for type_ in {type_ for type_, _ in written.ids}:
        for record in KafkaReader(kafka.bootstrap).read(topics + type_):
            found[type_, record.key.decode()].append(record.id)
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
    assert not once or resends == 0, _repeats(found)


def _repeats(found):
    """What is there more than once, in the order of its key."""
    return {key: [(number, event) for number, event in enumerate(ids)
                  if ids.count(event) > 1]
            for key, ids in found.items() if len(set(ids)) < len(ids)}
