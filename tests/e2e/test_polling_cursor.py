"""Strategy `cursor`: tables that are read and never written."""

import contextlib
import io
import json
import os
import pathlib
import random
import threading
import time

import pytest

from harness import KafkaReader, Postgres, wait_until
from harness.polled import EVENTS, assert_delivered, events_sections
from harness.sql_files import run_sql_file

# Of the race; the long form of the suite has 10,000.
_ROUNDS = int(os.environ.get("WALPOST_ROUNDS", "600"))


def _expected(database):
    return database.execute(
        "select id::text, aggregate_id, seq from events order by seq")


def _insert(database, count, first=0):
    database.execute("insert into events (aggregate_id) select 'a' || n %% 5 "
                     "from generate_series(%s, %s) n", (first, first + count))


def _wait_all(database, reader, topics, relay, most_duplicates=0, seconds=60):
    def published():
        ids = {record.id for record in reader.read_all(topics)}
        return {row[0] for row in _expected(database)} <= ids

    wait_until(published, lambda: f"all rows to be published\n{relay.log()}",
               seconds, pause=0.3)
    return assert_delivered(_expected(database), reader.read_all(topics),
                            most_duplicates)


def _naive_poller(database, stop, seen):
    """As people write it: the highest id that was seen, and on from there."""
    last = 0
    with contextlib.closing(database.connect()) as connection:
        with connection.cursor() as cursor:
            while not stop.is_set():
                cursor.execute("select seq from events where seq > %s "
                               "order by seq", (last,))
                for (seq,) in cursor.fetchall():
                    seen.add(seq)
                    last = seq


@pytest.mark.long
def test_the_backlog_is_counted_while_kafka_does_not_answer(
        database, walpost, own_kafka, topics):
    database.execute(EVENTS)
    relay = walpost(database, own_kafka, topics, **events_sections()).run()
    _insert(database, 5)
    _wait_all(database, KafkaReader(own_kafka.bootstrap), topics, relay)
    own_kafka.freeze()
    _insert(database, 3)
    wait_until(lambda: relay.metric("walpost_in_flight_records") > 0,
               "rows to be sent")
    _insert(database, 5)
    pending = 'walpost_pending_rows{table="public.events"} 10\n'
    wait_until(lambda: pending in relay.get("/metrics")[1],
               lambda: f"10 pending rows\n{relay.get('/metrics')[1]}", 30)
    own_kafka.thaw()
    _wait_all(database, KafkaReader(own_kafka.bootstrap), topics, relay,
              most_duplicates=4)


def test_ids_that_are_committed_out_of_order_are_all_published(
        database, walpost, kafka, topics, reader):
    """The naive poller beside it loses rows, or the race was none."""
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections()).run()
    stop, seen = threading.Event(), set()
    naive = threading.Thread(target=_naive_poller,
                             args=(database, stop, seen))
    naive.start()
    seed = int(os.environ.get("WALPOST_SEED", random.randrange(1 << 32)))
    print(f"replay with WALPOST_SEED={seed}")
    dice = random.Random(seed)
    connections = [database.connect() for _ in range(4)]
    for connection in connections:
        connection.autocommit = False
    open_rows = {}  # of which connection; aggregates are its own
    for number in range(_ROUNDS * 2):
        which = dice.randrange(4)
        if which in open_rows:
            if dice.random() < 0.1:
                connections[which].rollback()
            else:
                connections[which].commit()
            del open_rows[which]
        else:
            with connections[which].cursor() as cursor:
                cursor.execute("insert into events (aggregate_id) values (%s)",
                               (f"a{which}",))
            open_rows[which] = number
    for connection in connections:
        connection.commit()
        connection.close()
    duplicates = _wait_all(database, reader, topics, relay)
    assert duplicates == 0
    stop.set()
    naive.join()
    rows = {row[2] for row in _expected(database)}
    assert rows - seen, "the naive poller lost nothing: there was no race"
    print(f"the naive poller lost {len(rows - seen)} of {len(rows)} rows")


