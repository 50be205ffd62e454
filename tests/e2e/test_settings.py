"""Settings of the server and the role change nothing that walpost does.

HOSTILE holds, all at once, what an operator may set for other programs. Set
for the role, for the database, for both or for the whole server, it must not
change a byte of a record, end a session or hide a row.
"""

import contextlib
import itertools
import json
import re
import subprocess
import time

import pytest

from harness import (Outbox, Postgres, Store, note, wait_until)
from harness.matrix import LONG, long_only
from harness.paths import REPOSITORY, postgres_bin
from harness.polled import PolledOutbox

HOSTILE = {
    "statement_timeout": "'20s'",
    "lock_timeout": "'10ms'",
    "idle_in_transaction_session_timeout": "'50ms'",
    "idle_session_timeout": "'300ms'",
    "wal_sender_timeout": "'1s'",
    "client_connection_check_interval": "'100ms'",
    "default_transaction_isolation": "'serializable'",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
    "search_path": "evil, pg_catalog, public",
    "DateStyle": "'German, DMY'",
    "IntervalStyle": "'sql_standard'",
    "TimeZone": "'Asia/Tokyo'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-5",
    "xmlbinary": "'hex'",
    "client_encoding": "'LATIN1'",
    "standard_conforming_strings": "off",
    "quote_all_identifiers": "on",
    "client_min_messages": "'debug1'",
    "jit": "on",
    "jit_above_cost": "0",
    "jit_inline_above_cost": "0",
    "jit_optimize_above_cost": "0",
    "synchronous_commit": "off",
    "session_replication_role": "'replica'",
    "row_security": "on",
}
HOSTILE_SINCE = {17: {"transaction_timeout": "'200ms'"}}

# What every row has, and what must become of it.
_RICH = """
alter table outbox
  add at timestamptz default '2026-01-02 03:04:05+00',
  add day date default '2026-01-02',
  add span interval default '1 day 02:03:04',
  add bytes bytea default '\\x00ff',
  add ratio float8 default 1.0 / 3,
  add word text default 'Zażółć',
  add created_at timestamptz default now() - interval '1 day'
"""
_COLUMNS = ["at", "day", "span", "bytes", "ratio", "word"]
_VALUE = {"at": "2026-01-02 03:04:05+00", "day": "2026-01-02",
          "span": "1 day 02:03:04", "bytes": "\\x00ff",
          "ratio": "0.3333333333333333", "word": "Zażółć"}

# Shadows what walpost calls, for who looks here first.
_EVIL = """
create schema evil;
grant usage on schema evil to public;
create function evil.to_regclass(text) returns regclass
  language sql as 'select null::regclass';
create function evil.current_setting(text) returns text
  language sql as $$select 'minimal'$$;
create function evil.pg_is_in_recovery() returns boolean
  language sql as 'select true';
create function evil.now() returns timestamptz
  language sql as $$select '-infinity'::timestamptz$$;
create function evil.pg_current_wal_lsn() returns pg_lsn
  language sql as $$select '0/1'::pg_lsn$$
"""

# The tests' own sessions want none of it.
_HARNESS = ("-c default_transaction_read_only=off -c search_path=public "
            "-c idle_in_transaction_session_timeout=0 -c lock_timeout=0 "
            "-c default_transaction_isolation=read\\ committed "
            "-c standard_conforming_strings=on -c client_encoding=UTF8 "
            "-c idle_session_timeout=0 -c DateStyle=ISO -c TimeZone=UTC "
            "-c session_replication_role=origin -c client_min_messages=warning")


@pytest.fixture(autouse=True)
def _calm_harness(monkeypatch, postgres):
    with contextlib.closing(postgres.connect()) as connection:
        knows_it = connection.server_version >= 170000
    monkeypatch.setenv("PGOPTIONS", _HARNESS + (
        " -c transaction_timeout=0" if knows_it else ""))


