"""What a session asked for is read back: a pooler that drops or rejects startup
options changes no record, and one that shares sessions is refused."""

import pytest

from harness import KafkaReader, wait_until
from harness.pooler import Pooler

_TABLE = """
create table outbox (id bigint generated always as identity primary key,
  aggregate_type text not null, aggregate_id text not null,
  status text not null default 'pending',
  created_at timestamptz not null default now(), raw bytea,
  f float8, i interval, at timestamp);
create index on outbox (id) where status = 'pending';
create index on outbox (id) where status = 'failed';
create role shop login;
grant all on outbox to shop;
alter role shop set bytea_output = 'escape';
alter role shop set datestyle = 'German';
alter role shop set intervalstyle = 'iso_8601';
alter role shop set timezone = 'Asia/Kolkata';
alter role shop set extra_float_digits = -10;
alter role shop set statement_timeout = '2s';
create schema evil;
alter role shop set search_path = evil, public;
"""
_ROW = """insert into outbox (aggregate_type, aggregate_id, raw, f, i, at,
  created_at) values ('order', '42', '\\x00ff', 0.1::float8 + 0.2, '1 day 2 h',
  '2026-01-31 12:00', '2026-01-31 12:00+00')"""
_KEYS = ["aggregate_id", "f", "i", "at", "created_at"]


def _sections(port, database, key):
    return {
        "source": "polling",
        "postgres": {"conninfo": f"host=127.0.0.1 port={port} user=shop "
                                 f"dbname={database.name}", "create": None},
        "outbox": {"tables": [{
            "name": "public.outbox",
            "columns": {"payload": "raw", "timestamp": "created_at",
                        "aggregate_id": key, "type": None},
            "state": {"status": "status"}}]}}


def _record(relay, database, kafka, topics):
    wait_until(lambda: database.value("select status from outbox") != "pending",
               lambda: f"the row to be settled\n{relay.log()}")
    assert database.value("select status from outbox") == "published", \
        relay.log()
    record, = KafkaReader(kafka.bootstrap).read_all(topics)
    return record.key, record.value, record.timestamp


@pytest.mark.parametrize("key", _KEYS)
@pytest.mark.parametrize("kind", ["drops", "rejects"])
@pytest.mark.sample(12)
def test_records_are_those_without_a_pooler(walpost, own_database, kafka,
                                            topics, kind, key):
    own_database.execute(_TABLE)
    own_database.execute(_ROW)
    found = []
    with Pooler(kind, own_database.port) as pooler:
        for number, port in enumerate([own_database.port, pooler.port]):
            here = f"{topics}{number}."
            relay = walpost(own_database, kafka, here, **_sections(
                port, own_database, key)).run()
            found.append(_record(relay, own_database, kafka, here))
            assert relay.stop() == 0
            own_database.execute("update outbox set status = 'pending'")
    assert found[0] == found[1]


@pytest.mark.long
def test_a_pooler_that_shares_sessions_is_refused(walpost, own_database, kafka,
                                                  topics):
    own_database.execute(_TABLE)
    with Pooler("shares", own_database.port) as pooler:
        relay = walpost(own_database, kafka, topics, **_sections(
            pooler.port, own_database, "aggregate_id"))
        said = relay.verb("check")
        assert said.returncode == 1, said.stdout + said.stderr
        for words in ("does not keep the settings of a session",
                      "pool_mode = session"):
            assert words in said.stdout + said.stderr, said.stdout
        relay.start()
        relay.wait_log("does not keep the settings of a session")
