"""The stored LSN: written before it is confirmed, and refused when it does not
belong (P5, P9)."""

import json
import os
import re

import pytest

from harness import (Checker, KafkaReader, Load, Outbox, checkpoint_section,
                     lsn, verify, wait_until)


_STORES = ("file", "postgres", "kafka")


@pytest.fixture(params=_STORES)
def store(request, directory, topics):
    """The section `checkpoint` of each store."""
    return {"store": request.param, "interval": "200ms",
            "path": str(directory / "checkpoint"),
            "topic": topics + "checkpoint"}


@pytest.fixture
def file_store(directory):
    return {"store": "file", "interval": "50ms",
            "path": str(directory / "checkpoint")}


def _judge(outbox, broker, topics, capsys):
    outbox.database.wait_confirmed(outbox.database.name, seconds=120)
    records = [record for record in KafkaReader(broker.bootstrap).read_all(
        topics) if not record.topic.endswith("checkpoint")]
    checker = Checker(outbox.expected(), records)
    with capsys.disabled():
        print(checker.summary(), flush=True)
    checker.assert_clean()
    return checker


@pytest.mark.sample(3)
def test_p5_a_clean_end_sends_nothing_again(walpost, database, kafka, outbox,
                                            topics, store, capsys):
    relay = walpost(database, kafka, topics, checkpoint=store).run()
    for _ in range(3):
        for number in range(20):
            outbox.insert("order", f"order-{number}")
        assert relay.stop() == 0
        relay.run()
    assert _judge(outbox, kafka, topics, capsys).duplicates == 0


def _ordinal_of_checkpoint(relay):
    """That of the last event before it, in its transaction; None: none yet."""
    position = json.loads(relay.get("/status")[1])["checkpoint_position"]
    return int(position.split("/")[2]) if position else None


def test_p5_a_transaction_goes_on_in_its_middle(
        walpost, database, kafka, outbox, topics, file_store, capsys):
    relay = walpost(database, kafka, topics, checkpoint=file_store,
                    delivery={"max_in_flight_records": 100}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 100, to_jsonb(n), n "
        "from generate_series(1, 60000) n")
    end = database.current_lsn()
    ordinal = wait_until(lambda: _ordinal_of_checkpoint(relay),
                         "a checkpoint in its middle", pause=0.01)
    relay.kill()
    assert database.confirmed_lsn(database.name) < end, "it came too late"
    relay.run()
    checker = _judge(outbox, kafka, topics, capsys)
    assert checker.duplicates <= 60000 - ordinal


def test_a_checkpoint_that_cannot_be_written_confirms_nothing(
        walpost, database, kafka, outbox, topics, file_store, capsys):
    relay = walpost(database, kafka, topics, checkpoint=file_store).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    folder = os.path.dirname(file_store["path"])
    away = folder + "-away"
    os.rename(folder, away)
    try:
        with database.transaction() as cursor:
            outbox.insert("order", "order-2", cursor=cursor)
            limit = database.lsn_before_commit(cursor)
        assert "checkpoint" in relay.wait_unready("no checkpoint", seconds=30)
        assert database.confirmed_lsn(database.name) <= limit
        assert relay.metric("walpost_confirmed_lsn_bytes") <= limit
        assert relay.metric("walpost_lag_bytes") > 0
    finally:
        os.rename(away, folder)
    relay.wait_ready(30)
    _judge(outbox, kafka, topics, capsys)


# What the first release had: the others were added since.
_FIRST_COLUMNS = ("slot", "system_identifier", "timeline", "birth", "confirmed",
                  "commit_lsn", "ordinal", "written_at")


@pytest.mark.parametrize("lacking", ["the newest column", "all that were added"])
@pytest.mark.long
def test_p5_a_table_of_an_older_release(walpost, database, kafka, outbox, topics,
                                        lacking):
    relay = walpost(database, kafka, topics,
                    checkpoint={"store": "postgres"}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    columns = [name for name, in database.execute(
        "select attname from pg_attribute where attrelid = "
        "'walpost_checkpoint'::regclass and attnum > 0 order by attnum")]
    added = [name for name in columns if name not in _FIRST_COLUMNS]
    for name in added if lacking == "all that were added" else ["kafka_topics"]:
        database.execute(f"alter table walpost_checkpoint drop column {name}")
    relay.run()
    outbox.insert("order", "order-2")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 2
    assert {name for name, in database.execute(
        "select attname from pg_attribute where attrelid = "
        "'walpost_checkpoint'::regclass and attnum > 0 and not attisdropped"
        )} == set(columns)


# ---- What does not belong (P9).

@pytest.mark.long
def test_p9_a_slot_that_was_dropped_is_not_made_again(
        walpost, database, kafka, outbox, topics):
    """Without any store: the birth record knows."""
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    outbox.insert("order", "lost")
    relay.start()
    assert "walpost recover" in relay.wait_unready(re.escape("[slot_missing]"))
    assert relay.get("/healthz")[0] == 200
    assert database.confirmed_lsn(database.name) is None


@pytest.mark.long
def test_p9_a_slot_that_was_made_again(walpost, database, kafka, outbox,
                                       topics, store):
    relay = walpost(database, kafka, topics, checkpoint=store).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    outbox.insert("order", "lost")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    made = database.confirmed_lsn(database.name)
    relay.start()
    assert "walpost recover" in relay.wait_unready(re.escape("[slot_advanced]"))
    assert database.confirmed_lsn(database.name) == made


@pytest.mark.long
def test_p9_a_slot_that_somebody_advanced(walpost, database, kafka, outbox,
                                          topics, store):
    relay = walpost(database, kafka, topics, checkpoint=store).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    outbox.insert("order", "lost")
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (database.name,))
    relay.start()
    reason = relay.wait_unready(re.escape("[slot_advanced]"))
    assert "somebody else advanced" in reason


