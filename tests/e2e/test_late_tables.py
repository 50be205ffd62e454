"""P1, P9: a table that comes to outbox.tables later. Each of its committed rows is
in Kafka, or counted and said, or is why walpost is not ready, with a remedy that
publishes it; and nothing healthy stops the flow.

The matrix: what comes, by which publication, with which checkpoint store and
guarantee, whether the role of walpost owns the publication, and what happens to
the walpost that does not know the table yet.
"""

import copy
import re
import time

import pytest

from harness import KafkaReader, Outbox, checkpoint_section, wait_until
from harness.matrix import LONG, pairs
from harness.remedies import commands


_OLD = 5      # rows that the table has before the publication has it
_BETWEEN = 7  # rows that the walpost of before receives
_MANY = 40_000  # rows of a snapshot that is killed in the middle

_GAP = r"\[table_passed_over\]"


class World:
    """A production flow of `public.outbox`, and what is added to it."""

    def __init__(self, walpost, database, kafka, topics, directory, case):
        self.case = case
        self.database = database
        self.kafka = kafka
        self.topics = topics
        self.outbox = Outbox(database, topics)
        self.role = None  # of walpost; None: the superuser
        self.may_write = case["owner"] == "ours"  # the birth record
        self.tables = ["public.outbox"]
        self._make_publication()
        self._walpost = walpost
        self._directory = directory
        self.sections = {}  # of later configurations
        self.relay = self._new_relay()
        # Only a superuser may own a publication for all tables.
        if not self.may_write or case["publication"] != "all":
            self._make_role()

    def _new_relay(self):
        sections = checkpoint_section(self.case["store"], self._directory,
                                      "x-" + self.topics)
        if self.case["guarantee"] == "exactly_once":
            sections["delivery"] = {"guarantee": "exactly_once"}
        return self._walpost(self.database, self.kafka, self.topics,
                             postgres={"create": False}, outbox={"tables": []},
                             **sections)

    def _make_publication(self):
        is_for_all = self.case["publication"] == "all"
        self.database.execute(
            "create publication walpost for "
            + ("all tables with (publish = 'insert')" if is_for_all else
               "table outbox with (publish = 'insert', "
               "publish_via_partition_root = true)"))

    def _make_role(self):
        self.role = f"relay_{self.database.name}"
        self.database.execute(
            f"create role {self.role} login replication; "
            f"grant usage, create on schema public to {self.role}; "
            f"grant select on all tables in schema public to {self.role}; "
            "alter default privileges in schema public grant select on tables "
            f"to {self.role}")

    def drop_role(self):
        if self.role is not None:
            self.database.execute(f"drop owned by {self.role}; "
                                  f"drop role {self.role}")

    # ---- What operators do.

    def make(self, table, partitioned=False):
        """An outbox table, whose rows are in `truth`, too."""
        self.database.execute(
            f"create table {table} (like outbox including defaults)"
            + (" partition by range (sequence); create table "
               f"{table}_0 partition of {table} default" if partitioned else
               "") + f"; create trigger remember after insert on {table} "
            "for each row execute function remember()")

    def insert(self, table, count, then=""):
        self.database.execute(
            f"insert into {table} (aggregate_type, aggregate_id, payload, "
            "sequence) select 'order', %s || '-' || n %% 3, to_jsonb(n), "
            "n + last from generate_series(1, %s) n, (select "
            "coalesce(max(sequence), 0) from truth) known (last)" + then,
            (table, count))

    def configure(self, *tables, relay=None):
        relay = relay or self.relay
        config = {**copy.deepcopy(relay.config), **self.sections}
        config["outbox"]["tables"] = [
            {"name": name, "order_by": "sequence"} for name in tables]
        if self.role is not None:
            config["postgres"]["conninfo"] = self.database.conninfo(self.role)
        relay.configure(config)
        self.tables = list(tables)

    def init(self, relay=None):
        """As the superuser, who owns everything, and gives the publication to
        walpost or keeps it."""
        words = [] if self.may_write or self.role is None else [
            "--role", self.database.execute("select current_user")[0][0]]
        said = self.as_owner("init", *words, relay=relay)
        assert said.returncode == 0, said.stdout + said.stderr
        if words and self.case["store"] == "postgres":
            self.database.execute(
                f"grant all on walpost_checkpoint to {self.role}")
        return said.stdout

    def as_owner(self, *words, relay=None):
        return (relay or self.relay).verb(
            *words, "--set", "postgres.conninfo=" + self.database.conninfo())

    def start_flow(self):
        self.configure("public.outbox")
        self.init()
        self.relay.run()
        self.insert("outbox", 10)
        self.flow()

    def start_flow_of(self, *tables):
        self.configure(*tables)
        self.init()
        self.relay.run()
        self.insert("outbox", 10)
        self.flow()

    def leave_out_push(self, rows):
        """It is sent, is taken out of the configuration, and gets more rows."""
        self.make("push")
        self.start_flow_of("public.outbox", "public.push")
        self.insert("push", 4)
        self.flow()
        self.end()
        self.configure("public.outbox")
        self.correct_record()
        self.relay.run()
        self.insert("push", rows)
        self.insert("outbox", 3)
        self.flow()

    def flow(self):
        """Everything that the stream has is sent and confirmed."""
        self.database.wait_confirmed(self.relay.slot)

    def flow_of_old(self):
        """The same; rows of a table on record may wait instead, where walpost
        cannot put on record that it passes over them."""
        if self.case["store"] == "none" and not self.may_write:
            self.relay.wait_acknowledged(0)
            time.sleep(3)
        else:
            self.flow()

    def end(self):
        """The walpost of the old configuration goes."""
        self.end_of(self.relay)

    def end_of(self, relay):
        if self.case["end"] == "kill":
            relay.kill()
        else:
            assert relay.stop() == 0

    def new_instance(self, *tables):
        """A second walpost of the same slot and store."""
        relay = self._new_relay()
        config = copy.deepcopy(self.relay.config)
        config["http"] = relay.config["http"]
        relay.configure(config)
        self.configure(*tables, relay=relay)
        return relay

    def correct_record(self):
        """A record that vouches for a table that is left out has to be corrected
        by its owner, if walpost may not do it: as `run` says."""
        if self.may_write:
            return
        said = self.relay.verb("run", seconds=20)
        assert said.returncode == 3 and "left out of outbox.tables" in said.stderr
        self.paste(said.stderr)

    def paste(self, text):
        statement = re.search(r"COMMENT ON PUBLICATION.*;", text, re.S)[0]
        self.database.execute(statement.rstrip().rstrip(";"))

    # ---- The truth.

    def records(self):
        return KafkaReader(self.kafka.bootstrap).read_all(self.topics)

    def committed(self):
        """Records that a consumer of committed ones reads."""
        if self.topics + "order" not in KafkaReader(
                self.kafka.bootstrap).topics(self.topics):
            return 0
        return len(self.records())

    def missing(self):
        found = {record.id for record in self.records()}
        return [event for event in self.outbox.expected()
                if event.id not in found]

    def counted(self, table):
        """How many rows the log says that it will not publish."""
        found = re.search(rf"table {re.escape(table)} is new in outbox.tables, "
                          r"and has (\d+) rows? that slot \S+ does not send",
                          self.relay.log())
        return int(found[1]) if found else 0

    def settled(self):
        """Waits until it streams or says why not; returns the reason."""
        def state():
            code, text = self.relay.get("/readyz")
            streams = code == 200 and not text.startswith("standby")
            return (streams and "streaming") or (
                code == 503 and re.search(_GAP, text) and text)

        return wait_until(state, lambda: (
            f"an answer; /readyz says {self.relay.get('/readyz')}\n"
            f"{self.relay.log()}"), 40)

    def run_remedies(self, reason):
        """The commands that the reason names, as they stand there."""
        replays = [words for words in commands(reason)
                   if words[0] == "replay"]
        assert replays, reason
        for verb, _, _, *words in replays:
            said = self.relay.verb(verb, *words)
            if said.returncode == 3 and "COMMENT ON PUBLICATION" in said.stderr:
                self.paste(said.stderr)
            else:
                assert said.returncode == 0, said.stdout + said.stderr
        self.relay.wait_ready(30)

    def check(self, passed, old, healthy=False):
        """`passed`: tables whose rows may have been passed over, with numbers;
        `old`: tables with rows that are older than their place."""
        reason = self.settled()
        if healthy:
            assert reason == "streaming", reason
        if reason != "streaming":
            for table in passed:
                assert table in reason, reason
            time.sleep(2.5)  # it stays
            assert self.settled() != "streaming"
            self.run_remedies(reason)
        else:
            self.flow()
            said = {table: self.counted(table) for table in old}
            assert said == old, self.relay.log()
            assert len(self.missing()) == sum(old.values())
            for table, count in old.items():
                if count:
                    said = self.as_owner("replay", "--from-table", "--table",
                                         table, "--missing")
                    assert said.returncode == 0, said.stderr
        for table in self.tables:
            self.insert(table.split(".")[1], 3)
        self.flow()
        wait_until(lambda: not self.missing(),
                   lambda: f"everything in Kafka; {self.missing()[:3]}", 20)
        # The next start has nothing to say.
        assert self.relay.stop() == 0
        self.relay.run()
        assert "is new in outbox.tables" not in self.relay.log()
        self.insert("outbox", 2)
        self.flow()
        assert not self.missing()
        assert self.relay.stop() == 0


