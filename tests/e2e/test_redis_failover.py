"""Failover of Redis by Sentinel, and of Postgres under the sink for Redis
(docs/redis.md)."""

import re

import pytest

from harness import Database, Load, Outbox, Postgres, wait_until
from harness.matrix import LONG
from harness.redis import (RedisServer, RedisTrio, judge_redis_once,
                           redis_section)
from harness.redis_client import RedisReader

_ROUNDS = 3 if LONG else 1


@pytest.fixture
def trio(directory):
    made = RedisTrio(directory / "trio").start()
    yield made
    made.close()


@pytest.fixture
def own_redis(directory):
    server = RedisServer(directory / "redis").start()
    yield server
    server.close()


def test_p1_p3_the_master_of_three_dies(walpost, database, topics, outbox,
                                        trio, dice):
    relay = walpost(database, trio.servers[0], topics,
                    **trio.section(replicas=1)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for _ in range(_ROUNDS):
            load.wait(100)
            old = trio.master()
            old.kill()
            trio.wait_failover(old)
            old.start()
            relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, trio.master(), relay)


def test_p1_p3_the_master_of_three_freezes(walpost, database, topics, outbox,
                                           trio, dice):
    relay = walpost(database, trio.servers[0], topics, **trio.section(
        replicas=1, durability="memory", timeout="2s")).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        old = trio.master()
        old.freeze()
        new = trio.wait_failover(old)
        relay.wait_ready(60)
        old.thaw()
        load.wait(100)
    judge_redis_once(outbox, new, relay)


def test_p1_a_replica_of_three_dies(walpost, database, topics, outbox, trio,
                                    dice):
    relay = walpost(database, trio.servers[0], topics,
                    **trio.section(replicas=1)).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        trio.servers[1].kill()
        relay.wait_acknowledged(100)
        # Without any, nothing is acknowledged.
        trio.servers[2].kill()
        relay.wait_unready("0 of 1 replicas", seconds=30)
        trio.servers[2].start()
        relay.wait_ready(60)
        load.wait(100)
    judge_redis_once(outbox, trio.servers[0], relay)


def test_p9_what_a_promoted_replica_lacks_is_named(
        walpost, database, topics, outbox, trio):
    """Less than the replicas was asked for: the loss is said."""
    relay = walpost(database, trio.servers[0], topics, **trio.section(
        durability="memory", timeout="2s")).run()
    for number in range(10):
        outbox.insert("order", "k", str(number))
    database.wait_confirmed(relay.slot)
    wait_until(lambda: all(server.ask("XLEN", topics + "order") == 10
                           for server in trio.servers), "the replicas")
    # A frozen one would find the entry in its socket.
    for replica in trio.servers[1:]:
        replica.kill()
    outbox.insert("order", "k", "10")
    database.wait_confirmed(relay.slot)  # acknowledged by the master alone
    trio.servers[0].kill()
    for replica in trio.servers[1:]:
        replica.start()
    trio.wait_failover(trio.servers[0])
    text = relay.wait_unready(re.escape(topics + "order"), seconds=60)
    assert "has come to" in text, text


def test_p1_p3_p5_a_promotion_to_another_timeline_repeats_nothing(
        walpost, directory, major_17, own_redis, topics):
    """LSNs go on after it, and so do the ids of the entries."""
    primary = Postgres(directory / "primary", major_17).start()
    standby = primary.make_standby(directory / "standby", "standby",
                                   sync_replication_slots="on").start()
    try:
        primary.stop()
        primary.configure(synchronized_standby_slots="standby")
        primary.start()
        database = Database(primary)
        outbox = Outbox(database, topics)
        relay = walpost(database, own_redis, topics, **{
            **redis_section(own_redis), "postgres": {
                "conninfo": "host=127.0.0.1,127.0.0.1 "
                            f"port={primary.port},{standby.port} "
                            f"dbname={database.name} user=postgres "
                            "target_session_attrs=read-write",
                "failover": True}}).run()
        with Load(outbox, seed=1, pause=0.005) as load:
            standby.wait_synchronised(database, database.name)
            relay.wait_acknowledged(100)
            primary.crash()
            standby.promote()
            database.move_to(standby)
            relay.wait_log("was promoted", seconds=30)
            relay.wait_ready(60)
            load.wait(200)
        judge_redis_once(outbox, own_redis, relay)
        timelines = {
            fields["header.walpost-position"][:8]
            for stream in RedisReader(own_redis.port).streams(topics)
            for _, fields in RedisReader(own_redis.port).entries(stream)}
        assert timelines == {b"00000001", b"00000002"}
        assert "has passed the place" not in relay.log()
    finally:
        primary.close()
        standby.close()
