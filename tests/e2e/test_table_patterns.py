"""outbox.tables by a pattern: a schema for each tenant.

Tables that match are published under the rules of tables that are listed; one
that comes later is taken up without a restart, and none of its rows is confirmed
before it is.
"""

import collections
import re
import time

import pytest

from harness import wait_until
from harness.polled import STATE
from harness.remedies import commands, run_command, statements

_TENANTS = "tenant_*.outbox"
_COLUMNS = ("id uuid primary key default gen_random_uuid(), aggregate_type text "
            "not null, aggregate_id text, type text, payload jsonb, created_at "
            "timestamptz default now()")


class Tenants:
    """Schemas with an outbox each. The aggregate_type of its events is the name
    of the tenant, and so is their topic."""

    def __init__(self, database, reader, topics):
        self.database = database
        self.reader = reader
        self.topics = topics
        self.committed = collections.Counter()

    def publish(self, which="all tables"):
        self.database.execute(
            f"create publication walpost for {which} with (publish = 'insert', "
            "publish_via_partition_root = true)")

    def make(self, *names, columns=_COLUMNS, table="outbox"):
        for name in names:
            self.database.execute(f'create schema if not exists "{name}"; '
                                  f'create table "{name}"."{table}" ({columns})')

    def insert(self, *names, count=1, table="outbox"):
        for name in names:
            self.database.execute(
                f'insert into "{name}"."{table}" (aggregate_type, aggregate_id, '
                "payload) select %s, 'k' || n % 3, to_jsonb(n) from "
                "generate_series(1, %s) n".replace("n % 3", "n %% 3"),
                (name, count))
            self.committed[name] += count

    def sent(self):
        """Events in Kafka, each once."""
        return collections.Counter(
            topic.removeprefix(self.topics) for topic, _ in
            {(record.topic, record.id)
             for record in self.reader.read_all(self.topics)})

    def wait_sent(self, relay, missing=None, seconds=40):
        """Everything that was committed is in Kafka, but what is `missing`."""
        expected = +(self.committed - collections.Counter(missing or {}))
        wait_until(lambda: self.sent() == expected, lambda: (
            f"{expected}; Kafka has {self.sent()}; /readyz says "
            f"{relay.get('/readyz')}\n{relay.log()}"), seconds)


@pytest.fixture
def tenants(database, reader, topics):
    return Tenants(database, reader, topics)


@pytest.fixture
def relay_of(walpost, database, kafka, topics):
    def make(*tables, create=True, **sections):
        return walpost(database, kafka, topics, postgres={"create": create},
                       outbox={"tables": [
                           entry if isinstance(entry, dict) else {"name": entry}
                           for entry in tables]}, **sections)
    return make


def _refusal(relay):
    """What `run` and `check` say of a start that they refuse."""
    ran = relay.verb("run")
    assert ran.returncode == 3, ran.stderr
    checked = relay.verb("check")
    assert checked.returncode == 1, checked.stdout
    return ran.stderr, checked.stdout


@pytest.mark.parametrize("sections", [
    {}, {"checkpoint": {"store": "kafka"}},
    {"checkpoint": {"store": "kafka"}, "delivery": {"guarantee": "exactly_once"}},
], ids=["slot", "checkpoint", "exactly once"])
@pytest.mark.sample(3)
def test_p1_tenants_that_come_while_walpost_runs_and_while_it_is_down(
        tenants, relay_of, topics, sections):
    if "checkpoint" in sections:
        sections["checkpoint"]["topic"] = "x-" + topics
    tenants.make("tenant_1", "tenant_2", "tenant_3")
    tenants.publish()
    relay = relay_of(_TENANTS, **sections)
    assert relay.verb("check").returncode == 0
    relay.run()
    tenants.insert("tenant_1", "tenant_2", "tenant_3", count=5)
    tenants.wait_sent(relay)
    pid = relay.pid

    # Its rows come at once, and it has rows of others before and behind it.
    tenants.make("tenant_4")
    tenants.insert("tenant_1", "tenant_4", "tenant_2", count=7)
    tenants.wait_sent(relay)
    relay.wait_ready()
    # One without rows is taken up, too.
    tenants.make("tenant_5")
    relay.wait_log("table tenant_5.outbox is new by a pattern")
    relay.wait_ready()
    tenants.insert("tenant_5", "tenant_4")
    tenants.wait_sent(relay)
    assert relay.running() and relay.pid == pid
    assert re.search(r"tenant_4\.outbox is new in outbox.tables, and has no rows "
                     "that slot", relay.log())
    assert not re.search(r"and has \d+ row", relay.log())

    assert relay.stop() == 0
    tenants.make("tenant_6")
    tenants.insert("tenant_6", "tenant_1", count=9)
    relay.run()
    tenants.insert("tenant_6")
    tenants.wait_sent(relay)
    assert relay.verb("verify").returncode == 0
    if "delivery" in sections:
        records = tenants.reader.read_all(topics)
        assert len(records) == sum(tenants.committed.values())
    assert relay.stop() == 0
    relay.run()  # the next start has nothing to say
    assert "is new" not in relay.log()


