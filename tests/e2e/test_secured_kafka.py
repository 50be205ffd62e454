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
@pytest.mark.sample(3)
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


def _properties(authority, protocol, **more):
    return {"security.protocol": protocol,
            "ssl.ca.location": str(authority.certificate), **more}


def _changed(kafka, **properties):
    """Without those that are None."""
    merged = kafka["properties"] | {
        name.replace("__", "."): text for name, text in properties.items()}
    return {**kafka, "properties": {
        name: text for name, text in merged.items() if text is not None}}


def _refused(secured, authority, foreign):
    """Name -> section kafka, what `check` and /readyz say, and its remedy."""
    def sasl(mechanism="PLAIN", password=_PASSWORD, of=authority):
        return _sasl(secured, of, mechanism, password)

    def tls(brokers, **more):
        return {"brokers": brokers,
                "properties": _properties(authority, "SSL", **more)}

    certificate, key = foreign.issue("walpost")
    no_certificate = "ssl.certificate.location and ssl.key.location"
    return {
        "a wrong password": (sasl("SCRAM-SHA-512", _PASSWORD + "!"),
                             "invalid credentials.*check sasl.mechanism"),
        "a mechanism that the brokers do not offer": (_changed(
            sasl("OAUTHBEARER"), sasl__username=None, sasl__password=None,
            enable__sasl__oauthbearer__unsecure__jwt="true",
            sasl__oauthbearer__config="principal=walpost"),
            "OAUTHBEARER.*check sasl.mechanism"),
        "another authority": (
            sasl(of=foreign),
            "certificate verify failed.*check security.protocol"),
        "a name that is not on the certificate": (
            {**sasl(), "brokers": secured.sasl.replace("127.0.0.1",
                                                       "localhost")},
            "check security.protocol"),
        **{f"a plain client at the TLS listener {listener}": (
            {"brokers": getattr(secured, listener)},
            "set security.protocol to SSL or SASL_SSL")
            for listener in ("sasl", "mtls")},
        "a password without TLS at a TLS listener": (
            _changed(sasl(), security__protocol="SASL_PLAINTEXT"),
            "set security.protocol to SASL_SSL"),
        "TLS without a password at a SASL listener": (
            tls(secured.sasl), "set security.protocol to SASL_SSL"),
        "TLS at a plain listener": (
            tls(secured.bootstrap),
            "set security.protocol to PLAINTEXT or SASL_PLAINTEXT"),
        "no certificate of the client": (tls(secured.mtls), no_certificate),
        "a foreign certificate of the client": (tls(secured.mtls, **{
            "ssl.certificate.location": str(certificate),
            "ssl.key.location": str(key)}), no_certificate),
        "a host that does not exist": (
            {"brokers": "kafka.invalid:9092"},
            "kafka.invalid.*check the hosts of kafka.brokers"),
    }


@pytest.mark.long
def test_what_never_connects_says_why(walpost, database, outbox, topics, secured,
                                      authority, directory):
    """`check` and /readyz, in the same words; all of them side by side."""
    # pylint: disable=unused-argument
    refused = _refused(secured, authority, Authority(
        directory / "foreign", name="somebody else"))
    relays = {name: walpost(database, secured, topics, kafka=kafka, postgres={
        "slot": f"{database.name}_{number}"})
        for number, (name, (kafka, _)) in enumerate(refused.items())}
    for name, relay in relays.items():
        words = refused[name][1]
        checked = relay.verb("check")
        assert checked.returncode == 1, name
        assert re.search(words, checked.stdout, re.DOTALL), checked.stdout
        finding, remedy = re.findall(r"ERROR +(Kafka.*)\n +-> (.*)",
                                     checked.stdout)[0]
        assert remedy not in finding
        assert re.search(words.rpartition(".*")[2], remedy), checked.stdout
        assert _PASSWORD not in checked.stdout + checked.stderr
        relay.start()
    for name, relay in relays.items():
        relay.wait_unready(refused[name][1], 60)
    time.sleep(3)
    for name, relay in relays.items():
        assert _PASSWORD not in relay.log()
        warnings = re.findall("warn Kafka: ", relay.log())
        assert len(warnings) < 8, name + relay.log()
