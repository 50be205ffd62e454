"""One database of a server."""

import contextlib
import copy
import secrets

import psycopg2

from harness.lsn import lsn
from harness.sql_files import sql_file
from harness.waiting import wait_until


class Database:
    """A fresh database, with what tests ask about slots and LSNs.

    Owned by the test; `drop()` also drops the slots that are left in it. The
    connection behind `execute` is remade when the server went away. The name is
    unique on the server, so it also serves as the name of a slot.
    """

    def __init__(self, server, options=""):
        self._server = server
        self._connection = None
        self._role = None
        self.name = f"walpost_{secrets.token_hex(4)}"
        with self._admin() as cursor:
            # Copied by way of the WAL, as is usual since 15, it costs 7 MB of
            # it and five times the CPU.
            copied = ("strategy file_copy"
                      if cursor.connection.server_version >= 150000 else "")
            cursor.execute(
                f"create database {self.name} {copied} {options}")

    def move_to(self, server):
        """The same database on another server: a promoted standby."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._server = server

    def copied(self):
        """A copy on the same server, taken while nobody else uses this one; goes
        with the server."""
        self.move_to(self._server)
        other = copy.copy(self)
        other.name = self.name + "_copy"
        with self._admin() as cursor:
            cursor.execute(
                f"create database {other.name} template {self.name}")
        return other

    def create_role(self):
        """The role of sql/role.sql, by a name of its own; goes with the
        database."""
        self._role = f"relay_{self.name}"
        self.execute(sql_file("role.sql").replace("walpost", self._role))
        return self._role

    @property
    def port(self):
        return self._server.port

    def conninfo(self, user=None):
        return self._server.conninfo(self.name, user)

    def connect(self):
        """A connection of the caller's own, to be closed by the caller."""
        return self._server.connect(self.name)

    def execute(self, sql, parameters=None):
        """Runs one statement in its own transaction; returns its rows."""
        with self._live_connection().cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def transaction(self):
        """A cursor in a transaction of its own connection; commits at the end.

        An exception rolls back and goes on to the caller.
        """
        with contextlib.closing(self.connect()) as connection:
            connection.autocommit = False
            with connection.cursor() as cursor:
                yield cursor
            connection.commit()

    def value(self, sql, parameters=None):
        """The first column of the first row."""
        return self.execute(sql, parameters)[0][0]

    def major(self):
        """The server's major version."""
        return int(self.value("show server_version_num")) // 10000

    def current_lsn(self):
        """Where the next WAL record will go: the end of the last commit."""
        return _end_of_wal(
            lsn(self.value("select pg_current_wal_insert_lsn()::text")))

    @staticmethod
    def lsn_before_commit(cursor):
        """Inside a transaction: the commit record will not lie before it."""
        cursor.execute("select pg_current_wal_insert_lsn()::text")
        return lsn(cursor.fetchone()[0])

    def confirmed_lsn(self, slot):
        """confirmed_flush_lsn of a slot; None when there is no such slot."""
        rows = self.execute(
            "select confirmed_flush_lsn::text from pg_replication_slots "
            "where slot_name = %s", (slot,))
        return lsn(rows[0][0]) if rows else None

    def wait_confirmed(self, slot, target=None, seconds=60):
        """Waits until the slot has moved to `target`, by default to now."""
        goal = self.current_lsn() if target is None else target
        wait_until(
            lambda: (self.confirmed_lsn(slot) or 0) >= goal,
            lambda: (f"slot {slot} to be confirmed up to {goal:X}; it is at "
                     f"{self.confirmed_lsn(slot) or 0:X}"), seconds)

    def wait_slot_inactive(self, slot, seconds=30):
        """Waits until no walsender serves the slot."""
        wait_until(
            lambda: not self.execute(
                "select 1 from pg_replication_slots "
                "where slot_name = %s and active", (slot,)),
            f"slot {slot} to become inactive", seconds)

    def drop(self):
        """Drops the database with its slots."""
        if self._connection is not None:
            self._connection.close()
        with self._admin() as cursor:
            cursor.execute("select slot_name from pg_replication_slots "
                           "where database = %s", (self.name,))
            for (slot,) in cursor.fetchall():
                cursor.execute("select pg_terminate_backend(active_pid) from "
                               "pg_replication_slots where slot_name = %s",
                               (slot,))
                self._drop_slot(cursor, slot)
            cursor.execute(f"drop database {self.name} with (force)")
            if self._role is not None:
                cursor.execute(f"drop role {self._role}")

    def _live_connection(self):
        """Our own connection; another one where the server has restarted."""
        if self._connection is not None:
            try:
                with self._connection.cursor() as cursor:
                    cursor.execute("select 1")
            except (psycopg2.OperationalError, psycopg2.InterfaceError):
                self._connection.close()
                self._connection = None
        if self._connection is None:
            self._connection = self.connect()
        return self._connection

    @contextlib.contextmanager
    def _admin(self):
        """A cursor outside of this database."""
        with contextlib.closing(self._server.connect()) as connection:
            with connection.cursor() as cursor:
                yield cursor

    @staticmethod
    def _drop_slot(cursor, slot):
        def dropped():
            try:
                cursor.execute("select pg_drop_replication_slot(%s)", (slot,))
            except psycopg2.errors.ObjectInUse:
                return False
            except psycopg2.errors.UndefinedObject:
                pass
            return True

        wait_until(dropped, f"slot {slot} to be dropped")


def _end_of_wal(next_record):
    """On a new page the next record begins behind the page's header."""
    if next_record % (8 << 10) == 24:
        return next_record - 24
    if next_record % (16 << 20) == 40:
        return next_record - 40
    return next_record
