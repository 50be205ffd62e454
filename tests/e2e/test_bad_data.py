"""A row that cannot be delivered stops the stream before it, loudly (P8)."""

import json
import re
import secrets

import pytest

from harness import Checker

_POSITION = re.compile(r"\b[0-9A-F]+/[0-9A-F]+\b|[0-9A-F]{8}-[0-9A-F]{16}")
_LIMIT = 1048576  # about what Kafka takes unless told otherwise


def _wide(size):
    return '"' + "x" * size + '"'


@pytest.mark.parametrize("own", ["checkpoint", "dead_letter"])
@pytest.mark.long
def test_p8_an_event_for_a_topic_of_ours(walpost, database, kafka, outbox,
                                         topics, own):
    """It could pass for a checkpoint, or for a letter."""
    relay = walpost(database, kafka, topics, route={"topic": "{aggregate_type}"},
                    checkpoint={"store": "kafka", "topic": f"{topics}checkpoint"},
                    dead_letter={"topic": f"{topics}dead_letter"}).run()
    outbox.insert(topics + own, f"{database.name}@1")
    assert f"topic {topics}{own} is not for events" in relay.wait_unready()


@pytest.mark.parametrize("row, code, words", [
    ({"aggregate_type": None}, "topic_field_missing", ("is NULL",)),
    ({"aggregate_type": ""}, "topic_field_missing", ("is empty",)),
    ({"aggregate_type": "not legal!"}, "topic_illegal", ("not legal!",)),
    ({"aggregate_type": "x" * 250}, "topic_illegal", ("topic",)),
    ({"aggregate_type": "order", "payload": _wide(2 * _LIMIT)},
     "record_too_large", ("order", "max.message.bytes")),
    ({"aggregate_type": "order", "headers": "[1]"}, "headers_unreadable",
     ("headers",)),
], ids=["no type", "empty type", "illegal topic", "topic too long",
        "value too large", "headers are no object"])
@pytest.mark.sample(2)
def test_p8_row_that_cannot_be_delivered(walpost, database, kafka, outbox,
                                         reader, topics, row, code, words):
    database.execute(
        "alter table outbox alter aggregate_type drop not null")
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "before")
    database.wait_confirmed(database.name)
    with database.transaction() as cursor:
        outbox.insert("order", "same transaction", cursor=cursor)
        bad_id = outbox.insert(cursor=cursor, **row)
        limit = database.lsn_before_commit(cursor)
    outbox.insert("order", "after")

    reason = relay.wait_unready()
    assert relay.get("/healthz")[0] == 200
    status = json.loads(relay.get("/status")[1])
    assert status["stopped_reason_code"] == code
    assert status["stopped_event_id"] == bad_id
    assert status["stopped_table"] == "public.outbox"
    assert " of table public.outbox " in reason
    assert _POSITION.search(status["stopped_position"])
    assert f'walpost_stopped{{reason_code="{code}"}} 1' in (
        relay.get("/metrics")[1])
    said = (reason + "\n" + relay.log()).splitlines()
    assert any(_POSITION.search(line) and all(word in line for word in words)
               for line in said), said
    assert "after" not in {r.key.decode() for r in reader.read_all(topics)}
    assert database.confirmed_lsn(database.name) <= limit
    assert relay.stop() == 0
    assert database.confirmed_lsn(database.name) <= limit

    # The same after a restart: neither forgotten nor skipped.
    relay.start()
    relay.wait_unready()
    assert database.confirmed_lsn(database.name) <= limit
    keys = [r.key.decode() for r in reader.read_all(topics)]
    assert set(keys) <= {"before", "same transaction"}
    assert keys.count("before") == 1


@pytest.mark.long
def test_p8_topic_with_a_lower_limit_than_the_broker(
        walpost, database, kafka, outbox, reader, topics):
    kafka.create_topic(topics + "order", 1, max_message_bytes=5000)
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "o", _wide(1000), sequence=1)
    database.wait_confirmed(database.name)
    with database.transaction() as cursor:
        # Bytes that no compression makes smaller than the limit.
        outbox.insert("order", "o", f'"{secrets.token_hex(10000)}"', cursor,
                      sequence=2)
        limit = database.lsn_before_commit(cursor)
    outbox.insert("order", "o", _wide(1000), sequence=3)
    relay.wait_unready()
    assert relay.running()
    assert len(reader.read_all(topics)) == 1
    assert database.confirmed_lsn(database.name) <= limit


@pytest.mark.long
def test_large_values_within_the_limit_go_through(walpost, database, kafka,
                                                  outbox, reader, topics):
    walpost(database, kafka, topics).run()
    for sequence in range(20):
        outbox.insert("order", "o", _wide(_LIMIT - 2000), sequence=sequence)
    database.wait_confirmed(database.name)
    Checker(outbox.expected(), reader.read_all(topics)).assert_clean()


@pytest.mark.long
def test_p8_a_batch_over_the_topics_limit_is_sent_one_by_one(
        walpost, database, kafka, outbox, reader, topics):
    """Each record is within the limit; the broker takes it for the batch's."""
    kafka.create_topic(topics + "order", 1, max_message_bytes=5000)
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    # In one transaction: also a machine under load sends them in one go.
    with database.transaction() as cursor:
        for sequence in range(100):
            outbox.insert("order", "o", _wide(1000), cursor,
                          sequence=sequence)
    relay.run()
    database.wait_confirmed(database.name)
    Checker(outbox.expected(), reader.read_all(topics)).assert_clean()
    assert relay.metric("walpost_rewinds_total") >= 1, "there was no batch"


@pytest.mark.long
def test_p8_of_a_batch_the_record_that_is_refused_is_named(
        walpost, database, kafka, outbox, reader, topics):
    kafka.create_topic(topics + "order", 1, max_message_bytes=5000)
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    good = [outbox.insert("order", "o", "1", sequence=n) for n in range(10)]
    bad = outbox.insert("order", "o", f'"{secrets.token_hex(10000)}"',
                        sequence=10)
    outbox.insert("order", "o", "2", sequence=11)
    relay.start()
    relay.wait_unready("record_too_large", 60)
    assert json.loads(relay.get("/status")[1])["stopped_event_id"] == bad
    assert [record.id for record in reader.read_all(topics)] == good
