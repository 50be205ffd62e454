"""check, init, tail, version."""

import json
import re
import subprocess

import pytest

from harness import Outbox, wait_until
from harness.paths import walpost_binary

_ROW = ("insert into outbox (id, aggregate_type, aggregate_id, type, payload) "
        "values (gen_random_uuid(), %s, %s, 'Placed', '{\"n\": 1}')")


def _manual(relay_of, *arguments, **sections):
    """A Walpost that must make nothing by itself."""
    return relay_of(*arguments, postgres={"create": False}, **sections)


def test_init_prepares_and_check_agrees(walpost, database, kafka, reader,
                                        topics):
    relay = _manual(walpost, database, kafka, topics)
    unready = relay.verb("check")
    assert unready.returncode == 1

    for _ in range(2):
        made = relay.verb("init")
        assert made.returncode == 0, made.stderr
    assert database.execute(
        "select pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot "
        "from pg_publication where pubname = 'walpost'") == [
            (True, False, False, False, True)]
    assert database.execute(
        "select plugin, temporary, database from pg_replication_slots "
        "where slot_name = %s", (database.name,)) == [
            ("pgoutput", False, database.name)]

    ready = relay.verb("check")
    assert ready.returncode == 0, ready.stdout
    relay.run()
    database.execute(_ROW, ("order", "order-1"))
    database.wait_confirmed(database.name)
    assert [r.key for r in reader.read_all(topics)] == [b"order-1"]


@pytest.mark.long
def test_check_calls_nothing_published_without_a_publication(
        walpost, database, kafka, outbox, topics):
    assert outbox  # the table
    relay = _manual(walpost, database, kafka, topics)
    unready = relay.verb("check").stdout
    assert "public.outbox has columns that fit" in unready
    assert "is published" not in unready
    assert relay.verb("init").returncode == 0
    assert ("public.outbox is published, and its columns fit"
            in relay.verb("check").stdout)


@pytest.mark.long
def test_table_of_init_refuses_what_could_never_be_delivered(
        walpost, database, kafka, topics):
    _manual(walpost, database, kafka, topics).verb("init")
    for aggregate_type in ("not legal!", "x" * 300, ""):
        with pytest.raises(Exception, match="check constraint"):
            database.execute(_ROW, (aggregate_type, "order-1"))
    database.execute(_ROW, ("order", "order-1"))


@pytest.mark.long
def test_init_print_only_prints(walpost, database, kafka, topics):
    relay = _manual(walpost, database, kafka, topics)
    printed = relay.verb("init", "--print")
    assert printed.returncode == 0
    assert database.value("select to_regclass('outbox') is null")
    assert database.confirmed_lsn(database.name) is None

    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                    database.conninfo()], input=printed.stdout, text=True,
                   stdout=subprocess.DEVNULL, check=True)
    assert relay.verb("check").returncode == 0


@pytest.mark.long
def test_init_print_has_the_table_of_the_checkpoint(walpost, database, kafka,
                                                    topics):
    relay = _manual(walpost, database, kafka, topics, checkpoint={
        "store": "postgres", "table": "public.point"})
    printed = relay.verb("init", "--print")
    assert "create table if not exists \"public\".\"point\"" in printed.stdout
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                    database.conninfo()], input=printed.stdout, text=True,
                   stdout=subprocess.DEVNULL, check=True)
    relay.run()
    database.execute(_ROW, ("order", "order-1"))
    database.wait_confirmed(database.name)
    assert database.value("select count(*) from point") == 1


@pytest.mark.long
def test_check_says_what_only_a_checkpoint_notices(walpost, database, kafka,
                                                   topics):
    plain = walpost(database, kafka, topics)
    stored = walpost(database, kafka, topics, checkpoint={"store": "kafka"})
    assert "note    checkpoint.store is none" in plain.verb("check").stdout
    assert "ok      checkpoint.store is set" in stored.verb("check").stdout


