"""Polling the partitions of sql/outbox_partitioned.sql."""

import re

import pytest

from harness import run_sql_file
from harness.polled import assert_delivered
from harness.waiting import wait_until

# What sql/outbox_polling.sql has beyond it, as far as a partitioned table can:
# identity columns of such are for 17 and newer.
_STATE_DDL = """
create sequence outbox_sequence;
alter table outbox
  add sequence bigint not null default nextval('outbox_sequence'),
  add status text not null default 'pending',
  add attempts integer not null default 0,
  add next_attempt_at timestamptz, add last_error text,
  add locked_until timestamptz, add published_at timestamptz;
create index on outbox (sequence) include (status)
  where status in ('pending', 'processing');
create index on outbox (locked_until)
  where status = 'processing' or locked_until is not null;
create index on outbox (next_attempt_at)
  where status = 'pending' and next_attempt_at is not null;
create index on outbox (sequence);
"""

_STATE = {column: column for column in (
    "status", "published_at", "locked_until", "attempts", "last_error",
    "next_attempt_at")}


@pytest.fixture
def days(database):
    """Partitions of the last three days; older rows go to the default one."""
    run_sql_file(database, "outbox_partitioned.sql")
    database.execute(_STATE_DDL)
    for number in range(1, 4):
        database.execute(
            f"create table day_{number} partition of outbox for values from "
            f"((now() at time zone 'UTC')::date - {number}) to "
            f"((now() at time zone 'UTC')::date - {number} + 1)")
    return database


def _sections(strategy, state, **retention):
    return {
        "source": "polling",
        "polling": {"strategy": strategy, "interval": "50ms",
                    "batch_size": 50, "lease": "5s"},
        "outbox": {"tables": [{"name": "public.outbox",
                               "order_by": "sequence", "state": state}]},
        "retention": retention or None}


def _insert(database, rows):
    """An aggregate's rows are of several days, in no order of theirs.

    Returns (id, aggregate, place) of each.
    """
    return database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, "
        "created_at) select 'order', 'a' || n %% 7, '1', "
        "now() - (n * 13 %% 6) * interval '1 day' "
        "from generate_series(1, %s) n "
        "returning id::text, aggregate_id, sequence", (rows,))


_HOW = {"claim with a lease": ("claim", _STATE),
        "claim with locks": ("claim", {"status": "status"}),
        "delete": ("delete", {})}


@pytest.mark.parametrize("how", _HOW)
@pytest.mark.sample(3)
def test_two_pollers_publish_all_partitions_in_the_order_of_an_aggregate(
        days, walpost, kafka, topics, reader, how):
    sections = _sections(*_HOW[how])
    expected = _insert(days, 500)
    relays = [walpost(days, kafka, topics, **sections).run() for _ in range(2)]
    for _ in range(10):
        expected += _insert(days, 100)
    wait_until(lambda: days.value("select count(*) from outbox where status "
                                  "in ('pending', 'processing')") == 0,
               lambda: f"all rows to go out\n{relays[0].log()}", 120)
    assert_delivered(expected, reader.read_all(topics))
    left = 0 if how == "delete" else 1500
    assert days.value("select count(*) from outbox") == left
    assert days.value("select count(distinct tableoid) from outbox") == (
        5 if left else 0)


@pytest.mark.parametrize("how", _HOW)
@pytest.mark.long
def test_a_crash_repeats_rows_of_any_partition_and_loses_none(
        days, walpost, kafka, topics, reader, how):
    relay = walpost(days, kafka, topics, **_sections(*_HOW[how]))
    expected = []
    for _ in range(5):
        expected += _insert(days, 300)
        relay.run()
        relay.kill()
    relay.run()
    wait_until(lambda: days.value("select count(*) from outbox where status "
                                  "in ('pending', 'processing')") == 0,
               lambda: f"all rows to go out\n{relay.log()}", 120)
    assert_delivered(expected, reader.read_all(topics), 5 * 4 * 50)


@pytest.mark.long
def test_run_publishes_prunes_and_drops_what_is_past(
        days, walpost, kafka, topics, reader):
    """One failed row keeps its day; what is young stays."""
    failed = days.value(
        "insert into outbox (aggregate_type, payload, created_at, status) "
        "values ('order', '1', now() - interval '2 days', 'failed') "
        "returning id")
    expected = _insert(days, 600)
    relay = walpost(days, kafka, topics, **_sections(
        "claim", _STATE, keep="24h", interval="1s", pause="0ms",
        batch_rows=20)).run()

    def dropped():
        return days.execute("select to_regclass('day_2') is not null, "
                            "to_regclass('day_3') is null")[0] == (True, True)

    wait_until(dropped, lambda: f"the third day to go\n{relay.log()}", 60)
    table = '{table="public.outbox"}'
    wait_until(lambda: f"walpost_dropped_partitions_total{table} 1"
               in relay.get("/metrics")[1], relay.log)
    # Those of four and five days ago are in the default partition.
    rows = sum(1 for n in range(1, 601) if n * 13 % 6 > 3)
    wait_until(lambda: f"walpost_pruned_rows_total{table} {rows}"
               in relay.get("/metrics")[1],
               lambda: f"{rows} rows to be pruned\n{relay.log()}")
    assert days.value("select count(*) from outbox_default") == 0
    assert days.value("select count(*) from outbox where id = %s",
                      (failed,)) == 1
    relay.wait_log("day_2: it holds rows that are not published")
    assert days.value("select count(*) from outbox where created_at > "
                      "now() - interval '23 hours'") == 100
    assert_delivered(expected, reader.read_all(topics))


@pytest.mark.parametrize("how", _HOW)
@pytest.mark.long
def test_the_index_that_check_asks_for_can_be_made(
        days, walpost, kafka, topics, how):
    """CONCURRENTLY is not for tables with partitions."""
    days.execute(
        "do $$ declare name text; begin for name in select "
        "indexrelid::regclass from pg_index where indrelid = "
        "'outbox'::regclass and not indisprimary loop execute "
        "'drop index ' || name; end loop; end $$")
    relay = walpost(days, kafka, topics, **_sections(*_HOW[how]))
    said = relay.verb("check").stdout
    remedies = re.findall("-> (CREATE .*)", said)
    assert remedies, said
    for remedy in remedies:
        days.execute(remedy)
    assert relay.verb("check").returncode == 0


@pytest.mark.long
def test_a_cursor_is_refused_where_no_index_can_be_unique(
        days, walpost, kafka, topics):
    days.execute("alter table outbox add transaction_id xid8 not null "
                 "default pg_current_xact_id(); "
                 "create index on outbox (transaction_id)")
    relay = walpost(days, kafka, topics, **_sections(
        "cursor", {"transaction_id": "transaction_id"}))
    assert "has partitions" in relay.verb("check").stdout
    assert relay.start().wait_exit() != 0
