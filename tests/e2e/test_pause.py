"""walpost pause and resume: an operator holds up the events, and lets them go
on, from exactly where they were (P1, P2, P3, P5)."""

import json
import os
import signal
import time

import pytest

from harness import KafkaReader, Load, Outbox, judge, judge_once, wait_until
from harness.exactly_once import once
from harness.polled import (EVENTS, PolledOutbox, assert_delivered,
                            events_sections)

_REASON = "schema change; see OPS-7"
_TIMEOUT_S = 3  # wal_sender_timeout
# Anything that is sent would be seen by then.
_QUIET_S = 3


def _pause(relay, *words):
    said = relay.verb("pause", "--reason", _REASON, "--by", "alice", *words)
    assert said.returncode == 0, said.stderr
    return said.stdout


def _resume(relay):
    said = relay.verb("resume", "--by", "bob")
    assert said.returncode == 0, said.stderr
    return said.stdout


def _wait_paused(relay):
    return relay.wait_unready("^paused: by alice since .*OPS-7")


def _count(kafka, topics):
    return len(KafkaReader(kafka.bootstrap).read_all(topics))


def _assert_quiet(relay, kafka, topics, seconds=_QUIET_S):
    """Nothing of these topics is sent for a while; returns how much there is."""
    wait_until(lambda: relay.metric("walpost_in_flight_records") == 0,
               "what is in flight to be acknowledged")
    before = _count(kafka, topics)
    time.sleep(seconds)
    assert _count(kafka, topics) == before, "sent while it is paused"
    return before


def _walsender(database):
    return database.value("select active_pid from pg_replication_slots where "
                          "slot_name = %s", (database.name,))


def test_p1_p2_p3_p5_events_wait_while_paused_and_go_on_from_there(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, postgres={
        "wal_sender_timeout": f"{_TIMEOUT_S}s"}).run()
    with Load(outbox, seed=1, pause=0.02) as load:
        relay.wait_acknowledged(200)
        begun = time.monotonic()
        said = _pause(relay)
        assert time.monotonic() - begun < 5
        assert f"slot {database.name}: paused" in said
        _wait_paused(relay)
        walsender = _walsender(database)
        sent = _assert_quiet(relay, kafka, topics, 2 * _TIMEOUT_S)
        assert walsender and _walsender(database) == walsender
        # What was in flight is confirmed, and WAL is kept behind it.
        received = json.loads(relay.get("/status")[1])
        assert received["in_flight_records"] == 0
        assert received["paused"] and received["paused_by"] == "alice"
        assert received["pause_reason"] == _REASON
        assert received["lag_bytes"] > 0
        assert relay.metric("walpost_paused") == 1
        assert relay.metric('walpost_state{state="paused"}') == 1
        assert "keeps the WAL" in relay.get("/readyz")[1]
        shown = relay.verb("status")
        assert shown.returncode == 1 and "by alice since" in shown.stdout
        checked = relay.verb("check").stdout
        assert f"slot {database.name} is paused by alice" in checked, checked
        assert "walpost resume -c " in checked
        assert "already paused by alice" in relay.verb("pause").stdout
        load.wait(50)
        assert "resumed, after a pause by alice" in _resume(relay)
        relay.wait_acknowledged(200)
    assert "not paused" in _resume(relay)
    relay.wait_ready()
    assert relay.metric("walpost_paused") == 0
    assert relay.metric("walpost_reconnects_total") == 0
    checker = judge(outbox, kafka, relay)
    assert checker.duplicates == 0 and checker.records > sent
    assert "is paused" not in relay.verb("check").stdout


@pytest.mark.parametrize("end", ["kill", "stop"])
@pytest.mark.sample(2)
def test_p1_it_stays_paused_over_a_restart(end, walpost, database, kafka,
                                           outbox, topics):
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, seed=2, pause=0.02):
        relay.wait_acknowledged(100)
        _pause(relay)
        if end == "stop":
            begun = time.monotonic()
            assert relay.stop() == 0
            assert time.monotonic() - begun < 5, "it has nothing to wait for"
        else:
            relay.kill()
        relay.start()
        _wait_paused(relay)
        _assert_quiet(relay, kafka, topics)
        _resume(relay)
        relay.wait_acknowledged(100)
    judge(outbox, kafka, relay)


@pytest.mark.parametrize("snapshot", [False, True],
                         ids=["stream", "snapshot"])
