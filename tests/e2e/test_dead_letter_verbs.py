"""walpost dead-letters: what is dead is listed, shown, retried and discarded,
and every decision is on record (P8, P11)."""

import json
import re
import secrets
import subprocess
import time

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import LONG, long_only

_WIDE = json.dumps(secrets.token_hex(5000))
_LIMIT = 5000


def _start(walpost, database, kafka, topics):
    """Sends what cannot be delivered to a topic of two partitions."""
    database.execute("alter table outbox alter aggregate_type drop not null")
    kafka.create_topic(topics + "dead", 2)
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    return walpost(database, kafka, topics, on_error={
        "topic_field_missing": "dead_letter", "topic_illegal": "dead_letter",
        "headers_unreadable": "dead_letter", "record_too_large": "dead_letter",
    }, dead_letter={"topic": topics + "dead"}).run()


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    assert outbox  # the table
    return _start(walpost, database, kafka, topics)


def _letters(relay, *words):
    said = relay.verb("dead-letters", "list", "--json", *words)
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def _ids(letters):
    return {letter["id"] for letter in letters}


def _values(kafka, topics, topic):
    return [record.value for record in
            KafkaReader(kafka.bootstrap).read(topics + topic)]


def _wait_visible(kafka, topics, topic, count):
    """The brokers show a transaction shortly after they have committed it."""
    wait_until(lambda: len(_values(kafka, topics, topic)) >= count,
               f"{count} records of {topic}")


def _retry(relay, *words):
    return relay.verb("dead-letters", "retry", "--out-of-order", "--why",
                      "the cause is fixed", "--by", "alice", *words)


def _discard(relay, *words):
    return relay.verb("dead-letters", "discard", "--why", "a test row", "--by",
                      "bob", *words)


def _findings(relay):
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)
    return said.returncode, {name: found["count"] for name, found
                             in report["findings"].items() if found["count"]}


def test_what_is_dead_is_listed_and_shown(relay, database, outbox, topics):
    missing = outbox.insert(None, "k1", "1")
    illegal = outbox.insert("not legal!", "k2", "2")
    outbox.insert("order", "k1", "3")
    database.wait_confirmed(database.name)
    letters = _letters(relay)
    assert _ids(letters) == {missing, illegal}
    one = next(letter for letter in letters if letter["id"] == illegal)
    assert one["class"] == "topic_illegal" and one["state"] == "open"
    assert one["key"] == "k2" and one["source"] == "public.outbox"
    assert one["aggregate_type"] == "not legal!" and one["payload_bytes"] == 1
    said = relay.verb("dead-letters", "list").stdout
    assert illegal in said and one["place"] in said and one["reason"] in said
    assert "2 dead letters: 1 topic_field_missing, 1 topic_illegal" in said
    # Each filter, and together.
    for words, found in {
            ("--class", "topic_illegal"): {illegal},
            ("--key", "k1"): {missing},
            ("--id", missing): {missing},
            ("--id", missing, "--key", "k2"): set(),
            ("--place", one["place"].split("/", 1)[1]): {illegal},
            ("--since", "1h"): {missing, illegal},
            ("--before", "1h"): set(),
            ("--before", "2020-01-01 10:00:00"): set(),
            ("--from", topics + "dead"): {missing, illegal},
            ("--from", topics + "order"): set(),
    }.items():
        assert _ids(_letters(relay, *words)) == found, words
    shown = relay.verb("dead-letters", "show", "--id", illegal)
    assert shown.returncode == 0 and "\n2\n" in shown.stdout
    assert "not legal!" in shown.stdout
    nothing = relay.verb("dead-letters", "show", "--id", "none")
    assert nothing.returncode == 1, nothing.stdout


