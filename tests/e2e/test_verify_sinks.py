"""verify, recover and replay --missing read back what is in JetStream and in
Redis Streams."""

import json

import pytest

from harness import Load
from harness.nats import Nats, sections
from harness.redis import RedisServer, redis_section
from harness.redis_client import RedisReader


class _JetStream:
    """A stream of the test's own, for `topics`."""
    word = "NATS"

    def __init__(self, server, topics, **settings):
        self._server = server
        self._topics = topics
        self._settings = settings
        self.name = topics.rstrip(".").upper()
        self.bootstrap = server.bootstrap
        self.section = sections(server.url)
        self.make()

    def make(self):
        self._server.make_stream(self.name, [self._topics + ">"],
                                 **self._settings)

    def lose(self, number):
        """The record that is `number` of those in the stream."""
        state = self._server.api(f"STREAM.INFO.{self.name}")["state"]
        answer = self._server.api(f"STREAM.MSG.DELETE.{self.name}",
                                  seq=state["first_seq"] + number - 1)
        assert answer["success"], answer

    def trim(self, keep):
        answer = self._server.api(f"STREAM.PURGE.{self.name}", keep=keep)
        assert answer["success"], answer

    def lose_all(self):
        self._server.api(f"STREAM.DELETE.{self.name}")
        self.make()

    def close(self):
        self._server.api(f"STREAM.DELETE.{self.name}")


class _Streams:
    """Streams of Redis; those of the test begin with `topics`."""
    word = "Redis"

    def __init__(self, server, topics):
        self._server = server
        self._stream = topics + "order"
        self.bootstrap = server.bootstrap
        self.section = redis_section(server)

    def lose(self, number):
        entry, _ = RedisReader(self._server.port).entries(
            self._stream)[number - 1]
        assert self._server.ask("XDEL", self._stream, entry) == 1

    def trim(self, keep):
        self._server.ask("XTRIM", self._stream, "MAXLEN", str(keep))

    def lose_all(self):
        self._server.ask("DEL", self._stream)

    def close(self):
        self.lose_all()


@pytest.fixture(scope="module")
def nats(module_directory):
    server = Nats(module_directory / "nats").start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def redis(module_directory):
    server = RedisServer(module_directory / "redis").start()
    yield server
    server.close()


@pytest.fixture(params=[_JetStream, _Streams], ids=["nats", "redis"])
def broker(request, topics):
    server = request.getfixturevalue(
        "nats" if request.param is _JetStream else "redis")
    made = request.param(server, topics)
    yield made
    made.close()


@pytest.fixture
def relay_of(walpost, database, broker, topics, directory):
    def make(**more):
        return walpost(database, broker, topics, **{
            **broker.section,
            "checkpoint": {"store": "file",
                           "path": str(directory / "checkpoint")}, **more})
    return make


def _insert(outbox, database, count):
    """A transaction each. All are confirmed then."""
    for number in range(count):
        outbox.insert("order", f"k{number % 3}", json.dumps({"n": number}))
    database.wait_confirmed(database.name)


def _verify(relay, *words):
    """The exit code, and the report."""
    said = relay.verb("verify", "--json", *words)
    assert said.returncode in (0, 1), said.stderr
    return said.returncode, json.loads(said.stdout)


def _found(report):
    return {kind: found["count"] for kind, found in report["findings"].items()
            if found["count"]}


def test_p1_p3_all_that_was_sent_is_there(relay_of, database, outbox, topics):
    relay = relay_of(outbox={"tables": [{
        "name": "public.outbox", "columns": {"headers": "headers"}}]}).run()
    outbox.insert("order", None, None)
    outbox.insert("order", "key 1 é\nof two lines", '{"n": 1}',
                  headers=json.dumps({"two lines": "one\ntwo", "id": "other"}))
    outbox.insert("invoice", " k ", "{}")
    outbox.insert("invoice", "", '""', headers='{"empty": "", "none": null}')
    with Load(outbox, seed=1, pause=0.001) as load:
        load.wait(1500)
        code, report = _verify(relay)
    assert code == 0, _found(report)
    database.wait_confirmed(database.name)
    code, report = _verify(relay, "--fail-on-duplicates")
    deleted = _found(report).pop("not_in_table", 0)  # the load does it
    assert code == 0 and _found(report).keys() <= {"not_in_table"}, report
    assert report["expected"] == report["records"] - deleted == database.value(
        "select count(*) from outbox")
    assert report["order_judged_by"] == "header walpost-position"
    assert relay.verb("verify", "--json-equal").returncode == 0