@pytest.mark.long
def test_a_first_start_while_paused_sends_nothing(
        snapshot, walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics,
                    **({"snapshot": "initial", "outbox": {"tables": [
                        {"name": "public.outbox", "order_by": "sequence"}]}}
                       if snapshot else {}))
    ids = [outbox.insert("order", "k", str(n)) for n in range(3 * snapshot)]
    assert relay.verb("init").returncode == 0
    assert "on record" in _pause(relay)
    ids += [outbox.insert("order", "k", "9")]
    relay.start()
    _wait_paused(relay)
    assert _assert_quiet(relay, kafka, topics) == 0
    _resume(relay)
    relay.wait_ready()
    database.wait_confirmed(database.name)
    seen = [record.id for record in KafkaReader(kafka.bootstrap).read_all(topics)]
    assert set(seen) == set(ids)


@pytest.mark.long
def test_p1_p3_a_standby_that_takes_over_is_paused(walpost, database, kafka,
                                                   outbox, topics):
    first = walpost(database, kafka, topics).run()
    second = walpost(database, kafka, topics).start()
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               "the second one to be a standby")
    with Load(outbox, seed=3, pause=0.02):
        first.wait_acknowledged(100)
        _pause(first)
        assert second.get("/readyz")[1].startswith("standby")
        wait_until(lambda: second.metric("walpost_paused") == 1,
                   "the standby to see it, too")
        first.kill()
        _wait_paused(second)
        _assert_quiet(second, kafka, topics)
        _resume(second)
        second.wait_acknowledged(100)
    judge(outbox, kafka, second, takeover=True)


