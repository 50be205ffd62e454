"""Ends and returns: of walpost, of Postgres, of the broker."""

import signal
import time

import pytest

from harness import KafkaReader, Load, Outbox, judge, wait_until


def _fill_window(outbox, broker):
    """Freezes the broker and commits more than the window takes.

    Returns the end of that commit.
    """
    broker.freeze()
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 10, to_jsonb(n), n "
        "from generate_series(1, 5000) n")
    end = outbox.database.current_lsn()
    time.sleep(1)
    return end


@pytest.fixture
def small_window():
    return {"max_in_flight_records": 500}


def test_p10_sigterm_under_load(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, seed=1, pause=0.002):
        for _ in range(3):
            relay.wait_acknowledged(100)
            begun = time.monotonic()
            assert relay.stop(seconds=15) == 0
            assert time.monotonic() - begun < 11
            relay.run()
    assert relay.running()
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_sigint_is_as_good(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    relay.send(signal.SIGINT)
    assert relay.wait_exit(15) == 0
    relay.run()
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_what_was_acknowledged_is_confirmed_at_the_end(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics,
                    postgres={"status_interval": "10s"}).run()
    for number in range(200):
        outbox.insert("order", f"order-{number}")
    goal = database.current_lsn()
    wait_until(lambda: len(KafkaReader(kafka.bootstrap).read_all(topics))
               == 200, "200 records")
    assert relay.stop() == 0
    assert database.confirmed_lsn(database.name) >= goal
    assert relay.run().stop() == 0
    relay.run()  # the server writes WAL of its own
    assert judge(outbox, kafka, relay, at_least=1).duplicates == 0


@pytest.mark.long
def test_p5_what_the_producer_had_no_room_for_is_not_sent_at_the_end(
        walpost, database, own_kafka, outbox, topics):
    """Its commit would not be read any more, and so it would come twice."""
    relay = walpost(database, own_kafka, topics).run()
    own_kafka.freeze()
    for _ in range(5):
        outbox.insert("order", "order-1")
    wait_until(lambda: relay.metric("walpost_in_flight_records") == 1,
               "the first record of the partition to go alone")
    relay.send(signal.SIGTERM)
    relay.wait_log("draining")
    own_kafka.thaw()
    assert relay.wait_exit(15) == 0
    relay.run()
    assert judge(outbox, own_kafka, relay, at_least=1).duplicates == 0


def test_p10_deadline_holds_while_kafka_is_frozen(
        walpost, database, own_kafka, outbox, topics, small_window):
    relay = walpost(database, own_kafka, topics, delivery={
        **small_window, "shutdown_timeout": "2s"}).run()
    end = _fill_window(outbox, own_kafka)
    begun = time.monotonic()
    relay.send(signal.SIGTERM)
    relay.wait_exit(8)
    assert time.monotonic() - begun > 1, "it did not try to drain"
    assert database.confirmed_lsn(database.name) < end
    own_kafka.thaw()
    relay.run()
    judge(outbox, own_kafka, relay)


@pytest.mark.long
def test_p10_second_signal_ends_at_once(walpost, database, own_kafka, outbox,
                                        topics, small_window):
    relay = walpost(database, own_kafka, topics, delivery=small_window).run()
    _fill_window(outbox, own_kafka)
    relay.send(signal.SIGTERM)
    time.sleep(1)
    assert relay.running(), "it did not try to drain"
    relay.send(signal.SIGTERM)
    relay.wait_exit(2)
    own_kafka.thaw()
    relay.run()
    judge(outbox, own_kafka, relay)


@pytest.mark.long
def test_p10_postgres_fast_shutdown_while_kafka_is_frozen(
        walpost, own_postgres, own_database, own_kafka, topics, small_window):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, own_kafka, topics,
                    delivery=small_window).run()
    _fill_window(outbox, own_kafka)
    assert own_postgres.stop("fast", seconds=30) < 15
    assert relay.running()
    own_postgres.start()
    own_kafka.thaw()
    judge(outbox, own_kafka, relay)


@pytest.mark.long
def test_slow_kafka_does_not_cost_the_connection(
        walpost, database, own_kafka, outbox, topics, small_window):
    relay = walpost(database, own_kafka, topics, delivery=small_window,
            postgres={"wal_sender_timeout": "4s"}).run()

    def walsender():
        return database.value(
            "select active_pid from pg_replication_slots where slot_name = %s",
            (database.name,))

    _fill_window(outbox, own_kafka)
    pid = walsender()
    time.sleep(7)
    assert pid is not None and walsender() == pid
    own_kafka.thaw()
    judge(outbox, own_kafka, relay)
    # After a long freeze the producer is replaced, and the stream with it.
    assert walsender() == pid or relay.metric("walpost_rewinds_total") > 0


@pytest.mark.long  # test_crash has one that is killed
def test_p3_broker_stops_and_comes_back(walpost, database, own_kafka, outbox,
                                        topics):
    relay = walpost(database, own_kafka, topics).run()
    with Load(outbox, seed=4, pause=0.01) as load:
        relay.wait_acknowledged(100)
        own_kafka.stop()
        load.wait(200)
        own_kafka.start()
        load.wait(100)
    judge(outbox, own_kafka, relay)
    assert relay.stop() == 0


def test_p3_broker_freezes_and_thaws(walpost, database, own_kafka, outbox,
                                     topics):
    relay = walpost(database, own_kafka, topics).run()
    with Load(outbox, seed=5, pause=0.005) as load:
        for _ in range(3):
            time.sleep(0.5)
            own_kafka.freeze()
            time.sleep(2)
            own_kafka.thaw()
        load.wait(100)
    judge(outbox, own_kafka, relay)


@pytest.mark.long
def test_p10_sigterm_while_the_slot_cannot_be_made(walpost, database, kafka,
                                                   outbox, topics):
    """It waits for a transaction that is open."""
    assert outbox
    with database.transaction() as cursor:
        cursor.execute("select pg_current_xact_id()")
        relay = walpost(database, kafka, topics,
                        delivery={"shutdown_timeout": "1s"})
        relay.start()
        wait_until(lambda: database.value(
            "select count(*) from pg_stat_activity where query like "
            "'CREATE_REPLICATION_SLOT%'"), "the slot to be waited for")
        relay.send(signal.SIGTERM)
        assert relay.wait_exit(8) == 0
