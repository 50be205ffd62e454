"""A network between a client and its broker that knows Kafka's requests."""

import socket
import struct
import threading

from harness.held_messages import DelayedAnswer, DelayedRequest, LostRequest
from harness.kafka_frames import accepted, end_connections, read_frame
from harness.waiting import wait_until

# Kafka's api keys.
PRODUCE = 0
FETCH = 1
LIST_OFFSETS = 2
FIND_COORDINATOR = 10
INIT_PRODUCER_ID = 22
ADD_PARTITIONS_TO_TXN = 24
END_TXN = 26

# librdkafka has a connection for them alone.
TO_THE_COORDINATOR = frozenset((INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN))

# The directions of a connection.
REQUESTS = "requests"
ANSWERS = "answers"


class RequestProxy:
    """Forwards the connections to one broker, request by request.

        proxy = RequestProxy(kafka.behind_port, advertised_port)
        held = proxy.hold(END_TXN)  # the next one; its connection ends
        ...                         # the client asks again, and goes on
        held.deliver()

        held = proxy.delay(END_TXN)         # or its client waits
        held = proxy.delay_answer(END_TXN)  # the broker has got it

        proxy.cut(REQUESTS)  # nothing arrives there, and no end is told
        proxy.cut(REQUESTS, ANSWERS, of=TO_THE_COORDINATOR)
        proxy.heal()         # what was held arrives

    A thread for each direction of a connection.
    """

    def __init__(self, target_port, port):
        self._target = ("127.0.0.1", target_port)
        self._lock = threading.Condition()
        self._armed = []
        self._passed = {}
        self._cut = frozenset()
        self._cut_of = frozenset()
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.bootstrap = f"127.0.0.1:{port}"
        _start(self._accept)

    def arm(self, api_key):
        """The next request of this kind will be kept."""
        return self._arm(LostRequest(api_key))

    def delay(self, api_key):
        """The next request of this kind will be kept, and its client waits."""
        return self._arm(DelayedRequest(api_key))

    def delay_answer(self, api_key):
        """The answer to the next request of this kind will be kept."""
        return self._arm(DelayedAnswer(api_key))

    def hold(self, api_key):
        """Waits for the next request of this kind, and keeps it."""
        held = self.arm(api_key)
        wait_until(held.is_kept, f"a request {api_key}", 60)
        return held

    def passed(self, api_key):
        """How many requests of this kind have gone on to the broker."""
        with self._lock:
            return self._passed.get(api_key, 0)

    def cut(self, *directions, of=frozenset()):
        """`of`: only connections with a request of these kinds so far."""
        with self._lock:
            self._cut, self._cut_of = frozenset(directions), of

    def heal(self):
        """What is armed is so no longer."""
        with self._lock:
            self._armed.clear()
            self._cut = frozenset()
            self._lock.notify_all()

    def await_unused(self):
        """Returns when nobody is connected: what a process that was killed has
        asked for is not taken for a request of its successor."""
        wait_until(lambda: all(each.is_ended for each in self._connections),
                   "the connections to end")

    def close(self):
        end_connections(self._listener)
        for connection in self._connections:
            connection.end()
        self.heal()

    def claim(self, api_key):
        """What this request is armed for; None: it passes."""
        with self._lock:
            for held in self._armed:
                if held.api_key == api_key:
                    self._armed.remove(held)
                    return held
            self._passed[api_key] = self._passed.get(api_key, 0) + 1
            return None

    def await_way(self, direction, kinds):
        """Returns when what goes in this direction arrives."""
        with self._lock:
            self._lock.wait_for(lambda: direction not in self._cut or (
                self._cut_of and not self._cut_of & kinds))

    def _arm(self, held):
        with self._lock:
            self._armed.append(held)
        return held

    def _accept(self):
        for client, broker in accepted(self._listener, self._target):
            self._connections.append(_Connection(client, broker, self))


class _Connection:
    """One connection; with a lost request, only its broker's side is left."""

    def __init__(self, client, broker, proxy):
        self._client = client
        self._broker = broker
        self._proxy = proxy
        self._kinds = set()
        self._lost = None
        self._late_answers = {}  # by the id that correlates them
        self.is_ended = False
        _start(self._forward_requests)
        _start(self._forward_answers)

    def end(self):
        end_connections(self._client, self._broker)
        self.is_ended = True

    def _forward_requests(self):
        try:
            while frame := read_frame(self._client):
                api_key, = struct.unpack(">h", frame[4:6])
                self._kinds.add(api_key)
                held = self._proxy.claim(api_key)
                if isinstance(held, LostRequest):
                    held.keep(frame, self._broker)
                    self._lost = held
                    return end_connections(self._client)
                if isinstance(held, DelayedAnswer):
                    self._late_answers[frame[8:12]] = held
                elif held is not None:
                    held.await_delivery()
                self._proxy.await_way(REQUESTS, self._kinds)
                self._broker.sendall(frame)
        except OSError:
            pass
        return self.end()

    def _forward_answers(self):
        try:
            while frame := read_frame(self._broker):
                if self._lost is not None:
                    self._lost.answered.set()
                    continue
                held = self._late_answers.pop(frame[4:8], None)
                if held is not None:
                    held.await_delivery()
                self._proxy.await_way(ANSWERS, self._kinds)
                self._client.sendall(frame)
        except OSError:
            pass
        self.end()


def _start(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()
