"""Retention of tables that are polled: by their state, or by the cursor."""

import random
import re
import secrets
import threading
import time

import pytest

from harness import KafkaReader, note
from harness.matrix import long_only
from harness.polled import EVENTS, PolledOutbox, events_sections
from harness.waiting import wait_until


def _sections(retention=None, **polling):
    return {**events_sections(**polling),
            "retention": retention or {"batch_rows": 30, "pause": "0ms"}}


@pytest.fixture
def events(database):
    database.execute(EVENTS)
    return database


def _insert(database, rows, age="8 days", cursor=None):
    """Returns the ids."""
    statement = ("insert into events (aggregate_id, created_at) select 'a' || "
                 "n %% 5, now() - %s::interval from generate_series(1, %s) n "
                 "returning id::text")
    if cursor is None:
        return {row[0] for row in database.execute(statement, (age, rows))}
    cursor.execute(statement, (age, rows))
    return {row[0] for row in cursor.fetchall()}


def _ids(database):
    return {row[0] for row in database.execute("select id::text from events")}


def _pruned(relay, code=0):
    said = relay.verb("prune", "--older-than", "7d", seconds=180)
    assert said.returncode == code, said.stdout + said.stderr
    return said.stdout + said.stderr


def _wait_published(relay, reader, topics, ids):
    wait_until(lambda: ids <= {r.id for r in reader.read_all(topics)},
               lambda: f"all rows to be published\n{relay.log()}", 60)


def _wait_passed(database, relay):
    """Waits until the stored cursor has passed all rows that are there."""
    wait_until(
        lambda: database.value(
            "select coalesce(bool_and(e.transaction_id < c.window_from), "
            "false) from events e, walpost_cursor c"),
        lambda: f"the cursor to pass all rows\n{relay.log()}", 30)


def _insert_and_send(database, relay, reader, topics, rows):
    """Returns the ids, which the stored cursor has passed."""
    sent = _insert(database, rows)
    _wait_published(relay, reader, topics, sent)
    _wait_passed(database, relay)
    return sent


def test_p1_what_the_cursor_has_not_passed_stays_whatever_its_age(
        events, walpost, kafka, topics, reader):
    relay = walpost(events, kafka, topics, **_sections()).run()
    sent = _insert(events, 250)
    young = _insert(events, 50, "6 days")
    _wait_published(relay, reader, topics, sent | young)
    _wait_passed(events, relay)
    assert relay.stop() == 0
    unsent = _insert(events, 100)

    dry = relay.verb("prune", "--older-than", "7d", "--dry-run").stdout
    assert "250 rows would be deleted, 100 as old are kept" in dry
    assert _ids(events) == sent | young | unsent
    said = _pruned(relay)
    assert "250 rows deleted, 100 as old are kept" in said
    assert _ids(events) == young | unsent

    relay.run()
    _wait_published(relay, reader, topics, unsent)
    _wait_passed(events, relay)
    assert "100 rows deleted" in _pruned(relay)
    assert _ids(events) == young


@pytest.mark.long
def test_p1_a_late_commit_stays_until_the_cursor_has_been_there(
        events, walpost, kafka, topics, reader):
    """It has the lowest place of all, and is the oldest by its own account."""
    relay = walpost(events, kafka, topics, **_sections()).run()
    _insert_and_send(events, relay, reader, topics, 10)
    with events.transaction() as cursor:
        late = _insert(events, 1, "30 days", cursor)
        behind = _insert(events, 10)
        assert "10 rows deleted, 10 as old are kept" in _pruned(relay)
        assert _ids(events) == behind
        cursor.connection.commit()
        relay.kill()  # perhaps before it has seen that commit
        left = _ids(events)
        assert left == late | behind
        published = {r.id for r in reader.read_all(topics)}
        _pruned(relay)
        assert left - _ids(events) <= published
    relay.run()
    _wait_published(relay, reader, topics, late | behind)
    _wait_passed(events, relay)
    _pruned(relay)
    assert not _ids(events)


@pytest.mark.long
def test_p1_the_stored_position_decides_row_by_row(
        events, walpost, kafka, topics):
    """Nobody polls here: the position is written by hand, in a window."""
    first = _insert(events, 5)
    with events.transaction() as cursor:
        window = _insert(events, 10, cursor=cursor)
    beyond = _insert(events, 5)
    order = [row[0] for row in events.execute(
        "select id::text from events order by seq")]
    relay = walpost(events, kafka, topics, **_sections())
    assert "there is no cursor table public.walpost_cursor" in _pruned(
        relay, code=3)
    relay.run()
    relay.kill()
    events.execute("delete from walpost_cursor")
    assert "0 rows deleted, 20 as old are kept" in _pruned(relay)

    xid, = events.execute("select distinct transaction_id::text from events "
                          "where id::text = any(%s)", (list(window),))[0]
    place = events.value("select seq from events where id::text = %s",
                         (order[9],))
    events.execute(
        "insert into walpost_cursor values ('public.events', (select "
        "system_identifier from pg_control_system()), %s::text::xid8, "
        "(%s::bigint + 1)::text::xid8, %s)", (xid, xid, place))
    assert "10 rows deleted, 10 as old are kept" in _pruned(relay)
    assert _ids(events) == set(order[10:])
    assert beyond <= _ids(events) and not first & _ids(events)


