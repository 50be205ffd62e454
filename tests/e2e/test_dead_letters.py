"""`on_error`: an event that cannot be delivered has its dead letter, or is left
out, and the others go on (P8)."""

import json
import random
import secrets

import pytest

from harness import KafkaReader, Load, note, wait_until
from harness.matrix import LONG

# Bytes that no compression makes smaller than the topic's limit.
_WIDE = json.dumps(secrets.token_hex(5000))
_LIMIT = 5000

# Class of the error, and a row that has it. `narrow` and `compacted` are topics.
_POISON = {
    "topic_field_missing": {"aggregate_type": None},
    "topic_illegal": {"aggregate_type": "not legal!"},
    "headers_unreadable": {"aggregate_type": "order", "headers": "[1]"},
    "record_too_large": {"aggregate_type": "narrow", "payload": _WIDE},
    "record_refused": {"aggregate_type": "compacted", "aggregate_id": None},
}


def _all(action):
    return {error_class: action for error_class in _POISON}


@pytest.fixture
def poisoned(database, kafka, outbox, topics):
    """Inserts poison: poisoned(CLASS, cursor=None, ...) returns the row's id."""
    database.execute("alter table outbox alter aggregate_type drop not null")
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    kafka.create_topic(topics + "compacted", 1, cleanup_policy="compact")
    kafka.create_topic(topics + "dead", 2)

    def insert(error_class, **columns):
        return outbox.insert(**{"aggregate_id": "k", "payload": "{}",
                                **_POISON[error_class], **columns})

    return insert


@pytest.fixture
def relay_of(walpost, database, kafka, topics):
    def make(on_error, **sections):
        return walpost(database, kafka, topics, on_error=on_error,
                       dead_letter={"topic": topics + "dead"}, **sections)

    return make


def _dead(kafka, topics):
    """The dead letters by id of the event; each event may have several."""
    letters = {}
    for record in KafkaReader(kafka.bootstrap).read(topics + "dead"):
        letters.setdefault(record.id, []).append(record)
    return letters


def _delivered(kafka, topics):
    return [record for record in KafkaReader(kafka.bootstrap).read_all(topics)
            if record.topic != topics + "dead"]


def _class_of(letter):
    return letter.header("walpost-dead-letter").decode()


@pytest.mark.parametrize("store", ["none", "file"])
@pytest.mark.sample(2)
def test_p8_each_class_has_its_dead_letter(relay_of, database, kafka, outbox,
                                           topics, poisoned, directory, store):
    relay = relay_of(_all("dead_letter"), checkpoint={
        "store": store, "path": str(directory / "checkpoint")}).run()
    good, dead = [], {}
    for error_class in _POISON:
        with database.transaction() as cursor:
            good.append(outbox.insert("order", "k", "1", cursor))
            dead[poisoned(error_class, cursor=cursor)] = error_class
            good.append(outbox.insert("order", "k", "2", cursor))
    database.wait_confirmed(database.name)
    relay.wait_ready()
    letters = _dead(kafka, topics)
    assert {event: _class_of(found[0]) for event, found in letters.items()
            } == dead
    assert [record.id for record in _delivered(kafka, topics)] == good
    for event, error_class in dead.items():
        letter, = letters[event]
        row = _POISON[error_class]
        assert letter.header("walpost-dead-letter-source") == b"public.outbox"
        assert letter.header("walpost-position")
        key = row.get("aggregate_id", "k")
        assert letter.key == (None if key is None else key.encode())
        assert json.loads(letter.value) == json.loads(row.get("payload", "{}"))
        assert relay.metric(
            f'walpost_dead_letters_total{{class="{error_class}"}}') == 1
        assert any(event in line and f"[{error_class}]" in line
                   for line in relay.log().splitlines())
    headers_letter, = (found[0] for found in letters.values()
                       if _class_of(found[0]) == "headers_unreadable")
    assert headers_letter.header("walpost-dead-letter-headers") == b"[1]"
    assert headers_letter.header("walpost-dead-letter-topic") == (
        (topics + "order").encode())
    said = relay.verb("verify", "--json")
    findings = json.loads(said.stdout)["findings"]
    assert said.returncode == 1, "what is not in its topic is not clean"
    assert findings["dead_letter"]["count"] == len(_POISON)
    assert findings["missing"]["count"] == 0
    status = json.loads(relay.get("/status")[1])
    assert (status["dead_letters"], status["events_left_out"]) == (5, 0)
    # Nothing of it comes again after a restart.
    assert relay.stop() == 0
    relay.run()
    good.append(outbox.insert("order", "k", "3"))
    database.wait_confirmed(database.name)
    assert len(_dead(kafka, topics)) == len(_POISON)
    assert [record.id for record in _delivered(kafka, topics)] == good