@pytest.mark.long
def test_partitions_of_a_table_that_matches_are_no_tables(tenants, relay_of):
    """Postgres describes them, too, and their rows have the name of the root."""
    tenants.publish()
    tenants.make("tenant_1", columns=_COLUMNS.replace(" primary key", "")
                 + ") partition by hash (id")
    for number in range(2):
        tenants.database.execute(
            f'create table "tenant_1"."outbox_{number}" partition of'
            f' "tenant_1"."outbox" for values with (modulus 2, remainder {number})')
    relay = relay_of("tenant_*.outbox*").run()
    tenants.insert("tenant_1", count=20)
    tenants.wait_sent(relay)
    tenants.insert("tenant_1", count=20)
    tenants.wait_sent(relay)
    assert relay.get("/readyz")[0] == 200, relay.log()


@pytest.mark.long
def test_p1_p9_rows_from_before_the_publication_are_named(tenants, relay_of):
    """A tenant whose table is not in the publication is the reason why walpost
    is not ready; the others go on."""
    tenants.make("tenant_1")
    relay = relay_of(_TENANTS)
    relay.run()
    tenants.insert("tenant_1")
    tenants.wait_sent(relay)
    tenants.make("tenant_2")
    tenants.insert("tenant_2", count=4)  # in no WAL that is sent
    reason = relay.wait_unready(r"table tenant_2\.outbox is not in publication")
    tenants.insert("tenant_1")
    tenants.wait_sent(relay, missing={"tenant_2": 4})
    for statement in statements(reason):
        tenants.database.execute(statement)
    relay.wait_ready()
    tenants.insert("tenant_2")
    tenants.wait_sent(relay, missing={"tenant_2": 4})
    relay.wait_log(r"table tenant_2\.outbox is new in outbox.tables, and has 4 "
                   r"rows that slot \S+ does not send")
    replayed = relay.verb("replay", "--from-table", "--table", "tenant_2.outbox",
                          "--missing")
    assert replayed.returncode == 0, replayed.stderr
    tenants.wait_sent(relay)
    assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_a_table_whose_columns_do_not_fit(tenants, relay_of):
    """An error with its name, at the start and later; it goes on by itself when
    the table fits."""
    tenants.make("tenant_1")
    tenants.make("tenant_2", columns="id uuid, note text")
    tenants.publish()
    relay = relay_of(_TENANTS)
    ran, checked = _refusal(relay)
    for said in (ran, checked):
        assert "tenant_2.outbox has no column 'payload'" in said, said
    tenants.database.execute("drop schema tenant_2 cascade")
    relay.run()
    tenants.make("tenant_3", columns="id uuid, note text")
    relay.wait_unready(r"tenant_3\.outbox has no column 'payload'")
    tenants.insert("tenant_1")  # goes on meanwhile
    tenants.wait_sent(relay)
    tenants.database.execute("insert into tenant_3.outbox values "
                             "(gen_random_uuid(), 'x')")
    relay.wait_unready(r"tenant_3\.outbox has no column 'payload'")
    tenants.database.execute(
        "drop table tenant_3.outbox; create table tenant_3.outbox "
        f"({_COLUMNS})")
    tenants.insert("tenant_3", "tenant_1")
    # The row in the WAL has the columns of then.
    relay.wait_unready(r"tenant_3\.outbox has no column 'payload'")


