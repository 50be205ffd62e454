"""Kafka behind TLS: with a password, and with a certificate."""

import re
import time

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


def _never_connects(relay, words):
    """`check` and /readyz say why, in the same words."""
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(words, checked.stdout, re.DOTALL), checked.stdout
    finding, remedy = re.findall(r"ERROR +(Kafka.*)\n +-> (.*)", checked.stdout)[0]
    assert remedy not in finding
    assert re.search(words.rpartition(".*")[2], remedy), checked.stdout
    assert _PASSWORD not in checked.stdout + checked.stderr
    relay.start()
    relay.wait_unready(words, 30)
    time.sleep(3)
    log = relay.log()
    assert _PASSWORD not in log
    assert len(re.findall("warning Kafka: ", log)) < 4, log


def test_a_wrong_password(walpost, database, outbox, topics, secured, authority):
    _never_connects(
        walpost(database, secured, topics, kafka=_sasl(
            secured, authority, "SCRAM-SHA-512", _PASSWORD + "!")),
        "invalid credentials.*check sasl.mechanism")


def test_a_mechanism_that_the_brokers_do_not_offer(
        walpost, database, outbox, topics, secured, authority):
    kafka = _sasl(secured, authority, "OAUTHBEARER", _PASSWORD)
    kafka["properties"].pop("sasl.username")
    kafka["properties"].pop("sasl.password")
    kafka["properties"]["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
    kafka["properties"]["sasl.oauthbearer.config"] = "principal=walpost"
    _never_connects(walpost(database, secured, topics, kafka=kafka),
                    "OAUTHBEARER.*check sasl.mechanism")


def test_another_authority(walpost, database, outbox, topics, secured, directory):
    foreign = Authority(directory / "foreign", name="somebody else")
    _never_connects(
        walpost(database, secured, topics, kafka=_sasl(
            secured, foreign, "PLAIN", _PASSWORD)),
        "certificate verify failed.*check security.protocol")


def test_a_name_that_is_not_on_the_certificate(
        walpost, database, outbox, topics, secured, authority):
    kafka = _sasl(secured, authority, "PLAIN", _PASSWORD)
    kafka["brokers"] = kafka["brokers"].replace("127.0.0.1", "localhost")
    _never_connects(walpost(database, secured, topics, kafka=kafka),
                    "check security.protocol")


def _properties(authority, protocol, **more):
    return {"security.protocol": protocol,
            "ssl.ca.location": str(authority.certificate), **more}


@pytest.mark.parametrize("listener", ["sasl", "mtls"])
def test_a_plain_client_at_a_tls_listener(walpost, database, outbox, topics,
                                          secured, listener):
    _never_connects(
        walpost(database, secured, topics,
                kafka={"brokers": getattr(secured, listener)}),
        "set security.protocol to SSL or SASL_SSL")


def test_a_password_without_tls_at_a_tls_listener(
        walpost, database, outbox, topics, secured, authority):
    kafka = _sasl(secured, authority, "PLAIN", _PASSWORD)
    kafka["properties"]["security.protocol"] = "SASL_PLAINTEXT"
    _never_connects(walpost(database, secured, topics, kafka=kafka),
                    "set security.protocol to SASL_SSL")


def test_tls_without_a_password_at_a_sasl_listener(
        walpost, database, outbox, topics, secured, authority):
    _never_connects(
        walpost(database, secured, topics, kafka={
            "brokers": secured.sasl,
            "properties": _properties(authority, "SSL")}),
        "set security.protocol to SASL_SSL")


def test_tls_at_a_plain_listener(walpost, database, outbox, topics, secured,
                                 authority):
    _never_connects(
        walpost(database, secured, topics, kafka={
            "brokers": secured.bootstrap,
            "properties": _properties(authority, "SSL")}),
        "set security.protocol to PLAINTEXT or SASL_PLAINTEXT")


@pytest.mark.parametrize("certificate", ["missing", "foreign"])
def test_a_certificate_that_the_brokers_do_not_accept(
        walpost, database, outbox, topics, secured, authority, directory,
        certificate):
    properties = _properties(authority, "SSL")
    if certificate == "foreign":
        files = Authority(directory / "foreign", name="other").issue("walpost")
        properties["ssl.certificate.location"] = str(files[0])
        properties["ssl.key.location"] = str(files[1])
    _never_connects(
        walpost(database, secured, topics, kafka={
            "brokers": secured.mtls, "properties": properties}),
        "ssl.certificate.location and ssl.key.location")


def test_a_host_that_does_not_exist(walpost, database, outbox, topics, secured):
    _never_connects(
        walpost(database, secured, topics,
                kafka={"brokers": "kafka.invalid:9092"}),
        "kafka.invalid.*check the hosts of kafka.brokers")
