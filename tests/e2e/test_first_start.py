"""The first start: an outbox that has rows already is never passed over without
a word, and `snapshot: initial` publishes them whatever gets in its way (P1)."""

import json
import re
import signal
import time

import pytest

from harness import (Checker, KafkaReader, Outbox, note, verify,
                     wait_until)
from harness.matrix import LONG, long_only

_BACKLOG = 300


def _fill(outbox, rows, keys=20):
    """Rows of `keys` keys; the sequence of each key rises."""
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n %% %s, to_jsonb(n), n + last "
        "from generate_series(1, %s) n, "
        "(select coalesce(max(sequence), 0) from outbox) rows (last)",
        (keys, rows))


def _read(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _is_marked(record):
    return "walpost-snapshot" in dict(record.headers)


def _sections(directory, way, store):
    sections = {
        "outbox": {"tables": [{"name": "public.outbox",
                               "order_by": "sequence"}]},
        "postgres": {"create": way in ("create", "snapshot")},
        "snapshot": "initial" if "snapshot" in way else "never"}
    if store == "file":
        sections["checkpoint"] = {"store": "file",
                                  "path": str(directory / "checkpoint")}
    return sections


# A few hundred records a second: time to get in the way.
_SLOW = {"delivery": {"max_in_flight_records": 50},
         "kafka": {"properties": {"linger.ms": "100"}}}

_WAYS = ("init", "create", "snapshot", "init then snapshot")
_FIRST_STARTS = [
    ("backlog", "init", "none"),
    ("backlog", "create", "file"),
    ("backlog", "snapshot", "file"),
    ("backlog", "init then snapshot", "none"),
    ("empty", "init then snapshot", "file"),
]
_OTHERS = [(table, way, store) for table in ("empty", "backlog")
           for way in _WAYS for store in ("none", "file")
           if (table, way, store) not in _FIRST_STARTS]


@pytest.mark.parametrize("table, way, store",
                         _FIRST_STARTS + long_only(*_OTHERS))
def test_p1_first_start(walpost, database, kafka, outbox, topics, directory,
                        table, way, store):
    backlog = _BACKLOG if table == "backlog" else 0
    relay = walpost(database, kafka, topics,
                    **_sections(directory, way, store))
    _fill(outbox, backlog)
    old = {row[0] for row in database.execute("select id::text from outbox")}
    is_published = "snapshot" in way or not backlog
    said = rf"public\.outbox has {backlog} rows.*will " + (
        "be" if is_published else "not be") + " published"
    if way.startswith("init"):
        for _ in range(2):  # a second time changes nothing
            made = relay.verb("init")
            assert made.returncode == 0, made.stderr
            assert bool(re.search(said, made.stdout)) == bool(backlog)
    checked = relay.verb("check")
    assert bool(re.search(said, checked.stdout)) == bool(backlog)
    if backlog and not is_published:
        assert re.search(rf"warning table {said}", checked.stdout)
        assert "replay --from-table" in checked.stdout
    _fill(outbox, 50)  # after init, before run
    relay.run()
    told = re.search(r" warning table public\.outbox has (\d+) rows",
                     relay.log())
    assert bool(told) == bool(not is_published or (
        way == "create"))
    _fill(outbox, 50)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0

    records = _read(kafka, topics)
    between = way == "create"  # nothing brings these either
    expected = [event for event in outbox.expected()
                if "snapshot" in way or event.id not in old]
    if between:
        assert int(told[1]) == backlog + 50
        expected = [event for event in expected
                    if event.sequence > backlog + 50]
    Checker(expected, records).assert_clean()
    if "snapshot" in way:
        assert sum(map(_is_marked, records)) == backlog + 50
    # The next starts have nothing to do.
    before = len(records)
    relay.run()
    database.wait_confirmed(database.name)
    time.sleep(0.5)
    assert relay.stop() == 0
    assert len(_read(kafka, topics)) == before
    if "snapshot" in way:
        relay.wait_log("no effect any more")
        assert verify(relay)["clean"]
    else:
        assert "will not be published" not in relay.log()


def test_check_limits_the_count(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, postgres={"create": False})
    _fill(outbox, 100_001)
    database.execute("analyze outbox")
    said = "has more than 100,000 rows (about 100,001 by the statistics)"
    assert said in relay.verb("init").stdout
    assert said in relay.verb("check").stdout


def test_a_role_that_may_not_read_is_told_how(walpost, database, kafka, outbox,
                                              topics):
    administrator = walpost(database, kafka, topics,
                            postgres={"create": False})
    _fill(outbox, 10)
    assert "10 rows" in administrator.verb("init").stdout
    role = f"blind_{database.name}"
    database.execute(f"create role {role} login replication")
    try:
        relay = walpost(database, kafka, topics, postgres={
            "create": False, "conninfo": database.conninfo(role)})
        checked = relay.verb("check")
        assert f'GRANT SELECT ON "public"."outbox" TO "{role}"' \
            in checked.stdout
        relay.run()  # it never fails because of that
        assert "cannot know" in relay.log()
        assert relay.stop() == 0
    finally:
        database.execute(f"drop owned by {role}")
        database.execute(f"drop role {role}")


def test_init_on_a_slot_of_somebody_else(walpost, database, kafka, outbox,
                                         topics):
    """`snapshot: initial` refuses it until `init` has put it on record."""
    relay = walpost(database, kafka, topics, postgres={"create": False},
                    snapshot="initial",
                    outbox={"tables": [{"name": "public.outbox",
                                        "order_by": "sequence"}]})
    _fill(outbox, 20)
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    relay.start()
    assert relay.wait_exit() == 3
    assert "walpost init" in relay.log() and "snapshot: never" in relay.log()
    made = relay.verb("init")
    assert made.returncode == 0 and "made by somebody else" in made.stdout
    relay.run()
    _fill(outbox, 20)
    database.wait_confirmed(database.name)
    Checker(outbox.expected(), _read(kafka, topics)).assert_clean()
    assert verify(relay)["clean"]


def test_init_refuses_a_slot_of_another_plugin(walpost, database, kafka,
                                               outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, postgres={"create": False})
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'test_decoding')", (database.name,))
    refused = relay.verb("init")
    assert refused.returncode == 3 and "pgoutput" in refused.stderr


