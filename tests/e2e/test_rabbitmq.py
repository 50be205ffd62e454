"""sink: rabbitmq: where everything goes, in which order, and what is said when
it cannot."""

import json
import re
import time

import pytest

from harness import Authority, Load, wait_until
from harness.rabbitmq import Rabbitmq, declare_all, judge, sink_to


@pytest.fixture(scope="module")
def authority(module_directory):
    """Signs the certificate of the node."""
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module")
def rabbitmq(module_directory, authority):
    certificate, key = authority.issue("rabbitmq", "127.0.0.1")
    node = Rabbitmq(module_directory / "rabbitmq", settings=f"""\
ssl_options.cacertfile = {authority.certificate}
ssl_options.certfile = {certificate}
ssl_options.keyfile = {key}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
""", with_tls=True).start()
    yield node
    node.close()


@pytest.fixture
def queue(rabbitmq, topics):
    """A quorum queue that gets what is sent to the exchange of the test."""
    return declare_all(rabbitmq, topics)


@pytest.fixture
def relay_to(walpost, database, rabbitmq, topics):
    """Makes Walposts that send to the exchange of the test."""
    def make(rabbitmq_options=None, /, **sections):
        options = {"exchange": topics + "events", **(rabbitmq_options or {})}
        return walpost(database, rabbitmq, topics,
                       **{**sink_to(rabbitmq.address, **options), **sections})

    return make


def test_p1_every_field_has_its_place(relay_to, rabbitmq, outbox, queue,
                                      database, topics):
    relay_to(outbox={"tables": [{"name": "public.outbox", "columns": {
        "headers": "headers"}}]}).run()
    full = outbox.insert("order", "o-1", '{"total": 1, "n": "é"}',
                         type="OrderCreated",
                         headers='{"traceId": "t-1", "none": null}')
    empty = outbox.insert("order", None, None)
    database.wait_confirmed(database.name)
    first, second = rabbitmq.read(queue)
    assert first.exchange == topics + "events"
    assert first.routing_key == topics + "order"
    assert first.id == full
    assert first.key == b"o-1"
    assert json.loads(first.body) == {"total": 1, "n": "é"}
    assert first.properties.type == "OrderCreated"
    assert first.properties.content_type == "application/json"
    assert first.properties.delivery_mode == 2
    headers = first.headers
    assert headers["id"] == full
    assert headers["traceId"] == "t-1"
    assert re.fullmatch("[0-9A-F]{8}-[0-9A-F]{16}-[0-9A-F]{16}",
                        first.position)
    millis = database.value(
        "select floor(extract(epoch from pg_xact_commit_timestamp(xmin)) "
        "* 1000)::bigint from outbox where id = %s", (full,))
    assert headers["timestamp_in_ms"] == millis
    assert first.properties.timestamp == millis // 1000
    assert second.id == empty
    assert second.body == b""
    assert second.headers["walpost-null"] is True
    assert "walpost-key" not in second.headers
    assert second.properties.type is None


def test_p1_p3_p4_p5_order_of_each_key_under_load(relay_to, rabbitmq, outbox,
                                                  queue, dice):
    relay = relay_to().run()
    with Load(outbox, dice.seed_text) as load:
        load.wait(1500)
    checker = judge(outbox, rabbitmq, queue, relay)
    assert checker.duplicates == 0
    assert relay.stop() == 0


def test_default_exchange_and_queue_are_created(walpost, database, rabbitmq,
                                                outbox, topics):
    queue = topics + "order"
    walpost(database, rabbitmq, topics,
            **sink_to(rabbitmq.address, create={"queue": queue})).run()
    outbox.insert("order", "o-1")
    database.wait_confirmed(database.name)
    message, = rabbitmq.read(queue)
    assert (message.exchange, message.routing_key) == ("", queue)
    assert f"{queue}\tquorum\ttrue" in rabbitmq.control(
        "list_queues", "name", "type", "durable")


@pytest.mark.long
def test_exchange_queue_and_binding_are_created(relay_to, database, rabbitmq,
                                                outbox, topics):
    relay = relay_to({"create": {
        "exchange_type": "topic", "queue": topics + "made",
        "binding_key": topics + "order"}}).run()
    outbox.insert("order", "o-1")
    database.wait_confirmed(database.name)
    assert len(rabbitmq.read(topics + "made")) == 1
    assert relay.stop() == 0
    relay.run()  # they are there already


