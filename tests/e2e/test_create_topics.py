"""`create_topics`: walpost creates the topics that are missing, as configured, also
for stored events that are sent beside the stream."""

import json
import re
import time

import pytest

from harness import Kafka, KafkaReader, wait_until
from harness.matrix import long_only, values


@pytest.fixture(scope="module")
def strict(module_directory):
    """A broker that creates no topics."""
    broker = Kafka(module_directory / "strict", properties={
        "auto.create.topics.enable": "false"}).start()
    yield broker
    broker.close()


def test_a_missing_topic_is_made_as_configured(walpost, database, strict, outbox,
                                               topics):
    database.execute("alter table outbox alter aggregate_type drop not null")
    relay = walpost(database, strict, topics, route={
        "topic": topics + "{aggregate_type}",
        "create_topics": {"partitions": 3, "replication_factor": 1,
                          "config": {"retention.ms": "86400000"}}},
        on_error={"topic_field_missing": "dead_letter"},
        dead_letter={"topic": topics + "dead", "create_topics": {
            "partitions": 1, "config": {"cleanup.policy": "delete",
                                        "retention.ms": "-1"}}}).run()
    for number in range(20):
        outbox.insert(f"type{number}", "k", str(number))
    outbox.insert(None, "k", '"dead"')
    database.wait_confirmed(database.name)
    relay.wait_ready()
    for number in range(20):
        record, = KafkaReader(strict.bootstrap).read(f"{topics}type{number}")
        assert record.value == str(number).encode()
    made = strict.describe_topic(topics + "type7")
    assert "PartitionCount: 3" in made and "retention.ms=86400000" in made
    dead = strict.describe_topic(topics + "dead")
    assert "PartitionCount: 1" in dead and "retention.ms=-1" in dead
    assert f"created topic {topics}type7" in relay.log()
    said = relay.verb("check")
    assert said.returncode == 0, said.stdout
    assert "walpost creates others" in said.stdout


@pytest.mark.long
def test_an_existing_topic_is_left_alone_and_compared(walpost, database, strict,
                                                      outbox, topics):
    strict.create_topic(topics + "order", 2, retention_ms=1000000)
    relay = walpost(database, strict, topics, route={
        "topic": topics + "{aggregate_type}",
        "create_topics": {"partitions": 3, "config": {
            "retention.ms": "86400000"}}}).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    assert "PartitionCount: 2" in strict.describe_topic(topics + "order")
    assert "created topic" not in relay.log()
    said = relay.verb("check")
    assert said.returncode == 0, said.stdout
    assert "has partitions=2, and create_topics says 3" in said.stdout
    assert ("has retention.ms=1000000, and create_topics says 86400000"
            in said.stdout)


def test_a_topic_that_cannot_be_made_holds_the_flow_and_says_why(
        walpost, database, strict, outbox, topics):
    relay = walpost(database, strict, topics, route={
        "topic": topics + "{aggregate_type}",
        "create_topics": {"replication_factor": 3}}).run()
    with database.transaction() as cursor:
        limit = database.lsn_before_commit(cursor)
        outbox.insert("order", "k", "1", cursor)
    reason = relay.wait_unready("cannot be created")
    assert topics + "order" in reason and "create_topics" in reason
    assert database.confirmed_lsn(database.name) <= limit
    # Somebody makes it by hand: the flow goes on by itself.
    strict.create_topic(topics + "order", 1)
    relay.wait_ready()
    database.wait_confirmed(database.name)
    record, = KafkaReader(strict.bootstrap).read(topics + "order")
    assert record.value == b"1"


@pytest.mark.parametrize("created, words", [
    ({"replication_factor": 3}, "replicate"),
    ({"config": {"retention.mss": 1}}, "retention.mss")])
@pytest.mark.long
def test_check_says_what_the_brokers_would_not_make(
        walpost, database, strict, outbox, topics, created, words):
    relay = walpost(database, strict, topics, route={
        "topic": topics + "{aggregate_type}", "create_topics": created})
    said = relay.verb("check")
    assert said.returncode == 1, said.stdout
    assert re.search(rf"^ERROR .*would not create any as create_topics says: "
                     rf".*{words}", said.stdout, re.M), said.stdout
    strict.create_topic(topics + "order", 1)
    said = relay.verb("check")
    assert said.returncode == 0, said.stdout
    assert re.search(rf"^warning .*would not create others .*{words}",
                     said.stdout, re.M), said.stdout


