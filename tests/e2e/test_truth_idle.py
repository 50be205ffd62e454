"""P10: readiness is true while nothing is to be sent, and while it starts."""

import contextlib
import os
import re
import signal
import threading
import time

import pytest

from harness import Outbox, Readiness, judge, note, wait_until

# pylint: disable=redefined-outer-name

_IDLE_S = float(os.environ.get("WALPOST_IDLE_SECONDS", "15"))


def test_p10_frozen_kafka_while_the_outbox_is_idle(
        walpost, database, own_kafka, topics):
    outbox = Outbox(database, topics)
    relay = walpost(database, own_kafka, topics).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    own_kafka.freeze()
    begun = time.monotonic()
    text = relay.wait_unready("answered nothing", 20)
    took = time.monotonic() - begun
    note(f"unready {took:.1f} s after Kafka froze")
    assert took <= 10, text
    assert own_kafka.bootstrap in text
    own_kafka.thaw()
    relay.wait_ready(10)
    outbox.insert("order", "order-2")
    database.wait_confirmed(database.name)
    judge(outbox, own_kafka, relay, at_least=2)


@pytest.mark.long
def test_p10_an_idle_relay_stays_ready(walpost, database, kafka, outbox, topics):
    """Also where librdkafka asks for no metadata by itself."""
    relays = [walpost(database, kafka, topics,
                      postgres={"slot": f"{database.name}_{number}"},
                      kafka={"properties": properties}).run()
              for number, properties in enumerate((
                  {}, {"topic.metadata.refresh.interval.ms": "-1"}))]
    outbox.insert("order", "order-1")
    for relay in relays:
        database.wait_confirmed(relay.slot)
    before = [relay.metric("process_cpu_seconds_total") for relay in relays]
    with contextlib.ExitStack() as stack:
        watched = [stack.enter_context(Readiness(relay)) for relay in relays]
        time.sleep(_IDLE_S)
    for readiness in watched:
        readiness.assert_always_ready()
    for relay, seconds in zip(relays, before):
        used = relay.metric("process_cpu_seconds_total") - seconds
        note(f"idle: {100 * used / _IDLE_S:.2f} % of a core, asked for "
             "readiness ten times a second")


@pytest.fixture
def old_transaction(database):
    """A transaction that has written, and that a new slot has to wait for."""
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        cursor = connection.cursor()
        cursor.execute("create table written (); select pg_backend_pid()")
        yield cursor.fetchone()[0]


def _being_made(database, relay):
    """The pid of the backend that makes the slot."""
    rows = wait_until(lambda: database.execute(
        "select active_pid from pg_replication_slots where slot_name = %s "
        "and confirmed_flush_lsn is null", (relay.slot,)),
        "the slot that is being made")
    return rows[0][0]


@pytest.mark.parametrize("snapshot", ["never", "initial"])
@pytest.mark.long
def test_p10_starting_names_the_transaction_that_a_new_slot_waits_for(
        walpost, database, kafka, outbox, topics, old_transaction, snapshot):
    relay = walpost(database, kafka, topics, snapshot=snapshot, outbox={
        "tables": [{"name": "public.outbox", "order_by": "sequence"}]}).start()
    begun = time.monotonic()
    text = relay.wait_unready(f"pg_terminate_backend.{old_transaction}", 10)
    assert time.monotonic() - begun < 6
    assert text.startswith("starting")
    assert "idle in transaction" in text and relay.slot in text
    remedy, = re.findall(r"SELECT pg_terminate_backend\(\d+\);", text)
    database.execute(remedy)
    relay.wait_ready(20)
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_killed_while_its_slot_was_made(
        walpost, database, kafka, outbox, topics, old_transaction):
    relay = walpost(database, kafka, topics).start()
    left_behind = _being_made(database, relay)
    relay.kill()
    relay.start()
    with Readiness(relay) as readiness:
        text = relay.wait_unready(f"pg_terminate_backend.{old_transaction}", 15)
    assert text.startswith("starting")
    assert not [a for a in readiness.answers if a[0] == 200], readiness.answers
    wait_until(lambda: _being_made(database, relay) != left_behind,
               "another backend that makes it")
    database.execute("select pg_terminate_backend(%s)", (old_transaction,))
    relay.wait_ready(20)
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_another_instance_that_makes_the_slot_is_not_waited_for_as_standby(
        walpost, database, kafka, outbox, topics, old_transaction):
    first = walpost(database, kafka, topics).start()
    pid = _being_made(database, first)
    second = walpost(database, kafka, topics).start()
    with Readiness(second) as readiness:
        text = second.wait_unready(
            rf"pid {pid}\b.*pg_terminate_backend.{old_transaction}", 15)
    assert text.startswith("starting")
    assert not [a for a in readiness.answers if a[0] == 200], readiness.answers
    assert _being_made(database, first) == pid
    database.execute("select pg_terminate_backend(%s)", (old_transaction,))
    first.wait_ready(20)
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {second.get('/readyz')}", 15)


@pytest.mark.long
def test_p10_a_prepared_transaction_that_a_new_slot_waits_for_is_named(
        walpost, own_postgres, kafka, topics):
    own_postgres.stop()
    own_postgres.configure(max_prepared_transactions=5)
    own_postgres.start()
    database = own_postgres.create_database()
    Outbox(database, topics)
    database.execute("begin; create table written (); "
                     "prepare transaction 'left behind'")
    relay = walpost(database, kafka, topics).start()
    text = relay.wait_unready("ROLLBACK PREPARED", 10)
    assert "ROLLBACK PREPARED 'left behind'" in text
    database.execute("rollback prepared 'left behind'")
    relay.wait_ready(20)


