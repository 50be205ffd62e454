"""One topic that takes nothing holds up neither releases nor retries of the
others; the reason is shown, and a decision can be taken back (P3, P8)."""

import json

import pytest
from confluent_kafka import Producer

from harness import KafkaReader, wait_until
from harness.matrix import long_only, pairs

_BAD = '["no object"]'  # for the headers
_TABLE = {"name": "public.outbox"}
_MENDED = {"tables": [{**_TABLE, "columns": {"headers": None}}]}
_WHY = ("--why", "a test", "--by", "alice")

# What is wrong with the topic `late`, and how it is put right.
_TROUBLES = {
    "missing": (lambda kafka, topic: None,
                lambda kafka, topic: kafka.create_topic(topic, 1)),
    "no-leader": (lambda kafka, topic: kafka.nodes[0].kill(),
                  lambda kafka, topic: kafka.nodes[0].start()),
}


@pytest.fixture
def cluster(kafka_cluster):
    """Its first broker may be killed."""
    yield kafka_cluster
    kafka_cluster.nodes[0].mend()


@pytest.fixture
def brokers_with(request, topics):
    """Brokers for a trouble; the first one of a cluster alone has `late`."""
    def made(trouble):
        kafka = request.getfixturevalue(
            "cluster" if trouble == "no-leader" else "strict_kafka")
        kafka.create_topic(topics + "order", 2)
        if trouble == "no-leader":
            kafka.create_topic(topics + "late", on="1,1", min_insync_replicas=1)
            kafka.create_topic(f"c-{topics}", on="2", min_insync_replicas=1,
                               cleanup_policy="compact")
        return kafka
    return made


@pytest.fixture
def make(walpost, database, outbox, topics):
    """make(kafka, action, ...): sets what cannot be delivered aside."""
    assert outbox  # the table

    def made(kafka, action, guarantee="at_least_once"):
        return walpost(
            database, kafka, topics, on_error={"headers_unreadable": action},
            delivery={"guarantee": guarantee},
            dead_letter={"store": "postgres"} if action == "dead_letter" else {},
            checkpoint={"topic": f"c-{topics}", "store":
                        "kafka" if guarantee == "exactly_once" else "none"})
    return made


def _values(kafka, topic):
    reader = KafkaReader(kafka.bootstrap)
    if topic not in reader.topics(topic):
        return []
    return sorted(int(record.value) for record in reader.read(topic))


def _listed(relay, action):
    """State and reason of each event, by key."""
    said = relay.verb("parked" if action == "park" else "dead-letters",
                      "list", "--all", "--json")
    assert said.returncode == 0, said.stderr
    shown = map(json.loads, said.stdout.splitlines())
    return {each.get("key", each.get("aggregate_id")): each for each in shown}


def _send(relay, action):
    """As an operator would, who then waits or goes away."""
    if action == "park":
        return relay.verb("parked", "release", "--all", *_WHY)
    return relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)


@pytest.mark.parametrize("case", pairs(
    [{"trouble": "missing", "action": "park", "guarantee": "exactly_once"}],
    trouble=list(_TROUBLES), action=["park", "dead_letter"],
    guarantee=["at_least_once", "exactly_once"]), ids=str)
def test_p3_p8_the_others_are_sent_and_the_reason_is_shown(
        make, database, brokers_with, outbox, topics, case):
    action, kafka = case["action"], brokers_with(case["trouble"])
    late, order = topics + "late", topics + "order"
    harm, heal = _TROUBLES[case["trouble"]]
    relay = make(kafka, action, case["guarantee"]).run()
    for n in range(4):
        outbox.insert("late" if n % 2 == 0 else "order", f"k{n}", str(n),
                      headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "outbox": _MENDED})
    harm(kafka, late)
    relay.run()
    said = _send(relay, action)
    assert said.returncode == 1, said.stdout + said.stderr
    wait_until(lambda: _values(kafka, order) == [1, 3], relay.log)
    # Those of the other topic have not got through, and say why.
    wait_until(lambda: all(
        _listed(relay, action)[key]["state"] in ("dead", "open", "dead_letter")
        for key in ("k0", "k2")), relay.log, 60)
    for key in ("k0", "k2"):
        assert late in _listed(relay, action)[key]["reason"]
    assert late in said.stdout + said.stderr
    heal(kafka, late)
    said = _send(relay, action)
    assert said.returncode == 0, said.stdout + said.stderr
    assert _values(kafka, late) == [0, 2]
    assert _values(kafka, order) == [1, 3]


