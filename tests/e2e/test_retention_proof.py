"""A row goes only with proof that Kafka has it: what was never sent stays.

Each case makes rows that are in Kafka and rows that never get there, all of them
old by their own account, and says which may go. A reader of Kafka that is not
ours says which is which. `prune` and `run` must agree.
"""

import datetime
import re
import time

import pytest

from harness import (KafkaReader, Outbox, Store, put_on_record, read_birth,
                     run_sql_file, wait_until)
from harness.matrix import long_only

_DAY = datetime.timedelta(days=1)
# The slot is as old as this by its record; rows go from the age of 7 days.
_BORN = 10.5 * _DAY
# Ages of rows, as (in a partition, in the default partition).
_SENT = (8, 9)
_YOUNG = (10, 9.2)  # than the record
_OLD = (12, 11)     # older than it: the time says so, whatever xmin says


class World:
    """A table with rows, a relay, and who of the rows may go."""

    def __init__(self, walpost, database, kafka, topics, shape, way, store):
        self.database = database
        self.shape = shape
        self.way = way
        self.topics = topics
        self.reader = KafkaReader(kafka.bootstrap)
        self.may_go, self.must_stay = set(), set()
        self._make_table()
        retention = {"batch_rows": 3, "pause": "0ms"}
        if way == "run":
            retention.update(keep="7d", interval="1s")
        sections = {"retention": retention}
        if store is not None:
            sections["checkpoint"] = store.section
        self.relay = walpost(database, kafka, topics, **sections)

    def _make_table(self):
        if self.shape == "plain":
            Outbox(self.database, self.topics)
            self.database.execute(
                "alter table outbox add created_at timestamptz not null "
                "default now(); create index on outbox (created_at)")
            return
        run_sql_file(self.database, "outbox_partitioned.sql")
        for age in (_SENT[0], _YOUNG[0], _OLD[0]):
            self.add_day(age)

    def day(self, age):
        begin = self.database.value(
            "select (now() at time zone 'UTC')::date - %s", (age,))
        return (f"outbox_p{begin:%Y%m%d}",
                f"from ('{begin} 00:00+00') to ('{begin + _DAY} 00:00+00')")

    def add_day(self, age):
        name, bounds = self.day(age)
        self.database.execute(f"create table {name} partition of outbox "
                              f"for values {bounds}")

    def insert(self, ages, table="outbox"):
        return {str(row[0]) for age in ages for row in self.database.execute(
            f"insert into {table} (aggregate_type, aggregate_id, payload, "
            "created_at) select 'order', 'key-' || n, '1', now() - %s * "
            "interval '1 day' from generate_series(1, 5) n returning id",
            (age,))}

    def send(self, ages=_SENT):
        """Rows that go out, and may go."""
        ids = self.insert(ages)
        self.database.wait_confirmed(self.relay.slot)
        self.may_go |= ids

    def keep_back(self, ids):
        """Rows that never go out."""
        self.must_stay |= ids

    def record(self, **words):
        """As if the slot were made now, by a clock that is days behind."""
        now = self.database.value("select now()")
        put_on_record(self.database, self.relay.slot,
                      **{"born_at": now - _BORN, **words})

    def rows(self):
        return {str(row[0]) for row in self.database.execute(
            "select id from outbox")}

    def prune(self, *words, code=0):
        said = self.relay.verb("prune", "--older-than", "7d", *words,
                               seconds=120)
        output = said.stdout + said.stderr
        assert said.returncode == code, output
        return output

    def check_kafka(self):
        found = {record.id for record in self.reader.read_all(self.topics)}
        assert self.may_go <= found, "a row that should have been sent was not"
        assert not self.must_stay & found, "a row got sent after all"

    def expect_only_proven_go(self, reason):
        """`reason` is why the others stay."""
        self.check_kafka()
        code = 0
        if self.shape == "partitioned" and self.must_stay:
            code = 1  # their day is still there
        if self.way == "prune":
            said = self.prune("--dry-run", code=code)
            assert self.rows() == self.may_go | self.must_stay
            assert f"{len(self.must_stay)} as old are kept" in said, said
            said = self.prune(code=code)
            assert reason in said, said
        wait_until(lambda: not self.may_go & self.rows(),
                   lambda: f"sent rows to go\n{self.relay.log()}", 30)
        if self.way == "run":
            self.relay.wait_log("rows are kept")
            assert reason in self.relay.log()
            kept = 'walpost_kept_rows{table="public.outbox"} '
            wait_until(lambda: kept + str(len(self.must_stay))
                       in self.relay.get("/metrics")[1], "the metric", 10)
            time.sleep(1.5)  # more passes
        assert self.rows() == self.must_stay

    def expect_nothing_goes(self, reason, *words, code=3):
        """`reason`: what `prune` says, and exits with `code`."""
        self.check_kafka()
        # Where `run` prunes, some of the sent ones went before the gap.
        everything = self.rows()
        assert self.must_stay <= everything <= self.may_go | self.must_stay
        said = self.prune(*words, code=code)
        assert reason in said, said
        if code == 3 and everything:
            assert f"{len(everything)} as old are kept" in said, said
        if self.way == "run":
            time.sleep(1.5)  # some passes
        assert self.rows() == everything


