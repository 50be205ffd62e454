"""RabbitMQ, walpost and the network between them die, freeze, fill up and come
back; nothing is lost, and the order of each key is kept."""

import re
import signal
import time

import pytest

from harness import Load, note, wait_until
from harness.matrix import LONG
from harness.rabbitmq import (Rabbitmq, declare_all, judge, sink_to,
                              wait_flow)

_KILLS = 20 if LONG else 4


@pytest.fixture(scope="module")
def rabbitmq(module_directory):
    """A node that tests harm, and mend."""
    node = Rabbitmq(module_directory / "rabbitmq").start()
    yield node
    node.close()


@pytest.fixture
def queue(rabbitmq, topics):
    return declare_all(rabbitmq, topics)


@pytest.fixture
def relay_to(walpost, database, rabbitmq, topics):
    """Makes Walposts: relay_to(nodes, option=...)."""
    def make(nodes=None, **options):
        options = {"exchange": topics + "events", **options}
        return walpost(database, rabbitmq, topics, **sink_to(
            nodes or rabbitmq.address, **options))

    return make


def _load(outbox, dice, pause=0.01):
    return Load(outbox, dice.seed_text, pause=pause)


# ---- walpost.


def test_p1_p2_p3_p5_walpost_is_killed_at_random_points(
        relay_to, rabbitmq, outbox, queue, dice):
    relay = relay_to().run()
    with _load(outbox, dice) as load:
        for _ in range(_KILLS):
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        time.sleep(dice.random())
        relay.run(seconds=90) if not relay.running() else relay.wait_ready(90)
        load.wait(50)
    judge(outbox, rabbitmq, queue, relay)
    assert relay.stop() == 0


def test_p1_p3_a_standby_takes_over_from_a_frozen_walpost(
        walpost, database, rabbitmq, outbox, queue, topics, dice):
    """And the first one wakes up as a zombie."""
    sections = {**sink_to(rabbitmq.address, exchange=topics + "events"),
                "postgres": {"wal_sender_timeout": "4s"}}
    first = walpost(database, rabbitmq, topics, **sections).run()
    second = walpost(database, rabbitmq, topics, **sections).start()
    wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
               "a standby")
    with _load(outbox, dice):
        wait_flow(first)
        first.send(signal.SIGSTOP)
        wait_until(lambda: re.match("streaming|catching",
                                    second.get("/readyz")[1]),
                   lambda: second.get("/readyz"), 60)
        wait_flow(second)
        first.send(signal.SIGCONT)
        time.sleep(2)
        wait_flow(second)
    judge(outbox, rabbitmq, queue, second, takeover=True)
    first.close()


# ---- The only node.


