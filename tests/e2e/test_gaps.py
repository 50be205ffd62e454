"""P9: a gap is found by evidence, stays named until an operator acts, and
nothing goes out or is confirmed meanwhile."""

import contextlib
import re
import signal
import time

import psycopg2
import pytest

from harness import (Checker, KafkaReader, Outbox, checkpoint_section,
                     wait_until)
from harness.matrix import pairs, values


_ROWS = 40


def _write(outbox, name, count=_ROWS):
    for number in range(count):
        outbox.insert("order", f"{name}-{number % 5}")


def _judge(outbox, broker, topics, lost=()):
    """Every row of the database is in Kafka; `lost` the database lost."""
    records = [record for record in KafkaReader(broker.bootstrap).read_all(
        topics) if not record.topic.endswith("checkpoint")]
    ids = {record.id for record in records}
    missing = [row.id for row in outbox.expected() if row.id not in ids]
    assert not missing, f"{len(missing)} rows are not in Kafka"
    assert len(records) >= len(outbox.expected()) + len(lost)


def _assert_held(relay, database, codes, stands=None):
    """The gap is named, and stays over writes and a restart."""
    pattern = "|".join(re.escape(f"[{code}]") for code in codes)
    reason = relay.wait_unready(pattern)
    assert "walpost recover" in reason
    if stands is not None:
        assert database.confirmed_lsn(relay.slot) == stands
    return reason


# ---- Restored snapshots of the volume: the same timeline, the same slot.

_RESTORES = values(
    store=["none", "file", "kafka"],
    state=["running", "stopped"],
    wal=["behind", "crossing"],
    # Without a store a process that was stopped knows nothing of before.
    unless=lambda case: case["store"] == "none" and case["state"] == "stopped")


@pytest.mark.parametrize("case", _RESTORES, ids=str)
@pytest.mark.sample(4)
def test_p1_p9_a_restored_snapshot_is_held(
        walpost, own_postgres, own_database, kafka, topics, directory, case):
    outbox = Outbox(own_database, topics)
    sections = checkpoint_section(case["store"], directory, topics)
    relay = walpost(own_database, kafka, topics, **sections).run()
    _write(outbox, "before")
    own_database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    own_postgres.backup(directory / "backup")
    relay.run()
    _write(outbox, "lost")
    own_database.wait_confirmed(relay.slot)
    confirmed = own_database.confirmed_lsn(relay.slot)
    if case["state"] == "running":
        relay.send(signal.SIGSTOP)
    else:
        assert relay.stop() == 0
    own_postgres.restore(directory / "backup")
    if case["wal"] == "crossing":
        while own_database.current_lsn() <= confirmed + (1 << 16):
            _write(outbox, "forked")
    if case["state"] == "running":
        relay.send(signal.SIGCONT)
    else:
        relay.start()
    codes = ("server_behind", "wal_forked")
    _assert_held(relay, own_database, codes)
    _write(outbox, "later")
    while own_database.current_lsn() <= confirmed + (1 << 17):
        _write(outbox, "later")
    relay.wait_looked()
    _assert_held(relay, own_database, codes)
    slot = own_database.confirmed_lsn(relay.slot)
    assert relay.stop() == 0
    # The role of the tests owns the publication: the record keeps it, too.
    relay.start()
    _assert_held(relay, own_database, codes, stands=slot)
    assert relay.stop() == 0
    recovered = relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    relay.run()
    _write(outbox, "after")
    own_database.wait_confirmed(relay.slot)
    _judge(outbox, kafka, topics)
    assert relay.stop() == 0


@pytest.mark.long
def test_p5_a_crash_of_postgres_is_no_gap(walpost, own_postgres, own_database,
                                          kafka, topics, directory):
    """It forgets what was confirmed, but nothing that was committed."""
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics,
                    **checkpoint_section("file", directory, topics)).run()
    for _ in range(3):
        _write(outbox, "some")
        own_database.wait_confirmed(relay.slot)
        own_postgres.crash()
        own_postgres.start()
        relay.wait_ready(30)
    assert relay.stop() == 0
    own_postgres.crash()
    own_postgres.start()
    relay.run()
    _write(outbox, "after")
    own_database.wait_confirmed(relay.slot)
    checker = Checker(outbox.expected(),
                      KafkaReader(kafka.bootstrap).read_all(topics))
    checker.assert_clean()
    assert checker.duplicates == 0
    assert relay.stop() == 0


