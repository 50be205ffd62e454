"""A name in outbox.tables that is a slip of the pen does not become an empty table
that is published: init, check and run name the table that was meant."""

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import pairs

_OTHERS = {"aggregate_type": "stream", "aggregate_id": "stream_id",
           "payload": "body"}

# The table that there is, and what the configuration says.
_SLIPS = {
    "a letter is missing": ("events", "public.evnts"),
    "letters are swapped": ("events", "public.evenst"),
    "singular": ("events", "public.event"),
    "plural": ("event", "public.events"),
    "case": ('"Events"', "public.events"),
    "another schema": ("app.events", "public.events"),
    "quoted": ('"order events"', "public.order event"),
}


def _make(database, table, columns=None):
    columns = columns or {name: name for name in _OTHERS}
    database.execute(
        f"create schema if not exists app; create table {table} (id uuid primary "
        "key default gen_random_uuid(), "
        + ", ".join(f"{name} text" for name in columns.values()) + ")")


def _state(database):
    return database.execute(
        "select (select count(*) from pg_class where relkind = 'r' and "
        "relnamespace in ('public'::regnamespace, 'app'::regnamespace)), "
        "(select count(*) from pg_publication), "
        "(select count(*) from pg_replication_slots where database = "
        "current_database())")


@pytest.mark.parametrize("case", pairs(slip=list(_SLIPS), mapped=[False, True]),
                         ids=str)
@pytest.mark.long
def test_init_makes_no_table_from_a_slip(walpost, database, kafka, topics, case):
    table, wanted = _SLIPS[case["slip"]]
    columns = _OTHERS if case["mapped"] else None
    _make(database, table, columns)
    entry = {"name": wanted, **({"columns": columns} if columns else {})}
    relay = walpost(database, kafka, topics, outbox={"tables": [entry]})
    before = _state(database)
    meant = table.replace('"', "")
    meant = meant if "." in meant else "public." + meant
    for verb, code in [("init", 3), ("check", 1), ("run", 3)]:
        said = relay.verb(verb)
        text = said.stdout + said.stderr
        assert said.returncode == code, text
        assert f"did you mean {meant}?" in text, text
        assert _state(database) == before, f"{verb} has made something"


@pytest.mark.long
def test_columns_that_a_new_table_would_not_have(walpost, database, kafka,
                                                 topics):
    """And no name that is similar. What --print shows is a table for them."""
    entry = {"name": "public.notices", "columns": _OTHERS,
             "topic": topics + "{stream}"}
    relay = walpost(database, kafka, topics, outbox={"tables": [entry]})
    said = relay.verb("init")
    assert said.returncode == 3, said.stdout
    for column in _OTHERS.values():
        assert column in said.stderr
    shown = relay.verb("init", "--print")
    assert shown.returncode == 0, shown.stderr
    table = shown.stdout[:shown.stdout.index("CREATE PUBLICATION")]
    for field, column in _OTHERS.items():
        assert f'  "{column}" ' in table, table
        assert f"  {field} " not in table, table
    database.execute(table)
    said = relay.verb("init")
    assert said.returncode == 0, said.stderr
    assert "exists" in relay.verb("init", "--print").stdout
    relay.run()
    database.execute("insert into notices (stream, stream_id, body) "
                     "values ('order', '42', '{}')")
    record, = wait_until(lambda: KafkaReader(kafka.bootstrap).read_all(topics),
                         "the record")
    assert record.key == b"42"


@pytest.mark.long
def test_print_for_a_table_that_exists(walpost, database, kafka, topics):
    """Nothing of a table that has other columns than walpost's own."""
    _make(database, "events", _OTHERS)
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.events", "columns": _OTHERS}]})
    shown = relay.verb("init", "--print").stdout
    assert "create table" not in shown.lower()
    assert "public.events exists" in shown
