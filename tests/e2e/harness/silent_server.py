"""Servers that take a connection and do not answer."""

import contextlib
import socket
import threading

from harness.ports import free_port

# accepts: the kernel takes the connection, and nobody reads it.
# full: no room in the backlog, so that the handshake does not end.
# ssl: answers SSLRequest with N, and then nothing.
KINDS = ("accepts", "full", "ssl")


class SilentServer:
    """A port of an address where `kind` of silence is; a context manager."""

    def __init__(self, kind, host="127.0.0.1", port=None):
        assert kind in KINDS
        self._open = contextlib.ExitStack()
        listener = self._open.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port or free_port()))
        listener.listen(0 if kind == "full" else 128)
        self.host, self.port = listener.getsockname()
        self._listener = listener
        if kind == "full":
            self._fill()
        if kind == "ssl":
            self._thread = threading.Thread(target=self._refuse_ssl,
                                            daemon=True)
            self._thread.start()

    def _fill(self):
        for _ in range(8):
            client = self._open.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((self.host, self.port))

    def _refuse_ssl(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._open.enter_context(connection)
            connection.settimeout(5)
            with contextlib.suppress(OSError):
                if connection.recv(8):
                    connection.sendall(b"N")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._open.close()
