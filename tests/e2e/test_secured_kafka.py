"""Kafka behind TLS: with a password, and with a certificate."""

import pytest

from harness import Authority, KafkaReader, SecuredKafka

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


def _sasl(secured, authority, mechanism, password):
    return {"brokers": secured.sasl, "properties": {
        "security.protocol": "SASL_SSL", "sasl.mechanism": mechanism,
        "sasl.username": "walpost", "sasl.password": password,
        "ssl.ca.location": str(authority.certificate)}}


def _check_delivery(relay, database, outbox, secured, topics):
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    relay.run()
    for number in range(10):
        outbox.insert("order", f"order-{number}")
    database.wait_confirmed(relay.slot)
    records = KafkaReader(secured.bootstrap).read_all(topics)
    assert len(records) == 10
    verified = relay.verb("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.parametrize("mechanism",
                         ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"])
def test_a_password(walpost, database, outbox, topics, secured, authority,
                    mechanism):
    relay = walpost(database, secured, topics,
                    kafka=_sasl(secured, authority, mechanism,
                                _PASSWORD))
    _check_delivery(relay, database, outbox, secured, topics)


def test_a_certificate(walpost, database, outbox, topics, secured, authority):
    certificate, key = authority.issue("walpost")
    relay = walpost(database, secured, topics, kafka={
        "brokers": secured.mtls, "properties": {
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.certificate),
            "ssl.certificate.location": str(certificate),
            "ssl.key.location": str(key)}})
    _check_delivery(relay, database, outbox, secured, topics)
