"""`walpost wait` and `/wait`: what was committed is in Kafka, or why it is not."""

import concurrent.futures
import re
import time
import uuid

import pytest

from harness import KafkaReader, run_sql_file
from harness.polled import EVENTS, PolledOutbox, events_sections


@pytest.fixture
def outbox(outbox, database):
    database.execute("alter table outbox add created_at timestamptz "
                     "default clock_timestamp()")
    return outbox


@pytest.fixture
def walpost(walpost):
    """Rows of the second in which the slot begins count as older ones."""
    def make(database, *words, **sections):
        relay = walpost(database, *words, **sections)
        relay.verb("init")
        time.sleep(1.1)
        return relay

    return make


def _lsn(database):
    return database.value("select pg_current_wal_insert_lsn()::text")


def _exits(said, code, words=""):
    assert said.returncode == code, said.stdout + said.stderr
    assert re.search(words, said.stdout + said.stderr), said.stdout + said.stderr


def test_what_was_committed_is_there(walpost, database, kafka, outbox, topics):
    """For each of ten commits."""
    relay = walpost(database, kafka, topics).run()
    reader = KafkaReader(kafka.bootstrap)
    for n in range(10):
        event = outbox.insert("order", f"order-{n}")
        if n % 2:
            said = relay.verb("wait", "--event", event, "--timeout", "20s")
        else:
            said = relay.verb("wait", "--lsn", _lsn(database))
        _exits(said, 0, "^acknowledged: ")
        assert len(reader.read_all(topics)) == n + 1


def test_while_kafka_does_not_answer(walpost, database, outbox, topics,
                                     own_kafka):
    """Not before the record is there."""
    relay = walpost(database, own_kafka, topics).run()
    own_kafka.freeze()
    event = outbox.insert("order", "order-1")
    lsn = _lsn(database)
    _exits(relay.verb("wait", "--event", event, "--timeout", "2s"), 1,
           f"event {event} is not acknowledged yet: slot .* has confirmed")
    _exits(relay.verb("wait", "--lsn", lsn, "--timeout", "1s"), 1,
           "has confirmed .*reaches .*walpost status -c")
    own_kafka.thaw()
    _exits(relay.verb("wait", "--event", event, "--timeout", "60s"), 0)
    _exits(relay.verb("wait", "--lsn", lsn), 0)


@pytest.mark.long
def test_what_nobody_can_know(walpost, database, kafka, outbox, topics):
    """Refused with the reason, and at once where time would not help."""
    early = outbox.insert("order", "before")
    before = _lsn(database)
    relay = walpost(database, kafka, topics).run()
    _exits(relay.verb("wait", "--lsn", before), 2, "lies before slot")
    _exits(relay.verb("wait", "--event", early), 3,
           "not known that it came through slot .*walpost verify")
    database.execute("alter table outbox drop created_at")
    _exits(relay.verb("wait", "--event", early), 3,
           "no column that gives the age of a row.*or wait for an LSN")
    _exits(relay.verb("wait", "--lsn", "FFFF/0"), 2,
           "is ahead of this server, whose WAL ends at")
    _exits(relay.verb("wait", "--event", str(uuid.uuid4()), "--timeout", "1s"), 1,
           "no table of outbox.tables has a row with the id")
    _exits(relay.verb("wait", "--event", "not-a-uuid", "--timeout", "1s"), 1,
           "no table of outbox.tables has a row with the id not-a-uuid")
    _exits(relay.verb("wait"), 2, "for what")
    _exits(relay.verb("wait", "--lsn", "x"), 2, "is not an LSN")
    _exits(relay.verb("wait", "--lsn", "0/1", "--event", "x"), 2, "excludes")
    _exits(relay.verb("wait", "--lsn", "0/1", "--timeout", "soon"), 2,
           "--timeout: ")


@pytest.mark.long
def test_an_event_that_is_not_committed_yet(walpost, database, kafka, outbox,
                                            topics):
    relay = walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        event = outbox.insert("order", "order-1", cursor=cursor)
        _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
               "no table of outbox.tables has a row")
    _exits(relay.verb("wait", "--event", event), 0)


