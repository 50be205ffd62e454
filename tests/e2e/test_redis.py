"""The sink for Redis Streams, in ordinary life (docs/redis.md)."""

import json
import re
import shlex
import subprocess

import pytest
import yaml

from harness import Authority, Load, wait_until
from harness.nats import Nats
from harness.pages import blocks
from harness.ports import free_port
from harness.redis import RedisServer, judge_redis_once, redis_section
from harness.redis_client import RedisReader
from harness.sections import laid_over, outbox_table

_FIRST = ("postgres:\n  conninfo: host=127.0.0.1 dbname=shop user=walpost "
          "password=${env:WALPOST_PASSWORD}\nsink: redis")
_DRAINED = ("postgres:\n  conninfo: host=127.0.0.1 dbname=shop user=walpost "
            "password=${env:WALPOST_PASSWORD}\nsource: polling")

_BAD = '["no object"]'  # for the headers


@pytest.fixture(scope="module")
def redis(module_directory):
    server = RedisServer(module_directory / "redis").start()
    yield server
    server.close()


@pytest.fixture
def own_redis(directory):
    """A server that the test may harm."""
    server = RedisServer(directory / "redis").start()
    yield server
    server.close()


@pytest.fixture
def relay_of(walpost, database, redis, topics):
    def make(server=redis, on=None, **sections):
        redis_keys = sections.pop("redis", {})
        return walpost(on or database, server, topics,
                       **{**redis_section(server, **redis_keys), **sections})
    return make


def _values(redis, stream):
    return [fields["payload"].decode()
            for _, fields in RedisReader(redis.port).entries(stream)]


def _wait_values(redis, stream, values):
    wait_until(lambda: _values(redis, stream) == values,
               lambda: f"{values} in {stream}; it has {_values(redis, stream)}")


def test_an_event_is_an_entry_with_its_place(relay_of, database, redis, outbox,
                                             topics):
    relay_of().run()
    with database.transaction() as cursor:
        first = outbox.insert("order", "o-1", '{"n": 1}', type="Placed",
                              headers='{"trace": "t1", "tenant": "é"}',
                              cursor=cursor)
        second = outbox.insert("order", "o-2", '{"n": 2}', cursor=cursor)
    database.wait_confirmed(database.name)
    entries = RedisReader(redis.port).entries(topics + "order")
    assert [fields["id"].decode() for _, fields in entries] == [first, second]
    (first_id, fields), (second_id, others) = entries
    assert list(fields)[:4] == ["id", "type", "key", "payload"]
    assert fields["type"] == b"Placed" and fields["key"] == b"o-1"
    assert json.loads(fields["payload"]) == {"n": 1}
    assert fields["header.trace"] == b"t1"
    assert fields["header.tenant"] == "é".encode()
    assert int(fields["timestamp"]) > 1_600_000_000_000
    assert "header.id" not in fields
    # The id is the place: LSN of the commit, ordinal << 20.
    timeline, commit, ordinal = fields["header.walpost-position"].split(b"-")
    assert timeline == b"00000001"
    assert first_id == f"{int(commit, 16)}-{int(ordinal, 16) << 20}"
    assert second_id == f"{int(commit, 16)}-{(int(ordinal, 16) + 1) << 20}"
    assert "type" not in others


@pytest.mark.long
def test_null_is_a_field_that_is_not_there(relay_of, database, redis, outbox,
                                           topics):
    relay_of().run()
    outbox.insert("order", None, None)
    outbox.insert("order", "", '""')
    database.wait_confirmed(database.name)
    (_, null), (_, empty) = RedisReader(redis.port).entries(topics + "order")
    assert "key" not in null and "payload" not in null
    assert empty["key"] == b"" and empty["payload"] == b'""'


def test_p1_p3_p4_p5_a_load_is_there_once(relay_of, redis, outbox):
    relay = relay_of().run()
    with Load(outbox, "1", pause=0.002) as load:
        load.wait(500)
    judge_redis_once(outbox, redis, relay)
    assert relay.stop() == 0