@pytest.fixture
def role(postgres, database):
    """Owns the database, is no superuser, and may replicate."""
    name = f"role_{database.name}"
    with contextlib.closing(postgres.connect()) as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"create role {name} login replication")
            cursor.execute(f"alter database {database.name} owner to {name}")
    yield name
    with contextlib.closing(postgres.connect()) as connection:
        with connection.cursor() as cursor:
            cursor.execute("alter system reset all")
            cursor.execute("select pg_reload_conf()")
            cursor.execute(f"alter database {database.name} reset all")
            cursor.execute(f"alter database {database.name} owner to postgres")
            cursor.execute(f"alter role {name} reset all")
    database.execute(f"drop owned by {name} cascade")
    database.execute(f"drop role {name}")


def _harm(postgres, database, role, where):
    settings = dict(HOSTILE)
    for major, more in HOSTILE_SINCE.items():
        if database.major() >= major:
            settings.update(more)
    owner = {"role": f"role {role}", "database": f"database {database.name}",
             "role in database": f"role {role} in database {database.name}",
             "system": "system"}[where]
    with contextlib.closing(postgres.connect()) as connection:
        with connection.cursor() as cursor:
            for name, value in settings.items():
                cursor.execute(f"alter {owner} set {name} = {value}")
            if where == "system":
                cursor.execute("select pg_reload_conf()")


def _sections(database, role, outbox=None, **sections):
    tables = [{"name": "public.outbox", "value": {"columns": _COLUMNS},
               **(outbox or {})}]
    return {"env": {"PGOPTIONS": ""},
            "postgres": {"conninfo": database.conninfo(user=role)},
            "outbox": {"tables": tables}, **sections}


def _give(database, role):
    """The role owns what there is."""
    database.execute(_EVIL)
    for (name,) in database.execute(
            "select tablename from pg_tables where schemaname = 'public'"):
        database.execute(f"alter table public.{name} owner to {role}")


def _assert_values(records, count):
    assert len({record.id for record in records}) == count
    for record in records:
        assert json.loads(record.value) == _VALUE


class Case:
    """One way to use walpost. `prepare` comes before the settings."""

    def __init__(self, walpost, database, kafka, topics, reader, role):
        self.database = database
        self.role = role
        self.topics = topics
        self.reader = reader
        self.make = lambda **sections: walpost(database, kafka, topics,
                                               **sections)
        self.store = lambda kind: Store(kind, "/tmp", database, kafka, topics)

    def outbox(self):
        made = Outbox(self.database, self.topics)
        self.database.execute(_RICH)
        return made


