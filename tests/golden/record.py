#!/usr/bin/python3
"""Records what a PostgreSQL server sends for script.py.

    tests/golden/record.py --bin /usr/lib/postgresql/15/bin [--out DIR]

The server is private and thrown away. For each stream of streams.py it writes
pgNN[.name].transcript, the bytes as they came, and pgNN[.name].expected, what
the SQL side says they must mean. README.md describes both formats.
"""

import argparse
import os
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True

import script
import streams
import truth
from server import Server

DRAIN_SECONDS = 30


def lsn(text):
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


class Recorder:
    """Runs the script's steps in SQL sessions "a", "b", ... and takes down, for
    every stream, the bytes and the truth. The script calls the public methods.
    """

    def __init__(self, server):
        self.server = server
        self.sessions = {}
        self.prepared = {}
        self.observer = server.connect(application_name="observer")
        shown = self.observer.query("show server_version_num")[0][0]
        self.version = int(shown) // 10000
        self.streams = streams.for_version(self.version)
        self.pending_comments = []

    # What the script says.

    def step(self, title):
        self._drain()
        for stream in self.streams:
            stream.transcript += ["", f"# step: {title}"]
            stream.expected += ["", f"# step: {title}"]

    def sql(self, statement, session="a", copy=None):
        connection = self._session(session)
        shown = " ".join(statement.split())
        self.pending_comments.append(f"# {session}: {shown}")
        return connection.query(statement, copy)

    def begin(self, session="a"):
        self.sql("begin", session)

    def commit(self, changes, session="a"):
        before = self._observe(session)
        self.sql("commit", session)
        self._committed(before, session, changes)

    def rollback(self, session="a"):
        self.sql("rollback", session)

    def transaction(self, statements, changes, session="a"):
        self.begin(session)
        for statement in statements:
            self.sql(statement, session)
        self.commit(changes, session)

    def prepare(self, gid, session="a"):
        self.prepared[gid] = self._observe(session)[0]
        self.sql(f"prepare transaction '{gid}'", session)

    def commit_prepared(self, gid, changes, session="a"):
        before = (self.prepared[gid], self._observe(session)[1])
        self.sql(f"commit prepared '{gid}'", session)
        self._committed(before, session, changes)

    def rollback_prepared(self, gid, session="a"):
        self.sql(f"rollback prepared '{gid}'", session)

    def message_outside(self, message):
        """States a message that is delivered at once, in no transaction."""
        for stream in self.streams:
            if stream.sees(message):
                stream.expected.append(message.line(stream))

    def hold_streams(self):
        """Keeps the walsenders from reading on: what follows is decoded later,
        when its outcome is already known."""
        self._drain()
        self._signal_walsenders(signal.SIGSTOP)

    def release_streams(self):
        self._signal_walsenders(signal.SIGCONT)

    # How it is taken down.

    def record(self):
        # The publications come before the slots: a slot never sees what was
        # not there when it was made.
        for statement in script.SCHEMA:
            self._session("a").query(statement)
        for stream in self.streams:
            self._session("a").query(stream.publication_sql)
            self._session("a").query(
                "select pg_create_logical_replication_slot"
                f"('{stream.slot}', 'pgoutput')")
        version = self.observer.query("select version()")[0][0]
        for stream in self.streams:
            stream.start(self.server, version)
        for step in script.steps(self.version):
            self.step(step.__doc__.split("\n")[0].rstrip("."))
            step(self)
        self._drain()

    def _session(self, name):
        if name not in self.sessions:
            self.sessions[name] = self.server.connect(application_name=name)
            self.sessions[name].query("set timezone = 'UTC'")
        return self.sessions[name]

    def _observe(self, session):
        """The session's transaction id, and where the WAL stands."""
        row = self._session(session).query(
            "select pg_current_xact_id_if_assigned()::xid::text,"
            " pg_current_wal_insert_lsn()::text")[0]
        return row[0], lsn(row[1])

    def _committed(self, before, session, changes):
        xid, lsn_from = before
        if xid is None:
            if changes:
                raise RuntimeError("changes without a transaction id")
            return
        row = self._session(session).query(
            "select (extract(epoch from pg_xact_commit_timestamp"
            f"('{xid}'::xid)) * 1000000)::bigint::text,"
            " pg_current_wal_insert_lsn()::text")[0]
        transaction = truth.Transaction(
            xid, row[0], lsn_from, lsn(row[1]), changes)
        for stream in self.streams:
            stream.expected += transaction.lines(stream)

    def _drain(self):
        """Reads every stream up to the end of the WAL written so far."""
        target = self._flushed_end()
        for stream in self.streams:
            stream.transcript += self.pending_comments
            deadline = time.monotonic() + DRAIN_SECONDS
            while not stream.read_until(target):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{stream.name}: no keepalive in time")
        self.pending_comments = []

    def _flushed_end(self):
        # The insert position may stand past a page's header, up to 40 bytes
        # beyond anything that is ever flushed.
        while True:
            row = self.observer.query(
                "select pg_current_wal_insert_lsn()::text,"
                " pg_current_wal_flush_lsn()::text")[0]
            inserted, flushed = map(lsn, row)
            if inserted - flushed <= 40:
                return flushed
            time.sleep(0.005)

    def _signal_walsenders(self, number):
        for row in self.observer.query("select pid from pg_stat_replication"):
            os.kill(int(row[0]), number)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True,
                        help="directory with initdb and postgres")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent)
    options = parser.parse_args()
    with Server(options.bin) as server:
        recorder = Recorder(server)
        recorder.record()
    for stream in recorder.streams:
        for path in stream.write(options.out, recorder.version):
            print(f"{path} {path.stat().st_size}")


if __name__ == "__main__":
    main()
