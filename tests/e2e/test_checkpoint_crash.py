"""walpost is killed at random points, with each store (P1, P3, P5).

WALPOST_STORE_CRASHES is how often for each store (7; the long form of the suite
says 200), WALPOST_SEED replays a run that failed.
"""

import os
import time

import pytest

from harness import KafkaReader, Load, Store, judge, note
from harness.matrix import long_only

_CRASHES = int(os.environ.get("WALPOST_STORE_CRASHES", "7"))
# So that a long run ends with as many events as can be judged.
_PAUSE_S = 0.01 if _CRASHES <= 50 else 0.05


@pytest.fixture(params=["kafka", *long_only("file", "postgres")])
def store(request, directory, database, kafka, topics):
    return Store(request.param, directory, database, kafka, topics)


def _position(record):
    _, commit_lsn, ordinal = record.position.split("-")
    return int(commit_lsn, 16), int(ordinal, 16)


def test_p1_p3_p5_killed_at_random_points(walpost, database, kafka, outbox,
                                          topics, store, dice):
    reader = KafkaReader(kafka.bootstrap)
    relay = walpost(database, kafka, topics, checkpoint=store.section).run()
    crashes = []  # what was stored, and where the topics ended
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        for _ in range(_CRASHES):
            # From amid its start to amid its stream.
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            crashes.append((store.read(), {
                topic: reader.ends(topic) for topic in reader.topics(topics)}))
            relay.start()
        relay.wait_ready(90)
        time.sleep(1)
    checker = judge(outbox, kafka, relay)
    note(f"{store.kind}: {checker.duplicates} duplicates, {_CRASHES} crashes")
    records = reader.read_all(topics)
    for stored, ends in crashes:
        if stored is None:
            continue
        for record in records:
            if record.offset < ends.get(record.topic, {}).get(
                    record.partition, 0):
                continue
            assert _position(record) > stored.position, (record, stored)
            assert _position(record)[0] >= stored.confirmed, (record, stored)
    assert any(stored and stored.position[0] for stored, _ in crashes)
    assert relay.stop() == 0
