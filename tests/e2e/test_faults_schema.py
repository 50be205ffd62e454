"""The table and its publication are changed in mid-stream.

The server says nothing when the publication stops covering the outbox: rows
just stop coming, and what is committed meanwhile is never sent. walpost cannot
bring those back, but it must say so within 15 seconds, and `walpost verify`
must name just them. Everything before and after has to arrive.
"""

import dataclasses
import time

import pytest

from harness import (Checker, KafkaReader, Load, Readiness, judge, note,
                     wait_until)
from harness.matrix import long_only

_NOTICED_S = 15
# After so long in order it counts as having been in order.
_SETTLED_S = 3


def _load(outbox, seed=1):
    return Load(outbox, seed, pause=0.01)


def _ids(database):
    return {row[0] for row in database.execute("select id::text from truth")}


def _in_table(database):
    """What can be recovered; the load deletes some rows as it inserts them."""
    return {row[0] for row in database.execute("select id::text from outbox")}


def _wait_more(database, count=50):
    """Waits until that many more events are committed."""
    before = len(_ids(database))
    wait_until(lambda: len(_ids(database)) >= before + count, "more events")


def _wait_noticed(relay, pattern, begun):
    text = relay.wait_unready(pattern, _NOTICED_S)
    note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.100}")
    return text


def _missing(outbox, kafka):
    records = KafkaReader(kafka.bootstrap).read_all(outbox.topic_prefix)
    there = {record.id for record in records}
    return frozenset(_ids(outbox.database) - there)


