"""Three nodes of RabbitMQ, of which one or two go away."""

import time

import pytest

from harness import Load, note
from harness.rabbitmq import (RabbitmqCluster, declare_all, judge, sink_to,
                              wait_flow)


@pytest.fixture(scope="module")
def cluster(module_directory):
    nodes = RabbitmqCluster(module_directory / "cluster").start()
    yield nodes
    nodes.close()


@pytest.fixture
def tripled(cluster, walpost, database, outbox, topics):
    """A queue on three nodes, and a walpost that knows all of them."""
    assert outbox is not None
    queue = declare_all(cluster.nodes[0], topics)
    relay = walpost(database, cluster.nodes[0], topics, **sink_to(
        cluster.addresses, exchange=topics + "events")).run()
    return queue, relay


def test_p1_p2_p3_the_leader_of_three_is_killed(cluster, tripled, outbox,
                                                dice):
    queue, relay = tripled
    with Load(outbox, dice.seed_text, pause=0.01):
        wait_flow(relay)
        leader = cluster.node(cluster.nodes[0].leader_of(queue))
        leader.sync()
        leader.kill()
        note(f"{wait_flow(relay):.1f} s to the next records")
        leader.start()
        wait_flow(relay)
    judge(outbox, cluster.nodes[0], queue, relay)


@pytest.mark.long
def test_p1_p2_p3_the_leader_of_three_freezes(cluster, tripled, outbox, dice):
    queue, relay = tripled
    with Load(outbox, dice.seed_text, pause=0.01):
        wait_flow(relay)
        leader = cluster.node(cluster.nodes[0].leader_of(queue))
        leader.freeze()
        try:
            note(f"{wait_flow(relay, 120):.1f} s to the next records")
        finally:
            leader.thaw()
        wait_flow(relay, 120)
    alive = next(node for node in cluster.nodes if node is not leader)
    judge(outbox, alive, queue, relay, takeover=True)


@pytest.mark.long
def test_p1_p2_p10_two_of_three_are_down(cluster, tripled, database, outbox,
                                         dice):
    """No majority: nothing is confirmed, and it is said."""
    queue, relay = tripled
    with Load(outbox, dice.seed_text, pause=0.01):
        wait_flow(relay)
        for node in cluster.nodes[1:]:
            node.sync()
            node.kill()
        relay.wait_unready("stuck", 30)
        committed = database.current_lsn()
        time.sleep(1)
        assert database.confirmed_lsn(relay.slot) < committed
        for node in cluster.nodes[1:]:
            node.launch()
        for node in cluster.nodes[1:]:
            node.wait_started()
        relay.wait_ready(120)
        wait_flow(relay, 120)
    judge(outbox, cluster.nodes[0], queue, relay, takeover=True)
