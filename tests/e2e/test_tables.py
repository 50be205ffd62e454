"""Outbox tables that people have already, tailed by configuration alone."""

import dataclasses
import json
import typing

import pytest

_ID = "4d47e190-0402-4048-bc2c-89dd54343cdc"
_PAYLOAD = '{"a": 1}'


@dataclasses.dataclass
class _Table:
    """A table of the field, a row of it, and the record it must become.

    Topics are written without the prefix of the test, which replaces `~`.
    """

    ddl: str
    row: str
    outbox: dict
    topic: str  # the template
    made_topic: str
    key: typing.Optional[bytes]
    value: typing.Union[bytes, dict]
    headers: tuple = ()
    id: bytes = _ID.encode()


_TABLES = {
    "T1 a serial id, rows marked when they are processed": _Table(
        ddl="create table outbox (id serial primary key, "
            "aggregate_type text not null, aggregate_id text not null, "
            "payload jsonb not null, sequence_number int not null, "
            "created_at timestamptz not null default now(), "
            "processed_at timestamp, unique (aggregate_id, sequence_number))",
        row="insert into outbox (aggregate_type, aggregate_id, payload, "
            f"sequence_number) values ('order', 'o-1', '{_PAYLOAD}', 1)",
        outbox={"name": "public.outbox"},
        topic="~{aggregate_type}", made_topic="~order",
        key=b"o-1", value=_PAYLOAD.encode(), id=b"1"),
    "T2 the topic from event_type, headers in a column": _Table(
        ddl="create table outbox_events (id uuid primary key, "
            "aggregate_type varchar(64) not null, "
            "aggregate_id varchar(128) not null, "
            "event_type varchar(128) not null, payload jsonb not null, "
            "headers jsonb not null default '{}', "
            "status varchar(20) not null default 'PENDING', "
            "retry_count int not null default 0, next_retry_at timestamptz, "
            "created_at timestamptz not null default now(), "
            "published_at timestamptz, last_error text)",
        row="insert into outbox_events (id, aggregate_type, aggregate_id, "
            f"event_type, payload, headers) values ('{_ID}', 'Order', 'o-1', "
            f"'ORDER_PLACED', '{_PAYLOAD}', "
            '\'{"traceId": "abc", "schemaVersion": 2}\')',
        outbox={"name": "public.outbox_events"},
        topic="~{event_type|lower|replace:_:-}", made_topic="~order-placed",
        key=b"o-1", value=_PAYLOAD.encode(),
        headers=(("traceId", b"abc"), ("schemaVersion", b"2"))),
    "T3 no aggregate type and one topic for all": _Table(
        ddl="create table outbox_messages (id uuid primary key, "
            "aggregate_id text not null, event_type text not null, "
            "payload jsonb not null, status text not null default 'pending' "
            "check (status in ('pending', 'processing', 'published', "
            "'failed')), attempts int not null default 0, "
            "locked_until timestamptz, last_error text, "
            "created_at timestamptz not null default now(), "
            "published_at timestamptz)",
        row="insert into outbox_messages (id, aggregate_id, event_type, "
            f"payload) values ('{_ID}', 'a-1', 'Sent', '{_PAYLOAD}')",
        outbox={"name": "public.outbox_messages",
                "columns": {"aggregate_type": {"constant": "message"}},
                "topic": "~messages.{aggregate_type}"},
        topic="~not-this", made_topic="~messages.message",
        key=b"a-1", value=_PAYLOAD.encode()),
    "T4 an enum decides the topic, the key is the id": _Table(
        ddl="create type task_type as enum ('SEND_MAIL', 'BILL'); "
            "create type task_state as enum ('PENDING', 'PROCESSING', "
            "'COMPLETED', 'FAILED'); "
            "create table outbox_tasks (id uuid primary key, "
            "task_type task_type not null, payload jsonb not null, "
            "state task_state not null default 'PENDING', seq bigserial, "
            "retry_count int not null default 0, error_message text, "
            "execute_at timestamptz, heartbeat_at timestamptz, "
            "updated_at timestamptz, "
            "created_at timestamptz not null default now())",
        row="insert into outbox_tasks (id, task_type, payload) values "
            f"('{_ID}', 'SEND_MAIL', '{_PAYLOAD}')",
        outbox={"name": "public.outbox_tasks",
                "columns": {"aggregate_type": "task_type",
                            "type": "task_type", "aggregate_id": "id"}},
        topic="~{task_type}", made_topic="~SEND_MAIL",
        key=_ID.encode(), value=_PAYLOAD.encode()),
    "T4 again, without a key": _Table(
        ddl="create type task_type as enum ('SEND_MAIL', 'BILL'); "
            "create table outbox_tasks (id uuid primary key, "
            "task_type task_type not null, payload jsonb not null)",
        row="insert into outbox_tasks values "
            f"('{_ID}', 'BILL', '{_PAYLOAD}')",
        outbox={"name": "public.outbox_tasks",
                "columns": {"aggregate_type": "task_type",
                            "aggregate_id": None}},
        topic="~{aggregate_type|lower}", made_topic="~bill",
        key=None, value=_PAYLOAD.encode()),
    "T5 bytes as the payload": _Table(
        ddl="create table outbox (id uuid primary key, type text, "
            "payload bytea)",
        row=f"insert into outbox values ('{_ID}', 'blob', "
            f"'\\x{bytes(range(256)).hex()}')",
        outbox={"name": "public.outbox",
                "columns": {"aggregate_type": "type", "aggregate_id": None}},
        topic="~{type}", made_topic="~blob",
        key=None, value=bytes(range(256))),
    "T5 again, rows that refer to business rows": _Table(
        ddl="create table outbox (id uuid primary key, "
            "table_id bigint not null, table_name text not null)",
        row=f"insert into outbox values ('{_ID}', 9007199254740993, 'users')",
        outbox={"name": "public.outbox",
                "columns": {"aggregate_type": "table_name",
                            "aggregate_id": "table_id"},
                "value": {"columns": ["table_id", "table_name"]}},
        topic="~rows.{table_name}", made_topic="~rows.users",
        key=b"9007199254740993",
        value={"table_id": 9007199254740993, "table_name": "users"}),
}


