"""A transaction that is open before our records hides them from consumers that
read committed records. walpost says so (P10)."""

import re
import time

import pytest

from harness import KafkaReader, Load, judge_once, note, verify, wait_until
from harness.exactly_once import once
from harness.kafka_java import run_tool
from harness.matrix import LONG
from harness.open_transaction import OpenTransaction

_TIMEOUT = "30s"  # the least that is allowed


def _sections(topics, **delivery):
    return once(topics, transaction_timeout=_TIMEOUT, **delivery)


def _isolated(relay):
    return relay.metric("walpost_isolated_topics")


def _hidden_for(relay):
    return relay.metric("walpost_hidden_records_seconds")


@pytest.mark.long
def test_p10_a_transaction_of_another_program_hides_records(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, **_sections(topics)).run()
    topic = topics + "order"
    first = outbox.insert("order", "key-1")
    database.wait_confirmed(database.name)
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topic, "key-1", "not ours")
    outbox.insert("order", "key-1")
    wait_until(lambda: _hidden_for(relay) > 0, "the first look", 30)
    assert relay.get("/readyz") == (200, "streaming\n"), "it may still end"
    wait_until(lambda: "committed records" in relay.get("/readyz")[1],
               "a transaction to be open for too long", 60)
    status, text = relay.get("/readyz")
    assert status == 200
    found = re.search(rf"nothing of topic {topic}, partition (\d+), from offset "
                      r"(\d+) on for \d+ s", text)
    seen = KafkaReader(kafka.bootstrap).read_all(topics)
    assert [record.id for record in seen] == [first]
    assert (int(found[1]), int(found[2])) == (
        seen[0].partition, seen[0].offset + 2), "behind the record and its marker"
    other.abort()
    wait_until(lambda: _hidden_for(relay) == 0, "the transaction to end", 30)
    relay.wait_ready()
    judge_once(outbox, kafka, relay, at_least=2)


def test_p10_brokers_that_do_not_answer_hide_nothing(
        walpost, database, own_kafka, outbox, topics):
    relay = walpost(database, own_kafka, topics, **_sections(topics)).run()
    for number in range(20):
        outbox.insert("order", f"key-{number}")
    database.wait_confirmed(relay.slot)
    own_kafka.freeze()
    for _ in range(25):  # it asks every 10 s, and waits as long for an answer
        time.sleep(1)
        assert _hidden_for(relay) == 0
    assert "have answered nothing" in relay.wait_unready()
    own_kafka.thaw()
    relay.wait_ready()


def _a_partition_without_a_leader_when_a_transaction_ends(
        walpost, database, kafka_cluster, outbox, topics):
    """The brokers (Kafka 4.3) do not end it there, and forget it.

    Not if it has no record there just then: then all is visible.
    """
    cluster = kafka_cluster
    broken = topics + "invoice"
    for kind in ("order", "shipment"):
        cluster.create_topic(topics + kind, 2)
    cluster.create_topic(broken, on="1", min_insync_replicas=1)
    relay = walpost(database, cluster, topics,
                    **_sections(topics, transaction_interval="2s"),
                    parking={"isolate_after": "10s"}).run()
    load = Load(outbox, seed=topics, pause=0.02).start()
    time.sleep(3)
    cluster.nodes[0].kill()
    wait_until(lambda: _isolated(relay) == 1, "the topic to be isolated", 60)
    time.sleep(5)
    load.stop()
    cluster.nodes[0].start()
    said = rf"events of topic {broken} wait: .* a transaction is open from"
    wait_until(lambda: re.search(said, relay.log()) or _isolated(relay) == 0,
               "its events to be sent, or what they wait for", 60)
    time.sleep(3)  # the last transactions of walpost have ended
    starts = _open_transactions(cluster, broken)
    assert bool(starts) == (_isolated(relay) == 1), relay.log()
    note(f"forgotten transactions begin at {starts}")
    if starts:
        wait_until(
            lambda: f"nothing of topic {broken}" in relay.get("/readyz")[1],
            "walpost to say that records are hidden", 90)
    for start in starts:  # as an operator does who has read it
        _transactions(cluster, "abort", "--topic", broken, "--partition", "0",
                      "--start-offset", start)
    wait_until(lambda: _isolated(relay) == 0, "its events to be sent", 60)
    wait_until(lambda: _hidden_for(relay) == 0, "the records to be seen", 30)
    ids = [record.id for record in
           KafkaReader(cluster.bootstrap).read_all(topics)]
    assert sorted(ids) == sorted(event.id for event in outbox.expected())
    assert verify(relay, "--fail-on-duplicates")["clean"]


def _transactions(cluster, *arguments):
    said = run_tool(cluster.bootstrap, "TransactionsCommand", *arguments,
                    seconds=120)
    return [line.split("\t") for line in said.splitlines()[1:]]


def _open_transactions(cluster, topic):
    """The offsets of their first records, in partition 0."""
    rows = _transactions(cluster, "describe-producers", "--topic", topic,
                         "--partition", "0")
    starts = [row[5].strip() for row in rows]
    return [start for start in starts if start != "None"]


if LONG:
    test_p10_a_partition_without_a_leader_when_a_transaction_ends = (
        _a_partition_without_a_leader_when_a_transaction_ends)
