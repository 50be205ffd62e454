"""A network that can be cut."""

import selectors
import socket
import threading
import time

from harness.ports import free_port


class Proxy:
    """Forwards a loopback port to another one, until it is told otherwise.

        proxy = Proxy(postgres_port)
        proxy.cut()      # nothing arrives any more, in either direction; new
                         # connections hang. No end is told (half-open)
        proxy.heal()     # what was held arrives
        proxy.reset()    # ends all connections with a reset
        proxy.keep_server_side = True   # a client that goes is not told on

    One thread forwards; all methods may be called from the test's.
    """

    def __init__(self, target_port):
        self._target = ("127.0.0.1", target_port)
        self.port = free_port()
        self.keep_server_side = False
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._peers = {}
        self._cut = False
        self._closing = False
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self):
        with self._lock:
            self._cut = True

    def heal(self):
        with self._lock:
            self._cut = False
        self._wake()

    def reset(self):
        with self._lock:
            for end in list(self._peers):
                self._drop(end, reset=True)

    def close(self):
        self._closing = True
        self._wake()
        self._thread.join()
        for end in list(self._peers):
            self._drop(end)
        self._listener.close()

    def _wake(self):
        self._wake_sender.send(b".")

    def _run(self):
        while not self._closing:
            for key, _ in self._selector.select(timeout=0.2):
                with self._lock:
                    self._serve(key.fileobj)
            if self._cut:
                time.sleep(0.02)  # what arrives stays in the kernel

    def _serve(self, end):
        if end is self._wake_receiver:
            end.recv(1 << 16)
        elif self._cut:
            return
        elif end is self._listener:
            self._accept()
        elif end in self._peers:
            self._forward(end)

    def _accept(self):
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(self._target, timeout=5)
        except OSError:
            client.close()
            return
        for end, peer, is_client in ((client, server, True),
                                     (server, client, False)):
            end.settimeout(None)
            self._peers[end] = (peer, is_client)
            self._selector.register(end, selectors.EVENT_READ)

    def _forward(self, end):
        peer, is_client = self._peers[end]
        try:
            data = end.recv(1 << 16)
            if data and peer not in self._peers:
                return  # nobody is there to take it
            if data:
                peer.sendall(data)
                return
        except OSError:
            pass
        if is_client and self.keep_server_side:
            self._forget(end)
        else:
            self._drop(end)

    def _forget(self, end):
        self._selector.unregister(end)
        self._peers.pop(end)
        end.close()

    def _drop(self, end, reset=False):
        peer, _ = self._peers.get(end, (None, None))
        for one in (end, peer):
            if one in self._peers:
                if reset:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   b"\1\0\0\0\0\0\0\0")
                self._forget(one)
