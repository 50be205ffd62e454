"""Rows that walpost never came to see, by ways that leave no trace in the stream:
they are named, and nothing of walpost vouches for them. `prune` with no age at
all deletes what it may: rows that are not in Kafka are never among it."""

import copy

import pytest

from harness import (KafkaReader, put_on_record, read_birth, run_sql_file,
                     wait_until)
from harness.birth import LONG_AGO
from harness.matrix import long_only


_TABLE = """create table {0} (
    id uuid primary key default gen_random_uuid(), aggregate_type text,
    aggregate_id text, payload text, created_at timestamptz default now());
    create index on {0} (created_at);"""


def _insert(database, table, count=5, age="0 days"):
    return {row[0] for row in database.execute(
        f"insert into {table} (aggregate_type, aggregate_id, payload, "
        "created_at) select 'order', 'key-' || n, '1', now() - %s::interval "
        f"from generate_series(1, {count}) n returning id::text", (age,))}


def _in_kafka(kafka, topics):
    return {record.id
            for record in KafkaReader(kafka.bootstrap).read_all(topics)}


def _check_prune(relay, database, kafka, topics, unsent, *tables):
    """Says what `prune` says, once it has deleted none of the unsent rows."""
    assert not unsent & _in_kafka(kafka, topics)
    pruned = relay.verb("prune", "--older-than", "0s")
    left = {row[0] for table in tables
            for row in database.execute(f"select id::text from {table}")}
    assert unsent <= left, pruned.stdout
    return pruned.stdout + pruned.stderr


def _wait_gap(relay, words, code="coverage_changed"):
    relay.wait_unready(rf"\[{code}\].*{words}", 20)


@pytest.mark.parametrize("store", ["none", *long_only("file")])
def test_p9_p11_a_table_is_left_out_for_a_run(
        walpost, database, kafka, topics, directory, store):
    database.execute(_TABLE.format("a") + _TABLE.format("b"))
    both = [{"name": "public.a"}, {"name": "public.b"}]
    section = {"store": store}
    if store == "file":
        section["path"] = str(directory / "checkpoint")
    relay = walpost(database, kafka, topics, outbox={"tables": both},
                    checkpoint=section).run()
    _insert(database, "a")
    _insert(database, "b")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    config = copy.deepcopy(relay.config)
    relay.configure({**config, "outbox": {"tables": both[:1]}})
    relay.run()
    unsent = _insert(database, "b")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    relay.configure(config)
    relay.start()
    _wait_gap(relay, "rows of table public.b", "table_passed_over")
    said = _check_prune(relay, database, kafka, topics, unsent, "b")
    assert "table_passed_over" in said
    assert relay.stop() == 0
    database.wait_slot_inactive(relay.slot)
    recovered = relay.verb("recover", "--order-by", "created_at")
    assert recovered.returncode == 0, recovered.stderr
    assert unsent <= _in_kafka(kafka, topics)
    relay.run()
    _insert(database, "b")
    database.wait_confirmed(relay.slot)


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.long
def test_p9_p11_a_role_that_may_not_correct_the_record(
        walpost, own_postgres, own_database, kafka, topics, left_out):
    """A record that an older release wrote is good enough; one that would vouch
    for what is passed over from now on is not."""
    assert own_postgres
    own_database.execute(_TABLE.format("a") + _TABLE.format("b"))
    own_database.execute("create role relay login replication")
    both = [{"name": "public.a"}, {"name": "public.b"}]
    relay = walpost(own_database, kafka, topics, outbox={"tables": both})
    assert relay.verb("init").returncode == 0
    if not left_out:
        put_on_record(own_database, relay.slot, coverage=None,
                      tables=("public.a", "public.b"),
                      **{"from": None, "at": None})
    config = copy.deepcopy(relay.config)
    config["postgres"]["conninfo"] = own_database.conninfo(user="relay")
    if left_out:
        config["outbox"]["tables"] = both[:1]
    relay.configure(config)
    if not left_out:
        relay.run()
        _insert(own_database, "a")
        own_database.wait_confirmed(relay.slot)
        return
    said = relay.verb("run")
    assert said.returncode == 3, said.stderr
    assert "left out of outbox.tables" in said.stderr
    assert "COMMENT ON PUBLICATION" in said.stderr


