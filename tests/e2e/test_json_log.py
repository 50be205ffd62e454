"""`log.format: json`: the fields of a line, for whoever searches and counts."""

import json
import time

import pytest

from harness import wait_until
from harness.polled import PolledOutbox


def _lines(relay, **fields):
    """Those that have these fields."""
    whole, _, _ = relay.log().rpartition("\n")
    lines = [json.loads(line) for line in whole.splitlines()]
    return [line for line in lines if fields.items() <= line.items()]


@pytest.fixture
def relay_of(walpost, database, kafka, topics):
    def make(log, **sections):
        return walpost(database, kafka, topics, log={"format": "json"} | log,
                       **sections).run()

    return make


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.sample(2)
def test_an_event_that_stops_the_flow(relay_of, outbox, keys):
    """Named by its fields; its key, which may be a person's, if configured."""
    relay = relay_of({"keys": keys})
    event = outbox.insert("not legal!", "anna@example.org")
    relay.wait_unready("is not a legal topic name|not legal", 30)
    wait_until(lambda: _lines(relay, event_id=event), "a line about the event")
    line, = _lines(relay, event_id=event)
    assert line["level"] == "error"
    assert line["reason_code"] == "topic_illegal"
    assert line["slot"] == relay.slot
    assert line["position"] in line["message"], line
    assert line["table"] == "public.outbox"
    assert line.get("key") == ("anna@example.org" if keys else None)


@pytest.mark.long
def test_events_that_are_left_out(relay_of, outbox):
    """One template for all of them, to count by."""
    relay = relay_of({}, on_error={"topic_illegal": "skip"})
    events = {outbox.insert("not legal!", str(i)) for i in range(3)}
    wait_until(lambda: len(_lines(relay, reason_code="topic_illegal")) >= 3,
               "a line for each event")
    lines = _lines(relay, reason_code="topic_illegal")
    assert {line["event_id"] for line in lines} == events
    assert {line["table"] for line in lines} == {"public.outbox"}
    assert len({line["template"] for line in lines}) == 1
    assert len({line["message"] for line in lines}) == 3
    assert len({line["position"] for line in lines}) == 3


@pytest.mark.long
def test_a_missing_topic(walpost, database, outbox, topics, strict_kafka):
    strict_kafka.create_topic(topics + "order", 1)
    relay = walpost(database, strict_kafka, topics,
                    log={"format": "json"}).run()
    outbox.insert("missing", "order-2")
    wait_until(lambda: _lines(relay, topic=topics + "missing"),
               "a line about the topic", 60)


@pytest.mark.long
def test_a_missing_topic_is_named_all_the_time(walpost, database, outbox, topics,
                                               strict_kafka):
    """Also while the producer is replaced, each time that it gives up."""
    relay = walpost(database, strict_kafka, topics,
                    log={"format": "json"}).run()
    outbox.insert("missing", "order-2")
    relay.wait_unready(topics + "missing", 60)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        code, text = relay.get("/readyz")
        assert code == 503 and topics + "missing" in text, text
        time.sleep(0.2)
    strict_kafka.create_topic(topics + "missing", 1)
    relay.wait_ready(60)


@pytest.mark.long
def test_a_row_that_cannot_be_polled(walpost, database, kafka, topics):
    outbox = PolledOutbox(database)
    relay = walpost(database, kafka, topics, log={"format": "json"},
                    **outbox.sections(max_attempts=1)).run()
    wait_until(lambda: _lines(relay, table="public.outbox"),
               "a line about the table")
    outbox.insert(1, aggregate_type="not legal!")
    event, = database.execute("select id::text from outbox")[0]
    wait_until(lambda: _lines(relay, event_id=event),
               lambda: "a line about the row: " + relay.log())
    line = _lines(relay, event_id=event)[0]
    assert line["table"] == "public.outbox" and "slot" not in line, line


def test_a_denied_right_is_one_line_per_minute(walpost, database, outbox, topics,
                                               guarded):
    """However often it is tried; and what is back is said at once."""
    relay = walpost(database, guarded, topics, kafka=guarded.login(),
                    log={"format": "json"})
    assert relay.verb("init").returncode == 0
    relay.start()
    time.sleep(12)  # some eight attempts
    denied = [line for line in _lines(relay)
              if "AUTHORIZATION" in line["message"]]
    assert [line["level"] for line in denied].count("warn") == 1, denied
    assert {line["level"] for line in denied} == {"warn", "error"}, denied
    assert len(denied) <= 3, denied  # the state may change once in between
    streaming = [line for line in _lines(relay)
                 if line["message"].startswith("streaming from")]
    assert len(streaming) <= 2, streaming
    for operation in ("WRITE", "CREATE", "DESCRIBE"):
        guarded.grant("--allow-principal", "User:walpost", "--operation",
                      operation, "--topic", topics,
                      "--resource-pattern-type", "prefixed")
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    relay.wait_ready()
    before = len(relay.log())
    database.execute("select pg_terminate_backend(active_pid) from "
                     "pg_replication_slots where slot_name = %s", (relay.slot,))
    wait_until(lambda: "streaming from slot" in relay.log()[before:],
               "the stream after another trouble", 30)