@pytest.mark.parametrize("kind, guarantee", [
    ("file", "at_least_once"), ("kafka", "at_least_once"),
    ("kafka", "exactly_once")])
@pytest.mark.sample(3)
def test_p9_another_cluster(walpost, database, own_database, kafka, topics,
                            directory, kind, guarantee):
    """Two databases share a checkpoint and the name of a slot: the second one
    stops, and writes nothing about itself under the name of the first."""
    sections = {**checkpoint_section(kind, directory, topics),
                "delivery": {"guarantee": guarantee}}
    Outbox(own_database, topics)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, **sections).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    foreign = walpost(own_database, kafka, topics, **sections,
                      postgres={"slot": database.name})
    foreign.start()
    foreign.wait_unready(re.escape("[other_cluster]"))
    assert own_database.confirmed_lsn(database.name) is None
    # It stays until an operator says so, also after a restart.
    foreign.kill()
    foreign.start()
    foreign.wait_unready(re.escape("[other_cluster]"))
    if kind == "file":
        foreign.stop()  # it has the file
    relay.run()
    outbox.insert("order", "order-2")
    database.wait_confirmed(database.name)
    relay.stop()
    relay.run()
    if kind == "kafka":
        foreign.wait_unready(re.escape("[other_cluster]"))
        foreign.stop()
        said = foreign.verb("init", "--fresh")
        assert said.returncode == 0, said.stderr
        said = foreign.verb("recover", "--accept")
        assert said.returncode == 0, said.stderr
        foreign.run()
        relay.stop()
        relay.run()
        outbox.insert("order", "order-3")
        database.wait_confirmed(database.name)


@pytest.mark.long
def test_p9_a_restored_backup(walpost, own_postgres, own_database, kafka,
                              topics, file_store, directory):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics, checkpoint=file_store).run()
    outbox.insert("order", "order-1")
    own_database.wait_confirmed(own_database.name)
    assert relay.stop() == 0
    own_postgres.backup(directory / "backup")
    relay.run()
    own_database.execute(
        "insert into outbox (aggregate_type, payload) select 'order', '{}' "
        "from generate_series(1, 1000)")
    own_database.wait_confirmed(own_database.name)
    assert relay.stop() == 0
    own_postgres.restore(directory / "backup")
    relay.start()
    relay.wait_unready(re.escape("[server_behind]"))
    assert relay.stop() == 0
    # Life goes on in the restored database, and walpost after it.
    for number in range(2, 12):
        outbox.insert("order", f"order-{number}")
    mended = relay.verb("recover", "--order-by", "sequence")
    assert mended.returncode == 0, mended.stderr
    assert "10 published" in mended.stdout
    relay.run()
    outbox.insert("order", "order-12")
    own_database.wait_confirmed(own_database.name)
    report = verify(relay)
    assert report["clean"] and report["found"].get("not_in_table") == 1000
    assert relay.stop() == 0


def test_a_damaged_checkpoint_is_refused(walpost, database, kafka, outbox,
                                         topics, file_store):
    relay = walpost(database, kafka, topics, checkpoint=file_store).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    with open(file_store["path"], "r+b") as file:
        file.seek(20)
        byte = file.read(1)
        file.seek(20)
        file.write(bytes([byte[0] ^ 1]))
    confirmed = database.confirmed_lsn(database.name)
    outbox.insert("order", "order-2")
    relay.start()
    relay.wait_unready(re.escape("[checkpoint_unreadable]"))
    assert database.confirmed_lsn(database.name) == confirmed


@pytest.mark.long
def test_standby_goes_on_from_the_checkpoint_of_the_first(
        walpost, database, kafka, outbox, topics, store, capsys):
    if store["store"] == "file":
        store = {**store, "store": "postgres"}
    first = walpost(database, kafka, topics, checkpoint=store).run()
    second = walpost(database, kafka, topics, checkpoint=store).start()
    second.wait_ready()
    with Load(outbox, "standby", pause=0.01) as load:
        first.wait_acknowledged(100)
        first.kill()
        wait_until(lambda: "streaming" in second.get("/readyz")[1],
                   "the standby to take over")
        second.wait_acknowledged(100)
        first.start()
        load.wait(100)
        second.kill()
        wait_until(lambda: "streaming" in first.get("/readyz")[1],
                   "the first to take over again")
        load.wait(100)
    _judge(outbox, kafka, topics, capsys)


def test_status_shows_what_is_stored(walpost, database, kafka, outbox, topics,
                                     store):
    relay = walpost(database, kafka, topics, checkpoint=store).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    status = json.loads(relay.get("/status")[1])
    assert {"file": "file ", "postgres": "table ", "kafka": "topic "}[
        store["store"]] in status["checkpoint_store"]
    assert lsn(status["checkpoint_lsn"]) >= lsn(
        status["checkpoint_position"].rsplit("/", 1)[0])
    assert lsn(status["restart_lsn"]) == lsn(status["checkpoint_lsn"])