def test_p1_a_lost_and_an_altered_one_are_named(relay_of, database, outbox,
                                                broker):
    relay = relay_of().run()
    _insert(outbox, database, 6)
    broker.lose(4)
    database.execute("update outbox set payload = '{\"n\": 0.5}' "
                     "where payload->>'n' = '4'")
    _insert(outbox, database, 1)  # the slot passes the UPDATE
    code, report = _verify(relay)
    assert code == 1
    assert _found(report) == {"missing": 1, "altered": 1}, report
    lost = database.value("select id::text from outbox "
                          "where payload->>'n' = '3'")
    assert lost in report["findings"]["missing"]["examples"][0]
    text = relay.verb("verify").stdout
    assert f"1 missing: committed, but not in {broker.word}" in text, text
    # What is missing is sent again, and that alone.
    database.execute("update outbox set payload = '{\"n\": 4}' "
                     "where payload->>'n' = '0.5'")
    _insert(outbox, database, 1)
    again = relay.verb("replay", "--from-table", "--missing", "--order-by", "sequence")
    assert again.returncode == 0, again.stdout + again.stderr
    code, report = _verify(relay)
    assert code == 0 and report["records"] == 8, report
    assert _found(report) == {"replayed": 1}, report


@pytest.mark.long
def test_p1_what_was_trimmed_is_not_missing(relay_of, database, outbox, broker):
    relay = relay_of().run()
    _insert(outbox, database, 8)
    broker.trim(3)
    code, report = _verify(relay)
    assert code == 0 and _found(report) == {"expired": 5}, report
    again = relay.verb("replay", "--from-table", "--missing", "--order-by", "sequence")
    assert again.returncode == 0, again.stdout + again.stderr
    assert _verify(relay)[1]["records"] == 3
    broker.lose(2)  # not the oldest
    code, report = _verify(relay)
    assert code == 1 and _found(report).get("missing") == 1, _found(report)


@pytest.mark.long
def test_p11_rows_without_a_key_are_not_expired_for_another_loss(
        relay_of, database, outbox, broker):
    relay = relay_of(checkpoint={"store": "none"}).run()
    for number in range(5):
        outbox.insert("order", None, json.dumps({"n": number}))
    database.wait_confirmed(database.name)
    relay.stop()
    broker.lose_all()
    relay.run()
    for number in range(3):
        outbox.insert("order", None, json.dumps({"n": number}))
    database.wait_confirmed(database.name)
    broker.lose(1)  # and only this one may be behind the end of retention
    code, report = _verify(relay)
    assert code == 1 and _found(report)["missing"] >= 4, _found(report)


@pytest.mark.long
def test_p6_records_of_a_megabyte(relay_of, database, outbox):
    relay = relay_of().run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', 'k', to_jsonb(repeat('x', 900000)) from generate_series(1, "
        "150)")
    database.wait_confirmed(database.name)
    code, report = _verify(relay)
    assert code == 0 and report["records"] == 150, report


def test_p9_a_stream_that_was_made_again_is_filled_again(
        relay_of, database, outbox, broker):
    relay = relay_of().run()
    _insert(outbox, database, 5)
    broker.lose_all()
    outbox.insert("order", "k1", '{"n": 5}')
    relay.wait_unready("recover", 40)
    relay.stop()
    code, report = _verify(relay, "--wait", "0")
    found = _found(report)
    assert code == 1, found
    assert found.get("missing", 0) + found.get("unconfirmed", 0) >= 5, found
    recovered = relay.verb("recover", "--order-by", "sequence")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    relay.run()
    database.wait_confirmed(database.name)
    code, report = _verify(relay)
    assert code == 0, _found(report) or report
    assert _found(report).keys() <= {"replayed", "duplicates"}, report
    assert report["expected"] == 6


