"""walpost prune, and what `run` does of it: nothing goes that Kafka lacks."""

import contextlib
import datetime
import json
import random
import re
import secrets
import threading
import time

import psycopg2
import pytest

from harness import (LONG_AGO, Checker, KafkaReader, Load, note, put_on_record,
                     run_sql_file, verify, wait_until)
from harness.matrix import LONG


_KEEP_ALL = {"retention": {"batch_rows": 100, "pause": "0ms"}}


@pytest.fixture
def aged(outbox):
    """The Outbox with a column that tells the age of a row."""
    outbox.database.execute(
        "alter table outbox add created_at timestamptz not null default now(); "
        "create index on outbox (created_at)")
    return outbox


def _insert(database, rows, age="0 s"):
    """As one transaction; returns the ids."""
    return {str(row[0]) for row in database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, created_at)"
        " select 'order', 'key-' || n %% 10, '1', now() - %s::interval "
        "from generate_series(1, %s) n returning id", (age, rows))}


def _run(relay, database, tables=("public.outbox",)):
    """Its slot is on record since long ago: the rows of these tests are older by
    their own account than anything."""
    relay.run()
    put_on_record(database, relay.slot, tables=tables, born_at=LONG_AGO)
    return relay


def _ids(database, table="outbox"):
    return {str(row[0]) for row in database.execute(
        f"select id from {table}")}


def _pruned(relay, *words, code=0):
    """Runs the verb; returns what it said."""
    said = relay.verb("prune", *words, seconds=180)
    assert said.returncode == code, said.stdout + said.stderr
    return said.stdout + said.stderr


def _judge(outbox, kafka, relay, directory, topics):
    """Everything that was ever committed is in Kafka, deleted since or not."""
    expected = outbox.expected()
    records = KafkaReader(kafka.bootstrap).read_all(topics)
    Checker(expected, records).assert_clean()
    ids = directory / "ids"
    ids.write_text("".join(f"{event.id}\n" for event in expected))
    report = verify(relay, "--ids", str(ids))
    assert report["clean"], json.dumps(report, indent=1)
    assert report["expected"] == len(expected)


def test_old_rows_go_and_young_rows_stay(walpost, database, kafka, aged,
                                         topics):
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL), database)
    old = _insert(database, 250, "8 days")
    young = _insert(database, 50, "6 days")
    database.wait_confirmed(database.name)

    assert "250 rows would be deleted" in _pruned(relay, "--older-than", "7d",
                                                  "--dry-run")
    assert _ids(database) == old | young

    assert "250 rows deleted" in _pruned(relay, "--older-than", "7d")
    assert _ids(database) == young
    assert "0 rows deleted" in _pruned(relay, "--older-than", "7d")
    database.wait_confirmed(database.name)
    # What was deleted was not sent as anything.
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 300


def test_p1_nothing_goes_while_kafka_is_away(
        walpost, database, own_kafka, aged, topics, directory):
    relay = _run(walpost(database, own_kafka, topics, **_KEEP_ALL), database)
    _insert(database, 100, "8 days")
    database.wait_confirmed(database.name)
    own_kafka.kill()
    _insert(database, 100, "8 days")
    # walpost is away, too; the test of past days has one that runs.
    relay.kill()
    said = _pruned(relay, "--older-than", "0s", code=1)
    assert re.search(r"has confirmed \S+, and what is committed reaches", said)
    assert len(_ids(database)) == 200

    own_kafka.start()
    relay.run(seconds=120)
    database.wait_confirmed(database.name, seconds=120)
    assert "200 rows deleted" in _pruned(relay, "--older-than", "7d")
    _judge(aged, own_kafka, relay, directory, topics)


