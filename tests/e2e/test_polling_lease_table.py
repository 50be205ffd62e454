"""Leases in a table of their own: who holds what, and what if it is touched."""

import json
import signal
import time

import pytest

from harness import KafkaReader
from harness.matrix import LONG
from harness.polled import STATE, PolledOutbox, assert_delivered
from harness.remedies import statements
from harness.waiting import wait_until


@pytest.fixture
def polled(database):
    return PolledOutbox(database, "table")


def _deliver(polled, reader, topics, most_duplicates=0):
    polled.wait_published()
    return assert_delivered(polled.expected(), reader.read_all(topics),
                            most_duplicates)


@pytest.fixture
def stall(polled, walpost, database, own_kafka, topics):
    """A walpost that holds 20 rows, Kafka frozen, after 50 that it published."""
    def begin(**polling):
        relay = walpost(database, own_kafka, topics,
                        **polled.sections(**polling)).run()
        polled.insert(50)
        polled.wait_published()
        own_kafka.freeze()
        polled.insert(20)
        wait_until(lambda: polled.held() == 20,
                   lambda: f"rows to be held: {polled.counts()}\n{relay.log()}")
        return relay

    return begin


def test_a_row_is_written_once(polled, walpost, database, kafka, topics, reader):
    """When it has been published, and not when it is claimed."""
    polled.insert(1000, aggregates=300)
    walpost(database, kafka, topics, **polled.sections()).run()
    _deliver(polled, reader, topics)

    def updates():
        return database.value("select n_tup_upd from pg_stat_user_tables "
                              "where relname = 'outbox'")

    wait_until(lambda: updates() >= 1000, updates)
    assert updates() == 1000
    assert polled.held() == 0


def test_p3_pollers_that_are_killed_keep_the_order_of_an_aggregate(
        polled, walpost, database, kafka, topics, reader):
    """Three at a time, of which one or another is killed and begins again."""
    sections = polled.sections(lease="1s", batch_size=40, interval="20ms")
    relays = [walpost(database, kafka, topics, **sections).start()
              for _ in range(3)]
    rounds = 24 if LONG else 6
    for number in range(rounds):
        polled.insert(300, aggregates=7)
        time.sleep(0.05 + 0.02 * (number % 5))
        relays[number % 3].kill()
        relays[number % 3].start()
    # A crash repeats what was held, at most a batch.
    _deliver(polled, reader, topics, most_duplicates=40 * rounds)


def test_p3_a_poller_that_wakes_after_its_lease_marks_no_row_as_failed(
        polled, walpost, database, own_kafka, topics):
    """It was frozen while it held them; another one has published them."""
    kafka = KafkaReader(own_kafka.bootstrap)
    first = walpost(database, own_kafka, topics,
                    **polled.sections(lease="1s", max_attempts=1)).run()
    polled.insert(50)
    polled.wait_published()
    first.send(signal.SIGSTOP)
    try:
        polled.insert(200)
        walpost(database, own_kafka, topics,
                **polled.sections(lease="1s", max_attempts=1)).run()
        polled.wait_published()
    finally:
        first.send(signal.SIGCONT)
    first.wait_ready()
    polled.insert(200)
    _deliver(polled, kafka, topics)
    assert polled.counts() == {"published": 450}


@pytest.mark.parametrize("harm", ["delete from walpost_leases",
                                  "truncate walpost_leases",
                                  "update walpost_leases set holder = 'other'"])
@pytest.mark.sample(3)
def test_records_whose_lease_is_gone_are_called_back(
        stall, polled, database, own_kafka, topics, harm):
    relay = stall(lease="6s")
    database.execute(harm)
    relay.wait_log("calling back 20 records: the lease of some")
    own_kafka.thaw()
    # The frozen broker may have had them in its socket buffer, each time.
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics,
             most_duplicates=60)


def test_a_lease_table_that_vanishes_is_not_made_again(
        stall, polled, walpost, database, own_kafka, topics):
    """Whoever found a new one empty would send what the other one holds."""
    relay = stall(lease="3s")
    database.execute("alter table walpost_leases rename to put_away")
    relay.wait_log("calling back 20 records")
    relay.wait_unready("polling.lease_table public.walpost_leases does not exist")
    second = walpost(database, own_kafka, topics, **polled.sections()).start()
    assert second.wait_exit() == 3, "nor made by one that starts"
    assert database.value("select to_regclass('walpost_leases')") is None
    database.execute("alter table put_away rename to walpost_leases")
    own_kafka.thaw()
    _deliver(polled, KafkaReader(own_kafka.bootstrap), topics,
             most_duplicates=40)