def test_p8_what_cannot_be_delivered_has_its_dead_letter(
        relay_of, database, redis, outbox, topics):
    relay = relay_of(redis={"max_entry_bytes": 2000}, on_error={
        "record_too_large": "dead_letter", "headers_unreadable": "dead_letter"},
        dead_letter={"topic": topics + "dead", "payload": "none"}).run()
    outbox.insert("order", "k", "1")
    large = outbox.insert("order", "k", json.dumps("x" * 3000))
    broken = outbox.insert("order", "k", "2", headers=_BAD)
    outbox.insert("order", "k", "3")
    database.wait_confirmed(database.name)
    assert _values(redis, topics + "order") == ["1", "3"]
    letters = RedisReader(redis.port).entries(topics + "dead")
    assert [fields["id"].decode() for _, fields in letters] == [large, broken]
    assert [fields["header.walpost-dead-letter"] for _, fields in letters] == [
        b"record_too_large", b"headers_unreadable"]
    # Its place is that of the event: it is there once, too.
    relay.kill()
    relay.run()
    outbox.insert("order", "k", "4")
    database.wait_confirmed(database.name)
    assert len(RedisReader(redis.port).entries(topics + "dead")) == 2


def test_p3_p8_a_parked_event_is_released_behind_the_others(
        relay_of, database, redis, outbox, topics):
    relay = relay_of(on_error={"headers_unreadable": "park"}).run()
    outbox.insert("order", "k1", "1", headers=_BAD)
    outbox.insert("order", "k1", "2")
    outbox.insert("order", "k2", "3")
    database.wait_confirmed(database.name)
    assert _values(redis, topics + "order") == ["3"]
    said = relay.verb("parked", "discard", "--key", "k1", "--why", "a test",
                      "--by", "alice")
    assert said.returncode == 0, said.stderr
    _wait_values(redis, topics + "order", ["3", "2"])
    # It has no place of its own, and leaves room for those that come.
    with database.transaction() as cursor:
        for number in "4567":
            outbox.insert("order", "k3", number, cursor=cursor)
    database.wait_confirmed(database.name)
    assert _values(redis, topics + "order") == list("324567")


@pytest.mark.long
def test_a_replayed_row_goes_behind_the_others(relay_of, database, redis,
                                               outbox, topics):
    relay = relay_of().run()
    for number in "123":
        outbox.insert("order", "k", number, sequence=number)
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-table", "--order-by", "sequence")
    assert said.returncode == 0, said.stdout + said.stderr
    outbox.insert("order", "k", "4", sequence=4)
    database.wait_confirmed(database.name)
    assert _values(redis, topics + "order") == list("1231234")
    entries = RedisReader(redis.port).entries(topics + "order")
    assert [("header.walpost-replay" in fields) for _, fields in entries] == [
        False, False, False, True, True, True, False]


def test_p1_the_rows_of_a_snapshot_come_first(relay_of, database, redis, outbox,
                                              topics):
    for number in range(50):
        outbox.insert("order", f"k{number % 5}", str(number), sequence=number)
    relay = relay_of(snapshot="initial",
                     **outbox_table(order_by="sequence")).run()
    outbox.insert("order", "k0", "50", sequence=50)
    database.wait_confirmed(relay.slot)
    found = [int(value) for value in _values(redis, topics + "order")]
    assert sorted(found) == list(range(51)) and found[-1] == 50


