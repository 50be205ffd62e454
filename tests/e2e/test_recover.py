"""What the slot cannot give comes from the table: the initial snapshot, and
what a gap swallowed (P1, P9)."""

import json
import os
import re
import signal
import time

import pytest

from harness import (Checker, KafkaReader, Load, Outbox, Postgres, note,
                     verify, wait_until)
from harness.exactly_once import once


_ROWS = int(os.environ.get("WALPOST_SNAPSHOT_ROWS", "100000"))


# A thousand records a second at most: time to be killed in the middle.
_SLOW = {"delivery": {"max_in_flight_records": 200},
         "kafka": {"properties": {"linger.ms": "200"}}}


# The ids of the tests' outbox are random, which is not an order.
_ORDERED = {"tables": [{"name": "public.outbox", "order_by": "sequence"}]}


def _fill(database, rows):
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'row-' || n %% 100, to_jsonb(n), n + last "
        "from generate_series(1, %s) n, "
        "(select coalesce(max(sequence), 0) from outbox) rows (last)",
        (rows,))


def _read(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _marked(records, header):
    return [record for record in records if header in dict(record.headers)]


def _check_all_there(outbox, records):
    """All rows; what was deleted before a snapshot may be missing."""
    rows = {row[0] for row in outbox.database.execute(
        "select id::text from outbox")}
    found = {record.id for record in records}
    assert rows <= found
    assert found <= {event.id for event in outbox.expected()}


def test_p1_initial_snapshot_with_writers_and_a_crash(
        walpost, database, kafka, outbox, topics):
    _fill(database, _ROWS)
    sections = {"snapshot": "initial", "outbox": _ORDERED}
    slow = walpost(database, kafka, topics, **sections, **_SLOW)
    relay = walpost(database, kafka, topics, **sections)
    with Load(outbox, "snapshot", pause=0.01) as load:
        slow.start()
        wait_until(lambda: len(_read(kafka, topics)) > 100, "the first rows",
                   pause=0.2)
        slow.kill()
        born = database.confirmed_lsn(database.name)
        assert born is not None, "the slot comes first"
        first = len(_read(kafka, topics))
        begun = time.monotonic()
        relay.run(seconds=300)
        relay.wait_log("begins at", seconds=300)
        meanwhile = database.value(
            "select count(*) from outbox where sequence is not null") - _ROWS
        note(f"snapshot of {_ROWS} rows after {first}: "
             f"{time.monotonic() - begun:.1f} s")
        load.wait(100)
    database.wait_confirmed(database.name, seconds=120)
    records = _read(kafka, topics)
    _check_all_there(outbox, records)
    # No gap between the snapshot and the stream. The crash made the snapshot
    # start over; the second one shows what was committed since the slot was
    # made, which the stream repeats.
    assert len(records) - len(outbox.expected()) <= first + meanwhile
    assert verify(relay)["clean"]
    relay.kill()
    relay.run()
    time.sleep(1)
    assert "initial snapshot" not in relay.log()
    assert relay.stop() == 0


@pytest.mark.long
def test_initial_snapshot_of_an_empty_table_with_a_checkpoint(
        walpost, database, kafka, outbox, topics, directory):
    relay = walpost(
        database, kafka, topics, snapshot="initial", outbox=_ORDERED,
        checkpoint={"store": "file",
                    "path": str(directory / "checkpoint")}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    relay.run()
    outbox.insert("order", "order-2")
    database.wait_confirmed(database.name)
    records = _read(kafka, topics)
    Checker(outbox.expected(), records).assert_clean()
    assert len(records) == 2


def _drop(database):
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))


def _drop_and_make_again(database):
    _drop(database)
    _fill(database, 50)
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))


def _advance(database):
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (database.name,))