@pytest.mark.long
def test_check_looks_at_the_birth_record(walpost, database, kafka, topics):
    owner = _manual(walpost, database, kafka, topics)
    role = database.name + "_role"
    database.execute(f"create role {role} login replication")
    try:
        poor = walpost(database, kafka, topics, postgres={
            "conninfo": database.conninfo(role)})
        owner.verb("init")
        assert "is on record, at" in owner.verb("check").stdout
        assert f"role {role} does not own" in poor.verb("check").stdout

        database.execute("comment on publication walpost is 'ours'")
        assert "run will write it" in owner.verb("check").stdout
        said = poor.verb("check").stdout
        assert "warning birth of slot" in said
        # What it says mends it, and keeps what people wrote.
        sql = re.search(r"COMMENT ON PUBLICATION [^']*'[^']*'", said)[0]
        database.execute(sql)
        assert database.value(
            "select obj_description(oid, 'pg_publication') from "
            "pg_publication").startswith("ours\nwalpost: slot ")
        assert "warning birth" not in poor.verb("check").stdout

        database.execute("select pg_drop_replication_slot(%s)",
                         (database.name,))
        gone = owner.verb("check")
        assert gone.returncode == 1
        assert "the slot is missing" in gone.stdout
        assert "walpost recover" in gone.stdout
        database.execute(sql.replace("of system ", "of system 1"))
        assert "this is system" in owner.verb("check").stdout
    finally:
        database.execute(f"drop role {role}")


def test_init_with_failover(walpost, database, kafka, topics):
    made = _manual(walpost, database, kafka, topics).verb("init", "--failover")
    if int(database.value("show server_version_num")) < 170000:
        assert made.returncode == 3
        assert "17" in made.stderr
        assert database.confirmed_lsn(database.name) is None
    else:
        assert made.returncode == 0
        assert database.value("select failover from pg_replication_slots "
                              "where slot_name = %s", (database.name,))


@pytest.mark.parametrize("harm, remedy", [
    ("drop publication walpost", r"walpost init"),
    ("drop publication walpost; insert into outbox (aggregate_type, "
     "aggregate_id, payload) values ('order', 'key', '{}')",
     r"walpost recover"),
    ("alter publication walpost set (publish = 'update')",
     r"(?i)alter publication"),
    ("alter publication walpost drop table outbox", r"(?i)alter publication"),
    ("alter table outbox rename column payload to body", "payload"),
    ("drop table outbox", r"(?i)outbox"),
])
@pytest.mark.sample(6)
def test_check_finds_and_mends(walpost, database, kafka, topics, harm, remedy):
    relay = _manual(walpost, database, kafka, topics)
    assert relay.verb("init").returncode == 0
    assert relay.verb("check").returncode == 0
    database.execute(harm)
    found = relay.verb("check")
    assert found.returncode == 1, found.stdout
    assert re.search(remedy, found.stdout), found.stdout


@pytest.mark.long
def test_check_without_a_slot(walpost, database, kafka, outbox, topics):
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    found = _manual(walpost, database, kafka, topics).verb("check")
    assert found.returncode == 1
    assert "pg_create_logical_replication_slot" in found.stdout \
        or "walpost init" in found.stdout
    assert database.confirmed_lsn(database.name) is None


@pytest.mark.long
def test_check_without_a_broker(walpost, database, kafka, topics):
    relay = _manual(walpost, database, kafka, topics,
                    kafka={"brokers": "127.0.0.1:1"})
    relay.verb("init")
    found = relay.verb("check")
    assert found.returncode == 1
    assert "127.0.0.1:1" in found.stdout


@pytest.mark.long
def test_check_says_that_order_is_lost_without_a_key(walpost, database, kafka,
                                                     topics):
    keyed = _manual(walpost, database, kafka, topics)
    keyed.verb("init")
    keyless = _manual(walpost, database, kafka, topics, outbox={"tables": [
        {"name": "public.outbox", "columns": {"aggregate_id": None}}]})
    warning = "(?i)order per key"
    assert not re.search(warning, keyed.verb("check").stdout)
    checked = keyless.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert re.search(warning, checked.stdout)


def test_tail_prints_events_from_a_temporary_slot(walpost, database, topics,
                                                  kafka):
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, kafka=None)
    tail = relay.spawn("tail", "--count", "2")
    wait_until(lambda: database.execute(
        "select 1 from pg_replication_slots where temporary and active and "
        "confirmed_flush_lsn is not null"), "the temporary slot of tail")
    with database.transaction() as cursor:
        event = outbox.insert("order", "order-1", '{"a": 1}', cursor)
        outbox.insert("order", None, "2", cursor)
    assert tail.wait(20) == 0
    first, second = [json.loads(line) for line in tail.stdout.read().split(
        b"\n") if line]
    assert first["id"] == event
    assert first["aggregate_type"] == "order"
    assert (first["aggregate_id"], second["aggregate_id"]) == ("order-1", None)
    assert first["payload"] in ({"a": 1}, '{"a": 1}')
    wait_until(lambda: database.value(
        "select count(*) from pg_replication_slots") == 0,
        "no slot to be left")


