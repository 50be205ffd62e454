"""`claim_check_above`: large payloads stay in their rows, in every way to Kafka."""

import hashlib
import json
import secrets

import pytest

from harness import KafkaReader
from harness.polled import PolledOutbox
from harness.waiting import wait_until

_ABOVE = 10_000
_TABLES = {"outbox": {"tables": [{"name": "public.outbox",
                                  "claim_check_above": _ABOVE}]}}


def _large(megabytes=3):
    """More than the brokers accept in a record."""
    return json.dumps(secrets.token_hex(int(megabytes * 500_000)))


def _check_redeemable(database, record):
    """A consumer finds the payload by what the record says."""
    assert record.value == b""
    claim = json.loads(record.header("walpost-claim-check"))
    payload, = database.execute(
        f"select payload::text from {claim['table']} where id::text = %s",
        (claim["id"],))[0]
    assert claim["id"] == record.id
    assert claim["bytes"] == len(payload.encode())
    assert claim["sha256"] == hashlib.sha256(payload.encode()).hexdigest()


def _has_claim_check(record):
    return "walpost-claim-check" in dict(record.headers)


def _records(kafka, topics):
    return sorted(KafkaReader(kafka.bootstrap).read_all(topics),
                  key=lambda record: (record.topic, record.partition,
                                      record.offset))


def _verify(relay):
    said = relay.verb("verify", "--json")
    return said.returncode, {
        kind: found["count"]
        for kind, found in json.loads(said.stdout)["findings"].items()
        if found["count"]}


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """It has published a small event, a large one and a small one of one key."""
    kafka.create_topic(topics + "order", 1)
    made = walpost(database, kafka, topics, **_TABLES).run()
    for sequence, payload in enumerate(["1", _large(), "2"]):
        outbox.insert("order", "k1", payload, sequence=sequence)
    database.wait_confirmed(database.name)
    return made


def test_a_large_event_keeps_its_place(relay, database, kafka, topics):
    first, large, last = _records(kafka, topics)
    assert (first.value, last.value) == (b"1", b"2")
    assert {record.key for record in (first, large, last)} == {b"k1"}
    _check_redeemable(database, large)
    assert not _has_claim_check(first) and not _has_claim_check(last)
    assert relay.metric("walpost_claim_checks_total") == 1


@pytest.mark.long
def test_the_limit_itself_is_sent_whole(walpost, database, kafka, outbox,
                                        topics):
    walpost(database, kafka, topics, **_TABLES).run()
    whole = json.dumps("x" * (_ABOVE - 2))
    outbox.insert("order", "k1", whole)
    outbox.insert("order", "k1", json.dumps("x" * (_ABOVE - 1)))
    database.wait_confirmed(database.name)
    exact, larger = _records(kafka, topics)
    assert exact.value == whole.encode()
    _check_redeemable(database, larger)


def test_verify_compares_the_digest(relay, database):
    assert _verify(relay) == (0, {})
    database.execute("update outbox set payload = '\"other\"' "
                     "where length(payload::text) > 1000")
    code, counts = _verify(relay)
    assert code != 0 and counts == {"altered": 1}


@pytest.mark.long
def test_recover_knows_it_and_sends_what_is_missing(
        relay, database, kafka, outbox, topics):
    relay.stop()
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    outbox.insert("order", "k2", _large(), sequence=3)
    relay.start()
    relay.wait_unready("walpost recover")
    relay.stop()
    said = relay.verb("recover", "--order-by", "sequence")
    assert said.returncode == 0, said.stderr
    records = _records(kafka, topics)
    assert [record.key for record in records] == [b"k1", b"k1", b"k1", b"k2"]
    assert records[-1].is_recovered
    _check_redeemable(database, records[-1])


@pytest.mark.long
def test_rows_that_are_replayed(relay, database, kafka, topics):
    said = relay.verb("replay", "--from-table", "--order-by", "id")
    assert said.returncode == 0, said.stderr
    claims = [record for record in _records(kafka, topics)
              if _has_claim_check(record)]
    assert [record.is_replayed for record in claims] == [False, True]
    for record in claims:
        _check_redeemable(database, record)


@pytest.mark.long
def test_rows_of_a_snapshot(walpost, database, kafka, outbox, topics):
    outbox.insert("order", "k1", _large(), sequence=1)
    tables = {"tables": [{**_TABLES["outbox"]["tables"][0],
                          "order_by": "sequence"}]}
    relay = walpost(database, kafka, topics, snapshot="initial",
                    outbox=tables).run()
    database.wait_confirmed(database.name)
    record, = _records(kafka, topics)
    _check_redeemable(database, record)
    assert _verify(relay) == (0, {})


@pytest.mark.long
def test_polled_rows(walpost, database, kafka, topics):
    polled = PolledOutbox(database)
    database.execute("alter table outbox drop constraint outbox_payload_check")
    sections = polled.sections()
    sections["outbox"]["tables"][0]["claim_check_above"] = _ABOVE
    relay = walpost(database, kafka, topics, **sections).run()
    for payload in (_large(), "1"):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload) "
            "values ('order', 'a1', %s)", (payload,))
    polled.wait_published()
    large, small = _records(kafka, topics)
    assert small.value == b"1"
    _check_redeemable(database, large)
    assert relay.metric("walpost_claim_checks_total") == 1