@pytest.mark.parametrize("make_gap, name", [
    (_drop, "slot_missing"),
    (_drop_and_make_again, "slot_advanced"),
    (_advance, "slot_advanced"),
], ids=["dropped", "dropped and made again", "advanced"])
@pytest.mark.sample(3)
def test_p9_recover_after_a_gap(walpost, database, kafka, outbox, topics,
                                directory, make_gap, name):
    relay = walpost(
        database, kafka, topics, outbox=_ORDERED,
        checkpoint={"store": "file",
                    "path": str(directory / "checkpoint")}).run()
    _fill(database, 200)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _fill(database, 300)
    make_gap(database)
    _fill(database, 20)
    lacking = len(outbox.expected()) - 200
    relay.start()
    relay.wait_unready(rf"\[{name}\].*walpost recover")
    assert relay.stop() == 0
    dry = relay.verb("recover", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert f"{lacking} are not published; nothing was done" in dry.stdout
    mended = relay.verb("recover")
    assert mended.returncode == 0, mended.stderr
    assert f"{lacking} published" in mended.stdout
    relay.run()
    _fill(database, 10)
    database.wait_confirmed(database.name)
    records = _read(kafka, topics)
    _check_all_there(outbox, records)
    assert len(_marked(records, "walpost-recovered")) == lacking
    assert len(records) == len(outbox.expected()), "none twice"
    assert verify(relay)["clean"]
    assert relay.stop() == 0


@pytest.mark.parametrize("mended_by", ["recover", "init --fresh"])
@pytest.mark.sample(2)
def test_p9_recover_after_the_slot_was_lost(walpost, directory, kafka, topics,
                                            mended_by):
    server = Postgres(directory / "postgres", settings={
        "max_slot_wal_keep_size": "16MB", "max_wal_size": "32MB",
        "wal_keep_size": "0"}).start()
    try:
        database = server.create_database()
        outbox = Outbox(database, topics)
        relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
        _fill(database, 200)
        database.wait_confirmed(database.name)
        assert relay.stop() == 0
        _fill(database, 100)
        database.execute("create table filler (text text)")
        for _ in range(8):
            database.execute("insert into filler select repeat('x', 1000) "
                             "from generate_series(1, 16000)")
            database.execute("checkpoint")
        relay.start()
        assert "--accept" not in relay.wait_unready(r"\[slot_lost\]")
        relay.stop()
        for verb in ("check", "init"):
            said = relay.verb(verb)
            assert said.returncode != 0
            text = said.stdout + said.stderr
            assert re.search("init -c .* --fresh", text) and "--accept" not in text, text
        mended = relay.verb(*mended_by.split())
        assert mended.returncode == 0, mended.stderr
        relay.run()
        _fill(database, 10)
        database.wait_confirmed(database.name)
        if mended_by != "recover":
            assert "was lost: dropped" in mended.stdout
            assert len(_read(kafka, topics)) == 210
            return
        assert "100 published" in mended.stdout
        _check_all_there(outbox, _read(kafka, topics))
        assert verify(relay)["clean"]
        relay.close()
    finally:
        server.close()


@pytest.mark.long
def test_p9_recover_can_start_over_after_a_crash(walpost, database, kafka,
                                                 outbox, topics):
    relay = walpost(database, kafka, topics).run()
    slow = walpost(database, kafka, topics, **_SLOW)
    _fill(database, 10)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _drop(database)
    _fill(database, 50000)
    recovering = slow.spawn("recover", "--order-by", "sequence")
    wait_until(lambda: len(_read(kafka, topics)) > 500, "recovered rows",
               pause=0.2)
    recovering.send(signal.SIGKILL)
    recovering.wait(10)
    assert database.confirmed_lsn(database.name) is None
    relay.start()
    relay.wait_unready(r"\[slot_missing\]")
    relay.stop()
    assert relay.verb("recover", "--order-by", "sequence",
                      seconds=120).returncode == 0
    relay.run()
    Checker(outbox.expected(), _read(kafka, topics)).assert_clean()
    assert verify(relay)["clean"]


@pytest.mark.long
def test_init_does_not_paper_over_a_gap(walpost, database, kafka, outbox,
                                        topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _drop(database)
    refused = relay.verb("init")
    assert refused.returncode == 3
    assert "walpost recover" in refused.stderr
    assert database.confirmed_lsn(database.name) is None
    assert relay.verb("init", "--fresh").returncode == 0
    relay.run()


@pytest.mark.long
def test_recover_knows_topics_that_only_the_rows_name(
        walpost, database, kafka, outbox, topics):
    """The template begins with a column."""
    relay = walpost(database, kafka, topics,
                    route={"topic": "{aggregate_type}"},
                    outbox=_ORDERED).run()
    for number in range(10):
        outbox.insert(topics + "order", f"order-{number}")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    outbox.insert(topics + "order", "order-10")
    said = relay.verb("recover", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert "11 rows looked at, 1 are not published" in said.stdout


def _swap(database):
    """A service takes a new table, under the name of the old one."""
    database.execute("alter table outbox rename to outbox_before")
    database.execute("create table outbox (like outbox_before including all)")
    database.execute("alter publication walpost add table outbox")


def _delete(database):
    database.execute("delete from outbox")
    database.execute("alter publication walpost drop table outbox")
    database.execute("alter publication walpost add table outbox")


@pytest.mark.parametrize("lose", [_swap, _delete], ids=["swapped", "deleted"])
@pytest.mark.long
def test_p1_recover_keeps_a_slot_with_what_no_table_has(
        walpost, database, kafka, outbox, topics, lose):
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    expected = {outbox.insert("order", "order-1") for _ in range(20)}
    lose(database)
    expected |= {outbox.insert("order", "order-1") for _ in range(10)}
    relay.start()
    relay.wait_unready(r"\[coverage_changed\].*walpost recover")
    relay.stop()
    dry = relay.verb("recover", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "has 20 events, which no table" in dry.stdout, dry.stdout
    assert len(_read(kafka, topics)) == 1, "nothing was published"
    said = relay.verb("recover")
    assert said.returncode == 0, said.stderr
    assert "has 20 events, which no table" in said.stdout, said.stdout
    assert re.search(r"id [0-9a-f-]{36} at 0/\S+, \.\.\.", said.stdout)
    relay.run()
    last = outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    found = [record.id for record in _read(kafka, topics)]
    assert expected | {last} <= set(found)
    assert len(found) == len(set(found)), "none twice"


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.long
def test_p1_recover_adds_to_a_kept_slot_what_it_lacks(
        walpost, database, kafka, outbox, topics, guarantee):
    """Rows that were committed while the publication did not have the table."""
    sections = once(topics) if guarantee == "exactly_once" else {}
    relay = walpost(database, kafka, topics, outbox=_ORDERED, **sections).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    expected = {outbox.insert("order", "order-1") for _ in range(3)}
    database.execute("delete from outbox")
    expected |= {outbox.insert("order", "order-1") for _ in range(3)}
    database.execute("alter publication walpost drop table outbox")
    withheld = {outbox.insert("order", "order-1") for _ in range(4)}
    database.execute("alter publication walpost add table outbox")
    expected |= withheld | {outbox.insert("order", "order-1")}
    relay.start()
    relay.wait_unready(r"\[coverage_changed\]")
    relay.stop()
    said = relay.verb("recover")
    assert said.returncode == 0, said.stderr
    assert "4 published" in said.stdout and "has 3 events" in said.stdout
    relay.run()
    database.wait_confirmed(database.name)
    records = _read(kafka, topics)
    found = [record.id for record in records]
    assert expected <= set(found) and len(found) == len(set(found))
    marked = {record.id for record in _marked(records, "walpost-recovered")}
    assert marked == withheld


@pytest.mark.parametrize("bad", [
    {"aggregate_type": "order", "headers": '["no object"]'},
    {"aggregate_type": "not legal!"}], ids=["headers", "topic"])
@pytest.mark.long
def test_p8_recover_that_keeps_a_slot_leaves_out_what_was_skipped(
        walpost, database, kafka, outbox, topics, bad):
    """A row that is still in the table, and an event that the slot has yet."""
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    skipped = outbox.insert(aggregate_id="order-1", **bad)
    relay.wait_unready("walpost skip")
    said = relay.verb("skip", json.loads(relay.get("/status")[1])[
        "stopped_position"], "--why", "a test")
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    expected = {outbox.insert("order", "order-1")}
    database.execute("delete from outbox where id <> %s", (skipped,))
    expected.add(outbox.insert("order", "order-1"))
    database.execute("alter publication walpost drop table outbox")
    database.execute("alter publication walpost add table outbox")
    relay.start()
    relay.wait_unready(r"\[coverage_changed\]")
    relay.stop()
    for words in (("--dry-run",), ()):
        said = relay.verb("recover", *words)
        assert said.returncode == 0, said.stderr
        assert "1 that an operator has skipped" in said.stdout
        assert "has 1 events, which no table" in said.stdout
    relay.run()
    database.wait_confirmed(database.name)
    assert {record.id for record in _read(kafka, topics)} == expected


@pytest.mark.long
def test_p1_recover_gives_up_what_only_the_slot_has_when_it_is_told_to(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    outbox.insert("order", "order-1")
    _delete(database)
    last = outbox.insert("order", "order-1")
    relay.start()
    relay.wait_unready(r"\[coverage_changed\]")
    relay.stop()
    said = relay.verb("recover", "--force")
    assert said.returncode == 0, said.stderr
    relay.run()
    database.wait_confirmed(database.name)
    assert last in {record.id for record in _read(kafka, topics)}


@pytest.mark.long
def test_p8_a_row_that_cannot_be_delivered_is_left_out_when_told_to(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _drop(database)
    outbox.insert("order", "order-1", sequence=1, headers='["no object"]')
    last = outbox.insert("order", "order-1", sequence=2)
    said = relay.verb("recover")
    assert said.returncode != 0
    option = re.search(r"--set \S+=skip", said.stderr)[0]
    said = relay.verb("recover", *option.split())
    assert said.returncode == 0, said.stderr
    assert "1 not deliverable" in said.stdout or "left out" in said.stdout
    relay.run()
    assert last in {record.id for record in _read(kafka, topics)}
