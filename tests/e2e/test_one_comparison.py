"""verify, replay and recover compare what the relay sends: the output of a
type, and topics by their bytes; never SQL's casts, lower() or collations."""

import json

import pytest

from harness import KafkaReader
from harness.matrix import long_only

# Where a cast to text, or =, is not the output function.
_CASE = """
create table outbox (n bigint generated always as identity, id char(8) primary
  key, aggregate_type text not null, aggregate_id inet not null, type text not
  null, is_test boolean not null, payload xml);
"""
_ROWS = """
insert into outbox (id, aggregate_type, aggregate_id, type, is_test, payload)
values
  ('A1', 'order', '10.0.0.1', 'Created', true,
   '<?xml version="1.0" encoding="ISO-8859-1"?><a/>'),
  ('A2', 'order', '10.0.0.2', 'Created', false, '<b/>');
"""


def _table(topics, topic, **more):
    return {"outbox": {"tables": [{"name": "public.outbox", "order_by": "n",
                                   "topic": topics + topic, **more}]},
            "route": {"topic": None}}


def _records(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _check_clean(relay):
    """Nothing that was delivered is called missing, and nothing is sent."""
    said = relay.verb("verify", "--json")
    found = json.loads(said.stdout)
    assert said.returncode == 0 and found["clean"], said.stdout
    said = relay.verb("replay", "--from-table", "--missing")
    assert "looked at, 0 were not published" in said.stdout, (
        said.stdout + said.stderr)


def _publish(walpost, database, kafka, topics, sql, **sections):
    relay = walpost(database, kafka, topics, **sections).run()
    database.execute(sql)
    database.wait_confirmed(database.name)
    return relay


@pytest.mark.long
def test_casts_are_not_what_is_sent(walpost, database, kafka, topics):
    database.execute(_CASE)
    relay = _publish(walpost, database, kafka, topics, _ROWS,
                     **_table(topics, "{aggregate_type}.{is_test}"))
    records = {record.id: record for record in _records(kafka, topics)}
    first = records["A1      "]
    assert (first.topic, first.key, first.value) == (
        topics + "order.t", b"10.0.0.1", b"<a/>")
    _check_clean(relay)
    said = relay.verb("replay", "--from-table", "--aggregate", "10.0.0.1")
    assert said.stdout == "1 rows replayed\n", said.stderr
    again, = [record for record in _records(kafka, topics)
              if record.is_replayed]
    assert (again.id, again.key) == ("A1      ", b"10.0.0.1")


@pytest.mark.long
def test_a_lost_row_is_still_found(walpost, database, kafka, topics):
    database.execute(_CASE)
    relay = _publish(walpost, database, kafka, topics, _ROWS,
                     **_table(topics, "{aggregate_type}.{is_test}"))
    database.execute("alter table outbox disable trigger all")
    database.execute("update outbox set id = 'A9' where id = 'A2'")
    said = relay.verb("verify", "--json")
    counts = {kind: found["count"] for kind, found in
              json.loads(said.stdout)["findings"].items()}
    assert said.returncode == 1
    assert (counts["missing"], counts["not_in_table"]) == (1, 1)


# Name: type, two values that = calls equal or a cast calls the same, or that
# are odd in a statement.
_IDS = {
    "citext": ("citext", ["Ab", "aB"]),
    "bpchar": ("char(4)", ["a", "ab"]),
    "quote": ("text", ["it's", 'a "b" \\ {c}']),
    "bytea": ("bytea", [r"\x00ff", r"\x6100"]),
    "inet": ("inet", ["10.0.0.1", "10.0.0.0/8"]),
    "bool": ("boolean", ["true", "false"]),
    **dict(long_only(
        ("numeric", ("numeric", ["1.0", "1.01"])),
        ("cidr", ("cidr", ["10.0.0.0/8", "10.0.0.0/16"])),
        ("onechar", ('"char"', ["x", "y"])),
        ("float", ("float8", ["0.1", "NaN"])),
        ("composite", ("pair", ['(1,"a b")', "(2,)"])),
        ("xml", ("xml", ["<a/>", '<?xml version="1.0"?><b/>'])))),
}


@pytest.mark.parametrize("kind", _IDS)
@pytest.mark.long
def test_odd_ids(walpost, database, kafka, topics, directory, kind):
    """Each is found by verify, and by replay --ids as it was sent."""
    id_type, values = _IDS[kind]
    database.execute(
        "create extension citext; create type pair as (a int, b text); "
        "create table outbox (n bigint generated always as identity, id "
        f"{id_type}, aggregate_type text default 'order', aggregate_id "
        f"{id_type}, payload text default '1')")
    relay = walpost(database, kafka, topics, **_table(topics, "all")).run()
    for value in values:
        database.execute("insert into outbox (id, aggregate_id) values "
                         "(%s, %s)", (value, value))
    database.wait_confirmed(database.name)
    sent = database.execute("select concat(id) from outbox order by n")
    _check_clean(relay)
    ids = directory / "ids"
    for (text,) in sent:
        ids.write_text(text + "\n")
        for words in (["--ids", str(ids)], ["--aggregate", text]):
            said = relay.verb("replay", "--from-table", *words)
            assert said.stdout == "1 rows replayed\n", (
                words, text, said.stdout + said.stderr)


@pytest.mark.long
def test_topics_that_differ_in_case_only(walpost, database, kafka, topics):
    database.execute(
        "create extension citext; create table outbox (n bigint generated "
        "always as identity, id bigint, aggregate_type citext, aggregate_id "
        "text default 'k', payload text default '1')")
    relay = _publish(
        walpost, database, kafka, topics,
        "insert into outbox (id, aggregate_type) values (1, 'Order'), "
        "(2, 'order')", **_table(topics, "{aggregate_type}"))
    assert {record.topic for record in _records(kafka, topics)} == {
        topics + "Order", topics + "order"}
    _check_clean(relay)


@pytest.mark.parametrize("value, topic", [("ÄB", "ab"), ("İx", "x")])
@pytest.mark.long
def test_lower_is_of_ascii(walpost, database, kafka, topics, value, topic):
    """SQL's lower() knows more letters; the relay's makes illegal names of
    them, which replace: takes out."""
    letter = value[0]
    database.execute(
        "create table outbox (n bigint generated always as identity, id "
        "bigint, aggregate_type text, aggregate_id text default 'k', payload "
        "text default '1')")
    relay = _publish(
        walpost, database, kafka, topics,
        f"insert into outbox (id, aggregate_type) values (1, '{value}')",
        **_table(topics, f"{{aggregate_type|lower|replace:{letter}:a}}"))
    record, = _records(kafka, topics)
    assert record.topic == topics + (topic if topic == "ab" else "a" + topic)
    _check_clean(relay)