@pytest.mark.long
def test_p9_a_gap_is_shown_over_the_pause(walpost, database, kafka, outbox,
                                          topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    _pause(relay)
    _wait_paused(relay)
    relay.kill()
    database.wait_slot_inactive(database.name)
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    relay.start()
    relay.wait_unready(r"stuck: \[slot_missing\].*also: paused by alice")
    assert relay.metric("walpost_paused") == 1


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.long
def test_p10_a_shutdown_of_postgres_is_not_held_up(
        mode, walpost, own_postgres, own_database, kafka, topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics).run()
    with Load(outbox, seed=4, pause=0.02) as load:
        relay.wait_acknowledged(100)
        _pause(relay)
        _wait_paused(relay)
        load.wait(100)
        begun = time.monotonic()
        own_postgres.stop(mode)
        assert time.monotonic() - begun < 10
        own_postgres.start()
        _wait_paused(relay)
        _assert_quiet(relay, kafka, topics)
        _resume(relay)
        relay.wait_acknowledged(100)
    judge(outbox, kafka, relay)


@pytest.mark.long
def test_who_does_not_own_the_publication_gets_the_sql(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    role = "pauser_" + database.name
    database.execute(f"create role {role} login replication; "
                     f"grant select on outbox to {role}")
    before = relay.config
    relay.configure({**before, "postgres": {
        **before["postgres"], "conninfo": database.conninfo(user=role)}})
    said = relay.verb("pause", "--reason", "it's late", "--by", "alice")
    assert said.returncode == 3 and "does not own publication" in said.stderr
    assert relay.get("/readyz")[0] == 200
    sql = said.stderr[said.stderr.index("COMMENT ON PUBLICATION"):].strip()
    database.execute(sql.replace("%", "%%"))
    relay.wait_unready("^paused: by alice since .*it's late")
    assert outbox.insert("order", "k", "1")
    said = relay.verb("resume")
    assert said.returncode == 3, said.stdout
    sql = said.stderr[said.stderr.index("COMMENT ON PUBLICATION"):].strip()
    database.execute(sql.replace("%", "%%"))
    relay.wait_ready()
    database.wait_confirmed(database.name)
    assert _count(kafka, topics) == 1
    database.execute(f"drop owned by {role}; drop role {role}")


@pytest.mark.long
def test_a_record_that_vanishes_or_is_not_seen_does_not_resume(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    _pause(relay)
    _wait_paused(relay)
    comment = database.value("select obj_description(oid, 'pg_publication') "
                             "from pg_publication where pubname = 'walpost'")
    database.execute("comment on publication walpost is null")
    outbox.insert("order", "k", "1")
    assert _assert_quiet(relay, kafka, topics, 5) == 0
    # The session beside the stream does not answer any more.
    side = database.value(
        "select pid from pg_stat_activity where application_name like "
        "'walpost:%%:side' and datname = %s", (database.name,))
    os.kill(side, signal.SIGSTOP)
    try:
        assert _assert_quiet(relay, kafka, topics, 5) == 0
        assert relay.get("/readyz")[1].startswith("paused: by alice")
    finally:
        os.kill(side, signal.SIGCONT)
    database.execute("comment on publication walpost is %s", (comment,))
    _resume(relay)
    relay.wait_ready()
    database.wait_confirmed(database.name)
    assert _count(kafka, topics) == 1


@pytest.mark.long
def test_p5_exactly_once_is_paused_in_the_middle_of_a_transaction(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics,
                    **once(topics, transaction_boundary="source")).run()
    with Load(outbox, seed=5, pause=0.02):
        relay.wait_acknowledged(100)
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "sequence) select 'bulk', 'b-' || n, to_jsonb(n), 1 "
            "from generate_series(1, 60000) n")
        sent = relay.metric("walpost_produced_records_total")
        wait_until(lambda: relay.metric("walpost_produced_records_total")
                   > sent + 2000, "the large transaction to be on its way")
        _pause(relay)
        _wait_paused(relay)
        wait_until(lambda: not json.loads(relay.get("/status")[1])[
            "kafka_transaction_open_seconds"], "no open transaction")
        _assert_quiet(relay, kafka, topics)
        assert KafkaReader(kafka.bootstrap).size(topics + "bulk") < 60000
        _resume(relay)
    judge_once(outbox, kafka, relay)


def _polled(strategy, database):
    """Sections, the table, a function that inserts rows, and the SQL that tells
    what is expected."""
    if strategy == "cursor":
        database.execute(EVENTS)
        return (events_sections(), "events", lambda count: database.execute(
            "insert into events (aggregate_id) select 'a' || n %% 10 from "
            "generate_series(1, %s) n", (count,)),
            "select id::text, aggregate_id, seq from events order by seq")
    polled = PolledOutbox(database)
    sections = polled.sections()
    table, = sections["outbox"]["tables"]
    if strategy == "locks":
        table["state"] = {**table["state"], "locked_until": ""}
    kept = "outbox"
    if strategy == "delete":
        kept = "sent"
        sections["polling"]["strategy"] = strategy
        del table["state"]
        database.execute(
            "create index on outbox (sequence); "
            "create table sent as table outbox; create function keep() "
            "returns trigger language plpgsql as $$ begin insert into sent "
            "select old.*; return null; end $$; create trigger keep after "
            "delete on outbox for each row execute function keep()")
    return sections, "outbox", polled.insert, (
        "select id::text, aggregate_type || '/' || aggregate_id, sequence "
        f"from {kept} order by sequence")


@pytest.mark.parametrize("strategy", ["claim", "locks", "delete", "cursor"])
@pytest.mark.sample(4)
def test_p3_p5_polled_rows_wait_in_their_table(strategy, walpost, database,
                                               kafka, topics, reader):
    sections, table, insert, expected = _polled(strategy, database)
    relay = walpost(database, kafka, topics, **sections).run()
    insert(500)
    wait_until(lambda: _count(kafka, topics) == 500, "the first rows")
    said = _pause(relay)
    assert f"table public.{table}: paused" in said
    insert(500)
    text = _wait_paused(relay)
    assert "WAL" not in text
    assert _assert_quiet(relay, kafka, topics) == 500
    assert f"table public.{table} is paused by alice" in relay.verb(
        "check").stdout
    relay.kill()
    relay.start()
    _wait_paused(relay)
    assert _assert_quiet(relay, kafka, topics) == 500
    _resume(relay)
    wait_until(lambda: _count(kafka, topics) >= 1000, "the later rows")
    relay.wait_ready()
    assert_delivered(database.execute(expected), reader.read_all(topics))


@pytest.mark.long
def test_parked_events_are_not_released_while_paused(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, on_error={
        "headers_unreadable": "park"}).run()
    outbox.insert("order", "k", "1", headers='["no object"]')
    behind = outbox.insert("order", "k", "2")
    wait_until(lambda: relay.metric("walpost_parked_events") == 2,
               "both events to be parked")
    _pause(relay)
    _wait_paused(relay)
    said = relay.verb("parked", "discard", "--why", "a test", "--key",
                      "k")
    assert said.returncode == 0, said.stderr
    assert _assert_quiet(relay, kafka, topics) == 0
    _resume(relay)
    wait_until(lambda: [record.id for record in KafkaReader(
        kafka.bootstrap).read_all(topics)] == [behind], "the release")