@pytest.mark.long
def test_an_exact_entry_wins_and_two_patterns_are_refused(tenants, relay_of,
                                                          topics):
    tenants.make("tenant_1", "tenant_2")
    tenants.publish()
    own = {"name": "tenant_2.outbox", "topic": topics + "vip"}
    relay = relay_of(_TENANTS, own)
    relay.run()
    tenants.insert("tenant_1", "tenant_2")
    wait_until(lambda: tenants.sent() == {"tenant_1": 1, "vip": 1},
               lambda: str(tenants.sent()), 20)
    assert relay.stop() == 0

    overlapping = {"name": "*_x.outbox"}
    relay.config["outbox"]["tables"].append(overlapping)
    relay.configure(relay.config)
    relay.run()
    tenants.make("tenant_x")
    text = ("table tenant_x.outbox matches tenant_*.outbox and *_x.outbox in "
            "outbox.tables")
    relay.wait_unready(text.replace("*", r"\*"))
    tenants.insert("tenant_1")
    wait_until(lambda: tenants.sent()["tenant_1"] == 2, "the others", 20)
    assert relay.stop() == 0
    for said in _refusal(relay):
        assert text in said, said
    # The remedy.
    relay.config["outbox"]["tables"].append({"name": "tenant_x.outbox"})
    relay.configure(relay.config)
    relay.run()
    tenants.insert("tenant_x")
    wait_until(lambda: tenants.sent()["tenant_x"] == 1, "tenant_x", 20)


@pytest.mark.long
def test_a_pattern_that_matches_nothing_says_so(tenants, relay_of):
    tenants.publish()
    relay = relay_of("tenat_*.outbox", _TENANTS)
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert "warning outbox.tables tenat_*.outbox matches no table" in (
        checked.stdout)
    made = relay.verb("init")
    assert made.returncode == 0, made.stderr
    assert "tenant_*.outbox: none matches" in made.stdout
    relay.run()
    relay.wait_log(r"no table matches tenat_\*\.outbox")
    relay.wait_log(r"no table matches tenant_\*\.outbox")
    tenants.make("tenant_1")
    tenants.insert("tenant_1", count=3)
    tenants.wait_sent(relay)
    assert "no table matches tenant_*.outbox" not in (
        relay.verb("check").stdout)


@pytest.mark.long
def test_a_star_that_is_escaped_is_a_star(tenants, relay_of):
    tenants.make("tenant_*", "tenant_1")
    tenants.publish()
    relay = relay_of({"name": r"tenant_\*.outbox",
                      "topic": tenants.topics + "star"})
    relay.run()
    tenants.insert("tenant_*", count=2)
    tenants.insert("tenant_1")
    tenants.database.wait_confirmed(relay.slot)
    assert tenants.sent() == {"star": 2}
    shown = relay.verb("run", "--print-config").stdout
    assert r"tenant_\\*.outbox" in shown or r"tenant_\*.outbox" in shown, shown


@pytest.mark.long
def test_init_and_the_other_verbs_have_all_tables_that_match(tenants, relay_of,
                                                             topics):
    tenants.make("tenant_1", "tenant_2")
    tenants.insert("tenant_1", "tenant_2", count=3)
    relay = relay_of(_TENANTS, snapshot="initial")
    printed = relay.verb("init", "--print").stdout
    assert '"tenant_1"."outbox", "tenant_2"."outbox"' in printed or (
        "tenant_1.outbox, tenant_2.outbox" in printed), printed
    made = relay.verb("init")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "table tenant_2.outbox: exists" in made.stdout
    relay.run()  # with a snapshot
    tenants.wait_sent(relay)
    # init announces a table to the walpost that runs, and that takes it up.
    tenants.make("tenant_3")
    made = relay.verb("init")
    assert made.returncode == 0, made.stdout + made.stderr
    tenants.insert("tenant_3", count=2)
    tenants.wait_sent(relay)
    relay.wait_ready()
    verified = relay.verb("verify")
    assert verified.returncode == 0, verified.stdout
    before = len(tenants.reader.read_all(topics))
    replayed = relay.verb("replay", "--from-table", "--table",
                          "tenant_3.outbox")
    assert replayed.returncode == 0, replayed.stderr
    assert len(tenants.reader.read_all(topics)) == before + 2
    wrong = relay.verb("replay", "--from-table", "--table", "tenant_9.outbox")
    assert wrong.returncode == 2 and "tenant_3.outbox" in wrong.stderr