def test_p1_p2_p3_the_only_node_is_killed(relay_to, rabbitmq, outbox, queue,
                                          dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        wait_flow(relay)
        rabbitmq.sync()
        rabbitmq.kill()
        relay.wait_unready("no RabbitMQ node is reachable", 30)
        rabbitmq.start()
        rabbitmq.elect(queue)
        relay.wait_ready(60)
        wait_flow(relay)
    judge(outbox, rabbitmq, queue, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p3_the_only_node_is_restarted(relay_to, rabbitmq, outbox, queue,
                                          dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        wait_flow(relay)
        rabbitmq.stop()
        rabbitmq.start()
        rabbitmq.elect(queue)
        wait_flow(relay)
    judge(outbox, rabbitmq, queue, relay)
    assert "320" in relay.whole_log(), "the server's own words"


@pytest.mark.long
def test_p1_p2_p3_p10_the_only_node_freezes(relay_to, rabbitmq, database,
                                            outbox, queue, dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        wait_flow(relay)
        rabbitmq.freeze()
        begun = time.monotonic()
        try:
            text = relay.wait_unready("stuck", 20)
            note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.70}")
            committed = database.current_lsn()
            time.sleep(1)
            assert database.confirmed_lsn(relay.slot) < committed
        finally:
            rabbitmq.thaw()
        relay.wait_ready(60)
        wait_flow(relay)
    # What the frozen server still had to read comes late.
    judge(outbox, rabbitmq, queue, relay, takeover=True)


def test_p1_p3_p10_the_network_is_cut(relay_to, rabbitmq, outbox, queue,
                                      proxy_of, dice):
    proxy = proxy_of(rabbitmq.port)
    relay = relay_to(f"127.0.0.1:{proxy.port}").run()
    with _load(outbox, dice):
        wait_flow(relay)
        proxy.cut()
        begun = time.monotonic()
        relay.wait_unready("stuck", 20)
        note(f"noticed after {time.monotonic() - begun:.1f} s")
        proxy.heal()
        relay.wait_ready(60)
        wait_flow(relay)
        proxy.drop()
        wait_flow(relay)
        for _ in range(3):
            proxy.reset()
            wait_flow(relay)
        proxy.split(7)
        wait_flow(relay)
        proxy.clear()
    judge(outbox, rabbitmq, queue, relay, takeover=True)


# ---- What the server refuses for a while.


def test_p1_p2_p10_an_alarm_blocks_publishers(relay_to, rabbitmq, database,
                                              outbox, queue, dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        wait_flow(relay)
        rabbitmq.control("set_vm_memory_high_watermark", "0")
        try:
            text = relay.wait_unready("an alarm is on", 30)
            assert "memory" in text and "rabbitmq-diagnostics alarms" in text
            committed = database.current_lsn()
            time.sleep(1)
            assert database.confirmed_lsn(relay.slot) < committed
        finally:
            rabbitmq.control("set_vm_memory_high_watermark", "absolute",
                             "512MB")
        relay.wait_ready(60)
        wait_flow(relay)
    assert judge(outbox, rabbitmq, queue, relay).duplicates == 0


@pytest.mark.long
def test_p1_p3_a_full_disk_blocks_a_start(relay_to, rabbitmq, database, outbox,
                                          queue):
    relay = relay_to().run()
    assert relay.stop() == 0
    rabbitmq.control("set_disk_free_limit", "10000GB")
    try:
        relay.start()
        for number in range(20):
            outbox.insert("order", "k1", sequence=number)
        relay.wait_unready("disk", 30)
    finally:
        rabbitmq.control("set_disk_free_limit", "1MB")
    relay.wait_ready(60)
    judge(outbox, rabbitmq, queue, relay, at_least=20)
    assert database is not None


def test_p1_p2_p3_a_full_queue_rejects(relay_to, rabbitmq, database, outbox,
                                       topics):
    """x-overflow: reject-publish makes nacks, which are not losses."""
    queue = topics + "all"
    rabbitmq.declare_queue(queue, x_max_length=50,
                           x_overflow="reject-publish")
    rabbitmq.declare_exchange(topics + "events", bind=[(queue, "#")])
    relay = relay_to().run()
    with database.transaction() as cursor:
        for number in range(300):
            outbox.insert("order", f"k{number % 10}", cursor=cursor,
                          sequence=number)
    text = relay.wait_unready("basic.nack", 30)
    assert "reject-publish" in text
    found = []
    committed = database.current_lsn()

    def drained():
        found.extend(rabbitmq.read(queue))
        return database.confirmed_lsn(relay.slot) >= committed

    wait_until(drained, lambda: f"the rest; {relay.get('/readyz')}", 90)
    found.extend(rabbitmq.read(queue))
    by_key = {}
    expected = {event.id: event for event in outbox.expected()}
    for message in found:
        by_key.setdefault(message.key, []).append(
            expected[message.id].sequence)
    assert {message.id for message in found} == set(expected)
    for sequences in by_key.values():
        first = list(dict.fromkeys(sequences))
        assert first == sorted(first)
    relay.wait_ready(30)


def test_p1_p3_the_exchange_is_deleted_and_made_again(
        relay_to, rabbitmq, outbox, queue, topics, dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        wait_flow(relay)
        rabbitmq.delete_exchange(topics + "events")
        text = relay.wait_unready("no exchange", 30)
        assert "declare exchange" in text
        rabbitmq.declare_exchange(topics + "events", bind=[(queue, "#")])
        relay.wait_ready(60)
        wait_flow(relay)
    judge(outbox, rabbitmq, queue, relay)


@pytest.mark.long
def test_p1_p3_connections_are_closed_by_an_operator(
        relay_to, rabbitmq, outbox, queue, dice):
    relay = relay_to().run()
    with _load(outbox, dice):
        for _ in range(5):
            wait_flow(relay)
            rabbitmq.control("close_all_connections", "by hand")
        wait_flow(relay)
    judge(outbox, rabbitmq, queue, relay)


@pytest.mark.long
def test_p1_p10_shutdown_with_a_frozen_node(relay_to, rabbitmq, outbox, queue):
    relay = relay_to().run()
    rabbitmq.freeze()
    try:
        outbox.insert("order", "k1")
        time.sleep(1)
        begun = time.monotonic()
        relay.stop(seconds=20)
        assert time.monotonic() - begun < 15
    finally:
        rabbitmq.thaw()
    relay.run(60)
    judge(outbox, rabbitmq, queue, relay, at_least=1, takeover=True)
