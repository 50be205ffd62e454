"""With a transaction id in each row, recover looks only at rows that the
checkpoint does not cover (P1, P9)."""

import pytest

from harness import KafkaReader, Outbox, Postgres, Store, verify, wait_until
from harness.matrix import long_only


_COLUMN = "transaction_id"
_OUTBOX = {"tables": [{"name": "public.outbox",
                       "state": {"transaction_id": _COLUMN}}]}


@pytest.fixture
def outbox(database, topics):
    return _make_outbox(database, topics)


@pytest.fixture(params=["kafka", "postgres", *long_only("file")])
def store(request, directory, database, kafka, topics):
    return Store(request.param, directory, database, kafka, topics)


@pytest.fixture
def file_store(directory, database, kafka, topics):
    return Store("file", directory, database, kafka, topics)


def _make_outbox(database, topics):
    made = Outbox(database, topics)
    database.execute(f"alter table outbox add column {_COLUMN} xid8 not null "
                     "default pg_current_xact_id()")
    return made


def _fill(database, rows):
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select 'order', 'row-' || n % 100, to_jsonb(n) "
        f"from generate_series(1, {rows}) n")


def _drop(database):
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))


def _next_transaction(database):
    return int(database.value(
        "select pg_snapshot_xmax(pg_current_snapshot())::text"))


def _wait_horizon(database, store, transaction):
    """Until the checkpoint covers all before `transaction`."""
    def covers():
        database.execute("select pg_logical_emit_message(true, 'none', 'x')")
        stored = store.read()
        return stored is not None and stored.horizon >= transaction

    wait_until(covers, f"a horizon at {transaction}", seconds=120)


