"""Requests and answers on the connections of a Kafka client, as bytes."""

import socket
import struct


def read_frame(connection):
    """One request or answer with its length; b"" at the end."""
    try:
        head = _exactly(connection, 4)
        return head and head + _exactly(connection, struct.unpack(">i", head)[0])
    except OSError:
        return b""


def accepted(listener, target):
    """Each connection that comes, with one of its own to `target`; those that
    cannot be passed on are closed. Ends with the listener."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        try:
            broker = socket.create_connection(target)
        except OSError:  # it is down
            client.close()
            continue
        yield client, broker


def end_connections(*connections):
    for connection in connections:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            return b""
        data += more
    return data
