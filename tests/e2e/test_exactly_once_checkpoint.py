"""delivery.guarantee: exactly_once, and what becomes of its checkpoint topic."""

import re
import signal
import time

import pytest

from harness import KafkaReader, Load, judge_once, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, long_only

_COMMITTED = "walpost_kafka_transaction_records_total"


@pytest.mark.parametrize("brokers", ["kafka", *long_only("strict_kafka")])
def test_p5_the_checkpoint_topic_is_deleted(walpost, database, outbox, topics,
                                            dice, brokers, request):
    """The events are still in their topics: nobody has to recover them.

    kafka makes missing topics by itself, strict_kafka does not.
    """
    broker = request.getfixturevalue(brokers)
    for kind in ("order", "invoice", "shipment"):
        broker.create_topic(topics + kind, 4)
    checkpoints = f"checkpoints-{topics}"
    relay = walpost(database, broker, topics, **once(topics)).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(2 if LONG else 1):
            load.wait(100)
            broker.delete_topic(checkpoints)
            before = relay.metric(_COMMITTED)
            wait_until(lambda before=before:
                       relay.metric(_COMMITTED) > before + 50,
                       lambda: f"{relay.get('/readyz')}\n{relay.log()}", 60)
            relay.wait_ready(60)
        load.wait(100)
    judge_once(outbox, broker, relay)
    assert "will be sent again" not in relay.log(), "it knows the position by itself"
    assert relay.stop() == 0
    if brokers == "kafka":
        relay.start()
        assert relay.wait_exit() == 4
        assert "checkpoints need one with a single partition" in relay.log()


@pytest.mark.long
def test_p9_a_gap_outlives_the_checkpoint_topic(walpost, database, kafka,
                                                outbox, topics):
    """Its cause is over, and nobody has decided about it. Only the checkpoint
    keeps it: the role does not own the publication."""
    checkpoints = f"checkpoints-{topics}"
    relay = walpost(database, kafka, topics, **once(topics)).run()
    assert relay.stop() == 0
    role = f"other_{database.name}"
    database.execute(f"create role {role} login replication")
    relay.configure({**relay.config, "postgres": {
        **relay.config["postgres"], "create": False,
        "conninfo": database.conninfo(user=role)}})
    relay.run()
    outbox.insert("order", "key-1")
    database.wait_confirmed(database.name)
    database.execute("alter publication walpost drop table outbox")
    outbox.insert("order", "key-1")
    relay.wait_unready(r"\[coverage_changed\]")
    database.execute("alter publication walpost add table outbox")
    wait_until(lambda: any(b"coverage_changed" in (record.value or b"")
                           for record in KafkaReader(kafka.bootstrap).read(
                               checkpoints)),
               lambda: f"the gap in the checkpoint\n{relay.log()}")
    relay.send(signal.SIGSTOP)
    kafka.delete_topic(checkpoints)
    relay.send(signal.SIGCONT)
    outbox.insert("order", "key-1")
    for _ in range(10):
        time.sleep(1)
        assert "[coverage_changed]" in relay.get("/readyz")[1], relay.log()
    assert relay.metric(_COMMITTED) == 1
    assert "has resolved the gap" not in relay.log()
    assert relay.stop() == 0


@pytest.mark.long
def test_p10_a_start_without_a_checkpoint_says_that_it_repeats(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, **once(topics)).run()
    assert "is sent again" not in relay.log(), "it is the first start"
    outbox.insert("order", "key")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    relay.configure({**relay.config,
                     "checkpoint": {"topic": f"others-{topics}"}})
    relay.run()
    assert re.search(rf"topic others-{topics} has no entry for slot .* "
                     "will be sent again", relay.log())
