"""The tests' own instruments, without walpost.

A judge that cannot find fault proves nothing, and a reader that loses a null
hides a bug; so they are tested first, against real servers.
"""

import contextlib
import dataclasses
import random
import socket
import subprocess
import threading
import time
import types

import pytest

from harness import Checker, Expected, Load, Postgres, Record
from harness.judge import read_visible
from harness.paths import postgres_bin


def _record(number, offset=None, key=b"k", partition=0, topic="t"):
    return Record(topic, partition, number if offset is None else offset, 0,
                  key, b"v%d" % number,
                  (("id", b"%d" % number),
                   ("walpost-position", b"00000001-%016X-%016X"
                    % (number, 1))))


def _event(number):
    return Expected(str(number), "t", b"k", b"v%d" % number, number)


def _log(*numbers):
    return [_record(number, offset) for offset, number in enumerate(numbers)]


_EVENTS = [_event(number) for number in (1, 2, 3, 4)]


def test_judge_accepts_a_contiguous_resend_and_counts_it():
    checker = Checker(_EVENTS, _log(1, 2, 3, 2, 3, 4))
    checker.assert_clean()
    assert checker.duplicates == 2


@pytest.mark.parametrize("kind, events, records", [
    ("missing", _EVENTS, _log(1, 2, 3)),
    ("unknown", _EVENTS[:3], _log(1, 2, 3, 4)),
    ("disorder", _EVENTS, _log(1, 3, 2, 4)),
    ("disorder", _EVENTS, _log(1, 2, 3, 2, 4)),
    ("disorder", _EVENTS, _log(1, 2, 3, 4, 2)),
    ("disorder", _EVENTS, _log(1, 2, 3) + [_record(4, 0, partition=1)]),
    ("disorder", [*_EVENTS[:3], dataclasses.replace(_EVENTS[3], sequence=2)],
     _log(1, 2, 3, 4)),
    ("altered", _EVENTS, _log(1, 2, 3) + [_record(4, 3, key=None)]),
    ("altered", [*_EVENTS[:3], dataclasses.replace(_EVENTS[3], value=None)],
     _log(1, 2, 3, 4)),
])
@pytest.mark.sample(9)
def test_judge_finds(kind, events, records):
    checker = Checker(events, records)
    assert getattr(checker, kind)
    with pytest.raises(AssertionError, match=kind):
        checker.assert_clean()


def _replayed(number, offset):
    record = _record(number, offset)
    return dataclasses.replace(
        record, headers=(*record.headers, ("walpost-replay", b"again")))


@pytest.mark.long
def test_judge_waits_until_every_event_is_visible():
    reads = iter([_log(1, 2, 3) + [_replayed(4, 3)], _log(1, 2, 3, 4)])
    reader = types.SimpleNamespace(read_all=lambda prefix: next(reads))
    assert read_visible(reader, "t", _EVENTS, 60) == _log(1, 2, 3, 4)


@pytest.mark.long
def test_judge_reports_what_does_not_become_visible():
    """As many records as events, and one event is lost."""
    reader = types.SimpleNamespace(read_all=lambda prefix: _log(1, 2, 3, 3))
    found = read_visible(reader, "t", _EVENTS, 1)
    assert len(Checker(_EVENTS, found).missing) == 1


def test_reader_returns_the_exact_bytes(kafka, reader, topics):
    topic = topics + "bytes"

    def produce(value, *options):
        subprocess.run(["kcat", "-b", kafka.bootstrap, "-P", "-t", topic,
                        "-p", "0", *options], input=value, check=True)

    produce(b":empty key", "-K:")
    produce(b"null key")
    produce(b"k:", "-K:", "-Z")
    produce("k:\u2028 \x85 é".encode() + b" \xff\x01\"\\", "-K:",
            "-H", "a=1,b=2", "-H", "null", "-H", "empty=")
    records = reader.read(topic)
    assert [(record.key, record.value) for record in records] == [
        (b"", b"empty key"),
        (None, b"null key"),
        (b"k", None),
        (b"k", "\u2028 \x85 é".encode() + b" \xff\x01\"\\"),
    ]
    assert records[3].headers == (("a", b"1,b=2"), ("null", None),
                                  ("empty", b""))
    assert reader.topics(topics) == [topic]


@pytest.mark.long
def test_broker_keeps_its_records_over_a_kill(own_kafka, reader, topics):
    # Only `own_kafka` is read here; `reader` shows that the two are apart.
    reader_of_own = type(reader)(own_kafka.bootstrap)
    subprocess.run(["kcat", "-b", own_kafka.bootstrap, "-P", "-t",
                    topics + "kept"], input=b"kept\n", check=True)
    own_kafka.kill()
    own_kafka.start()
    assert [r.value for r in reader_of_own.read(topics + "kept")] == [b"kept"]
    assert reader.topics(topics) == []
    own_kafka.freeze()
    with pytest.raises(RuntimeError, match="kcat"):
        reader_of_own.topics()
    own_kafka.thaw()
    own_kafka.stop()


