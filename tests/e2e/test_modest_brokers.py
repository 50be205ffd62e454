"""What brokers do not report is a value, too: no cluster id, no controller, no
topic ids, no DescribeConfigs. Events go out, also those that waited in
parking.table, and `check` says what cannot be noticed.
"""

import re

import pytest

from harness import Kafka, KafkaReader, Outbox, wait_until
from harness.matrix import long_only
from harness.modest_brokers import (CREATE_TOPICS, DESCRIBE_CONFIGS,
                                    ModestBrokers)
from harness.ports import free_port

_BROKERS = {
    "no_cluster_id": {"cluster_id": None},
    "no_controller": {"controller": None},
    "no_describe_configs": {"without": {DESCRIBE_CONFIGS}},
    "event_hubs": {"cluster_id": None,
                   "without": {DESCRIBE_CONFIGS, CREATE_TOPICS}},
    "redpanda": {},
    "nothing": {"cluster_id": None, "controller": None,
                "without": {DESCRIBE_CONFIGS, CREATE_TOPICS}},
}


@pytest.fixture(scope="module")
def behind(module_directory):
    """A broker, and the port that clients of its other port are sent to."""
    port = free_port()
    broker = Kafka(module_directory / "behind", advertised_port=port,
                   properties={"auto.create.topics.enable": "false"}).start()
    yield broker, port
    broker.close()


def _modest(behind, name):
    broker, port = behind
    return ModestBrokers(broker.behind_port, port, **_BROKERS[name])


@pytest.fixture(params=["no_cluster_id", "nothing", *long_only(
    "no_controller", "no_describe_configs", "event_hubs", "redpanda")])
def modest(request, behind):
    proxy = _modest(behind, request.param)
    yield proxy
    proxy.close()


def _wait_read(broker, topic, event):
    reader = KafkaReader(broker.bootstrap)
    wait_until(lambda: event in [each.id for each in reader.read(topic)],
               f"event {event} in {topic}", 60)


@pytest.mark.parametrize("verb", ["release", *long_only("discard")])
@pytest.mark.sample(2)
def test_released_events_go_out(walpost, database, behind, modest, topics, verb):
    broker, _ = behind
    broker.create_topic(topics + "order", 2)
    outbox = Outbox(database, topics)
    relay = walpost(database, modest, topics,
                    on_error={"headers_unreadable": "park"}).run()
    first = outbox.insert("order", "k", headers="[1]")
    behind_it = outbox.insert("order", "k")
    wait_until(lambda: relay.metric("walpost_parked_events") == 2,
               "two parked events")
    if verb == "release":
        relay.configure({**relay.config, "outbox": {"tables": [
            {"name": "public.outbox", "columns": {"headers": None}}]}})
        assert relay.stop() == 0
        relay.start()
        relay.wait_ready()
    said = relay.verb("parked", verb, "--key", "k", "--why", "a test")
    assert said.returncode == 0, said.stdout + said.stderr
    _wait_read(broker, topics + "order", behind_it)
    if verb == "release":
        _wait_read(broker, topics + "order", first)
    wait_until(lambda: relay.get("/readyz")[1] == "streaming\n",
               lambda: f"nothing parked: {relay.get('/readyz')}")


@pytest.mark.long
def test_isolated_events_go_out(walpost, database, behind, modest, topics):
    broker, _ = behind
    broker.create_topic(topics + "order", 2)
    outbox = Outbox(database, topics)
    relay = walpost(database, modest, topics,
                    parking={"isolate_after": "10s"}).run()
    isolated = outbox.insert("missing", "k")
    wait_until(lambda: relay.metric("walpost_isolated_topics") == 1,
               lambda: f"an isolated topic\n{relay.log()}", 60)
    broker.create_topic(topics + "missing", 2)
    _wait_read(broker, topics + "missing", isolated)
    wait_until(lambda: relay.metric("walpost_isolated_topics") == 0,
               lambda: f"no isolated topic\n{relay.log()}", 60)


@pytest.mark.long
def test_check_names_what_cannot_be_noticed(walpost, database, behind, modest,
                                            topics, request):
    broker, _ = behind
    broker.create_topic(topics + "order", 2)
    Outbox(database, topics)
    said = walpost(database, modest, topics).verb("check")
    assert said.returncode == 0, said.stdout
    its = _BROKERS[request.node.callspec.params["modest"]]
    assert ("reports no cluster id" in said.stdout) == ("cluster_id" in its)
    assert "reports no topic ids" in said.stdout
    assert ("settings of the brokers" in said.stdout) == (
        DESCRIBE_CONFIGS in its.get("without", ())), said.stdout


@pytest.mark.long
def test_the_reason_says_that_a_cluster_id_is_withheld(walpost, database,
                                                       behind, topics):
    broker, _ = behind
    broker.create_topic(topics + "order", 2)
    outbox = Outbox(database, topics)
    proxy = _modest(behind, "no_cluster_id")
    try:
        proxy.is_modest = False
        relay = walpost(database, proxy, topics).run()
        outbox.insert("order", "k")
        database.wait_confirmed(relay.slot)
        assert relay.stop() == 0
        proxy.is_modest = True
        relay.start()
        event = outbox.insert("order", "k")
        wait_until(lambda: "report no cluster id" in relay.get("/readyz")[1],
                   lambda: f"the reason: {relay.get('/readyz')}", 60)
        found = re.search(r"walpost (recover) -c \S+ (--accept)",
                          relay.get("/readyz")[1])
        assert event not in [each.id for each in KafkaReader(
            broker.bootstrap).read(topics + "order")]
        assert relay.stop() == 0
        said = relay.verb(*found.groups())
        assert said.returncode == 0, said.stdout + said.stderr
        relay.start()
        _wait_read(broker, topics + "order", event)
    finally:
        proxy.close()
