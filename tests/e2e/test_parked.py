"""Parked events: an event that cannot be delivered waits for an operator, and
the later events of its key wait behind it (P3, P8)."""

import json
import secrets

import pytest

from harness import KafkaReader, wait_until

_WIDE = json.dumps(secrets.token_hex(5000))
_LIMIT = 5000
_BAD = '["no object"]'  # for the headers


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """Parks what cannot be delivered."""
    assert outbox  # the table
    database.execute("alter table outbox alter aggregate_type drop not null")
    kafka.create_topic(topics + "order", 4)
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    return walpost(database, kafka, topics, on_error={
        "headers_unreadable": "park", "record_too_large": "park",
        "topic_field_missing": "park"}).run()


def _parked(relay, *words):
    said = relay.verb("parked", "list", "--json", *words)
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def _values(kafka, topics, topic="order"):
    return [int(record.value) for record in
            KafkaReader(kafka.bootstrap).read(topics + topic)]


def _wait_values(kafka, topics, values, topic="order", seconds=30):
    wait_until(lambda: sorted(_values(kafka, topics, topic)) == sorted(values),
               lambda: f"{values} in {topic}; it has "
                       f"{_values(kafka, topics, topic)}", seconds)


def _of_key(kafka, topics, key, topic="order"):
    return [int(record.value) for record in
            KafkaReader(kafka.bootstrap).read(topics + topic)
            if record.key == key.encode()]


def _decide(relay, action, *words):
    return relay.verb("parked", action, "--why", "a test", "--by", "alice",
                      *words)


def _findings(relay):
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)
    return said.returncode, {name: found["count"] for name, found
                             in report["findings"].items() if found["count"]}


def _wait_free(relay):
    wait_until(lambda: relay.metric("walpost_parked_keys") == 0,
               lambda: f"no parked key\n{relay.log()}")


def test_p3_later_events_of_the_key_wait_and_others_go_on(
        relay, database, kafka, outbox, topics):
    outbox.insert("order", "k1", "1")
    dead = outbox.insert("order", "k1", "2", headers=_BAD)
    outbox.insert("order", "k1", "3")
    outbox.insert("order", "k2", "4")
    outbox.insert("order", "k1", "5")
    database.wait_confirmed(database.name)
    assert sorted(_values(kafka, topics)) == [1, 4]
    listed = _parked(relay)
    assert [entry["id"] for entry in listed] == [dead]
    assert listed[0]["class"] == "headers_unreadable"
    assert listed[0]["waiting_behind"] == 2 and listed[0]["key"] == "k1"
    assert len(_parked(relay, "--all")) == 3
    shown = relay.verb("parked", "show", "--id", dead)
    assert "no object" in shown.stdout and "\n2\n" in shown.stdout
    said = _decide(relay, "discard", "--key", "k1")
    assert said.returncode == 0 and "1 discarded" in said.stdout, said.stderr
    _wait_values(kafka, topics, [1, 3, 4, 5])
    _wait_free(relay)
    outbox.insert("order", "k1", "6")
    _wait_values(kafka, topics, [1, 3, 4, 5, 6])
    assert _of_key(kafka, topics, "k1") == [1, 3, 5, 6]
    settled = _parked(relay, "--all")
    assert [entry["state"] for entry in settled] == ["discarded"]
    assert settled[0]["decided_by"] == "alice"


def test_p3_a_released_event_comes_before_what_waits_behind_it(
        relay, database, kafka, outbox, topics):
    wide = outbox.insert("narrow", "k", _WIDE)
    for n in range(1, 20):
        outbox.insert("narrow", "k", str(n))
    database.wait_confirmed(database.name)
    assert _values(kafka, topics, "narrow") == []
    # The cause is not fixed: it is dead again, and nothing moves.
    said = _decide(relay, "release", "--key", "k")
    assert said.returncode == 1 and "1 dead again" in said.stdout, said.stderr
    assert _values(kafka, topics, "narrow") == []
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", "100000")
    said = _decide(relay, "release", "--all")
    assert said.returncode == 0 and "1 sent" in said.stdout, said.stderr
    _wait_free(relay)
    outbox.insert("narrow", "k", "20")
    database.wait_confirmed(database.name)
    found = KafkaReader(kafka.bootstrap).read(topics + "narrow")
    assert found[0].id == wide
    assert [int(record.value) for record in found[1:]] == list(range(1, 21))
    for record in found[:-1]:
        assert record.header("walpost-released") and not record._has(
            "walpost-position")
    assert _decide(relay, "release", "--all").returncode == 1, "none is dead"


