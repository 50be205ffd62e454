"""What was so for a time and is not now: partitions of a topic, of a table."""

import json
import subprocess

import pytest

from harness import KafkaReader
from harness.kafka_java import run_tool
from harness.pages import blocks

_ROWS = ("insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
         "select 'order', 'key-' || n %% 50, '{}', n from "
         "generate_series(%s, %s) n")


def _verify(relay):
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)
    return said.returncode, {kind: found["count"] for kind, found
                             in report["findings"].items() if found["count"]}


def _add_partitions(kafka, topic, count):
    run_tool(kafka.bootstrap, "TopicCommand", "--alter", "--topic", topic,
             "--partitions", str(count))


@pytest.mark.long
def test_partitions_were_added(walpost, database, kafka, outbox, topics):
    """Case 15: a key that moved once is no error, for ever after."""
    kafka.create_topic(topics + "order", 1)
    relay = walpost(database, kafka, topics).run()
    database.execute(_ROWS, (1, 200))
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _add_partitions(kafka, topics + "order", 4)
    relay.run()
    database.execute(_ROWS, (201, 400))
    database.wait_confirmed(database.name)
    code, found = _verify(relay)
    assert code == 0 and set(found) == {"moved_key"}, found
    _add_partitions(kafka, topics + "order", 8)
    assert relay.stop() == 0
    relay.run()
    database.execute(_ROWS, (401, 600))
    database.wait_confirmed(database.name)
    code, found = _verify(relay)
    assert code == 0 and set(found) == {"moved_key"}, found


@pytest.mark.long
def test_a_key_that_comes_back_is_an_error(walpost, database, kafka, outbox,
                                           topics):
    """Another producer, or a partitioner that was changed and changed back."""
    kafka.create_topic(topics + "order", 4)
    relay = walpost(database, kafka, topics).run()
    identity = outbox.insert("order", "key-1", "{}")
    database.wait_confirmed(database.name)
    record, = KafkaReader(kafka.bootstrap).read_all(topics)
    for number, partition in ((1, (record.partition + 1) % 4),
                              (2, record.partition)):
        subprocess.run(
            ["kcat", "-P", "-b", kafka.bootstrap, "-t", topics + "order", "-k",
             "key-1", "-p", str(partition), "-H", f"id={identity}", "-H",
             f"walpost-position=99999999-{number:016x}-00000001"],
            input=b"{}", check=True)
    code, found = _verify(relay)
    assert code == 1 and found["split_key"] == 1, found


# ---- Partitions of a table.

_PARTITIONED = """
create table outbox (id bigint generated always as identity, created_at
  timestamptz not null default now(), aggregate_type text not null default
  'order', aggregate_id text not null, payload text default '{}', primary key
  (id, created_at)) partition by range (created_at);
create table outbox_default partition of outbox default;
"""
@pytest.mark.parametrize("published", ["for table outbox", "for all tables"])
@pytest.mark.long
def test_rows_that_move_into_a_new_partition_are_not_sent_again(
        walpost, database, kafka, topics, published):
    database.execute(_PARTITIONED)
    database.execute(f"create publication walpost {published} with (publish = "
                     "'insert', publish_via_partition_root = true)")
    relay = walpost(database, kafka, topics).run()
    insert = ("insert into outbox (aggregate_id, created_at) select n::text, "
              "'2026-06-01' from generate_series(1, 200) n")
    database.execute(insert)
    database.wait_confirmed(database.name)
    move, = (block.text for block in blocks()
             if block.page == "docs/tables.md"
             and block.text.startswith("begin;"))
    with database.transaction() as cursor:
        cursor.execute(move.replace("begin;", "").replace("commit;", ""))
    database.execute(insert)
    database.wait_confirmed(database.name)
    relay.wait_ready()
    ids = [record.id for record in KafkaReader(kafka.bootstrap).read_all(topics)]
    assert len(ids) == 400 and len(set(ids)) == 400
    assert _verify(relay) == (0, {})
