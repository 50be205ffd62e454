"""delivery.guarantee: exactly_once, and transactions that are open since before
walpost took over: of another program, or one of its own that the brokers have
lost track of. Its own commit must not end that one (P5)."""

import re
import time

import pytest

from harness import Kafka, Load, judge_once, note, wait_until
from harness.exactly_once import once
from harness.kafka_java import run_tool
from harness.open_transaction import OpenTransaction

_TIMEOUT_S = 30  # the least that is allowed
_COMMAND = (r"kafka-transactions\.sh --bootstrap-server (\S+) (abort "
            r"--topic \S+ --partition \d+ --start-offset \d+)")


def _make(walpost, database, kafka, topics):
    return walpost(database, kafka, topics, **once(
        topics, transaction_timeout=f"{_TIMEOUT_S}s",
        transaction_interval="500ms", transaction_idle="500ms"))


def test_p10_a_transaction_of_another_program_is_waited_for(
        walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "order", 2)
    relay = _make(walpost, database, kafka, topics).run()
    outbox.insert("order", "key-1")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    other = OpenTransaction(kafka.bootstrap, topics + "other").produce(
        topics + "order", "key-1", "not ours")
    outbox.insert("order", "key-1")
    relay.start()
    text = relay.wait_unready("a transaction is open from offset")
    assert f"topic {topics}order, partition " in text
    other.abort()
    relay.wait_ready()
    database.wait_confirmed(relay.slot)
    judge_once(outbox, kafka, relay, at_least=2)


@pytest.fixture(name="hasty_kafka")
def _hasty_kafka(directory):
    """It aborts what is open for too long before its partitions have leaders
    again: Kafka 4.3 loses track of it there."""
    broker = Kafka(directory / "kafka", properties={
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    }).start()
    yield broker
    broker.close()


def test_p5_p10_the_brokers_lose_track_of_a_transaction(
        walpost, database, hasty_kafka, outbox, topics, dice):
    relay = _make(walpost, database, hasty_kafka, topics).run()
    with Load(outbox, dice.seed_text, pause=0.05) as load:
        load.wait(50)
        hasty_kafka.kill()
        time.sleep(_TIMEOUT_S + 5)
        hasty_kafka.start()
        aborted = _abort_what_it_names(relay, database)
        load.wait(50)
    note(f"{aborted} transactions aborted by hand")
    judge_once(outbox, hasty_kafka, relay)
    assert relay.stop() == 0


def _abort_what_it_names(relay, database):
    """Does what /readyz says, until all so far is confirmed; how often."""
    aborted = set()
    end = database.current_lsn()

    def is_confirmed():
        command = re.search(_COMMAND, relay.get("/readyz")[1])
        if command and command[0] not in aborted:
            aborted.add(command[0])
            brokers, words = command.groups()
            run_tool(brokers, "TransactionsCommand", *words.split())
        return database.confirmed_lsn(relay.slot) >= end

    wait_until(is_confirmed, lambda: f"{relay.get('/readyz')}\n{relay.log()}", 180)
    return len(aborted)
