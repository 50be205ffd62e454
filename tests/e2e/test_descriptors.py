"""The limit of open files: whatever needs a descriptor then fails as a connection
fails, and is tried again."""

import itertools
import os
import resource
import secrets
import time

import pytest

from harness import KafkaReader, Outbox, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, pairs
from harness.paths import walpost_binary
from harness.process import Process
from harness.stored import checkpoint_section

_LIMIT = 1000


def _set_limit(pid, limit):
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))


def _leave_free(relay, free):
    """The process can open so many more files, and no others."""
    used = {int(name) for name in os.listdir(f"/proc/{relay.pid}/fd")}
    unused = (number for number in range(_LIMIT) if number not in used)
    _set_limit(relay.pid, next(itertools.islice(unused, free, None)))


def _count(relay, text):
    return relay.log().count(text)


def _lose_sessions(database):
    return database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where application_name like 'walpost:%%' and datname = %s",
        (database.name,))


def _sections(case, directory, topics):
    if case["store"] == "transactions":
        return once(topics)
    return checkpoint_section(case["store"], directory, topics)


def _lose(case, relay, database, outbox):
    """What it has to open again."""
    if case["lost"] == "producer":
        before = _count(relay, "replacing")
        outbox.insert("narrow", "key", f'"{secrets.token_hex(5000)}"')
        # After a rejection records go one by one for a while, and then by
        # another producer.
        for _ in range(60):
            outbox.insert("order", "first")
        wait_until(lambda: _count(relay, "replacing") > before,
                   "another producer")
        return
    before = _count(relay, "trying again in")
    wait_until(lambda: _lose_sessions(database), "the sessions")
    wait_until(lambda: _count(relay, "trying again in") > before, "a failure")


@pytest.mark.parametrize("case", pairs(
    [{"store": "file", "lost": "producer"},
     {"store": "transactions", "lost": "sessions"}],
    store=["none", "file", "postgres", "kafka", "transactions"],
    lost=["sessions", "producer"]), ids=str)
@pytest.mark.sample(2)
def test_what_is_lost_at_the_limit_comes_back(
        walpost, database, kafka, topics, directory, case):
    outbox = Outbox(database, topics)
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=5000)
    relay = walpost(database, kafka, topics,
                    on_error={"record_too_large": "skip"},
                    **_sections(case, directory, topics)).run()
    outbox.insert("order", "first")
    database.wait_confirmed(relay.slot)
    keys = ["first"]
    for free in range(30 if LONG else 4):
        _leave_free(relay, free)
        _lose(case, relay, database, outbox)
        time.sleep(1)  # for several attempts
        outbox.insert("order", f"free-{free}")
        keys.append(f"free-{free}")
        assert relay.running(), relay.log()
        _set_limit(relay.pid, _LIMIT)
        database.wait_confirmed(relay.slot, seconds=60)
        relay.wait_ready()
    # A producer that is replaced leaves its own to the next one.
    assert case["lost"] == "producer" or "Too many open files" in relay.log()
    found = {record.key.decode() for record in
             KafkaReader(kafka.bootstrap).read(topics + "order")}
    assert found == set(keys)


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.long
def test_a_start_at_the_limit_goes_on_or_says_so(
        walpost, database, kafka, topics, directory, guarantee):
    Outbox(database, topics)
    sections = once(topics) if guarantee == "exactly_once" else {}
    relay = walpost(database, kafka, topics, **sections)
    outcomes = set()
    for limit in range(4, 64) if LONG else (4, 6, 8, 9, 10, 13, 17, 24, 36, 60):
        log = directory / f"log-{limit}"
        process = Process(
            ["sh", "-c", f"ulimit -Sn {limit} && exec \"$@\"", "sh",
             walpost_binary(), "run", "-c", relay.config_path], log)
        try:
            code = process.wait(1.5)
        except TimeoutError:
            code = None
            _set_limit(process.pid, _LIMIT)
            wait_until(lambda: relay.get("/readyz")[0] == 200,
                       lambda at=log: f"/readyz\n{at.read_text()}", 60)
        finally:
            process.end(9)
        text = log.read_text()
        assert code in (None, 2, 4), text
        assert code is None or "Too many open files" in text
        outcomes.add(code)
    assert outcomes >= {None, 2}, outcomes
