"""Servers that take a connection and do not answer."""

import contextlib
import socket

from harness.listener import Listener
from harness.ports import free_port

# accepts: the kernel takes the connection, and nobody reads it.
# full: no room in the backlog, so that the handshake does not end.
# ssl: answers SSLRequest with N, and then nothing.
KINDS = ("accepts", "full", "ssl")


class SilentServer(Listener):
    """A port of an address where `kind` of silence is."""

    def __init__(self, kind, host="127.0.0.1", port=None):
        assert kind in KINDS
        super().__init__(host, port or free_port(),
                         backlog=0 if kind == "full" else 128)
        if kind == "full":
            self._fill()
        if kind == "ssl":
            self.accept_with(_refuse_ssl)

    def _fill(self):
        for _ in range(8):
            client = self.opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((self.host, self.port))


def _refuse_ssl(client):
    with contextlib.suppress(OSError):
        if client.recv(8):
            client.sendall(b"N")
