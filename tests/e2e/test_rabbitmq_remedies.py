"""sink: rabbitmq: what walpost tells an operator to do works when it is done."""

import json
import re

import pytest

from harness import Authority
from harness.rabbitmq import Rabbitmq, declare_all, sink_to


@pytest.fixture(scope="module")
def rabbitmq(module_directory):
    authority = Authority(module_directory / "authority")
    certificate, key = authority.issue("rabbitmq", "127.0.0.1")
    node = Rabbitmq(module_directory / "rabbitmq", settings=f"""\
ssl_options.cacertfile = {authority.certificate}
ssl_options.certfile = {certificate}
ssl_options.keyfile = {key}
""", with_tls=True).start()
    yield node
    node.close()


@pytest.fixture
def queue(rabbitmq, topics):
    return declare_all(rabbitmq, topics)


@pytest.fixture
def relay_to(walpost, database, rabbitmq, topics):
    def make(rabbitmq_options=None, /, **sections):
        options = {"exchange": topics + "events", **(rabbitmq_options or {})}
        return walpost(database, rabbitmq, topics,
                       **{**sink_to(rabbitmq.address, **options), **sections})

    return make


def _finding(relay, name):
    lines = relay.verb("check", "--json").stdout.splitlines()
    return next((found for found in map(json.loads, lines)
                 if found["id"] == name), None)


def test_p9_a_cluster_that_gets_its_name_late_is_accepted(
        relay_to, database, rabbitmq, outbox, queue):
    """As the note of check says it; the name may have a space."""
    relay = relay_to().run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    note = _finding(relay, "cluster_name_not_set")
    assert re.search("walpost recover -c .* --accept", note["remedy"]), note
    rabbitmq.control("set_cluster_name", "my shop")
    try:
        relay.stop()
        relay.start()
        outbox.insert("order", "k1")
        text = relay.wait_unready("recover -c .* --accept", 60)
        assert "rabbitmq.nodes" in text and "kafka.brokers" not in text
        assert rabbitmq.count(queue) == 1
        relay.stop()
        accepted = relay.verb("recover", "--accept")
        assert accepted.returncode == 0, accepted.stderr
        # verify cannot read a queue.
        assert "verify" not in accepted.stdout, accepted.stdout
        assert "--from-table --since TIME" in accepted.stdout
        for _ in range(2):  # and the name stays accepted
            relay.run()
            assert relay.stop() == 0
        relay.run()
        database.wait_confirmed(database.name)
        assert len(rabbitmq.read(queue)) == 2
        assert _finding(relay, "cluster_name_not_set") is None
        assert relay.stop() == 0
    finally:
        rabbitmq.control("set_cluster_name", rabbitmq.name)


def test_p9_rows_of_a_time_are_published_again(relay_to, database, rabbitmq,
                                               outbox, queue):
    """What the text after recover --accept names, and what a gap names."""
    database.execute("alter table outbox add column created_at timestamptz "
                     "default now()")
    relay = relay_to().run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    relay.stop()
    replayed = relay.verb("replay", "--from-table", "--since", "1h",
                          "--order-by", "sequence")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert rabbitmq.count(queue) == 2
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    relay.start()
    text = relay.wait_unready("slot_missing", 60)
    assert "--since TIME" in text, text
    assert "--dry-run" not in text, text
    relay.stop()
    recovered = relay.verb("recover", "--since", "1h", "--order-by",
                           "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    assert rabbitmq.count(queue) == 3
    relay.run()
    assert relay.stop() == 0


@pytest.mark.long
def test_p8_an_event_that_is_too_large_has_the_remedy_of_rabbitmq(
        relay_to, database, outbox, queue):
    relay = relay_to({"max_message_bytes": 1000},
                     on_error={"record_too_large": "skip"}).run()
    outbox.insert("order", "k1", json.dumps("x" * 2000))
    database.wait_confirmed(database.name)
    log = relay.whole_log()
    assert "rabbitmq.max_message_bytes (1000): raise it" in log, log
    assert "kafka.properties" not in log
    assert relay.stop() == 0
    assert queue


def test_a_tls_port_without_tls_is_named(walpost, database, rabbitmq, outbox,
                                         topics):
    relay = walpost(database, rabbitmq, topics,
                    **sink_to(f"127.0.0.1:{rabbitmq.tls_port}"))
    found = _finding(relay, "rabbitmq_unavailable")
    assert "is it a TLS port? (rabbitmq.tls.enabled)" in found["cause"], found
    assert "rabbitmq.tls.enabled: true" in found["remedy"], found
    assert outbox is not None


@pytest.mark.long
def test_a_misspelt_type_of_exchange_is_found_offline(relay_to, outbox):
    said = relay_to({"create": {"exchange_type": "topci"}}).verb(
        "check", "--offline")
    assert said.returncode == 2
    assert "'topci' is not a type of exchange" in said.stderr, said
    assert outbox is not None