def test_p1_the_gate_waits_for_rows_whatever_their_age(
        walpost, database, kafka, aged, topics):
    """Older by its own account than everything, but not committed yet."""
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL), database)
    _insert(database, 10, "8 days")
    with database.transaction() as cursor:
        late = aged.insert("order", "late", "1", cursor,
                           created_at="2001-01-01")
        # Committed after the other began: may be deleted when that has ended.
        beside = _insert(database, 10, "8 days")
        database.wait_confirmed(database.name)
        said = _pruned(relay, "--older-than", "7d")
        assert "10 rows deleted, 10 as old are kept" in said
        assert _ids(database) == beside
    assert _ids(database) == beside | {late}
    database.wait_confirmed(database.name)
    assert "11 rows deleted" in _pruned(relay, "--older-than", "7d")


@pytest.mark.long
def test_p1_killed_in_the_middle(walpost, database, kafka, aged, topics,
                                 directory):
    relay = _run(walpost(database, kafka, topics), database)
    _insert(database, 5000, "8 days")
    database.wait_confirmed(database.name)
    dice = random.Random(seed := secrets.randbits(32))
    note(f"prune is killed at random, seed {seed}")
    for _ in range(5):
        left = len(_ids(database))
        pruning = relay.spawn("prune", "--older-than", "7d", "--batch", "50",
                              "--pause", "10ms")
        wait_until(lambda: len(_ids(database)) < left or not pruning.running(),
                   "the first batch")
        time.sleep(dice.random() / 10)
        pruning.end(9)
    # The batch that it asked for last is still deleted.
    wait_until(lambda: not database.value(
        "select count(*) from pg_stat_activity where application_name like "
        "%s", (f"walpost:{relay.slot}:prune%",)), "its sessions to end")
    left = len(_ids(database))
    assert 0 < left < 5000, "killed too early or too late"
    assert f"{left} rows deleted" in _pruned(relay, "--older-than", "7d")
    _judge(aged, kafka, relay, directory, topics)


@pytest.mark.long
def test_p1_run_prunes_beside_the_load_while_kafka_comes_and_goes(
        walpost, database, own_kafka, aged, topics, directory):
    relay = _run(walpost(database, own_kafka, topics, retention={
        "keep": "1s", "interval": "1s", "batch_rows": 100, "pause": "10ms"}),
                 database)
    with Load(aged, seed=secrets.randbits(32), pause=0.01) as load:
        for _ in range(2 if LONG else 1):
            relay.wait_log("rows deleted", seconds=60)
            own_kafka.kill()
            time.sleep(2)  # passes that find nothing acknowledged
            missing = load.transactions()
            wait_until(lambda: load.transactions() > missing + 50, "more load")
            own_kafka.start()
            relay.wait_ready(seconds=120)
    database.wait_confirmed(database.name, seconds=120)
    wait_until(lambda: not _ids(database), "everything to be deleted", 120)
    _judge(aged, own_kafka, relay, directory, topics)
    assert relay.stop() == 0


@pytest.mark.long
def test_one_at_a_time(walpost, database, kafka, aged, topics):
    relay = _run(walpost(database, kafka, topics), database)
    _insert(database, 500, "8 days")
    database.wait_confirmed(database.name)
    first = relay.spawn("prune", "--older-than", "7d", "--batch", "10",
                        "--pause", "1s")
    wait_until(lambda: len(_ids(database)) < 500, "the first batch")
    assert "by another walpost already" in _pruned(relay, "--older-than", "7d",
                                                   code=1)
    first.send(15)
    assert first.wait(30) == 1


# Partitions, by the table of sql/outbox_partitioned.sql.