# ---- A gap that was named stays named.

@pytest.mark.long
def test_p9_a_slot_that_is_made_again_does_not_end_the_gap(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    database.execute("select pg_terminate_backend(active_pid) from "
                     "pg_replication_slots where slot_name = %s",
                     (relay.slot,))
    _drop_slot(database, relay.slot)
    _assert_held(relay, database, ["slot_missing"])
    _write(outbox, "lost")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (relay.slot,))
    made = database.confirmed_lsn(relay.slot)
    relay.wait_looked()
    _assert_held(relay, database, ["slot_missing"], stands=made)
    assert relay.stop() == 0
    relay.start()
    _assert_held(relay, database, ["slot_missing"], stands=made)
    assert relay.stop() == 0
    recovered = relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    relay.run()
    _judge(outbox, kafka, topics)


def _drop_slot(database, slot):
    def dropped():
        try:
            database.execute("select pg_drop_replication_slot(%s)", (slot,))
        except psycopg2.errors.ObjectInUse:
            database.execute(
                "select pg_terminate_backend(active_pid) from "
                "pg_replication_slots where slot_name = %s", (slot,))
            return False
        return True

    wait_until(dropped, "the slot to be dropped", pause=0.01)


# ---- Windows in which the publication sends nothing.

# What makes the window, what writes in it, what ends it.
_WINDOWS = {
    "dropped_and_added": (
        "alter publication walpost drop table outbox", "outbox",
        "alter publication walpost add table outbox"),
    "publishes_other_changes": (
        "alter publication walpost set (publish = 'update')", "outbox",
        "alter publication walpost set (publish = 'insert')"),
    "made_again": (
        "drop publication walpost", "outbox",
        "create publication walpost for table outbox with (publish = 'insert', "
        "publish_via_partition_root = true)"),
    "renamed": ("alter table outbox rename to away", "away",
                "alter table away rename to outbox"),
    "moved": ("create schema elsewhere; alter table outbox set schema "
              "elsewhere", "elsewhere.outbox",
              "alter table elsewhere.outbox set schema public"),
    "child": ("create table child () inherits (outbox)", "child", "select 1"),
}
_FILTERED = ("alter publication walpost set table outbox where (false)", "outbox",
             "select 1")


def _window(database, name):
    begin, table, end = _FILTERED if name == "filtered" else _WINDOWS[name]
    with contextlib.closing(database.connect()) as connection:
        with connection.cursor() as cursor:
            cursor.execute(begin)
            if table is not None:
                cursor.execute(
                    f"insert into {table} (aggregate_type, aggregate_id, "
                    "payload) select 'order', 'window', '{}' from "
                    "generate_series(1, 7)")
            cursor.execute(end)


_BLIND = pairs(window=[*_WINDOWS, "filtered"], state=["running", "stopped"],
               store=["none", "file"],
               always=[{"window": window, "state": state, "store": "none"}
                       for window, state in (("dropped_and_added", "running"),
                                             ("renamed", "running"),
                                             ("filtered", "stopped"))])