def test_an_open_transaction_holds_up_what_came_after_it_and_no_more(
        database, walpost, kafka, topics, reader):
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections()).run()
    _insert(database, 10)
    _wait_all(database, reader, topics, relay)
    with database.transaction() as cursor:
        cursor.execute("insert into events (aggregate_id) values ('late')")
        _insert(database, 10)
        wait_until(lambda: 'walpost_pending_rows{table="public.events"} 11'
                   in relay.get("/metrics")[1],
                   "the rows to be counted as pending")
        assert len(reader.read_all(topics)) == 11
    _wait_all(database, reader, topics, relay)


@pytest.mark.parametrize("rounds", [8])
def test_a_crash_repeats_a_batch_and_loses_nothing(
        database, walpost, kafka, topics, reader, rounds):
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections(batch_size=100))
    for number in range(rounds):
        _insert(database, 400, number * 1000)
        relay.run()
        relay.kill()
    relay.run()
    _wait_all(database, reader, topics, relay, most_duplicates=100 * rounds)


@pytest.mark.long
def test_one_poller_has_the_cursor_and_another_takes_over(
        database, walpost, kafka, topics, reader):
    database.execute(EVENTS)
    first = walpost(database, kafka, topics, **events_sections()).run()
    second = walpost(database, kafka, topics, **events_sections()).start()
    _wait_state(second, "standby")
    code, text = second.get("/readyz")
    assert code == 200 and "another walpost has the cursor" in text, text
    _insert(database, 300)
    _wait_all(database, reader, topics, first)
    assert 'walpost_state{state="standby"} 1' in second.get("/metrics")[1]
    assert json.loads(second.get("/status")[1])["state"] == "standby"
    assert second.log().count("\n") < 10, "it waits without a word"
    first.kill()
    _wait_state(second, "streaming")
    _insert(database, 300)
    _wait_all(database, reader, topics, second)
    # And one that stands by ends when it is told to.
    first.start()
    _wait_state(first, "standby")
    assert first.stop() == 0


@pytest.mark.long
def test_a_table_that_another_polls_does_not_hold_up_the_others(
        database, walpost, kafka, topics, reader):
    """One has the cursor of `events`, the other publishes `more`."""
    database.execute(EVENTS + EVENTS.replace("events", "more"))
    walpost(database, kafka, topics, **events_sections()).run()
    both = events_sections()
    both["outbox"]["tables"].append(
        {**both["outbox"]["tables"][0], "name": "public.more"})
    second = walpost(database, kafka, topics, **both).start()
    _wait_state(second, "streaming")
    database.execute("insert into more (aggregate_id) values ('a')")
    wait_until(lambda: len(reader.read_all(topics)) == 1,
               lambda: f"the row of the other table\n{second.log()}")


def _wait_state(relay, state):
    wait_until(lambda: relay.get("/readyz")[1].startswith(state),
               lambda: f"{state}; it says {relay.get('/readyz')}\n"
                       f"{relay.log()}", 60)


@pytest.mark.long
def test_a_row_that_cannot_be_sent_stops_the_table_loudly(
        database, walpost, kafka, topics, reader):
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections()).run()
    _insert(database, 20)
    _wait_all(database, reader, topics, relay)
    bad = database.value("insert into events (aggregate_type, aggregate_id) "
                         "values ('no topic', 'x') returning id")
    _insert(database, 20)
    text = relay.wait_unready("cannot be delivered")
    assert str(bad) in text
    assert len(reader.read_all(topics)) == 21
    database.execute("update events set aggregate_type = 'order' "
                     "where id = %s", (bad,))
    relay.wait_ready()
    _wait_all(database, reader, topics, relay)


@pytest.mark.long
def test_a_broker_that_was_away_costs_nothing(
        database, walpost, own_kafka, topics):
    database.execute(EVENTS)
    relay = walpost(database, own_kafka, topics, **events_sections()).run()
    _insert(database, 50)
    own_kafka.kill()
    _insert(database, 500, 1000)
    relay.wait_unready("(reachable|acknowledged)")
    own_kafka.start()
    _wait_all(database, KafkaReader(own_kafka.bootstrap), topics, relay,
              most_duplicates=100)
    relay.wait_ready()


