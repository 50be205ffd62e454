"""Rows that others change while a claim looks at them."""

import contextlib

import pytest

from harness.polled import PolledOutbox, assert_delivered
from harness.waiting import wait_until

_LOCK = 77

# It is asked with the claim's own snapshot: STABLE.
_WAIT_BEFORE_ROWS_ARE_READ = f"""
create function wait() returns trigger language plpgsql stable as $$
begin
  if (select count(*) from outbox where status = 'pending') > 1 then
    perform pg_advisory_xact_lock_shared({_LOCK});
  end if;
  return null;
end $$;
create trigger wait before {{0}}
  for each statement execute function wait();
"""
# What a claim does first.
_FIRST = {"column": "update on outbox", "table": "delete on walpost_leases"}


@pytest.mark.parametrize("look, leases", [
    ("near", "column"), ("far", "column"), ("near", "table"), ("far", "table")])
@pytest.mark.sample(3)
def test_rows_that_change_after_a_claims_snapshot_keep_their_order(
        database, walpost, kafka, topics, reader, look, leases):
    """Another poller claims and returns them, or an operator touches them.

    A look is far after some that have found nothing to take.
    """
    polled = PolledOutbox(database, leases)
    if look == "far":
        database.execute("insert into outbox (aggregate_type, aggregate_id, "
                         "payload, next_attempt_at) values ('order', 'later', "
                         "'{}', now() + interval '1 hour')")
    relay = walpost(database, kafka, topics, **polled.sections(
        strategy="claim", interval="20ms", batch_size=50)).run()
    database.execute(_WAIT_BEFORE_ROWS_ARE_READ.format(_FIRST[leases]))
    # The first one disturbs a claim, and the others come to its careful form.
    for first in (26, 1, 26, 40):
        _claim_while_changed(database, polled, relay, look, first)
    wait_until(lambda: polled.counts().get("published") == 400,
               lambda: f"{polled.counts()}\n{relay.log()}")
    expected = [row for row in polled.expected() if row[1] != "order/later"]
    assert_delivered(expected, reader.read_all(topics))


def _claim_while_changed(database, polled, relay, look, first):
    """Of 100 rows, those from the `first` to the 45th change."""
    with contextlib.closing(database.connect()) as connection, \
            connection.cursor() as cursor:
        connection.autocommit = True
        cursor.execute("set session_replication_role = replica")  # no trigger
        cursor.execute(f"select pg_advisory_lock({_LOCK})")
        polled.insert(100, aggregates=7)
        wait_until(lambda: database.value(
            "select count(*) from pg_stat_activity where "
            "wait_event = 'advisory'") == 1, relay.log)
        cursor.execute(
            "update outbox set attempts = attempts where sequence between "
            "(select min(sequence) from outbox where status = 'pending' and "
            "next_attempt_at is null) + %s - 1 and (select min(sequence) from "
            "outbox where status = 'pending' and next_attempt_at is null) "
            "+ 44", (first,))
        assert cursor.rowcount == 46 - first
    wait_until(lambda: polled.counts().get("pending", 0) == (look == "far"),
               lambda: f"{polled.counts()}\n{relay.log()}")
