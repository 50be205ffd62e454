"""pg_logical_emit_message as an outbox without a table."""

import json

import pytest

_EVENT = {"id": "7", "aggregate_type": "order", "aggregate_id": "o-1",
          "type": "OrderPlaced", "payload": {"total": 12},
          "headers": {"trace": "t"}}


@pytest.fixture
def emit(database):
    """emit(content): one transactional message with the prefix `outbox`."""
    def emit_message(content, prefix="outbox", cursor=None,
                     transactional=True):
        run = database.execute if cursor is None else cursor.execute
        run("select pg_logical_emit_message(%s, %s, %s)",
            (transactional, prefix,
             content if isinstance(content, (str, bytes))
             else json.dumps(content)))

    return emit_message


def test_json_message_becomes_a_record(walpost, database, kafka, reader,
                                       topics, emit):
    walpost(database, kafka, topics,
            outbox={"messages": {"prefix": "outbox"}}).run()
    emit(_EVENT)
    database.wait_confirmed(database.name)

    record, = reader.read_all(topics)
    assert (record.topic, record.key) == (topics + "order", b"o-1")
    assert json.loads(record.value) == {"total": 12}
    assert record.headers == (("id", b"7"), ("trace", b"t"),
                              ("walpost-position", record.position.encode()))


@pytest.mark.long
def test_members_may_have_other_names(walpost, database, kafka, reader, topics,
                                      emit):
    walpost(database, kafka, topics, outbox={"messages": {
        "prefix": "outbox", "topic": topics + "mapped.{type}",
        "columns": {"id": "eventId", "aggregate_type": {"constant": "order"},
                    "aggregate_id": "key", "type": "kind", "payload": "data",
                    "headers": None}}}).run()
    emit({"eventId": "8", "key": "k", "kind": "Paid", "data": "text",
          "headers": {"not": "mapped"}, "unknown": 1})
    database.wait_confirmed(database.name)

    record, = reader.read_all(topics)
    assert (record.topic, record.key) == (topics + "mapped.Paid", b"k")
    assert record.value == b"text"
    assert [name for name, _ in record.headers] == ["id", "walpost-position"]


@pytest.mark.long
def test_payload_message_is_taken_as_it_is(walpost, database, kafka, reader,
                                           topics, emit):
    walpost(database, kafka, topics, outbox={"messages": {
        "prefix": "outbox", "format": "payload",
        "columns": {"aggregate_type": {"constant": "raw"},
                    "aggregate_id": {"constant": "k"}}}}).run()
    content = b"not { json \x00\xff"
    emit(content)
    database.wait_confirmed(database.name)

    record, = reader.read_all(topics)
    assert (record.topic, record.key) == (topics + "raw", b"k")
    assert record.value == content


def test_p4_only_committed_messages_of_the_prefix(walpost, database, kafka,
                                                  reader, topics, emit):
    walpost(database, kafka, topics,
            outbox={"messages": {"prefix": "outbox"}}).run()
    emit("not for us", prefix="outbox2")
    emit("not for us", prefix="out")
    with pytest.raises(ZeroDivisionError):
        with database.transaction() as cursor:
            emit({**_EVENT, "id": "rolled back"}, cursor=cursor)
            emit({**_EVENT, "id": "no transaction's"}, cursor=cursor,
                 transactional=False)
            raise ZeroDivisionError
    emit({**_EVENT, "id": "committed"})
    database.wait_confirmed(database.name)
    assert [record.id for record in reader.read_all(topics)] == ["committed"]


@pytest.mark.long
def test_messages_and_rows_share_one_order(walpost, database, kafka, outbox,
                                           reader, topics, emit):
    walpost(database, kafka, topics,
            outbox={"tables": [{"name": "public.outbox"}],
                    "messages": {"prefix": "outbox"}}).run()
    with database.transaction() as cursor:
        outbox.insert("order", "o-1", '"1"', cursor)
        emit({**_EVENT, "payload": "2"}, cursor=cursor)
        outbox.insert("order", "o-1", '"3"', cursor)
    database.wait_confirmed(database.name)
    records = reader.read_all(topics)
    assert [record.value for record in records] == [b'"1"', b"2", b'"3"']
    assert [record.position[-1] for record in records] == ["1", "2", "3"]


@pytest.mark.parametrize("content, word", [
    ("not json", "message"),
    ("[1]", "message"),
    ('{"aggregate_type": "order"', "message"),
    (b"\xff\xfe{}", "message"),
    ('{"payload": 1}', "aggregate_type"),
    ("{}", "payload"),
])
@pytest.mark.sample(6)
def test_p8_message_that_does_not_parse_stops_the_stream(
        walpost, database, kafka, reader, topics, emit, content, word):
    relay = walpost(database, kafka, topics,
                    outbox={"messages": {"prefix": "outbox"}}).run()
    emit(_EVENT)
    database.wait_confirmed(database.name)
    with database.transaction() as cursor:
        emit(content, cursor=cursor)
        limit = database.lsn_before_commit(cursor)
    emit({**_EVENT, "id": "after"})

    reason = relay.wait_unready()
    assert word in reason
    for _ in range(2):
        assert relay.running()
        assert database.confirmed_lsn(database.name) <= limit
        assert [record.id for record in reader.read_all(topics)] == ["7"]
        # The same again, and no more, after a restart.
        assert relay.stop() == 0
        relay.start()
        relay.wait_unready()