@pytest.mark.long
def test_streams_are_trimmed_if_wanted(relay_of, database, redis, outbox,
                                       topics):
    relay_of(redis={"max_entries": 100}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', 'k', to_jsonb(n) from generate_series(1, 3000) n")
    database.wait_confirmed(database.name)
    kept = _values(redis, topics + "order")
    assert 100 <= len(kept) < 400 and kept[-1] == "3000"


@pytest.mark.long
def test_records_wait_for_a_stream_that_is_not_created(
        relay_of, database, redis, outbox, topics):
    relay = relay_of(redis={"create": False}).run()
    outbox.insert("order", "k", "1")
    text = relay.wait_unready(re.escape(topics + "order"))
    found = re.search(r"redis-cli -u redis://(\S+) (XGROUP CREATE \S+ \S+ 0 "
                      r"MKSTREAM)", text)
    assert found and found[1] == redis.address, text
    redis.ask(*found[2].split())
    relay.wait_ready()
    _wait_values(redis, topics + "order", ["1"])


def test_p1_a_weaker_server_is_refused_until_it_is_corrected(
        relay_of, database, own_redis, outbox, topics):
    own_redis.ask("CONFIG", "SET", "appendfsync", "everysec")
    relay = relay_of(own_redis).start()
    text = relay.wait_unready("appendfsync everysec")
    outbox.insert("order", "k", "1")
    assert "redis.durability: memory" in text
    checked = relay.verb("check", "--json")
    finding = next(finding for finding in _findings(checked)
                   if finding["id"] == "redis_not_durable")
    assert finding["severity"] == "error"
    _paste(own_redis, finding["remedy"])
    relay.wait_ready(30)
    _wait_values(own_redis, topics + "order", ["1"])
    assert relay.verb("check").returncode == 0
    # What is set at runtime is noticed.
    own_redis.ask("CONFIG", "SET", "appendfsync", "no")
    relay.wait_unready("appendfsync no")


def _findings(said):
    return [json.loads(line) for line in said.stdout.splitlines()]


def _paste(redis, remedy):
    """Runs what is CONFIG SET in it."""
    lines = re.findall(r"CONFIG SET [\w-]+ \w+", remedy)
    assert lines, remedy
    for line in lines:
        redis.ask(*line.split())


@pytest.mark.long
def test_check_names_what_weakens_the_server(relay_of, own_redis, outbox,
                                             topics):
    assert outbox
    own_redis.ask("CONFIG", "SET", "maxmemory", "100mb")
    own_redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    own_redis.ask("SET", topics + "order", "text")
    relay = relay_of(own_redis, redis={"durability": "memory"},
                     route={"topic": topics + "order"})
    found = {finding["id"]: finding
             for finding in _findings(relay.verb("check", "--json"))}
    assert found["redis_memory_only"]["severity"] == "warning"
    assert found["redis_not_a_stream"]["severity"] == "error"
    assert found["redis_evicts_streams"]["severity"] == "warning"
    _paste(own_redis, found["redis_evicts_streams"]["remedy"])
    words = found["redis_not_a_stream"]["remedy"].split(";")[0].split()
    own_redis.ask(*words)
    relay.configure({**relay.config, "redis": {"address": own_redis.address}})
    found = {finding["id"] for finding in
             _findings(relay.verb("check", "--json"))
             if finding["id"].startswith("redis")}
    assert found == {"redis_ok"}


@pytest.mark.long
def test_check_says_why_it_is_not_reached(relay_of, own_redis, outbox):
    assert outbox
    relay = relay_of(own_redis)
    own_redis.kill()
    said = relay.verb("check")
    assert said.returncode != 0
    assert "correct redis.address, or start Redis" in said.stdout


@pytest.mark.parametrize("sections, named", [
    ({"delivery": {"guarantee": "exactly_once"}}, "exactly_once"),
    ({"checkpoint": {"store": "kafka"}}, "store: kafka"),
    ({"redis": {"address": "a:b"}}, "redis.address"),
    ({"redis": {"address": None}}, "redis.address"),
    ({"redis": {"address": None, "sentinels": ["a"]}}, "redis.master"),
    ({"redis": {"durability": "maybe"}}, "fsync, memory"),
    ({"redis": {"adress": "a"}}, "address"),
    ({"kafka": {"brokers": "a"}}, "kafka"),
])
@pytest.mark.sample(8)
def test_refusals_name_the_key(walpost, database, redis, topics, sections,
                               named):
    relay = walpost(database, redis, topics, **redis_section(redis))
    relay.configure(laid_over(relay.config, sections))
    relay.start()
    assert relay.wait_exit() != 0
    assert named in relay.log()


@pytest.fixture
def encrypted(directory):
    """A server that asks for a client's certificate, and the Authority."""
    authority = Authority(directory / "authority")
    certificate, key = authority.issue("redis", "127.0.0.1")
    port = free_port()
    server = RedisServer(directory / "redis", tls__port=port,
                         tls__cert__file=certificate, tls__key__file=key,
                         tls__ca__cert__file=authority.certificate).start()
    server.tls_address = f"127.0.0.1:{port}"
    yield server, authority
    server.close()


def test_tls_with_a_client_certificate(relay_of, database, encrypted, outbox,
                                       topics):
    server, authority = encrypted
    certificate, key = authority.issue("walpost")
    relay = relay_of(server, redis={
        "address": server.tls_address,
        "tls": {"enabled": True, "ca_file": str(authority.certificate),
                "certificate_file": str(certificate), "key_file": str(key)}})
    assert relay.verb("check").returncode == 0, relay.verb("check").stdout
    relay.run()
    outbox.insert("order", "k", json.dumps("x" * 100_000))
    outbox.insert("order", "k", "1")
    database.wait_confirmed(relay.slot)
    assert len(_values(server, topics + "order")) == 2


@pytest.mark.parametrize("keys, named", [
    ({"ca_file": "other"}, "its certificate is not accepted"),
    ({"ca_file": "missing"}, "redis.tls.ca_file"),
    ({"address": "localhost"}, "its certificate is not accepted"),
    ({}, "Redis at 127.0.0.1"),  # without a certificate of its own
    ({"tls": None}, "Redis at 127.0.0.1"),
])
@pytest.mark.sample(3)
def test_tls_is_verified(relay_of, encrypted, outbox, directory, keys, named):
    server, authority = encrypted
    assert outbox
    files = {"other": Authority(directory / "other").certificate,
             "missing": directory / "none.pem"}
    port = server.tls_address.partition(":")[2]
    section = {"address": server.tls_address,
               "tls": {"enabled": True,
                       "ca_file": str(authority.certificate)}}
    if "ca_file" in keys:
        section["tls"]["ca_file"] = str(files[keys["ca_file"]])
    if "address" in keys:
        section["address"] = f"localhost:{port}"
    if "tls" in keys:
        del section["tls"]
    said = relay_of(server, redis=section).verb("check")
    assert said.returncode == 1 and named in said.stdout, said.stdout


def _block(beginning):
    found = [block.text for block in blocks()
             if block.page == "docs/redis.md"
             and block.text.startswith(beginning)]
    assert len(found) == 1, beginning
    return found[0]


def _example(beginning, database, redis, **sections):
    """A configuration of the page, with the servers of the test."""
    config = yaml.safe_load(_block(beginning))
    config["postgres"] = {"conninfo": database.conninfo(),
                          **sections.pop("postgres", {})}
    config["redis"]["address"] = redis.address
    return laid_over(config, {
        "http": {"listen": f"127.0.0.1:{free_port()}"}, **sections})


def test_the_first_configuration_of_the_page(walpost, database, own_redis,
                                             topics, outbox):
    relay = walpost(database, own_redis, topics)
    relay.configure(_example(_FIRST, database, own_redis, postgres={
        "slot": database.name, "publication": "walpost", "create": True}))
    relay.run()
    outbox.insert("order", "o-1", "1")
    database.wait_confirmed(relay.slot)
    assert _values(own_redis, "outbox.event.order") == ["1"]


@pytest.mark.long
def test_the_rows_of_the_article_are_drained(walpost, database, own_redis,
                                             topics):
    """id, type, payload; deleted when sent: as docs/redis.md has it."""
    database.execute(_block("CREATE TABLE outbox"))
    relay = walpost(database, own_redis, topics)
    relay.configure(_example(_DRAINED, database, own_redis))
    commands = [shlex.split(line)
                for line in _block("redis-cli XGROUP").splitlines()]
    create, read = [[words[0], "-p", str(own_redis.port), *words[1:]]
                    for words in commands]
    subprocess.run(create, check=True, capture_output=True)
    relay.run()
    database.execute(
        "insert into outbox select gen_random_uuid(), 'paid', "
        "convert_to(n::text, 'UTF8') from generate_series(1, 500) n")
    wait_until(lambda: database.value("select count(*) from outbox") == 0,
               "an empty table")
    entries = RedisReader(own_redis.port).entries("events.paid")
    assert len({fields["id"] for _, fields in entries}) == len(entries) == 500
    assert all(fields["type"] == b"paid" for _, fields in entries)
    assert {int(fields["payload"]) for _, fields in entries} == set(
        range(1, 501))
    assert entries[0][0] == "0-1" and entries[-1][0] == "0-500"
    said = subprocess.run(read, check=True, capture_output=True, text=True)
    assert said.stdout.count("payload") == 10, said.stdout


def test_the_rights_of_the_page_are_enough(relay_of, database, own_redis,
                                           outbox):
    command = _block("ACL SETUSER").replace("PASSWORD", "secret")
    own_redis.ask(*shlex.split(command))
    relay = relay_of(own_redis, redis={"user": "walpost",
                                       "password": "secret"},
                     route={"topic": "outbox.event.{aggregate_type}"})
    assert relay.verb("check").returncode == 0, relay.verb("check").stdout
    relay.run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(relay.slot)
    own_redis.ask("ACL", "SETUSER", "walpost", "-xadd")
    outbox.insert("order", "k", "2")
    text = relay.wait_unready("can't run this command")
    assert "+xadd" in text, text
    own_redis.ask("ACL", "SETUSER", "walpost", "+xadd")
    relay.wait_ready()
    database.wait_confirmed(relay.slot)
    assert _values(own_redis, "outbox.event.order") == ["1", "2"]


@pytest.mark.long
def test_the_configuration_of_sentinels_is_right(relay_of):
    relay = relay_of()
    config = yaml.safe_load(_block("sink: redis\nredis:\n  sentinels"))
    relay.configure({**relay.config, **config})
    said = relay.verb("check", "--offline")
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.long
def test_p9_another_kind_of_brokers_does_not_have_the_events(
        relay_of, database, redis, outbox, topics, directory):
    """Neither NATS nor Redis has an id of its cluster: their kind tells."""
    nats = Nats(directory / "nats").start()
    try:
        checkpoint = {"store": "file", "path": str(directory / "checkpoint")}
        relay = relay_of(checkpoint=checkpoint).run()
        outbox.insert("order", "k", "1")
        database.wait_confirmed(relay.slot)
        assert relay.stop() == 0
        in_redis = relay.config
        relay.configure({
            **{key: value for key, value in in_redis.items() if key != "redis"},
            "sink": "nats",
            "nats": {"servers": nats.url, "create_stream": {
                "name": "S", "subjects": [topics + ">"], "replicas": 1}}})
        relay.start()
        outbox.insert("order", "k", "2")
        relay.wait_unready(r"\[kafka_replaced\]")
        relay.kill()
        # What needs an operator stays until one acts.
        relay.configure(in_redis)
        relay.start()
        relay.wait_unready(r"\[kafka_replaced\]")
        relay.stop()
        said = relay.verb("recover", "--accept")
        assert said.returncode == 0, said.stdout + said.stderr
        relay.run(60)
        _wait_values(redis, topics + "order", ["1", "2"])
    finally:
        nats.close()
