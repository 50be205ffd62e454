"""`snapshot: initial` with delivery.guarantee: exactly_once. Whoever reads
committed records sees each row once, whatever dies on the way, and the stream
goes on without a repeat.

WALPOST_CRASHES is how often walpost is killed (8; the long form of the suite
says 500), WALPOST_SEED replays a run that failed.
"""

import json
import os
import secrets
import signal
import time

import pytest

from harness import (KafkaReader, Load, Outbox, judge_once, note, verify,
                     wait_until)
from harness.exactly_once import once
from harness.matrix import LONG

_CRASHES = min(100, int(os.environ.get("WALPOST_CRASHES", "8")))

# Some hundred rows a second: time to get in the way.
_SLOW = {"max_in_flight_records": 20}


def _sections(topics, **delivery):
    return {"outbox": {"tables": [{"name": "public.outbox",
                                   "order_by": "sequence"}]},
            "postgres": {"create": True},
            "snapshot": "initial",
            "kafka": {"properties": {"linger.ms": "20"}},
            **once(topics, **delivery)}


def _fill(outbox, rows):
    """Rows of 20 keys that the load does not have."""
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'old-' || n %% 20, to_jsonb(n), n + last "
        "from generate_series(1, %s) n, "
        "(select coalesce(max(sequence), 0) from outbox) rows (last)",
        (rows,))


def _start(relay):
    """Returns when the slot is there. What was deleted before is nowhere."""
    relay.start()
    relay.wait_log("publishing the existing rows")
    return relay


def _committed(kafka, topics):
    return len(KafkaReader(kafka.bootstrap).read_all(topics))


def _is_snapshotting(relay):
    return "initial snapshot" in relay.get("/status")[1]


def _marked(kafka, topics):
    return sum("walpost-snapshot" in dict(record.headers)
               for record in KafkaReader(kafka.bootstrap).read_all(topics))


@pytest.mark.parametrize("way", ["init", "run"])
@pytest.mark.sample(2)
def test_p5_rows_from_before_the_slot_and_after_it(walpost, database, kafka,
                                                   outbox, topics, way):
    """Those from after it are the stream's."""
    relay = walpost(database, kafka, topics, **_sections(topics))
    _fill(outbox, 300)
    if way == "init":
        made = relay.verb("init")
        assert made.returncode == 0, made.stderr
    _fill(outbox, 50)
    relay.run()
    judge_once(outbox, kafka, relay)
    assert _marked(kafka, topics) == (300 if way == "init" else 350)
    assert relay.stop() == 0
    before = _committed(kafka, topics)
    relay.run()
    _fill(outbox, 10)
    judge_once(outbox, kafka, relay)
    assert _committed(kafka, topics) == before + 10


def test_p1_p3_p5_it_is_killed_in_the_snapshot(walpost, database, kafka,
                                               outbox, topics, dice):
    rows = 400 * _CRASHES
    _fill(outbox, rows)
    relay = _start(walpost(database, kafka, topics,
                           **_sections(topics, **_SLOW)))
    in_the_snapshot = 0
    with Load(outbox, dice.seed_text, pause=0.02) as load:
        for _ in range(_CRASHES):
            time.sleep(dice.choice((0.1, 0.8, 2)) * (0.5 + dice.random()))
            in_the_snapshot += _is_snapshotting(relay)
            relay.kill()
            relay.start()
        relay.wait_ready(300)
        load.wait(100)
    note(f"{rows} rows, killed {in_the_snapshot} times in the snapshot")
    assert in_the_snapshot >= _CRASHES // 4
    judge_once(outbox, kafka, relay)


@pytest.mark.long
def test_p5_postgres_loses_its_connections(walpost, database, kafka, outbox,
                                           topics, dice):
    _fill(outbox, 5000)
    relay = _start(walpost(database, kafka, topics,
                           **_sections(topics, **_SLOW)))
    with Load(outbox, dice.seed_text, pause=0.02) as load:
        for _ in range(4 if LONG else 2):
            time.sleep(1 + dice.random())
            database.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where "
                "application_name like 'walpost%%' and datname = %s",
                (database.name,))
        relay.wait_ready(300)
        load.wait(100)
    judge_once(outbox, kafka, relay)


