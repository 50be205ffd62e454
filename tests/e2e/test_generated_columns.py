"""Columns that rows come with or without: generated ones, column lists, and
types that are made or dropped while walpost runs."""

import pytest

from harness import KafkaReader, Postgres, wait_until
from harness.matrix import long_only
from harness.paths import fetched_postgres
from harness.polled import STATE
from harness.remedies import statements

_TABLE = """
create table outbox (id bigint generated always as identity primary key,
  aggregate_type text not null, type text not null, payload jsonb not null,
  aggregate_id text generated always as (payload->>'orderId') {kind});
"""
_ROW = ("insert into outbox (aggregate_type, type, payload) values "
        "('order', 'Created', '{\"orderId\": \"42\"}')")
_NAMED = {"outbox": {"tables": [{"name": "public.outbox", "columns": {
    "aggregate_id": "aggregate_id"}}]}}


def _keys(kafka, topics):
    return [record.key for record in KafkaReader(kafka.bootstrap).read_all(
        topics)]


def _publish(database, relay, kafka, topics):
    """Publishes a row; the keys that are there then."""
    relay.run()
    database.execute(_ROW)
    database.wait_confirmed(database.name)
    return _keys(kafka, topics)


@pytest.fixture(scope="module", name="postgres_18")
def of_major_18(module_directory):
    server = Postgres(module_directory / "postgres-18",
                      fetched_postgres(18)).start()
    yield server
    server.close()


@pytest.fixture(name="database_18")
def of_server_18(postgres_18):
    return postgres_18.create_database()


def _refused(relay):
    """What check says about a column that is not sent, and run agrees."""
    said = relay.verb("check")
    assert said.returncode == 1 and "ERROR" in said.stdout, said.stdout
    relay.start()
    assert relay.wait_exit() == 3
    return said.stdout


@pytest.mark.parametrize("published", [
    "for table outbox with (publish = 'insert', publish_generated_columns = "
    "stored)",
    "for table outbox (id, aggregate_type, type, payload, aggregate_id) with "
    "(publish = 'insert')"], ids=["stored", "list"])
@pytest.mark.parametrize("sections", [{}, _NAMED], ids=["usual", "named"])
@pytest.mark.sample(4)
def test_a_stored_column_that_is_published_is_one_as_all_others(
        walpost, database_18, kafka, topics, published, sections):
    database_18.execute(_TABLE.format(kind="stored"))
    database_18.execute("create publication walpost " + published)
    relay = walpost(database_18, kafka, topics, **sections)
    assert relay.verb("init").returncode == 0
    said = relay.verb("check")
    assert said.returncode == 0 and "has no aggregate_id" not in said.stdout
    assert _publish(database_18, relay, kafka, topics) == [b"42"]
    assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_init_publishes_stored_columns(walpost, database_18, kafka, topics):
    database_18.execute(_TABLE.format(kind="stored"))
    relay = walpost(database_18, kafka, topics)
    printed = relay.verb("init", "--print").stdout
    assert "publish_generated_columns = stored" in printed
    assert relay.verb("init").returncode == 0
    assert _publish(database_18, relay, kafka, topics) == [b"42"]


@pytest.mark.parametrize("kind, published", [
    ("stored", "with (publish = 'insert')"),
    ("virtual", "with (publish = 'insert', publish_generated_columns = "
     "stored)")])
@pytest.mark.long
def test_an_unpublished_column_is_refused_and_the_remedy_helps(
        walpost, database_18, kafka, topics, kind, published):
    database_18.execute(_TABLE.format(kind=kind))
    database_18.execute("create publication walpost for table outbox "
                        + published)
    relay = walpost(database_18, kafka, topics)
    said = _refused(relay)
    assert "column 'aggregate_id' of public.outbox" in said
    assert ("virtual" in said) == (kind == "virtual")
    for statement in statements(said[said.index("column 'aggregate_id'"):]):
        database_18.execute(statement)
    assert _publish(database_18, relay, kafka, topics) == [b"42"]


@pytest.mark.long
def test_before_18_a_generated_column_is_refused_by_name(walpost, database,
                                                         kafka, topics):
    database.execute(_TABLE.format(kind="stored"))
    database.execute("create publication walpost for table outbox with "
                     "(publish = 'insert')")
    relay = walpost(database, kafka, topics)
    said = _refused(relay)
    assert "column 'aggregate_id' of public.outbox" in said
    assert "Postgres 18 with publish_generated_columns = stored sends it" in said
    drop, = [statement for statement in statements(said)
             if "DROP EXPRESSION" in statement]
    database.execute(drop)
    relay.run()
    database.execute("insert into outbox (aggregate_type, type, payload, "
                     "aggregate_id) values ('order', 'Created', '{}', '43')")
    database.wait_confirmed(database.name)
    assert _keys(kafka, topics) == [b"43"]


