"""delivery.guarantee: exactly_once, where walpost dies or is suspended at a
chosen step of a transaction: before a request has reached the broker, or when
the broker has done what it says, and the answer is still on its way.

What was held arrives later, before or after its successor has gone on.
"""

import re
import signal
import time

import pytest

from harness import Load, judge_once, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, long_only
from harness.request_proxy import (ADD_PARTITIONS_TO_TXN, END_TXN, FETCH,
                                   FIND_COORDINATOR, INIT_PRODUCER_ID,
                                   LIST_OFFSETS, PRODUCE)

# A start asks in this order. LIST_OFFSETS and FETCH read the checkpoint.
_STEPS = {"list": LIST_OFFSETS, "fetch": FETCH, "find": FIND_COORDINATOR,
          "init": INIT_PRODUCER_ID, "add": ADD_PARTITIONS_TO_TXN,
          "produce": PRODUCE, "end": END_TXN}
_ROUNDS = 6 if LONG else 1


def _make(walpost, database, proxy, topics):
    return walpost(database, proxy, topics, **once(topics),
                   postgres={"wal_sender_timeout": "3s"})


def _hold(proxy, step, is_done, relay):
    """At this step of its start, or of its first transaction. Returns what is
    on its way."""
    proxy.await_unused()
    hold = proxy.delay_answer if is_done else proxy.delay
    held = hold(_STEPS[step])
    relay.start()
    wait_until(held.is_kept, relay.log, 60)
    return held


def _wait_commits(relay, count=1):
    def committed():
        return relay.metric("walpost_kafka_transaction_records_total") or 0

    before = committed()
    wait_until(lambda: committed() >= before + count,
               lambda: f"{relay.get('/readyz')}\n{relay.log()}", 60)


def _is_streaming(relay):
    return re.match("streaming|catching", relay.get("/readyz")[1])


def _wait_roles(one, other):
    """The one that streams, and the one that stands by."""
    def roles():
        for active, standby in ((one, other), (other, one)):
            if (_is_streaming(active)
                    and standby.get("/readyz")[1].startswith("standby")):
                return active, standby
        return None

    def wait_roles():
        return wait_until(
            roles, lambda: f"one to stand by\n{one.log()}\n{other.log()}", 60)

    wait_roles()
    time.sleep(1)  # a state is that of the last look, which may be from before
    return wait_roles()


@pytest.mark.parametrize("step", [
    "end", *long_only("list", "fetch", "init", "find", "produce", "add")])
def test_p5_walpost_is_killed_at_a_step(walpost, database, way, outbox, topics,
                                        dice, step):
    broker, proxy = way
    relay = _make(walpost, database, proxy, topics).run()
    with Load(outbox, dice.seed_text, pause=0.03) as load:
        load.wait(50)
        relay.kill()
        for is_done in (False, True) * _ROUNDS:
            held = _hold(proxy, step, is_done, relay)
            relay.kill()
            if dice.random() < 0.5:
                held.deliver()
            relay.run(60)
            _wait_commits(relay)
            held.deliver()
            _wait_commits(relay)
            relay.kill()
        relay.run(60)
        load.wait(50)
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0


@pytest.mark.parametrize("step", [
    "produce", *long_only("list", "fetch", "init", "find", "add", "end")])
@pytest.mark.long
def test_p5_walpost_is_suspended_at_a_step(walpost, database, way, outbox,
                                           topics, dice, step):
    """It wakes up beside its successor. A take-over that it has begun when it had
    the slot may fence that one: then it goes on, and the other one stands by."""
    broker, proxy = way
    one = _make(walpost, database, proxy, topics).run()
    other = _make(walpost, database, proxy, topics)
    places = [False, True]
    dice.shuffle(places)
    with Load(outbox, dice.seed_text, pause=0.03) as load:
        load.wait(50)
        for is_done in places * _ROUNDS if LONG else places[:1]:
            one.kill()
            held = _hold(proxy, step, is_done, one)
            one.send(signal.SIGSTOP)
            other.run(60)
            _wait_commits(other)
            held.deliver()
            time.sleep(0.5 * dice.random())
            one.send(signal.SIGCONT)
            active, standby = _wait_roles(one, other)
            assert active is other or step in ("find", "init")
            _wait_commits(active)
            active.kill()
            wait_until(lambda: _is_streaming(standby),
                       lambda: f"{standby.get('/readyz')}\n{standby.log()}", 60)
            _wait_commits(standby)
            one, other = standby, active
        load.wait(50)
    judge_once(outbox, broker, one)
    assert one.stop() == 0