@pytest.mark.long
def test_a_session_of_the_pass_before_may_end_late(walpost, database, kafka,
                                                   aged, topics):
    # pylint: disable=unused-argument
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL), database)
    database.wait_confirmed(database.name)
    earlier = database.connect()
    with earlier.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(hashtextextended("
                       "'walpost.prune', 0))")
    threading.Timer(1, earlier.close).start()
    _pruned(relay, "--older-than", "7d")


def _day(database, days_ago):
    """The day's name and range, UTC."""
    day = database.value("select (now() at time zone 'UTC')::date - %s",
                         (days_ago,))
    return f"outbox_p{day:%Y%m%d}", day, day + datetime.timedelta(days=1)


def _partitions(database):
    return {row[0] for row in database.execute(
        "select inhrelid::regclass::text from pg_inherits "
        "where inhparent = 'outbox'::regclass")}


@pytest.fixture
def days(database):
    """Makes past days of the outbox: days(10, 9) returns their names."""
    run_sql_file(database, "outbox_partitioned.sql")

    def make(*days_ago):
        names = []
        for number in days_ago:
            name, begin, end = _day(database, number)
            database.execute(
                f"create table {name} partition of outbox for values "
                f"from ('{begin} 00:00+00') to ('{end} 00:00+00')")
            names.append(name)
        return names

    return make


@pytest.mark.long
def test_past_days_are_dropped_when_all_of_them_is_acknowledged(
        walpost, database, own_kafka, days, topics, directory):
    tenth, ninth, third = days(10, 9, 3)
    relay = _run(walpost(database, own_kafka, topics, **_KEEP_ALL), database)
    sent = (_insert(database, 20, "10 days") | _insert(database, 20, "9 days")
            | _insert(database, 20, "3 days")
            | _insert(database, 20, "30 days"))  # in the default partition
    database.wait_confirmed(database.name)
    own_kafka.kill()
    sent |= _insert(database, 1, "9 days")
    _pruned(relay, "--older-than", "7d", code=1)
    assert {tenth, ninth, third} <= _partitions(database)
    assert _ids(database) == sent

    own_kafka.start()
    database.wait_confirmed(database.name, seconds=120)
    tomorrow = _day(database, -1)[0]
    database.execute(f"drop table {tomorrow}")
    before = _partitions(database)
    said = _pruned(relay, "--older-than", "7d", "--dry-run")
    assert f"partition {tenth} would be dropped" in said
    assert "20 rows would be deleted" in said
    assert _partitions(database) == before and _ids(database) == sent

    said = _pruned(relay, "--older-than", "7d")
    assert "1 partitions made" in said
    assert f"partition {ninth} dropped" in said
    assert "20 rows deleted" in said
    assert _partitions(database) == before - {tenth, ninth} | {tomorrow}
    assert len(_ids(database)) == 20
    ids = directory / "ids"
    ids.write_text("\n".join(sent))
    database.wait_confirmed(database.name)
    assert verify(relay, "--ids", str(ids), sequence=None)["clean"]


def test_p1_run_drops_a_past_day_when_all_of_it_is_acknowledged(
        walpost, database, own_kafka, days, topics, directory):
    tenth, = days(10)
    tomorrow = _day(database, -1)[0]
    relay = _run(walpost(database, own_kafka, topics, retention={
        "keep": "7d", "interval": "1s", "pause": "0ms"}), database)
    own_kafka.kill()
    database.execute(f"drop table if exists {tomorrow}")
    sent = _insert(database, 20, "10 days") | _insert(database, 20, "1 day")
    wait_until(lambda: tomorrow in _partitions(database),
               lambda: f"a day to be made ahead\n{relay.log()}")
    time.sleep(2)  # more looks at the past one
    assert tenth in _partitions(database) and _ids(database) == sent

    own_kafka.start()
    wait_until(lambda: tenth not in _partitions(database),
               lambda: f"the past day to go\n{relay.log()}", 120)
    assert len(_ids(database)) == 20
    ids = directory / "ids"
    ids.write_text("\n".join(sent))
    database.wait_confirmed(database.name)
    assert verify(relay, "--ids", str(ids), sequence=None)["clean"]


@pytest.mark.long
def test_a_late_writer_into_a_past_day_is_not_harmed(
        walpost, database, kafka, days, topics, directory):
    """Its row is taken and goes out, whether its day is still there or not."""
    names = days(*range(9, 19))
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL), database)
    written, failures = set(), []
    stop = threading.Event()

    def write():
        with contextlib.closing(database.connect()) as connection:
            while not stop.wait(0.005):
                late = random.random() < 0.01
                try:
                    with connection.cursor() as cursor:
                        cursor.execute(
                            "insert into outbox (aggregate_type, aggregate_id,"
                            " payload, created_at) values ('order', 'a', '1', "
                            "now() - %s * interval '1 day') returning id",
                            (random.uniform(9, 19) if late else 0,))
                        written.add(str(cursor.fetchone()[0]))
                except psycopg2.Error as failure:
                    failures.append(failure)

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        def all_dropped():
            print(relay.verb("prune", "--older-than", "7d",
                             seconds=120).stdout)
            return not set(names) & _partitions(database)

        wait_until(all_dropped, "the past days to be dropped", 120)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert failures == []
    database.wait_confirmed(database.name, seconds=120)
    ids = directory / "ids"
    ids.write_text("\n".join(written))
    assert verify(relay, "--ids", str(ids), sequence=None)["clean"]