def _recover(database, relay):
    """The way out where WAL has rows that can never be decoded again."""
    database.wait_slot_inactive(relay.slot)
    recovered = relay.verb("recover", "--force", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stderr
    note(recovered.stdout.strip())


_HARMLESS = (
    "alter table outbox add column extra text default 'x'",
    "alter table outbox rename column extra to more",
    "alter table outbox alter column more type varchar(10)",
    "alter table outbox drop column more",
    "alter table outbox add column made timestamptz default clock_timestamp()",
    "alter table outbox alter column aggregate_id type varchar(200)",
    "alter table outbox alter column aggregate_type type varchar(200)",
    "alter table outbox alter column payload type json",
    "alter table outbox alter column sequence type numeric",
    "alter table outbox replica identity full",
    "create index on outbox (aggregate_id)",
    "vacuum full outbox",
    "analyze outbox",
    "truncate outbox",
    "create table other (like outbox)",
    "alter publication walpost add table other",
    "truncate outbox, other",
    "alter table outbox disable trigger remember; "
    "alter table outbox enable always trigger remember",
)


def test_p1_p3_p10_changes_that_do_no_harm(walpost, database, kafka, outbox,
                                           topics):
    relay = walpost(database, kafka, topics).run()
    with Readiness(relay) as readiness, _load(outbox):
        for change in _HARMLESS:
            database.execute(change)
            time.sleep(0.2)
    assert judge(outbox, kafka, relay).duplicates == 0
    readiness.assert_always_ready()
    assert relay.stop() == 0


@dataclasses.dataclass
class _Change:
    """What somebody does to the publication, and how it is made good."""

    do: str
    says: str  # what /readyz must say, the remedy with it
    undo: str
    oldest: int = 14  # the first major that knows it


_UNSENT = {
    "table taken out": _Change(
        "alter publication walpost drop table outbox",
        r"outbox is not in publication walpost.*ADD TABLE",
        "alter publication walpost add table outbox"),
    "inserts turned off": _Change(
        "alter publication walpost set (publish = 'update')",
        r"walpost does not publish inserts.*ALTER PUBLICATION",
        "alter publication walpost set (publish = 'insert')"),
    "row filter": _Change(
        "alter publication walpost set table outbox "
        "where (aggregate_type <> 'order')",
        r"outbox has a row filter.*publish the whole table|another row filter",
        "alter publication walpost set table outbox", oldest=15),
}


@pytest.mark.parametrize("change", [  # test_gaps has the others, too
    _UNSENT["row filter"], *long_only(_UNSENT["table taken out"],
                                      _UNSENT["inserts turned off"])],
    ids=lambda change: change.do)
@pytest.mark.long
def test_p9_p10_rows_are_not_published_for_a_while(
        walpost, database, kafka, outbox, topics, change):
    if database.major() < change.oldest:
        return
    relay = walpost(database, kafka, topics).run()
    with _load(outbox):
        time.sleep(_SETTLED_S)
        before = _ids(database)
        database.execute(change.do)
        _wait_noticed(relay, change.says, time.monotonic())
        assert relay.get("/healthz")[0] == 200
        database.execute(change.undo)
        # That all is right again does not bring the rows back.
        _wait_more(database)
        relay.wait_looked()
        _wait_noticed(relay, r"\[coverage_changed\].*walpost verify",
                      time.monotonic())
        missing = _missing(outbox, kafka)
        note(f"{len(missing)} events were never sent")
        assert missing - before
        assert relay.stop() == 0
        _recover(database, relay)
        relay.run()
        _wait_more(database)
    missing = _missing_when_confirmed(outbox, kafka, relay)
    assert not missing & _in_table(database)
    judge(outbox, kafka, relay, gone=missing)
    assert relay.stop() == 0


@pytest.mark.long
def test_p9_p10_a_change_right_after_the_start(walpost, database, kafka,
                                               outbox, topics):
    relay = walpost(database, kafka, topics).run()
    change = _UNSENT["table taken out"]
    database.execute(change.do)
    _wait_noticed(relay, change.says, time.monotonic())
    database.execute(change.undo)
    relay.wait_looked()
    _wait_noticed(relay, r"\[coverage_changed\]", time.monotonic())


def _recreate(database):
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")


def test_p9_p10_the_publication_is_dropped(walpost, database, kafka, outbox,
                                           topics):
    """Its WAL cannot be decoded any more; 18 would leave the rows out."""
    relay = walpost(database, kafka, topics).run()
    with _load(outbox):
        time.sleep(_SETTLED_S)
        database.execute("drop publication walpost")
        dropped = database.current_lsn()
        _wait_noticed(relay, "publication .*does not exist.*"
                      "(CREATE PUBLICATION|walpost init|walpost recover)",
                      time.monotonic())
        assert relay.get("/healthz")[0] == 200
        _wait_more(database)
        _recreate(database)
        assert database.confirmed_lsn(relay.slot) <= dropped + (1 << 20)
        assert relay.stop() is not None
        _recover(database, relay)
        relay.start()
        relay.wait_ready(_NOTICED_S)
        _wait_more(database)
    missing = _missing_when_confirmed(outbox, kafka, relay)
    note(f"{len(missing)} events were never sent")
    assert not missing & _in_table(database)
    judge(outbox, kafka, relay, gone=missing)


@pytest.mark.long
def test_p8_p9_p10_a_column_list_without_the_payload(
        walpost, database, kafka, outbox, topics):
    if database.major() < 15:
        return
    relay = walpost(database, kafka, topics).run()
    with _load(outbox):
        _wait_more(database)
        database.execute("alter publication walpost set table outbox "
                         "(id, aggregate_type, aggregate_id, sequence)")
        # By the stream, or by the watch if that is behind.
        _wait_noticed(relay, "no column 'payload'|not in the column list",
                      time.monotonic())
        database.execute("alter publication walpost set table outbox")
        # What was committed meanwhile still lacks it: no way past it.
        assert relay.stop() == 0
        stands = database.confirmed_lsn(relay.slot)
        relay.start()
        relay.wait_unready(r"\[coverage_changed\]", _NOTICED_S)
        assert database.confirmed_lsn(relay.slot) == stands
        assert relay.stop() == 0
        _recover(database, relay)
        relay.run()
        _wait_more(database)
    missing = _missing_when_confirmed(outbox, kafka, relay)
    assert not missing & _in_table(database)
    judge(outbox, kafka, relay, gone=missing)


def _missing_when_confirmed(outbox, kafka, relay):
    outbox.database.wait_confirmed(relay.slot)
    return _missing(outbox, kafka)


@pytest.mark.long
def test_p10_a_column_list_without_the_headers(walpost, database, kafka,
                                               outbox, topics):
    """Records would lose their headers without a word."""
    if database.major() < 15:
        return
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "key-1", headers='{"trace": "1"}')
    time.sleep(_SETTLED_S)
    database.execute("alter publication walpost set table outbox "
                     "(id, aggregate_type, aggregate_id, payload, sequence)")
    begun = time.monotonic()
    outbox.insert("order", "key-1", headers='{"trace": "2"}')
    _wait_noticed(relay, "headers|column list", begun)
    database.execute("alter publication walpost set table outbox")
    outbox.insert("order", "key-1", headers='{"trace": "3"}')
    # The operator has seen it: what was committed under the column list can
    # only go out without them.
    assert relay.stop() == 0
    accepted = relay.verb("recover", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    relay.run()
    database.wait_confirmed(database.name)
    traces = [dict(record.headers).get("trace") for record in
              KafkaReader(kafka.bootstrap).read_all(topics)]
    assert traces == [b"1", None, b"3"]


_RENAMED = {
    "payload": ({"key": "aggregate_id", "payload": "body"}, "body"),
    "aggregate_id": ({"key": "subject", "payload": "payload"}, "subject"),
}


@pytest.mark.parametrize("column", _RENAMED)
@pytest.mark.sample(2)
def test_p3_p8_p10_a_mapped_column_is_renamed(
        walpost, database, kafka, outbox, topics, column):
    """It stops before the first row of the new shape; told the new name, it
    goes on there. Without the key it would go on out of order."""
    names, new_name = _RENAMED[column]
    relay = walpost(database, kafka, topics).run()
    with _load(outbox) as load:
        load.wait(100)
    database.wait_confirmed(relay.slot)
    outbox.rename(column, new_name)
    begun = time.monotonic()
    database.execute(
        f"insert into outbox (aggregate_type, {names['key']}, "
        f"{names['payload']}, sequence) select 'order', 'renamed-' || n, "
        "to_jsonb(n), n from generate_series(1, 100) n")
    end = database.current_lsn()
    text = _wait_noticed(relay, column, begun)
    assert "public.outbox" in text
    time.sleep(1)
    assert relay.stop() == 0
    checker = Checker(outbox.expected(),
                      KafkaReader(kafka.bootstrap).read_all(topics))
    assert not checker.altered, checker.altered[:3]
    assert database.confirmed_lsn(relay.slot) < end

    told = walpost(database, kafka, topics, postgres={"slot": relay.slot},
                   outbox={"tables": [{"name": "public.outbox",
                                       "columns": {column: new_name}}]}).run()
    judge(outbox, kafka, told)
    assert told.stop() == 0


@pytest.mark.long
def test_p9_p10_another_table_takes_its_name(walpost, database, kafka, outbox,
                                             topics):
    """As migrations do it: the publication follows the old table."""
    relay = walpost(database, kafka, topics).run()
    with _load(outbox) as load:
        load.wait(100)
    database.wait_confirmed(relay.slot)  # for nothing is, once there is a gap
    with database.transaction() as cursor:
        cursor.execute("alter table outbox rename to outbox_old")
        cursor.execute("create table outbox (like outbox_old including all)")
        cursor.execute("create trigger remember after insert on outbox for "
                       "each row execute function remember()")
    _wait_noticed(relay, r"outbox is not in publication.*ADD TABLE",
                  time.monotonic())
    database.execute("alter publication walpost add table outbox")
    assert relay.stop() == 0
    accepted = relay.verb("recover", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    relay.run()
    with _load(outbox, seed=2) as load:
        load.wait(100)
    database.wait_confirmed(relay.slot)
    checker = Checker(outbox.expected(),
                      KafkaReader(kafka.bootstrap).read_all(topics))
    checker.assert_clean()
    assert checker.duplicates == 0
    assert relay.stop() == 0


@pytest.mark.long
def test_p3_p8_a_column_is_renamed_and_the_connection_lost(
        walpost, database, kafka, outbox, topics):
    """Before a row of the new shape comes: the next connection remembers."""
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "o-1")
    database.wait_confirmed(relay.slot)
    outbox.rename("aggregate_id", "subject")
    database.execute("select pg_terminate_backend(active_pid) "
                     "from pg_replication_slots where slot_name = %s",
                     (relay.slot,))
    relay.wait_log("trying again")
    database.execute(
        "insert into outbox (aggregate_type, subject, payload, sequence) "
        "values ('order', 'o-1', '1', 1)")
    end = database.current_lsn()
    _wait_noticed(relay, "aggregate_id", time.monotonic())
    assert database.confirmed_lsn(relay.slot) < end
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 1
    assert relay.stop() == 0


@pytest.mark.long
def test_p9_the_publication_was_missing_while_walpost_was_down(
        walpost, database, kafka, outbox, topics):
    """Before 18 the server refuses to go on; from then on it only warns."""
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "o-1", sequence=1)
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.execute("drop publication walpost")
    outbox.insert("order", "o-1", sequence=2)
    end = database.current_lsn()
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    outbox.insert("order", "o-1", sequence=3)
    relay.start()
    _wait_noticed(relay, 'publication "walpost"', time.monotonic())
    assert database.confirmed_lsn(relay.slot) < end
    assert relay.stop() == 0
    database.wait_slot_inactive(relay.slot)
    recovered = relay.verb("recover", "--all", "--force", "--order-by",
                           "sequence")
    assert recovered.returncode == 0, recovered.stderr
    relay.run()
    judge(outbox, kafka, relay, at_least=3)
