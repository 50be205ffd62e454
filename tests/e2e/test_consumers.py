"""docs/consume.md: each example has its effects once, though walpost and the
consumers are killed and events come again. The one in Python: test_consumer.py."""

import json
import subprocess
import time

import confluent_kafka
import psycopg2
import pytest

from harness import KafkaReader, wait_until
from harness.examples import (
    CONSUMERS, PRODUCERS, SQL_PRODUCER, check_page, create_billing, environment,
    totals)
from harness.paths import REPOSITORY, fetched_clients
from harness.process import Process


def _java(directory, how):
    path = f"{fetched_clients('kafka-clients')}/*:{directory}"
    subprocess.run(["javac", "-cp", path, "-d", directory,
                    CONSUMERS / "java" / "Consumer.java"], check=True, timeout=120)
    return lambda *words: [
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path,
        "Consumer", *words, how]


def _spring(directory):
    source = CONSUMERS / "spring" / "src" / "main"
    path = (f"{fetched_clients('spring-kafka')}/*:{source / 'resources'}:"
            f"{directory}")
    subprocess.run(["javac", "-parameters", "-cp", path, "-d", directory,
                    *source.glob("java/billing/*.java")], check=True,
                   timeout=120)
    return lambda group, brokers, topic: [
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path,
        "billing.Billing", f"--group={group}", f"--topic={topic}",
        f"--spring.kafka.bootstrap-servers={brokers}"]


def _go(directory):
    subprocess.run(["go", "build", "-C", CONSUMERS / "go", "-o",
                    directory / "consumer"], check=True, timeout=300)
    return lambda *words: [directory / "consumer", *words]


def _node(directory):
    # Node looks for modules beside the file.
    file = directory / "consumer.js"
    file.write_text((CONSUMERS / "node" / "consumer.js").read_text())
    (directory / "node_modules").symlink_to(
        fetched_clients("kafkajs") / "node_modules")
    return lambda *words: ["node", file, *words]


_CONSUMERS = {
    "java by id": lambda directory: _java(directory, "id"),
    "java by position": lambda directory: _java(directory, "position"),
    "spring": _spring,
    "go": _go,
    "node": _node,
}
_LONG = {"java by position", "spring", "go", "node"}


def test_the_page_shows_what_the_programs_have():
    check_page("docs/consume.md", "docs/consumers")


@pytest.fixture
def billing(postgres):
    """The consumer's own database."""
    fresh = create_billing(postgres)
    yield fresh
    fresh.drop()


@pytest.fixture
def consume(billing, kafka, directory, topics):
    """Starts a consumer with such a command; all are of one group."""
    group = topics + "billing"
    made = []

    def start(command, topic):
        made.append(Process(command(group, kafka.bootstrap, topic),
                            directory / "consumer.log",
                            env=environment(billing)))
        made[-1].group = group
        return made[-1]

    yield start
    for process in made:
        process.end(9)
    for process in made[:1]:  # they share one log
        print(f"--- log of the consumers\n{process.log()}")


def _write(database, times):
    """Orders of seven customers, in that many transactions."""
    for number in range(times):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload) select "
            "'order', n, json_build_object('event', 'OrderPlaced', 'orderId', "
            "n, 'customer', 'customer-' || n %% 7, 'cents', n * %s + 25) "
            "from generate_series(1, 20) n", (number,))


def _place_an_order(database):
    """As docs/produce.md does: OrderPlaced, and two events of other types."""
    database.execute((PRODUCERS / "schema.sql").read_text())
    subprocess.run(SQL_PRODUCER, env=environment(database), check=True,
                   timeout=60)


def _placed(cents):
    return json.dumps({"event": "OrderPlaced", "orderId": 1,
                       "customer": "customer-1", "cents": cents})


def _abort_a_transaction(kafka, topic):
    """Leaves records that no consumer of committed records gets; the others
    would stop, because they have no headers."""
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap,
                                         "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in producer.list_topics(topic, 30).topics[topic].partitions:
        producer.produce(topic, b"aborted", partition=partition)
    assert producer.flush(30) == 0
    producer.abort_transaction(30)


def _has_committed(kafka, group, records):
    """Whether the group has committed offsets behind all of these records."""
    ends = {}
    for record in records:
        place = (record.topic, record.partition)
        ends[place] = max(ends.get(place, 0), record.offset + 1)
    asking = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap,
                                       "group.id": group})
    committed = asking.committed(
        [confluent_kafka.TopicPartition(*place) for place in ends], 30)
    asking.close()
    return all(found.offset >= ends[(found.topic, found.partition)]
               for found in committed)


def _ordered(database):
    return {row[0]: row[1:] for row in database.execute(
        "select payload->>'customer', count(*), "
        "sum((payload->>'cents')::bigint)::bigint from outbox "
        "where payload->>'event' = 'OrderPlaced' group by 1")}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.long] if name in _LONG else [])
    for name in _CONSUMERS])