def test_p11_a_retry_is_in_its_topic_and_on_record(relay, database, kafka,
                                                   outbox, topics):
    events = [outbox.insert("Order Placed", f"k{n}", str(n)) for n in range(3)]
    outbox.insert("order", "k0", "3")
    database.wait_confirmed(database.name)
    code, findings = _findings(relay)
    assert code == 1 and findings["dead_letter"] == 3
    # The cause is not fixed: nothing moves.
    said = _retry(relay, "--all")
    assert said.returncode == 1, said.stdout
    assert "0 retried" in said.stdout and "stays as it is" in said.stdout
    assert len(_letters(relay)) == 3
    relay.configure({**relay.config, "route": {
        "topic": topics + "{aggregate_type|lower|replace: :-}"}})
    dry = relay.verb("dead-letters", "retry", "--all", "--dry-run")
    assert dry.returncode == 0 and "3 would be retried" in dry.stdout
    assert len(_letters(relay)) == 3
    said = _retry(relay, "--key", "k1")
    assert said.returncode == 0, said.stderr
    assert "1 retried" in said.stdout
    _wait_visible(kafka, topics, "order-placed", 1)
    assert _values(kafka, topics, "order-placed") == [b"1"]
    said = _retry(relay, "--all")
    assert said.returncode == 0 and "2 retried" in said.stdout, said.stderr
    _wait_visible(kafka, topics, "order-placed", 3)
    found = KafkaReader(kafka.bootstrap).read(topics + "order-placed")
    assert {record.id for record in found} == set(events)
    for record in found:
        assert record.header("walpost-retried")
        assert not record._has("walpost-position"), "it is no repeat"
    wait_until(lambda: _letters(relay) == [], "the decisions")
    settled = _letters(relay, "--all")
    assert {letter["state"] for letter in settled} == {"retried"}
    assert {letter["decided_by"] for letter in settled} == {"alice"}
    assert {letter["why"] for letter in settled} == {"the cause is fixed"}
    again = _retry(relay, "--all")
    assert again.returncode == 1 and "open" in again.stderr
    assert len(_values(kafka, topics, "order-placed")) == 3
    # The relay has the old topics still; verify judges by the new ones.
    code, findings = _findings(relay)
    assert "dead_letter" not in findings and findings["replayed"] == 3


def test_p11_what_is_discarded_is_never_clean(relay, database, outbox):
    event = outbox.insert(None, "k", "1")
    kept = outbox.insert(None, "k", "2")
    database.wait_confirmed(database.name)
    said = _discard(relay, "--id", event)
    assert said.returncode == 0 and "1 discarded" in said.stdout, said.stderr
    wait_until(lambda: _ids(_letters(relay)) == {kept}, "the decision")
    settled = {letter["id"]: letter for letter in _letters(relay, "--all")}
    assert settled[event]["state"] == "discarded"
    assert settled[event]["decided_by"] == "bob"
    assert settled[event]["why"] == "a test row"
    code, findings = _findings(relay)
    assert code == 1
    assert (findings["discarded"], findings["dead_letter"]) == (1, 1)


@pytest.mark.long
def test_the_brokers_reject_one_of_a_batch(relay, database, kafka, outbox,
                                           topics):
    """It stays, and the others go out."""
    wide = [outbox.insert("narrow", "k", payload) for payload in
            (_WIDE, json.dumps(secrets.token_hex(10_000)), _WIDE)]
    database.wait_confirmed(database.name, seconds=60)
    assert _ids(_letters(relay)) == set(wide)
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", "15000")
    said = _retry(relay, "--all")
    assert said.returncode == 1, said.stdout
    assert "2 retried" in said.stdout
    _wait_visible(kafka, topics, "narrow", 2)
    assert _ids(_letters(relay)) == {wide[1]}
    found = KafkaReader(kafka.bootstrap).read(topics + "narrow")
    assert [record.id for record in found] == [wide[0], wide[2]]


@pytest.mark.long
def test_what_the_dead_letter_lacks_is_not_made_up(relay, database, outbox,
                                                   topics):
    """A payload that was left out, a table that is not configured any more."""
    relay.stop()
    relay.configure({**relay.config, "dead_letter": {
        "topic": topics + "dead", "payload": "none"}})
    relay.run()
    outbox.insert("order 1", "k", "123")
    database.wait_confirmed(database.name)
    relay.configure({**relay.config, "route": {"topic": topics + "all"}})
    said = _retry(relay, "--all")
    assert (said.returncode == 1
            and re.search("replay -c .* --from-table", said.stdout))
    relay.configure({**relay.config, "outbox": {"tables": [
        {"name": "public.other"}]}, "dead_letter": {"topic": topics + "dead"}})
    said = _retry(relay, "--all")
    assert said.returncode == 1 and "stays as it is" in said.stdout


@pytest.mark.long
def test_bad_input_moves_nothing(relay, database, outbox):
    outbox.insert(None, "k", "1")
    database.wait_confirmed(database.name)
    for words, remedy in {
            ("bury",): "list, show, retry, discard",
            ("retry", "--out-of-order", "--why", "x"): "which ones?",
            ("discard", "--why", "x"): "which ones?",
            ("retry", "--all", "--out-of-order"): "--why",
            ("discard", "--all"): "--why",
            ("retry", "--all", "--why", "x"): "--out-of-order",
            ("list", "--why", "x"): "--why",
            ("list", "--since", "soon"): "1h",
            (): "ACTION",
    }.items():
        said = relay.verb("dead-letters", *words)
        assert said.returncode == 2, words
        assert remedy in said.stderr, (words, said.stderr)
    assert len(_letters(relay)) == 1