@pytest.mark.long
def test_rows_that_a_poller_with_the_column_has_left_are_published(
        polled, walpost, database, kafka, topics, reader):
    """It was stopped, one of them crashed, and where leases are was changed."""
    polled.insert(5, aggregates=5)
    database.execute("update outbox set status = 'processing', "
                     "locked_until = now() + interval '3 s'")
    polled.insert(5, aggregates=5)
    sections = polled.sections()
    sections["outbox"]["tables"][0]["state"] = STATE  # as it was
    walpost(database, kafka, topics, **sections).run()
    time.sleep(1)
    assert polled.counts() == {"processing": 5, "pending": 5}
    _deliver(polled, reader, topics)


def test_rows_without_an_aggregate_are_held_one_by_one(
        polled, walpost, database, kafka, topics, reader):
    """Two walposts share them; neither sends what the other one holds."""
    sections = polled.sections(batch_size=50, interval="20ms")
    sections["outbox"]["tables"][0]["columns"] = {"aggregate_id": None}
    relays = [walpost(database, kafka, topics, **sections).run()
              for _ in range(2)]
    for _ in range(10):
        polled.insert(400)
    polled.wait_published()
    records = reader.read_all(topics)
    assert len(records) == len({record.id for record in records}) == 4000
    shares = [relay.metric("walpost_acknowledged_records_total")
              for relay in relays]
    assert sum(shares) == 4000 and min(shares) > 0, shares


@pytest.mark.long
def test_a_topic_that_waits_holds_its_own_aggregates(
        polled, walpost, database, strict_kafka, topics):
    """Rows in flight keep their lease when others of the claim are done."""
    strict_kafka.create_topic(topics + "order", 2)
    polled.insert(30, aggregates=3, aggregate_type="nowhere")
    polled.insert(500, aggregates=5)
    walpost(database, strict_kafka, topics,
            **polled.sections(max_attempts=0, batch_size=100)).run()
    wait_until(lambda: polled.counts().get("published") == 500,
               lambda: f"the other topic's rows: {polled.counts()}", 45)
    strict_kafka.create_topic(topics + "nowhere", 2)
    _deliver(polled, KafkaReader(strict_kafka.bootstrap), topics)


def test_delete_with_a_lease_opens_no_transaction_while_it_waits(
        polled, walpost, database, own_kafka, topics):
    database.execute("create index on outbox (sequence)")
    sections = polled.sections(strategy="delete", lease="2s")
    sections["outbox"]["tables"] = [
        {"name": polled.name, "order_by": "sequence"}]
    own_kafka.create_topic(topics + "order", 1)
    relay = walpost(database, own_kafka, topics, **sections).run()
    polled.insert(20)
    expected = polled.expected()
    wait_until(lambda: polled.counts() == {}, polled.counts)
    own_kafka.freeze()
    polled.insert(20)
    expected = {row[0]: row for row in [*expected, *polled.expected()]}.values()
    wait_until(lambda: polled.held() == 20,
               lambda: f"rows to be held\n{relay.log()}")
    time.sleep(3)
    assert database.value(
        "select count(*) from pg_stat_activity where datname = "
        "current_database() and application_name like 'walpost:%' and state "
        "like 'idle in transaction%'") == 0
    assert polled.held() == 20
    own_kafka.thaw()
    wait_until(lambda: polled.counts() == {},
               lambda: f"rows to be deleted: {polled.counts()}\n{relay.log()}")
    assert_delivered(list(expected),
                     KafkaReader(own_kafka.bootstrap).read_all(topics),
                     20 * relay.metric("walpost_rewinds_total"))


def test_many_keys_and_a_long_life_leave_few_lines(
        polled, walpost, database, kafka, topics, reader):
    """Each claim of 1,000 aggregates takes five lines, always the same."""
    walpost(database, kafka, topics,
            **polled.sections(batch_size=1000, interval="20ms")).run()
    for _ in range(5):
        polled.insert(2000, aggregates=2000)
        polled.wait_published()
    _deliver(polled, reader, topics)
    assert database.value("select count(*) from walpost_leases") <= 5
    assert database.value("select pg_total_relation_size("
                          "(select reltoastrelid from pg_class where oid = "
                          "'walpost_leases'::regclass))") <= 8192