@pytest.mark.long
def test_a_cursor_of_another_cluster_proves_nothing(
        events, walpost, kafka, topics, reader):
    relay = walpost(events, kafka, topics, **_sections()).run()
    sent = _insert_and_send(events, relay, reader, topics, 20)
    relay.stop()
    events.execute("update walpost_cursor set system_identifier = '1'")
    assert "is of cluster 1" in _pruned(relay, code=1)
    assert _ids(events) == sent


def _load(database, insert, stop, written):
    """Transactions of a few rows, some of them rolled back or late."""
    seed = secrets.randbits(32)
    note(f"retention beside a load: seed {seed}")
    dice = random.Random(seed)
    while not stop.is_set():
        with database.transaction() as cursor:
            ids = insert(dice.randrange(1, 5), cursor)
            time.sleep(dice.random() / 20)
            if dice.random() < 0.1:
                cursor.connection.rollback()
            else:
                cursor.connection.commit()
                written.update(ids)


@pytest.mark.parametrize("strategy", ["cursor", *long_only("claim")])
@pytest.mark.long
def test_p1_run_prunes_beside_the_load_while_kafka_comes_and_goes(
        database, walpost, own_kafka, topics, strategy):
    retention = {"keep": "1s", "interval": "1s", "batch_rows": 50,
                 "pause": "10ms"}
    if strategy == "cursor":
        database.execute(EVENTS)
        sections, table = _sections(retention), "events"
    else:
        polled = PolledOutbox(database)
        sections, table = polled.sections(), "outbox"
        sections["retention"] = retention
    relay = walpost(database, own_kafka, topics, **sections).run()
    reader = KafkaReader(own_kafka.bootstrap)

    def insert(rows, cursor):
        cursor.execute(
            f"insert into {table} (aggregate_type, aggregate_id, payload, "
            "created_at) select 'order', 'a' || n, '1', now() - interval "
            "'1 day' from generate_series(1, %s) n returning id::text",
            (rows,))
        return [row[0] for row in cursor.fetchall()]

    stop, written = threading.Event(), set()
    writers = [threading.Thread(target=_load,
                                args=(database, insert, stop, written))
               for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        relay.wait_log("rows deleted", seconds=60)
        own_kafka.kill()
        relay.wait_unready("(reachable|acknowledged)", 60)
        waiting = len(written)
        wait_until(lambda: len(written) > waiting + 50, "more load")
        own_kafka.start()
        relay.wait_ready(seconds=120)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    wait_until(lambda: database.value(f"select count(*) from {table}") == 0,
               lambda: f"everything to be deleted\n{relay.log()}", 120)
    assert written <= {record.id for record in reader.read_all(topics)}

    def counted():
        found = re.search(r'walpost_pruned_rows_total\{table="public\.'
                          + table + r'"\} (\d+)', relay.get("/metrics")[1])
        return int(found[1])

    wait_until(lambda: counted() == len(written),
               lambda: f"{counted()} rows to be counted, {len(written)}")
    assert relay.stop() == 0


@pytest.mark.long
def test_a_standby_leaves_the_rows_alone(
        events, walpost, kafka, topics, reader):
    first = walpost(events, kafka, topics, **_sections()).run()
    second = walpost(events, kafka, topics, **_sections(
        {"keep": "7d", "interval": "1s"})).start()
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               second.log, 30)
    sent = _insert_and_send(events, first, reader, topics, 20)
    time.sleep(5)  # five intervals
    assert _ids(events) == sent
    first.kill()
    wait_until(lambda: not _ids(events),
               lambda: f"the rows to go\n{second.log()}", 60)


@pytest.mark.long
def test_with_delete_there_is_nothing_to_prune(
        database, walpost, kafka, topics, reader):
    """What is in the table was not sent, however old it is."""
    database.execute(EVENTS)
    sections = _sections({"keep": "1s", "interval": "1s"}, strategy="delete")
    sections["outbox"]["tables"][0]["state"] = {}
    bad = database.value("insert into events (aggregate_type, aggregate_id, "
                         "created_at) values ('no topic', 'x', '2001-01-01') "
                         "returning id::text")
    relay = walpost(database, kafka, topics, **sections).run()
    sent = _insert(database, 20)
    _wait_published(relay, reader, topics, sent)
    relay.wait_log("1 old rows are kept: not known to be sent")
    assert _ids(database) == {bad}
