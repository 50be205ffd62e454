"""Kafka that asks for rights: what `check` says is missing, and that the command
which it prints gives it."""

import re
import shlex
import time

import pytest

from harness import KafkaReader

@pytest.fixture
def relay(walpost, database, outbox, topics, guarded):
    """Makes a Walpost that logs in with its password."""
    def make(**sections):
        made = walpost(database, guarded, topics, **sections,
                       kafka=guarded.login())
        assert made.verb("init").returncode == 0
        return made

    return make


def _follow(guarded, remedy):
    """Does what `kafka-acls.sh` does, as an administrator."""
    words = shlex.split(re.search(r"-> kafka-acls.sh (.*)", remedy)[1])
    at = words.index("--bootstrap-server")
    assert words[at + 1] == guarded.sasl
    del words[at:at + 2]
    assert "--add" in words
    guarded.run_acls(*words)


def _refused(checked, words):
    assert checked.returncode == 1, checked.stdout
    assert re.search(rf"ERROR   {words}", checked.stdout), checked.stdout
    return checked.stdout


def _delivers(relay, database, outbox, guarded, topics):
    relay.run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    record, = KafkaReader(guarded.bootstrap).read_all(topics)
    assert record.key == b"order-1"


def test_no_right_at_all(relay, database, outbox, guarded, topics):
    made = relay()
    said = _refused(made.verb("check"),
                    rf"topics {topics}\* may not be seen or written")
    assert "none exists" not in said, said
    _follow(guarded, said)
    allowed = made.verb("check")
    assert allowed.returncode == 0, allowed.stdout
    _delivers(made, database, outbox, guarded, topics)


@pytest.mark.long
def test_a_topic_that_may_be_seen_and_not_written(
        relay, database, outbox, guarded, topics):
    guarded.create_topic(topics + "order", 1)
    guarded.grant("--allow-principal", "User:walpost", "--operation",
                  "DESCRIBE", "--topic", topics + "order")
    made = relay()
    said = _refused(made.verb("check"),
                    rf"topics {topics}\* may not be written \({topics}order\)")
    _follow(guarded, said)
    allowed = made.verb("check")
    assert allowed.returncode == 0, allowed.stdout
    _delivers(made, database, outbox, guarded, topics)


@pytest.mark.long
def test_one_topic_of_several_that_may_not_be_written(relay, guarded, topics):
    for name in ("order", "other"):
        guarded.create_topic(topics + name, 1)
        guarded.grant("--allow-principal", "User:walpost", "--operation",
                      "WRITE" if name == "order" else "DESCRIBE",
                      "--topic", topics + name)
    made = relay()
    checked = made.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert re.search(rf"warning .*may not be written \({topics}other\)",
                     checked.stdout), checked.stdout
    _follow(guarded, checked.stdout)
    assert "may not be written" not in made.verb("check").stdout


@pytest.mark.long
def test_topics_that_may_not_be_created(relay, database, outbox, guarded, topics):
    guarded.grant("--allow-principal", "User:walpost", "--operation", "WRITE",
                  "--topic", topics, "--resource-pattern-type", "prefixed")
    made = relay()
    said = _refused(made.verb("check"),
                    rf"topics {topics}\* none exists, and none may be created")
    assert "--operation Create" in said
    _follow(guarded, said)
    allowed = made.verb("check")
    assert allowed.returncode == 0, allowed.stdout
    _delivers(made, database, outbox, guarded, topics)


@pytest.mark.long
def test_a_topic_without_a_column_in_its_name(relay, guarded, topics):
    guarded.create_topic(topics + "all", 1)
    made = relay(route={"topic": topics + "all"})
    said = _refused(made.verb("check"),
                    f"topic {topics}all may not be seen or written")
    assert "prefixed" not in said
    _follow(guarded, said)
    allowed = made.verb("check")
    assert allowed.returncode == 0, allowed.stdout
    assert f"topic {topics}all exists" in allowed.stdout


@pytest.mark.long
def test_the_topic_of_the_checkpoint(relay, database, outbox, guarded, topics):
    guarded.grant("--allow-principal", "User:walpost", "--operation", "WRITE",
                  "--operation", "CREATE", "--topic", topics,
                  "--resource-pattern-type", "prefixed")
    made = relay(checkpoint={"store": "kafka", "topic": f"point-{topics}"})
    said = _refused(made.verb("check"),
                    f"checkpoint.topic point-{topics} lacks rights")
    assert "DescribeConfigs" in said
    _follow(guarded, said[said.index("checkpoint.topic point"):])
    allowed = made.verb("check")
    assert allowed.returncode == 0, allowed.stdout
    _delivers(made, database, outbox, guarded, topics)


@pytest.mark.long
def test_verify_without_the_right_to_read(relay, database, outbox, guarded,
                                          topics):
    guarded.grant("--allow-principal", "User:walpost", "--operation", "WRITE",
                  "--operation", "CREATE", "--topic", topics,
                  "--resource-pattern-type", "prefixed")
    made = relay()
    _delivers(made, database, outbox, guarded, topics)
    verified = made.verb("verify")
    assert verified.returncode == 4, verified.stdout
    assert "--operation Read" in verified.stderr and topics in verified.stderr
    checked = made.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert re.search("walpost verify -c .* and recover need", checked.stdout)
    _follow(guarded, checked.stdout)
    verified = made.verb("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_p10_the_checkpoint_may_not_be_written_any_more(
        relay, database, outbox, guarded, topics):
    """Each attempt gets so far that walpost could seem to be ready for a moment."""
    for kind, name in (("--topic", topics), ("--topic", f"point-{topics}"),
                       ("--transactional-id", "walpost-")):
        guarded.grant("--allow-principal", "User:walpost", "--operation", "All",
                      kind, name, "--resource-pattern-type", "prefixed")
    made = relay(delivery={"guarantee": "exactly_once"},
                 checkpoint={"topic": f"point-{topics}"})
    _delivers(made, database, outbox, guarded, topics)
    guarded.deny(f"point-{topics}")
    outbox.insert("order", "order-1")
    made.wait_unready("TOPIC_AUTHORIZATION_FAILED")
    attempts = made.log().count("streaming from slot")
    end = time.monotonic() + 15
    while time.monotonic() < end:
        status, text = made.get("/readyz")
        assert status == 503 and f"topic point-{topics}" in text, text
        time.sleep(0.02)
    assert made.log().count("streaming from slot") - attempts < 30
    assert "confirmed 0/0" not in made.log()
    guarded.allow(f"point-{topics}")
    made.wait_ready(30)
    database.wait_confirmed(made.slot)
    assert len(KafkaReader(guarded.bootstrap).read_all(topics)) == 2
