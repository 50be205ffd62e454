"""P10: probes are answered whatever other clients of the HTTP server do."""

import os
import pathlib
import resource
import socket
import threading
import time

import pytest

from harness import note
from harness.matrix import LONG

_CLIENTS = 800
# The default timeoutSeconds of a Kubernetes probe; more beside other tests.
_LONGEST_ANSWER_S = 1 if LONG else 5
_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


class _SlowClients:
    """Hundreds of connections that `first` was sent on; `rest` follows each
    second, again and again. Nothing is ever read. Those that the server has
    closed connect again.
    """

    def __init__(self, listen, first, rest):
        host, _, port = listen.rpartition(":")
        self._address = (host, int(port))
        self._first = first
        self._rest = rest
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._sockets = []

    def __enter__(self):
        self._sockets = [self._connect() for _ in range(_CLIENTS)]
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        for client in self._sockets:
            client.close()

    def _connect(self):
        client = socket.create_connection(self._address, timeout=5)
        client.setblocking(False)
        _send(client, self._first)
        return client

    def _run(self):
        while not self._end.wait(1):
            for place, client in enumerate(self._sockets):
                if not _send(client, self._rest):
                    client.close()
                    self._sockets[place] = self._connect()


def _send(client, data):
    """False when the server has closed the connection."""
    try:
        client.send(data)
    except BlockingIOError:
        pass
    except OSError:
        return False
    return True


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    # pylint: disable=unused-argument
    return walpost(database, kafka, topics).run()


@pytest.mark.parametrize("first, rest", [
    (b"", b""),
    (b"GET /re", b"a"),
    (b"GET / HTTP/1.1\r\nX-Pad: " + b"x" * 8000, b"x" * 100),
    (_REQUEST, _REQUEST),
    (_REQUEST * 200, _REQUEST * 200)],
    ids=["silent", "a byte a second", "a huge header", "keep-alive",
         "pipelined, unread"])
@pytest.mark.sample(6)
def test_p10_slow_clients_do_not_keep_probes_out(
        relay, first, rest):
    longest = 0
    with _SlowClients(relay.config["http"]["listen"], first, rest):
        end = time.monotonic() + 5
        while time.monotonic() < end:
            begun = time.monotonic()
            assert relay.get("/readyz") == (200, "streaming\n")
            longest = max(longest, time.monotonic() - begun)
    note(f"{_CLIENTS} clients: the slowest probe took {longest:.3f} s")
    assert longest < _LONGEST_ANSWER_S


def _descriptors(relay):
    """What each number stands for, once none comes or goes for a second."""
    folder = pathlib.Path(f"/proc/{relay.pid}/fd")
    used = None
    while True:
        before = used
        used = {int(entry.name): os.readlink(entry)
                for entry in folder.iterdir()}
        if used == before:
            return used
        time.sleep(1)


def test_p10_a_probe_is_answered_when_no_descriptor_is_left(relay):
    host, _, port = relay.config["http"]["listen"].rpartition(":")
    address = (host, int(port))
    # A client of Kafka that just connects would take the one that is spared.
    used = _descriptors(relay)
    spare = max(number for number, what in used.items() if what == "/dev/null")
    clients = [socket.create_connection(address)
               for _ in set(range(spare)) - set(used)]
    assert set(range(spare)) <= set(_descriptors(relay))
    before = resource.prlimit(relay.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (spare + 1, before[1]))
    try:
        for _ in range(3):
            assert relay.get("/readyz") == (200, "streaming\n")
        # Neither do those that were there first keep it out.
        with socket.create_connection(address):
            assert relay.get("/readyz") == (200, "streaming\n")
    finally:
        resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, before)
    with socket.create_connection(address):
        assert relay.get("/readyz") == (200, "streaming\n")
    for client in clients:
        client.close()
