"""`on_error` with `source: polling`: no row is lost, and none is tried for ever."""

import json
import secrets

import pytest

from harness import KafkaReader
from harness.polled import EVENTS, PolledOutbox, events_sections
from harness.waiting import wait_until

_ACTIONS = {"topic_illegal": "dead_letter", "record_too_large": "dead_letter"}
_WIDE = json.dumps(secrets.token_hex(5000))


def _letters(kafka, topics):
    return {record.id: record for record in
            KafkaReader(kafka.bootstrap).read(topics + "dead")}


def _delivered(kafka, topics):
    return [record.id for record in
            KafkaReader(kafka.bootstrap).read_all(topics)
            if record.topic != topics + "dead"]


@pytest.fixture
def letters_to(kafka, topics):
    """The sections of dead letters, for a walpost."""
    kafka.create_topic(topics + "dead", 1)
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=5000)
    return {"on_error": _ACTIONS, "dead_letter": {"topic": topics + "dead"}}


def _insert(database, table, aggregate_type, payload="{}"):
    return database.value(
        f"insert into {table} (aggregate_type, aggregate_id, payload) "
        "values (%s, 'a1', %s) returning id::text", (aggregate_type, payload))


@pytest.mark.parametrize("lease", [True, False], ids=["lease", "lock"])
@pytest.mark.sample(2)
def test_p8_a_dead_row_is_failed_at_once(database, walpost, kafka, topics,
                                         letters_to, lease):
    polled = PolledOutbox(database)
    sections = polled.sections(max_attempts=0)  # else never failed
    if not lease:
        table, = sections["outbox"]["tables"]
        table["state"] = {**table["state"], "locked_until": ""}
    walpost(database, kafka, topics, **sections, **letters_to).run()
    good = [_insert(database, "outbox", "order")]
    illegal = _insert(database, "outbox", "not legal!")
    large = _insert(database, "outbox", "narrow", _WIDE)
    good.append(_insert(database, "outbox", "order"))
    wait_until(lambda: polled.counts() == {"published": 2, "failed": 2},
               lambda: f"two to be failed: {polled.counts()}", 60)
    letters = _letters(kafka, topics)
    assert set(letters) == {illegal, large}
    assert letters[illegal].header("walpost-dead-letter") == b"topic_illegal"
    assert letters[large].header("walpost-dead-letter") == b"record_too_large"
    assert letters[large].key == b"a1"
    assert json.loads(letters[large].value) == json.loads(_WIDE)
    assert sorted(_delivered(kafka, topics)) == sorted(good)
    assert "topic name" in database.value(
        "select last_error from outbox where id::text = %s", (illegal,))


@pytest.mark.long
def test_p8_a_skipped_row_is_failed_at_once(database, walpost, kafka, topics,
                                            letters_to):
    polled = PolledOutbox(database)
    letters_to["on_error"] = {name: "skip" for name in _ACTIONS}
    relay = walpost(database, kafka, topics, **polled.sections(max_attempts=0),
                    **letters_to).run()
    _insert(database, "outbox", "not legal!")
    _insert(database, "outbox", "narrow", _WIDE)
    good = _insert(database, "outbox", "order")
    wait_until(lambda: polled.counts() == {"published": 1, "failed": 2},
               lambda: f"two to be failed: {polled.counts()}", 60)
    assert not _letters(kafka, topics)
    assert _delivered(kafka, topics) == [good]
    for name in _ACTIONS:
        assert relay.metric(
            f'walpost_skipped_events_total{{class="{name}"}}') == 1


@pytest.mark.long
def test_a_deleted_row_is_in_the_dead_letter_topic(database, walpost, kafka,
                                                   topics, letters_to):
    """A table without a state: the dead letter is all that is left."""
    database.execute(EVENTS)
    sections = events_sections(strategy="delete")
    walpost(database, kafka, topics, **sections, **letters_to).run()
    dead = _insert(database, "events", "not legal!", "the payload")
    good = _insert(database, "events", "order")
    wait_until(lambda: database.value("select count(*) from events") == 0,
               "the table to be empty")
    assert _letters(kafka, topics)[dead].value == b"the payload"
    assert _delivered(kafka, topics) == [good]


@pytest.mark.long
def test_a_cursor_passes_dead_and_skipped_rows(database, walpost, kafka, topics,
                                               letters_to):
    database.execute(EVENTS)
    letters_to["on_error"] = {**_ACTIONS, "record_too_large": "skip"}
    relay = walpost(database, kafka, topics, **events_sections(),
                    **letters_to).run()
    dead = _insert(database, "events", "not legal!")
    _insert(database, "events", "narrow", _WIDE)
    good = _insert(database, "events", "order")
    wait_until(lambda: _delivered(kafka, topics) == [good], "the last row")
    assert set(_letters(kafka, topics)) == {dead}
    # Nothing of it comes again after a restart.
    relay.stop()
    relay.run()
    last = _insert(database, "events", "order")
    wait_until(lambda: _delivered(kafka, topics) == [good, last],
               "the row after the restart")
    assert database.value("select count(*) from events") == 4
