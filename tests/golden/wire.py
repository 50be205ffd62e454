"""The least PostgreSQL client that shows the bytes of a replication stream.

It speaks protocol 3 over one plain socket: simple queries, COPY FROM STDIN and
CopyBoth. Drivers are no help here, since they hide keepalives and the header of
XLogData; the transcripts hold what was on the wire.

Trust authentication only: it talks to the private servers of record.py.
"""

import select
import socket
import struct
import time

PROTOCOL_3 = 196608


class ServerError(Exception):
    """An ErrorResponse. `sqlstate` is its five characters."""

    def __init__(self, fields):
        self.sqlstate = fields.get("C")
        super().__init__(f"{self.sqlstate}: {fields.get('M')}")


class Connection:
    """One session. Not for threads; every call blocks until it is answered."""

    def __init__(self, port, **parameters):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        text = b"".join(
            k.encode() + b"\0" + v.encode() + b"\0"
            for k, v in parameters.items()
        )
        body = struct.pack(">i", PROTOCOL_3) + text + b"\0"
        self.socket.sendall(struct.pack(">i", len(body) + 4) + body)
        self._until_ready()

    def close(self):
        self.socket.close()

    def query(self, sql, copy_data=None):
        """Runs `sql`; returns the rows of its last result, as text or None.

        `copy_data` is what COPY ... FROM STDIN in it is to read.
        """
        self._send(b"Q", sql.encode() + b"\0")
        return self._until_ready(copy_data)

    def start_replication(self, slot, options):
        """Turns the session into a stream; read it with `read_copy_data`."""
        listed = ", ".join(f"{k} '{v}'" for k, v in options.items())
        self._send(
            b"Q",
            f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({listed})\0".encode(),
        )
        kind, body = self._receive()
        if kind == b"E":
            raise ServerError(_error_fields(body))
        if kind != b"W":
            raise RuntimeError(f"expected CopyBothResponse, got {kind}")

    def send_status(self, reply_requested):
        """A StandbyStatusUpdate that confirms nothing: all its LSNs are 0."""
        self._send(
            b"d", struct.pack(">cQQQqB", b"r", 0, 0, 0, 0, reply_requested)
        )

    def read_copy_data(self, timeout_seconds):
        """The body of the next CopyData message, or None after the timeout."""
        message = self._receive(timeout_seconds)
        if message is None:
            return None
        kind, body = message
        if kind == b"E":
            raise ServerError(_error_fields(body))
        if kind == b"N":
            raise RuntimeError(f"notice in the stream: {_error_fields(body)}")
        if kind != b"d":
            raise RuntimeError(f"expected CopyData, got {kind}")
        return body

    def _send(self, kind, body):
        self.socket.sendall(kind + struct.pack(">i", len(body) + 4) + body)

    def _receive(self, timeout_seconds=None):
        deadline = None
        if timeout_seconds is not None:
            deadline = time.monotonic() + timeout_seconds
        while True:
            if len(self.buffer) >= 5:
                (length,) = struct.unpack(">i", self.buffer[1:5])
                if len(self.buffer) >= length + 1:
                    kind, body = self.buffer[:1], self.buffer[5 : length + 1]
                    self.buffer = self.buffer[length + 1 :]
                    return kind, body
            if deadline is not None:
                left = max(0, deadline - time.monotonic())
                if not select.select([self.socket], [], [], left)[0]:
                    return None
            chunk = self.socket.recv(65536)
            if not chunk:
                raise RuntimeError("the server closed the connection")
            self.buffer += chunk

    def _until_ready(self, copy_data=None):
        rows, error = [], None
        while True:
            kind, body = self._receive()
            if kind == b"T":
                rows = []
            elif kind == b"D":
                rows.append(_data_row(body))
            elif kind == b"G":
                self._send(b"d", copy_data.encode())
                self._send(b"c", b"")
            elif kind == b"E":
                error = ServerError(_error_fields(body))
                if error.sqlstate[:2] in ("28", "53", "57"):
                    raise error
            elif kind == b"R" and struct.unpack(">i", body[:4])[0] != 0:
                raise RuntimeError("the server asks for a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows


def _data_row(body):
    (count,), at, row = struct.unpack(">h", body[:2]), 2, []
    for _ in range(count):
        (length,) = struct.unpack(">i", body[at : at + 4])
        at += 4
        if length < 0:
            row.append(None)
        else:
            row.append(body[at : at + length].decode())
            at += length
    return row


def _error_fields(body):
    return {
        part[:1].decode(): part[1:].decode(errors="replace")
        for part in body.split(b"\0")
        if part
    }
