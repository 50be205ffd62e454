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
