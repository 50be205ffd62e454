"""Polled rows and a Redis Cluster (docs/redis.md)."""

import pytest

from harness import wait_until
from harness.polled import PolledOutbox, assert_delivered
from harness.redis import RedisCluster


@pytest.fixture
def cluster(directory):
    made = RedisCluster(directory / "cluster").start()
    yield made
    made.close()


@pytest.mark.parametrize("strategy", ["claim", "delete"])
@pytest.mark.sample(2)
def test_p1_p3_p10_rows_wait_for_the_servers_of_their_slot(
        walpost, database, cluster, topics, strategy):
    """They cost no attempt meanwhile, and the servers are named."""
    for server in cluster.servers:
        server.ask("CONFIG", "SET", "cluster-require-full-coverage", "no")
    outbox = PolledOutbox(database)
    relay = walpost(database, cluster.servers[0], topics, **{
        **outbox.sections(max_attempts=2, strategy=strategy),
        **cluster.section(replicas=1)}).run()
    relay.wait_ready(30)
    stream = topics + "order"
    lost = cluster.servers_of(stream)
    master = cluster.master_of(stream)
    for server in lost:
        server.kill()
    outbox.insert(40)
    expected = outbox.expected()
    text = relay.wait_unready(master.address, seconds=14)
    assert stream in text, text
    for server in lost:
        server.start()
    relay.wait_ready(60)
    wait_until(lambda: set(outbox.counts()) <= {"published"},
               lambda: f"the rows to be published: {outbox.counts()}", 30)
    assert_delivered(expected, cluster.reader().read_all(topics), 10**6)
