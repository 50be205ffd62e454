"""What polling does while something that it needs does not work."""

import contextlib
import os
import signal
import time

import pytest

from harness import KafkaReader
from harness.polled import (EVENTS, PolledOutbox, assert_delivered,
                            events_sections)
from harness.sql_files import run_sql_file
from harness.waiting import wait_until

# For many tries, were there no pause between them.
_LONG_S = 4

_REFUSE = """
create function refuse() returns trigger language plpgsql as
  $$ begin raise exception 'refused by a trigger'; end $$;
create trigger refuse before insert or update on {0}
  for each row execute function refuse();
"""


def _by_locks(polled, **polling):
    """The sections of a table without a lease."""
    sections = polled.sections(**polling)
    table, = sections["outbox"]["tables"]
    table["state"] = {**table["state"], "locked_until": ""}
    return sections


_STRATEGIES = ["claim", "locks", "delete", "lease table", "delete, lease table"]


def _strategies(polled):
    """The sections of each of them."""
    table = {"name": polled.name, "order_by": "sequence"}
    delete = polled.sections(strategy="delete")
    delete["outbox"] = {"tables": [table]}
    run_sql_file(polled.database, "leases.sql")
    leases = {"lease_table": polled.lease_table}
    in_table = _by_locks(polled, **leases)
    delete_in_table = {**delete, "polling": {**delete["polling"], **leases}}
    return {"claim": polled.sections(), "locks": _by_locks(polled),
            "delete": delete, "lease table": in_table,
            "delete, lease table": delete_in_table}


def test_p5_rows_that_cannot_be_marked_are_not_sent_again(
        database, walpost, kafka, topics, reader):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics, **_by_locks(polled)).run()
    polled.insert(10)
    polled.wait_published()
    polled.insert(50)
    database.execute("alter table outbox add constraint full_disk check "
                     "(status <> 'published' or sequence <= 10) not valid")
    polled.insert(50)
    relay.wait_unready("full_disk")
    time.sleep(_LONG_S)
    assert relay.get("/readyz")[0] == 503
    sent = len(reader.read_all(topics))
    database.execute("alter table outbox drop constraint full_disk")
    relay.wait_ready()
    polled.wait_published()
    assert_delivered(polled.expected(), reader.read_all(topics))
    assert sent <= 110, sent


@pytest.mark.long
def test_p5_a_cursor_that_cannot_be_saved_publishes_a_batch_once(
        database, walpost, kafka, topics, reader):
    database.execute(EVENTS)
    run_sql_file(database, "cursor.sql")
    relay = walpost(database, kafka, topics, **events_sections()).run()
    database.execute(_REFUSE.format("walpost_cursor"))
    database.execute("insert into events (aggregate_id) select 'a' "
                     "from generate_series(1, 50)")
    relay.wait_unready("refused by a trigger")
    time.sleep(_LONG_S)
    assert relay.get("/readyz")[0] == 503
    assert len(reader.read_all(topics)) <= 50
    database.execute("drop trigger refuse on walpost_cursor")
    relay.wait_ready()
    expected = database.execute(
        "select id::text, aggregate_id, seq from events order by seq")
    wait_until(lambda: len({r.id for r in reader.read_all(topics)}) == 50,
               "all rows")
    assert_delivered(expected, reader.read_all(topics), most_duplicates=50)