@pytest.mark.long
def test_names_from_templates(relay_to, database, rabbitmq, outbox, topics):
    prefix = topics.rstrip(".")
    rabbitmq.declare_queue(topics + "eu")
    rabbitmq.declare_exchange("x-" + prefix, bind=[
        (topics + "eu", "order.OrderPaid.k1")])
    relay_to({"exchange": "x-{topic.1}",
              "routing_key": "{topic.2-}.{type}.{key}"}).run()
    outbox.insert("order", "k1", type="OrderPaid")
    database.wait_confirmed(database.name)
    message, = rabbitmq.read(topics + "eu")
    assert message.exchange == "x-" + prefix


# ---- What cannot be delivered.


def test_p8_an_event_for_no_queue_stops_the_flow(relay_to, database, rabbitmq,
                                                 outbox, topics):
    rabbitmq.declare_queue(topics + "orders")
    rabbitmq.declare_exchange(topics + "events", bind=[
        (topics + "orders", topics + "order")])
    relay = relay_to().run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    lost = outbox.insert("invoice", "k2")
    text = relay.wait_unready("unroutable")
    assert "no queue gets the message" in text
    assert relay.stopped_at() is not None
    after = outbox.insert("order", "k1")
    # The remedy: a queue for it.
    rabbitmq.declare_exchange(topics + "events", bind=[
        (topics + "orders", topics + "invoice")])
    relay.stop()
    relay.run()
    database.wait_confirmed(database.name)
    ids = [message.id for message in rabbitmq.read(topics + "orders")]
    assert ids.index(lost) < ids.index(after)


def test_p3_p8_events_for_no_queue_are_set_aside(relay_to, database, rabbitmq,
                                                 outbox, topics):
    """Dead letters have their own queue; later events of the key follow."""
    rabbitmq.declare_queue(topics + "orders")
    rabbitmq.declare_queue(topics + "dead")
    rabbitmq.declare_exchange(topics + "events", bind=[
        (topics + "orders", topics + "order"),
        (topics + "dead", topics + "dead-letter")])
    relay = relay_to(on_error={"unroutable": "dead_letter"},
                     dead_letter={"topic": topics + "dead-letter"}).run()
    sent, dead = [], []
    with database.transaction() as cursor:
        for number in range(300):
            kind = "invoice" if number % 30 == 29 else "order"
            (dead if kind == "invoice" else sent).append(
                outbox.insert(kind, f"k{number % 7}", cursor=cursor,
                              sequence=number))
    database.wait_confirmed(database.name, seconds=90)
    found = [message.id for message in rabbitmq.read(topics + "orders")]
    assert set(found) == set(sent)
    letters = rabbitmq.read(topics + "dead")
    assert {letter.id for letter in letters} >= set(dead)
    assert relay.metric(
        'walpost_dead_letters_total{class="unroutable"}') == len(dead)
    assert relay.stop() == 0


def test_p3_p8_events_for_no_queue_are_parked_with_their_key(
        relay_to, database, rabbitmq, outbox, queue, topics):
    rabbitmq.declare_queue(topics + "orders")
    rabbitmq.declare_exchange(topics + "some", bind=[
        (topics + "orders", topics + "order")])
    relay = relay_to({"exchange": topics + "some"},
                     on_error={"unroutable": "park"}).run()
    outbox.insert("order", "k1")
    outbox.insert("invoice", "k2")
    outbox.insert("order", "k3")
    database.wait_confirmed(database.name, seconds=60)
    assert len(rabbitmq.read(topics + "orders")) == 2
    assert "unroutable" in relay.verb("parked", "list").stdout
    assert relay.stop() == 0


