"""A checkpoint amid a transaction, and what counts as an event changes."""

import pytest

from harness import KafkaReader, wait_until

_ROWS = 20000  # of each table
_BOTH = [{"name": "public.outbox"}, {"name": "public.more"}]


@pytest.fixture
def checkpoint(request, directory):
    return {"store": getattr(request, "param", "file"), "interval": "50ms",
            "path": str(directory / "checkpoint")}


def _killed_amid(walpost, database, kafka, topics, checkpoint, first):
    """Runs with outbox `first` until it has a checkpoint in the transaction's middle.

    The transaction has a row of `outbox`, a row of `more` and a message in
    turn; the relay is killed before it is through.
    """
    database.execute("create table more (like outbox including all)")
    database.execute("create publication walpost for table outbox, more "
                     "with (publish = 'insert')")
    relay = walpost(database, kafka, topics, checkpoint=checkpoint,
                    delivery={"max_in_flight_records": 100}, outbox=first).run()
    database.execute(f"""
        do $$ begin for n in 1..{_ROWS} loop
          insert into outbox (aggregate_type, aggregate_id, payload, sequence)
            values ('order', 'key-' || n % 10, to_jsonb(n), n);
          insert into more (aggregate_type, aggregate_id, payload)
            values ('more', 'key-' || n % 10, to_jsonb(n));
          perform pg_logical_emit_message(true, 'outbox',
            '{{"aggregate_type": "message", "payload": null, "id": "' || n ||
            '"}}');
        end loop; end $$""")
    end = database.current_lsn()
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total")
               > _ROWS / 4, "a quarter of the records", pause=0.01)
    wait_until(lambda: '"checkpoint_position": "0/0/0"' not in
               relay.get("/status")[1], "a checkpoint", pause=0.01)
    relay.kill()
    assert database.confirmed_lsn(database.name) < end, "it came too late"
    return relay


def _numbers(kafka, topic, begins=None):
    """Of the records from these offsets on, by partition."""
    return sorted(int(record.value)
                  for record in KafkaReader(kafka.bootstrap).read(topic)
                  if record.offset >= (begins or {}).get(record.partition, 0))


@pytest.mark.parametrize("checkpoint, first, then", [
    ("file", {"tables": _BOTH}, {"tables": _BOTH[:1]}),
    ("file", {"tables": _BOTH[:1]}, {"tables": _BOTH}),
    ("file", {"tables": _BOTH[:1], "messages": {"prefix": "outbox"}},
     {"tables": _BOTH[:1]}),
    # It does not let itself be overwritten by an earlier position.
    ("postgres", {"tables": _BOTH}, {"tables": _BOTH[:1]}),
], ids=["a table less", "a table more", "no messages any more", "in a table"],
    indirect=["checkpoint"])
@pytest.mark.long
def test_p1_the_whole_transaction_is_sent_again(
        walpost, database, kafka, outbox, topics, checkpoint, first, then):
    _killed_amid(walpost, database, kafka, topics, checkpoint, first)
    ends = KafkaReader(kafka.bootstrap).ends(topics + "order")
    assert 0 < sum(ends.values()) < _ROWS
    relay = walpost(database, kafka, topics, checkpoint=checkpoint,
                    outbox=then).run()
    relay.wait_log("that transaction is sent again as a whole")
    database.wait_confirmed(database.name, seconds=120)
    assert _numbers(kafka, topics + "order", ends) == list(range(1, _ROWS + 1))
    if len(then["tables"]) == 2:
        assert _numbers(kafka, topics + "more") == list(range(1, _ROWS + 1))
    # What the new configuration stores is good for its own restart.
    outbox.insert("order", "key", "0")
    database.wait_confirmed(database.name)
    relay.kill()
    relay.run()
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    relay.run()
    assert "sent again" not in relay.log()
    again = sum(KafkaReader(kafka.bootstrap).ends(topics + "order").values())
    assert again <= sum(ends.values()) + _ROWS + 2


@pytest.mark.long
def test_p5_a_changed_publication_or_mapping_changes_no_ordinal(
        walpost, database, kafka, outbox, topics, checkpoint):
    """The server decodes with the publication of then."""
    assert outbox
    _killed_amid(walpost, database, kafka, topics, checkpoint,
                 {"tables": _BOTH})
    before = len(_numbers(kafka, topics + "order"))
    database.execute("create table third (n integer)")
    database.execute("alter publication walpost add table third")
    relay = walpost(database, kafka, topics, checkpoint=checkpoint,
                    outbox={"tables": list(reversed(_BOTH))},
                    value={"format": "raw"}).run()
    database.wait_confirmed(database.name, seconds=120)
    assert "sent again" not in relay.log()
    for topic in ("order", "more"):
        found = _numbers(kafka, topics + topic)
        assert sorted(set(found)) == list(range(1, _ROWS + 1))
        assert len(found) < _ROWS + before