def test_events_that_were_set_aside(walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "dead", 1)
    relay = walpost(database, kafka, topics,
                    on_error={"topic_illegal": "park",
                              "headers_unreadable": "dead_letter"},
                    dead_letter={"topic": topics + "dead"}).run()
    parked = outbox.insert("not legal!", "order-1")
    dead = outbox.insert("order", "order-2", headers="[1]")
    good = outbox.insert("order", "order-3")
    _exits(relay.verb("wait", "--event", parked), 1,
           f"event {parked} is parked: walpost parked -c ")
    _exits(relay.verb("wait", "--event", dead), 1,
           f"event {dead} is a dead letter: walpost dead-letters -c ")
    _exits(relay.verb("wait", "--event", good), 0)


@pytest.mark.long
def test_a_gap_is_not_taken_for_sent(walpost, database, kafka, outbox, topics):
    """The slot that was made again is confirmed past what it never had."""
    relay = walpost(database, kafka, topics,
                    checkpoint={"store": "kafka",
                                "topic": topics + "checkpoint"}).run()
    outbox.insert("order", "order-0")
    _exits(relay.verb("wait", "--lsn", _lsn(database)), 0)
    assert relay.stop() == 0
    event = outbox.insert("order", "order-1")
    lsn = _lsn(database)
    database.wait_slot_inactive(relay.slot)
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    database.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')",
                     (relay.slot,))
    _exits(relay.verb("wait", "--lsn", lsn, "--timeout", "2s"), 3,
           "because of a gap .*walpost recover -c .* --dry-run")
    _exits(relay.verb("wait", "--event", event, "--timeout", "2s"), 3,
           "because of a gap")


@pytest.mark.long
def test_any_spelling_of_an_id(walpost, database, kafka, outbox, topics):
    """What was set aside is found however its id is written."""
    relay = walpost(database, kafka, topics,
                    on_error={"topic_illegal": "park"}).run()
    parked = outbox.insert("not legal!", "order-1")
    for spelling in (parked.upper(), parked.replace("-", ""), f"{{{parked}}}"):
        _exits(relay.verb("wait", "--event", spelling), 1,
               f"event {parked} is parked: walpost parked -c ")


@pytest.mark.long
def test_tables_that_count_alike(walpost, database, kafka, topics):
    """Number 1 of one table is not number 1 of the other."""
    for table in ("a", "b"):
        database.execute(
            f"create table {table} (id bigserial primary key, aggregate_type "
            "text default 'order', aggregate_id text default '1', payload text "
            "default '{}', created_at timestamptz default clock_timestamp())")
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.a"}, {"name": "public.b"}]}).run()
    database.execute("insert into a default values")
    _exits(relay.verb("wait", "--event", "1"), 2,
           "several tables may have an event 1, .* --table public.a")
    _exits(relay.verb("wait", "--event", "1", "--table", "public.a"), 0)
    _exits(relay.verb("wait", "--event", "1", "--table", "public.b",
                      "--timeout", "1s"), 1, "no table")
    _exits(relay.verb("wait", "--event", "1", "--table", "public.c"), 2,
           "--table: public.c is not in outbox.tables")


@pytest.mark.long
def test_a_moment_without_the_publication(walpost, database, kafka, outbox,
                                          topics):
    """What the publication did not send was passed by the slot, too."""
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    assert relay.get(f"/wait?lsn={_lsn(database)}&timeout=30")[0] == 200
    database.execute("alter publication walpost drop table outbox")
    outbox.insert("order", "order-2")
    database.execute("alter publication walpost add table outbox")
    lsn = _lsn(database)
    code, text = relay.get(f"/wait?lsn={lsn}&timeout=3")
    assert code == 503, text
    _exits(relay.verb("wait", "--lsn", lsn, "--timeout", "5s"), 3,
           "because of a gap")


@pytest.mark.long
def test_without_a_birth_record(walpost, database, kafka, outbox, topics):
    """It is not known what came through the slot."""
    relay = walpost(database, kafka, topics)
    database.execute("comment on publication walpost is null")
    outbox.insert("order", "order-1")
    _exits(relay.verb("wait", "--lsn", _lsn(database)), 3,
           "not on record since when slot .* sends the rows of public.outbox")