def _restore(old, new, tables=("events", "walpost_cursor")):
    """What pg_dump and psql do, which not every major's binaries have."""
    new.execute(EVENTS)
    run_sql_file(new, "cursor.sql")
    with old.transaction() as source, new.transaction() as target:
        for table in tables:
            data = io.BytesIO()
            source.copy_expert(f"copy {table} to stdout", data)
            data.seek(0)
            target.copy_expert(f"copy {table} from stdin", data)
    new.execute("select setval('events_seq_seq', %s)",
                (old.value("select last_value from events_seq_seq"),))


@pytest.mark.long
def test_it_goes_on_after_a_restore_into_another_cluster(
        postgres, directory, walpost, kafka, topics, reader):
    """Transaction ids begin anew there: lower than those of the rows."""
    old = postgres.create_database()
    old.execute(EVENTS)
    for _ in range(300):  # ahead of the other cluster
        old.execute("select pg_current_xact_id()")
    relay = walpost(old, kafka, topics, **events_sections()).run()
    _insert(old, 200)
    _wait_all(old, reader, topics, relay)
    assert relay.stop() == 0
    _insert(old, 100, 1000)  # not published there
    other = Postgres(directory / "other").start()
    try:
        new = other.create_database()
        _restore(old, new)
        assert (new.value("select max(transaction_id::text::bigint) from "
                          "events") >
                new.value("select pg_current_xact_id()::text::bigint"))
        _insert(new, 50, 2000)  # between the restore and the first start
        moved = walpost(new, kafka, topics, **events_sections()).run()
        _insert(new, 50, 3000)
        _wait_all(new, reader, topics, moved)
        # Past the numbers of the other cluster: nothing comes twice.
        for _ in range(600):
            new.execute("select pg_current_xact_id()")
        _insert(new, 50, 4000)
        moved.stop()
        moved.run()
        _insert(new, 50, 5000)
        assert _wait_all(new, reader, topics, moved) == 0
        moved.close()
    finally:
        other.close()
        relay.close()
        old.drop()


@pytest.mark.long
def test_rows_of_another_cluster_come_first_without_its_cursor(
        postgres, directory, walpost, kafka, topics, reader):
    """Their transaction ids may never come here; and a row that cannot be
    sent does not begin it all again."""
    old = postgres.create_database()
    old.execute(EVENTS)
    for _ in range(300):  # ahead of the other cluster
        old.execute("select pg_current_xact_id()")
    _insert(old, 150)
    old.execute("insert into events (aggregate_type, aggregate_id) "
                "values ('no topic', 'x')")
    other = Postgres(directory / "other").start()
    try:
        new = other.create_database()
        _restore(old, new, ["events"])
        _insert(new, 20, 1000)
        relay = walpost(new, kafka, topics,
                        **events_sections(batch_size=50))
        relay.start()
        relay.wait_log("has rows of another cluster")
        relay.wait_unready("cannot be delivered")
        time.sleep(4)  # some tries
        assert len(reader.read_all(topics)) == 151
        new.execute("update events set aggregate_type = 'order'")
        _wait_all(new, reader, topics, relay)
        relay.close()
    finally:
        other.close()
        old.drop()


def _burn(database, count):
    """Uses up transaction ids; returns the last one."""
    for _ in range(count):
        xid = database.value("select pg_current_xact_id()::text::bigint")
    return xid


