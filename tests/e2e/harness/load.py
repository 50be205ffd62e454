"""Writers that do what services do, all at once."""

import io
import json
import random
import threading
import uuid

import psycopg2

from harness.matrix import LONG
from harness.waiting import wait_until

_TYPES = ("order", "invoice", "shipment")
_WAYS = ("insert", "insert", "multi", "copy", "savepoint", "delete")
_LEAST_PAUSE_S = 0 if LONG else 0.02


class Load:
    """Random transactions from several writers into an Outbox.

    A writer raises the version of one to three aggregates and inserts an event
    for each, with that version as `sequence`: the row lock makes the versions
    of a key rise in commit order, so they tell the order without walpost. Some
    transactions roll back as a whole, some lose a savepoint, some use COPY or a
    multi-row insert, some delete what they inserted.

    Without `deletes` every committed row stays in the table. The same seed gives
    each writer the same choices. A writer whose server goes away connects again,
    until `stop()`. A writer pauses for `pause` seconds between transactions, in
    the usual run for 0.02 at least: it shares two processors with three other
    tests. Without a pause it writes as fast as it can.
    """

    def __init__(self, outbox, seed, writers=4, keys=150, pause=0.0,
                 deletes=True):
        self._outbox = outbox
        self._keys = keys
        self._pause = pause and max(pause, _LEAST_PAUSE_S)
        self._ways = _WAYS if deletes else _WAYS[:-1]
        self._stop = threading.Event()
        self._failures = []
        self.committed = [0] * writers
        outbox.database.execute(
            "create table if not exists aggregate "
            "(id text primary key, version bigint not null default 0)")
        outbox.database.execute(
            "insert into aggregate select 'key-' || n from "
            "generate_series(0, %s) n on conflict do nothing", (keys - 1,))
        self._threads = [
            threading.Thread(target=self._write, name=f"writer-{number}",
                             args=(number, random.Random(f"{seed}/{number}")))
            for number in range(writers)]

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def stop(self):
        """Ends the writers; fails when one of them failed."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        if self._failures:
            raise self._failures[0]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def transactions(self):
        """Transactions committed so far."""
        return sum(self.committed)

    def wait(self, count, seconds=60):
        """Waits until so many more transactions are committed."""
        goal = self.transactions() + count
        wait_until(lambda: self.transactions() >= goal,
                   lambda: f"{goal} transactions; there are "
                   f"{self.transactions()}", seconds, pause=0.01)

    def _write(self, number, dice):
        connection = None
        while not self._stop.wait(self._pause):
            try:
                if connection is None:
                    connection = self._outbox.database.connect()
                    connection.autocommit = False
                with connection.cursor() as cursor:
                    keep = self._transaction(cursor, dice)
                if keep:
                    connection.commit()
                    self.committed[number] += 1
                else:
                    connection.rollback()
            except (psycopg2.OperationalError, psycopg2.InterfaceError,
                    # The trigger's plan is older than the table's columns.
                    psycopg2.errors.DatatypeMismatch):
                connection = None
                self._stop.wait(0.2)
            except Exception as failure:  # pylint: disable=broad-except
                self._failures.append(failure)
                return
        if connection is not None:
            connection.close()

    def _transaction(self, cursor, dice):
        """One transaction's statements; returns whether to commit it."""
        keys = sorted(dice.sample(range(self._keys), dice.randint(1, 3)))
        rows = [self._next_row(cursor, key, dice) for key in keys]
        way = dice.choice(self._ways)
        if way == "savepoint":
            cursor.execute("savepoint before")
            _insert(cursor, [{**rows[0], "id": _uuid(dice)}])
            cursor.execute("rollback to savepoint before")
        if way == "copy":
            _copy(cursor, rows)
        elif way == "multi":
            _insert(cursor, rows)
        else:
            for row in rows:
                _insert(cursor, [row])
        if way == "delete":
            cursor.execute("delete from outbox where id = any(%s::uuid[])",
                           ([row["id"] for row in rows],))
        return dice.random() > 0.1

    def _next_row(self, cursor, key, dice):
        cursor.execute("update aggregate set version = version + 1 "
                       "where id = %s returning version", (f"key-{key}",))
        version = cursor.fetchone()[0]
        payload = {"version": version, "note": "é" * dice.randint(0, 60)}
        return {"id": _uuid(dice),
                "aggregate_type": _TYPES[key % len(_TYPES)],
                "aggregate_id": f"key-{key}", "payload": json.dumps(payload),
                "sequence": version}


def _insert(cursor, rows):
    columns = list(rows[0])
    one = "(" + ", ".join(["%s"] * len(columns)) + ")"
    cursor.execute(
        f"insert into outbox ({', '.join(columns)}) values "
        + ", ".join([one] * len(rows)),
        [value for row in rows for value in row.values()])


def _copy(cursor, rows):
    columns = ", ".join(rows[0])
    lines = ["\t".join(_copy_text(value) for value in row.values()) + "\n"
             for row in rows]
    cursor.copy_expert(f"copy outbox ({columns}) from stdin",
                       io.StringIO("".join(lines)))


def _copy_text(value):
    return str(value).replace("\\", "\\\\")


def _uuid(dice):
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))