@pytest.mark.long
def test_p9_a_tenant_that_is_dropped_is_a_gap_until_it_is_accepted(
        tenants, relay_of):
    """As with a table that is listed, at any time: each of them is named. walpost
    goes on by itself once an operator has accepted it, and a tenant that takes
    the name later is new."""
    tenants.make("tenant_1", "tenant_2", "tenant_3", "tenant_4")
    tenants.publish()
    relay = relay_of(_TENANTS)
    relay.run()
    tenants.insert("tenant_1", "tenant_2", "tenant_3", "tenant_4")
    tenants.wait_sent(relay)
    tenants.database.execute("drop schema tenant_2, tenant_4 cascade")
    reason = relay.wait_unready(
        r"coverage_changed.*tenant_2\.outbox does not exist, table "
        r"tenant_4\.outbox does not exist while")
    time.sleep(3)  # until it is on record
    remedy = commands(reason[reason.index("dropped on purpose"):])[0]
    assert remedy[-1] == "--accept", reason
    accepted = run_command(remedy)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    relay.wait_ready()
    tenants.make("tenant_2")
    tenants.insert("tenant_1", "tenant_2", count=2)
    tenants.wait_sent(relay)
    relay.wait_ready()

    assert relay.stop() == 0
    tenants.database.execute("drop schema tenant_3 cascade")
    checked = relay.verb("check")
    assert checked.returncode == 1, checked.stdout
    assert "tenant_3.outbox does not exist" in checked.stdout
    relay.start()
    relay.wait_unready(r"coverage_changed.*tenant_3\.outbox does not exist")
    time.sleep(3)
    assert relay.verb("recover", "--accept").returncode == 0
    relay.wait_ready()
    tenants.insert("tenant_1")
    tenants.wait_sent(relay)


@pytest.mark.parametrize("store", ["kafka", "none"])
@pytest.mark.long
def test_p1_a_tenant_that_the_role_may_not_read(tenants, relay_of, topics, store):
    """Publishing needs no right on the schema. A role that does not own the
    publication needs a checkpoint store, or its owner for each table."""
    database = tenants.database
    tenants.make("tenant_1")
    tenants.publish()
    role = database.create_role()
    database.execute(f"grant usage on schema tenant_1 to {role}; grant select on "
                     f"tenant_1.outbox to {role}")
    relay = relay_of(_TENANTS, checkpoint={"store": store,
                                           "topic": "x-" + topics})
    assert relay.verb("init").returncode == 0
    relay.config["postgres"].update(conninfo=database.conninfo(user=role),
                                    create=False)
    relay.configure(relay.config)
    relay.run()
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert ("holds up all tables" in checked.stdout) == (store == "none")
    tenants.make("tenant_2")
    tenants.insert("tenant_1", "tenant_2", count=3)
    if store == "none":
        reason = relay.wait_unready(r"new table tenant_2\.outbox.*as the owner run")
        checked = relay.verb("check")
        assert checked.returncode == 1, checked.stdout
        assert re.search(r"ERROR   table tenant_2\.outbox is new, and run does not "
                         "stream", checked.stdout), checked.stdout
        for statement in statements(reason):
            database.execute(statement)
    tenants.wait_sent(relay)
    relay.wait_ready()
    if store == "kafka":
        relay.wait_log(r"tenant_2\.outbox is new in outbox.tables, and cannot be read")
    assert relay.verb("check").returncode == 0


@pytest.mark.long
def test_a_schema_with_a_dot_in_its_name(tenants, relay_of):
    """schema.table cannot express it: it is named, and the others go on."""
    tenants.make("tenant_1")
    tenants.publish()
    relay = relay_of(_TENANTS)
    relay.run()
    tenants.make("tenant_2.x")
    text = 'table "tenant_2.x".outbox matches outbox.tables, and its schema has a'
    relay.wait_unready(text)
    tenants.insert("tenant_1")
    tenants.wait_sent(relay)
    assert relay.stop() == 0
    for said in _refusal(relay):
        assert text in said, said
    tenants.database.execute('alter schema "tenant_2.x" rename to tenant_2')
    relay.run()
    tenants.insert("tenant_2", "tenant_1")
    tenants.wait_sent(relay)