@pytest.mark.long
def test_p10_standby_of_an_instance_that_froze_is_not_ready(
        walpost, database, kafka, outbox, topics):
    # pylint: disable=unused-argument
    settings = {"wal_sender_timeout": "30s"}
    first = walpost(database, kafka, topics, postgres=settings).run()
    second = walpost(database, kafka, topics, postgres=settings).start()
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {second.get('/readyz')}", 15)
    first.send(signal.SIGSTOP)
    begun = time.monotonic()
    text = second.wait_unready("has not reported for", 20)
    assert time.monotonic() - begun < 16
    assert "wal_sender_timeout" in text
    first.kill()
    wait_until(lambda: re.match("streaming|catching", second.get("/readyz")[1]),
               lambda: f"streaming; it says {second.get('/readyz')}", 10)


@pytest.fixture
def roles(database):
    """Two that may stream, and see no statistics of others."""
    names = [f"{database.name}_{word}" for word in ("first", "second")]
    for name in names:
        database.execute(f"create role {name} login replication")
    yield names
    for name in names:
        database.execute(f"drop owned by {name}; drop role {name}")


@pytest.mark.parametrize("same_role", [True, False])
@pytest.mark.long
def test_p10_standby_without_the_right_to_see_statistics(
        walpost, roles, database, kafka, outbox, topics, same_role):
    # pylint: disable=unused-argument
    assert walpost(database, kafka, topics).verb("init").returncode == 0
    relays = []
    for role in roles:
        database.execute(f"grant select on outbox to {role}")
        role = roles[0] if same_role else role
        relays.append(walpost(database, kafka, topics, postgres={
            "conninfo": database.conninfo(role), "create": False,
            "wal_sender_timeout": "30s"}).start())
        relays[0].wait_ready()
    first, second = relays
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {second.get('/readyz')}", 15)
    if not same_role:
        text = second.get("/readyz")[1]
        assert f'GRANT pg_read_all_stats TO "{roles[1]}";' in text
        return
    with Readiness(second) as readiness:
        time.sleep(10)
    readiness.assert_always_ready()
    assert "GRANT" not in second.get("/readyz")[1]
    first.send(signal.SIGSTOP)
    second.wait_unready("has not reported for", 16)
    first.kill()
    wait_until(lambda: re.match("streaming|catching", second.get("/readyz")[1]),
               lambda: f"streaming; it says {second.get('/readyz')}", 10)


@pytest.mark.long
def test_p10_a_standby_shows_no_lag(walpost, database, kafka, outbox, topics):
    first = walpost(database, kafka, topics).run()
    second = walpost(database, kafka, topics).start()
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {second.get('/readyz')}", 15)
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    wait_until(lambda: second.metric("walpost_retained_wal_bytes"),
               "what the standby says of the slot")
    stream = ["walpost_lag_bytes", "walpost_received_lsn_bytes",
              "walpost_confirmed_lsn_bytes"]
    assert None not in [first.metric(name) for name in stream]
    assert first.metric("walpost_lag_bytes") < 16 << 20
    assert [second.metric(name) for name in stream] == [None] * 3
    # The one that takes over has them, the one that comes back has not.
    first.send(signal.SIGSTOP)
    database.execute("select pg_terminate_backend(active_pid) from "
                     "pg_replication_slots where slot_name = %s",
                     (database.name,))
    wait_until(lambda: second.metric("walpost_lag_bytes") is not None,
               "the lag of the one that took over")
    assert second.metric("walpost_lag_bytes") < 16 << 20
    first.send(signal.SIGCONT)
    wait_until(lambda: first.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {first.get('/readyz')}", 20)
    assert [first.metric(name) for name in stream] == [None] * 3


@pytest.mark.long
def test_p10_a_start_and_a_verb_that_postgres_does_not_answer_say_so(
        walpost, database, kafka, outbox, topics):
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        cursor = connection.cursor()
        cursor.execute("lock table pg_catalog.pg_publication in access "
                       "exclusive mode")
        begun = time.monotonic()
        tail = threading.Thread(target=lambda: said.append(
            relay.verb("tail", seconds=90)))
        said = []
        tail.start()
        relay.start()
        relay.wait_unready("starting: waiting for Postgres", 5)
        text = relay.wait_unready("did not answer", 45)
        assert time.monotonic() - begun < 40
        assert "pg_blocking_pids" in text
        assert f"walpost:{relay.slot}:" in text
        tail.join()
        ran, = said
        assert ran.returncode == 3
        assert "no answer within 60 s" in ran.stderr
        assert "pg_blocking_pids" in ran.stderr
        assert time.monotonic() - begun < 75
    relay.wait_ready(20)


def test_p7_p10_a_checkpoint_topic_out_of_reach_keeps_wal_and_says_so(
        walpost, own_postgres, own_kafka, topics):
    database = own_postgres.create_database()
    outbox = Outbox(database, topics)
    database.execute("create table noise (filler text)")
    relay = walpost(database, own_kafka, topics, checkpoint={
        "store": "kafka", "topic": f"checkpoints.{topics}"}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    own_kafka.freeze()
    stands = database.confirmed_lsn(relay.slot)
    for _ in range(3):
        database.execute("insert into noise select repeat(md5(n::text), 32) "
                         "from generate_series(1, 8192) n")
    text = relay.wait_unready(r"nothing is confirmed.* [1-9]\d MiB of WAL", 40)
    assert relay.slot in text
    # An unconfirmed boundary was stored before, at most.
    assert database.confirmed_lsn(relay.slot) - stands < 1 << 20
    own_kafka.thaw()
    database.wait_confirmed(database.name)
    relay.wait_ready(20)
    judge(outbox, own_kafka, relay, at_least=1)