@pytest.mark.long  # test_exactly_once has it in the stream
def test_p5_the_broker_is_killed(walpost, database, own_kafka, outbox, topics,
                                 dice):
    _fill(outbox, 5000)
    relay = walpost(database, own_kafka, topics,
                    **_sections(topics, **_SLOW)).start()
    for _ in range(2 if LONG else 1):
        time.sleep(2 + dice.random())
        own_kafka.kill()
        time.sleep(dice.random())
        own_kafka.start()
    relay.wait_ready(120)
    _fill(outbox, 30)
    judge_once(outbox, own_kafka, relay)


@pytest.mark.long
def test_p5_one_that_is_suspended_wakes_up(walpost, database, kafka, outbox,
                                           topics):
    """Its connection is gone, and with it the lock; another has gone on."""
    _fill(outbox, 4000)
    first = walpost(database, kafka, topics,
                    **_sections(topics, **_SLOW)).start()
    wait_until(lambda: _committed(kafka, topics) > 200, "the first rows")
    first.send(signal.SIGSTOP)
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where "
        "application_name like 'walpost%%' and datname = %s", (database.name,))
    second = walpost(database, kafka, topics,
                     **_sections(topics, **_SLOW)).start()
    seen = _committed(kafka, topics)
    wait_until(lambda: _committed(kafka, topics) > seen + 200,
               lambda: second.log(), 60)
    first.send(signal.SIGCONT)
    wait_until(lambda: first.get("/readyz")[1].startswith("standby"),
               lambda: first.get("/readyz")[1] + first.log(), 60)
    second.wait_ready(120)
    _fill(outbox, 30)
    judge_once(outbox, kafka, second)


@pytest.mark.parametrize("action", ["stop", "dead_letter"])
@pytest.mark.long
def test_p8_a_row_that_cannot_be_delivered(walpost, database, kafka, outbox,
                                           topics, action):
    """What stands before it becomes visible."""
    _fill(outbox, 300)
    bad = outbox.insert("no topic!", "key-1", sequence=301)
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'new', to_jsonb(n), n + 301 "
        "from generate_series(1, 200) n")
    sections = _sections(topics)
    if action == "dead_letter":
        sections["on_error"] = {"topic_illegal": "dead_letter"}
        sections["dead_letter"] = {"topic": topics + "dead"}
    relay = walpost(database, kafka, topics, **sections).start()
    if action == "stop":
        assert bad in relay.wait_unready("topic_illegal")
        wait_until(lambda: _committed(kafka, topics) == 300,
                   lambda: f"{_committed(kafka, topics)} {relay.log()}", 60)
        database.execute("delete from outbox where id = %s", (bad,))
    relay.wait_ready(60)
    judged = _committed(kafka, topics)
    assert judged == 500 + (action == "dead_letter")


@pytest.mark.long
def test_p8_the_brokers_reject_the_last_row(walpost, database, kafka, outbox,
                                            topics):
    """Nothing can be committed with it."""
    kafka.create_topic(topics + "order", 1, max_message_bytes=5000)
    _fill(outbox, 20)
    bad = outbox.insert("order", "old-1", f'"{secrets.token_hex(10000)}"',
                        sequence=21)
    relay = walpost(database, kafka, topics, **_sections(topics)).start()
    assert bad in relay.wait_unready("record_too_large", 60)
    assert json.loads(relay.get("/status")[1])["stopped_event_id"] == bad
    database.execute("delete from outbox where id = %s", (bad,))
    relay.wait_ready(60)
    assert _committed(kafka, topics) == 20


def _with_unflushed(walpost, own_postgres, kafka, topics, rows):
    """A slot with 100 rows before it, and visible ones that wait for a flush."""
    own_postgres.configure(wal_writer_delay="4s")
    own_postgres.restart()
    outbox = Outbox(own_postgres.create_database(), topics)
    relay = walpost(outbox.database, kafka, topics, **_sections(topics))
    _fill(outbox, 100)
    assert relay.verb("init").returncode == 0
    outbox.database.execute(
        "set synchronous_commit = off; insert into outbox "
        "(aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'late', to_jsonb(n), 100 + n "
        "from generate_series(1, %s) n", (rows,))
    return relay, outbox