@pytest.mark.long
def test_p1_a_tenant_that_came_and_went_while_walpost_was_down(tenants,
                                                               relay_of):
    """Its rows are in the WAL, and they are events."""
    tenants.make("tenant_1")
    tenants.publish()
    relay = relay_of(_TENANTS)
    relay.run()
    tenants.insert("tenant_1")
    tenants.wait_sent(relay)
    assert relay.stop() == 0
    tenants.make("tenant_2")
    tenants.insert("tenant_2", "tenant_1", count=3)
    tenants.database.execute("drop schema tenant_2 cascade")
    relay.run()
    tenants.wait_sent(relay)
    tenants.database.wait_confirmed(relay.slot)
    relay.wait_ready()
    assert relay.stop() == 0
    relay.run()  # nothing is left of it
    tenants.insert("tenant_1")
    tenants.wait_sent(relay)


@pytest.mark.long
def test_p1_a_kill_at_any_time_loses_no_row_of_a_new_tenant(tenants, relay_of,
                                                            dice):
    tenants.make("tenant_1")
    tenants.publish()
    relay = relay_of(_TENANTS)
    relay.run()
    for number in range(2, 8):
        tenants.make(f"tenant_{number}")
        tenants.insert(f"tenant_{number}", "tenant_1", count=50)
        time.sleep(dice.uniform(0, 1.5))
        relay.kill()
        relay.start()
    tenants.wait_sent(relay)
    assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_a_renamed_tenant_stops_the_flow_by_name(tenants, relay_of):
    tenants.make("tenant_1", "tenant_2")
    tenants.publish()
    relay = relay_of(_TENANTS)
    relay.run()
    tenants.insert("tenant_1", "tenant_2")
    tenants.wait_sent(relay)
    assert relay.stop() == 0
    tenants.database.execute("alter schema tenant_2 rename to tenant_9")
    for said in _refusal(relay):
        assert "table tenant_9.outbox had the name tenant_2.outbox" in said
    relay.config["outbox"]["tables"].append(
        {"name": "tenant_9.outbox", "formerly": ["tenant_2.outbox"]})
    relay.configure(relay.config)
    relay.run()
    tenants.insert("tenant_9", "tenant_1")
    tenants.wait_sent(relay)


def test_polling_takes_up_new_tenants(tenants, relay_of, database):
    columns = (_COLUMNS + ", status text not null default 'pending', sequence "
               "bigserial, attempts int not null default 0, last_error text, "
               "published_at timestamptz, locked_until timestamptz, "
               "next_attempt_at timestamptz")
    def make(name):
        tenants.make(name, columns=columns)
        database.execute(f"create index on {name}.outbox (sequence) where status "
                         "= 'pending'")

    make("tenant_1")
    entry = {"name": _TENANTS, "order_by": "sequence", "state": STATE}
    relay = relay_of(entry, source="polling", polling={"interval": "100ms"})
    relay.run()
    tenants.insert("tenant_1", count=3)
    tenants.wait_sent(relay)
    pid = relay.pid
    make("tenant_2")
    tenants.insert("tenant_2", "tenant_1", count=3)
    tenants.wait_sent(relay)
    assert relay.running() and relay.pid == pid
    for verb, wait in (("pause", relay.wait_unready),
                       ("resume", relay.wait_ready)):
        said = relay.verb(verb)
        assert said.returncode == 0, said.stdout + said.stderr
        assert "tenant_1.outbox, tenant_2.outbox" in said.stdout
        wait()
    database.execute("drop schema tenant_2 cascade")
    relay.wait_unready(r"tenant_2\.outbox does not exist: if it was dropped on "
                       "purpose, restart walpost")
    tenants.insert("tenant_1")  # goes on meanwhile
    tenants.wait_sent(relay)
    assert relay.stop() == 0
    relay.run()
    tenants.make("tenant_3")  # without the columns of its state
    relay.wait_unready(r"tenant_3\.outbox")
    assert relay.running()
