"""A standby is promoted: with a failover slot nothing is lost, without one
walpost says so."""

import pathlib
import subprocess
import time

import pytest

from harness import (Checker, Database, KafkaReader, Load, Outbox, Postgres,
                     lsn, wait_until)
from harness.paths import REPOSITORY


def _either(primary, standby, database):
    """A conninfo that finds whichever of the two takes writes."""
    return (f"host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port} "
            f"dbname={database.name} user=postgres "
            "target_session_attrs=read-write")


@pytest.fixture
def major_17():
    fetched = subprocess.run([REPOSITORY / "scripts" / "fetch-postgres", "17"],
                             stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetched.stdout.strip())


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


def test_p1_p2_p3_p4_a_failover_slot_goes_on_after_a_promotion(
        walpost, make_pair, major_17, kafka, topics):
    primary, standby = make_pair(major_17, {"sync_replication_slots": "on"})
    primary.stop()
    primary.configure(synchronized_standby_slots="standby")
    primary.start()
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": _either(primary, standby, database),
        "failover": True}).run()
    with Load(outbox, seed=1, pause=0.005):
        _wait_synchronised(standby, database)
        time.sleep(2)
        primary.crash()
        standby.promote()
        database.move_to(standby)
        relay.wait_log("was promoted", seconds=30)
        relay.wait_ready(60)
        time.sleep(2)
    database.wait_confirmed(database.name, seconds=60)
    checker = Checker(outbox.expected(),
                      KafkaReader(kafka.bootstrap).read_all(topics))
    checker.assert_clean()
    assert len(outbox.expected()) > 100
    assert relay.metric("walpost_rewinds_total") == 1
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
    assert "walpost init" in text and database.name in text


def _wait_synchronised(standby, database):
    def synchronised():
        with standby.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                "select synced and not temporary from pg_replication_slots "
                "where slot_name = %s", (database.name,))
            row = cursor.fetchone()
            return row is not None and row[0]

    wait_until(synchronised, "the slot to be on the standby", seconds=60)


def _has_replayed(standby, position):
    with standby.connect() as connection, connection.cursor() as cursor:
        cursor.execute("select pg_last_wal_replay_lsn()::text")
        return lsn(cursor.fetchone()[0]) >= position
