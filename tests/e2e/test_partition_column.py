"""route.partition: a column has the number of the record's partition, for every
source, and what is not such a number is an event that cannot be delivered."""

import json
import re

import pytest

from harness import KafkaReader, Outbox, wait_until
from harness.kafka_java import run_tool
from harness.matrix import long_only

_PARTITIONS = 4
_BAD = {"null": None, "negative": -1, "beyond": _PARTITIONS,
        "large": 3_000_000_000}


@pytest.fixture
def outbox(database, kafka, topics):
    made = Outbox(database, topics)
    database.execute("alter table outbox add shard bigint")
    kafka.create_topic(topics + "order", _PARTITIONS)
    return made


def _insert(database, shard, key="k"):
    return database.value(
        "insert into outbox (aggregate_type, aggregate_id, type, payload, shard)"
        " values ('order', %s, 'Created', '{}', %s) returning id::text",
        (key, shard))


def _add_partitions(kafka, topic, count):
    run_tool(kafka.bootstrap, "TopicCommand", "--alter", "--topic", topic,
             "--partitions", str(count))


def _places(kafka, topic):
    return {record.id: record.partition
            for record in KafkaReader(kafka.bootstrap).read(topic)}


def _wait_places(kafka, topic, wanted, relay=None):
    wait_until(lambda: wanted.items() <= _places(kafka, topic).items(),
               lambda: f"{wanted}; it has {_places(kafka, topic)}\n"
               f"{relay.log() if relay else ''}", 60)


_ROUTE = {"partition": "shard"}


def test_each_record_is_in_the_partition_of_its_row(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{aggregate_type}", **_ROUTE}).run()
    wanted = {_insert(database, n % _PARTITIONS, f"k{n % 3}"): n % _PARTITIONS
              for n in range(40)}
    _wait_places(kafka, topics + "order", wanted, relay)
    said = relay.verb("verify", "--json")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "split_key" not in json.dumps(
        [key for key, value in json.loads(said.stdout).items() if value]), (
            said.stdout)


@pytest.mark.parametrize("bad", ["null", "beyond", *long_only(
    "negative", "large")])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
@pytest.mark.long
def test_p8_what_is_not_a_partition_is_set_aside(
        walpost, database, kafka, outbox, topics, bad, is_first):
    assert outbox
    relay = walpost(database, kafka, topics,
                    route={"topic": topics + "{aggregate_type}", **_ROUTE},
                    dead_letter={"topic": topics + "dead"},
                    on_error={"partition_illegal": "dead_letter"}).run()
    wanted = {} if is_first else {_insert(database, 1): 1}
    _wait_places(kafka, topics + "order", wanted, relay)
    lost = _insert(database, _BAD[bad])
    wanted[_insert(database, 2)] = 2
    _wait_places(kafka, topics + "order", wanted, relay)
    wait_until(lambda: relay.metric(
        'walpost_dead_letters_total{class="partition_illegal"}') == 1,
               lambda: relay.log())
    assert lost not in _places(kafka, topics + "order")
    if bad != "beyond":
        return
    _add_partitions(kafka, topics + "order", _PARTITIONS + 1)
    said = relay.verb("dead-letters", "retry", "--all",
                      "--out-of-order", "--why", "partitions were added")
    assert said.returncode == 0, said.stdout + said.stderr
    _wait_places(kafka, topics + "order", {lost: _PARTITIONS}, relay)


@pytest.mark.long
def test_partitions_that_are_added_are_used(walpost, database, kafka, outbox,
                                            topics):
    assert outbox
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{aggregate_type}", **_ROUTE}).run()
    wanted = {_insert(database, 0): 0}
    _wait_places(kafka, topics + "order", wanted, relay)
    _add_partitions(kafka, topics + "order", 7)
    wanted[_insert(database, 6)] = 6
    _wait_places(kafka, topics + "order", wanted, relay)
    assert relay.get("/readyz")[1] == "streaming\n"


@pytest.mark.long
def test_the_rows_of_the_table_have_the_same_partition(
        walpost, database, kafka, outbox, topics):
    assert outbox
    wanted = {_insert(database, n): n for n in (3, 0, 2)}
    relay = walpost(database, kafka, topics, snapshot="initial", outbox={
        "tables": [{"name": "public.outbox", "order_by": "id"}]},
        route={"topic": topics + "{aggregate_type}", **_ROUTE}).run()
    _wait_places(kafka, topics + "order", wanted, relay)
    prefix = topics + "again."
    kafka.create_topic(prefix + topics + "order", _PARTITIONS)
    said = relay.verb("replay", "--from-table", "--topic-prefix", prefix)
    assert said.returncode == 0, said.stdout + said.stderr
    assert _places(kafka, prefix + topics + "order") == wanted


@pytest.mark.long
def test_polled_rows_have_the_same_partition(walpost, database, kafka, outbox,
                                             topics):
    assert outbox
    database.execute("alter table outbox add status text default 'pending'; "
                     "create index on outbox (id) where status = 'pending'")
    wanted = {_insert(database, n): n for n in (3, 0, 2)}
    relay = walpost(database, kafka, topics, source="polling", outbox={
        "tables": [{"name": "public.outbox", "order_by": "id",
                    "state": {"status": "status"}}]},
        route={"topic": topics + "{aggregate_type}", **_ROUTE})
    relay.configure({**relay.config, "postgres": {
        "conninfo": database.conninfo()}})
    relay.run()
    _wait_places(kafka, topics + "order", wanted, relay)


@pytest.mark.long
def test_check_rejects_a_column_that_is_not_an_integer(
        walpost, database, kafka, outbox, topics):
    assert outbox
    database.execute("alter table outbox alter shard type text")
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{aggregate_type}", **_ROUTE})
    said = relay.verb("check")
    found = re.search(r"ERROR .*column shard, which route.partition names.*\n"
                      r" +-> (ALTER .*;)", said.stdout)
    assert said.returncode == 1 and found, said.stdout
    database.execute(found[1])
    assert relay.verb("check").returncode == 0
