"""Postgres stops, its walsender is ended, transactions stay open or are huge.

WALPOST_BIG_ROWS is the size of the big transaction (200000 rows; 5000000 in
the long form of the suite).
"""

import os
import signal
import time

import pytest

from harness import (MOST_MEMORY, Load, Outbox, judge, note, verify,
                     wait_until)

_BIG_ROWS = int(os.environ.get("WALPOST_BIG_ROWS", "200000"))
_MIB = 1 << 20


def _walsender(database):
    return database.value("select active_pid from pg_replication_slots "
                          "where slot_name = %s", (database.name,))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.sample(2)
def test_p1_p2_p3_p10_postgres_restarts_under_load(
        walpost, own_postgres, own_database, kafka, topics, mode):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics).run()
    with Load(outbox, seed=2, pause=0.005) as load:
        for _ in range(2):
            relay.wait_acknowledged(100)
            took = own_postgres.stop(mode)
            relay.wait_unready(seconds=10)
            own_postgres.start()
            begun = time.monotonic()
            relay.wait_ready(30)
            note(f"{mode} stop took {took:.1f} s, ready "
                 f"{time.monotonic() - begun:.1f} s after the start")
        load.wait(50)
    # walpost knows what it has sent, whatever the server has forgotten.
    assert judge(outbox, kafka, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p2_p3_walsender_is_ended_again_and_again(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, seed=3, pause=0.005) as load:
        for _ in range(10):
            pid = wait_until(lambda: _walsender(database), "a walsender")
            database.execute("select pg_terminate_backend(%s)", (pid,))
            wait_until(lambda: _walsender(database) not in (None, pid),
                       "another walsender", pause=0.02)
        relay.wait_ready()
        load.wait(50)
    assert judge(outbox, kafka, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p10_all_connections_are_refused_for_a_while(
        walpost, own_postgres, own_database, kafka, topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics).run()
    for number in range(100):
        outbox.insert("order", f"key-{number}", sequence=number)
    own_postgres.refuse(own_database.name, True)
    own_database.execute("select pg_terminate_backend(%s)",
                         (_walsender(own_database),))
    relay.wait_unready("stuck", 10)
    outbox.insert("order", "key-0", sequence=1000)
    own_postgres.refuse(own_database.name, False)
    relay.wait_ready(30)
    judge(outbox, kafka, relay)


def test_p1_p2_p3_an_open_transaction_outlives_confirmations_and_walpost(
        walpost, database, kafka, outbox, topics):
    """Its row lies far before what is confirmed by the time it commits."""
    relay = walpost(database, kafka, topics).run()
    with database.transaction() as cursor:
        late = outbox.insert("order", "late", cursor=cursor)
        inserted = database.lsn_before_commit(cursor)
        with Load(outbox, seed=4, pause=0.005) as load:
            load.wait(100)
        database.wait_confirmed(relay.slot)
        # And by a keepalive, with nothing of the outbox in it.
        database.execute("create table noise as select generate_series(1, "
                         "100000) n")
        database.wait_confirmed(relay.slot)
        assert database.confirmed_lsn(relay.slot) > inserted
        relay.kill()
        relay.run()
        with Load(outbox, seed=5, pause=0.005) as load:
            load.wait(100)
        database.wait_confirmed(relay.slot)
        assert relay.stop() == 0
        relay.run()
        outbox.insert("order", "late", '"second"', cursor)
    assert late in {event.id for event in outbox.expected()}
    judge(outbox, kafka, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p2_p6_p10_a_big_transaction(walpost, database, kafka, outbox,
                                        reader, topics):
    relay = walpost(database, kafka, topics).run()
    database.execute("alter table outbox disable trigger remember")
    begun = time.monotonic()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n %% 1000, jsonb_build_object('n', n), n "
        "from generate_series(1, %s) n", (_BIG_ROWS,))
    committed = time.monotonic()
    outbox.insert("order", "after", sequence=1)
    while database.confirmed_lsn(relay.slot) < database.current_lsn():
        assert relay.get("/readyz")[0] == 200, relay.get("/readyz")
        assert time.monotonic() - committed < 60 + _BIG_ROWS / 5000
        time.sleep(0.2)
    took = time.monotonic() - committed
    note(f"{_BIG_ROWS} rows in one transaction: {committed - begun:.1f} s to "
         f"insert, {took:.1f} s from its commit until all is confirmed, "
         f"{relay.peak_memory_bytes() / _MIB:.1f} MiB at most")
    assert relay.peak_memory_bytes() < MOST_MEMORY
    # Too many to be read into a Checker.
    report = verify(relay, "--fail-on-duplicates", "--fail-on-unknown")
    assert report["clean"] and not report["found"], report
    assert report["expected"] == report["records"] == _BIG_ROWS + 1
    assert reader.size(topics + "order") == _BIG_ROWS + 1
    assert relay.stop() == 0


def test_p1_p2_p3_p10_walpost_freezes_and_thaws(walpost, database, kafka,
                                               outbox, topics):
    """At last longer than the server waits for it; nobody takes over.

    Everything that was due meanwhile is due at once when it thaws.
    """
    relay = walpost(database, kafka, topics, postgres={
        "wal_sender_timeout": "3s"}).run()
    with Load(outbox, seed=6, pause=0.005) as load:
        for seconds in (0.5, 2, 2, 2, 2, 5):
            relay.wait_acknowledged(100)
            relay.send(signal.SIGSTOP)
            time.sleep(seconds)
            relay.send(signal.SIGCONT)
            relay.wait_ready()
        load.wait(50)
    judge(outbox, kafka, relay, takeover=True)
    assert relay.stop() == 0
