"""A pooler between walpost and Postgres, imitated."""

import contextlib
import socket
import struct
import threading

from harness.listener import Listener

# drops: takes the connection and leaves out what its client asked for.
# rejects: as PgBouncer does without ignore_startup_parameters.
# shares: drops, and gives each transaction to another one of two backends.
KINDS = ("drops", "rejects", "shares")

_PROTOCOL = 196608
_REQUESTS = (80877103, 80877104)  # for SSL and for GSSAPI


def _read(end, size):
    data = b""
    while len(data) < size:
        more = end.recv(size - len(data))
        if not more:
            raise ConnectionError("the end")
        data += more
    return data


def _message(end):
    """Type and whole bytes of the next message."""
    head = _read(end, 5)
    return head[:1], head + _read(end, struct.unpack("!I", head[1:])[0] - 4)


def _without(parameters, name):
    words = parameters.rstrip(b"\0").split(b"\0")
    pairs = [words[i:i + 2] for i in range(0, len(words), 2)]
    kept = b"".join(key + b"\0" + value + b"\0" for key, value in pairs
                    if key != name)
    body = struct.pack("!I", _PROTOCOL) + kept + b"\0"
    return struct.pack("!I", len(body) + 4) + body


class Pooler(Listener):
    """Stands before a server, on a port of its own."""

    def __init__(self, kind, server_port):
        assert kind in KINDS
        super().__init__()
        self._kind = kind
        self._server_port = server_port
        self.accept_with(self._serve)

    def _serve(self, client):
        with contextlib.suppress(OSError), client:
            parameters = self._startup(client)
            if self._kind == "rejects" and b"\0options\0" in b"\0" + parameters:
                client.sendall(_rejection())
                return
            startup = _without(parameters, b"options")
            if self._kind == "shares":
                self._share(client, startup)
            else:
                self._splice(client, startup)

    @staticmethod
    def _startup(client):
        while True:
            size, code = struct.unpack("!II", _read(client, 8))
            body = _read(client, size - 8)
            if code == _PROTOCOL:
                return body
            assert code in _REQUESTS
            client.sendall(b"N")

    def _server(self, startup):
        server = socket.create_connection(("127.0.0.1", self._server_port))
        server.sendall(startup)
        return server

    def _splice(self, client, startup):
        with self._server(startup) as server:
            back = threading.Thread(target=_copy, args=(server, client),
                                    daemon=True)
            back.start()
            _copy(client, server)
            back.join()

    def _share(self, client, startup):
        with self._server(startup) as one, self._server(startup) as other:
            client.sendall(_until_ready(one))
            _until_ready(other)
            for number in range(1_000_000):
                kind, message = _message(client)
                if kind == b"X":
                    return
                server = (one, other)[number % 2]
                server.sendall(message)
                client.sendall(_until_ready(server))


def _until_ready(server):
    answer = b""
    while True:
        kind, message = _message(server)
        answer += message
        if kind == b"Z":
            return answer


def _copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _rejection():
    body = (b"SFATAL\0VFATAL\0C08P01\0"
            b"Munsupported startup parameter: options\0\0")
    return b"E" + struct.pack("!I", len(body) + 4) + body
