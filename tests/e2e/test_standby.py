"""Two on one slot: one streams, the other waits, and nothing is lost."""

import re
import signal
import subprocess
import time

import pytest

from harness import MOST_MEMORY, Load, judge, note, wait_until
from harness.paths import postgres_bin

_TIMEOUT_S = 4  # wal_sender_timeout


@pytest.fixture
def pair(walpost, database, kafka, outbox, topics):
    """An active walpost and one that waits."""
    sections = {"postgres": {"wal_sender_timeout": f"{_TIMEOUT_S}s"}}
    first = walpost(database, kafka, topics, **sections).run()
    second = walpost(database, kafka, topics, **sections).start()
    _wait_standby(second)
    return first, second


def _wait_standby(relay, seconds=15):
    wait_until(lambda: relay.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {relay.get('/readyz')}", seconds)


def _wait_streaming(relay, seconds):
    begun = time.monotonic()
    wait_until(
        lambda: re.match("streaming|catching", relay.get("/readyz")[1]),
        lambda: f"streaming; it says {relay.get('/readyz')}\n{relay.log()}",
        seconds, pause=0.02)
    return time.monotonic() - begun


@pytest.mark.long
def test_p2_standby_waits_and_is_ready(pair, database):
    _, second = pair
    code, text = second.get("/readyz")
    assert code == 200 and text.startswith("standby")
    # Waiting holds nothing back.
    assert database.value(
        "select count(*) from pg_stat_activity where backend_xmin is not null "
        "and application_name like 'walpost%%'") == 0
    assert second.log().count("\n") < 20, "it waits without a word"
    status = second.verb("status").stdout
    assert "the rest is known when this instance streams" in status
    assert "0/0" not in status, "an LSN that it does not know"


def test_p1_p2_p3_standby_takes_over_when_the_first_dies(
        pair, kafka, outbox, topics):
    first, second = pair
    with Load(outbox, seed=1, pause=0.005) as load:
        first.wait_acknowledged(100)
        first.kill()
        took = _wait_streaming(second, seconds=10)
        load.wait(100)
    note(f"take-over took {took:.2f} s")
    assert took <= 2
    judge(outbox, kafka, second, takeover=True)


def test_p1_p2_p3_standby_takes_over_when_the_first_freezes(
        pair, kafka, outbox, topics):
    first, second = pair
    with Load(outbox, seed=2, pause=0.005) as load:
        first.wait_acknowledged(100)
        first.send(signal.SIGSTOP)
        took = _wait_streaming(second, seconds=_TIMEOUT_S + 10)
        second.wait_acknowledged(100)
        first.send(signal.SIGCONT)
        _wait_standby(first)
        load.wait(100)
    note(f"take-over took {took:.2f} s")
    assert took <= _TIMEOUT_S + 2
    assert "suspended" in first.log()
    judge(outbox, kafka, second, takeover=True)
    second.kill()  # and back
    _wait_streaming(first, seconds=5)
    outbox.insert("order", "order-last")
    judge(outbox, kafka, first, takeover=True)


@pytest.mark.long
def test_p1_p2_p3_standby_takes_over_when_the_first_is_cut_off(
        walpost, database, postgres, kafka, outbox, topics, proxy_of):
    proxy = proxy_of(postgres.port)
    settings = {"wal_sender_timeout": f"{_TIMEOUT_S}s"}
    first = walpost(
        database, kafka, topics,
        postgres={**settings, "conninfo":
                  _through(database.conninfo(), proxy.port)}).run()
    second = walpost(database, kafka, topics, postgres=settings).start()
    _wait_standby(second)
    with Load(outbox, seed=3, pause=0.005):
        first.wait_acknowledged(100)
        proxy.cut()
        took = _wait_streaming(second, seconds=_TIMEOUT_S + 10)
        first.wait_unready("stuck", seconds=10)
        proxy.heal()
        _wait_standby(first, seconds=40)
    note(f"take-over took {took:.2f} s")
    assert took <= _TIMEOUT_S + 2
    judge(outbox, kafka, second, takeover=True)
    assert first.peak_memory_bytes() < MOST_MEMORY


@pytest.mark.long
def test_p2_a_dead_predecessors_walsender_is_ended(
        walpost, database, postgres, kafka, outbox, topics, proxy_of):
    proxy = proxy_of(postgres.port)
    proxy.keep_server_side = True
    settings = {"conninfo": _through(database.conninfo(), proxy.port)}
    relay = walpost(database, kafka, topics, postgres=settings).run()
    relay.kill()
    outbox.insert("order", "order-1")
    begun = time.monotonic()
    relay.start()
    _wait_streaming(relay, seconds=15)  # wal_sender_timeout is 30 s
    assert time.monotonic() - begun < 10
    assert "left behind" in relay.log()
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p8_a_slot_that_is_used_by_something_else_is_no_standby(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    assert relay.stop() == 0
    with subprocess.Popen(
            [postgres_bin() / "pg_recvlogical", "--start", "--slot",
             database.name, "-d", database.conninfo(), "-f", "/dev/null",
             "-o", "proto_version=1", "-o",
             f"publication_names={relay.config['postgres']['publication']}"],
            stderr=subprocess.DEVNULL) as other:
        try:
            wait_until(lambda: database.value(
                "select active from pg_replication_slots "
                "where slot_name = %s", (database.name,)), "its stream")
            relay.start()
            assert "pg_recvlogical" in relay.wait_unready("not a walpost")
        finally:
            other.terminate()
    relay.wait_ready()


def _through(conninfo, port):
    return re.sub(r"port=\d+", f"port={port}", conninfo)