def _slow_start(walpost, outbox, kafka, topics, rows, order_by="sequence"):
    """A walpost in the middle of its snapshot."""
    sections = {**_sections(None, "snapshot", "none"), **_SLOW}
    sections["outbox"]["tables"][0]["order_by"] = order_by
    slow = walpost(outbox.database, kafka, topics, **sections)
    _fill(outbox, rows)
    slow.start()
    wait_until(lambda: len(_read(kafka, topics)) > 100, "the first rows",
               pause=0.1)
    assert outbox.database.execute(
        "select 1 from pg_stat_activity where application_name like "
        "'%%:snapshot' and datname = %s", (outbox.database.name,))
    return slow


def _finish(relay, outbox, kafka, topics):
    """To the end of the snapshot and behind it; returns the records."""
    relay.wait_ready(60)
    _fill(outbox, 30)
    outbox.database.wait_confirmed(outbox.database.name)
    records = _read(kafka, topics)
    Checker(outbox.expected(), records).assert_clean()
    return records


def test_p1_snapshot_killed_and_started_again(walpost, database, kafka, outbox,
                                              topics):
    slow = _slow_start(walpost, outbox, kafka, topics, 2000)
    slow.kill()
    first = len(_read(kafka, topics))
    _fill(outbox, 30)
    relay = walpost(database, kafka, topics,
                    **_sections(None, "snapshot", "none"))
    relay.start()
    records = _finish(relay, outbox, kafka, topics)
    # Nothing but the rows of the first process, and those that the second
    # snapshot shows besides the stream, come twice.
    assert len(records) - len(outbox.expected()) <= first + 30


def test_p10_sigterm_interrupts_the_snapshot(walpost, database, kafka, outbox,
                                             topics):
    slow = _slow_start(walpost, outbox, kafka, topics, 3000)
    state = json.loads(slow.get("/status")[1])
    assert re.search(r"initial snapshot: \d+ of 3000 rows", state["reason"])
    assert slow.get("/readyz")[0] == 503
    begun = time.monotonic()
    assert slow.stop() == 0
    assert time.monotonic() - begun < 8
    assert re.search(r"\d+ of 3000 rows are in Kafka", slow.log())
    relay = walpost(database, kafka, topics,
                    **_sections(None, "snapshot", "none"))
    relay.start()
    _finish(relay, outbox, kafka, topics)


