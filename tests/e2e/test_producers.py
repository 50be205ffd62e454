"""docs/produce.md: each example writes orders and events, and these records come
out, whatever the framework."""

import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import uuid

import pytest
import yaml

from harness import KafkaReader, run_sql_file, wait_until
from harness.examples import (
    PRODUCERS, SQL_PRODUCER, check_page, create_billing, environment,
    python_consumer, totals)
from harness.pages import blocks
from harness.paths import REPOSITORY, fetched_clients
from harness.process import Process

_PAGE = "docs/produce.md"
_TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def _python(name):
    def commands(_):
        return {"PYTHONPATH": str(fetched_clients("python"))}, [
            ["/usr/bin/python3", "-B", PRODUCERS / name / "shop.py"]]
    return commands


def _sql(_):
    return {}, [SQL_PRODUCER]


_SHOPS = {"sql": _sql, "sqlalchemy": _python("sqlalchemy"),
          "django": _python("django")}


def _spring(directory):
    jars = fetched_clients("spring")
    source = PRODUCERS / "spring" / "src" / "main"
    classes = directory / "classes"
    path = f"{jars}/*:{source / 'resources'}:{classes}"
    return {}, [
        ["javac", "-parameters", "-cp", path, "-d", classes,
         *source.glob("java/shop/*.java")],
        ["java", "-cp", path, "shop.Shop"]]


def _go(_):
    return {}, [["go", "run", "-C", PRODUCERS / "go", "."]]


def _prisma(directory):
    modules = fetched_clients("prisma") / "node_modules"
    shop = directory / "shop"
    shutil.copytree(PRODUCERS / "prisma", shop)
    (shop / "node_modules").symlink_to(modules)
    # Prisma would fetch its engine for migrations, which this does not need.
    return {"PRISMA_SCHEMA_ENGINE_BINARY": "/bin/true"}, [
        [modules / ".bin" / "prisma", "generate", "--schema",
         shop / "schema.prisma"],
        ["node", shop / "shop.js"]]


def _rails(_):
    subprocess.run([REPOSITORY / "scripts" / "install", "ruby"], check=True)
    return {}, [["ruby", PRODUCERS / "rails" / "shop.rb"]]


# They need what is large to fetch: only in a long run.
_LONG = {"spring": _spring, "go": _go, "prisma": _prisma, "rails": _rails}


