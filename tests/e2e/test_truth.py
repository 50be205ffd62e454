"""P10: readiness tells within ten seconds what is wrong, and when it is over.

What Kafka can do is in test_delivery and test_shutdown; here is Postgres.
"""

import os
import signal
import time

import pytest

from harness import MOST_MEMORY, Outbox, judge, note, wait_until

_SEGMENT = 16 << 20


def _walsender(database):
    return wait_until(lambda: database.value(
        "select active_pid from pg_replication_slots where slot_name = %s",
        (database.name,)), "a walsender")


def _unready_within(relay, pattern, seconds):
    begun = time.monotonic()
    text = relay.wait_unready(pattern, seconds + 10)
    assert time.monotonic() - begun <= seconds, text
    return text


def test_p10_frozen_walsender(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    pid = _walsender(database)
    os.kill(pid, signal.SIGSTOP)
    try:
        text = _unready_within(relay, "sent nothing", 12)
        assert database.name in text
        outbox.insert("order", "order-1")
    finally:
        os.kill(pid, signal.SIGCONT)
    relay.wait_ready(10)
    database.wait_confirmed(database.name)
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_a_role_that_may_not_replicate_any_more(
        walpost, own_postgres, kafka, topics):
    database = own_postgres.create_database()
    outbox = Outbox(database, topics)
    database.execute("create role relay login replication")
    database.execute("grant select on outbox to relay")
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    assert walpost(database, kafka, topics).verb("init").returncode == 0
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": database.conninfo("relay")}).run()
    database.execute("alter role relay noreplication")
    database.execute("select pg_terminate_backend(%s)",
                     (_walsender(database),))
    outbox.insert("order", "order-1")
    text = _unready_within(relay, "stuck", 10)
    assert "ALTER ROLE \"relay\" REPLICATION;" in text
    database.execute("alter role relay replication")
    relay.wait_ready(30)
    database.wait_confirmed(database.name)
    judge(outbox, kafka, relay, at_least=1)


def test_p7_p10_wal_budget(walpost, own_database, own_kafka, topics):
    outbox = Outbox(own_database, topics)
    own_database.execute("create table noise (filler text)")
    relay = walpost(own_database, own_kafka, topics,
                    postgres={"wal_budget": "64MiB"}).run()
    own_kafka.freeze()
    outbox.insert("order", "order-1")
    _write_wal(own_database, 70 << 20)
    wait_until(lambda: (relay.metric("walpost_retained_wal_bytes") or 0) > 60 << 20,
               "the report of retained WAL")
    assert relay.metric("walpost_wal_budget_bytes") == 64 << 20
    relay.wait_log("keeps .* MiB of WAL", 10)
    own_kafka.thaw()
    # It may first be at risk, then the slot moves on and WAL goes.
    own_database.wait_confirmed(own_database.name)
    own_database.execute("checkpoint")
    relay.wait_ready(30)
    judge(outbox, own_kafka, relay, at_least=1)


@pytest.mark.long
def test_p7_an_idle_outbox_lets_go_of_wal(walpost, own_database, kafka,
                                          topics):
    megabytes = int(os.environ.get("WALPOST_IDLE_WAL_MB", "200"))
    Outbox(own_database, topics)
    own_database.execute("create table noise (filler text)")
    relay = walpost(own_database, kafka, topics).run()
    _write_wal(own_database, megabytes << 20)
    own_database.wait_confirmed(own_database.name, seconds=180)

    def retained():
        own_database.execute("checkpoint")
        own_database.execute("select pg_log_standby_snapshot()"
                             if _has_snapshot_function(own_database)
                             else "select txid_current()")
        return own_database.value(
            "select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint "
            "from pg_replication_slots where slot_name = %s",
            (own_database.name,))

    wait_until(lambda: retained() < 2 * _SEGMENT,
               lambda: f"WAL to be released; {retained() >> 20} MiB are kept",
               seconds=40, pause=1)
    note(f"{megabytes} MiB written elsewhere, {retained() >> 10} KiB kept, "
         f"{relay.peak_memory_bytes() >> 20} MiB resident")
    assert relay.get("/readyz")[0] == 200
    assert relay.peak_memory_bytes() < MOST_MEMORY


def _has_snapshot_function(database):
    return bool(database.execute(
        "select 1 from pg_proc where proname = 'pg_log_standby_snapshot'"))


def _write_wal(database, size):
    """Writes that many bytes of WAL that are no business of the outbox."""
    for _ in range(0, size, 8 << 20):
        database.execute("insert into noise select repeat(md5(n::text), 32) "
                         "from generate_series(1, 8192) n")
