"""Polled rows and NATS: what passes by itself costs no row an attempt, hangs
nothing, and is said."""

import time

import pytest

from harness import wait_until
from harness.nats import Nats, NatsCluster, sections
from harness.polled import PolledOutbox, assert_delivered

ROWS = 40
KEYS = 5


@pytest.fixture
def nats(directory):
    server = Nats(directory / "nats").start()
    yield server
    server.close()


@pytest.fixture
def relay_of(walpost, database, topics):
    """Polls `outbox`, and gives a row up at its second rejection."""
    def prepare(servers, outbox, **polling):
        return walpost(
            database, servers, topics,
            **{**outbox.sections(max_attempts=2, **polling),
               **sections(servers.bootstrap)})
    return prepare


def stream_of(topics):
    return topics.rstrip(".").upper()


def assert_published_soon(outbox, servers, topics, seconds=20):
    """Also if the rows are deleted then."""
    expected = outbox.expected()
    wait_until(lambda: set(outbox.counts()) <= {"published"},
               lambda: f"the rows to be published: {outbox.counts()}", seconds)
    assert_delivered(expected, servers.read_all(topics), 10**6)


def wait_stuck(relay, text, seconds=10):
    wait_until(lambda: relay.get("/readyz")[0] == 503
               and text in relay.get("/readyz")[1],
               lambda: f"{text}: {relay.get('/readyz')}", seconds)


@pytest.mark.parametrize("strategy", ["claim", "delete"])
@pytest.mark.sample(2)
def test_p1_p3_p10_a_full_stream(relay_of, database, nats, topics, strategy):
    nats.make_stream(stream_of(topics), [topics + ">"], max_msgs=10,
                     discard="new")
    outbox = PolledOutbox(database)
    relay = relay_of(nats, outbox, strategy=strategy).run()
    outbox.insert(ROWS, aggregates=KEYS)
    expected = outbox.expected()
    wait_stuck(relay, "the stream is full", 14)
    nats.edit_stream(stream_of(topics), max_msgs=-1)
    wait_until(lambda: set(outbox.counts()) <= {"published"},
               lambda: f"the rest: {outbox.counts()}", 20)
    assert_delivered(expected, nats.read_all(topics), 10**6)
    assert relay.stop() == 0


def test_p1_p3_p10_the_only_server_is_away(relay_of, database, nats, topics):
    nats.make_stream(stream_of(topics), [topics + ">"])
    outbox = PolledOutbox(database)
    relay = relay_of(nats, outbox).run()
    outbox.insert(ROWS, aggregates=KEYS)
    outbox.wait_published(20)
    nats.kill()
    outbox.insert(ROWS, aggregates=KEYS)
    wait_stuck(relay, "no NATS server is reachable")
    time.sleep(15)  # long enough for the waits between attempts to grow
    nats.start()
    assert_published_soon(outbox, nats, topics, 15)
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p3_p10_without_a_quorum(relay_of, database, directory, topics):
    cluster = NatsCluster(directory / "nats").start()
    try:
        cluster.make_stream(stream_of(topics), [topics + ">"])
        outbox = PolledOutbox(database)
        relay = relay_of(cluster, outbox).run()
        outbox.insert(ROWS, aggregates=KEYS)
        outbox.wait_published(20)
        for node in cluster.nodes[1:]:
            node.kill()
        outbox.insert(ROWS, aggregates=KEYS)
        wait_stuck(relay, "", 14)
        time.sleep(15)
        assert relay.get("/readyz")[0] == 503
        assert "failed" not in outbox.counts(), outbox.counts()
        for node in cluster.nodes[1:]:
            node.launch()
        assert_published_soon(outbox, cluster, topics, 40)
        assert relay.stop() == 0
    finally:
        cluster.close()