_VALUES = {
    "publication": ["table", "all"],
    "store": ["none", "file", "kafka", "postgres"],
    "guarantee": ["at_least_once", "exactly_once"],
    "owner": ["ours", "other"],
    "end": ["stop", "kill"],
}


def _makes_no_sense(case):
    return (case["guarantee"] == "exactly_once" and case["store"] != "kafka")


def _matrix(part, **values):
    """In CI a seventh of the pairs, another one for each test."""
    cases = pairs(unless=_makes_no_sense, **_VALUES, **values)
    return pytest.mark.parametrize(
        "case", cases if LONG else cases[part % 7::7], ids=str)


@pytest.fixture
def world(walpost, database, kafka, topics, directory, case):
    made = World(walpost, database, kafka, topics, directory, case)
    yield made
    made.relay.close()
    made.drop_role()


@_matrix(0)
@pytest.mark.sample(2)
def test_p1_p9_init_while_walpost_runs_and_rows_before_the_restart(world):
    """As everybody would: edit, check, init, restart."""
    world.make("push")
    world.insert("push", _OLD)
    world.start_flow()
    world.configure("public.outbox", "public.push")
    world.relay.verb("check")
    said = world.init()
    assert re.search(r"public\.push\b.* 5 rows", said), said
    world.insert("push", _BETWEEN)
    world.insert("outbox", 3)
    world.flow_of_old()
    world.end()
    world.relay.start()
    world.check({"public.push": _BETWEEN}, {"public.push": _OLD})