@pytest.mark.long
def test_without_postgres(walpost, own_postgres, own_database, kafka, topics):
    """No answer is another one than: not yet."""
    relay = walpost(own_database, kafka, topics)
    own_postgres.stop()
    _exits(relay.verb("wait", "--lsn", "0/1000000", "--timeout", "2s"), 3,
           "connecting to Postgres|connection")
    own_postgres.start()


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.sample(2)
def test_nobody_runs(walpost, database, kafka, outbox, topics, crash):
    relay = walpost(database, kafka, topics).run()
    relay.kill() if crash else relay.stop()
    event = outbox.insert("order", "order-1")
    _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
           "is not acknowledged yet")
    relay.run()
    _exits(relay.verb("wait", "--event", event), 0)


def test_polled_rows(walpost, database, kafka, topics):
    outbox = PolledOutbox(database)
    relay = walpost(database, kafka, topics,
                    **outbox.sections(max_attempts=1))
    outbox.insert(1)
    good, = database.execute("select id::text from outbox")[0]
    _exits(relay.verb("wait", "--event", good, "--timeout", "1s"), 1,
           f"event {good} is not sent yet")
    relay.run()
    _exits(relay.verb("wait", "--event", good), 0)
    outbox.insert(1, aggregate_type="not legal!")
    bad, = database.execute(
        "select id::text from outbox where aggregate_type = 'not legal!'")[0]
    _exits(relay.verb("wait", "--event", bad), 3,
           f"event {bad} was given up: its row in .* is marked as failed: ")
    _exits(relay.verb("wait", "--lsn", "0/1"), 2, "polled rows have no LSN")


def test_over_http(walpost, database, outbox, topics, own_kafka):
    """200 as soon as it is acknowledged, for many that wait at once."""
    relay = walpost(database, own_kafka, topics).run()
    assert relay.get(f"/wait?lsn={_lsn(database)}&timeout=20")[0] == 200
    own_kafka.freeze()
    outbox.insert("order", "order-1")
    lsn = _lsn(database)
    begun = time.monotonic()
    assert relay.get(f"/wait?lsn={lsn}&timeout=2")[0] == 503
    assert 1.9 <= time.monotonic() - begun < 10
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        waits = [pool.submit(relay.get, f"/wait?lsn={lsn}&timeout=60")
                 for _ in range(40)]
        time.sleep(1)
        assert not any(wait.done() for wait in waits)
        own_kafka.thaw()
        assert {wait.result()[0] for wait in waits} == {200}
    assert relay.get("/wait?lsn=0/1")[0] == 400
    assert relay.get("/wait?lsn=0/1&timeout=0")[0] == 400
    assert relay.get("/wait")[0] == 400


@pytest.mark.long
def test_a_partitioned_table(walpost, database, kafka, topics):
    run_sql_file(database, "outbox_partitioned.sql")
    relay = walpost(database, kafka, topics).run()
    database.execute("insert into outbox (aggregate_type, aggregate_id, type, "
                     "payload) values ('order', '1', 'Paid', '{}')")
    event, = database.execute("select id::text from outbox")[0]
    _exits(relay.verb("wait", "--event", event), 0)


@pytest.mark.long
def test_rows_behind_a_cursor(walpost, database, kafka, topics):
    database.execute(EVENTS)
    relay = walpost(database, kafka, topics, **events_sections())
    database.execute("insert into events (aggregate_id) values ('order-1')")
    event, = database.execute("select id::text from events")[0]
    relay.run()
    _exits(relay.verb("wait", "--event", event), 0)
    relay.stop()
    database.execute("insert into events (aggregate_id) values ('order-2')")
    event, = database.execute("select id::text from events "
                              "where aggregate_id = 'order-2'")[0]
    _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
           "is not sent yet")


@pytest.mark.long
def test_rows_that_are_deleted_when_sent(walpost, database, kafka, outbox,
                                         topics):
    """Seen, then gone; but one that was never seen is not taken for sent."""
    database.execute("alter table outbox add place bigserial unique")
    relay = walpost(database, kafka, topics, source="polling",
                    polling={"strategy": "delete"}, outbox={"tables": [
                        {"name": "public.outbox", "order_by": "place"}]})
    event = outbox.insert("order", "order-1")
    waiting = relay.spawn("wait", "--event", event)
    time.sleep(1)
    assert waiting.running()
    relay.run()
    assert waiting.wait(30) == 0
    _exits(relay.verb("wait", "--event", event, "--timeout", "1s"), 1,
           "no table of outbox.tables has a row")
