"""delivery.guarantee: exactly_once, on a network that delivers a request late.

Its client has lost the connection, has asked again, and has gone on. The
brokers tell neither the request nor the transactions of a producer apart.
"""

import secrets
import time

import pytest

from harness import KafkaReader, Load, judge, judge_once, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, long_only
from harness.poisoned import POISON_LIMIT
from harness.request_proxy import (ADD_PARTITIONS_TO_TXN, END_TXN,
                                   INIT_PRODUCER_ID, PRODUCE)


@pytest.mark.parametrize("late", [END_TXN, *long_only(
    ADD_PARTITIONS_TO_TXN, PRODUCE)])
def test_p5_a_request_comes_late_into_the_next_transaction(
        walpost, database, way, outbox, topics, dice, late):
    broker, proxy = way
    relay = walpost(database, proxy, topics, **once(
        topics, transaction_interval="1s", transaction_idle="1s")).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(4 if LONG else 2):
            load.wait(50)
            held = proxy.hold(late)
            ended = proxy.passed(END_TXN)
            wait_until(lambda: proxy.passed(END_TXN) > ended,
                       lambda: relay.log(), 60)
            produced = proxy.passed(PRODUCE)
            wait_until(lambda: proxy.passed(PRODUCE) > produced + 1,
                       lambda: relay.log(), 60)
            held.deliver()
            relay.kill()
            relay.run(90)
        load.wait(50)
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p5_a_sender_of_parked_events_comes_late(walpost, database, way, outbox,
                                                 topics):
    """It has read the rows, and fences its successor after that one has sent
    them, and others: the ledger has only the last ones."""
    broker, proxy = way
    order = topics + "order"
    broker.create_topic(order, 1, max_message_bytes=POISON_LIMIT)
    relay = walpost(database, proxy, topics, **once(topics),
                    on_error={"record_too_large": "park"}).run()
    wide = '"' + secrets.token_hex(5000) + '"'
    for key in ("k1", "k2", "k3"):
        for payload in (wide, "2", "3"):
            outbox.insert("order", key, payload)
    database.wait_confirmed(relay.slot, seconds=60)
    broker.set_topic_config(order, "max.message.bytes", "1000000")
    reader = KafkaReader(broker.bootstrap)

    def release(key):
        return relay.spawn("parked", "release", "--key", key, "--why", "a test")

    def wait_sent(key):
        wait_until(lambda: key.encode() in {
            record.key for record in reader.read(order)}, relay.log, 60)

    late = proxy.delay(INIT_PRODUCER_ID)
    release("k1")
    wait_until(late.is_kept, relay.log, 60)
    # With the next stream there is another sender.
    database.execute("select pg_terminate_backend(pid) from pg_stat_replication")
    wait_sent("k1")
    release("k2")
    wait_sent("k2")
    late.deliver()
    time.sleep(3)
    release("k3")
    wait_sent("k3")
    database.wait_confirmed(relay.slot, seconds=60)
    time.sleep(3)
    found = [record.id for record in reader.read(order)]
    assert len(found) == len(set(found)) == 9, relay.log()
    assert relay.stop() == 0


@pytest.mark.long
def test_p9_a_checkpoint_behind_the_transaction_of_a_dead_instance_counts(
        walpost, database, way, outbox, topics):
    broker, proxy = way
    sections = once(topics, transaction_timeout="30s")
    sections["checkpoint"]["store"] = "kafka"
    relay = walpost(database, proxy, topics, **sections).run()
    outbox.insert("order", "key-1")
    database.wait_confirmed(relay.slot)
    held = proxy.arm(END_TXN)
    outbox.insert("order", "key-2")
    # Its checkpoint is written, and not committed.
    wait_until(held.is_kept, lambda: relay.log(), 60)
    relay.kill()
    relay.configure({**relay.config,
                     "delivery": {"guarantee": "at_least_once"}})
    relay.run(90)
    outbox.insert("order", "key-3")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    relay.configure({**relay.config, "delivery": sections["delivery"]})
    relay.run(120)
    outbox.insert("order", "key-4")
    database.wait_confirmed(relay.slot, seconds=60)
    assert "slot_advanced" not in relay.log()
    judge(outbox, broker, relay, at_least=4)
