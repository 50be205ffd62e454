"""The repair verbs (recover, recover --accept, replay --from-table, verify) on
healthy, lagging and broken slots: nothing is given up without a word, and
nothing that is missing is taken for there (P1, P9)."""

import json
import re
import subprocess
import time

import pytest

from harness import KafkaReader, run_sql_file, verify
from harness.matrix import long_only


_ORDERED = {"tables": [{"name": "public.outbox", "order_by": "sequence"}]}
_MESSAGES = {**_ORDERED, "messages": {"prefix": "outbox"}}


def _emit(database, number):
    database.execute(
        "select pg_logical_emit_message(true, 'outbox', %s)",
        (json.dumps({"id": f"message-{number}", "aggregate_type": "order",
                     "aggregate_id": "m", "payload": number}),))


def _fill(outbox, first, last):
    for number in range(first, last):
        outbox.insert("order", f"key-{number % 3}", str(number),
                      sequence=number)


def _ids(kafka, topics):
    return [record.id for record in KafkaReader(kafka.bootstrap).read_all(topics)]


def _verb(relay, code, *words):
    said = relay.verb(*words)
    assert said.returncode == code, said.stdout + said.stderr
    return said.stdout + said.stderr


class _Slot:
    """A relay that has delivered ten rows, and what becomes of its slot."""

    def __init__(self, relay, database, outbox):
        self.relay, self.database, self.outbox = relay, database, outbox
        relay.run()
        _fill(outbox, 0, 10)
        database.wait_confirmed(database.name)
        assert relay.stop() == 0
        database.wait_slot_inactive(database.name)

    def healthy(self):
        pass

    def lagging(self):
        """Rows and messages wait in it."""
        _fill(self.outbox, 10, 13)
        for number in range(2):
            _emit(self.database, number)
        self.database.execute(
            "select pg_logical_emit_message(true, 'others', 'x'), "
            "pg_logical_emit_message(false, 'outbox', '{}')")

    def missing(self):
        self.lagging()
        self.database.execute("select pg_drop_replication_slot(%s)",
                              (self.database.name,))

    def advanced(self):
        self.lagging()
        self.database.execute(
            "select pg_replication_slot_advance(%s, pg_current_wal_lsn())",
            (self.database.name,))


    def made_again_by_hand(self):
        self.missing()
        self.database.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (self.database.name,))

    def not_covered(self):
        """The publication did not send a row."""
        self.database.execute("alter publication walpost drop table outbox")
        self.outbox.insert("order", "key-0", sequence=20)
        self.database.execute("alter publication walpost add table outbox")

    def lost_with_its_publication(self):
        self.lagging()
        self.database.execute("drop publication walpost")


@pytest.fixture
def slot(walpost, database, kafka, outbox, topics, directory):
    return _Slot(
        walpost(database, kafka, topics, outbox=_MESSAGES,
                checkpoint={"store": "file",
                            "path": str(directory / "checkpoint")}),
        database, outbox)


@pytest.mark.parametrize("state", ["lagging", *long_only("healthy")])
@pytest.mark.parametrize("words", [(), ("--accept",),
                                   *long_only(("--since", "1h"), ("--all",))])
@pytest.mark.sample(2)
def test_p1_recover_leaves_a_slot_alone_that_has_no_gap(
        slot, kafka, topics, database, state, words):
    getattr(slot, state)()
    before = database.confirmed_lsn(database.name)
    said = _verb(slot.relay, 3, "recover", *words)
    if words == ("--accept",):
        assert "no gap of slot" in said and "given up" not in said
    else:
        assert "gap: none is diagnosed" in said and "--force" in said
    assert "walpost run" in said
    assert database.confirmed_lsn(database.name) == before
    slot.relay.run()
    database.wait_confirmed(database.name)
    found = _ids(kafka, topics)
    pending = 5 if state == "lagging" else 0
    assert len(found) == len(set(found)) == 10 + pending
    assert slot.relay.stop() == 0


@pytest.mark.long
def test_recover_says_what_it_would_give_up(slot, kafka, topics, database):
    slot.lagging()
    said = _verb(slot.relay, 0, "recover", "--dry-run")
    assert "gap: none is diagnosed" in said
    assert "bytes of WAL in the slot" in said
    assert "2 logical messages, which cannot be recovered" in said
    assert "3 are not published; nothing was done" in said
    said = _verb(slot.relay, 0, "recover", "--force")
    assert "given up" in said and "3 published" in said
    slot.relay.run()
    _fill(slot.outbox, 13, 14)
    database.wait_confirmed(database.name)
    found = _ids(kafka, topics)
    assert len(found) == len(set(found)) == 14
    assert verify(slot.relay)["clean"]


