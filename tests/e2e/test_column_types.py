"""The same bytes of a column in every way to Kafka, or a refusal at the start.

A cell is a type in a place of the event; each has a table of its own. One
walpost has them all, once for every way.
"""

import json
import re

import pytest

from harness import KafkaReader, note, wait_until
from harness.column_types import (BYTES, HEADERS, JSON, MAY_BE_TIME,
                                  MAY_HAVE_HEADERS, NUMBERS, SETUP, TIMES,
                                  TYPES, WITHOUT_EQUALITY, WITHOUT_ORDER)
from harness.matrix import LONG

_SHORT = ["bool", "int8", "char", "bytea", "timestamptz", "json", "xml",
          "point", "inet", "citext", "enum", "domain_domain", "domain_int",
          "domain_time", "millis", "domain_jsonb", "texts", "jsons"]
_TYPES = list(TYPES) if LONG else _SHORT
_PLACES = ["key", "topic", "id", "headers", "payload", "value", "timestamp",
           "order_by", "claim_check"]
# A poller has a connection to each table.
_POLLED_AT_ONCE = 40
_STATE = {"status": "status", "published_at": "published_at",
          "locked_until": "locked_until"}


class Cell:
    """One type in one place."""

    def __init__(self, kind, place):
        self.kind, self.place = kind, place
        self.name = f"{place}_{kind}"
        self.table = f"cells.{self.name}"

    def ddl(self):
        sql_type, literal = TYPES[self.kind]
        return (f"create table {self.table} (n bigint generated always as "
                f"identity primary key, cell text default '{self.name}', "
                f"payload text default '{{}}', v {sql_type}, status text not "
                "null default 'pending', published_at timestamptz, "
                "locked_until timestamptz);" + self._indexes(),
                f"insert into {self.table} (v) values ({literal});")

    def _indexes(self):
        """That a poller needs; of a type without an order it has none."""
        order = "v" if self.place == "order_by" else "n"
        unsorted = self.kind in WITHOUT_EQUALITY | (
            WITHOUT_ORDER if order == "v" else set())
        if order == "v" and unsorted:
            return ""
        indexes = (f"create index on {self.table} ({order}) where status = "
                   "'pending';")
        if self.place == "id" and not unsorted:
            indexes += f"create unique index on {self.table} (v);"
        return indexes

    def options(self, topic, state=None):
        columns = {"id": "n", "aggregate_type": "cell", "aggregate_id": "cell"}
        table = {"name": self.table, "topic": topic + "cells",
                 "columns": columns}
        if self.place == "key":
            columns["aggregate_id"] = "v"
        elif self.place == "topic":
            table["topic"] = topic + "of.{v}"
        elif self.place in ("id", "headers", "payload", "timestamp"):
            columns[self.place] = "v"
        elif self.place == "value":
            table["value"] = {"columns": ["v"]}
        elif self.place == "order_by":
            table["order_by"] = "v"
        else:
            columns["payload"] = "v"
            table["claim_check_above"] = 1
        if self.place == "id":
            table["order_by"] = "n"
        if state:
            table["state"] = state
        return table

    def is_refused(self, polled):
        """At the start: by its type alone."""
        if self.place == "headers":
            return self.kind not in MAY_HAVE_HEADERS
        if self.place == "timestamp":
            return self.kind not in MAY_BE_TIME
        if self.place == "order_by":
            return self.kind in WITHOUT_ORDER
        return (polled and self.place in ("key", "id")
                and self.kind in WITHOUT_EQUALITY)

    def expected(self, text):
        """What the record has in this place; `text`: of the server."""
        if self.place == "value":
            if self.kind in NUMBERS:
                return int(text)
            if self.kind in JSON:
                return json.loads(text)
            return text == "t" if self.kind == "bool" else text
        return BYTES.get(self.kind, text.encode())


def _cells():
    for kind in _TYPES:
        for place in _PLACES:
            # Rows that cannot be delivered stop a flow: other tests.
            if place == "headers" and kind in MAY_HAVE_HEADERS - HEADERS:
                continue
            if place == "timestamp" and kind in MAY_BE_TIME - TIMES:
                continue
            yield Cell(kind, place)


def _sections(cells, topic, **more):
    return {"outbox": {"tables": [cell.options(topic) for cell in cells]},
            "route": {"topic": None, "headers": {"cell": "cell"}}, **more}


def _polled(cells, topic):
    return {**_sections(cells, topic), "source": "polling",
            "polling": {"interval": "50ms"},
            "outbox": {"tables": [cell.options(topic, _STATE)
                                  for cell in cells]}}


def _refused(relay):
    """The tables that check names with an error."""
    said = relay.verb("check", seconds=300).stdout
    return set(re.findall(r"^ERROR +table (cells\.\w+)", said, re.M)) | {
        f"cells.{name}" for name in
        re.findall(r"^ERROR .* of cells\.(\w+)", said, re.M)}


def _records(kafka, topic):
    """{cell: what is the same in every way}."""
    found = {}
    for record in KafkaReader(kafka.bootstrap).read_all(topic):
        headers = dict(record.headers)
        cell = headers["cell"].decode()
        time = record.timestamp if cell.startswith("timestamp_") else None
        assert cell not in found, cell
        found[cell] = (
            record.topic.removeprefix(topic), record.key, record.value, time,
            tuple((name, value) for name, value in record.headers
                  if name == "walpost-claim-check"
                  or not name.startswith("walpost-")))
    return found