def _all(*shapes_and_ways):
    """Parameters: these always, the rest of the matrix with WALPOST_LONG=1."""
    rest = [(shape, way) for shape in ("plain", "partitioned")
            for way in ("prune", "run") if (shape, way) not in shapes_and_ways]
    return pytest.mark.parametrize(
        "shape,way", [*shapes_and_ways, *long_only(*rest)])


@pytest.fixture
def world(walpost, database, kafka, topics, shape, way):
    return World(walpost, database, kafka, topics, shape, way, None)


@pytest.fixture
def stored_world(walpost, database, kafka, topics, shape, way, directory):
    """With a checkpoint in a file."""
    store = Store("file", directory, database, kafka, topics)
    return World(walpost, database, kafka, topics, shape, way, store)


@_all(("plain", "prune"), ("partitioned", "run"))
@pytest.mark.sample(2)
def test_p11_rows_older_than_the_slot(world):
    world.keep_back(world.insert(_YOUNG + _OLD))
    world.relay.run()
    world.record()
    world.send()
    world.expect_only_proven_go("is known to send rows since transaction")


@_all(("partitioned", "prune"))
@pytest.mark.long
def test_p11_rows_older_than_the_slot_with_a_young_xmin(world):
    world.keep_back(world.insert(_OLD))
    world.relay.run()
    world.record()
    world.send()
    world.database.execute("update outbox set type = 'touched'")
    # Every row is written again.
    world.database.execute("alter table outbox add again timestamptz not null "
                           "default clock_timestamp()")
    assert world.database.value("select count(distinct xmin::text) "
                                "from outbox") == 1
    world.database.wait_confirmed(world.relay.slot)
    if world.shape == "partitioned":
        # It may have been unlogged meanwhile, which Postgres allows then.
        return world.expect_nothing_goes("rows without proof", code=1)
    world.expect_only_proven_go("is known to send rows since transaction")


@_all(("partitioned", "run"))
def test_p11_a_publication_that_stopped_for_a_moment(world):
    world.relay.run()
    world.record()
    world.send()
    world.relay.stop()
    with world.database.transaction() as cursor:
        cursor.execute("alter publication walpost drop table outbox")
    world.keep_back(world.insert(_YOUNG))
    world.database.execute("alter publication walpost add table outbox")
    world.relay.start()
    world.relay.wait_unready(r"\[coverage_changed\]")
    world.expect_nothing_goes("coverage_changed")