@pytest.mark.long
def test_recover_finds_a_slot_in_use_before_it_reads_kafka(slot):
    slot.relay.run()
    begun = time.monotonic()
    for words in ((), ("--accept",), ("--force",)):
        assert "is in use: stop walpost first" in _verb(slot.relay, 3,
                                                        "recover", *words)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("state, gap", [
    ("missing", "slot_missing"), *long_only(("advanced", "slot_advanced"))])
def test_p9_recover_of_a_broken_slot(slot, kafka, topics, database, state, gap):
    getattr(slot, state)()
    report = verify(slot.relay, "--wait", "0")
    assert not report["clean"] and report["found"]["missing"] == 3
    assert gap in report["findings"]["undecided"]["examples"][0]
    said = _verb(slot.relay, 0, "recover")
    assert f"gap: {gap}: " in said and "3 published" in said
    slot.relay.run()
    _fill(slot.outbox, 13, 14)
    database.wait_confirmed(database.name)
    found = _ids(kafka, topics)
    assert len(found) == len(set(found)) == 14
    report = verify(slot.relay)
    assert report["clean"], report
    comment = database.value(
        "select obj_description(oid, 'pg_publication') from pg_publication")
    assert "from=3 " in comment and "gap=" not in comment


def test_p9_a_gap_is_accepted(slot, kafka, topics, database):
    slot.advanced()
    slot.relay.start()
    slot.relay.wait_unready(r"\[slot_advanced\]")
    assert slot.relay.stop() == 0
    database.wait_slot_inactive(database.name)
    stands = database.confirmed_lsn(database.name)
    role = f"other_{database.name}"
    database.execute(f"create role {role} login replication")
    said = _verb(slot.relay, 3, "recover", "--accept", "--set",
                 f"postgres.conninfo={database.conninfo(user=role)}")
    assert "run the same as its owner" in said
    said = _verb(slot.relay, 0, "recover", "--accept")
    assert "gap: slot_advanced" in said and "nothing was published" in said
    assert database.confirmed_lsn(database.name) == stands
    assert "there is none to accept" in _verb(slot.relay, 3, "recover",
                                              "--accept")
    slot.relay.run()
    _fill(slot.outbox, 13, 15)
    database.wait_confirmed(database.name)
    assert len(_ids(kafka, topics)) == 12
    report = verify(slot.relay)
    assert not report["clean"] and report["found"] == {"missing": 3}
    assert slot.relay.stop() == 0


@pytest.mark.long
def test_a_missing_slot_cannot_be_accepted(slot):
    slot.missing()
    said = _verb(slot.relay, 3, "recover", "--accept")
    assert "walpost recover" in said and re.search("walpost init .*--fresh", said)


@pytest.mark.long
def test_recover_of_a_slot_that_nothing_is_known_of(
        walpost, database, kafka, outbox, topics):
    """Neither whether it is there nor whether it is not."""
    relay = walpost(database, kafka, topics, outbox=_ORDERED)
    said = _verb(relay, 3, "recover")
    assert "walpost init" in said and "walpost run" in said
    database.execute("create publication walpost for table outbox")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    before = database.confirmed_lsn(database.name)
    assert "walpost init" in _verb(relay, 3, "recover")
    assert database.confirmed_lsn(database.name) == before


# ---- An event is known by more than its id.

_TWO_TABLES = """
create table orders (id bigserial primary key, aggregate_id text, payload text,
  created_at timestamptz not null default now());
create table invoices (id bigserial primary key, aggregate_id text,
  payload text, created_at timestamptz not null default now());
"""


def _two_tables(topics, same_topic):
    return {"tables": [
        {"name": "public.orders", "topic": topics + "orders"},
        {"name": "public.invoices",
         "topic": topics + ("orders" if same_topic else "invoices")}]}


def _count_in(database, table, rows, text):
    database.execute(
        f"insert into {table} (aggregate_id, payload) select 'key-' || n %% 5, "
        "%s || n from generate_series(1, %s) n", (text, rows))


def _drop(database):
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))


@pytest.mark.parametrize("same_topic, same_content", [
    (False, True), (True, True), *long_only((True, False), (False, False))])