@pytest.mark.long
def test_version():
    said = subprocess.run([walpost_binary(), "version"], capture_output=True,
                          text=True)
    assert said.returncode == 0
    assert re.search(r"walpost \d+\.\d+\.\d+", said.stdout)


def _said(*words):
    said = subprocess.run([walpost_binary(), *words], capture_output=True,
                          text=True)
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.long
def test_version_as_an_option():
    line, = _said("--version").splitlines()
    assert line in _said("version").splitlines()


def test_help_names_every_verb_and_its_exit_codes():
    general = _said("--help")
    for verb in ("run", "check", "init", "status", "replay", "prune", "tail",
                 "verify", "recover", "version"):
        assert re.search(rf"^  {verb} ", general, re.M), general
        assert re.search(r"^Exit codes?: 0", _said(verb, "--help"), re.M), verb


@pytest.mark.parametrize("verb, option, default", [
    ("tail", "--count", "no limit"), ("verify", "--wait", "10"),
    ("verify", "--work-directory", "/tmp"), ("replay", "--rate", "no limit"),
    ("prune", "--older-than", "retention.keep"),
    ("prune", "--batch", "retention.batch_rows"),
    ("prune", "--pause", "retention.pause"),
])
@pytest.mark.long
def test_help_names_the_defaults(verb, option, default):
    said = _said(verb, "--help")
    described = re.search(rf"{option} .*?(?=\n  -|\n\n|\Z)", said, re.S)[0]
    assert default in described, said


def test_p10_status_tells_of_the_one_that_runs(walpost, database, kafka,
                                               outbox, topics):
    relay = walpost(database, kafka, topics)
    nobody = relay.verb("status")
    assert nobody.returncode == 1 and "is walpost running" in nobody.stderr
    relay.run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    said = relay.verb("status")
    assert said.returncode == 0, said.stderr
    assert re.search(r"state +streaming, for \d+ s", said.stdout)
    assert re.search(r"records +1 acknowledged", said.stdout)
    assert database.name in said.stdout
    as_json = json.loads(relay.verb("status", "--json").stdout)
    assert as_json["acknowledged"] == 1 and as_json["ready"] is True
    database.execute(
        "insert into outbox (aggregate_type, payload) values ('a b', '{}')")
    relay.wait_unready("cannot be delivered")
    stuck = relay.verb("status")
    assert stuck.returncode == 1 and "cannot be delivered" in stuck.stdout


@pytest.mark.long
def test_status_shows_what_a_restart_would_do(walpost, database, kafka, outbox,
                                              topics):
    relay = walpost(database, kafka, topics, checkpoint={"store": "postgres"},
                    replay={"window": "64MiB"}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(database.name)
    # The server is asked every two seconds how it keeps the slot.
    wait_until(lambda: "\nreplay " in relay.verb("status").stdout,
               "the guard slot")
    said = relay.verb("status").stdout
    for pattern in (r"^published  event 1 of the transaction at \S+$",
                    r"^checkpoint \S+, event 1 of the transaction at \S+$",
                    r"^           table public.walpost_checkpoint$",
                    r"^restart    reads from \S+, \S+ \S+ before what is",
                    rf"^replay     from \S+ \(slot {database.name}_guard\)"):
        assert re.search(pattern, said, re.M), f"{pattern}\n{said}"


@pytest.mark.long
def test_status_needs_a_port_to_ask(walpost, database, kafka, topics):
    said = walpost(database, kafka, topics, http=None).verb("status")
    assert said.returncode == 2 and "http.listen is not set" in said.stderr


@pytest.mark.long
def test_check_warns_of_tables_that_nobody_publishes(walpost, database, kafka,
                                                     topics, outbox):
    assert outbox
    relay = walpost(database, kafka, topics)
    assert relay.verb("init").returncode == 0
    database.execute("create table other (like outbox); "
                     "alter publication walpost add table other")
    said = relay.verb("check").stdout
    assert "tables that are not in outbox.tables (1, public.other" in said, said


@pytest.mark.long
def test_init_without_the_publication(walpost, own_postgres, own_database,
                                      kafka, topics):
    """The role of walpost may make the slot, but not put it on record."""
    assert own_postgres
    Outbox(own_database, topics)
    own_database.execute("create role relay login replication; "
                         "create publication walpost for table outbox")
    relay = walpost(own_database, kafka, topics, postgres={
        "conninfo": own_database.conninfo(user="relay")})
    said = relay.verb("init")
    assert said.returncode == 3, said.stdout
    assert "COMMENT ON PUBLICATION" in said.stderr, said.stderr
