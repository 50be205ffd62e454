"""Isolated topics: a topic that takes no records holds up its own events alone
(P3, P8)."""

import json
import time

import pytest

from harness import KafkaReader, wait_until

_AFTER = 10  # seconds: the least that isolate_after may be


@pytest.fixture
def kafka(strict_kafka, topics):
    """Has the topic `order`, and makes none by itself."""
    strict_kafka.create_topic(topics + "order", 2)
    return strict_kafka


@pytest.fixture
def make(walpost, database, kafka, outbox, topics):
    """Starts a walpost that isolates topics: make(**sections)."""
    assert outbox  # the table

    def started(on_error=None, **limits):
        sections = {"on_error": on_error} if on_error else {}
        return walpost(database, kafka, topics, parking={
            "isolate_after": f"{_AFTER}s", **limits}, **sections).run()
    return started


def _values(kafka, topic):
    return [int(record.value)
            for record in KafkaReader(kafka.bootstrap).read(topic)]


def _status(relay):
    return json.loads(relay.get("/status")[1])


def _wait_isolated(relay, count, seconds=60):
    wait_until(lambda: relay.metric("walpost_isolated_topics") == count,
               lambda: f"{count} isolated topics\n{relay.log()}", seconds)


def _wait_values(kafka, topic, values, seconds=60):
    wait_until(lambda: sorted(set(_values(kafka, topic))) == sorted(values),
               lambda: f"{values} in {topic}; it has {_values(kafka, topic)}",
               seconds)


def _firsts_of_keys(kafka, topic):
    """Values by key, each where it came first."""
    found = {}
    for record in KafkaReader(kafka.bootstrap).read(topic):
        values = found.setdefault(record.key, [])
        if int(record.value) not in values:
            values.append(int(record.value))
    return found


def _assert_in_order(kafka, topic):
    for key, values in _firsts_of_keys(kafka, topic).items():
        assert values == sorted(values), (key, values)


def test_p3_a_topic_without_a_leader_holds_up_no_other(
        walpost, database, kafka_cluster, outbox, topics):
    kafka = kafka_cluster
    broken = topics + "broken"
    kafka.create_topic(topics + "order", 2)
    kafka.create_topic(broken, on="1,1", min_insync_replicas=1)
    relay = walpost(database, kafka, topics,
                    parking={"isolate_after": f"{_AFTER}s"}).run()
    outbox.insert("broken", "k1", "1")
    outbox.insert("order", "k1", "2")
    database.wait_confirmed(database.name)
    kafka.nodes[0].kill()
    for n in range(3, 33):
        outbox.insert("broken" if n % 2 else "order", f"k{n % 5}", str(n))
    _wait_isolated(relay, 1, 120)
    database.wait_confirmed(database.name, seconds=60)
    evens = [n for n in range(2, 33) if n % 2 == 0]
    _wait_values(kafka, topics + "order", evens)
    wait_until(lambda: _status(relay)["isolated_events"] == 15,
               lambda: f"15 isolated events\n{relay.log()}")
    code, text = relay.get("/readyz")
    assert code == 200 and text.startswith("degraded: 1 topics are isolated")
    status = _status(relay)
    assert status["isolated_topics"] == [broken]
    assert status["isolated_bytes"] > 1000
    assert broken in status["reason"] and status["parked_keys"] == 0

    kafka.nodes[0].start()
    odds = [n for n in range(1, 33) if n % 2 == 1]
    _wait_values(kafka, broken, odds, 120)
    _wait_isolated(relay, 0)
    outbox.insert("broken", "k1", "100")
    database.wait_confirmed(database.name)
    _wait_values(kafka, broken, [*odds, 100])
    _assert_in_order(kafka, broken)
    wait_until(lambda: relay.get("/readyz")[1] == "streaming\n",
               lambda: relay.get("/readyz"))


def test_p3_a_topic_that_is_missing_is_isolated_until_it_is_made(
        make, database, kafka, outbox, topics):
    relay = make()
    for n in range(20):
        outbox.insert("missing" if n % 2 else "order", "k", str(n))
    _wait_isolated(relay, 1)
    database.wait_confirmed(database.name)
    _wait_values(kafka, topics + "order", list(range(0, 20, 2)))
    said = relay.verb("verify", "--json")
    found = json.loads(said.stdout)["findings"]
    assert said.returncode != 0 and found["parked"]["count"] == 10
    kafka.create_topic(topics + "missing", 1)
    _wait_isolated(relay, 0)
    assert _values(kafka, topics + "missing") == list(range(1, 20, 2))
    assert relay.verb("verify").returncode == 0