@pytest.mark.long
def test_rows_of_another_cluster_are_told_from_transactions_that_run_here(
        postgres, directory, walpost, kafka, topics, reader):
    """By their places: their ids may be those of transactions that run."""
    old = postgres.create_database()
    old.execute(EVENTS)
    _burn(old, 300)
    relay = walpost(old, kafka, topics, **events_sections()).run()
    _insert(old, 20)
    _wait_all(old, reader, topics, relay)
    assert relay.stop() == 0
    _insert(old, 5, 1000)
    unpublished = old.value("select max(transaction_id::text::bigint) from "
                            "events")
    _burn(old, 100)
    _insert(old, 5, 2000)
    other = Postgres(directory / "other").start()
    try:
        new = other.create_database()
        _restore(old, new)
        now = _burn(new, 1)
        assert now < unpublished - 10
        _burn(new, unpublished - 5 - now)
        with new.transaction() as cursor:
            cursor.execute("select pg_current_xact_id()")
            assert _burn(new, 20) > unpublished
            moved = walpost(new, kafka, topics, **events_sections()).run()
            moved.wait_log("publishing what was not published there")
            wait_until(lambda: new.value("select system_identifier from "
                                         "walpost_cursor") ==
                       new.value("select system_identifier::text from "
                                 "pg_control_system()"),
                       lambda: f"the new cluster's cursor\n{moved.log()}")
        _insert(new, 50, 3000)
        _wait_all(new, reader, topics, moved, most_duplicates=20)
        moved.close()
    finally:
        other.close()
        relay.close()
        old.drop()


def _keepalive_seconds(port, client_port):
    """When the kernel probes this socket of a server; None: it never does."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, _, timer, *_ = line.split()
        if (int(local.split(":")[1], 16) == port
                and int(remote.split(":")[1], 16) == client_port):
            kind, jiffies = timer.split(":")
            return int(jiffies, 16) / 100 if kind == "02" else None
    raise LookupError(f"no connection of port {client_port}")


@pytest.mark.long
def test_the_cursor_of_a_machine_that_is_gone_is_soon_free(
        database, walpost, kafka, topics):
    """The server looks after 10 s, not two hours, whether we are there."""
    database.execute(EVENTS)
    walpost(database, kafka, topics, **events_sections(interval="10m")).run()
    port = database.value("select inet_server_port()")
    client_port = database.value(
        "select client_port from pg_stat_activity where application_name "
        "like 'walpost:%' and datname = current_database()")

    def probed():
        seconds = _keepalive_seconds(port, client_port)
        return seconds is not None and seconds <= 10

    wait_until(probed, "the server to watch over the connection", 15)


@pytest.mark.parametrize("column", ["seq", "transaction_id"])
@pytest.mark.long
def test_a_column_that_may_be_null_is_refused(
        database, walpost, kafka, topics, column):
    """A row without would never be seen, and nobody would notice."""
    database.execute(EVENTS)
    database.execute(f"alter table events alter {column} drop not null")
    relay = walpost(database, kafka, topics, **events_sections())
    said = relay.verb("check").stdout
    remedy = (f'ALTER TABLE "public"."events" ALTER COLUMN "{column}" '
              "SET NOT NULL")
    assert remedy in said, said
    assert relay.start().wait_exit() != 0
    database.execute(remedy)
    relay.run()


@pytest.mark.long
def test_verify_expects_what_the_cursor_has_passed(
        database, walpost, kafka, topics, reader):
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections()).run()
    _insert(database, 50)
    _wait_all(database, reader, topics, relay)
    assert relay.stop() == 0
    _insert(database, 1)
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)["findings"]
    assert said.returncode == 1 and report["unconfirmed"]["count"] == 2
    database.execute("update walpost_cursor set window_from = "
                     "pg_current_xact_id(), window_to = pg_current_xact_id()")
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)["findings"]
    assert said.returncode == 1 and report["missing"]["count"] == 2


@pytest.mark.long
def test_verify_by_the_id_where_order_by_is_not_set(
        database, walpost, kafka, topics, reader):
    """The default: the id is the place."""
    database.execute(
        "create table events (id bigserial primary key, aggregate_type text "
        "default 'order', aggregate_id text, payload text default '{}', "
        "created_at timestamptz default now(), transaction_id xid8 not null "
        "default pg_current_xact_id()); "
        "create index on events (transaction_id, id); "
        "create index on events (created_at);")
    sections = events_sections()
    del sections["outbox"]["tables"][0]["order_by"]
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute("insert into events (aggregate_id) select 'key-' || n "
                     "from generate_series(1, 10) n")
    wait_until(lambda: len(reader.read_all(topics)) == 10, "the rows")
    said = relay.verb("verify", "--wait", "1")
    assert said.returncode == 0, said.stdout + said.stderr
    assert relay.stop() == 0
