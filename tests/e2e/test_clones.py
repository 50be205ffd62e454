"""Servers that are copies of one another: clones that both run, and standbys
whose slot was brought there by others. Each is named, or nothing is missing."""

import contextlib
import copy
import re
import threading

import pytest

from harness import (Database, KafkaReader, Outbox, Postgres,
                     checkpoint_section, wait_until)
from harness.lsn import lsn
from harness.matrix import long_only


def _write(outbox, name, count=10):
    for number in range(count):
        outbox.insert("order", f"{name}-{number % 3}")


def _missing(kafka, topics, *outboxes):
    """Rows of any of the databases that Kafka does not have."""
    have = {record.id for record in KafkaReader(kafka.bootstrap).read_all(
        topics) if not record.topic.endswith("checkpoint")}
    return [row.id for outbox in outboxes for row in outbox.expected()
            if row.id not in have]


@pytest.fixture
def close_at_end():
    servers = []
    yield servers.append
    for server in servers:
        server.close()


# ---- A snapshot of the volume is started beside the server that it was taken of.

@pytest.mark.parametrize("store", ["kafka", *long_only("none")])
def test_p1_p9_a_clone_and_its_original_both_run(
        walpost, own_postgres, own_database, kafka, topics, directory,
        close_at_end, store):
    """With a walpost each, on the same topics and, where there is a store that
    both can reach, on the same checkpoint."""
    outbox = Outbox(own_database, topics)
    sections = checkpoint_section(store, directory, topics)
    relay = walpost(own_database, kafka, topics, **sections).run()
    _write(outbox, "before")
    own_database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    clone = own_postgres.clone(directory / "clone").start()
    close_at_end(clone)
    cloned_database = copy.copy(own_database)
    cloned_database.move_to(clone)
    cloned = outbox.on(cloned_database)
    relay.run()
    _write(outbox, "original", 30)
    own_database.wait_confirmed(relay.slot)
    _write(cloned, "clone", 20)
    other = walpost(cloned_database, kafka, topics, **sections)
    if store == "none":
        # Nobody could know, and nobody needs to: each slot sends its own rows.
        other.run()
        cloned_database.wait_confirmed(other.slot)
        assert not _missing(kafka, topics, outbox, cloned)
    else:
        # The checkpoint is ahead of the clone.
        other.start()
        stands = cloned_database.confirmed_lsn(other.slot)
        other.wait_unready(r"\[(server_behind|wal_forked)\]")
        assert cloned_database.confirmed_lsn(other.slot) == stands
        assert len(_missing(kafka, topics, cloned)) == 20
        assert relay.get("/readyz")[0] == 200
    _write(outbox, "later")
    own_database.wait_confirmed(relay.slot)
    assert not _missing(kafka, topics, outbox)
    assert relay.stop() == 0
    assert other.stop() == 0


# ---- Slots that are brought to a standby by others than the server.

def _either(primary, standby, database):
    return (f"host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port} "
            f"dbname={database.name} user=postgres "
            "target_session_attrs=read-write")


def _pair(directory, close_at_end, **bin_dir):
    primary = Postgres(directory / "primary", **bin_dir).start()
    close_at_end(primary)
    standby = primary.make_standby(directory / "standby", "standby")
    close_at_end(standby)
    return primary, standby


def _streaming(walpost, primary, standby, kafka, topics, **sections):
    """An outbox, and a walpost that has sent its first rows."""
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(
        database, kafka, topics, **sections,
        postgres={"conninfo": _either(primary, standby, database)}).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    return outbox, relay


def _wait_replayed(standby, end):
    wait_until(lambda: lsn(_value(
        standby, "select pg_last_wal_replay_lsn()::text")) >= end,
               "the standby to follow")


def _value(server, sql, *parameters, database=None):
    with contextlib.closing(server.connect(database)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchone()[0]


@pytest.mark.parametrize("store, state", [("none", "stopped"), *long_only(
    ("none", "running"), ("file", "running"), ("file", "stopped"))])
@pytest.mark.long
def test_p1_p9_a_slot_that_patroni_keeps_on_a_standby(
        walpost, kafka, topics, directory, close_at_end, store, state):
    """A permanent slot: its files are copied once, then it is advanced to what
    was confirmed on the primary, some seconds later."""
    primary, standby = _pair(directory, close_at_end)
    outbox, relay = _streaming(
        walpost, primary, standby, kafka, topics,
        **checkpoint_section(store, directory, topics))
    database = outbox.database
    database.execute("checkpoint")  # writes the slot's files
    standby.take_slot(relay.slot, primary)
    standby.start()
    _write(outbox, "advanced")
    database.wait_confirmed(relay.slot)
    confirmed = database.confirmed_lsn(relay.slot)
    _wait_replayed(standby, database.current_lsn())
    _value(standby, "select pg_replication_slot_advance(%s, %s::pg_lsn)::text",
           relay.slot, f"{confirmed >> 32:X}/{confirmed & 0xFFFFFFFF:X}",
           database=database.name)
    _write(outbox, "since")
    end = database.current_lsn()
    database.wait_confirmed(relay.slot)
    _wait_replayed(standby, end)
    if state == "stopped":
        assert relay.stop() == 0
    primary.crash()
    standby.promote()
    database.move_to(standby)
    _write(outbox, "after")
    if state == "stopped":
        relay.start()
    relay.wait_log("was promoted", seconds=60)
    # Without a store a process that was stopped knows where the slot was made,
    # and not how far it had come.
    if store == "none" and state == "stopped":
        text = relay.wait_unready(re.escape("[slot_not_kept]"))
        assert "walpost recover" in text
        assert relay.stop() == 0
        assert relay.verb("recover", "--order-by", "sequence").returncode == 0
        relay.run()
    else:
        relay.wait_ready(60)
    _write(outbox, "later")
    database.wait_confirmed(relay.slot)
    assert not _missing(kafka, topics, outbox)
    assert relay.stop() == 0


def _make_slot(standby, primary, name):
    """Which waits for what the primary says of its transactions."""
    making = threading.Thread(
        target=_value, kwargs={"database": name}, args=(
            standby,
            "select pg_create_logical_replication_slot(%s, 'pgoutput')::text",
            name))
    making.start()
    while making.is_alive():
        _value(primary, "select pg_log_standby_snapshot()::text")
        making.join(0.2)


@pytest.mark.parametrize("store", ["none", *long_only("file")])
@pytest.mark.long
def test_p9_a_slot_that_was_made_on_a_standby_ahead_of_us(
        walpost, major_17, kafka, topics, directory, close_at_end, store):
    primary, standby = _pair(directory, close_at_end, bin_dir=major_17)
    standby.start()
    outbox, relay = _streaming(
        walpost, primary, standby, kafka, topics,
        **checkpoint_section(store, directory, topics))
    database = outbox.database
    assert relay.stop() == 0
    _write(outbox, "missed")
    _wait_replayed(standby, database.current_lsn())
    _make_slot(standby, primary, database.name)
    primary.crash()
    standby.promote()
    database.move_to(standby)
    relay.start()
    text = relay.wait_unready(r"\[(slot_not_kept|slot_advanced)\]")
    assert "walpost recover" in text
    assert len(_missing(kafka, topics, outbox)) == 10
    assert relay.stop() == 0
    mended = relay.verb("recover", "--order-by", "sequence")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert not _missing(kafka, topics, outbox)
    relay.run()
    assert relay.stop() == 0
