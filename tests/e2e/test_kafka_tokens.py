"""kafka.token_command: a broker checks signature, issuer, audience and end of each
token."""

import os
import pathlib
import re
import signal
import time

import pytest

import yaml

from harness import (Authority, Checker, KafkaReader, Load, Readiness,
                     SecuredKafka, TokenSigner, wait_until)
from harness.matrix import long_only
from harness.pages import blocks


@pytest.fixture(scope="module")
def authority(module_directory):
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module", name="shared_signer")
def _shared_signer(module_directory):
    return TokenSigner(module_directory / "signer")


@pytest.fixture
def signer(shared_signer):
    shared_signer.reset()
    return shared_signer


@pytest.fixture(scope="module")
def secured(module_directory, authority, shared_signer):
    """Connections log in again every four seconds."""
    broker = SecuredKafka(module_directory / "secured", authority, "a-secret",
                          asks_for_rights=True, signer=shared_signer,
                          max_reauth_millis=4_000).start()
    yield broker
    broker.close()


@pytest.fixture
def login(secured, authority, signer, topics):
    """The section `kafka`; the user `walpost` has the rights."""
    for operation in ("Read", "Write", "Create", "DescribeConfigs"):
        for prefix in (topics, f"checkpoint-{topics}"):
            secured.grant("--allow-principal", "User:walpost", "--operation",
                          operation, "--topic", prefix,
                          "--resource-pattern-type", "prefixed")
    for operation in ("Write", "Describe"):
        secured.grant("--allow-principal", "User:walpost", "--operation",
                      operation, "--transactional-id", "walpost-",
                      "--resource-pattern-type", "prefixed")
    return {"brokers": secured.oauth, "token_command": signer.command,
            "properties": {"security.protocol": "SASL_SSL",
                           "ssl.ca.location": str(authority.certificate)}}


def _once(topics):
    return {"delivery": {"guarantee": "exactly_once"},
            "checkpoint": {"topic": f"checkpoint-{topics}"}}


def _publishes(relay, database, outbox, secured, topics, count):
    """Publishes `count` rows more; returns how many records there are then."""
    for number in range(count):
        outbox.insert("order", f"order-{number}")
    database.wait_confirmed(relay.slot)
    return len(KafkaReader(secured.bootstrap).read_all(topics + "order"))


def _assert_hidden(signer, *texts):
    assert signer.tokens
    for token in signer.tokens:
        for text in texts:
            assert token not in text
            assert token.rpartition(".")[2] not in text


def test_every_client_has_its_token(walpost, database, outbox, topics, secured,
                                    signer, login):
    """check, run with transactions and a checkpoint topic, created topics,
    verify, dead letters. JSON of several lines is a token, too."""
    signer.change(as_json=True)
    relay = walpost(database, secured, topics, kafka=login, **_once(topics),
                    on_error={"topic_illegal": "dead_letter"},
                    dead_letter={"topic": topics + "letters"},
                    outbox={"tables": [{"name": "public.outbox",
                                        "create_topics": {"partitions": 2}}]})
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert "without encryption" not in checked.stdout
    relay.run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    verified = relay.verb("verify")
    outbox.insert("wrong topic!", "order-1")
    database.wait_confirmed(relay.slot)
    listed = relay.verb("dead-letters", "list")
    discarded = relay.verb("dead-letters", "discard", "--all",
                            "--why", "a test")
    for verb in (verified, listed, discarded):
        assert verb.returncode == 0, verb.stdout + verb.stderr
    assert "wrong topic!" in listed.stdout
    assert relay.stop() == 0
    _assert_hidden(signer, checked.stdout, verified.stdout, relay.whole_log())


