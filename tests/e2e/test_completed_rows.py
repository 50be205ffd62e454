"""Rows that the application completes by UPDATE after it has inserted them, as
ORMs do: what is published is the row as it was inserted, and that is said."""

import json
import re
import time

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import long_only, values

_TABLE = """
create table outbox (
  id bigint generated always as identity primary key,
  aggregate_type text not null, aggregate_id text not null, type text,
  payload jsonb);
"""
_PARTITIONED = """
create table outbox (
  id bigint generated always as identity,
  aggregate_type text not null, aggregate_id text not null, type text,
  payload jsonb, primary key (id)) partition by range (id);
create table outbox_1 partition of outbox for values from (0) to (10);
create table outbox_2 partition of outbox default;
"""
_INSERT = ("insert into outbox (aggregate_type, aggregate_id, type) "
           "values ('order', %s, 'Created') returning id")
_COMPLETED = "update outbox set payload = '{\"a\": 1}' where id = %s"
_UPSERT = ("insert into outbox (id, aggregate_type, aggregate_id) overriding "
           "system value values (%s, 'order', 'o') on conflict (id) do update "
           "set payload = '{}'")


def _write(database, statement, count=20):
    for number in range(count):
        with database.transaction() as cursor:
            cursor.execute(_INSERT, (f"o-{number}",))
            cursor.execute(statement, (cursor.fetchone()[0],))


_CASES = values(table=["plain", "partitions"],
               publish=["insert", "insert, update"],
               statement=["update", "upsert", "later"])


@pytest.mark.parametrize("case", _CASES, ids=str)
@pytest.mark.long
def test_a_warning_names_table_and_number(walpost, database, kafka, topics,
                                          case):
    database.execute(_PARTITIONED if case["table"] == "partitions" else _TABLE)
    database.execute("create publication walpost for table outbox with "
                     f"(publish = '{case['publish']}', "
                     "publish_via_partition_root)")
    relay = walpost(database, kafka, topics).run()
    if case["statement"] == "later":
        for number in range(20):
            database.execute(_INSERT, (f"o-{number}",))
        database.wait_confirmed(relay.slot)
        database.execute("update outbox set payload = '{}'")
    else:
        _write(database, _COMPLETED if case["statement"] == "update"
               else _UPSERT)
    found = relay.wait_log(r"warn (.*UPDATE.*)", 30)
    assert "public.outbox" in found[1] and re.search(r"\b20\b", found[1]), (
        found[1])
    wait_until(lambda: relay.metric(
        'walpost_updated_rows_total{table="public.outbox"}') == 20,
               lambda: f"the metric\n{relay.get('/metrics')[1]}")
    reader = KafkaReader(kafka.bootstrap)
    assert all(record.value is None
               for record in reader.read_all(topics + "order"))
    verified = relay.verb("verify")
    assert verified.returncode == 1
    assert re.search("public.outbox.*UPDATE", verified.stdout), verified.stdout


_FILLED = """
create table filled (like outbox including all excluding identity);
insert into filled (id, aggregate_type, aggregate_id, type)
  select g, 'order', g::text, 'Created' from generate_series(100, 120) g;
update filled set payload = '{}';
"""


@pytest.mark.parametrize("statement", [
    "update outbox set seen = true", *long_only(
        "delete from outbox", "select pg_stat_reset()", "alter table outbox "
        "attach partition filled for values from (100) to (200)")])
@pytest.mark.long
def test_a_healthy_table_is_not_accused(walpost, database, kafka, topics,
                                        statement):
    database.execute(_PARTITIONED)
    database.execute("alter table outbox add seen boolean")
    if "attach" in statement:
        database.execute(_FILLED)
    relay = walpost(database, kafka, topics).run()
    for number in range(5):
        database.execute(_INSERT, (f"o-{number}",))
    database.wait_confirmed(relay.slot)
    database.execute(statement)
    updated = 5 if "seen" in statement else 0
    if updated:
        wait_until(lambda: relay.metric(
            'walpost_updated_rows_total{table="public.outbox"}') == 5,
                   "the metric")
    time.sleep(14)
    assert not re.search("warn .*UPDATE", relay.log()), relay.log()
    assert json.loads(relay.get("/status")[1])["updated_rows"] == updated
    if "attach" not in statement:
        assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_rows_that_it_may_not_read(walpost, database, kafka, topics):
    """The remedy of the warning is pasted."""
    database.execute(_TABLE)
    database.execute("create publication walpost for table outbox with "
                     "(publish = 'insert')")
    database.execute("create role reader login replication")
    database.execute(f"grant create on database {database.name} to reader")
    database.execute("alter publication walpost owner to reader")
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": database.conninfo(user="reader"), "create": True}).run()
    _write(database, _COMPLETED)
    found = relay.wait_log(r"warn (.*UPDATE.*)", 30)
    grant = re.search("GRANT SELECT[^;]*", found[1])
    assert grant, found[1]
    database.execute(grant[0])
    assert relay.stop() == 0
    relay.start()
    relay.wait_ready()
    _write(database, _COMPLETED)
    relay.wait_log("differ from their records", 30)