@pytest.mark.long
def test_p1_two_tables_count_alike(walpost, database, kafka, topics, same_topic,
                                   same_content):
    database.execute(_TWO_TABLES)
    relay = walpost(database, kafka, topics,
                    outbox=_two_tables(topics, same_topic)).run()
    _count_in(database, "orders", 50, "event ")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    database.wait_slot_inactive(database.name)
    _drop(database)
    _count_in(database, "invoices", 50,
              "event " if same_content else "invoice ")
    report = verify(relay, "--wait", "0", sequence=None)
    assert not report["clean"] and "altered" not in report["found"]
    assert (report["found"].get("missing", 0) == 50
            or report["found"]["undecided"] >= 50), report
    said = _verb(relay, 0, "recover")
    assert "50 published" in said
    assert len(_ids(kafka, topics)) == 100
    relay.run()
    report = verify(relay, sequence=None)
    assert report["clean"], report
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_a_sequence_that_was_restored_gives_ids_again(
        walpost, database, kafka, topics):
    database.execute(_TWO_TABLES)
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.orders", "topic": topics + "orders"}]}).run()
    _count_in(database, "orders", 20, "kept ")
    _count_in(database, "orders", 50, "lost with the old server ")
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    database.wait_slot_inactive(database.name)
    # As a backup from before would have it.
    database.execute("delete from orders where id > 20")
    database.execute("select setval('orders_id_seq', 20)")
    _drop(database)
    _count_in(database, "orders", 50, "new ")
    report = verify(relay, "--wait", "0", sequence=None)
    assert report["found"]["missing"] == 50, report
    assert "altered" not in report["found"]
    said = _verb(relay, 0, "recover")
    assert "50 published" in said
    assert "50 of the missing rows have an id that it has" in said
    relay.run()
    report = verify(relay, sequence=None)
    assert report["clean"], report
    assert report["found"] == {"not_in_table": 50, "replayed": 50}


@pytest.mark.long
def test_our_own_id_header_is_the_first(walpost, database, kafka, outbox,
                                        topics):
    """Where a header of the application's may be called id, too."""
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    for number in range(5):
        outbox.insert("order", "key", str(number), sequence=number,
                      headers='{"trace": "x"}')
    database.wait_confirmed(database.name)
    row = database.execute("select id::text, payload::text from outbox where "
                           "sequence = 3")[0]
    subprocess.run(
        ["kcat", "-P", "-b", kafka.bootstrap, "-t", topics + "order", "-k",
         "key", "-H", f"id={row[0]}", "-H", "id=the application's", "-X",
         "partitioner=murmur2_random"], input=row[1].encode(), check=True)
    report = verify(relay)
    assert report["clean"] and report["found"] == {"duplicates": 1}, report


# ---- Order per key.

def test_p2_recovered_rows_are_in_the_order_of_commits(
        walpost, database, kafka, topics):
    """With sql/outbox.sql, whose ids are random."""
    run_sql_file(database, "outbox.sql")
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    database.wait_slot_inactive(database.name)
    _drop(database)
    for number in range(60):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload) values "
            "('order', 'key-' || %s, %s::text::json), "
            "('order', 'key-' || %s, %s::text::json)",
            (number % 2, str(number * 2), number % 2, str(number * 2 + 1)))
    said = _verb(relay, 0, "recover")
    assert "120 published" in said
    values = {}
    for record in KafkaReader(kafka.bootstrap).read_all(topics):
        values.setdefault(record.key, []).append(int(record.value))
    assert all(found == sorted(found) for found in values.values()), values
    relay.run()
    report = verify(relay, sequence=None)
    assert report["clean"]
    assert report["repairs_judged_by"] == "column created_at"
    # And verify sees it where it is not so.
    database.execute("update outbox set created_at = created_at - interval "
                     "'1 day' where payload::text::int = 100")
    report = verify(relay, sequence=None)
    assert not report["clean"] and report["found"]["disorder"] == 1


@pytest.mark.parametrize("verb", [
    ("recover", "--dry-run"), ("replay", "--from-table", "--dry-run")])
@pytest.mark.long
def test_random_ids_alone_are_refused(walpost, database, kafka, outbox, topics,
                                      verb):
    relay = walpost(database, kafka, topics).run()
    _fill(outbox, 0, 3)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    said = _verb(relay, 3, *verb)
    assert "--order-by" in said and "outbox.tables.order_by" in said
    _verb(relay, 0, *verb, "--order-by", "sequence")


# ---- Row-level security.

@pytest.mark.parametrize("verb", [
    ("verify",), ("recover", "--dry-run"),
    *long_only(("replay", "--from-table", "--dry-run"))])
@pytest.mark.long
def test_p1_rows_that_a_policy_hides_are_an_error(
        walpost, database, kafka, outbox, topics, verb):
    relay = walpost(database, kafka, topics, outbox=_ORDERED).run()
    _fill(outbox, 0, 5)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    role = "reader_of_" + database.name
    database.execute(f"create role {role} login replication")
    try:
        database.execute(f"grant select on outbox to {role}")
        database.execute("create policy shown on outbox for select "
                         "using (sequence < 2)")
        database.execute("alter table outbox enable row level security")
        reader = walpost(database, kafka, topics, outbox=_ORDERED, postgres={
            "conninfo": database.conninfo(role)})
        said = _verb(reader, 3, *verb)
        assert f'ALTER ROLE "{role}" BYPASSRLS' in said
        database.execute(f"alter role {role} bypassrls")
        _verb(reader, 0, *verb)
    finally:
        database.execute(f"drop owned by {role}")
        database.execute(f"drop role {role}")