class Stream(Case):
    """The WAL, with a checkpoint table and a guard slot; then again."""

    def prepare(self):
        self.table = self.outbox()

    def act(self):
        relay = self.make(**_sections(
            self.database, self.role,
            checkpoint=self.store("postgres").section,
            replay={"window": "1MiB"}))
        checked = relay.verb("check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        for _ in range(2):
            relay.run()
            with self.database.transaction() as cursor:
                for _ in range(100):
                    self.table.insert("order", "o", cursor=cursor)
            self.database.wait_confirmed(self.database.name)
            time.sleep(1)  # longer than a session may be idle
            relay.wait_ready()
            assert "terminating connection" not in relay.log()
            assert relay.metric("walpost_reconnects_total") == 0
            assert relay.stop() == 0
        _assert_values(self.reader.read_all(self.topics), 200)


class Verbs(Case):
    """init; replay --from-table."""

    def prepare(self):
        self.table = self.outbox()

    def act(self):
        relay = self.make(**_sections(self.database, self.role))
        made = relay.verb("init")
        assert made.returncode == 0, made.stderr
        relay.run()
        for _ in range(5):
            self.table.insert("order", "o")
        self.database.wait_confirmed(self.database.name)
        replayed = relay.verb("replay", "--from-table", "--where",
                              "day = date '2026-01-02'")
        assert replayed.stdout == "5 rows replayed\n", replayed.stderr
        records = self.reader.read_all(self.topics)
        assert len(records) == 10
        _assert_values(records, 5)


class Snapshot(Case):
    """Rows that were there before the first start."""

    def prepare(self):
        self.table = self.outbox()
        self.database.execute(
            "insert into outbox (aggregate_type, aggregate_id) "
            "select 'order', n from generate_series(1, 300) n")

    def act(self):
        relay = self.make(**_sections(
            self.database, self.role, {"order_by": "id"}, snapshot="initial",
            delivery={"max_in_flight_records": 20},
            kafka={"properties": {"linger.ms": 20}}))
        relay.run(60)
        self.database.wait_confirmed(self.database.name)
        records = self.reader.read_all(self.topics)
        _assert_values(records, 300)
        assert len(records) == 300, "it has started over"


class Polling(Case):
    """The table itself, by one strategy."""

    strategy = "claim"

    def prepare(self):
        self.table = PolledOutbox(self.database)
        self.database.execute(_RICH.replace(
            ",\n  add created_at timestamptz default now() - "
            "interval '1 day'", ""))

    def act(self):
        sections = self.table.sections(strategy=self.strategy)
        sections.pop("outbox")
        state = self.table.sections()["outbox"]["tables"][0]
        relay = self.make(**_sections(self.database, self.role, state,
                                      **sections)).run()
        for _ in range(2):
            self.table.insert(100)
            wait_until(lambda: not self.database.value(
                "select count(*) from outbox where status <> 'published'"),
                lambda: "the rows to be done\n" + relay.log())
        _assert_values(self.reader.read_all(self.topics), 200)
        assert "terminating" not in relay.log()


class Deleting(Polling):
    strategy = "delete"


_CASES = {"stream": Stream, "verbs": Verbs, "snapshot": Snapshot,
          "claim": Polling, "delete": Deleting}
_WHERE = ("role", "database", "role in database", "system")
_SAMPLE = [("role", "stream"), ("database", "snapshot"),
           ("role in database", "claim"), ("system", "verbs"),
           ("database", "delete")]


@pytest.mark.parametrize("where, case", [
    *_SAMPLE, *long_only(*(pair for pair in itertools.product(_WHERE, _CASES)
                           if pair not in _SAMPLE))])
@pytest.mark.sample(6)
def test_hostile_settings_change_nothing(
        walpost, postgres, database, kafka, topics, reader, role, where, case):
    made = _CASES[case](walpost, database, kafka, topics, reader, role)
    made.prepare()
    _give(database, role)
    _harm(postgres, database, role, where)
    made.act()


@pytest.mark.long
def test_the_privileges_of_a_group_role_are_used(
        walpost, database, kafka, outbox, topics, reader, role):
    """`role` is not pinned: an operator may want it."""
    database.execute(f"create role group_{role} replication")
    database.execute(f"grant group_{role} to {role}")
    database.execute(f"alter table outbox owner to group_{role}")
    database.execute(f"grant create on database {database.name} "
                     f"to group_{role}")
    database.execute(f"alter role {role} set role = 'group_{role}'")
    try:
        walpost(database, kafka, topics, postgres={
            "conninfo": database.conninfo(user=role)}).run()
        event = outbox.insert("order", "o")
        database.wait_confirmed(database.name)
        assert [record.id for record in reader.read_all(topics)] == [event]
        assert database.value(
            "select pg_get_userbyid(pubowner) from pg_publication") == (
                f"group_{role}")
    finally:
        database.execute(f"reassign owned by group_{role} to postgres")
        database.execute(f"drop owned by group_{role} cascade")
        database.execute(f"drop role group_{role}")


# ---- transaction_timeout, from 17 on.

@pytest.fixture(scope="module")
def postgres17(module_directory):
    """A server of 17, or a newer one that the tests run on."""
    version = subprocess.run([postgres_bin() / "postgres", "--version"],
                             check=True, capture_output=True, text=True).stdout
    bin_dir = None
    if int(re.search(r"(\d+)\.", version)[1]) < 17:
        bin_dir = subprocess.run(
            [REPOSITORY / "scripts" / "fetch-postgres", "17"], check=True,
            capture_output=True, text=True).stdout.strip()
    server = Postgres(module_directory / "postgres17", bin_dir).start()
    yield server
    server.close()


def _on_17():
    version = subprocess.run([postgres_bin() / "postgres", "--version"],
                             check=True, capture_output=True, text=True).stdout
    return LONG or int(re.search(r"(\d+)\.", version)[1]) >= 17


def _transaction_longer_than_transaction_timeout(walpost, postgres17, kafka,
                                                 topics):
    rows = 500_000
    database = postgres17.create_database()
    Outbox(database, topics)
    relay = walpost(database, kafka, topics, delivery={
        "max_in_flight_records": 100}).run()
    relay.stop()
    database.execute("alter table outbox disable trigger all")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', n, '{}' from generate_series(1, %s) n", (rows,))
    database.execute(f"alter database {database.name} "
                     "set transaction_timeout = '1s'")
    relay.run()
    database.wait_confirmed(database.name, seconds=180)
    note(f"{rows} rows of one transaction under transaction_timeout = 1 s: "
         f"{relay.metric('walpost_reconnects_total'):.0f} reconnects")
    assert relay.metric("walpost_reconnects_total") == 0
    assert relay.metric("walpost_acknowledged_records_total") == rows
    relay.kill()


if _on_17():  # elsewhere it is not there, rather than skipped
    test_a_transaction_longer_than_transaction_timeout = (
        _transaction_longer_than_transaction_timeout)


# ---- Slots with two_phase.

@pytest.mark.long
def test_a_two_phase_slot_is_refused_with_the_way_out(
        walpost, database, kafka, outbox, topics, reader):
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    slot = database.name
    database.execute("select pg_create_logical_replication_slot("
                     "%s, 'pgoutput', false, true)", (slot,))
    first = outbox.insert("order", "o")
    relay = walpost(database, kafka, topics)
    checked = relay.verb("check")
    assert checked.returncode == 1
    line = next(line for line in checked.stdout.splitlines()
                if "two_phase" in line)
    assert relay.start().wait_exit() == 3
    assert "two_phase" in relay.log()
    remedy = checked.stdout[checked.stdout.index("SELECT pg_copy_logical"):]
    for statement in remedy.split(";")[:4]:
        assert statement.strip().startswith("SELECT pg_"), line
        database.execute(statement)
    relay.run()
    second = outbox.insert("order", "o")
    database.wait_confirmed(slot)
    assert [record.id for record in reader.read_all(topics)] == [first, second]


# ---- Databases that hold any bytes.

@pytest.fixture
def any_bytes(postgres, walposts):
    """A database in SQL_ASCII."""
    made = postgres.create_database(
        "template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'")
    yield made
    for instance in walposts:
        instance.close()
    made.drop()


_BAD = "E'caf\\xe9'"


@pytest.mark.parametrize("field", ["payload", "aggregate_id",
                                   *long_only("type", "headers")])
@pytest.mark.long
def test_p8_a_byte_that_is_not_utf8_names_its_row(
        walpost, any_bytes, kafka, topics, reader, field):
    database = any_bytes
    outbox = Outbox(database, topics)
    database.execute("alter table outbox alter payload type text, "
                     "alter headers type json, add raw bytea, add note text")
    relay = walpost(database, kafka, topics,
                    route={"headers": {"kind": "type"}}).run()
    # What is not used, and what is not text, may be any bytes.
    good = database.value(
        "insert into outbox (aggregate_type, aggregate_id, payload, raw, note) "
        "values ('order', 'Łódź', '\"Łódź\"', E'\\\\xe9', " + _BAD +
        ") returning id::text")
    database.wait_confirmed(database.name)
    bad_value = "E'{\"a\": \"\\xe9\"}'" if field == "headers" else _BAD
    with database.transaction() as cursor:
        cursor.execute(f"insert into outbox (aggregate_type, {field}) values "
                       f"('order', {bad_value}) returning id::text")
        bad = cursor.fetchone()[0]
        limit = database.lsn_before_commit(cursor)
    outbox.insert("order", "after")
    reason = relay.wait_unready("text_not_utf8")
    assert f"column '{field}'" in reason
    status = json.loads(relay.get("/status")[1])
    assert status["stopped_reason_code"] == "text_not_utf8"
    assert status["stopped_event_id"] == bad
    assert re.search(r"\b[0-9A-F]+/[0-9A-F]+", status["stopped_position"])
    assert database.confirmed_lsn(database.name) <= limit
    record, = reader.read_all(topics)
    assert (record.id, record.key) == (good, "Łódź".encode())
    assert record.value == '"Łódź"'.encode()


@pytest.mark.long
def test_p8_a_snapshot_names_the_row_with_a_byte_that_is_not_utf8(
        walpost, any_bytes, kafka, topics):
    database = any_bytes
    Outbox(database, topics)
    database.execute("alter table outbox alter payload type text")
    database.execute("insert into outbox (aggregate_type, payload) values "
                     "('order', " + _BAD + ")")
    ordered = {"tables": [{"name": "public.outbox", "order_by": "sequence"}]}
    relay = walpost(database, kafka, topics, snapshot="initial",
                    outbox=ordered).start()
    relay.wait_log("column 'payload' of public.outbox is not text in UTF-8")
    assert relay.get("/readyz")[0] == 503


@pytest.mark.long
def test_p8_polling_gives_up_the_row_with_a_byte_that_is_not_utf8(
        walpost, any_bytes, kafka, topics, reader):
    database = any_bytes
    table = PolledOutbox(database)
    database.execute("alter table outbox alter payload type text")
    walpost(database, kafka, topics,
            **table.sections(max_attempts=1)).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) values "
        "('order', 'a', " + _BAD + "), ('order', 'b', '1')")
    table.wait_published()
    assert table.counts() == {"failed": 1, "published": 1}
    assert "not text in UTF-8" in database.value(
        "select last_error from outbox where status = 'failed'")
    assert [record.key for record in reader.read_all(topics)] == [b"b"]