@pytest.mark.long
def test_a_restart_knows_which_keys_are_parked(
        relay, database, kafka, outbox, topics):
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.kill()
    outbox.insert("order", "k1", "2")
    outbox.insert("order", "k2", "3")
    relay.run()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [3]
    relay.stop()
    # The decision of a time when no walpost runs.
    said = _decide(relay, "discard", "--all")
    assert said.returncode == 0, said.stderr
    relay.run()
    _wait_values(kafka, topics, [2, 3])
    _wait_free(relay)


@pytest.mark.long
def test_p8_a_key_that_was_parked_before_a_restart_makes_room(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, parking={"max_keys": 1},
                    on_error={"headers_unreadable": "park"}).run()
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.run()
    outbox.insert("order", "k2", "1", headers=_BAD)
    relay.wait_unready("1 keys are parked")
    assert _decide(relay, "discard", "--key", "k1").returncode == 0
    database.wait_confirmed(database.name)


@pytest.mark.long
def test_p8_a_missing_topic_holds_up_no_other_release(
        walpost, database, strict_kafka, outbox, topics):
    for topic in ("gone", "order"):
        strict_kafka.create_topic(topics + topic, 1)
    relay = walpost(database, strict_kafka, topics,
                    on_error={"headers_unreadable": "park"}).run()
    for topic, key in (("gone", "g"), ("order", "k")):
        outbox.insert(topic, key, "1", headers=_BAD)
        outbox.insert(topic, key, "2")
    database.wait_confirmed(database.name)
    strict_kafka.delete_topic(topics + "gone")
    assert _decide(relay, "discard", "--all").returncode == 0
    _wait_values(strict_kafka, topics, [2], seconds=60)
    wait_until(lambda: [entry["key"] for entry in _parked(relay)] == ["g"],
               lambda: f"g to be dead again\n{relay.log()}", 60)


@pytest.mark.parametrize("action", ["skip", "dead_letter"])
@pytest.mark.sample(2)
def test_p11_what_is_released_is_sent_or_dead(
        relay, database, outbox, action):
    """Whatever on_error says by now."""
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config,
                     "on_error": {"headers_unreadable": action}})
    relay.run()
    said = _decide(relay, "release", "--all")
    assert said.returncode == 1 and "1 dead again" in said.stdout, said.stdout


@pytest.mark.long
def test_10_000_dead_events_are_decided_about_at_once(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, parking={"max_keys": 20_000},
                    on_error={"headers_unreadable": "park"}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, headers) select "
        "'order', 'k' || n, '[]' from generate_series(1, 10000) n")
    database.wait_confirmed(database.name)
    said = _decide(relay, "discard", "--all")
    assert said.returncode == 0 and "10000 discarded" in said.stdout, said
    _wait_free(relay)
    assert relay.peak_memory_bytes() < 64 << 20


def test_p9_a_table_that_is_gone_is_not_made_again(
        relay, database, kafka, outbox, topics):
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    database.execute("alter table walpost_parked rename to hidden")
    outbox.insert("order", "k1", "2")
    relay.wait_unready("is missing, and existed before")
    database.execute("alter table hidden rename to walpost_parked")
    database.wait_confirmed(database.name)
    assert _decide(relay, "discard", "--all").returncode == 0
    _wait_values(kafka, topics, [2])


@pytest.mark.long
def test_p3_tables_that_may_share_a_topic_share_their_keys(
        walpost, database, kafka, outbox, topics):
    database.execute("create table outbox2 (like outbox including all)")
    relay = walpost(
        database, kafka, topics, on_error={"headers_unreadable": "park"},
        outbox={"tables": [
            {"name": "public.outbox"},
            {"name": "public.outbox2",
             "topic": topics + "x.{aggregate_type}"}]}).run()
    outbox.insert("x.a", "k1", "1", headers=_BAD)
    database.execute("insert into outbox2 (aggregate_type, aggregate_id, "
                     "payload) values ('a', 'k1', '2')")
    database.wait_confirmed(database.name)
    assert len(_parked(relay, "--all")) == 2


