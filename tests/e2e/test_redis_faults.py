"""The sink for Redis Streams when things break (docs/redis.md)."""

import json
import re
import resource
import signal
import time

import pytest

from harness import Load, Outbox, Proxy, note, wait_until
from harness.matrix import LONG
from harness.redis import (RedisServer, judge_redis, judge_redis_once,
                           redis_section)
from harness.redis_client import RedisReader

_KILLS = 20 if LONG else 4
_ROUNDS = 3 if LONG else 1


@pytest.fixture(scope="module")
def redis(module_directory):
    server = RedisServer(module_directory / "redis").start()
    yield server
    server.close()


@pytest.fixture
def own_redis(directory):
    server = RedisServer(directory / "redis").start()
    yield server
    server.close()


@pytest.fixture
def relay_of(walpost, database, topics):
    def make(server, redis=None, **sections):
        return walpost(database, server, topics, **{
            **redis_section(server, **(redis or {})), **sections})
    return make


def test_p1_p3_p5_walpost_is_killed_and_nothing_is_there_twice(
        relay_of, redis, outbox, dice):
    relay = relay_of(redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(_KILLS):
            time.sleep(dice.choice((0.02, 0.3, 0.8)) * (0.5 + dice.random()))
            relay.kill()
            relay.start()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, redis, relay)
    assert relay.stop() == 0


def test_p1_p3_p5_redis_is_killed(relay_of, own_redis, outbox, dice):
    relay = relay_of(own_redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(2 * _ROUNDS):
            load.wait(100)
            own_redis.kill()
            time.sleep(dice.random())
            own_redis.start()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, own_redis, relay)


@pytest.mark.long
def test_p1_p3_p5_redis_is_restarted_in_an_orderly_way(
        relay_of, own_redis, outbox, dice):
    relay = relay_of(own_redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        own_redis.stop()
        relay.wait_unready(seconds=30)
        own_redis.start()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, own_redis, relay)


def test_p1_p3_p5_p10_redis_freezes(relay_of, own_redis, outbox, dice):
    relay = relay_of(own_redis, {"timeout": "2s"}).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        own_redis.freeze()
        relay.wait_unready(seconds=15)
        time.sleep(3)
        own_redis.thaw()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, own_redis, relay)
    own_redis.freeze()
    begun = time.monotonic()
    assert relay.stop(20) == 0
    assert time.monotonic() - begun < 15
    own_redis.thaw()


def test_p1_p3_p5_the_network_is_cut(walpost, database, redis, topics, outbox,
                                     dice):
    proxy = Proxy(redis.port)
    try:
        relay = walpost(database, redis, topics, **redis_section(
            None, address=f"127.0.0.1:{proxy.port}", timeout="2s")).run()
        with Load(outbox, dice.seed_text, pause=0.005) as load:
            for harm in (proxy.reset, proxy.drop, proxy.cut)[:1 + 2 * _ROUNDS]:
                load.wait(50)
                harm()
                time.sleep(3 if harm == proxy.cut else 0.5)
                proxy.heal()
            relay.wait_ready(60)
            load.wait(100)
        judge_redis_once(outbox, redis, relay)
    finally:
        proxy.close()


def test_p1_p3_memory_is_full_for_a_while(relay_of, own_redis, outbox, dice):
    relay = relay_of(own_redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        own_redis.ask("CONFIG", "SET", "maxmemory", "1mb")
        relay.wait_unready("maxmemory", seconds=30)
        load.wait(100)
        own_redis.ask("CONFIG", "SET", "maxmemory", "0")
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, own_redis, relay)


def test_p1_p3_the_disk_is_full(relay_of, own_redis, outbox, dice):
    """With appendfsync always, Redis exits when it cannot write."""
    relay = relay_of(own_redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        file, = (own_redis.directory / "appendonlydir").glob("*.incr.aof")
        limit = file.stat().st_size + 20_000
        resource.prlimit(own_redis.pid, resource.RLIMIT_FSIZE, (limit, limit))
        wait_until(lambda: not own_redis.running(), "the end of Redis", 60)
        own_redis.start()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, own_redis, relay)


@pytest.mark.parametrize("how, values", [
    (("--accept",), ["2", "3"]),
    (("--order-by", "sequence"), ["1", "2", "3"]),
    (("--since", "1h", "--order-by", "sequence"), ["1", "2", "3"]),
], ids=["accepted", "missing", "sent again"])
@pytest.mark.sample(3)
def test_p9_a_flush_is_named_until_an_operator_goes_on(
        relay_of, own_redis, database, outbox, topics, directory, how, values):
    database.execute("alter table outbox add created_at timestamptz not null "
                     "default now()")
    relay = relay_of(own_redis, checkpoint={
        "store": "file", "path": str(directory / "checkpoint")}).run()
    outbox.insert("order", "k", "1", sequence=1)
    database.wait_confirmed(relay.slot)
    time.sleep(1)
    assert relay.stop() == 0  # the checkpoint is written
    own_redis.ask("FLUSHALL")
    relay.start()
    outbox.insert("order", "k", "2", sequence=2)
    text = relay.wait_unready("kafka_replaced|stream " + re.escape(topics))
    assert "has come to no entry" in text, text
    relay.kill()
    relay.start()
    relay.wait_unready(r"\[kafka_replaced\] .*has come to no entry")
    assert RedisReader(own_redis.port).streams(topics) == []
    # The operator has the rows of the table sent again, and goes on.
    relay.stop()
    said = relay.verb("recover", *how)
    assert said.returncode == 0, said.stdout + said.stderr
    relay.run(60)
    outbox.insert("order", "k", "3", sequence=3)
    database.wait_confirmed(relay.slot)
    found = [fields["payload"].decode() for _, fields in
             RedisReader(own_redis.port).entries(topics + "order")]
    assert sorted(set(found)) == values


