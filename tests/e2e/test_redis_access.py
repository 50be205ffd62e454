"""docs/redis.md, Access: the users of the page, and what becomes of their
entries when Redis restarts."""

import shlex

import pytest

from harness.pages import blocks
from harness.redis import RedisServer, RedisTrio, redis_section
from harness.redis_client import RedisClient


def _block(beginning):
    """A block of the page, with the password of these tests."""
    text, = [block.text for block in blocks()
             if block.page == "docs/redis.md"
             and block.text.startswith(beginning)]
    return text.strip().replace("PASSWORD", "secret")


def _rights():
    """Of the page, as redis.conf has them."""
    return _block("ACL SETUSER walpost").partition("walpost ")[2]


def _ask(server, *words):
    with RedisClient(server.port) as client:
        client.ask("AUTH", "admin", "secret")
        return client.ask(*words)


@pytest.fixture
def make_server(directory):
    servers = []

    def make(default):
        server = RedisServer(directory / "redis", **{
            "user default": default, "user walpost": _rights(),
            "user admin": "on >secret ~* &* +@all"})
        servers.append(server)
        return server.start()

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def relay_to(walpost, database, topics):
    def make(server, **more):
        return walpost(database, server, topics, **{
            **redis_section(server, user="walpost", password="secret"),
            "route": {"topic": "outbox.event.{aggregate_type}"}, **more})

    return make


@pytest.mark.parametrize("default, is_kept", [("of the page", True),
                                              ("off", False)])
@pytest.mark.sample(2)
def test_p1_entries_survive_a_restart_without_the_default_user(
        make_server, relay_to, database, outbox, default, is_kept):
    """Redis loads its file as the user default. If it has learnt to do without
    (the second row fails), the warning of the page can go."""
    if is_kept:
        default = _block("user default off").partition("default ")[2]
    server = make_server(default)
    relay = relay_to(server).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'k', to_jsonb(n), n from generate_series(1, 100) n")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    assert _ask(server, "XLEN", "outbox.event.order") == 100
    server.kill()
    server.start()
    kept = _ask(server, "XLEN", "outbox.event.order")
    assert (kept == 100) == is_kept, kept
    with RedisClient(server.port) as client, pytest.raises(RuntimeError):
        client.ask("AUTH", "")


@pytest.mark.long
def test_p8_the_user_of_the_page_may_write_dead_letters(
        make_server, relay_to, database, outbox):
    server = make_server("on nopass ~* &* +@all")
    relay = relay_to(server,
                     on_error={"topic_field_missing": "dead_letter"},
                     outbox={"tables": [{"name": "public.outbox"}]},
                     route={"topic": "outbox.event.{aggregate_type}.{type}"},
                     ).run()
    outbox.insert("order", "k", "1", type=None)
    database.wait_confirmed(relay.slot)
    assert server.ask("XLEN", "walpost.dead-letter") == 1
    assert relay.stop() == 0


def test_the_user_of_the_page_for_sentinels_is_enough(
        walpost, database, outbox, topics, directory):
    trio = RedisTrio(directory / "trio").start()
    try:
        for line in _block("redis-cli -p 26379 ACL").splitlines():
            words = shlex.split(line)
            for sentinel in trio.sentinels:
                sentinel.ask(*words[words.index("26379") + 1:])
        section = trio.section(replicas=1)
        section["redis"] |= {"sentinel_user": "walpost",
                             "sentinel_password": "secret"}
        relay = walpost(database, trio.servers[0], topics, **section)
        said = relay.verb("check")
        assert said.returncode == 0, said.stdout
        relay.run()
        outbox.insert("order", "k", "1")
        database.wait_confirmed(relay.slot)
        assert relay.stop() == 0
    finally:
        trio.close()