@pytest.mark.long
def test_p5_rows_that_are_visible_and_not_flushed(walpost, own_postgres, kafka,
                                                  topics):
    """They are left to the stream, too."""
    relay, outbox = _with_unflushed(walpost, own_postgres, kafka, topics, 50)
    relay.run()
    judge_once(outbox, kafka, relay)
    assert _marked(kafka, topics) == 100


@pytest.mark.long
def test_p5_rows_with_one_place_in_the_order(walpost, database, kafka, outbox,
                                             topics):
    """One bulk insert, as with created_at default now()."""
    _fill(outbox, 9000)
    sections = _sections(topics, max_in_flight_records=200)
    sections["outbox"]["tables"][0]["order_by"] = "aggregate_type"
    relay = walpost(database, kafka, topics, **sections)
    for seen in (1000, 5500):
        relay.start()
        wait_until(lambda count=seen: _committed(kafka, topics) > count,
                   relay.log, 60)
        relay.kill()
    relay.start()
    relay.wait_ready(60)
    assert _committed(kafka, topics) == 9000
    assert verify(relay, "--fail-on-duplicates")["found"] == {}


@pytest.mark.long
def test_p1_the_place_is_not_utf8(walpost, database, kafka, topics):
    """A bytea is printed as text, in the encoding of an SQL_ASCII database any
    byte may be in an id."""
    database.execute("create table raw (id bytea primary key, "
                     "aggregate_type text, aggregate_id text, payload text)")
    database.execute(
        "insert into raw select sha256(n::text::bytea), 'order', 'key', n "
        "from generate_series(1, 3000) n")
    sections = _sections(topics, **_SLOW)
    sections["outbox"]["tables"] = [{"name": "public.raw", "order_by": "id"}]
    relay = walpost(database, kafka, topics, **sections).start()
    wait_until(lambda: _committed(kafka, topics) > 200, relay.log, 60)
    relay.kill()
    relay.start()
    relay.wait_ready(60)
    assert _committed(kafka, topics) == 3000


@pytest.mark.long
def test_p5_the_checkpoint_topic_is_deleted(walpost, database, strict_kafka,
                                            outbox, topics):
    """It is made again, and the snapshot goes on where it was."""
    strict_kafka.create_topic(topics + "order", 4)
    _fill(outbox, 3000)
    relay = walpost(database, strict_kafka, topics,
                    **_sections(topics, **_SLOW)).start()
    wait_until(lambda: _committed(strict_kafka, topics) > 200, relay.log, 60)
    strict_kafka.delete_topic(f"checkpoints-{topics}")
    relay.wait_ready(120)
    _fill(outbox, 10)
    judge_once(outbox, strict_kafka, relay)


@pytest.mark.long
def test_p7_the_brokers_are_away_for_longer_than_a_take_over(
        walpost, database, own_kafka, outbox, topics):
    _fill(outbox, 100)
    own_kafka.kill()
    relay = walpost(database, own_kafka, topics, **_sections(topics)).start()
    relay.wait_log("trying again", 60)
    own_kafka.start()
    relay.wait_ready(120)
    _fill(outbox, 10)
    judge_once(outbox, own_kafka, relay)


@pytest.mark.long
def test_p10_sigterm_while_it_looks_at_the_slot(walpost, own_postgres, kafka,
                                                topics):
    """Its session does not answer any more."""
    relay, outbox = _with_unflushed(walpost, own_postgres, kafka, topics, 1)
    relay.start()
    relay.wait_log("publishing the existing rows")
    pids = [row[0] for row in outbox.database.execute(
        "select pid from pg_stat_activity where application_name like "
        "'%%:snapshot'")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        assert relay.stop() == 0
        assert time.monotonic() - begun < 8
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