@pytest.mark.long
def test_p8_each_class_may_be_skipped(relay_of, database, kafka, outbox, topics,
                                      poisoned):
    relay = relay_of(_all("skip")).run()
    good, left_out = [], {}
    for error_class in _POISON:
        good.append(outbox.insert("order", "k", "1"))
        left_out[poisoned(error_class)] = error_class
        good.append(outbox.insert("order", "k", "2"))
    database.wait_confirmed(database.name)
    relay.wait_ready()
    assert not _dead(kafka, topics)
    assert [record.id for record in _delivered(kafka, topics)] == good
    for event, error_class in left_out.items():
        assert relay.metric(
            f'walpost_skipped_events_total{{class="{error_class}"}}') == 1
        assert any(event in line and "left out" in line
                   for line in relay.log().splitlines())
    # What is not in its topic is not called clean.
    said = relay.verb("verify")
    assert said.returncode == 1 and "missing" in said.stdout, said.stdout


@pytest.mark.long
def test_p8_a_class_that_nobody_chose_stops(relay_of, database, kafka, outbox,
                                            topics, poisoned):
    relay = relay_of({**_all("dead_letter"), "topic_illegal": "stop"}).run()
    poisoned("topic_field_missing")
    stopped = poisoned("topic_illegal")
    outbox.insert("order", "k", "1")
    relay.wait_unready("topic_illegal")
    assert json.loads(relay.get("/status")[1])["stopped_event_id"] == stopped
    wait_until(lambda: len(_dead(kafka, topics)) == 1, "the first dead letter")
    assert not _delivered(kafka, topics)
    assert database.confirmed_lsn(database.name) < database.current_lsn()


@pytest.mark.long
def test_a_refused_record_in_the_middle_of_a_batch(relay_of, database, kafka,
                                                   outbox, topics, poisoned):
    """The brokers reject the batch as a whole; only the culprit is dead."""
    relay = relay_of(_all("dead_letter")).run()
    assert relay.stop() == 0
    dead, good = set(), []
    with database.transaction() as cursor:
        for number in range(60):
            if number % 20 == 7:
                dead.add(poisoned("record_too_large", cursor=cursor))
            good.append(outbox.insert("narrow", "k", str(number), cursor))
    relay.run()
    database.wait_confirmed(database.name, seconds=120)
    assert set(_dead(kafka, topics)) == dead
    first = dict.fromkeys(record.id for record in _delivered(kafka, topics))
    assert list(first) == good
    assert relay.metric("walpost_rewinds_total") >= 1, "there was no batch"


def test_p2_a_dead_letter_that_cannot_be_written_stops_the_flow(
        relay_of, database, kafka, outbox, topics, poisoned):
    """Too large for the client: so is its dead letter, until it is cut."""
    sections = {"dead_letter": {"topic": topics + "dead", "payload": "whole"}}
    relay = relay_of(_all("dead_letter"))
    relay.configure({**relay.config, **sections})
    relay.run()
    outbox.insert("order", "k", "1")
    with database.transaction() as cursor:
        event = outbox.insert("order", "k", json.dumps("x" * 3_000_000),
                              cursor)
        # The server may say that it has sent part of the transaction.
        limit = database.lsn_before_commit(cursor)
    after = outbox.insert("order", "k", "2")
    reason = relay.wait_unready("dead letter")
    assert "record_too_large" in reason
    assert database.confirmed_lsn(database.name) <= limit
    relay.stop()
    sections["dead_letter"]["payload"] = "cut"
    relay.configure({**relay.config, **sections})
    relay.run()
    database.wait_confirmed(database.name)
    letter, = _dead(kafka, topics)[event]
    assert len(letter.value) == 4096
    assert letter.header("walpost-dead-letter-payload-bytes") == b"3000002"
    assert after in {record.id for record in _delivered(kafka, topics)}


@pytest.mark.parametrize("action", ["dead_letter", "skip"])
@pytest.mark.long
def test_p6_ten_thousand_in_a_row(relay_of, database, kafka, outbox, topics,
                                  poisoned, action):
    count = 10_000
    relay = relay_of(_all(action)).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select null, 'k-' || n %% 10, to_jsonb(n) from generate_series(1, %s) "
        "n", (count,))
    after = outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name, seconds=120)
    assert [record.id for record in _delivered(kafka, topics)] == [after]
    letters = _dead(kafka, topics)
    assert len(letters) == (count if action == "dead_letter" else 0)
    numbers = {}
    for letter in KafkaReader(kafka.bootstrap).read(topics + "dead"):
        numbers.setdefault(letter.key, []).append(int(letter.value))
    assert all(found == sorted(found) for found in numbers.values())
    assert relay.peak_memory_bytes() < 100 << 20
    note(f"{count} of {action}: at most "
         f"{relay.peak_memory_bytes() / (1 << 20):.1f} MiB resident")


