"""Names that need quotes in SQL, for everything that has a name: each verb
works with them, and each SQL that is printed."""

import contextlib
import secrets

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import long_only
from harness.remedies import statements

# What a name is made of, behind its own word.
_STYLES = {
    "all": " It's \"ü\"; ${x} -- %d {} \\",
    **dict(long_only(("mixed case", "MixedCase"), ("a space", " of two words"),
                     ("quotes", "'\"'\""), ("unicode", "übergröße-💥"),
                     ("a keyword", ""))),
}


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


class _Named:
    """A database whose objects have such names; the names as attributes."""

    def __init__(self, postgres, style):
        self._postgres = postgres
        self.slot = f"names_{secrets.token_hex(4)}"  # Postgres allows a-z0-9_
        self.name = self.slot + style
        self.role = f"user_{secrets.token_hex(4)}{style}"
        self.schema = "select" + style
        self.table = "table" + style
        self.publication = "order" + style
        self.state = "user" + style
        self.sql_table = f"{_quoted(self.schema)}.{_quoted(self.table)}"
        with self.administrator("postgres") as cursor:
            cursor.execute(f"create database {_quoted(self.name)}")
            cursor.execute(
                f"create role {_quoted(self.role)} login replication")
        with self.administrator() as cursor:
            cursor.execute(f"create schema {_quoted(self.schema)}")
            cursor.execute(
                f"create table {self.sql_table} (id uuid primary key default "
                "gen_random_uuid(), aggregate_type text, aggregate_id text, "
                "payload text, created_at timestamptz default now())")

    @contextlib.contextmanager
    def administrator(self, database=None):
        with contextlib.closing(
                self._postgres.connect(_in_conninfo(database or self.name))
        ) as connection, connection.cursor() as cursor:
            yield cursor

    def execute(self, sql, parameters=None):
        with self.administrator() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def conninfo(self, role="postgres"):
        return (f"host=127.0.0.1 port={self._postgres.port} "
                f"dbname={_in_conninfo(self.name)} user={_in_conninfo(role)}")

    def drop(self):
        with self.administrator("postgres") as cursor:
            cursor.execute("select slot_name from pg_replication_slots where "
                           "database = %s", (self.name,))
            for (slot,) in cursor.fetchall():
                cursor.execute("select pg_drop_replication_slot(%s)", (slot,))
            cursor.execute(f"drop database {_quoted(self.name)} with (force)")
            cursor.execute(f"drop role {_quoted(self.role)}")


def _in_conninfo(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.fixture(params=_STYLES.values(), ids=_STYLES.keys())
def named(request, postgres, walposts):
    made = _Named(postgres, request.param)
    yield made
    for instance in walposts:
        instance.close()
    made.drop()


def _of(text):
    """For a configuration, where ${ begins a reference."""
    return text.replace("${", "$${")


@pytest.fixture
def make(named, walpost, kafka, topics):
    def relay(role="postgres", **sections):
        return walpost(named, kafka, topics, postgres={
            "conninfo": _of(named.conninfo(role)), "slot": named.slot,
            "publication": _of(named.publication), "create": False},
            outbox={"tables": [
                {"name": _of(f"{named.schema}.{named.table}")}],
                "messages": {"prefix": "names"}},
            **{"checkpoint": {"store": "postgres", "table": _of(
                f"{named.schema}.{named.state}")},
               "on_error": {"topic_illegal": "park"},
               "parking": {"table": _of(
                   f"{named.schema}.p{named.state}")}, **sections})

    return relay


def _ok(relay, *words):
    said = relay.verb(*words)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


def test_each_verb_works(make, named, kafka, topics):
    relay = make()
    made = _ok(relay, "init")
    assert f"publication {named.publication}: created" in made
    _ok(relay, "check")
    relay.run()
    insert = (f"insert into {named.sql_table} (aggregate_type, aggregate_id) "
              "values ('order', 'key')")
    named.execute(insert)
    named.execute(insert.replace("order", "no topic!"))
    named.execute("select pg_logical_emit_message(true, 'names', "
                  "'{\"aggregate_type\": \"order\", \"payload\": {}}')")
    wait_until(lambda: len(KafkaReader(kafka.bootstrap).read_all(topics)) == 2,
               lambda: relay.log())
    wait_until(lambda: "1 parked" in _ok(relay, "parked", "list"), "parking")
    _ok(relay, "parked", "discard", "--key", "key", "--why", "x")
    tail = relay.spawn("tail", "--count", "1")
    wait_until(lambda: named.execute(
        "select 1 from pg_replication_slots where temporary and active"), "tail")
    named.execute(insert)
    assert tail.wait(30) == 0
    assert "1 discarded:" in relay.verb("verify", "--wait", "0").stdout
    _ok(relay, "prune", "--older-than", "1h", "--dry-run")
    assert relay.stop() == 0
    _ok(relay, "replay", "--from-table", "--order-by", "created_at",
        "--dry-run")
    named.execute(insert)
    named.execute("select pg_logical_emit_message(true, 'names', '{}')")
    named.execute(f"delete from {named.sql_table} where aggregate_type <> "
                  "'order'")
    assert "1 logical messages" in _ok(relay, "recover", "--force", "--dry-run",
                                       "--order-by", "created_at")
    _ok(relay, "recover", "--force", "--order-by", "created_at")
    _ok(relay, "check")
    relay.run()


@pytest.mark.long
def test_each_statement_can_be_pasted(make, named):
    """What a role without a right is told; as long as it is told something."""
    _ok(make(), "init")
    named.execute(f"alter role {_quoted(named.role)} noreplication")
    poor = make(named.role, retention={"keep": "1h"}, snapshot="never")
    pasted = []
    for _ in range(10):
        said = poor.verb("check")
        if said.returncode == 0:
            break
        errors = said.stdout[said.stdout.index("ERROR"):]
        new = [statement for statement in statements(errors)
               if statement not in pasted]
        assert new, said.stdout
        for statement in new:
            named.execute(statement)
            pasted.append(statement)
    assert said.returncode == 0, said.stdout
    assert len(pasted) >= 3, pasted
    poor.run()
    for words in (("verify",), ("prune", "--older-than", "1h")):
        for statement in statements(poor.verb(*words).stderr):
            named.execute(statement)
        _ok(poor, *words)