@_matrix(1, rows=[0, _OLD])
@pytest.mark.long
def test_p1_a_table_that_is_added_while_walpost_is_stopped(world):
    """The safe order: stop, init, start. Rows of the time between come."""
    world.make("push")
    world.insert("push", world.case["rows"])
    world.start_flow()
    world.end()
    world.configure("public.outbox", "public.push")
    world.init()
    world.insert("push", _BETWEEN)
    world.insert("outbox", 3)
    world.relay.start()
    world.check({}, {"public.push": world.case["rows"]}, healthy=True)


@_matrix(2, rows=[0, _OLD])
@pytest.mark.long
def test_p1_init_while_walpost_runs_and_no_row_before_the_restart(world):
    world.make("push")
    world.insert("push", world.case["rows"])
    world.start_flow()
    world.configure("public.outbox", "public.push")
    said = world.init()
    assert "restart walpost" in said, said
    world.insert("outbox", 3)
    world.flow_of_old()
    world.end()
    world.insert("push", _BETWEEN)  # comes
    world.relay.start()
    world.check({}, {"public.push": world.case["rows"]}, healthy=True)


@_matrix(9)
@pytest.mark.long
def test_p1_p9_a_partitioned_table(world):
    """Its rows come under the name of the root."""
    if world.case["publication"] == "all":
        world.database.execute("alter publication walpost set "
                               "(publish_via_partition_root = true)")
    world.make("push", partitioned=True)
    world.insert("push", _OLD)
    world.start_flow()
    world.configure("public.outbox", "public.push")
    world.init()
    world.insert("push", _BETWEEN)
    world.insert("outbox", 3)
    world.flow_of_old()
    world.end()
    world.relay.start()
    world.check({"public.push": _BETWEEN}, {"public.push": _OLD})