def _run(commands, database, directory):
    """Runs an example on the database."""
    variables, lines = commands(directory)
    for line in lines:
        ran = subprocess.run([str(word) for word in line],
                             env={**environment(database), **variables},
                             cwd=directory, capture_output=True, text=True,
                             timeout=300, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        print(ran.stdout, ran.stderr, file=sys.stderr)


def _avro(order_id):
    """What a serializer writes for this order, made by hand."""
    def number(value):
        value = value << 1
        out = b""
        while value > 0x7f:
            out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
        return out + bytes([value])
    return (b"\0" + struct.pack(">I", 7) + number(order_id) + number(5) +
            b"alice" + number(1250))


def test_the_page_shows_what_the_programs_have():
    check_page(_PAGE, "docs/producers")


def _make_tables(database):
    run_sql_file(database, "outbox.sql")
    database.execute((PRODUCERS / "schema.sql").read_text())


@pytest.fixture
def billing(postgres):
    """The consumer's own database."""
    fresh = create_billing(postgres)
    yield fresh
    fresh.drop()


@pytest.mark.parametrize("shop", [
    *_SHOPS, *(pytest.param(name, marks=pytest.mark.long) for name in _LONG)])
def test_an_example_produces_these_records(walpost, database, kafka, topics,
                                           directory, billing, shop):
    _make_tables(database)
    section, = (block.text for block in blocks() if block.page == _PAGE and
                block.text.startswith("outbox:"))
    section = yaml.safe_load(section.replace("outbox.avro.", topics + "avro."))
    walpost(database, kafka, topics, **section).run()

    _run({**_SHOPS, **_LONG}[shop], database, directory)

    database.wait_confirmed(database.name)
    (order_id, *order), = database.execute("select * from orders")
    assert order == ["alice", 1250, "completed"]
    reader = KafkaReader(kafka.bootstrap)
    records = reader.read(topics + "order")
    key = str(order_id).encode()
    assert [record.key for record in records] == [key] * 3
    assert [json.loads(record.value) for record in records] == [
        {"event": "OrderPlaced", "orderId": order_id, "customer": "alice",
         "cents": 1250},
        {"event": "OrderPaid", "orderId": order_id},
        {"event": "OrderShipped", "orderId": order_id}]
    assert records[0].header("traceparent") == _TRACE
    assert all(name != "traceparent" for record in records[1:]
               for name, _ in record.headers)
    for record in records:
        uuid.UUID(record.id)
        # An example that deletes its rows leaves nothing to compare with.
        for text, in database.execute("select payload::text from outbox "
                                      "where id = %s", (record.id,)):
            assert record.value == text.encode()

    framed, = reader.read(topics + "avro.order")
    assert framed.key == key
    assert framed.value == _avro(order_id)
    assert reader.topics(topics) == [topics + "avro.order", topics + "order"]

    # docs/consume.md: its consumers read what these producers write.
    consumer = Process(python_consumer(kafka, topics + "order", billing),
                       directory / "consumer.log")
    try:
        wait_until(lambda: billing.value("select count(*) from processed_events")
                   == 3, lambda: f"the consumer\n{consumer.log()}", 60)
    finally:
        consumer.end(9)
    assert totals(billing) == {"alice": (1, 1250)}


def _values(kafka, database, topics):
    """The values of the records for the table, in the order of their key."""
    database.wait_confirmed(database.name)
    return [record.value
            for record in KafkaReader(kafka.bootstrap).read(topics + "order")]


def test_the_rules_of_the_page(walpost, database, kafka, topics):
    """Order of COPY and INSERT, UPDATE and DELETE, json and jsonb, null."""
    _make_tables(database)
    walpost(database, kafka, topics).run()
    insert = ("insert into outbox (aggregate_type, aggregate_id, payload) "
              "values ('order', '1', %s)")
    copied = [str(number) for number in range(40)]
    with database.transaction() as cursor:
        cursor.copy_expert(
            "copy outbox (aggregate_type, aggregate_id, payload) from stdin",
            io.StringIO("".join(f"order\t1\t{text}\n" for text in copied)))
        cursor.execute(insert, ('"before"',))
        cursor.execute("update outbox set payload = '\"after\"' "
                       "where payload::text = '\"before\"'")
        cursor.execute(insert, ('"deleted"',))
        cursor.execute("delete from outbox")
        cursor.execute(insert, ('{"b":1,  "a":2}',))
        cursor.execute(insert.replace("%s", "%s::jsonb"), ('{"b":1,  "a":2}',))
        cursor.execute(insert, ("null",))
        cursor.execute(insert, (None,))
    assert _values(kafka, database, topics) == [
        *(text.encode() for text in copied), b'"before"', b'"deleted"',
        b'{"b":1,  "a":2}', b'{"a": 2, "b": 1}', b"null", None]


# Events of one flush, a change after it, and no payload.
_SQLALCHEMY = """
import shop
engine = shop.create_engine("postgresql+psycopg2://")
with shop.Session(engine) as session, session.begin():
    for number in range(40):
        session.add(shop.Event(aggregate_type="order", aggregate_id="1",
                               payload=number))
        session.add(shop.AvroEvent(aggregate_type="order", aggregate_id="1"))
with shop.Session(engine) as session, session.begin():
    event = shop.Event(aggregate_type="order", aggregate_id="1", payload=40)
    session.add(event)
    session.flush()
    event.payload = 41
    session.add(shop.Event(aggregate_type="order", aggregate_id="1"))
"""

_DJANGO = """
import shop
shop.Event.objects.bulk_create([
    shop.Event(aggregate_type="order", aggregate_id="1", payload=str(number))
    for number in range(40)])
shop.Event.objects.create(aggregate_type="order", aggregate_id="1", payload="40")
shop.Event.objects.create(aggregate_type="order", aggregate_id="1")
"""


@pytest.mark.parametrize("name", ["sqlalchemy", "django"])
@pytest.mark.long
def test_the_notes_about_a_library(walpost, database, kafka, topics, directory,
                                   name):
    code = {"sqlalchemy": _SQLALCHEMY, "django": _DJANGO}[name]
    _make_tables(database)
    walpost(database, kafka, topics).run()
    path = f"{fetched_clients('python')}:{PRODUCERS / name}"
    _run(lambda _: ({"PYTHONPATH": path},
                    [["/usr/bin/python3", "-B", "-c", code]]),
         database, directory)
    assert _values(kafka, database, topics) == [
        *(str(number).encode() for number in range(41)), None]


@pytest.mark.long
def test_the_notes_about_hibernate(walpost, database, kafka, topics, directory):
    _make_tables(database)
    database.execute(
        "create table outbox_lob (id uuid primary key, payload text);"
        "create table outbox_b (like outbox including all);")
    walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.outbox"}, {"name": "public.outbox_b"},
        {"name": "public.outbox_lob", "topic": topics + "lob",
         "columns": {"aggregate_type": None, "aggregate_id": None}}]}).run()
    path = f"{fetched_clients('spring')}/*:{directory}"
    _run(lambda _: ({}, [
        ["javac", "-cp", path, "-d", directory,
         pathlib.Path(__file__).with_name("hibernate") / "Notes.java"],
        ["java", "-cp", path, "Notes"]]), database, directory)

    reader = KafkaReader(kafka.bootstrap)
    assert _values(kafka, database, topics) == [
        b"1", b"101", b"2", b"102",   # two classes, in the order of persist
        b"3", b"4", b"103", b"104",   # with hibernate.order_inserts
        b"5",                         # changed to 6 before the flush
        b"7", b"8",                   # removed, without and with a flush
        b'{"a": 2, "b": 1}']          # SqlTypes.JSON
    assert database.value("select count(*) from outbox where payload::text = "
                          "'6'") == 1
    large_object, = reader.read(topics + "lob")
    assert large_object.value.decode() == str(
        database.value("select oid from pg_largeobject_metadata"))
