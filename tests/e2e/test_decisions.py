"""walpost skip and dead-letter: the way past the event that stops the flow (P8)."""

import json

import pytest

from harness import KafkaReader, wait_until


@pytest.fixture
def stopped(walpost, database, kafka, outbox, topics):
    """A relay, and the id of the event that it has stopped before."""
    relay = walpost(database, kafka, topics,
                    dead_letter={"topic": topics + "dead"}).run()
    outbox.insert("order", "k", "1")
    event = outbox.insert("not legal!", "k", "2")
    outbox.insert("order", "k", "3")
    relay.wait_unready("topic")
    return relay, event


def _position(relay):
    return json.loads(relay.get("/status")[1])["stopped_position"]


def _values(kafka, topics, topic):
    return [record.value for record in
            KafkaReader(kafka.bootstrap).read(topics + topic)]


def _comment(database):
    return database.value("select obj_description(oid, 'pg_publication') "
                          "from pg_publication where pubname = 'walpost'")


def test_p8_the_stopped_event_is_skipped(stopped, database, kafka, topics):
    relay, event = stopped
    position = _position(relay)
    shown = relay.verb("status").stdout
    assert position in shown and event in shown
    said = relay.verb("skip", position, "--why", "a test row", "--by", "alice")
    assert said.returncode == 0, said.stderr
    assert position in said.stdout
    relay.wait_ready()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics, "order") == [b"1", b"3"]
    assert relay.metric(
        'walpost_skipped_events_total{class="topic_illegal"}') == 1
    assert any("alice" in line and "a test row" in line and position in line
               for line in relay.log().splitlines())
    record, = (line for line in _comment(database).splitlines()
               if "by=alice" in line)
    assert f" skip {position} of system " in record
    assert record.endswith("why=a test row")
    # Neither it nor the decision comes again.
    relay.stop()
    relay.run()
    assert _values(kafka, topics, "order") == [b"1", b"3"]


def test_p8_the_stopped_event_gets_a_dead_letter(stopped, database, kafka,
                                                 topics):
    relay, event = stopped
    said = relay.verb("dead-letter", _position(relay), "--why", "by hand")
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)
    letter, = KafkaReader(kafka.bootstrap).read(topics + "dead")
    assert letter.id == event and letter.value == b"2"
    assert _values(kafka, topics, "order") == [b"1", b"3"]


@pytest.mark.long
def test_another_event_is_not_decided_about(stopped, database, kafka, topics):
    relay, _ = stopped
    lsn, _, ordinal = _position(relay).rpartition("/")
    comment = _comment(database)
    for verb in ("skip", "dead-letter"):
        said = relay.verb(verb, f"{lsn}/{int(ordinal) + 1}", "--why", "x")
        assert said.returncode == 1, said.stdout
        assert _position(relay) in said.stderr
    for words in (["0/1"], ["x"], []):
        said = relay.verb("skip", *words, "--why", "x")
        assert said.returncode == 2, said.stdout
    assert relay.verb("skip", _position(relay)).returncode == 2, "no reason"
    assert _comment(database) == comment
    assert relay.get("/readyz")[0] == 503
    assert _values(kafka, topics, "order") == [b"1"]


@pytest.mark.long
def test_a_flow_that_is_not_stopped_has_nothing_to_decide(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    said = relay.verb("skip", "0/1000000/1", "--why", "x")
    assert said.returncode == 1 and "nothing to decide" in said.stderr
    # Not running: the slot knows that the event was dealt with.
    relay.stop()
    said = relay.verb("skip", "0/1000000/1", "--why", "x")
    assert said.returncode == 3 and "dealt with" in said.stderr


@pytest.mark.long
def test_a_decision_is_obeyed_at_the_next_start(stopped, database, kafka,
                                                topics):
    relay, _ = stopped
    position = _position(relay)
    relay.kill()
    said = relay.verb("skip", position, "--why", "at night")
    assert said.returncode == 0, said.stderr
    assert "on record" in said.stdout
    relay.start()
    database.wait_confirmed(database.name)
    relay.wait_ready()
    assert _values(kafka, topics, "order")[-1] == b"3"
    assert b"2" not in _values(kafka, topics, "order")


@pytest.mark.long
def test_a_decision_about_another_event_is_not_obeyed(stopped, database, kafka,
                                                      topics):
    relay, _ = stopped
    lsn, _, ordinal = _position(relay).rpartition("/")
    relay.kill()
    said = relay.verb("skip", f"{lsn}/{int(ordinal) + 1}", "--why", "mistyped")
    assert said.returncode == 1 and "has no event at" in said.stderr, said
    # The next event is there, but the flow does not stop before it.
    commit = database.value(
        "select encode(substring(data from 2 for 8), 'hex') from "
        "pg_logical_slot_peek_binary_changes(%s, null, null, 'proto_version', "
        "'1', 'publication_names', 'walpost') where get_byte(data, 0) = "
        "ascii('B') order by 1 desc limit 1", (relay.slot,))
    said = relay.verb("skip", f"{commit[:8]}/{commit[8:]}/1", "--why", "x")
    assert said.returncode == 0, said.stderr
    relay.start()
    relay.wait_unready("topic")
    reported = relay.metric("walpost_in_state_seconds")
    wait_until(lambda: relay.metric("walpost_in_state_seconds") > reported + 4,
               "two reports of the side session")
    assert b"3" not in _values(kafka, topics, "order")
    said = relay.verb("skip", "--set", "log.level=info", _position(relay),
                      "--why", "this one")
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)
    assert _values(kafka, topics, "order")[-1] == b"3"


@pytest.mark.long
def test_who_does_not_own_the_publication_gets_the_sql(stopped, database,
                                                       kafka, topics):
    relay, _ = stopped
    role = "decider_" + database.name
    database.execute(f"create role {role} login replication; "
                     f"grant select on outbox to {role}")
    config = relay.config
    relay.configure({**config, "postgres": {
        **config["postgres"], "conninfo": database.conninfo(user=role)}})
    said = relay.verb("skip", _position(relay), "--why", "it's late")
    assert said.returncode == 3, said.stdout
    sql = said.stderr[said.stderr.index("COMMENT ON PUBLICATION"):].strip()
    assert relay.get("/readyz")[0] == 503
    database.execute(sql.rstrip(";").replace("%", "%%"))
    database.wait_confirmed(database.name)
    assert _values(kafka, topics, "order") == [b"1", b"3"]


@pytest.mark.long
def test_a_polling_walpost_has_no_such_event(walpost, database, kafka, outbox,
                                             topics):
    assert outbox
    relay = walpost(database, kafka, topics, source="polling",
                    polling={"strategy": "delete"})
    said = relay.verb("skip", "0/1000000/1", "--why", "x")
    assert said.returncode == 2 and "source: wal" in said.stderr
