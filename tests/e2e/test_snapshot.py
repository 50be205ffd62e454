"""`snapshot: initial` whatever gets in its way: no row is passed over (P1).

That nothing comes twice with exactly_once: test_snapshot_exactly_once.py.
"""

import json
import re
import signal
import subprocess
import time

import pytest

from harness import (Checker, KafkaReader, Outbox, note, verify, wait_until)
from harness.matrix import LONG, long_only


# A few hundred records a second: time to get in the way.
_SLOW = {"delivery": {"max_in_flight_records": 50},
         "kafka": {"properties": {"linger.ms": "100"}}}


def _fill(outbox, rows):
    """Rows of 20 keys; the sequence of each key rises."""
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n %% 20, to_jsonb(n), n + last "
        "from generate_series(1, %s) n, "
        "(select coalesce(max(sequence), 0) from outbox) rows (last)",
        (rows,))


def _read(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _is_marked(record):
    return "walpost-snapshot" in dict(record.headers)


def _sections(order_by="sequence"):
    return {"outbox": {"tables": [{"name": "public.outbox",
                                   "order_by": order_by}]},
            "postgres": {"create": True},
            "snapshot": "initial"}


def _slow_start(walpost, outbox, kafka, topics, rows, order_by="sequence",
                **more):
    """A walpost in the middle of its snapshot."""
    sections = {**_sections(order_by), **_SLOW, **more}
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
    relay = walpost(database, kafka, topics, **_sections())
    relay.start()
    records = _finish(relay, outbox, kafka, topics)
    # Nothing but the rows of the first process, and those that the second
    # snapshot shows besides the stream, come twice.
    assert len(records) - len(outbox.expected()) <= first + 30


@pytest.mark.long
def test_p10_sigterm_interrupts_the_snapshot(walpost, database, kafka, outbox,
                                             topics):
    slow = _slow_start(walpost, outbox, kafka, topics, 3000)
    state = json.loads(slow.get("/status")[1])
    assert re.search(r"initial snapshot: \d+ of 3000 rows", state["reason"])
    assert slow.get("/readyz")[0] == 503
    begun = time.monotonic()
    assert slow.stop() == 0
    assert time.monotonic() - begun < 8
    assert re.search(r"\d+ of 3000 rows were published", slow.log())
    relay = walpost(database, kafka, topics, **_sections())
    relay.start()
    _finish(relay, outbox, kafka, topics)


@pytest.mark.parametrize("poison", ["mapping", *long_only("too large")])
@pytest.mark.long
def test_p8_a_row_that_cannot_be_delivered_waits_for_the_operator(
        walpost, database, kafka, outbox, topics, poison):
    relay = walpost(database, kafka, topics, **_sections())
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_p10_the_metrics_count_its_rows(walpost, database, kafka, outbox,
                                        topics):
    """Those that are set aside, too: nothing of it is silent."""
    relay = walpost(database, kafka, topics, **_sections(),
                    on_error={"topic_illegal": "skip"})
    _fill(outbox, 100)
    outbox.insert("no topic!", "key-1", sequence=101)
    database.execute("delete from truth where aggregate_type = 'no topic!'")
    relay.run()
    _finish(relay, outbox, kafka, topics)
    assert relay.metric("walpost_events_total") == 131
    assert relay.metric("walpost_acknowledged_records_total") == 130
    assert relay.metric(
        'walpost_skipped_events_total{class="topic_illegal"}') == 1


@pytest.mark.long
def test_two_that_start_together_take_one_snapshot(walpost, database, kafka,
                                                   outbox, topics):
    first = _slow_start(walpost, outbox, kafka, topics, 1500)
    second = walpost(database, kafka, topics, **_sections())
    second.start()
    second.wait_log("standby")
    _finish(first, outbox, kafka, topics)
    records = _read(kafka, topics)
    assert sum(map(_is_marked, records)) == 1500
    first.send(signal.SIGKILL)
    second.wait_ready(30)
    assert len(_read(kafka, topics)) == len(records)


def _drop_slot(database):
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
@pytest.mark.long
def test_p1_the_slot_is_made_again_during_the_snapshot(
        walpost, database, kafka, outbox, topics, guarantee):
    """What committed between the two slots is in neither."""
    slow = _slow_start(walpost, outbox, kafka, topics, 1500,
                       checkpoint={"topic": f"checkpoints-{topics}"},
                       delivery={**_SLOW["delivery"], "guarantee": guarantee})
    _drop_slot(database)
    _fill(outbox, 50)
    made = slow.verb("init", "--fresh")
    assert made.returncode == 0, made.stderr
    _fill(outbox, 50)
    slow.wait_log("was dropped during the initial snapshot")
    _finish(slow, outbox, kafka, topics)
    assert verify(slow)["clean"]


@pytest.mark.long
def test_p9_the_slot_is_dropped_during_the_snapshot(walpost, database, kafka,
                                                    outbox, topics):
    """A gap, and after it the snapshot is still to come."""
    slow = _slow_start(walpost, outbox, kafka, topics, 1000)
    _drop_slot(database)
    _fill(outbox, 50)
    slow.wait_unready("slot_missing", seconds=60)
    assert slow.stop() == 0
    made = slow.verb("init", "--fresh")
    assert made.returncode == 0, made.stderr
    assert "will be published at the first start" in made.stdout
    slow.start()
    _finish(slow, outbox, kafka, topics)


@pytest.mark.parametrize("store", ["file", "kafka", "postgres"])
@pytest.mark.long
def test_p9_a_fresh_slot_names_the_checkpoint_of_the_slot_before(
        walpost, database, kafka, outbox, topics, directory, store):
    """And the command removes it."""
    place = {"file": {"path": str(directory / "a checkpoint")},
             "kafka": {"topic": f"checkpoints-{topics}"},
             "postgres": {"table": "public.checkpoints"}}[store]
    relay = walpost(database, kafka, topics, **_sections(),
                    checkpoint={"store": store, **place}).run()
    _fill(outbox, 20)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    _drop_slot(database)
    _fill(outbox, 20)
    made = relay.verb("init", "--fresh")
    assert made.returncode == 0, made.stderr
    command = re.search(r"  -> before walpost runs: (.*); not if this is a clone",
                        made.stdout)[1]
    if store == "postgres":
        database.execute(command)
    else:
        subprocess.run(command, shell=True, check=True)
    relay.start()
    _finish(relay, outbox, kafka, topics)
    # The checkpoint is that of the slot now.
    assert "checkpoint" not in relay.verb("init", "--fresh").stdout


@pytest.mark.long
def test_p9_a_fresh_slot_names_events_that_are_parked(walpost, database, kafka,
                                                      outbox, topics):
    relay = walpost(database, kafka, topics, **_sections(),
                    on_error={"topic_illegal": "park"}).run()
    outbox.insert("no topic!", "key-1")
    wait_until(lambda: relay.metric("walpost_parked_keys") == 1,
               "the event to be parked")
    assert relay.stop() == 0
    _drop_slot(database)
    said = relay.verb("init", "--fresh")
    assert said.returncode == 0, said.stderr
    assert re.search(r"parking\.table public\.walpost_parked has 1 events of the "
                     r"slot before.*\n  -> walpost parked -c .* list", said.stdout)
