"""sql/outbox_emit.sql: an outbox without a table, through a function."""

import json

import psycopg2
import pytest

from harness import run_sql_file


@pytest.fixture
def emitting(walpost, database, kafka, topics):
    """A database with the function, and a relay that publishes its events."""
    run_sql_file(database, "outbox_emit.sql")
    walpost(database, kafka, topics,
            outbox={"messages": {"prefix": "outbox"}}).run()
    return database


def test_an_event_is_published_with_every_field(emitting, reader, topics):
    published = emitting.value(
        "select public.outbox_emit('order', '4711', 'OrderPlaced', "
        "'{\"total\": \"44.98\"}', headers => '{\"trace\": \"t-1\"}')")
    emitting.wait_confirmed(emitting.name)

    record, = reader.read_all(topics)
    assert (record.topic, record.key) == (topics + "order", b"4711")
    assert record.value == b'{"total": "44.98"}'
    assert dict(record.headers)["id"] == published.encode()
    assert dict(record.headers)["trace"] == b"t-1"


@pytest.mark.parametrize("payload", [
    "'{\"a\":  1}'", "'{\"a\":  1}'::text", "'{\"a\":  1}'::json"])
def test_json_and_text_keep_their_bytes(emitting, reader, topics, payload):
    emitting.execute(
        f"select public.outbox_emit('order', 'k', 'T', {payload})")
    emitting.wait_confirmed(emitting.name)
    assert [record.value for record in reader.read_all(topics)] == [
        b'{"a":  1}']


def test_in_returning_each_row_is_an_event_of_its_transaction(
        emitting, reader, topics):
    emitting.execute("create table orders (id bigint primary key, total int)")
    with emitting.transaction() as cursor:
        cursor.execute(
            "insert into orders values (1, 10), (2, 20) on conflict do nothing "
            "returning public.outbox_emit('order', id::text, 'OrderPlaced', "
            "jsonb_build_object('total', total))")
    with pytest.raises(psycopg2.errors.UniqueViolation):
        with emitting.transaction() as cursor:
            cursor.execute(
                "insert into orders values (3, 30), (1, 11) returning "
                "public.outbox_emit('order', id::text, 'OrderPlaced', '{}')")
    emitting.wait_confirmed(emitting.name)
    assert [(record.key, json.loads(record.value))
            for record in sorted(reader.read_all(topics),
                                 key=lambda record: record.key)] == [
        (b"1", {"total": 10}), (b"2", {"total": 20})]


@pytest.mark.parametrize("arguments, named", [
    ("'no spaces', '1', 'T', '{}'", "aggregate_type"),
    ("null, '1', 'T', '{}'", "aggregate_type"),
    ("'order', repeat('x', 1025), 'T', '{}'", "aggregate_id"),
    ("'order', '1', repeat('x', 256), '{}'", "type"),
    ("'order', '1', 'T', '\"' || repeat('x', 900000) || '\"'", "payload"),
    ("'order', '1', 'T', '{}', headers => '[1]'", "headers"),
    ("'order', '1', 'T', '{}', id => null", "id"),
])
def test_what_could_not_be_delivered_is_refused_in_the_transaction(
        database, arguments, named):
    run_sql_file(database, "outbox_emit.sql")
    with pytest.raises(psycopg2.errors.CheckViolation) as refused:
        database.execute(f"select public.outbox_emit({arguments})")
    assert f"DETAIL:  {named}:" in str(refused.value)


def test_what_is_not_json_is_refused_in_the_transaction(database):
    run_sql_file(database, "outbox_emit.sql")
    with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
        database.execute("select public.outbox_emit('order', '1', 'T', '{')")
