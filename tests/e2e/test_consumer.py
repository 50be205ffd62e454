"""The consumer's side: claims that make an effect happen once (P5)."""

import contextlib
import random
import secrets
import threading
import time

import psycopg2
import pytest

from harness import KafkaReader, note, run_sql_file, wait_until
from harness.examples import create_billing, python_consumer, totals
from harness.process import Process


@pytest.fixture
def billing(postgres):
    """The consumer's own database."""
    fresh = create_billing(postgres)
    yield fresh
    fresh.drop()


@pytest.fixture
def consume(billing, kafka, directory):
    """Starts the example on a topic."""
    made = []

    def start(topic, *words):
        made.append(Process(python_consumer(kafka, topic, billing, *words),
                            directory / "consumer.log"))
        return made[-1]

    yield start
    for process in made:
        process.end(9)
    for process in made[:1]:  # they share one log
        print(f"--- log of the consumers\n{process.log()}")


def _ordered(database):
    return dict((row[0], (row[1], row[2])) for row in database.execute(
        "select payload->>'customer', count(*), "
        "sum((payload->>'cents')::bigint)::bigint from outbox "
        "where payload is not null group by 1"))


def test_p5_effects_happen_once_though_records_and_consumers_come_twice(
        walpost, database, kafka, outbox, billing, consume, topics):
    """Every event is in Kafka at least twice, and consumers are killed."""
    dice = random.Random(seed := secrets.randbits(32))
    note(f"consumers are killed at random, seed {seed}")
    relay = walpost(database, kafka, topics,
                    kafka={"brokers": kafka.bootstrap}).run()
    topic = topics + "order"
    stop = threading.Event()

    def write():
        with contextlib.closing(database.connect()) as connection:
            cursor = connection.cursor()
            while not stop.wait(0.1):
                cursor.execute(
                    "insert into outbox (aggregate_type, aggregate_id, payload)"
                    " select 'order', n, json_build_object('event', "
                    "'OrderPlaced', 'orderId', n, 'customer', 'customer-' || "
                    "n %% 7, 'cents', n * %s) from generate_series(1, 20) n",
                    (dice.randint(1, 9),))

    outbox.insert("order", "1", None)  # a tombstone
    writer = threading.Thread(target=write)
    writer.start()
    killed = 0
    try:
        wait_until(lambda: topic in KafkaReader(kafka.bootstrap).topics(topic),
                   "the topic")
        for _ in range(4):
            before = len(_claimed(billing))
            consumers = [consume(topic), consume(topic)]
            wait_until(lambda: len(_claimed(billing)) > before + 50,
                       "the consumers to be at work", 120)
            time.sleep(dice.random())
            for consumer in consumers:
                killed += consumer.running()
                consumer.end(9)
            # Re-sends of a crash, and every event once more.
            relay.kill()
            relay.run(seconds=60)
            replayed = relay.verb("replay", "--from-table",
                                  "--order-by", "sequence")
            assert replayed.returncode == 0, replayed.stderr
    finally:
        stop.set()
        writer.join()
    database.wait_confirmed(database.name, seconds=120)
    assert consume(topic, "--idle", "20").wait(300) == 0

    assert killed == 8
    records = KafkaReader(kafka.bootstrap).read(topic)
    ordered = _ordered(database)
    events = 1 + sum(orders for orders, _ in ordered.values())
    note(f"{events} events, {len(records)} records")
    assert len(records) > 2 * events
    assert totals(billing) == ordered
    assert _claimed(billing) == {record.id for record in records}


def _claimed(billing):
    return {row[0] for row in billing.execute(
        "select event_id from processed_events")}


@pytest.mark.long
def test_a_claim_is_rolled_back_with_its_effect(billing):
    claim = "select claim_event('c', 'e')"
    with pytest.raises(ZeroDivisionError):
        with billing.transaction() as cursor:
            cursor.execute(claim)
            assert cursor.fetchone()[0]
            raise ZeroDivisionError
    assert billing.value(claim) is True
    assert billing.value(claim) is False
    assert billing.value("select claim_event('another', 'e')") is True


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.long
def test_of_two_that_claim_at_once_the_second_waits(billing, commits):
    answers = []

    def claim_second():
        answers.append(billing.value("select claim_event('c', 'e')"))

    second = threading.Thread(target=claim_second)
    with billing.connect() as first:
        first.autocommit = False
        with first.cursor() as cursor:
            cursor.execute("select claim_event('c', 'e')")
            second.start()
            cursor.execute("select pg_sleep(0.5)")
            assert not answers
            first.commit() if commits else first.rollback()
    first.close()
    second.join(30)
    assert answers == [not commits]


@pytest.mark.long
def test_a_claim_needs_a_name_and_an_id(billing):
    for arguments in ("null, 'e'", "'c', null"):
        with pytest.raises(psycopg2.errors.NullValueNotAllowed):
            billing.value(f"select claim_event({arguments})")


@pytest.mark.long
def test_events_are_forgotten_by_age_and_consumer(billing):
    billing.execute(
        "insert into processed_events select c, n::text, "
        "now() - n * interval '1 day' from unnest(array['a', 'b']) c, "
        "generate_series(1, 10) n")
    assert billing.value("select forget_events('a', '5 days')") == 6
    assert billing.execute("select consumer_name, count(*) "
                           "from processed_events group by 1 order by 1") == [
        ("a", 4), ("b", 10)]


@pytest.mark.long
def test_the_file_may_be_run_again(billing):
    billing.value("select claim_event('c', 'e')")
    run_sql_file(billing, "processed_events.sql")
    assert billing.value("select claim_event('c', 'e')") is False
