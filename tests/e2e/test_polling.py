"""The polling source, in ordinary life and when things break."""

import contextlib
import json
import re
import signal
import time

import pytest

from harness import KafkaReader, run_sql_file
from harness.matrix import LONG, long_only
from harness.polled import (EVENTS, PolledOutbox, assert_delivered,
                            events_sections)
from harness.waiting import wait_until

# Has the server log how it did every statement.
_EXPLAIN = ("session_preload_libraries=auto_explain",
            "auto_explain.log_min_duration=0", "auto_explain.log_analyze=on",
            "auto_explain.log_timing=off")


def _explained(database):
    """The section `postgres` of a walpost whose statements are explained."""
    options = " ".join(f"-c {setting}" for setting in _EXPLAIN)
    return {"conninfo": f"{database.conninfo()} options='{options}'"}


def _fetches(log, limit):
    """The plans of all statements with this LIMIT."""
    return [plan for plan in re.split(r"\n(?=\d{4}-\d\d-\d\d )", log)
            if f"LIMIT {limit}" in plan and "(actual rows=" in plan]


def _most_read(plan):
    """Rows, of the step that read most."""
    return max(int(found or removed) for found, removed in re.findall(
        r"actual rows=(\d+)|Removed by Filter: (\d+)", plan))


@pytest.fixture
def leases():
    """Where a lease is; a test may have it as a parameter."""
    return "column"


@pytest.fixture
def polled(database, leases):
    return PolledOutbox(database, leases)


_WHEREVER_LEASES_ARE = pytest.mark.parametrize("leases", ["column", "table"])


def _deliver(polled, reader, topics, most_duplicates=0, seconds=120):
    """Waits for the end, and looks at every record."""
    polled.wait_published(seconds)
    return assert_delivered(polled.expected(), reader.read_all(topics),
                            most_duplicates)


@_WHEREVER_LEASES_ARE
def test_every_row_is_published_once_and_in_order(
        polled, walpost, database, kafka, topics, reader):
    polled.insert(3000, aggregates=7)
    relay = walpost(database, kafka, topics, **polled.sections()).run()
    polled.insert(3000, aggregates=7)
    polled.insert(500, aggregates=1, aggregate_type="invoice")
    _deliver(polled, reader, topics)
    assert database.value("select count(*) from outbox where "
                          "attempts <> 0 or locked_until is not null") == 0
    wait_until(lambda: 'walpost_pending_rows{table="public.outbox"} 0'
               in relay.get("/metrics")[1], "the gauge of pending rows")
    assert relay.metric("walpost_acknowledged_records_total") == 6500
    assert relay.stop() == 0


@_WHEREVER_LEASES_ARE
@pytest.mark.sample(2)
def test_two_pollers_never_publish_the_same_row(
        polled, walpost, database, kafka, topics, reader):
    sections = polled.sections(batch_size=50)
    polled.insert(2000, aggregates=20)
    relays = [walpost(database, kafka, topics, **sections) for _ in range(2)]
    for relay in relays:
        relay.start()
    def shares():
        return [relay.metric("walpost_acknowledged_records_total")
                for relay in relays]

    portions = 0

    def both_have_some():
        nonlocal portions
        polled.insert(200, aggregates=20)
        portions += 1
        return portions >= 20 and min(shares()) > 0
    wait_until(both_have_some, shares)
    _deliver(polled, reader, topics)
    assert sum(shares()) == 2000 + 200 * portions, shares()


@_WHEREVER_LEASES_ARE
@pytest.mark.sample(2)
def test_an_earlier_row_that_is_refused_holds_up_its_aggregate_alone(
        polled, walpost, database, kafka, topics, reader):
    relay = walpost(database, kafka, topics,
                    **polled.sections(max_attempts=0)).run()
    # Headers that are no object cannot become record headers.
    bad = database.value(
        "insert into outbox (aggregate_type, aggregate_id, payload, "
        "headers) values ('order', 'a0', '{}', '[1]') returning id")
    polled.insert(30, aggregates=3)
    wait_until(lambda: polled.counts().get("published") == 20,
               lambda: f"two aggregates to go out: {polled.counts()}")
    wait_until(lambda: database.value(
        "select attempts from outbox where id = %s", (bad,)) >= 3,
        "the row to be tried again")
    wait_until(lambda: polled.counts() == {"published": 20, "pending": 11},
               lambda: f"its aggregate to wait: {polled.counts()}")
    assert database.value("select last_error from outbox where id = %s",
                          (bad,))
    database.execute("update outbox set headers = '{}' where id = %s",
                     (bad,))
    _deliver(polled, reader, topics)
    assert relay.stop() == 0


