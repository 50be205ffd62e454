"""docs/produce.md: each example writes orders and events, and these records come
out, whatever the framework."""

import json
import os
import shutil
import struct
import subprocess
import sys
import uuid

import pytest
import yaml

from harness import KafkaReader, run_sql_file
from harness.pages import blocks, excerpts
from harness.paths import REPOSITORY, fetched_clients

_PAGE = "docs/produce.md"
_FOLDER = REPOSITORY / "docs" / "producers"
_TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def _python(name):
    def commands(_):
        return {"PYTHONPATH": str(fetched_clients("python"))}, [
            ["/usr/bin/python3", "-B", _FOLDER / name / "shop.py"]]
    return commands


def _sql(_):
    return {}, [["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f",
                 _FOLDER / "sql" / "shop.sql"]]


_SHOPS = {"sql": _sql, "sqlalchemy": _python("sqlalchemy"),
          "django": _python("django")}


def _spring(directory):
    jars = fetched_clients("spring")
    source = _FOLDER / "spring" / "src" / "main"
    classes = directory / "classes"
    path = f"{jars}/*:{source / 'resources'}:{classes}"
    return {}, [
        ["javac", "-parameters", "-cp", path, "-d", classes,
         *source.glob("java/shop/*.java")],
        ["java", "-cp", path, "shop.Shop"]]


def _go(_):
    return {}, [["go", "run", "-C", _FOLDER / "go", "."]]


def _prisma(directory):
    modules = fetched_clients("node") / "node_modules"
    shop = directory / "shop"
    shutil.copytree(_FOLDER / "prisma", shop)
    (shop / "node_modules").symlink_to(modules)
    # Prisma would fetch its engine for migrations, which this does not need.
    return {"PRISMA_SCHEMA_ENGINE_BINARY": "/bin/true"}, [
        [modules / ".bin" / "prisma", "generate", "--schema",
         shop / "schema.prisma"],
        ["node", shop / "shop.js"]]


def _rails(_):
    subprocess.run([REPOSITORY / "scripts" / "install", "ruby"], check=True)
    return {}, [["ruby", _FOLDER / "rails" / "shop.rb"]]


# They need what is large to fetch: only in a long run.
_LONG = {"spring": _spring, "go": _go, "prisma": _prisma, "rails": _rails}


def _run(commands, database, directory):
    """Runs an example on the database."""
    environment, lines = commands(directory)
    where = dict(word.split("=") for word in database.conninfo().split())
    environment = {**os.environ, **environment, "PGHOST": where["host"],
                   "PGPORT": where["port"], "PGDATABASE": where["dbname"],
                   "PGUSER": where["user"]}
    for line in lines:
        ran = subprocess.run([str(word) for word in line], env=environment,
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
    programs = excerpts("docs/producers")
    shown = [block.text for block in blocks() if block.page == _PAGE and
             not block.text.startswith(("outbox:", "scripts/test --long"))]
    assert len(shown) > 12
    assert sorted(shown) == sorted(programs)


@pytest.mark.parametrize("shop", [
    *_SHOPS, *(pytest.param(name, marks=pytest.mark.long) for name in _LONG)])
def test_an_example_produces_these_records(walpost, database, kafka, topics,
                                           directory, shop):
    run_sql_file(database, "outbox.sql")
    database.execute((_FOLDER / "schema.sql").read_text())
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
        {"orderId": order_id, "customer": "alice", "cents": 1250},
        {"orderId": order_id, "event": "OrderPaid"},
        {"orderId": order_id, "event": "OrderShipped"}]
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
