"""sql/outbox_emit.sql: an outbox without a table, through a function."""

import json

import psycopg2
import pytest

from harness import Database, run_sql_file


@pytest.fixture
def emitting(walpost, database, kafka, topics):
    """A database with the function, and a relay that publishes its events."""
    run_sql_file(database, "outbox_emit.sql")
    walpost(database, kafka, topics,
            outbox={"messages": {"prefix": "outbox"}}).run()
    return database


def test_an_event_is_published_with_every_field(emitting, reader, topics):
    published = emitting.value(
        "select public.outbox_emit('order', '4711', 'OrderPlaced', "
        "'{\"total\": \"44.98\"}', headers => '{\"trace\": \"t-1\"}')")
    emitting.wait_confirmed(emitting.name)

    record, = reader.read_all(topics)
    assert (record.topic, record.key) == (topics + "order", b"4711")
    assert record.value == b'{"total": "44.98"}'
    assert dict(record.headers)["id"] == published.encode()
    assert dict(record.headers)["trace"] == b"t-1"


@pytest.mark.parametrize("payload", [
    "'{\"a\":  1}'", "'{\"a\":  1}'::text", "'{\"a\":  1}'::json"])
@pytest.mark.long
def test_json_and_text_keep_their_bytes(emitting, reader, topics, payload):
    emitting.execute(
        f"select public.outbox_emit('order', 'k', 'T', {payload})")
    emitting.wait_confirmed(emitting.name)
    assert [record.value for record in reader.read_all(topics)] == [
        b'{"a":  1}']


def test_in_returning_each_row_is_an_event_of_its_transaction(
        emitting, reader, topics):
    emitting.execute("create table orders (id bigint primary key, total int)")
    with emitting.transaction() as cursor:
        cursor.execute(
            "insert into orders values (1, 10), (2, 20) on conflict do nothing "
            "returning public.outbox_emit('order', id::text, 'OrderPlaced', "
            "jsonb_build_object('total', total))")
    with pytest.raises(psycopg2.errors.UniqueViolation):
        with emitting.transaction() as cursor:
            cursor.execute(
                "insert into orders values (3, 30), (1, 11) returning "
                "public.outbox_emit('order', id::text, 'OrderPlaced', '{}')")
    emitting.wait_confirmed(emitting.name)
    assert [(record.key, json.loads(record.value))
            for record in sorted(reader.read_all(topics),
                                 key=lambda record: record.key)] == [
        (b"1", {"total": 10}), (b"2", {"total": 20})]


@pytest.mark.parametrize("arguments, named", [
    ("'no spaces', '1', 'T', '{}'", "aggregate_type"),
    ("null, '1', 'T', '{}'", "aggregate_type"),
    ("'order', repeat('x', 1025), 'T', '{}'", "aggregate_id"),
    ("'order', '1', repeat('x', 256), '{}'", "type"),
    ("'order', '1', 'T', '\"' || repeat('x', 900000) || '\"'", "payload"),
    ("'order', '1', 'T', '{}', headers => '[1]'", "headers"),
    ("'order', '1', 'T', '{}', id => null", "id"),
])
@pytest.mark.sample(24)
def test_what_could_not_be_delivered_is_refused_in_the_transaction(
        database, arguments, named):
    run_sql_file(database, "outbox_emit.sql")
    with pytest.raises(psycopg2.errors.CheckViolation) as refused:
        database.execute(f"select public.outbox_emit({arguments})")
    assert f"DETAIL:  {named}:" in str(refused.value)


@pytest.mark.long
def test_what_is_not_json_is_refused_in_the_transaction(database):
    run_sql_file(database, "outbox_emit.sql")
    with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
        database.execute("select public.outbox_emit('order', '1', 'T', '{')")


_HALVES = [r'{"text": "cut \ud83d"}', r'{"text": "\ude00 end"}',
           r'{"\uD83D": 1}', r'{"a": {"b": ["\ud83d\ud83d"]}}', r'"\ud83d"',
           r'{"text": "\\\ud83d"}']


