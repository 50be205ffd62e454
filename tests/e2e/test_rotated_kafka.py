"""Credentials of Kafka that change, or end, while walpost runs."""

import re
import signal
import time

import pytest

from harness import (Authority, KafkaReader, SecuredKafka, TokenEndpoint,
                     wait_until)
from harness.matrix import long_only

_PASSWORD = "a-secret"


@pytest.fixture(scope="module")
def authority(module_directory):
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module")
def secured(module_directory, authority):
    broker = SecuredKafka(module_directory / "secured", authority,
                          _PASSWORD).start()
    yield broker
    broker.close()


@pytest.fixture
def endpoint():
    made = TokenEndpoint("a-secret-of-the-client").start()
    yield made
    made.stop()


def _tls(authority, **properties):
    return {"security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.certificate), **properties}


def _publishes(relay, database, outbox, secured, topics, count):
    """Publishes `count` rows more; returns how many records there are then."""
    for number in range(count):
        outbox.insert("order", f"order-{number}")
    database.wait_confirmed(relay.slot)
    return len(KafkaReader(secured.bootstrap).read_all(topics))


def _bounce(secured):
    """The broker again, without the connections that it had."""
    secured.stop()
    secured.start()


def test_a_changed_password_is_taken_up_by_sighup(
        walpost, database, outbox, topics, secured, authority):
    """One that stands in the configuration file itself."""
    def kafka(password):
        return {"brokers": secured.sasl, "properties": _tls(
            authority, **{"sasl.mechanism": "SCRAM-SHA-512",
                          "sasl.username": "walpost",
                          "sasl.password": password})}

    relay = walpost(database, secured, topics, kafka=kafka(_PASSWORD)).run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    try:
        secured.set_password("a-secret-2")
        relay.configure({**relay.config, "kafka": kafka("a-secret-2")})
        relay.send(signal.SIGHUP)
        relay.wait_log("taken up: kafka.properties.sasl.password\n")
        relay.wait_log("replacing the Kafka producer: its credentials have "
                       "changed(.|\n)*streaming from slot")
        assert _publishes(relay, database, outbox, secured, topics, 5) == 10
        assert "invalid credentials" not in relay.log()
        assert "a-secret" not in relay.log()
    finally:
        secured.set_password(_PASSWORD)


@pytest.mark.parametrize("store", ["kafka", *long_only("none")])
@pytest.mark.long
def test_a_changed_password_is_taken_up(
        walpost, database, outbox, topics, secured, authority, directory, store):
    path = directory / "password"
    path.write_text(_PASSWORD)
    relay = walpost(
        database, secured, topics,
        checkpoint={"store": store, "topic": "checkpoint-" + topics},
        kafka={"brokers": secured.sasl, "properties": _tls(
            authority, **{"sasl.mechanism": "SCRAM-SHA-512",
                          "sasl.username": "walpost",
                          "sasl.password": f"${{file:{path}}}"})}).run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    try:
        secured.set_password("a-secret-2")
        _bounce(secured)
        relay.wait_unready(r"invalid credentials.*check sasl\.", 60)
        path.write_text("a-secret-2")
        relay.wait_ready(60)
        assert _publishes(relay, database, outbox, secured, topics, 5) == 10
        assert relay.verb("verify").returncode == 0
        assert "replacing the Kafka producer" in relay.log()
        assert "a-secret" not in relay.log()
    finally:
        secured.set_password(_PASSWORD)


@pytest.mark.long
def test_a_changed_certificate_is_taken_up(walpost, database, outbox, topics,
                                           secured, authority, directory):
    """That of the client, and the authority of the brokers'."""
    paths = {name: directory / name for name in ("ca", "certificate", "key")}

    def give(issuer, **how):
        certificate, key = issuer.issue("walpost", **how)
        paths["ca"].write_text(issuer.certificate.read_text())
        paths["certificate"].write_text(certificate.read_text())
        paths["key"].write_text(key.read_text())

    give(authority)
    relay = walpost(database, secured, topics, kafka={
        "brokers": secured.mtls, "properties": {
            "security.protocol": "SSL", "ssl.ca.location": str(paths["ca"]),
            "ssl.certificate.location": str(paths["certificate"]),
            "ssl.key.location": str(paths["key"])}}).run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    renewed = Authority(directory / "renewed", name="the next one")
    try:
        secured.use_certificates(renewed)
        _bounce(secured)
        relay.wait_unready("certificate verify failed.*ssl.ca.location", 60)
        give(renewed)
        relay.wait_ready(60)
        assert _publishes(relay, database, outbox, secured, topics, 5) == 10
    finally:
        secured.use_certificates(authority)
        _bounce(secured)


@pytest.mark.long
def test_a_token(walpost, database, outbox, topics, secured, authority, endpoint):
    """For every client of Kafka that walpost has."""
    relay = walpost(database, secured, topics,
                    checkpoint={"store": "kafka", "topic": "checkpoint-" + topics},
                    kafka={"brokers": secured.oauth, "properties": _tls(
                        authority, **endpoint.properties())})
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    relay.run()
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    verified = relay.verb("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    for text in (checked.stdout, verified.stdout, relay.whole_log()):
        assert "a-secret" not in text
        for token in endpoint.given:
            assert token not in text


@pytest.mark.long
def test_a_token_is_refreshed_before_it_ends(
        walpost, database, outbox, topics, secured, authority, endpoint):
    endpoint.lifetime = 12
    relay = walpost(database, secured, topics,
                    checkpoint={"store": "kafka", "topic": "checkpoint-" + topics},
                    kafka={"brokers": secured.oauth, "properties": _tls(
                        authority, **endpoint.properties())}).run()
    before = len(endpoint.given)
    wait_until(lambda: len(endpoint.given) >= before + 2,
               "a token more for each of the two producers", 60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    assert "warn Kafka" not in relay.log(), relay.log()
    assert relay.get("/readyz")[0] == 200


@pytest.mark.long
def test_a_wrong_secret_of_the_client(walpost, database, outbox, topics, secured,
                                      authority, endpoint, directory):
    path = directory / "secret"
    path.write_text("a-secret-that-is-wrong")
    relay = walpost(database, secured, topics, kafka={
        "brokers": secured.oauth, "properties": _tls(
            authority, **endpoint.properties(secret=f"${{file:{path}}}"))})
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search("OAUTHBEARER token.*invalid_client.*check sasl.oauthbearer",
                     checked.stdout, re.DOTALL), checked.stdout
    relay.start()
    relay.wait_unready("OAUTHBEARER token.*check sasl.oauthbearer", 60)
    path.write_text(endpoint.secret)
    relay.wait_ready(60)
    assert "a-secret" not in relay.log() + checked.stdout


@pytest.mark.long
def test_the_token_endpoint_is_away(walpost, database, outbox, topics, secured,
                                    authority, endpoint):
    """At the start, and later."""
    endpoint.lifetime = 6
    endpoint.stop()
    relay = walpost(database, secured, topics, kafka={
        "brokers": secured.oauth, "properties": _tls(
            authority, **endpoint.properties())})
    relay.start()
    relay.wait_unready("OAUTHBEARER token.*check sasl.oauthbearer", 60)
    endpoint.start()
    relay.wait_ready(60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
    endpoint.stop()
    relay.wait_unready("token.*check sasl.oauthbearer", 60)
    endpoint.start()
    relay.wait_ready(60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 10


@pytest.mark.long
def test_p10_the_token_endpoint_does_not_answer(
        walpost, database, outbox, topics, secured, authority, endpoint):
    """It is asked on a thread of librdkafka's, never on the loop."""
    endpoint.is_held = True
    relay = walpost(database, secured, topics, kafka={
        "brokers": secured.oauth,
        "properties": _tls(authority, **endpoint.properties())})
    relay.start()
    wait_until(lambda: relay.get("/healthz")[0] == 200, "/healthz")
    end = time.monotonic() + 12
    while time.monotonic() < end:
        begun = time.monotonic()
        assert relay.get("/healthz")[0] == 200
        assert time.monotonic() - begun < 1
        time.sleep(0.1)
    assert relay.get("/readyz")[0] == 503
    begun = time.monotonic()
    assert relay.stop(20) == 0
    assert time.monotonic() - begun < 13
    endpoint.is_held = False
    relay.start()
    relay.wait_ready(60)
    assert _publishes(relay, database, outbox, secured, topics, 5) == 5
