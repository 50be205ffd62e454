"""A table that is renamed has the same events: what was decided about them stays
decided, and what is on record is found (P3, P8)."""

import json

import pytest

from harness import KafkaReader, wait_until
from harness.exactly_once import once

_BAD = '["no object"]'  # for the headers
_WHY = ("--why", "a test", "--by", "alice")


def _values(kafka, topics, topic="order"):
    reader = KafkaReader(kafka.bootstrap)
    if topics + topic not in reader.topics(topics):
        return []
    return sorted(int(record.value)
                  for record in reader.read(topics + topic))


def _tables(relay, formerly=None, **table):
    """The configuration of the table, under its new name."""
    entry = {"name": "public.events", "order_by": "sequence", **table}
    if formerly is not None:
        entry["formerly"] = formerly
    relay.configure({**relay.config, "outbox": {"tables": [entry]}})


def _rename(database):
    database.execute("alter table outbox rename to events")


@pytest.fixture
def make(walpost, database, kafka, outbox, topics):
    assert outbox  # the table
    kafka.create_topic(topics + "order", 2)

    def made(**sections):
        return walpost(database, kafka, topics, **{
            "outbox": {"tables": [{"name": "public.outbox",
                                   "order_by": "sequence"}]}, **sections})
    return made


@pytest.mark.parametrize("store", ["none", "postgres"])
@pytest.mark.long
def test_p8_it_is_asked_for_the_name_before_until_there_is_one(
        make, database, outbox, kafka, topics, store):
    relay = make(checkpoint={"store": store}).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    relay.stop()
    outbox.insert("order", "k", "2")
    _rename(database)
    outbox.insert("order", "k", "3", table="events")
    _tables(relay)
    for _ in range(2):  # it is not forgotten with the first attempt
        said = relay.verb("check")
        assert "formerly: [public.outbox]" in said.stdout + said.stderr
        assert said.returncode != 0
        said = relay.verb("run")
        assert said.returncode != 0
        assert "formerly: [public.outbox]" in said.stderr, said.stderr
    # Nor does what reads again what was decided about.
    for words in (("replay", "--from-table", "--missing"),
                  ("recover", "--force")):
        said = relay.verb(*words)
        assert said.returncode != 0
        assert "formerly: [public.outbox]" in said.stderr, said.stderr
    assert _values(kafka, topics) == [1]
    _tables(relay, ["public.outbox"])
    assert relay.verb("check").returncode == 0
    relay.run()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [1, 2, 3]
    relay.stop()
    relay.run()
    said = relay.verb("verify")
    assert said.returncode == 0, said.stdout


@pytest.mark.long
def test_p8_it_may_count_as_another_table(make, database, outbox, kafka,
                                          topics):
    relay = make().run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    relay.stop()
    outbox.insert("order", "k", "2")
    _rename(database)
    _tables(relay, [])
    relay.run()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [1, 2]


@pytest.mark.long
def test_p8_what_was_skipped_stays_skipped(make, database, outbox, kafka,
                                           topics):
    """By a replay of the WAL and by one of the table, which reads it again."""
    relay = make(replay={"window": "64MiB"}).run()
    outbox.insert("order", "k", "1")
    outbox.insert("order", "k", "2", headers=_BAD)
    outbox.insert("order", "k", "3")
    relay.wait_unready("headers")
    position = json.loads(relay.get("/status")[1])["stopped_position"]
    said = relay.verb("skip", position, *_WHY)
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)
    relay.stop()
    _rename(database)
    # It could be delivered now.
    _tables(relay, ["public.outbox"], columns={"headers": None})
    relay.run()
    outbox.insert("order", "k", "4", table="events")
    database.wait_confirmed(database.name)
    assert set(_values(kafka, topics)) == {1, 3, 4}
    said = relay.verb("replay", "--from-table", "--missing")
    assert said.returncode == 0 and "1 that an operator has skipped" in said.stdout
    said = relay.verb("replay", "--since", "1h", "--topic-prefix", "again.")
    assert said.returncode == 0, said.stderr
    again = [int(record.value) for record in
             KafkaReader(kafka.bootstrap).read("again." + topics + "order")]
    assert sorted(again) == [1, 3, 4], said.stdout
    assert set(_values(kafka, topics)) == {1, 3, 4}
    said = relay.verb("verify")
    assert "0 missing" in said.stdout and "1 skipped" in said.stdout


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.long
def test_p3_p8_parked_events_are_released(make, database, outbox, kafka,
                                          topics, guarantee):
    sections = once(topics) if guarantee == "exactly_once" else {}
    relay = make(on_error={"headers_unreadable": "park"}, **sections).run()
    outbox.insert("order", "k", "1", headers=_BAD)
    outbox.insert("order", "k", "2")
    database.wait_confirmed(database.name)
    relay.stop()
    _rename(database)
    _tables(relay, ["public.outbox"], columns={"headers": None})
    relay.run()
    outbox.insert("order", "k", "3", table="events")
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [], "it waits behind the others"
    said = relay.verb("parked", "release", "--all", *_WHY)
    assert said.returncode == 0, said.stdout + said.stderr
    wait_until(lambda: _values(kafka, topics) == [1, 2, 3], relay.log)


@pytest.mark.parametrize("store", ["kafka", "postgres"])
@pytest.mark.long
def test_p8_dead_letters_are_retried(make, database, outbox, kafka, topics,
                                     store):
    letters = {"store": store}
    if store == "kafka":
        letters["topic"] = topics + "dead"
    relay = make(on_error={"headers_unreadable": "dead_letter"},
                 dead_letter=letters).run()
    outbox.insert("order", "k", "1", headers=_BAD)
    outbox.insert("order", "l", "2", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    said = relay.verb("dead-letters", "discard", "--key", "l", *_WHY)
    assert said.returncode == 0, said.stderr
    _rename(database)
    _tables(relay, columns={"headers": None})
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)
    assert "formerly: [public.outbox]" in said.stdout + said.stderr
    _tables(relay, ["public.outbox"], columns={"headers": None})
    relay.run()
    said = relay.verb("replay", "--from-table", "--missing", "--dry-run")
    assert "1 that an operator has discarded" in said.stdout, said.stdout
    assert "1 that have a dead letter" in said.stdout
    said = relay.verb("dead-letters", "retry", "--all", "--out-of-order", *_WHY)
    assert said.returncode == 0, said.stdout + said.stderr
    wait_until(lambda: _values(kafka, topics) == [1], relay.log)


@pytest.mark.long
def test_a_claim_check_has_the_name_of_today(make, database, outbox, kafka,
                                             topics):
    relay = make().run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    relay.stop()
    _rename(database)
    _tables(relay, ["public.outbox"], claim_check_above="64KiB")
    relay.run()
    outbox.insert("large", "k", json.dumps("x" * 100_000), table="events")
    database.wait_confirmed(database.name)
    record, = KafkaReader(kafka.bootstrap).read(topics + "large")
    header, = (value for name, value in record.headers
               if name == "walpost-claim-check")
    assert b"public.events" in header or b"public.events" in record.value