@_WHEREVER_LEASES_ARE
@pytest.mark.long
def test_a_row_that_was_given_up_no_longer_holds_up_its_aggregate(
        polled, walpost, database, kafka, topics, reader):
    walpost(database, kafka, topics,
            **polled.sections(max_attempts=2)).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, "
        "headers) values ('order', 'a0', '{}', '[1]')")
    polled.insert(10, aggregates=1)
    wait_until(lambda: polled.counts() == {"published": 10, "failed": 1},
               lambda: f"the rest to go out: {polled.counts()}")
    places = [record.value for record in reader.read(topics + "order")]
    assert places == [b'{"n" : %d}' % n for n in range(1, 11)]


def test_a_record_that_the_broker_refuses_is_failed_and_others_go_out(
        polled, walpost, database, kafka, topics, reader):
    kafka.create_topic(topics + "small", 1, **{"max.message.bytes": "2000"})
    walpost(database, kafka, topics,
            **polled.sections(max_attempts=2)).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "values ('small', 'x', json_build_object('text', repeat('x', 5000)))")
    polled.insert(200)
    wait_until(lambda: polled.counts() == {"published": 200, "failed": 1},
               lambda: f"all but one to go out: {polled.counts()}", 60)
    ids = {record.id for record in reader.read(topics + "order")}
    assert len(ids) == 200
    error = database.value("select last_error from outbox "
                           "where status = 'failed'")
    assert "max.message.bytes" in error


@_WHEREVER_LEASES_ARE
@pytest.mark.parametrize("rounds", [10 if LONG else 4])
def test_kill_between_publish_and_mark_repeats_and_loses_nothing(
        polled, walpost, database, kafka, topics, reader, rounds):
    sections = polled.sections(lease="1s", batch_size=100)
    relay = walpost(database, kafka, topics, **sections)
    for number in range(rounds):
        polled.insert(500, aggregates=9)
        relay.start()
        # Not before it publishes; then at another point each time.
        floor = polled.counts().get("published", 0)
        wait_until(lambda: polled.counts().get("published", 0) > floor,
                   lambda: f"round {number}: {relay.log()}")
        time.sleep(0.003 * number)
        relay.kill()
    relay.run()
    # A crash repeats what was held, at most a batch.
    _deliver(polled, reader, topics, most_duplicates=100 * rounds)


def test_rows_of_a_crashed_poller_come_back_when_the_lease_ends(
        polled, walpost, database, kafka, topics, reader):
    polled.insert(5, aggregates=5)
    database.execute("update outbox set status = 'processing', "
                     "locked_until = now() + interval '3 s'")
    walpost(database, kafka, topics, **polled.sections()).run()
    polled.insert(5, aggregates=5)
    assert polled.counts() == {"processing": 5, "pending": 5}
    _deliver(polled, reader, topics)


@_WHEREVER_LEASES_ARE
@pytest.mark.long
def test_a_frozen_poller_is_replaced_after_its_lease(
        polled, walpost, database, kafka, topics, reader):
    first = walpost(database, kafka, topics,
                    **polled.sections(lease="1s")).run()
    polled.insert(200)
    polled.wait_published()
    first.send(signal.SIGSTOP)
    try:
        polled.insert(200)
        second = walpost(database, kafka, topics,
                         **polled.sections(lease="1s")).run()
        polled.wait_published()
        assert second.metric("walpost_acknowledged_records_total") == 200
    finally:
        first.send(signal.SIGCONT)
    first.wait_ready()
    polled.insert(200)
    _deliver(polled, reader, topics)