@pytest.mark.long
def test_keys_stay_parked_although_nothing_is_parked_any_more(
        relay, database, kafka, outbox, topics):
    """on_error was changed while walpost was down."""
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "on_error": {}})
    outbox.insert("order", "k1", "2")
    outbox.insert("order", "k2", "3")
    relay.run()
    relay.wait_log("of an earlier configuration")
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [3]
    assert _decide(relay, "discard", "--all").returncode == 0
    _wait_values(kafka, topics, [2, 3])


@pytest.mark.long
def test_it_says_how_it_is_doing(relay, database, outbox):
    outbox.insert("order", "k1", "1", headers=_BAD)
    outbox.insert("order", "k1", "2")
    database.wait_confirmed(database.name)
    wait_until(lambda: relay.metric("walpost_parked_events") == 2, "2 events")
    relay.wait_log(" warn degraded: 1 keys are parked: [12] events")
    assert relay.get("/readyz")[0] == 200
    assert relay.metric("walpost_parked_keys") == 1
    assert ('walpost_parked_events_total{class="headers_unreadable"} 1\n'
            in relay.get("/metrics")[1])
    assert relay.metric("walpost_events_parked_behind_total") == 1
    said = relay.verb("status").stdout
    assert "degraded" in said and "1 keys with 2 events" in said, said
    _decide(relay, "discard", "--all")
    relay.wait_log("degraded.*\n(.*\n)*.* info streaming\n")
    assert relay.get("/readyz") == (200, "streaming\n")


@pytest.mark.long
def test_p8_the_flow_stops_before_an_event_without_a_key(
        relay, database, outbox):
    outbox.insert("order", None, "1", headers=_BAD)
    text = relay.wait_unready("cannot be parked")
    assert "aggregate_id" in text
    event = json.loads(relay.get("/status")[1])["stopped_position"]
    said = relay.verb("skip", event, "--why", "a test")
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)


@pytest.mark.long
def test_p8_the_flow_stops_before_one_key_too_many(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, parking={"max_keys": 2},
                    on_error={"headers_unreadable": "park"}).run()
    for key in ("k1", "k2"):
        outbox.insert("order", key, "1", headers=_BAD)
    database.wait_confirmed(database.name)
    outbox.insert("order", "k3", "1", headers=_BAD)
    assert "parking.max_keys" in relay.wait_unready("2 keys are parked")
    # Room for it is made while it stands there.
    assert _decide(relay, "discard", "--key", "k1").returncode == 0
    database.wait_confirmed(database.name)
    assert {entry["key"] for entry in _parked(relay)} == {"k2", "k3"}


@pytest.mark.long
def test_values_that_are_no_text_survive(walpost, database, kafka, topics):
    """Keys, payloads and headers of any bytes, in a database of any kind."""
    database.execute(
        "create table outbox (id uuid primary key default gen_random_uuid(), "
        "aggregate_type text, aggregate_id bytea, payload bytea, headers text)")
    kafka.create_topic(topics + "order", 1)
    relay = walpost(database, kafka, topics,
                    on_error={"headers_unreadable": "park"}).run()
    key = bytes(range(1, 255))
    payload = bytes(range(256)) * 10
    for value, headers in ((b"1", "x"), (payload, None)):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "headers) values ('order', %s, %s, %s)", (key, value, headers))
    database.wait_confirmed(database.name)
    assert _decide(relay, "discard", "--all").returncode == 0
    wait_until(lambda: KafkaReader(kafka.bootstrap).size(topics + "order"),
               "the record")
    found = KafkaReader(kafka.bootstrap).read(topics + "order")
    assert [(record.key, record.value) for record in found] == [(key, payload)]


@pytest.mark.long
def test_a_role_without_rights_is_told_what_to_run(
        walpost, database, kafka, outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics).run()
    relay.stop()
    role = database.name + "_role"
    database.execute(f"create role {role} login replication")
    database.execute("revoke create on schema public from public")
    database.execute(f"grant select on outbox to {role}")
    try:
        relay.configure({**relay.config, "on_error": {
            "headers_unreadable": "park"}, "postgres": {
                **relay.config["postgres"],
                "conninfo": database.conninfo(user=role)}})
        said = relay.verb("check")
        assert "may not make it" in said.stdout, said.stdout
        relay.start()
        assert relay.wait_exit() == 3
        remedy = relay.log().split("(sql/parked.sql): ")[1].splitlines()[0]
        database.execute(remedy)
        assert "walpost_parked can be written" in relay.verb("check").stdout
        relay.run()
        outbox.insert("order", "k1", "1", headers=_BAD)
        database.wait_confirmed(database.name)
        assert len(_parked(relay)) == 1
        relay.stop()
    finally:
        relay.close()
        database.execute(f"drop owned by {role}; drop role {role}")