@pytest.mark.long
def test_p9_a_short_run_knows_what_it_wrote_to(relay_of, database, outbox,
                                               broker):
    """It ends right after its first events."""
    relay = relay_of().run()
    _insert(outbox, database, 3)
    assert relay.stop() == 0
    broker.lose_all()
    relay.start()
    outbox.insert("order", "k1", '{"n": 5}')
    relay.wait_unready("recover", 40)


@pytest.mark.long
def test_ids_and_other_topics(relay_of, database, outbox, broker, directory,
                              topics):
    """--ids and --topic, as with Kafka."""
    relay = relay_of().run()
    event = outbox.insert("order", "k")
    database.wait_confirmed(database.name)
    ids = directory / "ids"
    ids.write_text(f"{event}\n")
    assert _verify(relay, "--ids", str(ids))[0] == 0
    ids.write_text(f"{event}\nanother\n")
    code, report = _verify(relay, "--ids", str(ids), "--topic",
                           topics + "none")
    assert code == 1 and _found(report) == {"missing": 1}, report


@pytest.mark.parametrize("words", [
    ("dead-letters", "list"), ("shadow",), ("verify", "--read-uncommitted")])
@pytest.mark.sample(6)
def test_what_only_kafka_has_is_refused(relay_of, outbox, words):
    assert outbox
    said = relay_of().verb(*words)
    assert said.returncode == 2, said
    assert "reads Kafka, and sink is" in said.stderr, said.stderr


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
@pytest.mark.sample(2)
def test_p11_a_stream_that_forgets_is_refused(walpost, database, nats, outbox,
                                              topics, retention):
    """Then nobody can tell what was sent."""
    stream = _JetStream(nats, topics, retention=retention)
    relay = walpost(database, stream, topics, **stream.section).run()
    outbox.insert("order", "k")
    database.wait_confirmed(database.name)
    said = relay.verb("verify")
    assert said.returncode == 4, said
    assert f"has retention {retention}" in said.stderr, said.stderr
    stream.close()


def test_a_missing_right_in_redis_is_named(walpost, database, redis, outbox,
                                           topics):
    redis.ask("ACL", "SETUSER", "reader", "reset", "on", ">pw", "~*",
              "+@all", "-xrange")
    relay = walpost(database, redis, topics, **redis_section(
        redis, user="reader", password="pw")).run()
    outbox.insert("order", "k")
    database.wait_confirmed(database.name)
    said = relay.verb("verify")
    assert said.returncode == 4, said
    assert "NOPERM" in said.stderr and "+xrange" in said.stderr, said.stderr
    redis.ask("ACL", "SETUSER", "reader", "+xrange")
    assert relay.verb("verify").returncode == 0


def test_a_missing_right_in_nats_is_named(walpost, database, directory, outbox,
                                          topics):
    rights = 'subscribe: ["_INBOX.>"], publish: {deny: "$JS.API.CONSUMER.>"}'
    server = Nats(directory / "nats", "authorization {users: [{user: a, "
                  f"password: a, permissions: {{{rights}}}}}, "
                  "{user: b, password: b}]}", user=("b", "b")).start()
    try:
        stream = _JetStream(server, topics)
        relay = walpost(database, stream, topics, **sections(
            server.url, user="a", password="a")).run()
        outbox.insert("order", "k")
        database.wait_confirmed(database.name)
        said = relay.verb("verify")
        assert said.returncode == 4, said
        assert "$JS.API.CONSUMER.CREATE" in said.stderr, said.stderr
    finally:
        server.close()


@pytest.mark.sample(2)
def test_nobody_answers(relay_of, database, outbox, nats, redis, broker,
                        walpost, topics, directory):
    relay = relay_of()
    section = dict(relay.config)
    for kind, key in (("nats", "servers"), ("redis", "address")):
        if kind in section and broker.word.lower() == kind:
            relay.configure({**section, kind: {**section[kind],
                                               key: "127.0.0.1:1"}})
    said = relay.verb("verify")
    assert said.returncode == 4, said
    assert broker.word in said.stderr and "127.0.0.1:1" in said.stderr
