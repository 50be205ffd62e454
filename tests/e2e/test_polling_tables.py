"""Outbox tables that people have already, polled by configuration alone.

The rows move on to Kafka, as the same records that the WAL source makes of
them, and their state says so.
"""

import dataclasses
import typing

import pytest

from harness.waiting import wait_until

_ID = "4d47e190-0402-4048-bc2c-89dd54343cdc"
_PAYLOAD = '{"a": 1}'


@dataclasses.dataclass
class _Table:
    """A table of the field, one good row of it and one that is refused.

    Topics are written without the prefix of the test, which replaces `~`.
    """

    ddl: str
    row: str
    outbox: dict
    topic: str
    made_topic: str
    key: typing.Optional[bytes]
    value: bytes
    id: str
    done: str  # a condition: the row has been published
    bad_row: str = ""  # of an illegal topic
    refused: str = ""  # a condition: the row was given up, or waits
    strategy: str = "claim"
    headers: tuple = ()


_TABLES = {
    "T1 marked by a timestamp": _Table(
        ddl="create table outbox (id serial primary key, "
            "aggregate_type text not null, aggregate_id text not null, "
            "payload jsonb not null, sequence_number int not null, "
            "created_at timestamptz not null default now(), "
            "processed_at timestamp, unique (aggregate_id, sequence_number)); "
            "create index on outbox (processed_at, created_at) include (id) "
            "where processed_at is null",
        row="insert into outbox (aggregate_type, aggregate_id, payload, "
            f"sequence_number) values ('order', 'o-1', '{_PAYLOAD}', 1)",
        outbox={"name": "public.outbox",
                "state": {"published_at": "processed_at"}},
        topic="~{aggregate_type}", made_topic="~order",
        key=b"o-1", value=_PAYLOAD.encode(), id="1",
        done="processed_at is not null",
        bad_row="insert into outbox (aggregate_type, aggregate_id, payload, "
                "sequence_number) values ('no topic', 'o-2', '{}', 1)",
        refused="processed_at is null"),
    "T2 a status without a lease": _Table(
        ddl="create table outbox_events (id uuid primary key, "
            "aggregate_type varchar(64) not null, "
            "aggregate_id varchar(128) not null, "
            "event_type varchar(128) not null, payload jsonb not null, "
            "headers jsonb not null default '{}', "
            "status varchar(20) not null default 'PENDING', "
            "retry_count int not null default 0, next_retry_at timestamptz, "
            "created_at timestamptz not null default now(), "
            "published_at timestamptz, last_error text); "
            "create index on outbox_events (next_retry_at, created_at) "
            "where status = 'PENDING'",
        row="insert into outbox_events (id, aggregate_type, aggregate_id, "
            f"event_type, payload, headers) values ('{_ID}', 'Order', 'o-1', "
            f"'ORDER_PLACED', '{_PAYLOAD}', "
            '\'{"traceId": "abc", "schemaVersion": 2}\')',
        outbox={"name": "public.outbox_events", "order_by": "created_at",
                "state": {"status": "status", "pending": "PENDING",
                          "published": "PUBLISHED", "failed": "FAILED",
                          "published_at": "published_at",
                          "attempts": "retry_count",
                          "last_error": "last_error",
                          "next_attempt_at": "next_retry_at"}},
        topic="~{event_type|lower|replace:_:-}", made_topic="~order-placed",
        key=b"o-1", value=_PAYLOAD.encode(), id=_ID,
        headers=(("traceId", b"abc"), ("schemaVersion", b"2")),
        done="status = 'PUBLISHED' and published_at is not null "
             "and retry_count = 0",
        bad_row="insert into outbox_events (id, aggregate_type, aggregate_id, "
                "event_type, payload) values (gen_random_uuid(), 'Order', "
                "'o-2', 'no topic', '{}')",
        refused="status = 'FAILED' and retry_count = 3 "
                "and last_error like '%topic%' and next_retry_at is null"),
    "T3 a status and a lease": _Table(
        ddl="create table outbox_messages (id uuid primary key, "
            "aggregate_id text not null, event_type text not null, "
            "payload jsonb not null, status text not null default 'pending' "
            "check (status in ('pending', 'processing', 'published', "
            "'failed')), attempts int not null default 0, "
            "locked_until timestamptz, last_error text, "
            "created_at timestamptz not null default now(), "
            "published_at timestamptz); "
            "create index on outbox_messages (created_at) "
            "where status = 'pending'",
        row="insert into outbox_messages (id, aggregate_id, event_type, "
            f"payload) values ('{_ID}', 'a-1', 'Sent', '{_PAYLOAD}')",
        outbox={"name": "public.outbox_messages",
                "columns": {"aggregate_type": {"constant": "message"}},
                "order_by": "created_at",
                "topic": "~messages.{event_type}",
                "state": {"status": "status", "attempts": "attempts",
                          "locked_until": "locked_until",
                          "last_error": "last_error",
                          "published_at": "published_at"}},
        topic="~not-this", made_topic="~messages.Sent",
        key=b"a-1", value=_PAYLOAD.encode(), id=_ID,
        done="status = 'published' and published_at is not null "
             "and locked_until is null and attempts = 0",
        bad_row="insert into outbox_messages (id, aggregate_id, event_type, "
                "payload) values (gen_random_uuid(), 'a-2', 'no topic', '{}')",
        refused="status = 'failed' and attempts = 3 "
                "and last_error like '%topic%' and locked_until is null"),
    "T4 an enum, a heartbeat and a sequence": _Table(
        ddl="create type task_type as enum ('SEND_MAIL', 'no topic'); "
            "create type task_state as enum ('PENDING', 'PROCESSING', "
            "'COMPLETED', 'FAILED'); "
            "create table outbox_tasks (id uuid primary key, "
            "task_type task_type not null, payload jsonb not null, "
            "state task_state not null default 'PENDING', seq bigserial, "
            "retry_count int not null default 0, error_message text, "
            "execute_at timestamptz, heartbeat_at timestamptz, "
            "updated_at timestamptz, "
            "created_at timestamptz not null default now()); "
            "create index on outbox_tasks (created_at) "
            "where state in ('PENDING', 'FAILED')",
        row="insert into outbox_tasks (id, task_type, payload) values "
            f"('{_ID}', 'SEND_MAIL', '{_PAYLOAD}')",
        outbox={"name": "public.outbox_tasks", "order_by": "seq",
                "columns": {"aggregate_type": "task_type",
                            "type": "task_type", "aggregate_id": "id"},
                "state": {"status": "state", "pending": "PENDING",
                          "processing": "PROCESSING",
                          "published": "COMPLETED", "failed": "FAILED",
                          "attempts": "retry_count",
                          "last_error": "error_message",
                          "next_attempt_at": "execute_at",
                          "heartbeat_at": "heartbeat_at"}},
        topic="~{task_type}", made_topic="~SEND_MAIL",
        key=_ID.encode(), value=_PAYLOAD.encode(), id=_ID,
        done="state = 'COMPLETED' and heartbeat_at is not null",
        bad_row="insert into outbox_tasks (id, task_type, payload) values "
                "(gen_random_uuid(), 'no topic', '{}')",
        refused="state = 'FAILED' and retry_count = 3 "
                "and error_message like '%topic%'"),
    "T5 deleted when sent": _Table(
        ddl="create table outbox (id uuid primary key, type text, "
            "payload bytea)",
        row=f"insert into outbox values ('{_ID}', 'blob', "
            f"'\\x{bytes(range(256)).hex()}')",
        outbox={"name": "public.outbox",
                "columns": {"aggregate_type": "type", "aggregate_id": None}},
        topic="~{type}", made_topic="~blob", strategy="delete",
        key=None, value=bytes(range(256)), id=_ID,
        done="false",  # nothing is left of it
        bad_row="insert into outbox values (gen_random_uuid(), 'no topic', "
                "'\\x00')",
        refused="type = 'no topic'"),
}


