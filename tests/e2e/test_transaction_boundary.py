"""delivery.transaction_boundary: source. A transaction of Postgres is whole in
one Kafka transaction, up to a limit."""

import collections
import secrets
import time

import pytest

from harness import KafkaReader
from harness.exactly_once import once


def _sections(topics, **delivery):
    return once(topics, transaction_boundary="source", **delivery)


_WIDE = """
insert into outbox (aggregate_type, aggregate_id, type, payload, sequence)
select (array['order', 'invoice', 'shipment'])[1 + n % 3], 'key-' || {0} || n,
       'batch', to_jsonb({0}), {0}
from generate_series(1, {1}) n
"""


def _parts(kafka, topics):
    """Committed records by the transaction of Postgres that they belong to."""
    return collections.Counter(
        record.value for record in KafkaReader(kafka.bootstrap).read_all(topics))


def test_source_transactions_are_whole_whenever_walpost_is_killed(
        walpost, database, kafka, outbox, topics, dice):
    sections = _sections(topics, transaction_interval="5ms",
                         max_in_flight_records=50)
    relay = walpost(database, kafka, topics, **sections).run()
    for number in range(8):
        for batch in range(5):
            database.execute(_WIDE.format(10 * number + batch, 400))
        time.sleep(0.1 * dice.random())
        relay.kill()
        parts = _parts(kafka, topics)
        assert set(parts.values()) <= {400}, parts
        relay.run(60)
    database.wait_confirmed(relay.slot)
    parts = _parts(kafka, topics)
    assert len(parts) == 40 and set(parts.values()) == {400}, parts


@pytest.mark.long
def test_a_source_transaction_beyond_a_limit_is_split(
        walpost, database, kafka, outbox, topics):
    sections = _sections(topics, max_transaction_records=1000)
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute(_WIDE.format(1, 5000))
    database.wait_confirmed(relay.slot)
    assert _parts(kafka, topics) == {b"1": 5000}
    assert relay.metric("walpost_split_transactions_total") >= 1
    assert "in several Kafka transactions" in relay.log()


@pytest.mark.long
def test_a_source_transaction_beyond_a_limit_stops_the_flow(
        walpost, database, kafka, outbox, topics):
    sections = _sections(topics, max_transaction_records=1000,
                         on_large_transaction="stop")
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute(_WIDE.format(1, 10))
    database.wait_confirmed(relay.slot)
    database.execute(_WIDE.format(2, 5000))
    end = database.current_lsn()
    relay.wait_unready("delivery.on_large_transaction")
    rewinds = relay.metric("walpost_rewinds_total")
    for _ in range(20):  # it stays so, and is not tried again and again
        time.sleep(0.1)
        code, text = relay.get("/readyz")
        assert code == 503 and "delivery.on_large_transaction" in text
    assert relay.metric("walpost_rewinds_total") == rewinds
    assert _parts(kafka, topics) == {b"1": 10}
    assert database.confirmed_lsn(relay.slot) < end
    relay.stop()
    relay.configure({**relay.config, "delivery": {
        **relay.config["delivery"], "on_large_transaction": "split"}})
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _parts(kafka, topics) == {b"1": 10, b"2": 5000}


@pytest.mark.parametrize("action", ["skip", "dead_letter"])
@pytest.mark.long
def test_p8_the_brokers_refuse_two_events_of_a_transaction(
        walpost, database, kafka, outbox, topics, action):
    """Each ends the whole Kafka transaction. The first one is known after that."""
    kafka.create_topic(topics + "order", 1, max_message_bytes=5000)
    relay = walpost(database, kafka, topics, **_sections(topics),
                    on_error={"record_too_large": action},
                    dead_letter={"topic": f"letters-{topics}",
                                 "payload": "cut"}).run()
    wide = '"' + secrets.token_hex(5000) + '"'
    with database.transaction() as cursor:
        for number in range(5):
            outbox.insert("order", f"key-{number}",
                          wide if number in (1, 3) else "1", cursor=cursor)
    database.wait_confirmed(relay.slot)
    reader = KafkaReader(kafka.bootstrap)
    assert len(reader.read(topics + "order")) == 3
    counter = {"skip": "walpost_skipped_events_total",
               "dead_letter": "walpost_dead_letters_total"}[action]
    assert relay.metric(f'{counter}{{class="record_too_large"}}') == 2
    if action == "dead_letter":
        assert len(reader.read(f"letters-{topics}")) == 2
