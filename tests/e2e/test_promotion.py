"""A standby is promoted: with a failover slot nothing is lost, without one
walpost says so."""

import contextlib
import signal
import time

import pytest

from harness import (Database, Load, Outbox, Postgres, judge, judge_once, lsn,
                     verify, wait_until)
from harness.exactly_once import once
from harness.matrix import long_only


def _either(primary, standby, database):
    """A conninfo that finds whichever of the two takes writes."""
    return (f"host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port} "
            f"dbname={database.name} user=postgres "
            "target_session_attrs=read-write")


@pytest.fixture
def make_pair(directory):
    """Makes a primary and its standby; ends both."""
    servers = []

    def make(bin_dir=None, on_standby=None):
        primary = Postgres(directory / "primary", bin_dir).start()
        servers.append(primary)
        standby = primary.make_standby(directory / "standby", "standby",
                                       **(on_standby or {}))
        servers.append(standby)
        return primary, standby.start()

    yield make
    for server in servers:
        server.close()


def _pair_in_step(make_pair, bin_dir):
    """A primary that sends nothing before its standby has it."""
    primary, standby = make_pair(bin_dir, {"sync_replication_slots": "on"})
    primary.stop()
    primary.configure(synchronized_standby_slots="standby")
    primary.start()
    return primary, standby


def test_p1_p2_p3_p4_a_failover_slot_goes_on_after_a_promotion(
        walpost, make_pair, major_17, kafka, topics):
    primary, standby = _pair_in_step(make_pair, major_17)
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": _either(primary, standby, database),
        "failover": True}).run()
    with Load(outbox, seed=1, pause=0.005) as load:
        standby.wait_synchronised(database, database.name)
        relay.wait_acknowledged(100)
        primary.crash()
        standby.promote()
        database.move_to(standby)
        relay.wait_log("was promoted", seconds=30)
        relay.wait_ready(60)
        load.wait(200)
    judge(outbox, kafka, relay)
    assert relay.metric("walpost_rewinds_total") == 1
    assert relay.stop() == 0


@pytest.mark.parametrize("is_running", [False, *long_only(True)],
                         ids=lambda is_running: "running" if is_running
                         else "restarted")
@pytest.mark.long
def test_p5_exactly_once_a_promotion_repeats_nothing(
        walpost, make_pair, major_17, kafka, topics, is_running):
    primary, standby = _pair_in_step(make_pair, major_17)
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": _either(primary, standby, database),
        "failover": True}, **once(topics)).run()
    with Load(outbox, seed=1, pause=0.005) as load:
        standby.wait_synchronised(database, database.name)
        relay.wait_acknowledged(2000)
        if not is_running:
            relay.kill()
        primary.crash()
        standby.promote()
        database.move_to(standby)
        if not is_running:
            relay.start()
        relay.wait_log("was promoted", seconds=30)
        relay.wait_ready(60)
        load.wait(200)
    judge_once(outbox, kafka, relay)
    assert relay.stop() == 0


def test_p9_p10_without_a_failover_slot_a_promotion_stops_it(
        walpost, make_pair, kafka, topics):
    primary, standby = make_pair()
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": _either(primary, standby, database)}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    end = database.current_lsn()
    wait_until(lambda: _has_replayed(standby, end), "the standby to follow")
    primary.crash()
    standby.promote()
    text = relay.wait_unready("was promoted", seconds=60)
    assert "walpost recover" in text and database.name in text
    assert relay.stop() == 0
    database.move_to(standby)
    for number in range(2, 12):
        outbox.insert("order", f"order-{number}")
    mended = relay.verb("recover", "--order-by", "sequence")
    assert mended.returncode == 0, mended.stderr
    assert "10 published" in mended.stdout
    relay.run()
    outbox.insert("order", "order-12")
    database.wait_confirmed(database.name)
    assert verify(relay)["clean"]
    assert relay.stop() == 0


@pytest.mark.long
def test_check_says_what_a_promotion_would_lack(walpost, make_pair, major_17,
                                                kafka, topics):
    primary, standby = make_pair(major_17)
    database = Database(primary)
    outbox = Outbox(database, topics)
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": _either(primary, standby, database), "failover": True})
    end = database.current_lsn()
    wait_until(lambda: _has_replayed(standby, end), "the standby to follow")
    checked = relay.verb("check")
    for words in ("is not a failover slot", "ALTER_REPLICATION_SLOT",
                  "synchronized_standby_slots is empty",
                  "does not copy slots", "is missing: a promotion"):
        assert words in checked.stdout, checked.stdout

    _set(standby, "sync_replication_slots = on")
    _set(primary, "synchronized_standby_slots = 'standby'")
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    relay.run()
    standby.wait_synchronised(database, database.name)
    _set(primary, "synchronized_standby_slots = 'standby, elsewhere'")
    checked = relay.verb("check")
    for words in ("is kept for a promotion", "copies slots",
                  "is in step (synced)", "waits for elsewhere"):
        assert words in checked.stdout, checked.stdout

    # And then it does: nothing more comes, and that is no silence.
    outbox.insert("order", "order-1")
    relay.wait_unready('stuck.*"elsewhere".*synchronized_standby_slots', 30)
    _set(primary, "synchronized_standby_slots = 'standby'")
    relay.wait_ready(30)
    database.wait_confirmed(relay.slot)


def _set(server, setting):
    with contextlib.closing(server.connect()) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"alter system set {setting}")
            cursor.execute("select pg_reload_conf()")


def _has_replayed(standby, position):
    with standby.connect() as connection, connection.cursor() as cursor:
        cursor.execute("select pg_last_wal_replay_lsn()::text")
        return lsn(cursor.fetchone()[0]) >= position


@pytest.mark.long
@pytest.mark.parametrize("store", ["postgres", "none"])
def test_p1_p2_p9_one_that_comes_back_after_another_followed(
        walpost, make_pair, major_17, kafka, topics, store):
    """What it remembers is of the old timeline, and the slot has moved on."""
    primary, standby = _pair_in_step(make_pair, major_17)
    database = Database(primary)
    outbox = Outbox(database, topics)
    sections = {"postgres": {"conninfo": _either(primary, standby, database),
                             "failover": True},
                "checkpoint": {"store": store}}
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections)
    with Load(outbox, seed=1, pause=0.01) as load:
        standby.wait_synchronised(database, database.name)
        first.wait_acknowledged(100)
        first.send(signal.SIGSTOP)
        primary.crash()
        standby.promote()
        database.move_to(standby)
        second.run(60)
        second.wait_acknowledged(100)
        first.send(signal.SIGCONT)
        wait_until(lambda: "standby" in first.get("/readyz")[1],
                   lambda: f"it to stand by\n{first.log()}", 60)
        time.sleep(1)
        assert second.stop() == 0
        first.wait_ready(30)
        load.wait(200)
    judge(outbox, kafka, first, takeover=True)
    assert first.stop() == 0