@pytest.mark.long
def test_a_day_that_is_in_use_waits(walpost, database, kafka, days, topics):
    ninth, = days(9)
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL), database)
    with database.transaction() as cursor:
        cursor.execute("insert into outbox (aggregate_type, created_at) "
                       "values ('order', now() - interval '9 days')")
        said = _pruned(relay, "--older-than", "7d", code=1)
        assert f"partition not dropped: {ninth}: in use" in said
    database.wait_confirmed(database.name)
    # The relay's own look at the table may hold the lock for a moment, too.
    wait_until(lambda: f"partition {ninth} dropped" in relay.verb(
        "prune", "--older-than", "7d").stdout, relay.log, pause=1)


# Where a row's state says what was sent.


def _polling(relay_of, *arguments, **retention):
    state = {column: column for column in (
        "status", "published_at", "locked_until", "attempts", "last_error",
        "next_attempt_at")}
    return relay_of(*arguments, source="polling", outbox={"tables": [
        {"name": "public.outbox", "state": state}]}, retention=retention)


@pytest.mark.long
def test_polling_prunes_only_what_is_published(walpost, database, kafka,
                                               topics):
    run_sql_file(database, "outbox_polling.sql")
    database.execute(
        "insert into outbox (aggregate_type, status, created_at, published_at)"
        " select 'order', status, now() - interval '30 days', "
        "case status when 'published' then now() - age end "
        "from unnest(array['pending', 'processing', 'published', 'failed']) "
        "status, unnest(array[interval '8 days', interval '6 days']) age, "
        "generate_series(1, 100)")
    relay = _polling(walpost, database, kafka, topics, batch_rows=30,
                     pause="0ms")
    assert "100 rows would be deleted" in _pruned(relay, "--older-than", "7d",
                                                  "--dry-run")
    assert "100 rows deleted" in _pruned(relay, "--older-than", "7d")
    assert database.execute("select status, count(*) from outbox group by 1 "
                            "order by 1") == [
        ("failed", 200), ("pending", 200), ("processing", 200),
        ("published", 100)]


@pytest.mark.long
def test_polling_drops_a_past_day_only_when_all_of_it_is_published(
        walpost, database, kafka, topics):
    ends = [database.value("select (now() at time zone 'UTC')::date - %s", (n,))
            for n in (9, 8, 7)]
    database.execute(
        "create table outbox (id int, aggregate_type text, status text, "
        "created_at timestamptz) partition by range (created_at); "
        f"create table first partition of outbox for values from ('{ends[0]}') "
        f"to ('{ends[1]}'); create table second partition of outbox for values "
        f"from ('{ends[1]}') to ('{ends[2]}')")
    database.execute(
        "insert into outbox values (1, 'a', 'published', %s), "
        "(2, 'a', 'published', %s), (3, 'a', 'failed', %s)",
        (ends[0], ends[1], ends[1]))
    relay = walpost(database, kafka, topics, source="polling", outbox={
        "tables": [{"name": "public.outbox", "state": {"status": "status"}}]})
    said = _pruned(relay, "--older-than", "5d", code=1)
    assert "partition first dropped" in said
    assert "second: it holds rows that are not published" in said
    assert database.execute("select id from outbox order by 1") == [(2,), (3,)]


@pytest.mark.long
def test_init_makes_the_index_when_it_will_be_needed(walpost, database, kafka,
                                                     topics):
    relay = walpost(database, kafka, topics, retention={"keep": "7d"})
    assert relay.verb("init").returncode == 0
    assert database.value("select to_regclass('outbox_created_at') is not null")


