"""A network between a client and its broker that knows Kafka's requests."""

import socket
import struct
import threading

from harness.kafka_frames import end_connections, read_frame
from harness.waiting import wait_until

# Kafka's api keys.
PRODUCE = 0
INIT_PRODUCER_ID = 22
ADD_PARTITIONS_TO_TXN = 24
END_TXN = 26

_ANSWER_S = 10


class HeldRequest:
    """A request that its client takes for lost, and that is still on its way."""

    def __init__(self, api_key):
        self.api_key = api_key
        self.answered = threading.Event()
        self._kept = None

    def keep(self, frame, broker):
        self._kept = (frame, broker)

    def is_kept(self):
        return self._kept is not None

    def deliver(self):
        """It arrives, and the broker has answered it when this returns."""
        frame, broker = self._kept
        broker.sendall(frame)
        assert self.answered.wait(_ANSWER_S), "no answer to what came late"


class DelayedRequest(HeldRequest):
    """A request that is on its way for long, and is answered."""

    def __init__(self, api_key):
        super().__init__(api_key)
        self._is_free = threading.Event()

    def deliver(self):
        self._is_free.set()

    def await_delivery(self):
        self._is_free.wait()


class RequestProxy:
    """Forwards the connections to one broker, request by request.

        proxy = RequestProxy(kafka.behind_port, advertised_port)
        held = proxy.hold(END_TXN)  # the next one; its connection ends
        ...                         # the client asks again, and goes on
        held.deliver()

    A thread for each direction of a connection.
    """

    def __init__(self, target_port, port):
        self._target = ("127.0.0.1", target_port)
        self._lock = threading.Lock()
        self._next = None  # to hold
        self._passed = {}
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.bootstrap = f"127.0.0.1:{port}"
        _start(self._accept)

    def arm(self, api_key):
        """The next request of this kind will be kept."""
        held = HeldRequest(api_key)
        with self._lock:
            self._next = held
        return held

    def delay(self, api_key):
        """The next request of this kind will be kept, and its client waits."""
        delayed = DelayedRequest(api_key)
        with self._lock:
            self._next = delayed
        return delayed

    def hold(self, api_key):
        """Waits for the next request of this kind, and keeps it."""
        held = self.arm(api_key)
        wait_until(held.is_kept, f"a request {api_key}", 60)
        return held

    def passed(self, api_key):
        """How many requests of this kind have gone on to the broker."""
        with self._lock:
            return self._passed.get(api_key, 0)

    def close(self):
        end_connections(self._listener)
        for connection in self._connections:
            connection.end()

    def claim(self, api_key):
        """The HeldRequest that this request is to be; None: it passes."""
        with self._lock:
            if self._next is None or self._next.api_key != api_key:
                self._passed[api_key] = self._passed.get(api_key, 0) + 1
                return None
            held, self._next = self._next, None
            return held

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._target)
            except OSError:
                return
            self._connections.append(_Connection(client, broker, self.claim))


class _Connection:
    """One connection; with a held request, only its broker's side is left."""

    def __init__(self, client, broker, claim):
        self._client = client
        self._broker = broker
        self._claim = claim
        self._held = None
        _start(self._forward_requests)
        _start(self._forward_answers)

    def end(self):
        end_connections(self._client, self._broker)

    def _forward_requests(self):
        try:
            while frame := read_frame(self._client):
                held = self._claim(*struct.unpack(">h", frame[4:6]))
                if held is not None:
                    held.keep(frame, self._broker)
                if isinstance(held, DelayedRequest):
                    held.await_delivery()
                elif held is not None:
                    self._held = held
                    return end_connections(self._client)
                self._broker.sendall(frame)
        except OSError:
            pass
        return self.end()

    def _forward_answers(self):
        try:
            while piece := self._broker.recv(1 << 16):
                if self._held is not None:
                    self._held.answered.set()
                else:
                    self._client.sendall(piece)
        except OSError:
            pass
        self.end()


def _start(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()
