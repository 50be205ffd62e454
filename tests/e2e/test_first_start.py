"""The first start: an outbox that has rows already is never passed over without
a word, and `snapshot: initial` publishes them whatever gets in its way (P1)."""

import re
import time

import pytest

from harness import Checker, KafkaReader, verify
from harness.matrix import long_only

_BACKLOG = 300


def _fill(outbox, rows, keys=20):
    """Rows of `keys` keys; the sequence of each key rises."""
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n %% %s, to_jsonb(n), n + last "
        "from generate_series(1, %s) n, "
        "(select coalesce(max(sequence), 0) from outbox) rows (last)",
        (keys, rows))


def _read(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _is_marked(record):
    return "walpost-snapshot" in dict(record.headers)


def _sections(directory, way, store):
    sections = {
        "outbox": {"tables": [{"name": "public.outbox",
                               "order_by": "sequence"}]},
        "postgres": {"create": way in ("create", "snapshot")},
        "snapshot": "initial" if "snapshot" in way else "never"}
    if store == "file":
        sections["checkpoint"] = {"store": "file",
                                  "path": str(directory / "checkpoint")}
    return sections


_WAYS = ("init", "create", "snapshot", "init then snapshot")
_FIRST_STARTS = [
    ("backlog", "init", "none"),
    ("backlog", "create", "file"),
    ("backlog", "snapshot", "file"),
    ("backlog", "init then snapshot", "none"),
    ("empty", "init then snapshot", "file"),
]
_OTHERS = [(table, way, store) for table in ("empty", "backlog")
           for way in _WAYS for store in ("none", "file")
           if (table, way, store) not in _FIRST_STARTS]


@pytest.mark.parametrize("table, way, store",
                         _FIRST_STARTS + long_only(*_OTHERS))
@pytest.mark.sample(6)
def test_p1_first_start(walpost, database, kafka, outbox, topics, directory,
                        table, way, store):
    backlog = _BACKLOG if table == "backlog" else 0
    relay = walpost(database, kafka, topics,
                    **_sections(directory, way, store))
    _fill(outbox, backlog)
    old = {row[0] for row in database.execute("select id::text from outbox")}
    is_published = "snapshot" in way or not backlog
    said = rf"public\.outbox has {backlog} rows.*will " + (
        "be" if is_published else "not be") + " published"
    if way.startswith("init"):
        for _ in range(2):  # a second time changes nothing
            made = relay.verb("init")
            assert made.returncode == 0, made.stderr
            assert bool(re.search(said, made.stdout)) == bool(backlog)
    checked = relay.verb("check")
    assert bool(re.search(said, checked.stdout)) == bool(backlog)
    if backlog and not is_published:
        assert re.search(rf"warning table {said}", checked.stdout)
        assert re.search("replay -c .* --from-table", checked.stdout)
    _fill(outbox, 50)  # after init, before run
    relay.run()
    told = re.search(r" warn table public\.outbox has (\d+) rows",
                     relay.log())
    assert bool(told) == bool(not is_published or (
        way == "create"))
    _fill(outbox, 50)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0

    records = _read(kafka, topics)
    between = way == "create"  # nothing brings these either
    expected = [event for event in outbox.expected()
                if "snapshot" in way or event.id not in old]
    if between:
        assert int(told[1]) == backlog + 50
        expected = [event for event in expected
                    if event.sequence > backlog + 50]
    Checker(expected, records).assert_clean()
    if "snapshot" in way:
        assert sum(map(_is_marked, records)) == backlog + 50
    # The next starts have nothing to do.
    before = len(records)
    relay.run()
    database.wait_confirmed(database.name)
    time.sleep(0.5)
    assert relay.stop() == 0
    assert len(_read(kafka, topics)) == before
    if "snapshot" in way:
        relay.wait_log("snapshot: initial is ignored")
        assert verify(relay)["clean"]
    else:
        assert "will not be published" not in relay.log()


@pytest.mark.long
def test_check_limits_the_count(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, postgres={"create": False})
    _fill(outbox, 100_001)
    database.execute("analyze outbox")
    said = "has more than 100,000 rows (about 100,001 by the statistics)"
    assert said in relay.verb("init").stdout
    assert said in relay.verb("check").stdout


@pytest.mark.long
def test_a_role_that_may_not_read_is_told_how(walpost, database, kafka, outbox,
                                              topics):
    administrator = walpost(database, kafka, topics,
                            postgres={"create": False})
    _fill(outbox, 10)
    assert "10 rows" in administrator.verb("init").stdout
    role = f"blind_{database.name}"
    database.execute(f"create role {role} login replication")
    try:
        relay = walpost(database, kafka, topics, postgres={
            "create": False, "conninfo": database.conninfo(role)})
        checked = relay.verb("check")
        assert f'GRANT SELECT ON "public"."outbox" TO "{role}"' \
            in checked.stdout
        relay.run()  # it never fails because of that
        assert "cannot know" in relay.log()
        assert relay.stop() == 0
    finally:
        database.execute(f"drop owned by {role}")
        database.execute(f"drop role {role}")


@pytest.mark.long
def test_init_on_a_slot_of_somebody_else(walpost, database, kafka, outbox,
                                         topics):
    """`snapshot: initial` refuses it until `init` has put it on record."""
    relay = walpost(database, kafka, topics, postgres={"create": False},
                    snapshot="initial",
                    outbox={"tables": [{"name": "public.outbox",
                                        "order_by": "sequence"}]})
    _fill(outbox, 20)
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    relay.start()
    assert relay.wait_exit() == 3
    assert "walpost init" in relay.log() and "snapshot: never" in relay.log()
    made = relay.verb("init")
    assert made.returncode == 0 and "made by somebody else" in made.stdout
    relay.run()
    _fill(outbox, 20)
    database.wait_confirmed(database.name)
    Checker(outbox.expected(), _read(kafka, topics)).assert_clean()
    assert verify(relay)["clean"]


@pytest.mark.long
def test_init_refuses_a_slot_of_another_plugin(walpost, database, kafka,
                                               outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, postgres={"create": False})
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'test_decoding')", (database.name,))
    refused = relay.verb("init")
    assert refused.returncode == 3 and "pgoutput" in refused.stderr