@_matrix(10)
@pytest.mark.long
def test_a_table_that_is_taken_out(world):
    """Its rows hold up nothing."""
    world.leave_out_push(_BETWEEN)
    world.relay.wait_ready(10)
    left_out = {event.id for event in world.missing()}
    assert len(left_out) == _BETWEEN
    said = world.relay.verb("verify")
    assert said.returncode == 0, said.stdout
    world.end()
    world.relay.run()  # the next start has nothing to say
    world.insert("outbox", 3)
    world.flow()
    assert {event.id for event in world.missing()} == left_out


@_matrix(3)
@pytest.mark.long
def test_p1_p9_two_tables_at_once(world):
    for table in ("push", "mail"):
        world.make(table)
        world.insert(table, _OLD)
    world.start_flow()
    world.configure("public.outbox", "public.push", "public.mail")
    world.init()
    world.insert("push", _BETWEEN)
    world.insert("mail", _BETWEEN + 1)
    world.flow_of_old()
    world.end()
    world.relay.start()
    world.check({"public.push": _BETWEEN, "public.mail": _BETWEEN + 1},
                {"public.push": _OLD, "public.mail": _OLD})


@_matrix(4, rows=[0, _BETWEEN])
@pytest.mark.long
def test_p1_p9_a_table_that_is_taken_out_and_brought_back(world):
    world.leave_out_push(world.case["rows"])
    world.end()
    world.configure("public.outbox", "public.push")
    world.relay.start()
    # Without a record nothing tells that no row was passed over.
    is_kept = world.case["store"] != "none" or world.may_write
    passed = ({} if is_kept and not world.case["rows"]
              else {"public.push": world.case["rows"]})
    world.check(passed, {}, healthy=not passed)


@_matrix(5)
@pytest.mark.long
def test_p9_rows_that_the_application_deletes_at_once(world):
    """The table is empty again when the next walpost looks."""
    world.make("push")
    world.start_flow()
    world.configure("public.outbox", "public.push")
    world.init()
    world.insert("push", _BETWEEN, then="; delete from push")
    world.insert("outbox", 3)
    world.flow_of_old()
    world.end()
    world.relay.start()
    reason = world.settled()
    deleted = {event.id for event in world.outbox.expected()
               if event.key.startswith(b"push")}
    if reason == "streaming":  # they were never confirmed
        world.flow()
        assert not world.missing()
        return
    assert "public.push" in reason
    world.run_remedies(reason)
    world.insert("push", 3)
    world.flow()
    assert {event.id for event in world.missing()} == deleted


@_matrix(6)
@pytest.mark.long
def test_p1_a_table_that_is_renamed_with_its_configuration(world):
    world.make("push")
    world.start_flow_of("public.outbox", "public.push")
    world.insert("push", 4)
    world.flow()
    world.end()
    world.insert("push", _BETWEEN)  # under the old name
    world.database.execute("alter table push rename to notice")
    world.insert("notice", 2)
    world.configure("public.outbox", "public.notice")
    config = world.relay.config
    config["outbox"]["tables"][1]["formerly"] = ["public.push"]
    world.relay.configure(config)
    world.relay.start()
    world.check({}, {}, healthy=True)


