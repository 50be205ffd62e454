"""delivery.guarantee: exactly_once: what `check`, `run` and `verify` say of
brokers that do not fit, and of transactions that are open or aborted."""

import json

import pytest

from harness import OpenTransaction, wait_until

ONCE = {"guarantee": "exactly_once"}


def _sections(topics):
    return {"delivery": ONCE, "checkpoint": {"topic": f"checkpoints-{topics}"}}


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """A relay that has published some rows."""
    made = walpost(database, kafka, topics, **_sections(topics)).run()
    for number in range(20):
        outbox.insert("order", f"key-{number % 3}", json.dumps(number),
                      sequence=number)
    database.wait_confirmed(database.name)
    return made


@pytest.fixture
def copy(kafka, database, topics, relay):  # pylint: disable=unused-argument
    """Another program's copy of a row, in a transaction that is open."""
    identity, key, payload = database.execute(
        "select id::text, aggregate_id, payload::text from outbox "
        "where sequence = 7")[0]
    return OpenTransaction(kafka.bootstrap, f"another-{topics}").produce(
        topics + "order", key, payload, id=identity,
        walpost_position="00000001-7FFFFFFF00000000-0000000000000001")


def _verify(relay, *words):
    said = relay.verb("verify", "--json", *words)
    assert said.stdout, said.stderr
    report = json.loads(said.stdout)
    return {kind: found["count"] for kind, found in report["findings"].items()
            if found["count"]}


# ---- verify

def test_records_of_an_aborted_transaction_are_none(relay, copy):
    copy.abort()
    for words in ((), ("--read-committed",)):
        assert _verify(relay, "--fail-on-duplicates", *words) == {}
    assert _verify(relay, "--read-uncommitted") == {"duplicates": 1,
                                                    "undecided": 1}


def test_verify_waits_for_an_open_transaction(relay, copy, outbox, database):
    for number in range(20, 40):
        outbox.insert("order", f"key-{number % 3}", json.dumps(number),
                      sequence=number)
    database.wait_confirmed(database.name)
    verifying = relay.spawn("verify", "--json", "--fail-on-duplicates")
    with pytest.raises(TimeoutError):
        wait_until(lambda: not verifying.running(), "an answer", 5)
    copy.abort()
    assert verifying.wait(30) == 0


def test_a_committed_copy_is_a_duplicate(relay, copy):
    copy.commit()
    assert relay.verb("verify", "--fail-on-duplicates").returncode == 1
    assert _verify(relay) == {"duplicates": 1}


def test_a_transaction_that_stays_open_is_an_error_and_no_missing_row(
        relay, copy, outbox, database):
    outbox.insert("order", "key-1", "{}", sequence=20)
    database.wait_confirmed(database.name)
    relay.configure({**relay.config, "delivery": {
        **ONCE, "transaction_timeout": "30s"}})
    said = relay.verb("verify", seconds=90)
    copy.abort()
    assert said.returncode == 4, said.stdout
    assert "a transaction has been open for 45 s" in said.stderr, said.stderr
    assert "describe-producers --topic" in said.stderr