@pytest.mark.long
def test_null_says_that_a_column_is_not_wanted(walpost, database, kafka,
                                               topics):
    database.execute(_TABLE.format(kind="stored"))
    relay = walpost(database, kafka, topics, outbox={"tables": [{
        "name": "public.outbox", "columns": {"aggregate_id": None}}]})
    assert _publish(database, relay, kafka, topics) == [None]


@pytest.mark.parametrize("strategy", ["claim", "cursor"])
@pytest.mark.sample(2)
def test_polling_reads_generated_columns(walpost, database, kafka, topics,
                                         strategy):
    database.execute(_TABLE.format(kind="stored"))
    state = {"transaction_id": "tx"}
    if strategy == "claim":
        state = {key: STATE[key] for key in ("status", "locked_until")}
    database.execute(
        "alter table outbox add tx xid8 not null default pg_current_xact_id(), "
        "add status text not null default 'pending', add locked_until "
        "timestamptz; create index on outbox (id) where status = 'pending'; "
        "create index on outbox (tx, id)")
    relay = walpost(database, kafka, topics, source="polling",
                    polling={"strategy": strategy, "interval": "50ms"},
                    outbox={"tables": [{"name": "public.outbox",
                                        "order_by": "id", "state": state}]})
    relay.run()
    database.execute(_ROW)
    wait_until(lambda: _keys(kafka, topics) == [b"42"], "the row")


@pytest.mark.long
def test_replay_reads_generated_columns(walpost, database, kafka, topics):
    database.execute(_TABLE.format(kind="stored"))
    database.execute(_ROW)
    relay = walpost(database, kafka, topics)
    said = relay.verb("replay", "--from-table")
    assert said.returncode == 0, said.stderr
    assert _keys(kafka, topics) == [b"42"]


@pytest.mark.long
def test_replay_refuses_a_virtual_column(walpost, database_18, kafka, topics):
    database_18.execute(_TABLE.format(kind="virtual"))
    database_18.execute(_ROW)
    said = walpost(database_18, kafka, topics).verb("replay", "--from-table")
    assert said.returncode == 3 and "virtual" in said.stderr, said.stderr
    assert not _keys(kafka, topics)


@pytest.mark.parametrize("column", ["aggregate_id", "id",
                                    *long_only("headers", "payload")])
@pytest.mark.long
def test_a_column_that_a_list_leaves_out_is_refused(walpost, database, kafka,
                                                    outbox, topics, column):
    listed = {"id", "aggregate_type", "aggregate_id", "type", "payload",
              "headers"} - {column}
    database.execute(f"create publication walpost for table outbox "
                     f"({', '.join(sorted(listed))}) with (publish = 'insert')")
    relay = walpost(database, kafka, topics)
    said = _refused(relay)
    assert f"column '{column}' of public.outbox" in said
    for statement in statements(said[said.index(f"column '{column}'"):]):
        if "PUBLICATION" in statement:
            database.execute(statement)
    relay.run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    assert _keys(kafka, topics) == [b"k1"]


@pytest.mark.long
def test_a_domain_that_is_made_while_walpost_runs(walpost, database, kafka,
                                                  topics):
    database.execute(
        "create table outbox (id bigint generated always as identity primary "
        "key, aggregate_type text not null, aggregate_id text, payload bytea)")
    relay = walpost(database, kafka, topics).run()
    insert = ("insert into outbox (aggregate_type, aggregate_id, payload) "
              r"values ('order', 'k', '\xdeadbeef')")
    database.execute(insert)
    database.execute("create domain sealed as bytea; alter table outbox alter "
                     "payload type sealed")
    database.execute(insert)
    database.wait_confirmed(database.name)
    relay.wait_ready()
    assert [record.value for record in KafkaReader(kafka.bootstrap).read_all(
        topics)] == [b"\xde\xad\xbe\xef"] * 2


@pytest.mark.long
def test_a_type_that_was_dropped_since(walpost, database, kafka, topics):
    """Its text goes out, unless it may be that of a bytea."""
    database.execute(
        "create type mood as enum ('sad'); create table outbox (id bigint "
        "generated always as identity primary key, aggregate_type text, "
        "aggregate_id mood, payload text)")
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    database.execute("insert into outbox (aggregate_type, aggregate_id, "
                     "payload) values ('order', 'sad', '{}')")
    database.execute("alter table outbox alter aggregate_id type text; drop "
                     "type mood")
    relay.run()
    database.wait_confirmed(database.name)
    assert _keys(kafka, topics) == [b"sad"]