@_matrix(7, rows=[0, 300])
@pytest.mark.long
def test_p1_p5_a_snapshot_of_a_table_that_comes_later(world):
    """For this table alone, once."""
    world.sections = {"snapshot": "initial"}
    world.make("push")
    world.insert("push", world.case["rows"])
    world.start_flow()
    sent = len(world.records())
    world.end()
    world.configure("public.outbox", "public.push")
    said = world.init()
    if world.case["rows"]:
        assert "are published at the next start" in said, said
    world.insert("push", _BETWEEN)  # these come with the stream
    world.relay.start()
    assert world.settled() == "streaming"
    world.flow()
    if world.case["store"] == "none" and not world.may_write:
        # It could not be put on record, and would be repeated at each start.
        assert world.counted("public.push") == world.case["rows"]
        assert len(world.missing()) == world.case["rows"]
        return
    assert "is new in outbox.tables, and has" not in world.relay.log()
    assert not world.missing()
    records = world.records()
    snapshot = [record for record in records
                if any(name == "walpost-snapshot" for name, _ in record.headers)]
    assert len(snapshot) >= world.case["rows"]
    assert not any(name == "walpost-position" for record in snapshot
                   for name, _ in record.headers)
    if world.case["guarantee"] == "exactly_once":
        assert len(records) == sent + world.case["rows"] + _BETWEEN
    said = world.relay.verb("verify")
    assert said.returncode == 0, said.stdout
    # The next start has nothing to do.
    world.end()
    world.relay.run()
    world.flow()
    assert len(world.records()) <= len(records) + _BETWEEN
    again = [record for record in world.records()
             if any(name == "walpost-snapshot" for name, _ in record.headers)]
    assert len(again) == len(snapshot)


@pytest.mark.long
def test_p5_a_snapshot_of_a_later_table_that_is_killed_goes_on(
        walpost, database, kafka, topics, directory):
    """Exactly once: behind the last committed row."""
    case = {"publication": "table", "store": "kafka", "owner": "ours",
            "guarantee": "exactly_once", "end": "stop"}
    world = World(walpost, database, kafka, topics, directory, case)
    world.sections = {"snapshot": "initial", "delivery": {  # it takes its time
        "guarantee": "exactly_once", "max_in_flight_records": 50}}
    world.make("push")
    world.start_flow()
    sent = len(world.records())
    world.end()
    world.insert("push", _MANY)
    world.configure("public.outbox", "public.push")
    world.init()
    world.insert("push", _BETWEEN)
    world.relay.start()
    wait_until(lambda: world.committed() > sent + 500, "a part of the rows",
               pause=0.01)
    world.relay.kill()
    assert world.committed() < sent + _MANY, "it came too late"
    world.relay.start()
    assert world.settled() == "streaming"
    world.flow()
    assert not world.missing()
    assert world.committed() == sent + _MANY + _BETWEEN


@pytest.mark.long
def test_rows_of_a_partition_before_it_was_attached_are_counted(
        walpost, database, kafka, topics, directory):
    """Also if walpost has passed over them as rows of another table."""
    case = {"publication": "all", "store": "none", "owner": "ours",
            "guarantee": "at_least_once", "end": "stop"}
    world = World(walpost, database, kafka, topics, directory, case)
    database.execute("alter publication walpost set "
                     "(publish_via_partition_root = true)")
    world.make("events", partitioned=True)
    world.make("events_1")
    world.start_flow_of("public.outbox", "public.events")
    world.insert("events", 4)
    world.insert("events_1", _BETWEEN)
    world.flow()
    database.execute("drop trigger remember on events_1; "
                     "alter table events attach partition events_1 "
                     "for values from (1000000) to (2000000)"
                     if False else
                     "update events_1 set sequence = sequence + 1000000; "
                     "drop trigger remember on events_1; "
                     "alter table events attach partition events_1 "
                     "for values from (1000000) to (2000000)")
    world.relay.wait_log(r"partition public\.events_1 had 7 rows when it was")
    assert len(world.missing()) == _BETWEEN
    said = world.relay.verb("replay", "--from-table", "--table",
                            "public.events", "--missing")
    assert said.returncode == 0, said.stderr
    wait_until(lambda: not world.missing(), "everything in Kafka", 20)


