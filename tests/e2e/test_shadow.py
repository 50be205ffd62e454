"""walpost shadow: what walpost would send, beside what another relay sends. The
other one here is a second walpost, whose configuration is changed in one place."""

import contextlib
import json
import re
import threading

import pytest

from harness import wait_until
from harness.matrix import LONG


@pytest.fixture
def table(database):
    database.execute(
        "create table outbox (id uuid primary key default gen_random_uuid(),"
        " aggregatetype text not null, aggregateid text not null, type text,"
        " payload jsonb)")
    return database


def _insert(database, count=20):
    for number in range(count):
        database.execute(
            "insert into outbox (aggregatetype, aggregateid, type, payload) values"
            " ('order', %s, 'T', %s)", (f"k{number % 5}", json.dumps({"n": number})))


_RECORDS = {"profile": "debezium", "logical_name": "srv", "key_converter": "json",
            "value_converter": "json"}


def _relays(walpost, database, kafka, topics, ours, theirs):
    def make(records, **more):
        return walpost(database, kafka, topics, records={**_RECORDS, **records},
                       route={"topic": topics + "{aggregate_type}"}, **more)
    return make(ours), make(theirs).run()


def _shadow(ours, database, *arguments, grace="15s"):
    """The verb while rows are inserted, and its result. What is missing costs the
    whole of `grace`."""
    said = []
    thread = threading.Thread(target=lambda: said.append(ours.verb(
        "shadow", "--for", "4s", "--grace", grace, *arguments)))
    thread.start()
    wait_until(lambda: database.value(
        "select count(*) from pg_stat_replication where application_name ="
        " 'walpost:shadow' and state = 'streaming'") == 1 or said,
               "the stream of shadow", 60)
    assert not said, said
    _insert(database)
    thread.join()
    assert database.value("select count(*) from pg_replication_slots where"
                          " slot_name like 'walpost_shadow_%'") == 0
    return said[0]


def test_equal_records(walpost, table, kafka, topics):
    ours, theirs = _relays(walpost, table, kafka, topics, {}, {})
    _insert(table, 3)  # from before
    said = _shadow(ours, table)
    assert said.returncode == 0, said.stdout + said.stderr + theirs.log()
    assert "compared: 20 events, 20 of them equal\n" in said.stdout, said.stdout


def test_rows_that_come_all_the_time(walpost, table, kafka, topics):
    """No event of the end is on one side alone, whichever was faster."""
    ours, _ = _relays(walpost, table, kafka, topics, {}, {})
    ended = threading.Event()

    def insert():
        with contextlib.closing(table.connect()) as own, own.cursor() as cursor:
            while not ended.is_set():
                cursor.execute("insert into outbox (aggregatetype, aggregateid,"
                               " payload) select 'order', n, '{}' from"
                               " generate_series(1, 3) n")

    thread = threading.Thread(target=insert)
    thread.start()
    try:
        for _ in range(3 if LONG else 1):
            said = ours.verb("shadow", "--for", "2s", "--json")
            assert said.returncode == 0, said.stdout + said.stderr
            assert json.loads(said.stdout)["compared"] > 20, said.stdout
    finally:
        ended.set()
        thread.join()


_DIFFERENCES = {
    "key": {"key_converter": "string"},
    "value": {"value_converter": "string"},
    "headers": {"placements": ["type:header:eventType"]},
}


@pytest.mark.parametrize("kind", _DIFFERENCES)
@pytest.mark.sample(3)
def test_each_difference_has_its_kind(walpost, table, kafka, topics, kind):
    ours, theirs = _relays(walpost, table, kafka, topics, {}, _DIFFERENCES[kind])
    said = _shadow(ours, table, "--json")
    assert said.returncode == 1, said.stdout + said.stderr + theirs.log()
    figures = json.loads(said.stdout)
    assert figures["compared"] == 20 and figures["equal"] == 0, figures
    assert figures[kind] == 20, figures


def test_an_example_shows_both_sides(walpost, table, kafka, topics):
    """docs/from-debezium.md has this."""
    ours, _ = _relays(walpost, table, kafka, topics, {}, {"key_converter": "string"})
    said = _shadow(ours, table)
    assert said.returncode == 1, said.stdout + said.stderr
    assert said.stdout.startswith(
        "compared: 20 events, 0 of them equal\nkey: 20\n  id "), said.stdout
    assert re.search(r"^  id [0-9a-f-]{36}: walpost '\"k\d\"' \(4 bytes\), "
                     r"Kafka 'k\d' \(2 bytes\)$", said.stdout, re.M), said.stdout


def test_another_topic_is_missing_here(walpost, table, kafka, topics):
    ours, _ = _relays(walpost, table, kafka, topics, {}, {})
    said = _shadow(ours, table, "--set", f"route.topic={topics}x.{{aggregate_type}}",
                   "--json", grace="5s")
    assert said.returncode == 1, said.stdout + said.stderr
    assert json.loads(said.stdout)["missing"] == 20, said.stdout


@pytest.mark.long
def test_nothing_to_compare_is_not_clean(walpost, table, kafka, topics):
    ours, _ = _relays(walpost, table, kafka, topics, {}, {})
    said = ours.verb("shadow", "--for", "1s", "--grace", "1s")
    assert said.returncode == 1
    assert "nothing was compared" in said.stderr, said.stderr


@pytest.mark.long
def test_without_kafka(walpost, table, kafka, topics):
    ours, _ = _relays(walpost, table, kafka, topics, {}, {})
    said = ours.verb("shadow", "--set", "kafka.brokers=127.0.0.1:1", "--for", "1s")
    assert said.returncode == 4, said.stdout + said.stderr
