"""Kafka freezes before a topic is known: the brokers are the reason, not the topic."""

import re

import pytest

from harness import Outbox, wait_until

_FROZEN = "have answered nothing for"


def _states(relay):
    """The reasons in the log for not being ready."""
    return re.findall(r"error (stuck: .*)", relay.log())


def test_p10_the_brokers_freeze_before_the_first_record_of_a_topic(
        walpost, database, own_kafka, topics):
    outbox = Outbox(database, topics)
    relay = walpost(database, own_kafka, topics).run()
    own_kafka.freeze()
    outbox.insert("order", "order-1")
    relay.wait_unready(_FROZEN, 20)
    wait_until(lambda: re.search(r"nothing for 1[1-9] s", relay.get("/readyz")[1]),
               lambda: f"that it lasts; it says {relay.get('/readyz')}", 10)
    assert not [text for text in _states(relay) if _FROZEN not in text]
    own_kafka.thaw()
    database.wait_confirmed(relay.slot)


@pytest.mark.long
def test_p10_the_brokers_freeze_before_the_initial_snapshot(
        walpost, database, own_kafka, topics):
    outbox = Outbox(database, topics)
    outbox.insert("order", "order-1")
    own_kafka.freeze()
    relay = walpost(database, own_kafka, topics, snapshot="initial", outbox={
        "tables": [{"name": "public.outbox", "order_by": "sequence"}]}).start()
    relay.wait_unready("initial snapshot", 10)
    relay.wait_unready("stuck", 20)
    for seconds in re.findall(r"(\d+) s\b", "\n".join(_states(relay))):
        assert int(seconds) < 20, _states(relay)
    own_kafka.thaw()
    relay.wait_ready(60)
    database.wait_confirmed(relay.slot)