def test_p5_the_effects_of_an_example_happen_once(
        walpost, database, kafka, outbox, billing, consume, topics, directory,
        name):
    command = _CONSUMERS[name](directory)
    relay = walpost(database, kafka, topics, replay={"window": "1GiB"}).run()
    begin = wait_until(lambda: database.confirmed_lsn(f"{relay.slot}_guard"),
                       "the guard slot")
    topic = topics + "order"
    reader = KafkaReader(kafka.bootstrap)
    _write(database, 20)
    _place_an_order(database)
    outbox.insert("order", "1", None)  # a tombstone
    wait_until(lambda: topic in reader.topics(topic), "the topic")
    _abort_a_transaction(kafka, topic)
    consumers = [consume(command, topic) for _ in range(2)]
    wait_until(lambda: totals(billing), "the consumers to be at work", 120)
    relay.kill()
    for consumer in consumers:
        assert consumer.running(), consumer.log()
        consumer.end(9)
    relay.run()
    _write(database, 5)
    database.wait_confirmed(relay.slot)
    # Every event once more; from the table without a position.
    words = (["--from-lsn", f"{begin >> 32:X}/{begin & 0xffffffff:X}"]
             if name == "java by position"
             else ["--from-table", "--order-by", "sequence"])
    replayed = relay.verb("replay", *words)
    assert replayed.returncode == 0, replayed.stderr

    records = reader.read(topic)
    last = consume(command, topic)
    wait_until(lambda: _has_committed(kafka, last.group, records),
               lambda: f"the consumer to get to the end\n{last.log()}", 120,
               pause=0.5)
    last.end()
    assert totals(billing) == _ordered(database)
    assert len({record.id for record in records}) == 504
    assert len(records) >= 2 * 504


def test_a_consumer_stops_before_what_is_not_an_order(
        walpost, database, kafka, outbox, billing, consume, topics, directory):
    """Its error says where the record is; what came with it has no effect."""
    command = _CONSUMERS["java by id"](directory)
    walpost(database, kafka, topics).run()
    outbox.insert("order", "1", _placed(1))
    outbox.insert("order", "1", '"not an order"')
    database.wait_confirmed(database.name)
    consumer = consume(command, topics + "order")
    assert consumer.wait(120) == 1
    assert f"{topics}order-" in consumer.log()
    assert " at offset 1 is not an event of an order" in consumer.log()
    claimed = {row[0] for row in billing.execute(
        "select event_id from processed_events")}
    sums = totals(billing)
    # The first may have come in a batch of its own.
    assert len(claimed) == len(sums) <= 1


@pytest.mark.long
def test_spring_tries_a_record_again_and_skips_none(
        walpost, database, kafka, outbox, billing, consume, topics, directory):
    command = _CONSUMERS["spring"](directory)
    walpost(database, kafka, topics).run()
    for cents in (1, "none", 2):
        outbox.insert("order", "1", _placed(cents))
    database.wait_confirmed(database.name)
    consumer = consume(command, topics + "order")
    wait_until(lambda: totals(billing), "the first", 120)
    time.sleep(15)  # longer than ten attempts
    assert consumer.running()
    assert totals(billing) == {"customer-1": (1, 1)}


@pytest.mark.long
def test_fetch_clients_refuses_an_unknown_group():
    ran = subprocess.run([REPOSITORY / "scripts" / "fetch-clients", "cobol"],
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "usage: scripts/fetch-clients" in ran.stderr


@pytest.mark.long
def test_a_position_is_taken_once_and_in_order(billing):
    def advance(position, partition=0, cursor=None):
        call = "select advance_position('c', 't', %s, %s)"
        if cursor is None:
            return billing.value(call, (partition, position))
        cursor.execute(call, (partition, position))
        return cursor.fetchone()[0]

    def position(timeline, lsn, ordinal):
        return f"{timeline:08X}-{lsn:016X}-{ordinal:016X}"

    assert advance(position(1, 0x9F, 2))
    assert not advance(position(1, 0x9F, 2))
    assert not advance(position(1, 0x9F, 1))
    assert not advance(position(1, 0x1F, 9))
    assert advance(position(1, 0xA0, 1))
    assert advance(position(2, 0x1F, 1))  # after a promotion
    assert not advance(position(1, 0xFFFF, 1))
    assert advance(position(1, 0x9F, 2), partition=1)
    with pytest.raises(ZeroDivisionError):
        with billing.transaction() as cursor:
            assert advance(position(2, 0x20, 1), cursor=cursor)
            raise ZeroDivisionError
    assert advance(position(2, 0x20, 1))
    with pytest.raises(psycopg2.errors.NotNullViolation):
        advance(None)
