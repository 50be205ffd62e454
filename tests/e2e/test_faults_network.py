"""The network between walpost and Postgres or Kafka at its worst.

walpost itself lives on, so nothing may be sent twice: events in flight are
recognised by position, records by the idempotent producer.
"""

import random
import re
import time

import pytest

from harness import Kafka, Load, Readiness, judge, note
from harness.matrix import long_only
from harness.ports import free_port

_LINKS = ("postgres", "kafka")

# What a stuck relay says of a dead link.
_SILENCE = {"postgres": "sent nothing|onnection",
            "kafka": "not acknowledged|reachable|answered nothing"}


@pytest.fixture(scope="module")
def proxy_port():
    return free_port()


@pytest.fixture(scope="module")
def kafka(module_directory, proxy_port):
    """A broker that says it lives at `proxy_port`; tests reach it directly."""
    broker = Kafka(module_directory / "kafka",
                   advertised_port=proxy_port).start()
    yield broker
    broker.close()


@pytest.fixture
def links(proxy_of, postgres, kafka, proxy_port):
    """The proxies before both servers, by the name of the server."""
    return {"postgres": proxy_of(postgres.port),
            "kafka": proxy_of(kafka.behind_port, proxy_port)}


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics, links):
    """A walpost that reaches both servers by way of the proxies."""
    conninfo = re.sub(r"port=\d+", f"port={links['postgres'].port}",
                      database.conninfo())
    return walpost(
        database, kafka, topics,
        postgres={"conninfo": conninfo, "wal_sender_timeout": "12s"},
        kafka={"brokers": f"127.0.0.1:{links['kafka'].port}",
               "properties": {"socket.timeout.ms": 12000}}).run()


def _load(outbox, seed):
    return Load(outbox, seed, pause=0.01)


def _judge(outbox, kafka, relay):
    assert judge(outbox, kafka, relay).duplicates == 0
    assert relay.get("/readyz")[0] == 200


def _stuck_and_well_again(relay, pattern, mend, noticed=12, recovered=30):
    """Waits until it says so, mends it and waits until that is said, too."""
    begun = time.monotonic()
    text = relay.wait_unready(pattern, noticed)
    mended = time.monotonic()
    mend()
    relay.wait_ready(recovered)
    note(f"noticed after {mended - begun:.1f} s, ready "
         f"{time.monotonic() - mended:.1f} s after it was mended: {text:.60}")


@pytest.mark.parametrize("link", _LINKS)
@pytest.mark.sample(2)
def test_p1_p2_p3_p10_cut_and_healed(relay, links, link, kafka, outbox):
    with _load(outbox, 1):
        for seconds in (0.3, 2):
            time.sleep(0.5)
            links[link].cut()
            time.sleep(seconds)
            links[link].heal()
        relay.wait_ready()
        time.sleep(0.5)
        links[link].cut()
        _stuck_and_well_again(relay, _SILENCE[link], links[link].heal)
        time.sleep(0.5)
    _judge(outbox, kafka, relay)


@pytest.mark.long
def test_p1_p2_p3_p10_cut_off_from_everything(relay, links, kafka, outbox):
    def heal():
        for proxy in links.values():
            proxy.heal()

    with _load(outbox, 2):
        time.sleep(0.5)
        for proxy in links.values():
            proxy.cut()
        _stuck_and_well_again(relay, "|".join(_SILENCE.values()), heal)
        time.sleep(0.5)
    _judge(outbox, kafka, relay)


@pytest.mark.parametrize("link", ["kafka", *long_only("postgres")])
def test_p1_p2_p3_connections_are_reset(relay, links, link, kafka, outbox):
    dice = random.Random(link)
    with _load(outbox, 3):
        for _ in range(10):
            time.sleep(dice.random() * 0.8)
            links[link].reset()
        relay.wait_ready()
        time.sleep(0.5)
    _judge(outbox, kafka, relay)


@pytest.mark.long
@pytest.mark.parametrize("link", ["postgres", "kafka"])
def test_p1_p2_p3_p10_half_open_connections(relay, links, link, kafka,
                                            outbox):
    """A firewall forgets the connections: they are silent for ever."""
    with _load(outbox, 4):
        time.sleep(0.5)
        links[link].drop()
        _stuck_and_well_again(relay, _SILENCE[link], lambda: None)
        time.sleep(0.5)
    _judge(outbox, kafka, relay)


@pytest.mark.parametrize("link", ["kafka", *long_only("postgres")])
def test_p1_p3_p10_all_comes_late_or_in_small_pieces(
        relay, links, link, kafka, outbox):
    with Readiness(relay) as readiness:
        with _load(outbox, 5):
            links[link].delay(0.2)
            time.sleep(2)
            links[link].clear()
            time.sleep(0.5)
            links[link].split(7)
            time.sleep(2)
        outbox.database.wait_confirmed(relay.slot)  # all of it in pieces
        links[link].clear()
        _judge(outbox, kafka, relay)
    readiness.assert_always_ready()