def _many(relay, database, kafka, topics, count, **late):
    """The command that retries so many dead letters of ten keys."""
    kafka.create_topic(topics + "late", 2, **late)
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select null, 'k-' || n %% 10, to_jsonb(n) "
        "from generate_series(1, %s) n", (count,))
    database.wait_confirmed(database.name, seconds=60)
    relay.configure({**relay.config, "route": {
        "topic": topics + "{aggregate_type|default:late}"}})
    return relay.command("dead-letters", "retry", "--all", "--out-of-order",
                         "--why", "x")


def _check_late(relay, kafka, topics, count):
    """Each event is there once, in the order of its key."""
    _wait_visible(kafka, topics, "late", count)
    found = KafkaReader(kafka.bootstrap).read(topics + "late")
    assert len({record.id for record in found}) == len(found) == count
    numbers = {}
    for record in found:
        numbers.setdefault(record.key, []).append(int(record.value))
    assert all(values == sorted(values) for values in numbers.values())
    wait_until(lambda: _letters(relay) == [], "the decisions")


@pytest.mark.long
def test_p3_two_retries_at_once_send_nothing_twice(relay, database, kafka,
                                                   outbox, topics):
    count = 3000
    words = _many(relay, database, kafka, topics, count)
    both = []
    for _ in range(2):
        both.append(subprocess.Popen(words, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True))
        time.sleep(0.3)
    said = [process.communicate(timeout=120) for process in both]
    assert min(process.returncode for process in both) == 0, said
    _check_late(relay, kafka, topics, count)


@pytest.mark.long
def test_p3_two_retries_at_once_and_a_record_that_is_rejected(
        relay, database, kafka, outbox, topics):
    """It costs a transaction, and whoever begins another looks at what the
    other command has done since."""
    count = 1000
    words = _many(relay, database, kafka, topics, count,
                  max_message_bytes=_LIMIT)
    wide = outbox.insert(None, "k-0", _WIDE)
    outbox.insert(None, "k-0", str(count + 1))
    database.wait_confirmed(database.name)
    both = [subprocess.Popen(words, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    said = [process.communicate(timeout=180) for process in both]
    # Whoever was fenced may be the one that had the most to do.
    said.append(_retry(relay, "--all").stdout)
    _wait_visible(kafka, topics, "late", count + 1)
    found = KafkaReader(kafka.bootstrap).read(topics + "late")
    assert len({record.id for record in found}) == len(found) == count + 1
    wait_until(lambda: _ids(_letters(relay)) == {wide}, "the decisions")


@pytest.mark.parametrize("verb", ["retry", *long_only("discard")])
@pytest.mark.long
def test_p1_brokers_that_freeze_end_the_command(walpost, database, own_kafka,
                                                outbox, topics, verb):
    """It says so, and what it had not done can be done later, once."""
    kafka, count = own_kafka, 5000
    relay = _start(walpost, database, kafka, topics)
    words = _many(relay, database, kafka, topics, count)
    if verb == "discard":
        words = relay.command("dead-letters", "discard", "--all", "--why", "x")
    before = len(_letters(relay))
    with subprocess.Popen(words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: process.poll() is not None or
                   len(_letters(relay)) < before, "a transaction", 60)
        assert process.poll() is None, "it was too quick"
        kafka.freeze()
        said = process.communicate(timeout=200)
    assert process.returncode == 4, said
    kafka.thaw()
    again = _retry(relay, "--all") if verb == "retry" else _discard(
        relay, "--all")
    assert again.returncode == 0, again.stderr
    if verb == "retry":
        _check_late(relay, kafka, topics, count)
    wait_until(lambda: _letters(relay) == [], "the decisions")


@pytest.mark.long
def test_p3_a_retry_that_is_killed_leaves_nothing_half_done(
        relay, database, kafka, outbox, topics):
    count = 5000
    words = _many(relay, database, kafka, topics, count)
    for _ in range(4 if LONG else 2):
        before = len(_values(kafka, topics, "late"))
        with subprocess.Popen(words, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: process.poll() is not None or
                       len(_values(kafka, topics, "late")) > before,
                       "the retry", 60)
            process.kill()
    said = _retry(relay, "--all")
    assert said.returncode == 0 or "open" in said.stderr, said.stderr
    _check_late(relay, kafka, topics, count)