# What bad input gets.


@pytest.mark.long
def test_without_an_age_there_is_nothing_to_do(walpost, database, kafka, aged,
                                               topics):
    relay = walpost(database, kafka, topics)
    assert "--older-than 7d, or retention.keep" in _pruned(relay, code=2)
    assert "is not a duration" in _pruned(relay, "--older-than", "week", code=2)
    assert "1 to 100000" in _pruned(relay, "--older-than", "1d", "--batch",
                                       "1000000", code=2)


@pytest.mark.long
def test_without_a_slot_nothing_is_known(walpost, database, kafka, aged,
                                         topics):
    _insert(database, 1, "8 days")
    relay = walpost(database, kafka, topics)
    assert "does not exist, so nothing is known to be acknowledged" in _pruned(
        relay, "--older-than", "7d", code=3)
    assert len(_ids(database)) == 1


@pytest.mark.long
def test_a_table_that_tells_no_age_is_named(walpost, database, kafka, outbox,
                                            topics):
    relay = _run(walpost(database, kafka, topics), database)
    assert "columns.timestamp" in _pruned(relay, "--older-than", "7d", code=3)


@pytest.mark.long
def test_one_table_that_cannot_be_pruned_holds_up_no_other(
        walpost, database, kafka, aged, topics):
    database.execute("create table ageless (id uuid primary key, "
                     "aggregate_type text not null, aggregate_id text, "
                     "payload jsonb)")
    relay = _run(walpost(database, kafka, topics, **_KEEP_ALL, outbox={
        "tables": [{"name": "public.ageless"}, {"name": "public.outbox"}]}),
                 database, tables=("public.ageless", "public.outbox"))
    _insert(database, 50, "8 days")
    database.wait_confirmed(database.name)
    said = _pruned(relay, "--older-than", "7d", code=3)
    assert "ageless" in said and "columns.timestamp" in said
    assert "50 rows deleted" in said and not _ids(database)


@pytest.mark.long
def test_check_names_the_right_that_is_missing(
        walpost, database, kafka, aged, topics):
    database.execute("create role pruner login replication; "
                     "grant select on outbox to pruner")
    try:
        relay = walpost(database, kafka, topics, retention={"keep": "7d"},
                        postgres={"conninfo": database.conninfo("pruner")})
        said = relay.verb("check").stdout
        assert "GRANT SELECT, DELETE ON \"public\".\"outbox\" TO pruner" in said
        database.execute("grant delete on outbox to pruner")
        assert "retention of" not in relay.verb("check").stdout
    finally:
        database.execute("drop owned by pruner; drop role pruner")


@pytest.mark.long
def test_a_large_table_needs_an_index(walpost, database, kafka, aged, topics):
    database.execute("drop index outbox_created_at_idx")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, created_at) select "
        "'order', repeat(md5(n::text), 50), '2001-01-01' "
        "from generate_series(1, 45000) n")
    relay = walpost(database, kafka, topics).run()
    # As if a complete recover had published these.
    put_on_record(database, relay.slot, born_at=LONG_AGO, **{"from": "3"})
    keeping = walpost(database, kafka, topics, retention={"keep": "7d"})
    assert "CREATE INDEX CONCURRENTLY ON outbox" in keeping.verb("check").stdout
    database.wait_confirmed(database.name)
    said = _pruned(relay, "--older-than", "7d", code=3)
    mended = re.search(r"CREATE INDEX CONCURRENTLY ON outbox \(created_at\);",
                       said)
    assert mended, said
    database.execute(mended[0])
    assert "45000 rows deleted" in _pruned(
        relay, "--older-than", "7d", "--pause", "0ms", "--batch", "10000")

    # One that is small is read whole.
    database.execute("drop index outbox_created_at_idx")
    database.execute("vacuum outbox")
    _insert(database, 10, "8 days")
    database.wait_confirmed(database.name)
    assert "10 rows deleted" in _pruned(relay, "--older-than", "7d")