def _in_place(cell, record):
    topic, key, value, time, headers = record
    return {"key": key, "topic": topic.removeprefix("of.").encode(),
            "id": dict(headers)["id"], "payload": value,
            "value": json.loads(value)["v"] if cell.place == "value" else None,
            "timestamp": time}.get(cell.place)


@pytest.fixture(name="cells")
def made_cells(database):
    """All cells, with their tables and one row each."""
    database.execute(SETUP + "create schema cells;")
    cells = list(_cells())
    texts = dict(database.execute("select * from (" + " union all ".join(
        f"select '{kind}', concat({literal}::{sql_type})"
        for kind, (sql_type, literal) in TYPES.items()) + ") t"))
    cells = [cell for cell in cells if cell.place != "topic"
             or re.fullmatch(rb"[\w.-]+", BYTES.get(
                 cell.kind, texts[cell.kind].encode()))]
    database.execute("".join(cell.ddl()[0] for cell in cells))
    for cell in cells:
        cell.text = texts[cell.kind]
        if cell.kind in ("text", "texts"):
            cell.text = None  # JSON escapes differ: compared between the ways
    return cells


def _insert(database, cells):
    database.execute("".join(cell.ddl()[1] for cell in cells))


def _of_stream(walpost, database, kafka, topics, cells):
    relay = walpost(database, kafka, topics, **_sections(cells, topics)).run(60)
    _insert(database, cells)
    database.wait_confirmed(database.name)
    return relay, _records(kafka, topics)


def _of_replay(relay, kafka, topics):
    said = relay.verb("replay", "--from-table", "--topic-prefix", "again.",
                      seconds=300)
    assert said.returncode == 0, said.stderr
    return _records(kafka, "again." + topics)


def _of_recover(walpost, database, kafka, topics, cells):
    """After the slot: none of the rows is in these topics."""
    topic = "recovered." + topics
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    relay = walpost(database, kafka, topics, **_sections(cells, topic))
    said = relay.verb("recover", "--all", seconds=300)
    assert said.returncode == 0, said.stderr
    return _records(kafka, topic)


def _of_snapshot(walpost, database, kafka, topics, cells):
    topic = "snap." + topics
    sections = _sections(cells, topic, snapshot="initial")
    sections["postgres"] = {"slot": database.name + "_b",
                            "publication": "walpost_b"}
    walpost(database, kafka, topics, **sections).run(120)
    wait_until(lambda: len(_records(kafka, topic)) >= len(cells),
               lambda: f"{len(cells)} rows of the snapshot; there are "
               f"{len(_records(kafka, topic))}", 60, pause=0.5)
    return _records(kafka, topic)


def _of_polling(walpost, database, kafka, topics, cells):
    topic = "poll." + topics
    for first in range(0, len(cells), _POLLED_AT_ONCE):
        portion = cells[first:first + _POLLED_AT_ONCE]
        relay = walpost(database, kafka, topics, **_polled(portion, topic))
        relay.run(60)
        for cell in portion:
            wait_until(lambda cell=cell: database.value(
                f"select status from {cell.table}") == "published",
                       lambda cell=cell: f"{cell.name}\n{relay.log()}")
        assert relay.stop() == 0
    return _records(kafka, topic)


def _compare(cells, reference, other, way):
    """The cells whose record is another one; a missing record is another."""
    return [f"{cell.name} by {way}: {other.get(cell.name)}, by stream "
            f"{reference.get(cell.name)}" for cell in cells
            if other.get(cell.name) != reference.get(cell.name)]


def test_all_ways_have_the_same_bytes(walpost, database, kafka, topics, cells):
    streamed = [cell for cell in cells if not cell.is_refused(polled=False)]
    relay, reference = _of_stream(walpost, database, kafka, topics, streamed)
    wrong = []
    for cell in streamed:
        found = _in_place(cell, reference[cell.name])
        if (cell.text is not None and found is not None
                and cell.place != "timestamp"
                and found != cell.expected(cell.text)):
            wrong.append(f"{cell.name}: {found}, not {cell.text}")
    said = relay.verb("verify", seconds=300)
    if said.returncode != 0:
        wrong.append("verify: " + said.stdout + said.stderr)
    replayed = _of_replay(relay, kafka, topics)
    wrong += _compare(streamed, reference, replayed, "replay")
    snapshot = _of_snapshot(walpost, database, kafka, topics, streamed)
    wrong += _compare(streamed, reference, snapshot, "snapshot")
    assert relay.stop() == 0
    recovered = _of_recover(walpost, database, kafka, topics, streamed)
    wrong += _compare(streamed, reference, recovered, "recover")
    polled = [cell for cell in streamed if not cell.is_refused(polled=True)]
    wrong += _compare(polled, reference, _of_polling(
        walpost, database, kafka, topics, polled), "polling")
    note(f"{len(streamed)} cells in 6 ways, {len(polled)} polled: "
         f"{len(wrong)} wrong")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("polled", [False, True], ids=["wal", "polling"])
@pytest.mark.long
def test_what_cannot_work_is_refused_at_the_start(walpost, database, kafka,
                                                  topics, cells, polled):
    sections = (_polled if polled else _sections)(cells, topics)
    relay = walpost(database, kafka, topics, **sections)
    database.execute("create publication walpost for all tables with "
                     "(publish = 'insert')")
    refused = _refused(relay)
    expected = {cell.table for cell in cells if cell.is_refused(polled)}
    note(f"{len(cells)} cells, {len(expected)} to refuse, "
         f"{len(expected ^ refused)} wrong")
    assert refused == expected, refused ^ expected
