"""What is dropped on the way is counted; what is ambiguous is refused."""

import json
import re

import pytest

_EVENT = {"id": "7", "aggregate_type": "order", "aggregate_id": "o-1",
          "payload": {"total": 12}}


def _emit(database, content, prefix="outbox", transactional=True):
    database.execute("select pg_logical_emit_message(%s, %s, %s)",
                     (transactional, prefix,
                      content if isinstance(content, str)
                      else json.dumps(content)))


def _skipped(relay):
    found = re.findall(
        r'^walpost_skipped_changes_total\{kind="(\w+)"\} (\d+)$',
        relay.get("/metrics")[1], re.M)
    return {kind: int(count) for kind, count in found}


def test_what_is_no_event_is_counted(walpost, database, kafka, outbox, reader,
                                     topics):
    database.execute("create table orders (id int primary key)")
    database.execute("create publication walpost for table outbox, orders "
                     "with (publish = 'insert, update, delete, truncate')")
    relay = walpost(database, kafka, topics, outbox={
        "tables": [{"name": "public.outbox"}],
        "messages": {"prefix": "outbox"}}).run()
    _emit(database, _EVENT, transactional=False)
    _emit(database, _EVENT, prefix="another")
    _emit(database, _EVENT, prefix="yet another")
    first = outbox.insert("order", "order-1")
    database.execute("update outbox set type = 'Paid'")
    database.execute("update outbox set id = gen_random_uuid()")
    database.execute("delete from outbox")
    database.execute("truncate outbox")
    database.execute("insert into orders values (1), (2)")
    database.execute("update orders set id = 3 where id = 1")
    database.wait_confirmed(database.name)

    assert [record.id for record in reader.read_all(topics)] == [first]
    assert _skipped(relay) == {
        "update": 1, "key_update": 1, "delete": 1, "truncate": 1,
        "nontransactional_message": 1, "message_of_other_prefix": 2}
    assert relay.metric("walpost_rows_of_other_tables_total") == 3
    status = json.loads(relay.get("/status")[1])
    assert {name: value for name, value in status.items()
            if name.startswith("skipped_")} == {
        "skipped_updates": 1, "skipped_key_updates": 1, "skipped_deletes": 1,
        "skipped_truncates": 1, "skipped_nontransactional_messages": 1,
        "skipped_messages_of_other_prefixes": 2}
    assert status["rows_of_other_tables"] == 3


@pytest.mark.long
def test_an_update_that_is_not_published_is_not_seen(
        walpost, database, kafka, outbox, topics):
    """The publication that walpost makes publishes inserts alone."""
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "order-1")
    database.execute("update outbox set id = gen_random_uuid()")
    database.wait_confirmed(database.name)
    assert set(_skipped(relay).values()) == {0}


@pytest.mark.parametrize("columns, lacking", [
    ({}, {"payload"}), ({"payload": "data"}, {"data"})],
    ids=["payload", "data"])
@pytest.mark.long
def test_p8_a_message_without_payload_stops_the_flow(
        walpost, database, kafka, reader, topics, columns, lacking):
    name, = lacking
    relay = walpost(database, kafka, topics, outbox={
        "messages": {"prefix": "outbox", "columns": columns}}).run()
    event = {key: value for key, value in _EVENT.items() if key != "payload"}
    _emit(database, {**event, "id": "tombstone", name: None})
    database.wait_confirmed(database.name)
    _emit(database, {**event, "id": "no payload", "Payload": {}})
    reason = relay.wait_unready("payload_missing")
    assert f"no member '{name}'" in reason
    status = json.loads(relay.get("/status")[1])
    assert status["stopped_event_id"] == "no payload"
    record, = reader.read_all(topics)
    assert (record.id, record.value) == ("tombstone", None)


@pytest.mark.long
def test_a_message_may_do_without_payload_when_that_is_said(
        walpost, database, kafka, reader, topics):
    walpost(database, kafka, topics, outbox={"messages": {
        "prefix": "outbox", "columns": {"payload": None}}}).run()
    _emit(database, {"aggregate_type": "order", "id": "7"})
    database.wait_confirmed(database.name)
    record, = reader.read_all(topics)
    assert record.value is None


@pytest.mark.long
def test_no_header_of_ours_comes_twice(walpost, database, kafka, outbox, reader,
                                       topics):
    relay = walpost(database, kafka, topics, route={
        "headers": {"eventType": "type"}}).run()
    event_id = outbox.insert("order", "order-1", type="Paid", headers=json.dumps({
        "id": "mine", "eventType": "mine", "walpost-position": "mine",
        "walpost-recovered": "mine", "trace": "t"}))
    database.wait_confirmed(database.name)
    record, = reader.read_all(topics)
    assert len(record.headers) == 8
    headers = dict(record.headers)
    assert len(headers) == 8, "a name comes twice"
    assert headers == {
        "id": event_id.encode(), "headers.id": b"mine",
        "eventType": b"Paid", "headers.eventType": b"mine",
        "walpost-position": record.position.encode(),
        "headers.walpost-position": b"mine",
        "headers.walpost-recovered": b"mine", "trace": b"t"}
    assert record.id == event_id
    assert relay.verb("verify", "--wait", "30").returncode == 0


@pytest.mark.parametrize("headers, name", [
    ('{"a": "1", "b": "2", "a": "3"}', "a"),
    ('{"id": "1", "headers.id": "2"}', "headers.id")])
@pytest.mark.long
def test_p8_a_member_that_comes_twice_stops_the_flow(
        walpost, database, kafka, outbox, topics, headers, name):
    # jsonb would keep the last one.
    database.execute("alter table outbox alter headers type json")
    relay = walpost(database, kafka, topics).run()
    bad = outbox.insert("order", "order-1", headers=headers)
    assert f"'{name}' twice" in relay.wait_unready("headers_unreadable")
    status = json.loads(relay.get("/status")[1])
    assert status["stopped_event_id"] == bad


@pytest.mark.parametrize("sections, words", [
    ({"outbox": {"tables": [{"value": {"columns": ["id", "type", "id"]}}]}},
     "column id is listed twice"),
    ({"route": {"headers": {"id": "event_id"}}}, "outbox.tables.columns.id"),
    ({"route": {"headers": {"walpost-position": "type"}}}, "reserved")],
    ids=["value.columns", "id", "walpost-"])
@pytest.mark.long
def test_a_configuration_that_repeats_a_name_is_refused(
        walpost, database, kafka, topics, sections, words):
    relay = walpost(database, kafka, topics, **sections)
    refused = relay.verb("run")
    assert refused.returncode == 2
    assert words in refused.stderr