@pytest.mark.long  # the same as one, and one without a leader, two times
def test_p3_two_topics_are_missing(make, database, kafka, outbox, topics):
    relay = make()
    for n in range(30):
        outbox.insert(("missing", "order", "absent")[n % 3], "k", str(n))
    _wait_isolated(relay, 2, 60)
    database.wait_confirmed(database.name)
    for name, first in (("order", 1), ("missing", 0), ("absent", 2)):
        if name != "order":
            kafka.create_topic(topics + name, 1)
        _wait_values(kafka, topics + name, list(range(first, 30, 3)))
    _wait_isolated(relay, 0)
    assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_kills_lose_and_reorder_nothing_that_waits_for_the_topic(
        make, database, kafka, outbox, topics):
    broken = topics + "broken"
    relay = make()
    for n in range(20):
        outbox.insert("broken" if n % 2 else "order", f"k{n % 3}", str(n))
    _wait_isolated(relay, 1)
    database.wait_confirmed(database.name)
    relay.kill()
    for n in range(20, 40):
        outbox.insert("broken" if n % 2 else "order", f"k{n % 3}", str(n))
    relay.run()
    database.wait_confirmed(database.name)
    assert relay.metric("walpost_isolated_topics") == 1
    _wait_values(kafka, topics + "order", list(range(0, 40, 2)))
    kafka.create_topic(broken, 2)
    for n in range(40, 200):
        outbox.insert("broken", f"k{n % 3}", str(n))
        if n % 40 == 0:
            relay.kill()
            relay.run()
    database.wait_confirmed(database.name)
    _wait_isolated(relay, 0)
    _wait_values(kafka, broken, [*range(1, 40, 2), *range(40, 200)])
    _assert_in_order(kafka, broken)


@pytest.mark.long
def test_the_limits_stop_the_flow_and_room_lets_it_go_on(
        make, database, kafka, outbox, topics):
    broken = topics + "broken"
    relay = make(max_isolated_bytes="20KiB")
    for n in range(100):
        outbox.insert("broken", "k", str(n))
    outbox.insert("order", "k", "100")
    wait_until(lambda: "max_isolated_bytes" in _status(relay)["reason"],
               lambda: f"a stop\n{relay.log()}", 60)
    assert _status(relay)["state"] == "stuck"
    time.sleep(1)
    assert _values(kafka, topics + "order") == []
    kafka.create_topic(broken, 1)
    _wait_values(kafka, broken, list(range(100)))
    _wait_values(kafka, topics + "order", [100])
    _assert_in_order(kafka, broken)
    _wait_isolated(relay, 0)


@pytest.mark.long
def test_p1_a_start_at_the_limit_passes_what_is_stored_already(
        make, database, kafka, outbox, topics):
    broken = topics + "broken"
    relay = make(max_isolated_bytes="20KiB")
    with database.transaction() as cursor:  # confirmed as a whole, or not
        for n in range(100):
            outbox.insert("broken", f"k{n % 3}", str(n), cursor=cursor)
    wait_until(lambda: "max_isolated_bytes" in _status(relay)["reason"],
               lambda: f"a stop\n{relay.log()}", 60)
    relay.kill()
    relay.start()
    wait_until(lambda: "max_isolated_bytes" in relay.get("/readyz")[1],
               lambda: f"a stop\n{relay.log()}", 60)
    assert 10 < _status(relay)["isolated_events"] < 60
    kafka.create_topic(broken, 1)
    database.wait_confirmed(database.name)
    _wait_values(kafka, broken, list(range(100)))
    _assert_in_order(kafka, broken)
    _wait_isolated(relay, 0)


@pytest.mark.long
def test_a_poison_row_behind_an_isolated_topic_parks_its_key_alone(
        make, database, kafka, outbox, topics):
    broken = topics + "broken"
    relay = make(on_error={"headers_unreadable": "park"})
    outbox.insert("broken", "k1", "1")
    outbox.insert("broken", "k1", "2", headers='["no object"]')
    outbox.insert("broken", "k1", "3")
    outbox.insert("broken", "k2", "4")
    _wait_isolated(relay, 1)
    database.wait_confirmed(database.name)
    kafka.create_topic(broken, 1)
    _wait_values(kafka, broken, [1, 4])
    _wait_isolated(relay, 0)
    assert relay.metric("walpost_parked_keys") == 1
    outbox.insert("broken", "k1", "6")
    outbox.insert("broken", "k2", "7")
    database.wait_confirmed(database.name)
    _wait_values(kafka, broken, [1, 4, 7])
    said = relay.verb("parked", "discard", "--why", "a test", "--all")
    assert said.returncode == 0, said.stderr
    _wait_values(kafka, broken, [1, 3, 4, 6, 7])
    wait_until(lambda: relay.metric("walpost_parked_keys") == 0, relay.log)
    _wait_isolated(relay, 0)
    _assert_in_order(kafka, broken)


@pytest.mark.long
def test_brokers_that_are_away_isolate_nothing(
        walpost, database, own_kafka, outbox, topics):
    kafka = own_kafka
    kafka.create_topic(topics + "order", 1)
    relay = walpost(database, kafka, topics,
                    parking={"isolate_after": f"{_AFTER}s"}).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    kafka.freeze()
    try:
        outbox.insert("order", "k", "2")
        time.sleep(2.5 * _AFTER)
    finally:
        kafka.thaw()
    database.wait_confirmed(database.name)
    assert "is isolated" not in relay.log()
    assert _values(kafka, topics + "order") == [1, 2]