@pytest.mark.parametrize("table", _TABLES.values(), ids=_TABLES.keys())
@pytest.mark.sample(4)
def test_table_of_the_field(walpost, database, kafka, reader, topics, table):
    def prefixed(value):
        return json.loads(json.dumps(value).replace("~", topics))

    database.execute(table.ddl)
    walpost(database, kafka, topics,
            outbox={"tables": [prefixed(table.outbox)]},
            route={"topic": prefixed(table.topic)}).run()
    database.execute(table.row)
    database.wait_confirmed(database.name)

    assert reader.topics(topics) == [prefixed(table.made_topic)]
    record, = reader.read_all(topics)
    value = (json.loads(record.value) if isinstance(table.value, dict)
             else record.value)
    assert (record.key, value) == (table.key, table.value)
    assert record.headers == (("id", table.id), *table.headers,
                              ("walpost-position", record.position.encode()))


@pytest.mark.long
def test_several_tables_each_with_its_own_topic(walpost, database, kafka,
                                                outbox, reader, topics):
    database.execute("create schema billing")
    database.execute(
        "create table billing.events (id int, aggregatetype text, "
        "aggregateid text, type text, payload json)")
    walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.outbox"},
        {"name": "billing.events", "topic": topics + "billing.{type}"},
    ]}).run()
    with database.transaction() as cursor:
        outbox.insert("order", "o-1", '"first"', cursor)
        cursor.execute("insert into billing.events values "
                       "(7, 'Invoice', 'i-1', 'Paid', '{ \"as\":  \"is\" }')")
        outbox.insert("order", "o-1", '"third"', cursor)
    database.wait_confirmed(database.name)

    records = {record.position[-1]: record
               for record in reader.read_all(topics)}
    assert {ordinal: (record.topic, record.key, record.value)
            for ordinal, record in records.items()} == {
        "1": (topics + "order", b"o-1", b'"first"'),
        "2": (topics + "billing.Paid", b"i-1", b'{ "as":  "is" }'),
        "3": (topics + "order", b"o-1", b'"third"'),
    }


def test_partitioned_outbox_through_its_root(walpost, database, kafka, reader,
                                             topics):
    database.execute(
        "create table outbox (id int, aggregate_type text, aggregate_id text, "
        "payload jsonb) partition by range (id)")
    database.execute("create table outbox_0 partition of outbox "
                     "for values from (0) to (10)")
    # A leaf whose columns stand in another order.
    database.execute("create table outbox_1 (payload jsonb, aggregate_id text, "
                     "id int, aggregate_type text)")
    database.execute("alter table outbox attach partition outbox_1 "
                     "for values from (10) to (20)")
    walpost(database, kafka, topics).run()
    database.execute("insert into outbox values (1, 'order', 'a', '1')")
    database.execute("insert into outbox_1 values ('10', 'b', 10, 'order')")
    database.execute("create table outbox_2 partition of outbox "
                     "for values from (20) to (30)")
    database.execute("insert into outbox values (11, 'order', 'c', '11'), "
                     "(21, 'order', 'd', '21'), (2, 'order', 'e', '2')")
    database.execute("drop table outbox_0")
    database.wait_confirmed(database.name)

    records = sorted(reader.read_all(topics), key=lambda r: r.position)
    assert [(r.topic, r.id, r.key, r.value) for r in records] == [
        (topics + "order", number, key, number.encode())
        for number, key in (("1", b"a"), ("10", b"b"), ("11", b"c"),
                            ("21", b"d"), ("2", b"e"))]


@pytest.mark.parametrize("change", [
    "alter table outbox add column note text default 'new'",
    "alter table outbox rename column sequence to number",
    "alter table outbox drop column type",
    "alter table outbox alter column aggregate_id type varchar(100)",
    "analyze outbox",
])
@pytest.mark.sample(6)
def test_change_of_the_table_in_mid_stream(walpost, database, kafka, outbox,
                                           reader, topics, change):
    database.execute("drop trigger remember on outbox")
    walpost(database, kafka, topics).run()
    outbox.insert("order", "a", "1")
    with database.transaction() as cursor:
        outbox.insert("order", "b", "2", cursor)
        cursor.execute(change)
        outbox.insert("order", "c", "3", cursor)
    outbox.insert("order", "d", "4")
    database.wait_confirmed(database.name)

    records = sorted(reader.read_all(topics), key=lambda r: r.position)
    assert [(record.key, record.value) for record in records] == [
        (b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4")]
