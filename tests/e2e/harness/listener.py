"""A port of a test, and its end."""

import contextlib
import socket
import threading


class Listener:
    """Listens on an address; a context manager. What is entered into `opened`
    is closed with it."""

    def __init__(self, host="127.0.0.1", port=0, backlog=128):
        self.opened = contextlib.ExitStack()
        self.socket = self.opened.enter_context(socket.socket())
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((host, port))
        self.socket.listen(backlog)
        self.host, self.port = self.socket.getsockname()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.opened.close()

    def accept_with(self, serve):
        """Each connection is served by a thread of its own."""
        threading.Thread(target=self._accept, args=(serve,),
                         daemon=True).start()

    def _accept(self, serve):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return  # closed
            self.opened.enter_context(client)
            threading.Thread(target=serve, args=(client,),
                             daemon=True).start()