@_WHEREVER_LEASES_ARE
@pytest.mark.long
def test_a_lease_is_renewed_while_kafka_stalls(
        polled, database, walpost, own_kafka, topics):
    sections = polled.sections(lease="2s")
    relays = [walpost(database, own_kafka, topics, **sections).run()
              for _ in range(2)]
    polled.insert(50)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(100)

    def held():
        return [relay.metric("walpost_in_flight_records") for relay in relays]

    def settled():
        before = held()
        time.sleep(1)
        return before if sum(before) >= 4 and before == held() else None

    # Whoever has started every partition takes all it gets.
    holders = wait_until(settled, lambda: f"rows to be held: {held()}")
    time.sleep(6)  # three leases
    assert holders == [relay.metric("walpost_in_flight_records")
                       for relay in relays]
    # One may hold all of them; the other has nothing to complain of.
    holder = relays[holders.index(max(holders))]
    holder.wait_unready("(acknowledged|reachable)", 30)
    own_kafka.thaw()
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics)


@pytest.mark.long
def test_a_stall_before_the_first_acknowledgement_leaves_the_rows_alone(
        database, walpost, own_kafka, topics):
    polled = PolledOutbox(database)
    relay = walpost(database, own_kafka, topics, **polled.sections()).run()
    own_kafka.freeze()
    polled.insert(100)
    wait_until(lambda: relay.metric("walpost_in_flight_records"),
               lambda: f"a row to be in flight\n{relay.log()}")

    def updates():
        time.sleep(1.5)  # until the backend has told
        return database.value("select n_tup_upd from pg_stat_user_tables "
                              "where relname = 'outbox'")

    before = updates()
    # Leases of the few in flight, and now and then another look at the rest:
    # not one after the other.
    assert updates() - before < 500
    own_kafka.thaw()
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics)


@_WHEREVER_LEASES_ARE
@pytest.mark.long
def test_records_are_called_back_when_a_lease_cannot_be_renewed(
        own_postgres, walpost, own_kafka, topics, proxy_of, leases):
    database = own_postgres.create_database()
    polled = PolledOutbox(database, leases)
    proxy = proxy_of(own_postgres.port)
    sections = polled.sections(lease="2s")
    first = walpost(database, own_kafka, topics, **sections,
                    postgres={"conninfo": database.conninfo().replace(
                        f"port={own_postgres.port}", f"port={proxy.port}")})
    first.run()
    polled.insert(20)
    polled.wait_published()
    own_kafka.freeze()
    polled.insert(20)
    wait_until(lambda: polled.held() == 20,
               lambda: f"the rows to be held: {polled.counts()}")
    proxy.cut()
    first.wait_log("calling back 20 records")
    wait_until(lambda: first.metric("walpost_in_flight_records") == 0,
               lambda: f"nothing to be in flight\n{first.log()}")
    # Not before the lease has ended may anybody else claim them.
    second = walpost(database, own_kafka, topics, **sections).start()
    wait_until(lambda: (second.metric("walpost_in_flight_records") or 0) > 0,
               lambda: f"the second to claim them\n{second.log()}")
    own_kafka.thaw()
    proxy.heal()
    # What the frozen broker had in its socket buffer may come twice.
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics,
             most_duplicates=20)


@_WHEREVER_LEASES_ARE
@pytest.mark.long
def test_an_outage_of_kafka_costs_no_attempt(
        polled, database, walpost, own_kafka, topics):
    relay = walpost(database, own_kafka, topics,
                    **polled.sections(lease="1s", max_attempts=1)).run()
    own_kafka.kill()
    polled.insert(100)
    relay.wait_unready("(reachable|acknowledged)")
    own_kafka.start()
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics)
    assert polled.counts() == {"published": 100}
    assert database.value("select max(attempts) from outbox") == 0
    relay.wait_ready()