def _prefixed(value, topics):
    if isinstance(value, str):
        return value.replace("~", topics)
    if isinstance(value, dict):
        return {key: _prefixed(inner, topics) for key, inner in value.items()}
    return value


@pytest.fixture(params=_TABLES.values(), ids=_TABLES.keys())
def table(request):
    return request.param


@pytest.fixture
def relay(walpost, database, kafka, topics, table):
    database.execute(table.ddl)
    return walpost(
        database, kafka, topics, source="polling",
        polling={"strategy": table.strategy, "interval": "100ms",
                 "lease": "5s", "max_attempts": 3, "retry_backoff": "50ms",
                 "retry_backoff_max": "100ms"},
        outbox={"tables": [_prefixed(table.outbox, topics)]},
        route={"topic": _prefixed(table.topic, topics)})


def _rows(database, table, condition):
    return database.value(
        f"select count(*) from {table.outbox['name']} where {condition}")


def _left(database, table):
    """Rows that are neither published nor deleted."""
    return _rows(database, table, f"not ({table.done})")


@pytest.mark.sample(4)
def test_a_row_becomes_the_record_and_its_state_says_so(
        relay, database, topics, table, reader):
    relay.run()
    database.execute(table.row)
    wait_until(lambda: _left(database, table) == 0,
               lambda: f"the row to be settled\n{relay.log()}")
    record, = reader.read(_prefixed(table.made_topic, topics))
    assert record.key == table.key
    assert record.value == table.value
    assert record.headers == (("id", table.id.encode()), *table.headers)
    assert relay.stop() == 0