@pytest.mark.parametrize("case", _BLIND, ids=str)
@pytest.mark.sample(3)
def test_p1_p9_rows_that_the_publication_did_not_send(
        walpost, database, kafka, outbox, topics, directory, case):
    if case["window"] == "filtered" and database.major() < 15:
        return
    relay = walpost(database, kafka, topics,
                    **checkpoint_section(case["store"], directory, topics)).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    if case["state"] == "stopped":
        assert relay.stop() == 0
    _window(database, case["window"])
    outbox.insert("order", "behind")
    if case["state"] == "stopped":
        relay.start()
    reason = relay.wait_unready(
        r"\[coverage_changed\]|\[table_unsuitable\]|\[publication_missing\]|"
        r"publication .* does not exist")
    assert reason
    assert relay.stop() == 0
    relay.start()
    relay.wait_unready("stuck")
    assert relay.stop() == 0
    # A row that cannot be delivered is no gap: its slot is in order. So is one
    # whose record went with the publication.
    is_gap = "[coverage_changed]" in reason or "[publication_missing]" in reason
    force = [] if is_gap else ["--force"]
    recovered = relay.verb("recover", *force, "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    if case["window"] in ("child", "filtered"):
        return  # they last until somebody ends them
    relay.run()
    outbox.insert("order", "after")
    database.wait_confirmed(relay.slot)
    _judge(outbox, kafka, topics)
    assert relay.stop() == 0


@pytest.mark.long
def test_changes_that_keep_every_row_are_no_gap(walpost, database, kafka,
                                                outbox, topics, directory):
    relay = walpost(database, kafka, topics,
                    **checkpoint_section("file", directory, topics)).run()
    outbox.insert("order", "before")
    for change in (
            "alter table outbox add column more text",
            "create index on outbox (aggregate_id)",
            "grant select on outbox to public",
            "alter table outbox set (fillfactor = 90)",
            "create table unrelated (n integer)",
            "alter publication walpost add table unrelated",
            "alter publication walpost drop table unrelated",
            "analyze outbox", "vacuum full outbox", "truncate truth, outbox"):
        database.execute(change)
        outbox.insert("order", "between")
    relay.wait_looked()
    assert relay.get("/readyz")[0] == 200, relay.get("/readyz")
    assert relay.stop() == 0
    relay.run()
    outbox.insert("order", "after")
    database.wait_confirmed(relay.slot)
    _judge(outbox, kafka, topics)
    assert relay.stop() == 0


# What happens to the publication, and whether rows may be missing.
_OWNERS = {
    "another owner": (["owner to walpost_owner"], False),
    "another owner, twice": (["owner to walpost_owner", "owner to "
                              "walpost_other"], False),
    "the superuser": (["owner to postgres"], False),
    "altered and back": (["set (publish = 'update')",
                          "set (publish = 'insert')"], True),
    "altered after it": (["owner to walpost_owner",
                          "set (publish = 'update')",
                          "set (publish = 'insert')"], True),
}


@pytest.mark.parametrize("case", values(
    change=list(_OWNERS), state=("running", "stopped", "made"),
    store=("none", "file", "postgres", "kafka")), ids=str)
@pytest.mark.long
def test_p9_another_owner_is_no_gap(walpost, database, kafka, outbox, topics,
                                    directory, case):
    changes, is_gap = _OWNERS[case["change"]]
    for role in ("walpost_owner", "walpost_other"):
        database.execute(f"do $$ begin create role {role}; exception when "
                         "duplicate_object then null; end $$")
    relay = walpost(database, kafka, topics,
                    **checkpoint_section(case["store"], directory, topics))
    if case["change"] == "the superuser":  # who has it at first
        database.execute("create publication walpost for table outbox with "
                         "(publish = 'insert'); alter publication walpost "
                         "owner to walpost_owner")
    if case["state"] == "made":
        assert relay.verb("init").returncode == 0
    else:
        relay.run()
        outbox.insert("order", "before")
        database.wait_confirmed(relay.slot)
    if case["state"] == "stopped":
        assert relay.stop() == 0
    for change in changes:
        database.execute(f"alter publication walpost {change}")
        time.sleep(1)
    if case["state"] != "running":
        checked = relay.verb("check")
        assert ("coverage_changed" in checked.stdout) == is_gap, checked.stdout
        relay.start()
    if is_gap:
        relay.wait_unready(r"\[coverage_changed\]")
        return
    relay.wait_ready()
    outbox.insert("order", "after")
    database.wait_confirmed(relay.slot)
    relay.wait_looked()
    assert relay.get("/readyz")[0] == 200, relay.get("/readyz")
    _judge(outbox, kafka, topics)
    assert relay.stop() == 0
    if case["state"] != "running":
        assert "another owner" in relay.log()
        relay.run()
        assert "another owner" not in relay.log()  # that is on record by now


# ---- A slot is not made where nobody would know that there was one.

@pytest.mark.long
def test_p9_a_role_that_owns_nothing_makes_no_slot(walpost, database, kafka,
                                                   outbox, topics):
    role = database.name
    database.execute(f"create role {role} login replication")
    database.execute("create publication walpost for table outbox with "
                     "(publish = 'insert')")
    relay = walpost(database, kafka, topics,
                    postgres={"conninfo": database.conninfo(role)})
    outbox.insert("order", "before")
    relay.start()
    assert relay.wait_exit() == 3
    assert "walpost init" in relay.log()
    assert database.confirmed_lsn(relay.slot) is None
    database.execute(f"drop role {role}")


# ---- Kafka.

def test_p9_another_kafka_behind_the_same_configuration(
        walpost, database, kafka, own_kafka, outbox, topics, directory):
    sections = checkpoint_section("file", directory, topics)
    relay = walpost(database, kafka, topics, **sections).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    outbox.insert("order", "behind")
    other = walpost(database, own_kafka, topics, **sections)
    other.start()
    stands = database.confirmed_lsn(relay.slot)
    reason = _assert_held(other, database, ["kafka_replaced"], stands=stands)
    assert "cluster" in reason
    assert not [topic for topic in KafkaReader(own_kafka.bootstrap).topics(
        topics) if not topic.endswith("checkpoint")]
    assert other.stop() == 0
    recovered = other.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    other.run()
    database.wait_confirmed(relay.slot)
    _judge(outbox, own_kafka, topics)


def _stored(store, database, broker, directory, topics):
    """What is stored of the checkpoint, as bytes."""
    if store == "file":
        return (directory / "checkpoint").read_bytes()
    if store == "kafka":
        return KafkaReader(broker.bootstrap).read(topics + "checkpoint")[-1].value
    return database.value(
        "select kafka_topics from walpost_checkpoint").encode()


def _make_topic_again(broker, topic, partitions=1):
    broker.delete_topic(topic)
    wait_until(lambda: topic not in KafkaReader(broker.bootstrap).topics(topic),
               "the topic to be gone", pause=0.3)
    if partitions:
        broker.create_topic(topic, partitions)


@pytest.mark.parametrize("case", values(
    store=["file", "kafka", "postgres"], mended_by=["recover", "accept"]), ids=str)
@pytest.mark.sample(3)
def test_p1_p9_a_topic_that_was_made_again_while_walpost_was_stopped(
        walpost, database, kafka, outbox, topics, directory, case):
    topic, store, mended_by = topics + "order", case["store"], case["mended_by"]
    relay = walpost(database, kafka, topics,
                    **checkpoint_section(store, directory, topics)).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    wait_until(lambda: topic.encode() in _stored(
        store, database, kafka, directory, topics), "the id of the topic")
    assert relay.stop() == 0
    _make_topic_again(kafka, topic)
    outbox.insert("order", "behind")
    stands = database.confirmed_lsn(relay.slot)
    relay.start()
    assert topic in _assert_held(relay, database, ["kafka_replaced"],
                                 stands=stands)
    assert relay.stop() == 0
    assert not KafkaReader(kafka.bootstrap).read(topic)
    relay.start()
    _assert_held(relay, database, ["kafka_replaced"], stands=stands)
    assert relay.stop() == 0
    words = (["--accept"] if mended_by == "accept" else
             ["--order-by", "sequence"])
    mended = relay.verb("recover", *words)
    assert mended.returncode == 0, mended.stdout + mended.stderr
    relay.run()
    outbox.insert("order", "after")
    database.wait_confirmed(relay.slot)
    if mended_by == "recover":
        _judge(outbox, kafka, topics)
    wait_until(lambda: topic.encode() in _stored(
        store, database, kafka, directory, topics), "the id of the new topic")
    assert relay.stop() == 0
    relay.run()


@pytest.mark.long
def test_p1_p9_a_topic_that_was_deleted_and_that_the_broker_makes_again(
        walpost, database, kafka, outbox, topics, directory):
    """With the first record to it: what went there is published again."""
    topic = topics + "order"
    relay = walpost(database, kafka, topics,
                    **checkpoint_section("file", directory, topics)).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    wait_until(lambda: topic.encode() in _stored(
        "file", database, kafka, directory, topics), "the id of the topic")
    assert relay.stop() == 0
    _make_topic_again(kafka, topic, partitions=0)
    relay.run()
    outbox.insert("order", "behind")
    _assert_held(relay, database, ["kafka_replaced"])
    assert relay.stop() == 0
    recovered = relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    relay.run()
    _judge(outbox, kafka, topics)


@pytest.mark.long
def test_p9_a_topic_that_is_made_again_while_nothing_goes_there(
        walpost, database, kafka, outbox, topics, directory):
    topic = topics + "order"
    relay = walpost(database, kafka, topics,
                    **checkpoint_section("file", directory, topics)).run()
    _write(outbox, "before")
    database.wait_confirmed(relay.slot)
    wait_until(lambda: topic.encode() in _stored(
        "file", database, kafka, directory, topics), "the id of the topic")
    assert relay.stop() == 0
    relay.run()
    _make_topic_again(kafka, topic)
    reason = relay.wait_unready(r"\[kafka_replaced\]", 45)
    assert topic in reason