@pytest.mark.parametrize("strategy", ["claim", *long_only("delete")])
@pytest.mark.long
def test_a_transaction_is_rolled_back_when_kafka_does_not_acknowledge(
        database, walpost, own_kafka, topics, strategy):
    """Rows that locks hold: an outage of Kafka must not hold back vacuum."""
    database.execute(
        "create table outbox (id bigserial primary key, aggregate_type text, "
        "aggregate_id text, payload text, done timestamptz); "
        "create index on outbox (id) where done is null")
    table = {"name": "public.outbox"}
    if strategy == "claim":
        table["state"] = {"published_at": "done"}
    relay = walpost(
        database, own_kafka, topics, source="polling",
        polling={"strategy": strategy, "interval": "50ms",
                 "transaction_timeout": "1s", "retry_backoff": "1s",
                 "retry_backoff_max": "2s"},
        outbox={"tables": [table]}).run()
    insert = ("insert into outbox (aggregate_type, aggregate_id, payload) "
              "select 'order', 'a' || n % 3, n::text "
              "from generate_series(1, 100) n")
    left = ("select count(*) from outbox" +
            (" where done is null" if strategy == "claim" else ""))
    database.execute(insert)
    wait_until(lambda: database.value(left) == 0,
               lambda: f"the rows to go out\n{relay.log()}")
    own_kafka.freeze()
    database.execute(insert)
    relay.wait_log("calling back 100 records")
    wait_until(lambda: not database.execute(
        "select 1 from pg_stat_activity where state = 'idle in transaction' "
        "and application_name like 'walpost:%'"), "the transaction to end", 5)
    assert database.value(left) == 100
    own_kafka.thaw()
    wait_until(lambda: database.value(left) == 0,
               lambda: f"the rows to go out\n{relay.log()}", 60)
    ids = {r.id for r in KafkaReader(own_kafka.bootstrap).read_all(topics)}
    assert len(ids) == 200


@pytest.mark.long
def test_delete_keeps_the_order_with_two_pollers(
        database, walpost, kafka, topics, reader):
    database.execute(
        "create table outbox (id bigserial primary key, aggregate_type text, "
        "aggregate_id text, payload text); create table truth (id bigint, "
        "aggregate text)")
    sections = {
        "source": "polling",
        "polling": {"strategy": "delete", "interval": "20ms",
                    "batch_size": 40},
        "outbox": {"tables": [{"name": "public.outbox"}]}}
    relays = [walpost(database, kafka, topics, **sections).run()
              for _ in range(2)]
    for _ in range(30):
        database.execute(
            "with inserted as (insert into outbox (aggregate_type, "
            "aggregate_id, payload) select 'order', 'a' || n %% 5, '{}' from "
            "generate_series(1, 100) n returning id, aggregate_id) "
            "insert into truth select * from inserted".replace("%%", "%"))
    wait_until(lambda: database.value("select count(*) from outbox") == 0,
               lambda: f"the rows to go out\n{relays[0].log()}", 60)
    expected = [(str(number), aggregate, number) for number, aggregate in
                database.execute("select id, aggregate from truth order by 1")]
    assert_delivered(expected, reader.read_all(topics))


def test_a_notification_wakes_the_poller(
        polled, walpost, database, kafka, topics, reader):
    run_sql_file(database, "outbox_notify.sql")
    walpost(database, kafka, topics,
            **polled.sections(interval="10m", notify="walpost_outbox")).run()
    for _ in range(3):
        polled.insert(5)
        polled.wait_published(20)
    assert len(reader.read(topics + "order")) == 15


@pytest.mark.long
def test_without_its_trigger_the_interval_is_the_safety_net(
        polled, walpost, database, kafka, topics, reader):
    walpost(database, kafka, topics,
            **polled.sections(interval="1s", notify="walpost_outbox")).run()
    for _ in range(3):
        polled.insert(5)
        polled.wait_published(20)
    assert len(reader.read(topics + "order")) == 15


@pytest.mark.long
def test_a_lost_connection_is_made_again(
        polled, walpost, database, kafka, topics, reader):
    relay = walpost(database, kafka, topics, **polled.sections()).run()
    for _ in range(5):
        polled.insert(400)
        database.execute("select pg_terminate_backend(pid) from "
                         "pg_stat_activity where application_name like "
                         "'walpost:%'")
    _deliver(polled, reader, topics, most_duplicates=2000)
    wait_until(lambda: relay.metric("walpost_reconnects_total") >= 1,
               "a reconnect")
    relay.wait_ready()


@pytest.mark.long
def test_a_held_snapshot_holds_up_no_claim(
        polled, walpost, database, kafka, topics, reader):
    walpost(database, kafka, topics, **polled.sections()).run()
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        with connection.cursor() as cursor:
            cursor.execute("set transaction isolation level repeatable read")
            cursor.execute("select count(*) from outbox")
            polled.insert(1000)
            _deliver(polled, reader, topics)