def test_the_example_of_amazon_msk(walpost, database, outbox, topics, secured,
                                   signer, login, directory):
    """That of docs/security.md, with a signer that prints as Amazon's does."""
    page = next(block.text for block in blocks()
                if block.page == "docs/security.md"
                and block.text.startswith("kafka:\n  brokers: b-1"))
    section = yaml.safe_load(page)["kafka"]
    assert section["token_command"][1:] == ["--region", "eu-west-1"]
    program = directory / section["token_command"][0]
    program.write_text(
        '#!/bin/sh\n[ "$*" = "--region eu-west-1" ] || exit 2\n'
        f"""printf "('%s', 1795859366000)\\n" "$({' '.join(signer.command)})"\n""")
    program.chmod(0o755)
    path = f"{directory}:{os.environ['PATH']}"
    relay = walpost(database, secured, topics, env={"PATH": path}, kafka={
        **section, "brokers": secured.oauth,
        "properties": {**login["properties"], **section["properties"]}}).run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5


@pytest.mark.parametrize("once, refreshes", [(True, 1), *long_only((True, 3),
                                                                   (False, 3))])
def test_p1_tokens_are_refreshed_under_load(
        walpost, database, outbox, topics, secured, signer, login, once, refreshes):
    """Ends of tokens, and more logins on the same connection.

    Of shorter tokens, brokers give sessions of less than a second, and reject the
    login after that: it comes too early for them.
    """
    signer.change(lifetime=20)
    relay = walpost(database, secured, topics, kafka=login,
                    **(_once(topics) if once else {})).run()
    before = signer.runs
    with Readiness(relay) as readiness:
        with Load(outbox, seed=topics, writers=2, pause=0.02):
            wait_until(lambda: signer.runs >= before + refreshes,
                       "more tokens", 120)
        database.wait_confirmed(relay.slot)
    readiness.assert_always_ready()
    checker = Checker(outbox.expected(),
                      KafkaReader(secured.bootstrap).read_all(topics))
    checker.assert_clean()
    assert checker.duplicates == 0
    assert "warn Kafka" not in relay.log(), relay.log()
    _assert_hidden(signer, relay.log())


