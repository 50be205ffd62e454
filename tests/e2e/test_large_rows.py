"""Rows of several MB: memory does not depend on how many there are, even behind
small ones."""

import json

import pytest

from harness import Kafka, KafkaReader
from harness.matrix import LONG, long_only
from harness.polled import EVENTS, PolledOutbox, events_sections
from harness.waiting import wait_until

_SMALL = 3_000
_LARGE = 60 if LONG else 20
_LARGE_BYTES = 8 << 20
# The window and three of these rows, and what walpost needs without any.
_MOST_MEMORY = (32 + 3 * 8 + 30) << 20


def _fill(database, table):
    """Small rows, then large ones, which go as claim checks."""
    database.execute(
        f"insert into {table} (aggregate_type, aggregate_id, payload) "
        "select 'order', 'a' || n %% 7, '{}' from generate_series(1, %s) n",
        (_SMALL,))
    database.execute(
        f"insert into {table} (aggregate_type, aggregate_id, payload) "
        "select 'order', 'a' || n %% 7, to_json(repeat('x', %s)) "
        "from generate_series(1, %s) n", (_LARGE_BYTES, _LARGE))


def _with_claim_checks(sections):
    sections["outbox"]["tables"][0]["claim_check_above"] = 100_000
    return sections


def _assert_delivered(kafka, topics, peak):
    records = KafkaReader(kafka.bootstrap).read_all(topics)
    claims = [json.loads(record.header("walpost-claim-check"))
              for record in records
              if "walpost-claim-check" in dict(record.headers)]
    assert len({record.id for record in records}) == _SMALL + _LARGE
    assert [claim["bytes"] for claim in claims] \
        == [_LARGE_BYTES + 2] * len(claims)
    assert len({claim["id"] for claim in claims}) == _LARGE
    assert peak < _MOST_MEMORY, f"{peak >> 20} MiB resident"


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["lease", "lock", "cursor"])
def test_p6_large_rows_are_polled(walpost, database, kafka, topics, strategy):
    if strategy == "cursor":
        database.execute(EVENTS)
        table, sections = "events", events_sections()
    else:
        polled = PolledOutbox(database)
        database.execute(
            "alter table outbox drop constraint outbox_payload_check")
        table, sections = "outbox", polled.sections(lease="30s")
        if strategy == "lock":
            state = sections["outbox"]["tables"][0]["state"]
            sections["outbox"]["tables"][0]["state"] = {
                **state, "locked_until": ""}
    _fill(database, table)
    relay = walpost(database, kafka, topics, **_with_claim_checks(sections))
    relay.run()
    wait_until(lambda: relay.metric("walpost_claim_checks_total") >= _LARGE
               and relay.metric("walpost_in_flight_records") == 0,
               lambda: relay.log(), 120)
    relay.stop()
    _assert_delivered(kafka, topics, relay.peak_memory_bytes())


@pytest.mark.long
def test_p6_large_rows_are_in_a_snapshot(walpost, database, kafka, outbox,
                                         topics):
    _fill(database, "outbox")
    relay = walpost(database, kafka, topics, snapshot="initial", outbox={
        "tables": [{"name": "public.outbox", "order_by": "sequence",
                    "claim_check_above": 100_000}]}).run(120)
    database.wait_confirmed(database.name, seconds=120)
    _assert_delivered(kafka, topics, relay.peak_memory_bytes())


@pytest.mark.parametrize("guarantee", ["exactly_once", *long_only(
    "at_least_once")])
def test_p6_large_rows_are_in_the_stream(walpost, database, directory, outbox,
                                         topics, guarantee):
    """Sent whole: a backlog of one transaction."""
    limit = 10 << 20
    broker = Kafka(directory / "kafka", properties={
        "message.max.bytes": limit, "replica.fetch.max.bytes": limit}).start()
    try:
        relay = walpost(database, broker, topics,
                        kafka={"properties": {"message.max.bytes": str(limit)}},
                        delivery={"guarantee": guarantee}).run()
        relay.stop()
        _fill(database, "outbox")
        relay.run()
        database.wait_confirmed(database.name, seconds=120)
        assert relay.metric("walpost_acknowledged_records_total") \
            == _SMALL + _LARGE
        assert relay.stop() == 0
        peak = relay.peak_memory_bytes()
        assert peak < _MOST_MEMORY, f"{peak >> 20} MiB resident"
    finally:
        broker.close()