@pytest.mark.long
def test_the_fetch_reads_pending_rows_alone_beside_many_published(
        own_postgres, walpost, kafka, topics):
    """By the plans of the very statements, which the server logs."""
    database = own_postgres.create_database()
    polled = PolledOutbox(database)
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, "
        "status, published_at) select 'order', 'a' || n %% 1000, '{}', "
        "'published', now() from generate_series(1, %s) n",
        (1_000_000 if LONG else 200_000,))
    polled.insert(1000)
    database.execute("vacuum analyze outbox")
    relay = walpost(database, kafka, topics, **polled.sections(),
                    postgres=_explained(database)).run()
    polled.wait_published()
    relay.stop()
    plans = own_postgres.log_tail(100_000)
    assert "WITH blocked AS" in plans and "UPDATE" in plans, plans[-3000:]
    assert "outbox_pending" in plans
    assert "Seq Scan on outbox" not in plans
    rows = [int(found) for found in re.findall(
        r"Index Scan using \S+ on outbox .*?actual rows=(\d+)", plans)]
    assert rows and max(rows) <= 1000, sorted(rows)[-5:]


def _outbox_with_backlog(database, strategy, rows, batch):
    """Its statistics are of a time when nothing waited. Returns sections."""
    if strategy == "cursor":
        table, sections = "events", events_sections(batch_size=batch)
        database.execute(EVENTS)
    else:
        table = PolledOutbox.name
        sections = PolledOutbox(database).sections(strategy=strategy,
                                                   batch_size=batch)
    if strategy == "delete":
        database.execute("create index on outbox (sequence)")
        sections["outbox"]["tables"][0]["state"] = {}

    def insert(count):
        database.execute(
            f"insert into {table} (aggregate_type, aggregate_id, payload) "
            "select 'order', 'a' || n %% 1000, '1' from "
            "generate_series(1, %s) n", (count,))

    database.execute(f"alter table {table} set (autovacuum_enabled = off)")
    insert(5000)
    if strategy != "cursor":
        database.execute("update outbox set status = 'published'")
    database.execute(f"vacuum analyze {table}")
    database.execute(f"truncate {table}")
    insert(rows)
    return sections


@pytest.mark.parametrize("strategy", ["claim", "delete", "cursor"])
@pytest.mark.long
def test_a_backlog_is_not_read_again_for_each_batch(
        own_postgres, walpost, kafka, topics, strategy):
    """Whatever the planner believes of the table."""
    rows, batch = 20_000, 500
    database = own_postgres.create_database()
    sections = _outbox_with_backlog(database, strategy, rows, batch)
    relay = walpost(database, kafka, topics, **sections,
                    postgres=_explained(database)).run()
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total")
               >= rows, lambda: f"the backlog to be sent\n{relay.log()}", 60)
    relay.stop()
    batches = _fetches(own_postgres.log_tail(1_000_000), batch)
    assert len(batches) >= rows / batch - 5
    for plan in batches:
        assert "JIT:" not in plan, plan
        assert _most_read(plan) <= 4 * batch, plan


@pytest.mark.long
def test_a_window_far_below_reads_nothing_above_it(
        own_postgres, walpost, kafka, topics):
    """As with numbers that a session drew in advance."""
    database = own_postgres.create_database()
    database.execute(EVENTS + "insert into events (aggregate_id, seq) select "
                     "'a', 100000 + n from generate_series(1, 20000) n")
    relay = walpost(database, kafka, topics, **events_sections(),
                    postgres=_explained(database)).run()

    def wait_sent(count):
        wait_until(lambda: relay.metric("walpost_acknowledged_records_total")
                   == count, lambda: f"{count} records\n{relay.log()}", 60)

    wait_sent(20_000)
    time.sleep(1)
    before = len(own_postgres.log_tail(1_000_000))
    database.execute("insert into events (aggregate_id, seq) values ('b', 7)")
    wait_sent(20_001)
    time.sleep(1)
    assert relay.stop() == 0
    plans = own_postgres.log_tail(1_000_000)[before:]
    fetches = _fetches(plans, 500)
    assert fetches, plans[-3000:]
    for plan in fetches:
        assert _most_read(plan) <= 10, plan