@pytest.mark.long
def test_a_released_event(walpost, database, kafka, outbox, topics):
    """What was parked whole is in its row, too."""
    relay = walpost(database, kafka, topics, **_TABLES,
                    on_error={"headers_unreadable": "park"}).run()
    outbox.insert("order", "k1", "1", headers="[]")
    outbox.insert("order", "k1", _large())
    database.wait_confirmed(database.name)
    said = relay.verb("parked", "discard", "--all", "--why", "a test")
    assert said.returncode == 0, said.stderr
    wait_until(lambda: _records(kafka, topics), "the event behind it")
    record, = _records(kafka, topics)
    _check_redeemable(database, record)


@pytest.mark.long
def test_p8_without_an_id_it_is_too_large(walpost, database, kafka, topics):
    database.execute(
        "create table outbox (key bigserial primary key, id text, "
        "aggregate_type text, aggregate_id text, payload text)")
    relay = walpost(database, kafka, topics, **_TABLES).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "values ('order', 'k1', %s)", (_large(),))
    relay.wait_unready("record_too_large")


@pytest.mark.long
def test_check_compares_the_limits(walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_ABOVE)
    kafka.create_topic(topics + "wide", 1, max_message_bytes=_ABOVE + 1)
    relay = walpost(database, kafka, topics, **_TABLES)
    said = relay.verb("check").stdout
    assert f"payloads up to {_ABOVE} bytes are sent whole" in said
    assert f"topic {topics}narrow max.message.bytes is {_ABOVE}," in said
    assert f"topic {topics}wide max" not in said
    relay.configure({**relay.config, "outbox": {"tables": [{
        "name": "public.outbox", "claim_check_above": "2MiB"}]}})
    assert "claim_check_above message.max.bytes here is 1048500," in relay.verb("check").stdout


@pytest.mark.parametrize("payload", [
    b"\x00\xff\\x'\"" * 5_000, "é€𝄞'\"\\\n".encode() * 2_000], ids=[
        "bytea", "text"])
@pytest.mark.long
def test_odd_names_ids_and_bytes(walpost, database, kafka, topics, payload):
    kind = "bytea" if b"\x00" in payload else "text"
    database.execute(
        'create table "Out box" (id text, aggregate_type text, '
        f"aggregate_id text, payload {kind})")
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.Out box", "claim_check_above": _ABOVE}]}).run()
    event_id = "a'\"\\\té"
    database.execute(
        "insert into \"Out box\" values (%s, 'order', 'k', %s)",
        (event_id, payload if kind == "bytea" else payload.decode()))
    database.wait_confirmed(database.name)
    record, = _records(kafka, topics)
    assert json.loads(record.header("walpost-claim-check")) == {
        "table": "public.Out box", "id": event_id, "bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest()}
    assert _verify(relay) == (0, {})


@pytest.mark.long
def test_verify_is_clean_after_it_was_switched_on_and_off(
        relay, database, kafka, outbox, topics):
    for above in (0, _ABOVE):
        relay.stop()
        relay.configure({**relay.config, "outbox": {"tables": [{
            "name": "public.outbox", "claim_check_above": above}]}})
        relay.run()
        outbox.insert("order", "k1", _large(megabytes=0.5))
        database.wait_confirmed(database.name)
    assert [_has_claim_check(record) for record in _records(kafka, topics)] == [
        False, True, False, False, True]
    assert _verify(relay) == (0, {})


@pytest.mark.long
def test_a_retried_dead_letter(walpost, database, kafka, outbox, topics):
    kafka.create_topic(topics + "dead", 1, max_message_bytes=5_000_000)
    relay = walpost(database, kafka, topics, **_TABLES,
                    route={"topic": topics + "{type}"},
                    on_error={"topic_field_missing": "dead_letter"},
                    dead_letter={"topic": topics + "dead"}).run()
    outbox.insert("order", "k1", json.dumps("x" * (2 * _ABOVE)))
    database.wait_confirmed(database.name)
    letter, = KafkaReader(kafka.bootstrap).read(topics + "dead")
    assert len(letter.value) > 2 * _ABOVE
    relay.stop()
    relay.configure({**relay.config,
                     "route": {"topic": topics + "{type|default:order}"}})
    said = relay.verb("dead-letters", "retry", "--id", letter.id,
                      "--out-of-order", "--why", "a test")
    assert said.returncode == 0, said.stderr
    record, = KafkaReader(kafka.bootstrap).read(topics + "order")
    _check_redeemable(database, record)


def test_p1_killed_again_and_again(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, **_TABLES).run()
    for number in range(60):
        outbox.insert("order", f"k{number % 3}",
                      _large(megabytes=0.2) if number % 2 else str(number),
                      sequence=number)
        if number % 20 == 10:
            relay.kill()
            relay.run()
    database.wait_confirmed(database.name)
    said = relay.verb("verify", "--json", "--sequence", "sequence")
    assert said.returncode == 0, said.stdout
    claims = [record for record in _records(kafka, topics)
              if _has_claim_check(record)]
    assert len({record.id for record in claims}) == 30
    for record in claims:
        _check_redeemable(database, record)
