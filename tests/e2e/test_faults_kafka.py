"""Three brokers, min.insync.replicas=2, of which one or two go away.

walpost lives on and must not send anything twice: the idempotent producer
repeats what was not answered, and the brokers drop what they have.
"""

import time

import pytest

from harness import Load, Readiness, judge, note, wait_until


@pytest.fixture
def relay(walpost, database, kafka_cluster, outbox, topics):
    kafka_cluster.wait_in_sync()
    return walpost(database, kafka_cluster, topics).run()


def _assert_nothing_twice(outbox, broker, relay):
    """Unless the requests that timed out were fatal to librdkafka."""
    duplicates = judge(outbox, broker, relay).duplicates
    assert duplicates == 0 or (
        "replacing the Kafka producer" in relay.whole_log()), duplicates


def _load(outbox, seed):
    return Load(outbox, seed, pause=0.04)


def _acknowledged(relay):
    return relay.metric("walpost_acknowledged_records_total") or 0


def _wait_flow(relay, seconds=30):
    """Waits until records are acknowledged again; returns the seconds."""
    begun = time.monotonic()
    before = _acknowledged(relay)
    wait_until(lambda: _acknowledged(relay) > before + 50,
               lambda: f"acknowledgements; {relay.get('/readyz')}\n"
                       f"{relay.log()[-3000:]}", seconds)
    return time.monotonic() - begun


@pytest.mark.long
def test_p1_p3_p10_brokers_are_restarted_one_by_one(
        relay, kafka_cluster, outbox, topics):
    """Two in an orderly way, which nobody may notice, and one by kill -9."""
    def restart(node, end):
        end()
        note(f"{_wait_flow(relay):.1f} s to the next records ({end.__name__})")
        node.start()
        kafka_cluster.wait_in_sync()

    with _load(outbox, 1):
        _wait_flow(relay)
        last = kafka_cluster.leader_of(topics + "order")
        with Readiness(relay) as readiness:
            for node in kafka_cluster.nodes:
                if node is not last:
                    restart(node, node.stop)
        restart(last, last.kill)
        relay.wait_ready()
        _wait_flow(relay)
    assert judge(outbox, kafka_cluster, relay).duplicates == 0
    readiness.assert_always_ready()
    assert relay.stop() == 0


def test_p1_p3_p10_a_broker_freezes(walpost, database, kafka_cluster, outbox,
                                    topics):
    """Longer than the cluster and the requests bear with it."""
    kafka_cluster.wait_in_sync()
    relay = walpost(database, kafka_cluster, topics, kafka={
        "properties": {"socket.timeout.ms": 6000}}).run()
    with _load(outbox, 3):
        _wait_flow(relay)
        leader = kafka_cluster.leader_of(topics + "order")
        leader.freeze()
        begun = time.monotonic()
        try:
            # Whatever it held is sent again to its successor.
            database.wait_confirmed(relay.slot)
            took = time.monotonic() - begun
            note(f"{took:.1f} s until all from before the freeze is confirmed")
            relay.wait_ready()
            time.sleep(max(0, 10 - took))
        finally:
            leader.thaw()
        relay.wait_ready(60)
        kafka_cluster.wait_in_sync()
        _wait_flow(relay)
    _assert_nothing_twice(outbox, kafka_cluster, relay)
    assert relay.stop() == 0


def test_p1_p2_p3_p10_the_network_between_brokers_is_cut(
        relay, kafka_cluster, database, outbox, topics):
    """The others cannot replicate from a leader, which clients still reach: its
    partitions take nothing, those of the others do."""
    with _load(outbox, 5):
        _wait_flow(relay)
        leader = kafka_cluster.leader_of(topics + "order")
        way = kafka_cluster.ways_to[leader]
        way.cut()
        begun = time.monotonic()
        try:
            text = relay.wait_unready("stuck", 30)
            note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.60}")
            committed = database.current_lsn()
            time.sleep(1)
            assert database.confirmed_lsn(relay.slot) < committed
        finally:
            way.heal()
        relay.wait_ready(60)
        kafka_cluster.wait_in_sync()
        _wait_flow(relay)
    assert judge(outbox, kafka_cluster, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p2_p10_too_few_replicas(relay, kafka_cluster, database, outbox):
    """One broker of three takes nothing, and nothing is confirmed."""
    with _load(outbox, 4):
        _wait_flow(relay)
        gone = kafka_cluster.nodes[1:]
        for node in gone:
            node.freeze()
        begun = time.monotonic()
        text = relay.wait_unready("stuck", 20)
        note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.60}")
        committed = database.current_lsn()
        time.sleep(1)
        assert database.confirmed_lsn(relay.slot) < committed
        for node in gone:
            node.thaw()
        relay.wait_ready(60)
    kafka_cluster.wait_in_sync()
    assert judge(outbox, kafka_cluster, relay).duplicates == 0
    assert relay.stop() == 0