@pytest.mark.parametrize("lease", [True, False], ids=["lease", "locks"])
@pytest.mark.long
def test_p8_a_batch_over_the_topics_limit_costs_its_rows_no_attempt(
        database, walpost, kafka, topics, reader, lease):
    """Each record is within the limit; the broker takes it for the batch's."""
    polled = PolledOutbox(database)
    kafka.create_topic(topics + "order", 1, max_message_bytes=20_000)
    sections = (polled.sections if lease else
                lambda **polling: _by_locks(polled, **polling))(max_attempts=2)
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', 'a' || n % 5, to_json(repeat('x', 1000)) "
        "from generate_series(1, 100) n")
    bad = database.value(
        "insert into outbox (aggregate_type, aggregate_id, payload) values "
        "('order', 'bad', to_json(repeat('x', 30000))) returning id")
    polled.insert(20)
    relay = walpost(database, kafka, topics, **sections).run()
    polled.wait_published(120)
    assert relay.metric("walpost_rewinds_total") >= 1, "there was no batch"
    failed = database.execute("select id, attempts from outbox where "
                              "status <> 'published' or attempts > 0")
    assert failed == [(bad, 2)], failed
    expected = [row for row in polled.expected() if row[0] != str(bad)]
    assert_delivered(expected, reader.read_all(topics))


@pytest.mark.parametrize("strategy", _STRATEGIES)
@pytest.mark.sample(5)
def test_p8_rows_of_a_topic_that_is_not_there_hold_up_no_others(
        database, walpost, strict_kafka, topics, strategy):
    polled = PolledOutbox(database)
    strict_kafka.create_topic(topics + "order", 2)
    database.execute("create index on outbox (sequence)")
    polled.insert(150, aggregate_type="nowhere")
    polled.insert(100)
    relay = walpost(database, strict_kafka, topics,
                    **_strategies(polled)[strategy]).run()
    reader = KafkaReader(strict_kafka.bootstrap)
    wait_until(lambda: len(reader.read(topics + "order")) == 100,
               lambda: f"the rows of the other topic\n{relay.log()}", 45)
    relay.wait_log(r"was rejected \(attempt 1\)")
    if strategy.startswith("delete"):
        assert polled.counts() == {"pending": 150}
    else:
        assert database.value("select max(attempts) from outbox where "
                              "aggregate_type = 'nowhere'") > 0


@pytest.mark.parametrize("strategy", _STRATEGIES)
@pytest.mark.sample(5)
def test_p8_a_row_that_stays_locked_holds_up_its_aggregate_alone(
        database, walpost, kafka, topics, reader, strategy):
    """However many rows of that aggregate come next; and another such one."""
    polled = PolledOutbox(database)
    database.execute("create index on outbox (sequence)")
    polled.insert(1_200, aggregates=1)
    polled.insert(1_200, aggregates=1, aggregate_type="shipment")
    polled.insert(700, aggregate_type="invoice")
    expected = polled.expected()
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        with connection.cursor() as cursor:
            cursor.execute("select from outbox where sequence in (1, 1201) "
                           "for update")
            relay = walpost(database, kafka, topics,
                            **_strategies(polled)[strategy]).run()
            wait_until(lambda: len(reader.read_all(topics)) >= 700,
                       lambda: f"the rows of others\n{relay.log()}")
            time.sleep(1)
            assert {r.topic for r in reader.read_all(topics)} == {
                topics + "invoice"}
    wait_until(lambda: len(reader.read_all(topics)) == 3_100,
               lambda: f"all rows\n{relay.log()}")
    assert_delivered(expected, reader.read_all(topics))


@pytest.mark.long
def test_a_clock_at_infinity_stops_nothing(
        database, walpost, kafka, topics, reader):
    polled = PolledOutbox(database)
    database.execute("insert into outbox (aggregate_type, aggregate_id, "
                     "created_at) values ('order', 'x', 'infinity')")
    polled.insert(20)
    walpost(database, kafka, topics, **_by_locks(polled)).run()
    polled.wait_published()
    assert_delivered(polled.expected(), reader.read_all(topics))


def test_p10_a_server_that_does_not_answer_is_noticed(
        database, walpost, kafka, topics):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics, **polled.sections()).run()
    pid = database.value("select pid from pg_stat_activity where "
                         "application_name like 'walpost:%%' and "
                         "datname = current_database()")
    os.kill(pid, signal.SIGSTOP)
    try:
        relay.wait_unready("has not answered a statement", 20)
    finally:
        os.kill(pid, signal.SIGCONT)
    relay.wait_ready()
    polled.insert(10)
    polled.wait_published()