# ---- One checkpoint topic for several clusters.

def test_p9_two_clusters_share_a_topic_under_one_slot_name(
        walpost, database, own_database, kafka, topics, reader, directory):
    relays, stores, outboxes = [], [], []
    slot = database.name
    for number, each in enumerate((database, own_database)):
        prefix = f"{topics}{number}."
        outboxes.append(Outbox(each, prefix))
        store = Store("kafka", directory, each, kafka, topics, slot=slot)
        stores.append(store)
        relay = walpost(each, kafka, prefix, postgres={"slot": slot},
                        checkpoint=store.section)
        assert relay.verb("init").returncode == 0
        relays.append(relay.run())
    for round_ in range(2):
        for outbox, relay in zip(outboxes, relays):
            outbox.insert("order", f"round {round_}")
            outbox.database.wait_confirmed(slot)
            if round_ == 0:
                assert relay.stop() == 0
                relay.run()
    systems = {store.read().system_identifier for store in stores}
    assert len(systems) == 2
    for outbox in outboxes:
        keys = [record.key.decode()
                for record in reader.read_all(outbox.topic_prefix)]
        assert keys == ["round 0", "round 1"]


@pytest.mark.long
def test_p9_a_record_under_the_old_key_counts_on(
        walpost, database, kafka, outbox, topics, directory):
    """As an older release has written it."""
    store = Store("kafka", directory, database, kafka, topics)
    relay = walpost(database, kafka, topics, checkpoint=store.section).run()
    outbox.insert("order", "o-1")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    store.rename_to_old_key()
    assert store.read() is None
    relay.start()
    relay.wait_ready()
    assert "other_cluster" not in relay.log()
    outbox.insert("order", "o-2")
    database.wait_confirmed(database.name)
    # It is the checkpoint: behind the slot it is a gap.
    assert relay.stop() == 0
    store.rename_to_old_key()
    outbox.insert("order", "skipped")
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (database.name,))
    relay.start()
    relay.wait_unready(re.escape("[slot_advanced]"))


@pytest.mark.long
def test_p9_a_database_that_moved_is_noticed_by_the_other_systems_record(
        walpost, database, own_database, kafka, outbox, topics, directory):
    slot = database.name
    store = Store("kafka", directory, database, kafka, topics)
    relay = walpost(database, kafka, topics, checkpoint=store.section).run()
    outbox.insert("order", "o-1")
    database.wait_confirmed(slot)
    assert relay.stop() == 0
    Outbox(own_database, topics)
    moved = walpost(own_database, kafka, topics, checkpoint=store.section,
                    postgres={"slot": slot}).start()
    moved.wait_unready(re.escape("[other_cluster]"))
    assert "walpost init" in moved.log()