@pytest.mark.long
def test_p11_what_is_parked_is_never_clean(relay, database, kafka, outbox,
                                            topics):
    outbox.insert("order", "k1", "1", headers=_BAD)
    outbox.insert("order", "k1", "2")
    outbox.insert("order", "k2", "3")
    database.wait_confirmed(database.name)
    assert _findings(relay) == (1, {"parked": 2})
    assert _decide(relay, "discard", "--all").returncode == 0
    _wait_values(kafka, topics, [2, 3])
    code, found = _findings(relay)
    assert code == 1 and found["discarded"] == 1 and "missing" not in found


@pytest.mark.long
def test_p9_recover_leaves_parked_events_to_their_operator(
        relay, database, kafka, outbox, topics):
    outbox.insert("order", "k1", "1", headers=_BAD, sequence=1)
    outbox.insert("order", "k1", "2", sequence=2)
    database.wait_confirmed(database.name)
    relay.stop()
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    outbox.insert("order", "k2", "3", sequence=3)
    said = relay.verb("recover", "--all", "--order-by", "sequence")
    assert said.returncode == 0, said.stderr
    assert "left out: 2 that are parked" in said.stdout, said.stdout
    relay.run()
    outbox.insert("order", "k1", "4", sequence=4)
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [3]
    assert _decide(relay, "discard", "--all").returncode == 0
    _wait_values(kafka, topics, [2, 3, 4])
    assert _of_key(kafka, topics, "k1") == [2, 4]


@pytest.mark.long
def test_p9_nothing_is_released_into_another_kafka(
        walpost, database, kafka, strict_kafka, outbox, topics):
    relay = walpost(database, kafka, topics,
                    on_error={"headers_unreadable": "park"}).run()
    outbox.insert("order", "k1", "1", headers=_BAD)
    outbox.insert("order", "k1", "2")
    database.wait_confirmed(database.name)
    relay.stop()
    assert _decide(relay, "discard", "--all").returncode == 0
    strict_kafka.create_topic(topics + "order", 1)
    relay.configure({**relay.config,
                     "kafka": {"brokers": strict_kafka.bootstrap}})
    relay.start()
    relay.wait_unready("kafka_replaced")
    assert _values(strict_kafka, topics) == []
    assert [entry["state"] for entry in _parked(relay, "--all")] == [
        "discarded", "waiting"]


@pytest.mark.long
def test_bad_input_moves_nothing(relay, database, outbox):
    outbox.insert("order", "k1", "1", headers=_BAD)
    database.wait_confirmed(database.name)
    for words, remedy in {
            ("release",): "which ones?",
            ("release", "--all"): "--why",
            ("forget", "--all"): "expected list, show, release, discard or accept",
            ("list", "--why", "x"): "are for decisions",
            ("list", "--class", "too_large"): "'too_large' is not a class",
            ("show", "--position", "17"): "17",
    }.items():
        said = relay.verb("parked", *words)
        assert said.returncode == 2 and remedy in said.stderr, said.stderr
    said = _decide(relay, "discard", "--key", "other")
    assert said.returncode == 1 and "no such" in said.stderr
    assert [entry["state"] for entry in _parked(relay)] == ["dead"]


@pytest.mark.parametrize("sections, remedy", [
    ({"source": "polling", "polling": {"strategy": "delete"}},
     "park needs source: wal"),
    ({"outbox": {"tables": [{"name": "public.outbox", "columns": {
        "aggregate_id": None}}]}}, "have none"),
    ({"retention": {"keep": "1d"}, "on_error": {"column_unreadable": "park"}},
     "the row would be deleted"),
    ({"parking": {"max_keys": 0}}, "max_keys"),
])
@pytest.mark.long
def test_configurations_that_cannot_park_are_refused(
        walpost, database, kafka, topics, sections, remedy):
    relay = walpost(database, kafka, topics, **{
        "on_error": {"headers_unreadable": "park"}, **sections})
    said = relay.verb("run")
    assert said.returncode == 2 and remedy in said.stderr, said.stderr