@pytest.mark.parametrize("state, gap", [
    ("missing", "slot_missing"), ("advanced", "slot_advanced"),
    ("made_again_by_hand", "slot_advanced"),
    ("not_covered", "coverage_changed"),
    ("lost_with_its_publication", "coverage_changed")])
@pytest.mark.long
def test_p9_check_names_the_gap_that_run_would(slot, state, gap):
    getattr(slot, state)()
    said = _verb(slot.relay, 1, "check")
    assert f"[{gap}]" in said and "walpost recover" in said
    assert "pg_create_logical_replication_slot" not in said
    assert "CREATE PUBLICATION" not in said


@pytest.fixture
def bare(walpost, database, kafka, outbox, topics):
    """Without a checkpoint."""
    return _Slot(walpost(database, kafka, topics, outbox=_MESSAGES), database,
                 outbox)


@pytest.mark.long
def test_p9_check_offers_nothing_that_would_hide_a_gap(bare, kafka, topics):
    bare.missing()
    said = _verb(bare.relay, 1, "check")
    assert "[slot_missing]" in said and "walpost recover" in said
    assert "pg_create_logical_replication_slot" not in said
    assert "--accept" not in said
    _verb(bare.relay, 3, "init")
    _verb(bare.relay, 0, "recover", "--order-by", "sequence")
    bare.relay.run()
    assert len(_ids(kafka, topics)) == 13


@pytest.mark.long
def test_p9_a_publication_that_is_gone_for_good(bare, database, outbox, kafka,
                                                topics):
    """Its record went with it, and the slot cannot see another one."""
    bare.lost_with_its_publication()
    assert "publication_missing" not in _verb(bare.relay, 0, "check")
    _fill(outbox, 13, 14)
    said = _verb(bare.relay, 1, "check")
    assert "[publication_missing]" in said and "CREATE PUBLICATION" not in said
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    said = _verb(bare.relay, 1, "check")
    assert "[publication_missing]" in said and "walpost recover" in said
    _verb(bare.relay, 0, "recover", "--order-by", "sequence")
    bare.relay.run()
    assert len(_ids(kafka, topics)) == 14


@pytest.mark.parametrize("pending", ("nothing", "rows", "rows before it"))
@pytest.mark.parametrize("horizon", ("inherited", "own"))
@pytest.mark.long
def test_a_slot_of_another_program_is_in_order(walpost, database, kafka, outbox,
                                               topics, horizon, pending):
    """Nothing is on record of it, and its horizon may be that of an older slot:
    only the WAL says whether it sees the publication."""
    older = f"{database.name}_older"
    if horizon == "inherited":
        database.execute("select pg_create_logical_replication_slot(%s, "
                         "'pgoutput')", (older,))
        database.execute("create table filler (x int)")
    make = ("select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (database.name,))
    if pending == "rows before it":
        database.execute(*make)
        _fill(outbox, 0, 2)
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    if pending != "rows before it":
        database.execute(*make)
    if pending == "rows":
        _fill(outbox, 0, 2)
    relay = walpost(database, kafka, topics)
    if pending == "rows before it":
        assert "[publication_missing]" in _verb(relay, 1, "check")
        relay.start()
        relay.wait_unready("publication")
        return
    said = _verb(relay, 0, "check")
    assert "publication_missing" not in said and "younger" not in said
    _verb(relay, 3, "recover")
    relay.run()
    outbox.insert("order", "key", sequence=9)
    database.wait_confirmed(relay.slot)
    assert len(_ids(kafka, topics)) == (3 if pending == "rows" else 1)


@pytest.mark.long
def test_p9_a_new_slot_without_what_is_missing(slot, kafka, topics, directory):
    """As the gap says; the checkpoint keeps the gap until it is removed."""
    slot.missing()
    slot.relay.start()
    assert "remove the checkpoint" in slot.relay.wait_unready("slot_missing")
    slot.relay.stop()
    _verb(slot.relay, 0, "init", "--fresh")
    assert "[slot_missing]" in _verb(slot.relay, 1, "check")
    (directory / "checkpoint").unlink()
    assert "ERROR" not in _verb(slot.relay, 0, "check")
    slot.relay.run()
    _fill(slot.outbox, 20, 23)
    slot.database.wait_confirmed(slot.database.name)
    assert len(_ids(kafka, topics)) == 13