@_all(("partitioned", "prune"))
@pytest.mark.long
def test_p11_a_slot_that_was_made_again(stored_world):
    world = stored_world
    world.relay.run()
    world.record()
    world.send()
    world.relay.stop()
    slot = world.relay.slot
    world.database.execute("select pg_drop_replication_slot(%s)", (slot,))
    world.keep_back(world.insert(_YOUNG))
    if world.way == "prune":
        world.expect_nothing_goes("slot_missing")
    world.database.execute(
        "select pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
    if world.way == "run":
        world.relay.start()
    world.expect_nothing_goes("slot_advanced")
    # Nor on the operator's word.
    world.expect_nothing_goes("walpost recover", "--assume-sent-before", "1h")


@_all(("plain", "prune"))
@pytest.mark.long
def test_p11_a_gap_that_is_on_record(world):
    world.relay.run()
    world.record()
    world.send()
    world.record(gap="wal_forked")
    world.expect_nothing_goes("wal_forked", "--assume-sent-before", "1h")


@_all(("plain", "run"))
@pytest.mark.long
def test_p11_without_a_record_nothing_is_proven(world):
    world.keep_back(world.insert(_YOUNG))
    world.relay.run()
    world.database.execute("comment on publication walpost is null")
    world.send()
    world.expect_nothing_goes("walpost init")
    if world.way == "run":
        checked = world.relay.verb("check").stdout
        assert "no row is deleted" in checked, checked
    # A record of an older release.
    world.record(**{"from": None, "at": None, "coverage": None})
    world.expect_nothing_goes("walpost init")


@pytest.mark.parametrize("shape,way", [("plain", "prune"),
                                       *long_only(("plain", "run"))])
@pytest.mark.long
def test_p11_a_record_by_init(world):
    """Of an existing table, and of a slot that an older release put on record."""
    world.keep_back(world.insert(_YOUNG))
    assert world.relay.verb("init").returncode == 0
    world.record(**{"from": None, "at": None, "coverage": None})
    world.relay.run()
    world.expect_nothing_goes("walpost init")
    assert world.relay.verb("init").returncode == 0
    time.sleep(1.1)  # the record has whole seconds
    world.send((0,))
    relay, database = world.relay, world.database
    if world.way == "prune":
        said = relay.verb("prune", "--older-than", "0s")
        assert "10 as old are kept" in said.stdout, said.stdout
        assert "5 rows deleted" in said.stdout
        assert world.rows() == world.must_stay
    world.check_kafka()
    # Where that is known, it stays known.
    before = read_birth(database, relay.slot)
    assert relay.verb("init").returncode == 0
    assert read_birth(database, relay.slot) == before


@_all(("plain", "run"))
@pytest.mark.long
def test_after_a_complete_recover_everything_is_proven(world):
    """As `recover` notes it: everything from before the slot was published."""
    world.relay.run()
    world.send()
    world.send(_OLD)
    world.record(**{"from": "3", "at": "1970-01-01T00:00:00Z"})
    if world.way == "prune":
        assert "as old are kept" not in world.prune()
    wait_until(lambda: not world.rows(),
               lambda: f"everything to go\n{world.relay.log()}", 30)
    world.check_kafka()


@pytest.mark.parametrize("shape,way", [("partitioned", "prune"),
                                       *long_only(("plain", "prune"))])
@pytest.mark.long
def test_the_operators_word_is_for_rows_before_a_time(world):
    gone = world.insert(_OLD)
    world.keep_back(world.insert(_YOUNG))
    world.relay.run()
    world.record()
    world.send()
    assert "give a time with its zone" in world.prune(
        "--assume-sent-before", "2026-01-31 00:00:00", code=2)
    border = world.database.value("select now() - interval '10.5 days'")
    word = border.astimezone(datetime.timezone.utc)
    code = 1 if world.shape == "partitioned" else 0
    said = world.prune("--assume-sent-before", f"{word:%Y-%m-%dT%H:%M:%SZ}",
                       code=code)
    assert f"{len(world.must_stay)} of them have no proof" in said
    assert world.rows() == world.must_stay
    assert gone
    # As `prune` suggests it.
    suggested = said.split("--assume-sent-before '")[1].split("'")[0]
    assert "as old are kept" not in world.prune("--assume-sent-before",
                                                suggested)
    assert not world.rows()


@pytest.mark.parametrize("shape,way", [("partitioned", "prune"),
                                       *long_only(("partitioned", "run"))])
@pytest.mark.long
def test_p11_rows_written_before_their_partition_was_attached(world):
    world.relay.run()
    world.record()
    world.send()
    name, bounds = world.day(9)
    # Its rows in the default partition are in the way.
    world.prune()
    world.may_go = set()
    world.database.execute(f"create table {name} (like outbox including all)")
    world.keep_back(world.insert((9,), table=name))
    world.database.execute(
        f"alter table outbox attach partition {name} for values {bounds}")
    world.relay.wait_log(f"partition public.{name} had 5 rows when it was attached")
    assert re.search("walpost verify -c .* names those",
                     world.relay.verb("check").stdout)
    world.send((9,))
    # A day with one of them stays whole.
    everything = world.may_go | world.must_stay
    if world.way == "prune":
        assert "10 rows without proof" in world.prune(code=1)
    else:
        world.relay.wait_log("10 rows without proof")
    assert world.rows() == everything
    world.check_kafka()


@pytest.mark.parametrize("shape,way", [("partitioned", "prune")])
@pytest.mark.long
def test_a_partition_that_was_made_filled_and_attached_at_once(world):
    world.relay.run()
    world.relay.wait_ready()
    name, bounds = world.day(20)
    world.database.execute(
        f"create table {name} (like outbox including all);"
        f"insert into {name} (aggregate_type, aggregate_id, created_at) "
        "select 'order', n, (now() at time zone 'UTC')::date - 20 "
        "from generate_series(1, 3) n;"
        f"alter table outbox attach partition {name} for values {bounds};"
        "insert into outbox (aggregate_type, aggregate_id, created_at) "
        "values ('order', 4, (now() at time zone 'UTC')::date - 20)")
    world.relay.wait_log(f"partition public.{name} had 3 rows when it was")



@_all(("plain", "prune"))
@pytest.mark.long
def test_p11_a_table_that_was_added_later_has_a_proof_of_its_own(world):
    """It begins when the table is taken up, and not with the slot."""
    world.relay.run()
    world.record()
    world.send()
    world.database.execute("create table late (like outbox including all)")
    late = world.insert(_YOUNG, table="late")
    world.database.execute("alter publication walpost add table late")
    config = {**world.relay.config, "outbox": {"tables": [
        {"name": "public.outbox"}, {"name": "public.late"}]}}
    world.relay.stop()
    world.relay.configure(config)
    world.relay.run()
    if world.way == "prune":
        said = world.prune()
        assert "public.late: 0 rows deleted, 10 as old are kept" in said, said
    else:
        world.relay.wait_log(r"public\.late: 10 old rows are kept")
    wait_until(lambda: not world.rows(), "the sent rows to go", 30)
    left = {str(row[0]) for row in world.database.execute(
        "select id from late")}
    assert left == late


@pytest.mark.parametrize("way", ["prune", *long_only("run")])
@pytest.mark.long
def test_p11_rows_of_a_restored_server(walpost, own_postgres, own_database,
                                       kafka, topics, directory, way):
    """The data folder of an earlier time, put back behind walpost's back."""
    store = Store("file", directory, own_database, kafka, topics)
    world = World(walpost, own_database, kafka, topics, "plain", way, store)
    world.relay.run()
    world.record()
    world.send()
    world.relay.stop()
    own_postgres.backup(directory / "backup")
    world.relay.run()
    world.database.execute(
        "create table other as select n from generate_series(1, 100000) n")
    forgotten = world.insert(_YOUNG)
    world.database.wait_confirmed(world.relay.slot)
    world.relay.stop()
    own_postgres.restore(directory / "backup")
    assert not forgotten & world.rows()
    world.keep_back(world.insert(_YOUNG))
    if way == "run":
        world.relay.start()
    world.expect_nothing_goes("server_behind")
