"""Limits: what comes near one is warned of, and what is beyond it has a class.

The table in docs/limits.md says what they are. P8: an event for one topic
too many stops the flow loudly, or goes where `on_error` says.
"""

import re

import pytest

from harness import KafkaReader, wait_until
from harness.paths import REPOSITORY

_MOST = 5


def _insert(database, first, last):
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select 'tenant' || g, 'k', '{}' from generate_series(%s, %s) g",
        (first, last))


def _has_record(kafka, topic):
    return bool(KafkaReader(kafka.bootstrap).read(topic))


def test_p8_a_topic_too_many_stops_the_flow_until_the_limit_is_raised(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics,
                    kafka={"max_topics": _MOST}).run()
    _insert(database, 1, 3)
    relay.wait_acknowledged(3)
    assert "kafka.max_topics is" not in relay.log()
    _insert(database, 4, 4)
    relay.wait_log("records have gone to 4 topics since this producer began, "
                   "and kafka.max_topics is 5: raise it")
    assert relay.get("/readyz")[0] == 200
    database.wait_confirmed(relay.slot)
    before = database.confirmed_lsn(relay.slot)
    _insert(database, 5, 6)
    said = relay.wait_unready("would be number 6 since this producer began, "
                              "and kafka.max_topics is 5: raise it")
    assert f"'{topics}tenant6'" in said
    assert relay.metric("walpost_topics") == _MOST
    assert relay.metric("walpost_max_topics") == _MOST
    assert relay.metric(
        'walpost_stopped{reason_code="too_many_topics"}') == 1
    _insert(database, 1, 1)
    assert relay.stop() == 0
    assert database.confirmed_lsn(relay.slot) == before
    relay.config["kafka"]["max_topics"] = _MOST + 1
    relay.configure(relay.config)
    relay.run()
    wait_until(lambda: _has_record(kafka, topics + "tenant6"), relay.log)
    database.wait_confirmed(relay.slot)


@pytest.mark.long
def test_p8_a_topic_too_many_goes_to_the_dead_letters_and_the_others_go_on(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, kafka={"max_topics": _MOST},
                    dead_letter={"topic": topics + "dead"},
                    replay={"window": "1GiB"},
                    on_error={"too_many_topics": "dead_letter"}).run()
    _insert(database, 1, 20)
    _insert(database, 1, _MOST)
    wait_until(lambda: relay.metric(
        'walpost_dead_letters_total{class="too_many_topics"}') == 15,
               relay.log)
    database.wait_confirmed(relay.slot)
    dead = KafkaReader(kafka.bootstrap).read(topics + "dead")
    assert len(dead) == 15
    for number in range(1, _MOST + 1):
        assert len(KafkaReader(kafka.bootstrap).read(
            f"{topics}tenant{number}")) == 2
    relay.stop()
    relay.config["kafka"]["max_topics"] = 100
    relay.configure(relay.config)
    relay.run()
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order",
                      "--why", "more topics are allowed")
    assert said.returncode == 0, said.stdout + said.stderr
    # Other topics count, too. What is set aside is not called replayed.
    said = relay.verb("replay", "--since", "1h", "--topic-prefix", "again.",
                      "--set", f"kafka.max_topics={_MOST}")
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{2 * _MOST} events replayed" in said.stdout, said.stdout
    assert "15 more were not deliverable (on_error)" in said.stdout
    for number in range(1, 21):
        assert _has_record(kafka, f"{topics}tenant{number}"), number


@pytest.mark.long
def test_keys_that_are_parked_are_warned_of_near_their_limit(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics,
                    on_error={"topic_illegal": "park"},
                    parking={"max_keys": _MOST}).run()
    park = ("insert into outbox (aggregate_type, aggregate_id, payload) "
            "select 'no topic', g::text, '{}' from generate_series(%s, %s) g")
    database.execute(park, (1, 3))
    wait_until(lambda: relay.metric("walpost_parked_keys") == 3, relay.log)
    assert "parking.max_keys is" not in relay.log()
    database.execute(park, (4, 4))
    relay.wait_log("4 keys are parked, and parking.max_keys is 5: release")


def test_the_table_of_limits_has_the_values_that_count(walpost, database,
                                                       kafka, topics):
    relay = walpost(database, kafka, topics)
    printed = relay.verb("run", "--print-config").stdout
    text = (REPOSITORY / "docs" / "limits.md").read_text(encoding="utf-8")
    stated = re.findall(r"`(\w+)\.(\w+)`: (\w+)", text)
    assert len(stated) >= 6
    for section, key, value in stated:
        values = printed.split(f"\n{section}:\n")[1]
        found = re.search(rf"^  {key}: (\S+)$", values, re.M)
        if value == "the":  # another page says how it is found
            continue
        assert found and found[1] == value, (section, key, value)