@pytest.mark.long
def test_p9_a_stream_that_is_deleted_meanwhile_is_named(
        relay_of, own_redis, database, outbox, topics):
    relay = relay_of(own_redis).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(relay.slot)
    own_redis.ask("DEL", topics + "order")
    outbox.insert("order", "k", "2")
    relay.wait_unready("has come to no entry")


def test_p1_p3_a_changed_password_is_taken_up(
        walpost, database, own_redis, outbox, topics, directory):
    secret = directory / "secret"
    secret.write_text("first")
    own_redis.ask("CONFIG", "SET", "requirepass", "first")
    relay = walpost(database, own_redis, topics, **redis_section(
        own_redis, password=f"${{file:{secret}}}")).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(relay.slot)
    with own_redis.client("first") as client:
        client.ask("CONFIG", "SET", "requirepass", "second")
        # Clients that are connected keep their right: end them.
        client.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    outbox.insert("order", "k", "2")
    relay.wait_unready("WRONGPASS", seconds=30)
    secret.write_text("second")
    relay.wait_ready(60)
    database.wait_confirmed(relay.slot)
    with own_redis.client("second") as client:
        assert client.ask("XLEN", topics + "order") == 2


def test_p1_p3_p5_a_standby_takes_over_from_a_zombie(
        relay_of, redis, outbox, dice):
    sections = {"postgres": {"wal_sender_timeout": "3s"}}
    first = relay_of(redis, **sections).run()
    second = relay_of(redis, **sections).start()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        first.wait_acknowledged(100)
        first.send(signal.SIGSTOP)
        wait_until(lambda: re.match("streaming|catching",
                                    second.get("/readyz")[1]),
                   "the other one", 60)
        load.wait(100)
        first.send(signal.SIGCONT)
        load.wait(100)
    judge_redis(outbox, redis, second, takeover=True)


@pytest.mark.long
def test_p1_p5_entries_that_a_consumer_deletes_come_again_at_worst(
        relay_of, own_redis, outbox, topics, dice):
    """XDEL and XTRIM take away what a re-send is recognised by."""
    relay = relay_of(own_redis).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        relay.send(signal.SIGSTOP)
        for stream in RedisReader(own_redis.port).streams(topics):
            own_redis.ask("XTRIM", stream, "MAXLEN", 0)
        relay.kill()
        relay.run(60)
        load.wait(100)
        streams = RedisReader(own_redis.port).streams(topics)
    outbox.database.wait_confirmed(relay.slot)
    expected = {event.id for event in outbox.expected()}
    found = {record.id for stream in streams
             for record in RedisReader(own_redis.port).read(stream)}
    assert found <= expected and len(found) >= 100


@pytest.mark.long
def test_p1_p3_a_stream_that_is_ahead_gets_every_event(
        relay_of, redis, database, outbox, topics):
    """Of another timeline, or another writer: its entries have the places."""
    ahead = 1 << 40
    redis.ask("XADD", topics + "order", f"{ahead}-0", "id", "other")
    relay = relay_of(redis).run()
    ids = [outbox.insert("order", "k", str(number), sequence=number)
           for number in range(20)]
    database.wait_confirmed(relay.slot)
    entries = RedisReader(redis.port).entries(topics + "order")
    assert [fields["id"].decode() for _, fields in entries[1:]] == ids
    assert entries[1][0] == f"{ahead}-1"
    relay.wait_log("has passed the place of events that are not in it")


def test_p1_polled_rows_are_deleted_only_once_they_are_there(
        relay_of, own_redis, database, topics, dice):
    """Killed in between, they come again, with another entry id."""
    database.execute("create table outbox (id uuid primary key, type text, "
                     "payload bytea)")
    database.execute("insert into outbox select gen_random_uuid(), 'paid', "
                     "'x' from generate_series(1, 20000)")
    ids = {row[0] for row in database.execute("select id::text from outbox")}
    relay = relay_of(
        own_redis, source="polling",
        polling={"strategy": "delete", "interval": "20ms"},
        outbox={"tables": [{"name": "public.outbox", "order_by": "id",
                            "columns": {"aggregate_type": "type",
                                        "aggregate_id": None}}]},
        postgres={"slot": None, "publication": None, "create": None}).start()
    for _ in range(3):
        time.sleep(0.1 + 0.3 * dice.random())
        relay.kill()
        relay.start()
    own_redis.kill()
    time.sleep(0.5)
    own_redis.start()
    wait_until(lambda: database.value("select count(*) from outbox") == 0,
               "an empty table", 60)
    found = [record.id
             for record in RedisReader(own_redis.port).read(topics + "paid")]
    note(f"{len(found) - len(ids)} of {len(ids)} polled rows came again")
    assert set(found) == ids


def test_p1_p3_postgres_crashes_and_redis_dies(walpost, own_postgres,
                                               own_database, own_redis, topics,
                                               dice):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, own_redis, topics,
                    **redis_section(own_redis)).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        relay.wait_acknowledged(100)
        own_redis.kill()
        relay.kill()
        own_postgres.crash()
        relay.start()
        own_postgres.start()
        own_redis.start()
        relay.wait_ready(60)
        load.wait(200)
    judge_redis_once(outbox, own_redis, relay)


@pytest.mark.long
def test_p6_memory_is_bounded_while_redis_is_away(relay_of, own_redis,
                                                  database, outbox):
    relay = relay_of(own_redis).run()
    own_redis.kill()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 100, to_jsonb(repeat('x', 500)), n "
        "from generate_series(1, 60000) n")
    time.sleep(3)
    own_redis.start()
    relay.wait_ready(60)
    judge_redis_once(outbox, own_redis, relay)
    assert json.loads(relay.get("/status")[1])