@pytest.mark.long
def test_p9_an_outbox_under_a_partitioned_root(
        walpost, database, kafka, topics, directory):
    """Its rows are sent under the name of the root, which is another table."""
    case = {"publication": "table", "store": "file", "owner": "ours",
            "guarantee": "at_least_once", "end": "stop"}
    world = World(walpost, database, kafka, topics, directory, case)
    world.make("events", partitioned=True)
    world.make("push")
    # init does not take over a publication with tables of others.
    database.execute("alter publication walpost add table events; "
                     f"alter publication walpost owner to {world.role}")
    world.start_flow_of("public.outbox", "public.push")
    world.insert("push", 4)
    world.insert("events", 5)  # passed over
    world.flow()
    database.execute(
        "drop trigger remember on push; alter table push alter sequence set "
        "not null; update push set sequence = sequence + 1000000; "
        "alter table events attach partition push "
        "for values from (1000000) to (2000000)")
    reason = world.relay.wait_unready(r"\[coverage_changed\]|is not in", 20)
    assert "public.push" in reason
    # The root is the outbox from now on.
    assert world.relay.stop() == 0
    world.configure("public.outbox", "public.events")
    recovered = world.relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    world.relay.run()
    world.insert("events", 3)
    world.flow()
    wait_until(lambda: not world.missing(), "everything in Kafka", 20)


_STANDBYS = pairs(
    unless=lambda case: (case["guarantee"] == "exactly_once"
                         and case["store"] != "kafka"),
    publication=["table", "all"], store=["none", "kafka", "postgres"],
    guarantee=["at_least_once", "exactly_once"], owner=["ours"],
    end=["stop", "kill"], rows=[0, _BETWEEN])


@pytest.mark.parametrize(
    "case", _STANDBYS, ids=str)
@pytest.mark.long
def test_p1_p9_a_standby_with_the_new_configuration_takes_over(world):
    """And gives the slot back to one with the old configuration."""
    world.make("push")
    world.insert("push", _OLD)
    world.start_flow()
    old = world.relay
    new = world.new_instance("public.outbox", "public.push")
    world.init(new)
    new.start()
    new.wait_log("is in use|standby")
    world.insert("push", world.case["rows"])
    world.insert("outbox", 3)
    world.flow()
    world.end_of(old)
    world.relay = new
    reason = world.settled()
    assert (reason == "streaming") == (world.case["rows"] == 0), reason
    if reason != "streaming":
        world.run_remedies(reason)
    world.insert("push", 2)
    world.flow()
    # And back.
    world.relay = old
    old.start()
    old.wait_log("is in use|standby")
    world.end_of(new)
    old.wait_log("streaming from slot")
    world.insert("push", world.case["rows"])
    world.insert("outbox", 3)
    world.flow()
    new.start()
    new.wait_log("is in use|standby")
    world.end_of(old)
    world.relay = new
    passed = {"public.push": 0} if world.case["rows"] else {}
    reason = world.settled()
    assert (reason == "streaming") == (not passed), reason
    old_rows = [event for event in world.missing()]
    if reason != "streaming":
        world.run_remedies(reason)
    elif old_rows:
        said = new.verb("replay", "--from-table", "--table", "public.push",
                        "--missing")
        assert said.returncode == 0, said.stderr
    world.insert("push", 2)
    world.flow()
    wait_until(lambda: not world.missing(), "everything in Kafka", 20)