@pytest.mark.long
def test_a_row_without_an_id_lets_none_pass_one_that_is_locked(
        polled, walpost, database, kafka, topics, reader):
    database.execute("alter table outbox drop constraint outbox_pkey, "
                     "alter id drop not null, add unique (id)")
    database.execute("insert into outbox (id, aggregate_type, aggregate_id) "
                     "values (null, 'order', 'odd')")
    polled.insert(5, aggregates=1)
    with database.transaction() as cursor:
        cursor.execute("select from outbox where id is not null "
                       "order by sequence limit 1 for update")
        relay = walpost(database, kafka, topics, **polled.sections()).run()
        time.sleep(2)
        assert "would never be marked" in relay.log()
        assert not [r for r in reader.read_all(topics) if r.id]
        cursor.connection.commit()
    wait_until(lambda: polled.counts().get("published") == 5,
               lambda: f"the rows to be published: {polled.counts()}")
    expected = [row for row in polled.expected() if row[0]]
    assert_delivered(expected,
                     [r for r in reader.read_all(topics) if r.id])


@pytest.mark.long
def test_a_clock_that_counts_milliseconds(
        polled, walpost, database, kafka, topics, reader):
    database.execute("alter table outbox drop created_at, add created_at "
                     "bigint not null default extract(epoch from now()) * "
                     "1000 - 60000")
    database.execute("insert into outbox (aggregate_type, aggregate_id) "
                     "values ('no topic', 'a')")
    polled.insert(5)
    sections = polled.sections(max_attempts=0)
    sections["outbox"]["tables"][0]["columns"] = {"timestamp": "created_at"}
    relay = walpost(database, kafka, topics, **sections).run()
    wait_until(lambda: polled.counts().get("published") == 5,
               lambda: f"the rows to be published\n{relay.log()}")
    wait_until(lambda: re.search(
        r'walpost_oldest_pending_seconds\{table="public.outbox"\} [67]\d\b',
        relay.get("/metrics")[1]), lambda: relay.get("/metrics")[1])


@pytest.mark.parametrize("strategy", ["claim", "delete"])
@pytest.mark.long
def test_a_crash_between_publish_and_mark_repeats_what_was_not_marked(
        database, walpost, own_kafka, topics, strategy):
    """At that very point: the table lets nobody write while Kafka has it."""
    polled = PolledOutbox(database)
    reader = KafkaReader(own_kafka.bootstrap)
    relay = walpost(database, own_kafka, topics,
                    **polled.sections(strategy=strategy, lease="2s")).run()
    polled.insert(20)
    before = polled.expected()
    wait_until(lambda: len(reader.read_all(topics)) == 20, "the first records")
    wait_until(lambda: not {"pending", "processing"} & set(polled.counts()),
               "the first rows to be settled")
    own_kafka.freeze()
    polled.insert(20)
    expected = {row[0]: row for row in [*before, *polled.expected()]}.values()
    wait_until(lambda: relay.metric("walpost_in_flight_records") == 20,
               lambda: f"the rows to be in flight\n{relay.log()}")
    with database.transaction() as cursor:
        cursor.execute("lock table outbox in share mode")
        own_kafka.thaw()
        wait_until(lambda: len(reader.read_all(topics)) == 40,
                   "Kafka to have them", 60)
        relay.kill()
        # Its statement waits for the lock, and would still be done.
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() "
            "and application_name like 'walpost%'")
    relay.run()
    wait_until(lambda: not {"pending", "processing"} & set(polled.counts()),
               lambda: f"the rows to be settled: {polled.counts()}", 60)
    assert assert_delivered(expected, reader.read_all(topics), 20) == 20


def _verified(relay):
    """What verify finds; what is missing must be an error."""
    said = relay.verb("verify", "--json", "--wait", "1")
    found = {kind: entry["count"] for kind, entry
             in json.loads(said.stdout)["findings"].items() if entry["count"]}
    assert said.returncode == bool(found), said.stdout
    return found


def test_verify_judges_a_table_that_is_polled(
        polled, walpost, database, kafka, topics):
    relay = walpost(database, kafka, topics, **polled.sections()).run()
    polled.insert(500)
    polled.wait_published()
    said = relay.verb("verify", "--json", "--sequence", "sequence", "--wait", "1")
    report = json.loads(said.stdout)
    assert said.returncode == 0 and report["clean"], said.stdout
    assert report["expected"] == report["records"] == 500, said.stdout
    # And it does see what is not there.
    relay.stop()
    polled.insert(1)
    assert _verified(relay) == {"unconfirmed": 1}
    database.execute("update outbox set status = 'published' "
                     "where status = 'pending'")
    assert _verified(relay) == {"missing": 1}