@pytest.mark.long
def test_postgres_is_logical_and_survives_a_crash(own_postgres):
    database = own_postgres.create_database()
    assert database.value("show wal_level") == "logical"
    database.execute("create table kept (n int)")
    database.execute("insert into kept values (1)")
    own_postgres.crash()
    own_postgres.start()
    assert database.value("select n from kept") == 1
    assert own_postgres.restart("immediate").stop("fast") < 10


@pytest.mark.long
def test_postgres_runs_from_where_its_user_may_not_look(directory):
    hidden = directory / "hidden"
    hidden.mkdir(mode=0o700)
    (hidden / "server").symlink_to(postgres_bin().parent)
    server = Postgres(directory / "postgres", hidden / "server" / "bin")
    try:
        server.start()
        with server.connect() as connection:
            assert connection.server_version >= 140000
    finally:
        server.close()


@pytest.mark.long
def test_load_leaves_a_rising_version_per_key(outbox):
    with Load(outbox, seed=1) as load:
        while load.transactions() < 200:
            assert all(thread.is_alive() for thread in load._threads)
    events = outbox.expected()
    assert len(events) >= 200
    by_key = {}
    for event in sorted(events, key=lambda event: event.sequence):
        by_key.setdefault(event.key, []).append(event.sequence)
    for sequences in by_key.values():
        assert sequences == list(range(1, len(sequences) + 1))
    deleted = len(events) - outbox.database.value(
        "select count(*) from outbox")
    assert deleted > 0


class _Echo:
    """A server that sends back whatever it is sent."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self._listener.accept()
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    @staticmethod
    def _serve(connection):
        try:
            while data := connection.recv(1 << 16):
                connection.sendall(data)
        except OSError:
            pass


@pytest.fixture
def echo(proxy_of):
    """A proxy before a server that echoes, and a connection to it."""
    server = _Echo()
    proxy = proxy_of(server.port)
    with contextlib.closing(_connect(proxy)) as client:
        assert _echoed(client, b"hello")[0] == b"hello"
        yield proxy, client


def _connect(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def _echoed(client, data):
    """Sends and receives that much; returns it with the pieces' sizes."""
    client.sendall(data)
    received, sizes = b"", []
    while len(received) < len(data):
        piece = client.recv(1 << 16)
        assert piece, "the connection ended"
        received += piece
        sizes.append(len(piece))
    return received, sizes


def _is_silent(client, seconds=0.5):
    client.settimeout(seconds)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(10)
    return False


@pytest.mark.long
def test_proxy_forwards_every_byte(echo):
    _, client = echo
    data = random.Random(1).randbytes(3_000_000)
    sender = threading.Thread(target=client.sendall, args=(data,))
    sender.start()
    received = b""
    while len(received) < len(data):
        received += client.recv(1 << 16)
    sender.join()
    assert received == data


@pytest.mark.long
def test_proxy_splits_and_delays(echo):
    proxy, client = echo
    data = random.Random(2).randbytes(20_000)
    proxy.split(7)
    received, sizes = _echoed(client, data)
    assert received == data and len(sizes) > 100
    proxy.clear()
    proxy.delay(0.2)
    begun = time.monotonic()
    assert _echoed(client, b"late")[0] == b"late"
    assert 0.4 <= time.monotonic() - begun < 3
    proxy.clear()
    assert _echoed(client, data)[0] == data


def test_proxy_cuts_and_heals(echo):
    proxy, client = echo
    proxy.cut()
    client.sendall(b"held")
    second = _connect(proxy)  # the kernel's backlog takes it
    second.sendall(b"new")
    assert _is_silent(client) and _is_silent(second)
    proxy.heal()
    assert client.recv(10) == b"held" and second.recv(10) == b"new"
    second.close()


@pytest.mark.long
def test_proxy_drops_for_ever_and_takes_new_connections(echo):
    proxy, client = echo
    proxy.drop()
    client.sendall(b"lost")
    assert _is_silent(client)
    with contextlib.closing(_connect(proxy)) as second:
        assert _echoed(second, b"new")[0] == b"new"
    client.sendall(b"lost, too")
    assert _is_silent(client)


@pytest.mark.long
def test_proxy_resets(echo):
    proxy, client = echo
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with contextlib.closing(_connect(proxy)) as second:
        assert _echoed(second, b"new")[0] == b"new"
