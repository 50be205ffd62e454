"""Nothing of a secret or a payload is in any log, at any level."""

import secrets

import pytest

from harness import (Authority, SecuredKafka, SecuredPostgres, wait_until)

_POSTGRES = "planted-" + secrets.token_hex(8)
_KAFKA = "planted-" + secrets.token_hex(8)
_PAYLOAD = "planted-" + secrets.token_hex(8)


@pytest.fixture(scope="module")
def authority(module_directory):
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module")
def postgres(module_directory, authority):
    server = SecuredPostgres(module_directory / "postgres", authority,
                             _POSTGRES).start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def secured(module_directory, authority):
    broker = SecuredKafka(module_directory / "kafka", authority, _KAFKA).start()
    yield broker
    broker.close()


@pytest.fixture
def planted(walpost, database, outbox, topics, postgres, secured, authority,
            directory):
    """Makes walposts that log all they can, and looks at all they said."""
    database.execute("alter role walpost superuser")
    database.execute("alter table outbox add created_at timestamptz default "
                     "now(), add published_at timestamptz, add place bigserial")
    database.execute("create index on outbox (place) where published_at is null")
    path = directory / "password"
    path.write_text(_POSTGRES)
    outbox.payload = '"%s"' % _PAYLOAD
    said = []
    made = []

    def make(postgres_password=f"${{file:{path}}}", kafka_password=_KAFKA,
             **sections):
        relay = walpost(
            database, secured, topics, log={"level": "debug"},
            postgres={"conninfo": postgres.tls(
                database, sslrootcert=authority.certificate,
                password=postgres_password)},
            kafka={"brokers": secured.sasl, "properties": {
                "security.protocol": "SASL_SSL", "debug": "all",
                "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "walpost",
                "sasl.password": kafka_password,
                "ssl.ca.location": str(authority.certificate)}}, **sections)
        made.append(relay)
        return relay

    make.said = said
    yield make
    for relay in made:
        if relay.running():
            said.extend(relay.get(page)[1]
                        for page in ("/readyz", "/status", "/metrics", "/",
                                     "/config"))
            relay.stop()
        said.append(relay.whole_log())
    assert any("debug librdkafka" in text for text in said)
    for text in said:
        lines = [line for line in text.splitlines() if "planted-" in line]
        assert lines == []


def _call(make, relay, *words):
    ran = relay.verb(*words)
    make.said.extend((ran.stdout, ran.stderr))
    return ran


def test_while_all_goes_well(planted, database, outbox):
    relay = planted(checkpoint={"store": "postgres"},
                    retention={"keep": "1s", "interval": "1s"},
                    replay={"window": "64KiB"}).run()

    def deleted():
        outbox.insert("order", "order-1", payload=outbox.payload)
        return outbox.deleted()

    # A row of the first second may have no proof that it was sent: it stays.
    wait_until(deleted, "old rows to be deleted")
    outbox.insert("order", "order-11", payload=outbox.payload)
    database.wait_confirmed(relay.slot)
    for words in (["check"], ["verify"], ["status"],
                  ["run", "--print-config"]):
        _call(planted, relay, *words)


def test_wrong_passwords(planted):
    relay = planted(postgres_password=_POSTGRES + "!")
    _call(planted, relay, "check")
    _call(planted, relay, "verify")
    relay.start()
    relay.wait_exit()
    relay = planted(kafka_password=_KAFKA + "!")
    _call(planted, relay, "check")
    relay.start()
    relay.wait_unready("invalid credentials")


@pytest.mark.parametrize("wrong", [
    {"headers": "[1]"}, {"type": "x", "headers": '"planted-in-headers"'}])
@pytest.mark.long
def test_an_event_that_cannot_be_delivered(planted, database, outbox, wrong):
    relay = planted().run()
    outbox.insert("order", "order-1", payload=outbox.payload, **wrong)
    relay.wait_unready("cannot be delivered")


@pytest.mark.long
def test_a_record_that_is_too_large(planted, outbox):
    relay = planted().run()
    outbox.insert("order", "order-1",
                  payload='"%s"' % (_PAYLOAD + "x" * 2_000_000))
    relay.wait_unready("cannot be delivered|too large")


@pytest.mark.long
def test_a_row_that_cannot_be_marked(planted, database, outbox):
    """Postgres quotes the whole row in the detail of its error."""
    database.execute("alter table outbox add check (published_at is null)")
    relay = planted(source="polling", outbox={"tables": [
        {"name": "public.outbox", "order_by": "place",
         "state": {"published_at": "published_at"}}]})
    relay.start()
    wait_until(lambda: "walpost 0" in relay.log(), "a start")
    outbox.insert("order", "order-1", payload=outbox.payload)
    relay.wait_log("violates check constraint")