@pytest.mark.parametrize("action", ["park", *long_only("dead_letter")])
@pytest.mark.long
def test_p8_a_decision_to_send_is_taken_back(make, database, brokers_with,
                                             outbox, topics, action):
    """While no walpost runs, and while the topic takes nothing."""
    late, kafka = topics + "late", brokers_with("no-leader")
    relay = make(kafka, action).run()
    outbox.insert("late", "k0", "0", headers=_BAD)
    outbox.insert("late", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "outbox": _MENDED})
    said = _send(relay, action)
    assert said.returncode == 0 and "No walpost answers" in said.stdout
    kafka.nodes[0].kill()
    verb = "parked" if action == "park" else "dead-letters"
    said = relay.verb(verb, "discard", "--key", "k0", *_WHY)
    assert said.returncode == 0 and "1 discarded" in said.stdout, said.stderr
    relay.start()
    wait_until(lambda: "k1" in str(relay.get("/readyz")[1]) or
               late in str(relay.get("/readyz")[1]), relay.log)
    said = relay.verb(verb, "discard", "--key", "k1", *_WHY)
    assert said.returncode == 0 and "1 discarded" in said.stdout, said.stderr
    kafka.nodes[0].start()
    last = outbox.insert("late", "k1", "2")
    database.wait_confirmed(database.name)
    wait_until(lambda: last in [
        record.id for record in KafkaReader(kafka.bootstrap).read(late)],
        relay.log)
    # What was being sent while it was discarded may have got through.
    assert 0 not in _values(kafka, late)
    states = _listed(relay, action)
    assert states["k0"]["state"].endswith("discarded")
    if 1 not in _values(kafka, late):
        assert states["k1"]["state"].endswith("discarded")
    assert "sent" not in states["k0"]
    if states["k1"]["state"].endswith("discarded"):
        assert states["k1"]["sent"] == "unknown"


@pytest.mark.long
def test_p8_letters_in_kafka_are_retried_topic_by_topic(
        walpost, database, strict_kafka, outbox, topics):
    kafka, late, dead = strict_kafka, topics + "late", topics + "dead"
    kafka.create_topic(topics + "order", 1)
    kafka.create_topic(dead, 2)
    relay = walpost(database, kafka, topics,
                    on_error={"headers_unreadable": "dead_letter"},
                    dead_letter={"topic": dead}).run()
    for n in range(4):
        outbox.insert("late" if n % 2 == 0 else "order", f"k{n}", str(n),
                      headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "outbox": _MENDED})
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)
    assert said.returncode == 1 and late in said.stdout, said
    assert _values(kafka, topics + "order") == [1, 3]
    kafka.create_topic(late, 1)
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)
    assert said.returncode == 0, said.stderr
    assert _values(kafka, late) == [0, 2]
    assert _values(kafka, topics + "order") == [1, 3]


@pytest.mark.long
def test_p8_a_record_of_another_program_is_named(walpost, database, kafka,
                                                 outbox, topics):
    dead = topics + "dead"
    kafka.create_topic(dead, 2)
    relay = walpost(database, kafka, topics,
                    on_error={"headers_unreadable": "dead_letter"},
                    dead_letter={"topic": dead}).run()
    event = outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    foreign = Producer({"bootstrap.servers": kafka.bootstrap})
    foreign.produce(dead, b"junk", b"k", headers={
        "walpost-dead-letter": b"headers_unreadable",
        "walpost-dead-letter-commit-time": b"yesterday"})
    assert foreign.flush(30) == 0
    relay.stop()
    relay.configure({**relay.config, "outbox": _MENDED})
    said = relay.verb("dead-letters", "list", "--json")
    assert said.returncode == 0 and event in said.stdout
    assert f"{dead}/" in said.stderr, said.stderr
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)
    assert said.returncode == 1 and f"{dead}/" in said.stderr
    assert _values(kafka, topics + "order") == [1]


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
@pytest.mark.long
def test_p3_a_key_of_two_topics_waits_for_one(make, database, brokers_with,
                                              outbox, topics, guarantee):
    """Of each key, what is before an event of the missing topic is sent."""
    kafka = brokers_with("missing")
    relay = make(kafka, "park", guarantee)
    # A key of all types is one lane.
    relay.configure({**relay.config, "route": {
        "topic": topics + "{aggregate_type|lower}"}})
    relay.run()
    outbox.insert("order", "k1", "0", headers=_BAD)
    outbox.insert("late", "k1", "1")
    outbox.insert("order", "k1", "2")
    outbox.insert("order", "k3", "3", headers=_BAD)
    outbox.insert("order", "k3", "4")
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "outbox": _MENDED})
    relay.run()
    _send(relay, "park")
    wait_until(lambda: {0, 3, 4} <= set(_values(kafka, topics + "order")),
               relay.log, 60)
    wait_until(lambda: "was rejected again" in relay.log(), relay.log, 60)
    kafka.create_topic(topics + "late", 1)
    said = _send(relay, "park")
    assert said.returncode == 0, said.stdout + said.stderr
    wait_until(lambda: _values(kafka, topics + "order") == [0, 2, 3, 4],
               relay.log)
    assert _values(kafka, topics + "late") == [1]