@pytest.mark.parametrize("as_type", ["text", "json"])
@pytest.mark.parametrize("half", _HALVES)
@pytest.mark.long
def test_half_an_emoji_is_refused_in_the_transaction(emitting, reader, topics,
                                                     half, as_type):
    """No parser of a consumer reads it, nor does walpost's."""
    emit = ("select public.outbox_emit('order', %s, 'Commented', "
            f"%s::{as_type})")
    emitting.execute(emit, ("1", '{"text":"before"}'))
    with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
        emitting.execute(emit, ("42", half))
    emitting.execute(emit, ("2", '{"text":"after"}'))
    emitting.wait_confirmed(emitting.name)
    assert sorted(record.key for record in reader.read_all(topics)) == [
        b"1", b"2"]


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def foreign(walpost, walposts, postgres, kafka, topics, request):
    """The same in a database with another encoding."""
    database = Database(postgres, f"encoding {request.param} lc_collate 'C' "
                        "lc_ctype 'C' template template0")
    run_sql_file(database, "outbox_emit.sql")
    walpost(database, kafka, topics,
            outbox={"messages": {"prefix": "outbox"}}).run()
    yield database
    for instance in walposts:
        instance.close()
    database.drop()


@pytest.mark.long
def test_events_of_a_database_with_another_encoding(foreign, reader, topics):
    emit = ("select public.outbox_emit('order', %s, 'T', "
            "convert_from(%s, 'UTF8'))")
    for half in _HALVES:
        with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
            foreign.execute(emit, ("half", half.encode()))
    sent = [r'{"text": "\ud83d\ude00"}', r'{"text": "\\ud83d"}',
            r'"nul \u0000 \ud83d\ude00"', '{"text": "Käse €"}']
    if foreign.value("select getdatabaseencoding()") == "LATIN1":
        sent[-1] = '{"text": "Käse"}'
    else:
        # Of this encoding the server checks no byte.
        with pytest.raises(psycopg2.errors.CharacterNotInRepertoire):
            foreign.execute(r"select public.outbox_emit('order', 'k', 'T', "
                            r"e'\"\xe4\"')")
    for number, payload in enumerate(sent):
        foreign.execute(emit, (f"k{number}", payload.encode()))
    foreign.wait_confirmed(foreign.name)
    found = {record.key: record.value for record in reader.read_all(topics)}
    assert found == {b"k0": sent[0].encode(), b"k1": sent[1].encode(),
                     b"k2": b"nul \0 " + "\U0001f600".encode(),
                     b"k3": sent[3].encode()}


@pytest.mark.parametrize("payload", [
    r'{"text": "\ud83d\ude00"}', r'{"text": "nul \u0000"}',
    r'{"text": "\\ud83d"}', r'{"both": "\uD83D\uDE00 \u0000"}',
    '{"n": ' + "9" * 400 + "}", '{"n": 1e' + "9" * 20 + "}",
    "[" * 2000 + "]" * 2000, '{"a":' * 2000 + "1" + "}" * 2000, "null", '""'],
    ids=lambda payload: payload[:20])
@pytest.mark.long
def test_what_json_takes_goes_out_byte_for_byte(emitting, reader, topics,
                                                payload):
    emitting.execute("select public.outbox_emit('order', 'k', 'T', %s::text)",
                     (payload,))
    emitting.wait_confirmed(emitting.name)
    record, = reader.read_all(topics)
    expected = {"null": None, '""': b""}.get(payload, payload.encode())
    assert record.value == expected


@pytest.mark.parametrize("payload", ["[" * 100_000 + "]" * 100_000,
                                     '{"a":' * 10_000 + "1" + "}" * 10_000],
                         ids=["arrays", "objects"])
@pytest.mark.long
def test_deep_nesting_goes_out_or_is_refused(emitting, reader, topics, payload):
    """How deep is too deep is max_stack_depth of the server."""
    try:
        emitting.execute(
            "select public.outbox_emit('order', 'deep', 'T', %s::text)",
            (payload,))
        sent = [payload.encode()]
    except psycopg2.errors.StatementTooComplex:
        sent = []
    emitting.execute("select public.outbox_emit('order', 'k', 'T', '1')")
    emitting.wait_confirmed(emitting.name)
    assert {record.value for record in reader.read_all(topics)} == {
        *sent, b"1"}


@pytest.mark.long
def test_headers_with_half_an_emoji_are_refused(emitting):
    for headers in (r'{"\ud83d": "x"}', r'{"a": "\ud83d"}'):
        with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
            emitting.execute("select public.outbox_emit('order', '1', 'T', "
                             "'{}', headers => %s)", (headers,))
