"""delivery.guarantee: exactly_once. Consumers that read committed records only,
as kcat does, see every event once, whatever dies.

WALPOST_CRASHES is how often walpost is killed (20; the long form of the suite
says 500), WALPOST_SEED replays a run that failed.
"""

import os
import time

from harness import Load, Outbox, judge

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "20"))

ONCE = {"guarantee": "exactly_once"}


def _judge_once(outbox, kafka, relay, **options):
    checker = judge(outbox, kafka, relay, **options)
    assert checker.duplicates == 0, checker.summary()
    return checker


def _sections(topics):
    return {"delivery": ONCE, "checkpoint": {"topic": f"checkpoints-{topics}"}}


def test_events_are_published_once(walpost, database, kafka, outbox, topics,
                                   dice):
    relay = walpost(database, kafka, topics, **_sections(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(200)
    _judge_once(outbox, kafka, relay)
    assert relay.stop() == 0


def test_p5_walpost_is_killed_at_random_points(walpost, database, kafka,
                                               outbox, topics, dice):
    relay = walpost(database, kafka, topics, **_sections(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(_CRASHES):
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        time.sleep(dice.random())
        relay.kill()
        relay.run(seconds=90)
        load.wait(100)
    _judge_once(outbox, kafka, relay)
    assert relay.stop() == 0
