"""docs/releases.md, "Go back": the version before this one goes on with what this
one has stored, and this one after it.

WALPOST_PREVIOUS names the binary of the version before; else scripts/fetch-walpost
builds it, once, which takes as long as a build of this one.
"""

import contextlib
import json
import os
import pathlib
import subprocess

import pytest

from harness import KafkaReader, wait_until
from harness.paths import REPOSITORY
from harness.polled import PolledOutbox

pytestmark = pytest.mark.long

_PREVIOUS = "0.2.0"


@pytest.fixture(scope="module", name="previous_binary")
def _previous_binary():
    named = os.environ.get("WALPOST_PREVIOUS")
    if not named:
        named = subprocess.run(
            [REPOSITORY / "scripts" / "fetch-walpost", _PREVIOUS],
            stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    said = subprocess.run([named, "version"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    assert said.startswith(f"walpost {_PREVIOUS}\n"), said
    return pathlib.Path(named)


@pytest.fixture
def previous(previous_binary, monkeypatch):
    """with previous(): what is started is the version before."""
    @contextlib.contextmanager
    def of_before():
        with monkeypatch.context() as patch:
            patch.setenv("WALPOST_BINARY", str(previous_binary))
            yield

    return of_before


class _Written:
    """What was committed, and what of it is in Kafka."""

    def __init__(self, outbox, kafka):
        self._outbox = outbox
        self._reader = KafkaReader(kafka.bootstrap)
        self._number = 0
        self._ids = []

    def write(self, count=6):
        for _ in range(count):
            self._number += 1
            self._ids.append(self._outbox.insert(
                "order", f"key-{self._number % 2}", sequence=self._number))

    def in_kafka(self):
        return [record.id for record in
                self._reader.read_all(self._outbox.topic_prefix)]

    def wait(self, relay):
        wait_until(lambda: set(self.in_kafka()) >= set(self._ids),
                   lambda: f"all records\n{relay.log()}")

    def is_there_once(self):
        found = self.in_kafka()
        assert sorted(found) == sorted(self._ids)


@pytest.fixture
def written(outbox, kafka):
    return _Written(outbox, kafka)


def _verify_clean(relay):
    found = json.loads(relay.verb("verify", "--json").stdout)
    counts = {name: finding["count"]
              for name, finding in found["findings"].items()}
    assert not counts["missing"] and not counts["disorder"], found


def _checkpoint(store, directory, topics):
    return {"store": store,
            **({"path": str(directory / "checkpoint")} if store == "file" else {}),
            **({"topic": f"checkpoint-{topics}"} if store == "kafka" else {})}


@pytest.mark.parametrize("store", ["none", "file", "postgres", "kafka"])
def test_each_goes_on_where_the_other_has_stopped(
        store, walpost, previous, database, kafka, topics, written, directory):
    """No event twice, for each stops cleanly; with rows that come between."""
    relay = walpost(database, kafka, topics,
                    checkpoint=_checkpoint(store, directory, topics))

    def pass_rows():
        written.write()
        written.wait(relay)
        assert relay.stop() == 0
        written.write()

    with previous():
        relay.run()
        pass_rows()
    relay.run()
    pass_rows()
    with previous():
        relay.run()
        pass_rows()
    relay.run()
    pass_rows()
    relay.run()
    written.wait(relay)
    written.is_there_once()
    _verify_clean(relay)


@pytest.mark.parametrize("store", ["none", "postgres"])
def test_each_goes_on_after_the_other_was_killed(
        store, walpost, previous, database, kafka, topics, written, directory):
    relay = walpost(database, kafka, topics,
                    checkpoint=_checkpoint(store, directory, topics))
    for _ in range(2):
        relay.run()
        written.write()
        relay.kill()
        written.write()
        with previous():
            relay.run()
            written.write()
            relay.kill()
            written.write()
    relay.run()
    written.wait(relay)
    _verify_clean(relay)


def test_without_exactly_once(walpost, previous, database, kafka, topics, written):
    """The key is unknown to it; the checkpoint is not."""
    relay = walpost(database, kafka, topics,
                    delivery={"guarantee": "exactly_once"},
                    checkpoint={"store": "kafka", "topic": f"checkpoint-{topics}"})
    relay.run()
    written.write()
    written.wait(relay)
    assert relay.stop() == 0
    written.write()
    with previous():
        said = relay.verb("check")
        assert said.returncode == 2
        assert "guarantee" in said.stdout + said.stderr
        relay.configure({**relay.config, "delivery": {}})
        relay.run()
        written.write()
        written.wait(relay)
        assert relay.stop() == 0
    written.is_there_once()


def test_it_does_not_know_of_a_pause(
        walpost, previous, database, kafka, topics, written):
    relay = walpost(database, kafka, topics).run()
    assert relay.verb("pause", "--reason", "a test").returncode == 0
    relay.wait_unready("a test")
    written.write()
    assert relay.stop() == 0
    with previous():
        relay.run()
        written.wait(relay)
        assert relay.stop() == 0
    relay.start()
    relay.wait_unready("a test")
    assert relay.verb("resume").returncode == 0
    relay.wait_ready()
    written.is_there_once()


def test_parked_events_wait_for_this_version(
        walpost, previous, database, kafka, topics, outbox, written):
    """They are not lost; later events of their key overtake them."""
    relay = walpost(database, kafka, topics,
                    on_error={"headers_unreadable": "park"}).run()
    parked = outbox.insert("order", "k", headers='["no object"]')
    wait_until(lambda: relay.metric("walpost_parked_events") == 1, "the parking")
    written.write()
    written.wait(relay)
    assert relay.stop() == 0
    config = relay.config
    with previous():
        relay.configure({name: value for name, value in config.items()
                         if name != "on_error"})
        relay.run()
        written.write()
        written.wait(relay)
        assert relay.stop() == 0
    relay.configure(config)
    relay.run()
    listed = relay.verb("parked", "list")
    assert parked in listed.stdout, listed.stdout + listed.stderr
    said = relay.verb("parked", "discard", "--all", "--why", "a test")
    assert said.returncode == 0, said.stderr
    wait_until(lambda: relay.metric("walpost_parked_events") == 0, "no parking")
    written.is_there_once()


def test_a_polled_table(walpost, previous, database, kafka, topics):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics, **polled.sections(), postgres={
        "slot": None, "publication": None, "create": None})
    reader = KafkaReader(kafka.bootstrap)
    for version in (previous, contextlib.nullcontext) * 2:
        polled.insert(3)
        with version():
            relay.run()
            polled.insert(3)
            wait_until(lambda: relay.metric("walpost_pending_rows"
                                            '{table="public.outbox"}') == 0,
                       lambda: f"no pending rows\n{relay.log()}")
            assert relay.stop() == 0
    ids = [record.id for record in reader.read_all(topics)]
    assert len(ids) == len(set(ids)) == database.value(
        "select count(*) from outbox")