@pytest.mark.long
def test_p8_what_amqp_cannot_take_is_told(relay_to, database, rabbitmq, outbox,
                                          queue):
    relay = relay_to({"max_message_bytes": 1000},
                     on_error={"record_too_large": "skip",
                               "record_refused": "skip"},
                     outbox={"tables": [{"name": "public.outbox", "columns": {
                         "headers": "headers"}}]}).run()
    outbox.insert("order", "k1", json.dumps("x" * 2000))
    outbox.insert("order", "k1", headers='{"CC": "elsewhere"}')
    last = outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    assert [message.id for message in rabbitmq.read(queue)] == [last]
    for name in ("record_too_large", "record_refused"):
        assert relay.metric(
            f'walpost_skipped_events_total{{class="{name}"}}') == 1


@pytest.mark.long
def test_p8_a_message_that_the_server_finds_too_large(
        relay_to, database, rabbitmq, outbox, queue):
    """Its own limit, which it does not tell, closes the channel."""
    rabbitmq.control("eval", "persistent_term:put(max_message_size, 5000), "
                     "application:set_env(rabbit, max_message_size, 5000).")
    try:
        relay = relay_to(on_error={"record_too_large": "skip"}).run()
        events = [outbox.insert("order", f"k{number}", json.dumps("x" * size))
                  for number, size in enumerate((10, 9000, 20))]
        database.wait_confirmed(database.name, seconds=60)
    finally:
        rabbitmq.control("eval", "persistent_term:put(max_message_size, "
                         "134217728), application:set_env(rabbit, "
                         "max_message_size, 134217728).")
    assert {message.id for message in rabbitmq.read(queue)} == {
        events[0], events[2]}
    assert relay.stop() == 0


# ---- What an operator has to do.


def _findings(relay):
    said = relay.verb("check", "--json")
    found = [json.loads(line) for line in said.stdout.splitlines()]
    return {finding["id"]: finding for finding in found}


def test_check_finds_what_is_missing_and_its_remedies_work(
        relay_to, rabbitmq, outbox, topics):
    user, vhost = topics + "user", topics + "shop"
    relay = relay_to({"user": user, "password": "s3cret", "vhost": vhost})
    found = _findings(relay)["credentials_rejected"]
    assert found["severity"] == "error" and "rabbitmq.password" in found[
        "remedy"]
    rabbitmq.control("add_user", user, "s3cret")
    found = _findings(relay)["rabbitmq_refuses"]
    rabbitmq.paste(found["remedy"].partition("create it: ")[2])
    found = _findings(relay)["rabbitmq_refuses"]
    rabbitmq.paste(found["remedy"].partition("right: ")[2])
    found = _findings(relay)["exchange_missing"]
    assert found["severity"] == "error"
    assert "declare exchange" in found["remedy"]
    rabbitmq.control("set_permissions", "-p", vhost, "guest", ".*", ".*", ".*")
    rabbitmq.declare_exchange(topics + "events", vhost=vhost)
    found = _findings(relay)
    assert found["exchange_ok"]["severity"] == "ok"
    assert found["cluster_name_not_set"]["severity"] == "note"
    assert "list_bindings" in found["bindings_unknown"]["remedy"]
    rabbitmq.paste(found["bindings_unknown"]["remedy"])
    assert outbox is not None


@pytest.mark.long
def test_check_knows_queues_without_a_quorum(walpost, database, rabbitmq,
                                             outbox, topics):
    def check(queue):
        relay = walpost(database, rabbitmq, topics,
                        **sink_to(rabbitmq.address), route={"topic": queue})
        return _findings(relay)

    rabbitmq.declare_classic_queue(topics + "classic")
    found = check(topics + "classic")
    assert found["queue_without_quorum"]["severity"] == "warning"
    rabbitmq.declare_queue(topics + "quorum")
    assert check(topics + "quorum")["queue_ok"]["severity"] == "ok"
    assert check(topics + "none")["queue_missing"]["severity"] == "error"
    assert outbox is not None


@pytest.mark.long
def test_check_says_that_no_node_is_there(walpost, database, rabbitmq, outbox,
                                          topics):
    relay = walpost(database, rabbitmq, topics, **sink_to("127.0.0.1:1"))
    assert _findings(relay)["rabbitmq_unavailable"]["severity"] == "error"
    assert relay.verb("check").returncode == 1
    assert outbox is not None


@pytest.mark.long
def test_verify_says_why_it_cannot(relay_to, outbox, queue):
    said = relay_to().verb("verify")
    assert said.returncode != 0
    assert "to take its messages from its consumers" in said.stderr
    assert outbox is not None and queue