@pytest.mark.long
def test_p11_a_copy_of_the_database_in_the_same_cluster(
        walpost, own_database, kafka, topics):
    """Its catalog, the record of the birth among it, is the same to the letter;
    the slot is of the other one."""
    own_database.execute(_TABLE.format("outbox"))
    relay = walpost(own_database, kafka, topics).run()
    _insert(own_database, "outbox")
    own_database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    other = own_database.copied()
    pending = _insert(own_database, "outbox")
    config = copy.deepcopy(relay.config)
    config["postgres"]["conninfo"] = other.conninfo()
    relay.configure(config)
    wanted = f"slot {relay.slot} belongs to database {own_database.name}"
    unsent = _insert(other, "outbox")
    assert wanted in _check_prune(relay, other, kafka, topics, unsent, "outbox")
    other.execute("alter publication walpost set (publish = 'insert, update')")
    for words in (("check",), ("recover", "--force", "--order-by", "created_at"),
                  ("recover", "--accept"), ("init",), ("run",)):
        said = relay.verb(*words)
        assert said.returncode != 0
        assert wanted in said.stdout + said.stderr, words
    # What was pending in the slot of the first is there.
    config["postgres"]["conninfo"] = own_database.conninfo()
    relay.configure(config)
    relay.run()
    own_database.wait_confirmed(relay.slot)
    assert pending <= _in_kafka(kafka, topics)


@pytest.mark.parametrize("covers", ["for all tables",
                                    "for tables in schema public"])
@pytest.mark.long
def test_p9_p11_attached_to_another_root_for_a_moment(
        walpost, database, kafka, topics, covers):
    """Its rows go out under the name of that root, as rows of another table."""
    if database.major() < 15:
        return
    database.execute(_TABLE.format("outbox").replace("primary key", "not null"))
    database.execute(
        f"create publication walpost {covers} "
        "with (publish = 'insert', publish_via_partition_root = true)")
    relay = walpost(database, kafka, topics).run()
    _insert(database, "outbox")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.execute(
        "create table all_events (like outbox) partition by range (created_at);"
        "alter table all_events attach partition outbox default")
    unsent = _insert(database, "outbox")
    database.execute("alter table all_events detach partition outbox;"
                     "drop table all_events")
    relay.start()
    _wait_gap(relay, "public.outbox")
    _check_prune(relay, database, kafka, topics, unsent, "outbox")


@pytest.mark.long
def test_p9_somebody_wipes_out_the_record_of_a_gap(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "key")
    database.wait_confirmed(relay.slot)
    database.execute("alter publication walpost drop table outbox;"
                     "alter publication walpost add table outbox")
    _wait_gap(relay, "public.outbox")
    wait_until(lambda: "gap" in read_birth(database, relay.slot), "the record")
    database.execute("comment on publication walpost is 'events'")
    wait_until(lambda: "gap" in (read_birth(database, relay.slot) or ()),
               "the record to be written again")
    assert relay.stop() == 0
    relay.start()
    _wait_gap(relay, "")
    outbox.insert("order", "key")
    assert relay.verb("prune", "--older-than", "0s").returncode == 3


@pytest.fixture
def partitioned(walpost, database, kafka, topics):
    """A relay, and the partition of eight days ago, with rows that were sent."""
    run_sql_file(database, "outbox_partitioned.sql")
    day = database.value("select (now() at time zone 'UTC')::date - 8")
    name = f"outbox_p{day:%Y%m%d}"
    bounds = f"from ('{day} 00:00+00') to ('{day} 23:59:59.9+00')"
    database.execute(
        f"create table {name} partition of outbox for values {bounds}")
    relay = walpost(database, kafka, topics).run()
    put_on_record(database, relay.slot, born_at=LONG_AGO)
    _insert(database, "outbox", age="8 days")
    database.wait_confirmed(relay.slot)
    return relay, name, bounds