def _read(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _dry_run(relay, *arguments):
    dry = relay.verb("recover", "--dry-run", *arguments)
    assert dry.returncode == 0, dry.stderr
    return dry.stdout


def _judge(relay, database, kafka, outbox, topics, recovered):
    relay.run()
    _fill(database, 10)
    database.wait_confirmed(database.name)
    records = _read(kafka, topics)
    assert sorted(record.id for record in records) == sorted(
        event.id for event in outbox.expected()), "each one once"
    assert len([record for record in records
                if record.is_recovered]) == recovered
    assert verify(relay)["clean"]
    assert relay.stop() == 0


@pytest.mark.sample(2)
def test_p9_only_rows_after_the_horizon_are_looked_at(
        walpost, database, kafka, outbox, topics, store):
    relay = walpost(database, kafka, topics, outbox=_OUTBOX,
                    checkpoint=store.section).run()
    _fill(database, 500)
    covered = _next_transaction(database)
    _wait_horizon(database, store, covered)
    assert relay.stop() == 0
    _fill(database, 300)
    _drop(database)
    _fill(database, 20)
    relay.start()
    relay.wait_unready(r"\[slot_missing\]")
    assert relay.stop() == 0
    said = _dry_run(relay)
    assert f"range: rows of transaction {store.read().horizon} and later" in said
    assert "320 rows looked at, 320 are not published; nothing was done" in said
    assert "820 rows looked at, 320 are not" in _dry_run(relay, "--all")
    mended = relay.verb("recover")
    assert mended.returncode == 0, mended.stderr
    assert "320 rows looked at, 320 published" in mended.stdout
    _judge(relay, database, kafka, outbox, topics, recovered=320)


@pytest.mark.long
def test_p9_what_kafka_has_deleted_is_not_published_again(
        walpost, database, kafka, outbox, topics, file_store):
    """Which a comparison with Kafka alone cannot know."""
    relay = walpost(database, kafka, topics, outbox=_OUTBOX,
                    checkpoint=file_store.section).run()
    _fill(database, 200)
    _wait_horizon(database, file_store, _next_transaction(database))
    assert relay.stop() == 0
    for topic in {record.topic for record in _read(kafka, topics)}:
        kafka.delete_topic(topic)
    wait_until(lambda: not _read(kafka, topics), "the records to be gone")
    _fill(database, 30)
    _drop(database)
    assert "230 are not published" in _dry_run(relay, "--all")
    mended = relay.verb("recover")
    assert mended.returncode == 0, mended.stderr
    assert "30 rows looked at, 30 published" in mended.stdout
    assert len(_read(kafka, topics)) == 30


@pytest.mark.long
def test_p1_a_transaction_that_commits_late_is_not_lost(
        walpost, database, kafka, outbox, topics, file_store):
    """Its id is lower than those of a thousand rows that were delivered."""
    relay = walpost(database, kafka, topics, outbox=_OUTBOX,
                    checkpoint=file_store.section).run()
    with database.transaction() as cursor:
        late = outbox.insert("order", "late", cursor=cursor)
        cursor.execute("select pg_current_xact_id()::text")
        transaction = int(cursor.fetchone()[0])
        for _ in range(5):
            _fill(database, 200)
        _wait_horizon(database, file_store, transaction)
        database.wait_confirmed(database.name)
        assert relay.stop() == 0
        assert file_store.read().horizon == transaction
        _drop(database)
    said = _dry_run(relay)
    assert "1001 rows looked at, 1 are not published" in said
    mended = relay.verb("recover")
    assert mended.returncode == 0, mended.stderr
    assert late in {record.id for record in _read(kafka, topics)}
    _judge(relay, database, kafka, outbox, topics, recovered=1)


@pytest.mark.long
def test_p1_a_restored_server_gives_ids_out_again(walpost, directory, kafka,
                                                  topics):
    """Rows below the horizon were never delivered: it does not hold there."""
    server = Postgres(directory / "postgres").start()
    try:
        database = server.create_database()
        outbox = _make_outbox(database, topics)
        store = Store("file", directory, database, kafka, topics)
        relay = walpost(database, kafka, topics, outbox=_OUTBOX,
                        checkpoint=store.section).run()
        _fill(database, 10)
        database.wait_confirmed(database.name)
        assert relay.stop() == 0
        server.backup(directory / "backup")
        relay.run()
        for _ in range(20):
            _fill(database, 10)
        _wait_horizon(database, store, _next_transaction(database))
        assert relay.stop() == 0
        horizon = store.read().horizon
        server.restore(directory / "backup")
        _drop(database)
        written = 0
        while _next_transaction(database) < horizon + 10:
            _fill(database, 1)
            written += 1
        database.execute("create table filler as select repeat('x', 1000) "
                         "from generate_series(1, 5000)")
        said = _dry_run(relay)
        assert "range: all rows: the server was restarted" in said
        assert f"{written} are not published" in said
        mended = relay.verb("recover")
        assert mended.returncode == 0, mended.stderr
        assert f"{written} published" in mended.stdout
        relay.run()
        _fill(database, 10)
        database.wait_confirmed(database.name)
        found = {record.id for record in _read(kafka, topics)}
        assert {event.id for event in outbox.expected()} <= found
        relay.close()
    finally:
        server.close()


@pytest.mark.long
def test_a_table_without_the_column_is_named(walpost, database, kafka, topics,
                                             file_store):
    outbox = _make_outbox(database, topics)
    relay = walpost(database, kafka, topics, outbox=_OUTBOX,
                    checkpoint=file_store.section).run()
    outbox.insert("order", "order-1")
    _wait_horizon(database, file_store, _next_transaction(database))
    assert relay.stop() == 0
    database.execute(f"alter table outbox drop column {_COLUMN}")
    checked = relay.verb("check")
    assert f"has no column {_COLUMN} of type xid8" in checked.stdout
    assert 'ADD COLUMN "transaction_id" xid8' in checked.stdout
    refused = relay.verb("recover", "--dry-run")
    assert refused.returncode == 3
    assert f"table public.outbox has no column {_COLUMN}" in refused.stderr
    assert "1 rows looked at, 0 are not" in _dry_run(
        relay, "--all", "--order-by", "sequence")