@pytest.mark.long
def test_a_row_that_cannot_be_sent_starves_no_other(
        relay, database, topics, table, reader):
    relay.run()
    # It comes first; its own aggregate, or none.
    database.execute(table.bad_row)
    wait_until(lambda: _rows(database, table, table.refused) == 1,
               lambda: f"the bad row to be refused\n{relay.log()}")
    database.execute(table.row)
    wait_until(lambda: _left(database, table) == 1,
               lambda: f"the good row to be settled\n{relay.log()}")
    assert len(reader.read(_prefixed(table.made_topic, topics))) == 1
    assert _rows(database, table, table.refused) == 1
    assert relay.get("/readyz")[0] == 200
    failed = int("FAILED" in table.refused.upper())
    wait_until(lambda: f'walpost_failed_rows{{table="{table.outbox["name"]}"}}'
               f" {failed}\n" in relay.get("/metrics")[1], "the gauge")
    assert relay.stop() == 0
    # A row is lost to nobody: what is not published is still there.
    assert _rows(database, table, table.refused) == 1


@pytest.mark.sample(6)
def test_the_records_are_those_of_the_wal_source(
        relay, walpost, database, kafka, topics, table, reader):
    relay.run()
    wal = walpost(
        database, kafka, topics,
        outbox={"tables": [_prefixed(table.outbox, topics + "wal.")]},
        route={"topic": _prefixed(table.topic, topics + "wal.")}).run()
    database.execute(table.row)
    made = table.made_topic
    polled = wait_until(
        lambda: reader.read_all(_prefixed(made, topics)),
        lambda: f"the polled record\n{relay.log()}")
    streamed = wait_until(
        lambda: reader.read_all(_prefixed(made, topics + "wal.")),
        lambda: f"the streamed record\n{wal.log()}")
    assert [(r.key, r.value, r.headers) for r in polled] == [
        (r.key, r.value, tuple(header for header in r.headers
                               if header[0] != "walpost-position"))
        for r in streamed]
    assert streamed[0].position  # polling has none to give