@pytest.mark.long
def test_p9_p11_a_partition_is_unlogged_for_a_moment(
        database, kafka, topics, partitioned):
    relay, name, _ = partitioned
    database.execute(f"alter table {name} set unlogged")
    relay.wait_unready(f"{name} is unlogged", 15)
    assert f"{name} is unlogged" in relay.verb("check").stdout
    unsent = _insert(database, "outbox", age="8 days")
    database.execute(f"alter table {name} set logged")
    relay.wait_ready()
    _insert(database, "outbox")
    database.wait_confirmed(relay.slot)
    _check_prune(relay, database, kafka, topics, unsent, "outbox")


@pytest.mark.long
def test_p11_rows_of_a_detached_partition_are_touched_later(
        database, kafka, topics, partitioned):
    """Which makes them look younger than the attachment."""
    relay, name, bounds = partitioned
    database.execute(f"alter table outbox detach partition {name}")
    unsent = _insert(database, name, age="8 days")
    database.execute(
        f"alter table outbox attach partition {name} for values {bounds}")
    relay.wait_log(f"partition public.{name} had .* when it was attached")
    database.execute("update outbox set type = 'touched'")
    _insert(database, "outbox")
    database.wait_confirmed(relay.slot)
    _check_prune(relay, database, kafka, topics, unsent, "outbox")


@pytest.mark.long
def test_p11_what_recover_passes_over_is_not_on_record_as_sent(
        walpost, database, kafka, topics):
    """Two tables of one topic hold the same ids with other values."""
    database.execute(_TABLE.format("a") + _TABLE.format("b"))
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.a", "order_by": "created_at"},
        {"name": "public.b", "order_by": "created_at"}]}).run()
    _insert(database, "a")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.wait_slot_inactive(relay.slot)
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    database.execute("insert into b (id, aggregate_type, aggregate_id, payload) "
                     "select id, aggregate_type, aggregate_id, 'b' from a")
    recovered = relay.verb("recover")
    assert recovered.returncode == 0, recovered.stderr
    relay.run()
    _insert(database, "a")
    database.wait_confirmed(relay.slot)
    values = [record.value
              for record in KafkaReader(kafka.bootstrap).read_all(topics)]
    pruned = relay.verb("prune", "--older-than", "0s").stdout
    unsent = 5 - values.count(b"b")
    assert database.value("select count(*) from b") >= unsent, pruned


@pytest.mark.long
def test_p9_p11_another_publication_takes_its_place(
        walpost, database, kafka, topics):
    """No store; the record of the slot lies in the first one's comment."""
    database.execute(_TABLE.format("a"))
    relay = walpost(database, kafka, topics,
                    outbox={"tables": [{"name": "public.a"}]}).run()
    _insert(database, "a")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.execute("create publication other")
    unsent = _insert(database, "a")
    database.execute("alter publication other add table a")
    config = copy.deepcopy(relay.config)
    config["postgres"]["publication"] = "other"
    relay.configure(config)
    relay.start()
    _wait_gap(relay, "publication")
    _check_prune(relay, database, kafka, topics, unsent, "a")
    assert relay.stop() == 0
    recovered = relay.verb("recover", "--order-by", "created_at")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    relay.run()
    _insert(database, "a")
    database.wait_confirmed(relay.slot)
    assert unsent <= _in_kafka(kafka, topics)
    # What the first one's comment says is of the past now.
    assert relay.stop() == 0
    relay.run()
    assert relay.stop() == 0


@pytest.mark.long
def test_p9_a_table_that_others_inherit_from_is_refused(
        walpost, database, kafka, topics):
    """Their rows are seen in it, and are sent under another name."""
    database.execute(_TABLE.format("a") + "create table child () inherits (a)")
    relay = walpost(database, kafka, topics,
                    outbox={"tables": [{"name": "public.a"}]})
    words = "has a child table public.child (INHERITS)"
    checked = relay.verb("check")
    assert checked.returncode == 1 and words in checked.stdout
    relay.start()
    assert relay.wait_exit() == 3
    assert words in relay.log()
    database.execute("alter table child no inherit a")
    relay.run()
    sent = _insert(database, "a")
    database.wait_confirmed(relay.slot)
    assert sent <= _in_kafka(kafka, topics)
