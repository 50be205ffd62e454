"""A network that can be cut, slow and torn to pieces."""

import random
import selectors
import socket
import threading
import time

from harness.ports import free_port
from harness.proxy_flow import Flow

_TICK_S = 0.2


class Proxy:
    """Forwards a loopback port to another one, until it is told otherwise.

        proxy = Proxy(postgres_port)
        proxy.cut()      # nothing arrives any more, in either direction; new
                         # connections hang. No end is told (half-open)
        proxy.heal()     # what was held arrives
        proxy.drop()     # whatever is sent on today's connections vanishes,
                         # for ever and untold; new ones work
        proxy.reset()    # ends all connections with a reset
        proxy.delay(0.1) # what is sent arrives that many seconds later
        proxy.split(7)   # it arrives in pieces of one to so many bytes
        proxy.clear()    # no delay and no splitting any more
        proxy.keep_server_side = True   # a client that goes is not told on

    One thread forwards; all methods may be called from the test's.
    """

    def __init__(self, target_port, port=None):
        self._target = ("127.0.0.1", target_port)
        self.port = port or free_port()
        self.keep_server_side = False
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._flows = {}  # by the socket that a flow reads
        self._cut = False
        self._delay = 0.0
        self._largest_piece = 0
        self._dice = random.Random(0)
        self._closing = False
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self):
        self._set(_cut=True)

    def heal(self):
        self._set(_cut=False)

    def delay(self, seconds):
        self._set(_delay=seconds)

    def split(self, largest_piece):
        self._set(_largest_piece=largest_piece)

    def clear(self):
        self._set(_delay=0.0, _largest_piece=0)

    def drop(self):
        with self._lock:
            for flow in self._flows.values():
                flow.drop()
        self._wake()

    def reset(self):
        with self._lock:
            for source in list(self._flows):
                self._end(source, reset=True)

    def connections(self):
        """How many connections there are now."""
        with self._lock:
            return len(self._flows) // 2

    def close(self):
        self._closing = True
        self._wake()
        self._thread.join()
        for source in list(self._flows):
            self._end(source)
        self._listener.close()

    def _set(self, **changes):
        with self._lock:
            vars(self).update(changes)
        self._wake()

    def _wake(self):
        self._wake_sender.send(b".")

    def _run(self):
        while not self._closing:
            for key, _ in self._selector.select(self._wait_s()):
                if key.fileobj is self._wake_receiver:
                    self._wake_receiver.recv(1 << 16)
                    continue
                with self._lock:
                    self._serve(key.fileobj)
            with self._lock:
                self._move()

    def _wait_s(self):
        """Until the first delayed piece is due."""
        with self._lock:
            due = [flow.due() for flow in self._flows.values()
                   if flow.held() and not flow.is_blocked()]
        if self._cut or not due:
            return _TICK_S
        return min(_TICK_S, max(0.001, min(due) - time.monotonic()))

    def _serve(self, end):
        """`end` is readable, or takes more again."""
        if self._cut:
            time.sleep(0.02)  # what arrives stays in the kernel
        elif end is self._listener:
            self._accept()
        elif end in self._flows and not self._flows[end].read(self._delay):
            self._told_of_the_end(end)

    def _move(self):
        """Writes what is due, and asks to be woken for what else there is."""
        for source, flow in list(self._flows.items()):
            if source not in self._flows:
                continue
            if not self._cut and not flow.write(self._largest_piece,
                                                self._dice):
                self._end(source)
        for source, flow in self._flows.items():
            self._watch(source, flow)

    def _watch(self, source, flow):
        events = 0
        if not flow.is_full() and not self._cut:
            events |= selectors.EVENT_READ
        back = self._flows.get(flow.target)
        if back is not None and back.is_blocked() and not self._cut:
            events |= selectors.EVENT_WRITE
        known = self._selector.get_map().get(source)
        if known is not None and known.events == events:
            return
        if known is not None:
            self._selector.unregister(source)
        if events:
            self._selector.register(source, events)

    def _accept(self):
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(self._target, timeout=5)
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._flows[client] = Flow(client, server, from_client=True)
        self._flows[server] = Flow(server, client, from_client=False)

    def _told_of_the_end(self, source):
        """One side has closed; the other one is told, if it is to be told."""
        flow = self._flows[source]
        untold = flow.dropped or (flow.from_client and self.keep_server_side)
        if not untold:
            flow.end_when_written()
            return
        self._forget(source)
        if flow.target in self._flows:
            self._flows[flow.target].drop()  # nobody is there to take it

    def _forget(self, source):
        if source in self._selector.get_map():
            self._selector.unregister(source)
        self._flows.pop(source)
        source.close()

    def _end(self, source, reset=False):
        flow = self._flows.get(source)
        for one in (source, flow.target) if flow else ():
            if one in self._flows:
                if reset:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   b"\1\0\0\0\0\0\0\0")
                self._forget(one)