@pytest.mark.parametrize("poison", ["mapping", *long_only("too large")])
def test_p8_a_row_that_cannot_be_delivered_waits_for_the_operator(
        walpost, database, kafka, outbox, topics, poison):
    relay = walpost(database, kafka, topics,
                    **_sections(None, "snapshot", "none"))
    _fill(outbox, 200)
    if poison == "mapping":
        bad = outbox.insert("no topic!", "key-1", sequence=201)
        code = "topic_illegal"
    else:
        bad = outbox.insert("order", "key-1", json.dumps("x" * 3_000_000),
                            sequence=201)
        code = "record_too_large"
    _fill(outbox, 200)
    relay.start()
    text = relay.wait_unready(code)
    assert bad in text and "public.outbox" in text
    status = json.loads(relay.get("/status")[1])
    assert status["state"] == "stuck"
    assert status["stopped_event_id"] == bad
    assert status["stopped_reason_code"] == code
    count = len(_read(kafka, topics))
    time.sleep(6)  # it has looked at the row once more
    assert relay.running() and relay.get("/readyz")[0] == 503
    records = _read(kafka, topics)
    assert len(records) == count, "nothing is sent twice while it waits"
    assert len({record.id for record in records}) == 200
    database.execute("delete from outbox where id = %s", (bad,))
    database.execute("delete from truth where id = %s", (bad,))
    records = _finish(relay, outbox, kafka, topics)
    # The transaction after the deletion shows nothing that the stream repeats.
    assert len(records) == len(outbox.expected())


_LIMITS = {"idle_in_transaction_session_timeout": "200ms",
           "statement_timeout": "300ms", "lock_timeout": "200ms"}


def test_limits_of_the_role_do_not_start_it_over(
        walpost, database, kafka, outbox, topics):
    limits = dict(_LIMITS)
    if database.major() >= 17:
        limits["transaction_timeout"] = "300ms"
    for name, value in limits.items():
        database.execute(
            f"alter database {database.name} set {name} = '{value}'")
    slow = _slow_start(walpost, outbox, kafka, topics, 1500)
    records = _finish(slow, outbox, kafka, topics)
    assert len(records) == len(outbox.expected()), "no row is sent twice"


def _terminate(database):
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where "
        "application_name like '%%:snapshot' and datname = %s",
        (database.name,))


def test_p1_a_lost_connection_resumes_at_the_last_acknowledged_row(
        walpost, database, kafka, outbox, topics):
    slow = _slow_start(walpost, outbox, kafka, topics, 3000)
    for _ in range(3):
        _terminate(database)
        time.sleep(0.7)
    records = _finish(slow, outbox, kafka, topics)
    note(f"3,000 rows over three lost connections: {len(records)} records")
    assert len(records) == len(outbox.expected()), "it starts over"


def test_p1_rows_of_one_key_of_the_order_resume_too(
        walpost, database, kafka, outbox, topics):
    """All rows are ties of the order."""
    slow = _slow_start(walpost, outbox, kafka, topics, 1500, "aggregate_type")
    _terminate(database)
    slow.wait_ready(60)
    records = _read(kafka, topics)
    assert {record.id for record in records} == {
        event.id for event in outbox.expected()}
    assert len(records) == 1500


def test_p1_snapshot_over_a_server_restart(walpost, own_postgres, own_kafka,
                                           topics):
    outbox = Outbox(own_postgres.create_database(), topics)
    slow = _slow_start(walpost, outbox, own_kafka, topics, 3000)
    own_postgres.restart()
    _fill(outbox, 30)
    records = _finish(slow, outbox, own_kafka, topics)
    # The transaction after the restart shows the 30 rows, and so does the
    # stream.
    assert len(records) - len(outbox.expected()) <= 30


def _a_broker_that_dies_resumes(walpost, database,  # pylint: disable=unused-argument
                                own_kafka, outbox, topics):
    slow = _slow_start(walpost, outbox, own_kafka, topics, 2000)
    own_kafka.kill()
    slow.wait_unready("broker", seconds=30)
    own_kafka.start()
    records = _finish(slow, outbox, own_kafka, topics)
    assert len(records) - len(outbox.expected()) <= 50, "one window at most"


if LONG:
    test_p1_a_broker_that_dies_resumes = _a_broker_that_dies_resumes


def test_two_that_start_together_take_one_snapshot(walpost, database, kafka,
                                                   outbox, topics):
    first = _slow_start(walpost, outbox, kafka, topics, 1500)
    second = walpost(database, kafka, topics,
                     **_sections(None, "snapshot", "none"))
    second.start()
    second.wait_log("standby")
    _finish(first, outbox, kafka, topics)
    records = _read(kafka, topics)
    assert sum(map(_is_marked, records)) == 1500
    first.send(signal.SIGKILL)
    second.wait_ready(30)
    assert len(_read(kafka, topics)) == len(records)