@pytest.mark.long
def test_a_token_that_the_brokers_reject(walpost, database, outbox, topics,
                                         secured, signer, login):
    """It is named, and the next token is tried without a restart."""
    signer.change(claims={"aud": "another"})
    relay = walpost(database, secured, topics, kafka=login)
    checked = relay.verb("check")
    assert checked.returncode == 1
    rejected = "rejects the token of kafka.token_command"
    assert re.search(f"ERROR.*{rejected}.*invalid_token.*\n +-> compare the "
                     "audience", checked.stdout), checked.stdout
    relay.start()
    relay.wait_unready(f"{rejected}.*compare the audience")
    signer.reset()
    relay.wait_ready(60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    _assert_hidden(signer, checked.stdout, relay.log())


_SAID = ("kafka.token_command: /usr/bin/python3 exited with code 1: no credentials "
         "found")


@pytest.mark.long
def test_a_command_that_fails(walpost, database, outbox, topics, secured, signer,
                              login):
    relay = walpost(database, secured, topics, kafka=login)
    signer.change(failure="no credentials found")
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(f"ERROR.*{_SAID}\n +-> run the program", checked.stdout), (
        checked.stdout)
    relay.start()
    relay.wait_unready(_SAID)
    signer.reset()
    relay.wait_ready(40)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5


@pytest.mark.long
def test_a_command_that_fails_later(walpost, database, outbox, topics, secured,
                                    signer, login):
    """Connections stay while the last token lives; then the failure is named."""
    signer.change(lifetime=20)
    relay = walpost(database, secured, topics, kafka=login).run()
    signer.change(failure="no credentials found")
    relay.wait_log(f"warn Kafka: {_SAID}")
    assert relay.get("/readyz")[0] == 200
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    relay.wait_unready(_SAID, 40)
    signer.reset()
    relay.wait_ready(40)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 10


@pytest.mark.long
@pytest.mark.parametrize("change, said", [
    ({"lifetime": -30}, "printed a token that expired 3[0-9] s ago"),
    ({"lifetime": 0}, "printed a token that expired 0 s ago"),
    ({"key": "another-key"}, "rejects the token"),
    ({"claims": {"iss": "https://another.example.com"}}, "rejects the token"),
    ({"claims": {"exp": "soon"}}, "without saying when it expires"),
    ({"sleep": 600}, "has not ended within 10000 ms"),
])
def test_what_is_not_a_good_token_is_named(
        walpost, database, outbox, topics, secured, signer, login, change, said):
    signer.change(**change)
    relay = walpost(database, secured, topics, kafka=login)
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(said, checked.stdout), checked.stdout
    relay.start()
    relay.wait_unready(said, 60)
    signer.reset()
    relay.wait_ready(60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5


@pytest.mark.parametrize("words, said", [
    (["/no/such/program"], "cannot be run: No such file or directory"),
    (["true"], "printed nothing on stdout"),
    (["echo", "s3cr3t s3cr3t"], "printed something that is not a token"),
    (["printf", "s3cr3t\ns3cr3t"], "printed something that is not a token"),
    (["echo", "s3cr3t"], "printed a token without saying when it expires"),
    (["echo", '{"access_token": "s3cr3t"}'],
     "printed a token without saying when it expires"),
    (["echo", '{"access_token": "s3cr3t", "expires_in": 0}'],
     "printed a token that expired 0 s ago"),
    (["yes", "s3cr3t"], "printed more than 65536 bytes"),
])
@pytest.mark.long
def test_what_is_not_a_token_is_named(walpost, database, outbox, topics, secured,
                                      login, words, said):
    # pylint: disable=unused-argument
    relay = walpost(database, secured, topics,
                    kafka={**login, "token_command": words})
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(f"ERROR.*kafka.token_command: {words[0]} {said}",
                     checked.stdout), checked.stdout
    assert "s3cr3t" not in checked.stdout + checked.stderr


@pytest.mark.long
def test_p10_a_command_that_hangs(walpost, database, outbox, topics, secured,
                                  signer, login):
    """Neither the loop nor the shutdown waits for it."""
    signer.change(sleep=600)
    relay = walpost(database, secured, topics, kafka=login)
    relay.start()
    wait_until(lambda: signer.runs and relay.get("/healthz")[0] == 200,
               "/healthz")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        begun = time.monotonic()
        assert relay.get("/healthz")[0] == 200
        assert time.monotonic() - begun < 1
        time.sleep(0.1)
    begun = time.monotonic()
    assert relay.stop(20) == 0
    assert time.monotonic() - begun < 5
    assert not _running(signer)


def _running(signer):
    """Processes of the signer's program."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path] * (signer.command[2].encode() in path.read_bytes())
        except OSError:
            pass
    return found


@pytest.mark.long
def test_the_broker_restarts(walpost, database, outbox, topics, secured, signer,
                             login):
    relay = walpost(database, secured, topics, kafka=login, **_once(topics)).run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    signer.change(failure="no credentials found")  # the token lives on
    secured.kill()
    secured.start()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 10
    assert relay.get("/readyz")[0] == 200


@pytest.mark.long
def test_the_principal_is_the_subject(walpost, database, outbox, topics, secured,
                                      signer, login):
    # pylint: disable=unused-argument
    signer.change(claims={"sub": "somebody-else"})
    relay = walpost(database, secured, topics, kafka=login,
                    outbox={"tables": [{"name": "public.outbox"}]})
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(f"ERROR.*topic.*{topics}", checked.stdout), checked.stdout


@pytest.mark.long
def test_sighup_says_that_another_command_needs_a_restart(
        walpost, database, outbox, topics, secured, login):
    # pylint: disable=unused-argument
    relay = walpost(database, secured, topics, kafka=login).run()
    relay.configure({**relay.config, "kafka": {
        **login, "token_command": [*login["token_command"], "more"]}})
    relay.send(signal.SIGHUP)
    relay.wait_log("kafka.token_command")
    assert "more" not in relay.log()