def test_what_dead_pollers_left_is_cleared(
        polled, walpost, database, kafka, topics, reader):
    database.execute(
        "insert into walpost_leases select 'outbox', h, 0, now() - age, keys "
        "from (values ('dead', interval '1 s', '{1,2}'::bigint[]), "
        "('idle', '1 hour', '{}'), ('gone', '2 days', '{}')) v (h, age, keys)")
    walpost(database, kafka, topics, **polled.sections()).run()
    polled.insert(10)
    _deliver(polled, reader, topics)
    left = {row[0] for row in database.execute(
        "select holder from walpost_leases")}
    assert "idle" in left and not left & {"dead", "gone"}


@pytest.mark.long
def test_two_tables_may_share_it(walpost, database, kafka, topics, reader):
    polled = PolledOutbox(database, "table")
    database.execute("create table other (like outbox including all)")
    sections = polled.sections()
    table, = sections["outbox"]["tables"]
    sections["outbox"]["tables"].append({**table, "name": "public.other"})
    walpost(database, kafka, topics, **sections).run()
    polled.insert(100)
    database.execute(
        "insert into other (aggregate_type, aggregate_id, payload) select "
        "'order', 'a' || n % 10, '{}' from generate_series(1, 100) n")
    polled.wait_published()
    wait_until(lambda: database.value("select count(*) from other where status "
                                      "= 'published'") == 100, "the other's")
    assert len(reader.read_all(topics)) == 200


@pytest.mark.parametrize("found, harm", [
    ("lease_table_missing", "drop table walpost_leases"),
    ("lease_table_forbidden", "revoke all on walpost_leases from {role}"),
    ("lease_table_unlogged", "alter table walpost_leases set unlogged"),
])
@pytest.mark.sample(3)
def test_check_names_what_is_wrong_with_it_and_the_remedy_mends_it(
        polled, walpost, database, kafka, topics, found, harm):
    role = f"poller_{database.name}"
    database.execute(
        f"create role {role} login; "
        f"grant select, update on outbox to {role}; "
        f"grant select, insert, update, delete on walpost_leases to {role}")
    try:
        relay = walpost(database, kafka, topics, **polled.sections(),
                        postgres={"conninfo": database.conninfo(user=role)})
        before = relay.verb("check")
        assert before.returncode == 0, before.stdout
        database.execute(harm.format(role=role))
        broken = relay.verb("check", "--json")
        assert broken.returncode == 1
        entry, = [entry for entry
                  in map(json.loads, broken.stdout.splitlines())
                  if entry["id"] == found]
        for statement in statements(entry["remedy"]):
            database.execute(statement)
        mended = relay.verb("check")
        assert mended.returncode == 0, mended.stdout
        relay.run()
        polled.insert(5)
        polled.wait_published()
        relay.stop()
    finally:
        database.execute(f"drop owned by {role}; drop role {role}")


@pytest.mark.long
def test_check_names_a_table_that_is_something_else(
        polled, walpost, database, kafka, topics):
    relay = walpost(database, kafka, topics,
                    **polled.sections(lease_table="public.outbox"))
    said = relay.verb("check")
    assert said.returncode == 1
    assert "has not the columns of sql/leases.sql" in said.stdout


@pytest.mark.long
def test_a_cursor_holds_no_rows(polled, walpost, database, kafka, topics):
    relay = walpost(database, kafka, topics,
                    **polled.sections(strategy="cursor"))
    said = relay.verb("check")
    assert said.returncode == 2
    assert "polling.lease_table: " in said.stderr
    assert "cursor holds no rows" in said.stderr


def test_init_makes_it_and_lets_the_role_use_it(
        walpost, database, kafka, topics, reader):
    role = f"poller_{database.name}"
    database.execute(f"create role {role} login")
    polled = PolledOutbox(database)
    polled.leases = "table"
    try:
        relay = walpost(database, kafka, topics, **polled.sections(),
                        postgres={"conninfo": database.conninfo(user=role)})
        printed = relay.verb("init", "--print")
        assert "create table if not exists public.walpost_leases" in \
            printed.stdout
        for done in ("created", "exists"):
            said = relay.verb("init", "--admin", database.conninfo())
            assert said.returncode == 0, said.stderr
            assert f"table public.walpost_leases: {done}" in said.stdout
        relay.run()
        polled.insert(50)
        _deliver(polled, reader, topics)
        relay.stop()
    finally:
        database.execute(f"drop owned by {role}; drop role {role}")