@pytest.mark.parametrize("section, words", [
    ({"delivery": {"guarantee": "exactly_once"}}, "at_least_once"),
    ({"checkpoint": {"store": "kafka"}}, "store: postgres"),
    ({"kafka": {"brokers": "127.0.0.1:9092"}}, "sink: kafka"),
])
@pytest.mark.long
def test_what_only_kafka_has_is_refused(relay_to, outbox, section, words):
    said = relay_to(**section).verb("check", "--offline")
    assert said.returncode != 0
    assert words in said.stdout + said.stderr
    assert outbox is not None


def test_p1_a_right_that_is_missing_is_named_and_waited_for(
        relay_to, database, rabbitmq, outbox, queue, topics):
    user = topics + "reader"
    rabbitmq.control("add_user", user, "s3cret")
    rabbitmq.control("set_permissions", user, "", "", ".*")
    relay = relay_to({"user": user, "password": "s3cret"}).run()
    outbox.insert("order", "k1")
    text = relay.wait_unready("access to exchange", 60)
    rabbitmq.paste(re.search(r"rabbitmqctl set_permissions [^\n;]*", text)[0])
    database.wait_confirmed(database.name, seconds=60)
    assert len(rabbitmq.read(queue)) == 1
    assert relay.stop() == 0


def test_p1_p10_a_wrong_password_is_named_and_read_again(
        relay_to, database, rabbitmq, outbox, queue, topics, directory):
    user = topics + "writer"
    rabbitmq.control("add_user", user, "new")
    rabbitmq.control("set_permissions", user, ".*", ".*", ".*")
    secret = directory / "password"
    secret.write_text("new")
    relay = relay_to({"user": user, "password": f"${{file:{secret}}}"}).run()
    assert relay.stop() == 0
    secret.write_text("old")
    relay.start()
    outbox.insert("order", "k1")
    text = relay.wait_unready("Login was refused", 60)
    assert "rabbitmq.password" in text
    secret.write_text("new")
    relay.wait_ready(60)
    database.wait_confirmed(database.name)
    assert len(rabbitmq.read(queue)) == 1
    # The password changes while it is connected.
    rabbitmq.control("change_password", user, "newer")
    secret.write_text("newer")
    rabbitmq.control("close_all_user_connections", user, "by hand")
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name, seconds=60)
    assert len(rabbitmq.read(queue)) == 1
    assert "newer" not in relay.whole_log()
    assert relay.stop() == 0


def test_p1_tls_verifies_the_server(walpost, database, rabbitmq, authority,
                                    directory, outbox, topics):
    queue = topics + "order"
    rabbitmq.declare_queue(queue)

    def relay(authority_file, host="127.0.0.1"):
        return walpost(database, rabbitmq, topics, **sink_to(
            f"{host}:{rabbitmq.tls_port}", tls={
                "enabled": True, "ca_file": str(authority_file)}))

    outbox.insert("order", "k1")
    good = relay(authority.certificate).run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    assert good.stop() == 0
    assert len(rabbitmq.read(queue)) >= 1
    other = Authority(directory / "other")
    bad = relay(other.certificate).start()
    bad.wait_unready("rabbitmq.tls.ca_file", 60)
    bad.close()
    relay(authority.certificate, "localhost").start().wait_unready(
        "certificate is not accepted", 60)


def test_p9_another_cluster_gets_nothing(relay_to, database, rabbitmq, outbox,
                                         queue, directory):
    rabbitmq.control("set_cluster_name", "shop")
    try:
        relay = relay_to(checkpoint={
            "store": "file", "path": str(directory / "checkpoint")}).run()
        outbox.insert("order", "k1")
        database.wait_confirmed(database.name)
        wait_until(lambda: any(directory.glob("checkpoint*")), "a checkpoint")
        relay.stop()
        rabbitmq.control("set_cluster_name", "another")
        relay.start()
        outbox.insert("order", "k1")
        relay.wait_unready("another", 60)
        time.sleep(1)
        assert rabbitmq.count(queue) == 1
    finally:
        rabbitmq.control("set_cluster_name", rabbitmq.name)