@pytest.mark.parametrize("seed", range(5 if LONG else 1))
def test_p1_killed_again_and_again_among_poison(relay_of, database, kafka,
                                                outbox, topics, poisoned, seed):
    """Each event is in its topic or has a dead letter; keys keep their order."""
    dice = random.Random(f"dead letters {seed}")
    relay = relay_of(_all("dead_letter")).run()
    dead = set()
    with Load(outbox, seed=seed, pause=0.005) as load:
        for _ in range(50 if LONG else 8):
            load.wait(dice.randrange(20, 60))
            for _ in range(dice.randrange(1, 4)):
                dead.add(poisoned(dice.choice(list(_POISON))))
            relay.kill()
            relay.run()
    database.wait_confirmed(database.name, seconds=120)
    letters = _dead(kafka, topics)
    assert set(letters) == dead
    sequences = dict(database.execute(
        "select id::text, sequence from truth"))
    found = _delivered(kafka, topics)
    assert {record.id for record in found} == set(sequences) - dead
    first, last = {}, {}
    for record in found:
        first.setdefault(record.id, record)
    for record in first.values():
        place = record.topic, record.key
        assert last.get(place, -1) < sequences[record.id], place
        last[place] = sequences[record.id]
    note(f"{len(dead)} dead letters of {len(sequences)} events, "
         f"{sum(map(len, letters.values())) - len(dead)} of them repeated")


@pytest.mark.long
def test_the_snapshot_and_the_verbs_obey_it(relay_of, database, kafka, outbox,
                                            topics, poisoned):
    """Rows that were there before, sent again, and recovered."""
    sections = {"outbox": {"tables": [{"name": "public.outbox",
                                       "order_by": "sequence"}]},
                "snapshot": "initial", "replay": {"window": "64MiB"}}
    good, dead = [], set()
    for number, error_class in enumerate(_POISON):
        good.append(outbox.insert("order", "k", "1", sequence=2 * number))
        dead.add(poisoned(error_class, sequence=2 * number + 1))
    good.append(outbox.insert("order", "k", "1", sequence=100))
    relay = relay_of(_all("dead_letter"), **sections).run(60)
    wait_until(lambda: len(_delivered(kafka, topics)) >= len(good),
               "the snapshot")
    wait_until(lambda: set(_dead(kafka, topics)) == dead, "its dead letters")
    assert {record.id for record in _delivered(kafka, topics)} == set(good)

    # What the brokers reject would end the verb.
    local = {name for name, row in _POISON.items() if "aggregate_type" not in
             row or row["aggregate_type"] not in ("narrow", "compacted")}
    database.execute("delete from outbox where aggregate_type in "
                     "('narrow', 'compacted')")
    relay.stop()
    late = poisoned("topic_illegal", sequence=101)
    said = relay.verb("replay", "--from-table")
    assert said.returncode == 0, said.stderr
    assert f"left out: {len(local)} that have a dead letter" in said.stdout
    again = [(event, letter) for event, found in _dead(kafka, topics).items()
             for letter in found if letter.is_replayed]
    assert [event for event, _ in again] == [late]


@pytest.mark.long
def test_a_replay_of_the_wal_obeys_it(relay_of, database, kafka, outbox, topics,
                                      poisoned):
    relay = relay_of(_all("dead_letter"), replay={"window": "64MiB"}).run()
    begin = database.confirmed_lsn(database.name)
    outbox.insert("order", "k", "1")
    event = poisoned("topic_illegal")
    outbox.insert("order", "k", "2")
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-lsn",
                      f"{begin >> 32:X}/{begin & 0xFFFFFFFF:X}")
    assert said.returncode == 0, said.stderr
    assert "left out: 1 that have a dead letter" in said.stdout
    letter, = _dead(kafka, topics)[event]
    assert not letter.is_replayed


@pytest.mark.long
def test_the_default_of_a_template_needs_no_dead_letter(
        walpost, database, kafka, outbox, topics, poisoned):
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{aggregate_type|default:other}"}).run()
    event = poisoned("topic_field_missing")
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    record, = KafkaReader(kafka.bootstrap).read(topics + "other")
    assert record.id == event
    said = relay.verb("verify")
    assert said.returncode == 0, said.stdout


@pytest.mark.long
def test_check_names_a_dead_letter_topic_that_is_compacted(relay_of, kafka,
                                                           topics, poisoned):
    assert poisoned
    relay = relay_of(_all("dead_letter")).run()
    said = relay.verb("check")
    assert said.returncode == 0, said.stdout
    assert f"topic {topics}dead" in said.stdout
    kafka.create_topic(topics + "dead2", 1, cleanup_policy="compact,delete")
    relay.configure({**relay.config, "dead_letter": {"topic": topics + "dead2"}})
    said = relay.verb("check")
    assert said.returncode == 1, said.stdout
    assert "cleanup.policy=compact,delete" in said.stdout
    assert "--add-config cleanup.policy=delete" in said.stdout