@pytest.mark.long
def test_check_asks_for_more_partitions_than_a_request_may_have(
        walpost, database, strict, outbox, topics):
    """The controller rejects a request for 10,000, and names no setting."""
    names = [f"outbox_{number}" for number in range(30)]
    for name in names:
        database.execute(f"create table {name} (like outbox)")
    relay = walpost(database, strict, topics, outbox={"tables": [
        {"name": f"public.{name}", "topic": topics + name} for name in names]},
        route={"create_topics": {"partitions": 400,
                                 "config": {"retention.mss": 1}}})
    said = relay.verb("check")
    refused = re.findall(rf"^ERROR .*{topics}(outbox_\d+).*retention\.mss",
                         said.stdout, re.M)
    assert sorted(refused) == sorted(names), said.stdout


@pytest.mark.long
def test_brokers_that_make_topics_do_not_choose(walpost, database, kafka, outbox,
                                                topics):
    """They would at the first question about it, with their own settings."""
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{aggregate_type}",
        "create_topics": {"partitions": 7}}).run()
    begun = time.monotonic()
    with database.transaction() as cursor:
        for number in range(100):
            outbox.insert(f"type{number}", "k", "1", cursor)
    database.wait_confirmed(database.name, seconds=60)
    took = time.monotonic() - begun
    ends = KafkaReader(kafka.bootstrap).ends(topics + "type42")
    assert len(ends) == 7
    assert took < 20, f"{took} s for 100 topics: each waits for a timer"
    assert json.loads(relay.get("/status")[1])["dead_letters"] == 0
    wait_until(lambda: relay.get("/readyz")[0] == 200, "ready")


_STORED = {
    "parked": ("release", "park"),
    "dead-letters": ("retry", "dead_letter"),
}


@pytest.mark.parametrize("case", values(
    verb=list(_STORED), guarantee=["at_least_once", "exactly_once"]), ids=str)
@pytest.mark.long
def test_stored_events_have_their_topic_made(
        walpost, database, strict, outbox, topics, case):
    verb, guarantee = case["verb"], case["guarantee"]
    decision, action = _STORED[verb]
    database.execute("alter table outbox alter aggregate_type drop not null")

    def sections(**creation):
        return {"route": {"topic": topics + "{aggregate_type|default:late}",
                          "create_topics": creation}}

    relay = walpost(
        database, strict, topics, on_error={"topic_field_missing": action},
        dead_letter={"store": "postgres"}, delivery={"guarantee": guarantee},
        checkpoint={"store": "kafka", "topic": topics + "c"},
        route={"topic": topics + "{aggregate_type}",
               "create_topics": {"partitions": 1}}).run()
    for number in range(5):
        outbox.insert(None, "k", str(number))
    database.wait_confirmed(database.name)

    def decide(**creation):
        relay.stop()
        relay.configure({**relay.config, **sections(**creation)})
        relay.run()
        words = ["--out-of-order"] if verb == "dead-letters" else []
        return relay.verb(verb, decision, "--all", "--why", "a default", *words,
                          seconds=90)

    if guarantee == "exactly_once":  # else it takes half a minute
        decide(replication_factor=3)
        wait_until(lambda: "cannot be created" in relay.verb(
            verb, "list", "--json").stdout, relay.log)
    said = decide(partitions=3, config={"retention.ms": "86400000"})
    assert said.returncode == 0, said.stderr + relay.log()
    late = topics + "late"
    wait_until(lambda: len(KafkaReader(strict.bootstrap).read(late)) == 5,
               relay.log)
    made = strict.describe_topic(late)
    assert "PartitionCount: 3" in made and "retention.ms=86400000" in made
    values = [int(record.value)
              for record in KafkaReader(strict.bootstrap).read(late)]
    assert (values if verb == "parked" else sorted(values)) == list(range(5))


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
@pytest.mark.long
def test_an_isolated_topic_is_made(walpost, database, strict, outbox, topics,
                                   guarantee):
    sections = {
        "parking": {"isolate_after": "10s"}, "delivery": {"guarantee": guarantee},
        "checkpoint": {"store": "kafka", "topic": topics + "c"}}
    route = {"topic": topics + "{aggregate_type}"}
    strict.create_topic(topics + "order", 1)
    relay = walpost(database, strict, topics, **sections, route={
        **route, "create_topics": {"replication_factor": 3}}).run()
    for number in range(3):
        outbox.insert("frail", "k", str(number))
    outbox.insert("order", "k", "1")
    wait_until(lambda: relay.metric("walpost_isolated_topics") == 1, relay.log, 60)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "route": {
        **route, "create_topics": {"partitions": 3}}})
    relay.run()
    wait_until(lambda: relay.metric("walpost_isolated_topics") == 0, relay.log, 60)
    frail = KafkaReader(strict.bootstrap).read(topics + "frail")
    assert [record.value for record in frail] == [b"0", b"1", b"2"]
    assert "PartitionCount: 3" in strict.describe_topic(topics + "frail")
