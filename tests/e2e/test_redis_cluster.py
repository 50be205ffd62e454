"""The sink for Redis Streams, with a Redis Cluster (docs/redis.md)."""

import itertools
import re
import shlex
import threading
import time

import pytest

from harness import Load, wait_until
from harness.matrix import LONG
from harness.pages import blocks
from harness.paths import REPOSITORY
from harness.redis import (RedisCluster, RedisServer, judge_redis_once,
                           redis_section)

_ROUNDS = 5 if LONG else 1
_SEQUENCES = itertools.count(1)
_KINDS = [f"kind-{number}" for number in range(12)]


@pytest.fixture(scope="module")
def shared_cluster(module_directory):
    """The cluster behind `cluster`."""
    made = RedisCluster(module_directory / "cluster").start()
    yield made
    made.close()


@pytest.fixture
def cluster(shared_cluster):
    """A cluster that the test may harm; the next test has it again, mended."""
    yield shared_cluster
    shared_cluster.mend()


@pytest.fixture
def relay_of(walpost, database, cluster, topics):
    def make(redis=None, **sections):
        return walpost(database, cluster.servers[0], topics, **{
            **cluster.section(**{"replicas": 1, **(redis or {})}), **sections})
    return make


def _spread(outbox, count):
    """Events of streams all over the cluster."""
    for number in range(count):
        outbox.insert(_KINDS[number % len(_KINDS)], f"k{number % 7}",
                      str(number), sequence=next(_SEQUENCES))


def test_p1_p3_p5_streams_are_where_their_slots_are(relay_of, cluster, outbox,
                                                    topics):
    relay = relay_of().run()
    _spread(outbox, 240)
    judge_redis_once(outbox, cluster, relay)
    nodes = {cluster.master_of(topics + kind).port for kind in _KINDS}
    assert len(nodes) == 3, nodes


def test_p1_p3_p6_more_slots_than_connections(relay_of, cluster, outbox):
    """Connections of slots that have no records make room."""
    relay = relay_of().run()
    for number in range(700):
        outbox.insert(f"many-{number % 350}", "k", str(number),
                      sequence=next(_SEQUENCES))
    judge_redis_once(outbox, cluster, relay)
    assert relay.metric("walpost_acknowledged_records_total") == 700
    # One each for 256 slots; nodes, replicas and this test have theirs, too.
    clients = sum(server.ask("CLIENT", "LIST").count(b"name=walpost")
                  for server in cluster.masters())
    assert 200 < clients <= 256, clients


def test_p1_p3_p5_walpost_is_killed(relay_of, cluster, outbox, database, dice):
    relay = relay_of().run()
    with Load(outbox, dice.seed_text, pause=0.002) as load:
        for _ in range(4 * _ROUNDS):
            _spread(outbox, 24)
            load.wait(50)
            relay.kill()
            relay.start()
        relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay)


def test_p1_p3_p5_masters_die(relay_of, cluster, outbox, topics, dice):
    relay = relay_of().run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        for number in range(_ROUNDS):
            _spread(outbox, 24)
            load.wait(100)
            # The one that has the load's streams, or another.
            key = topics + ("order" if number % 2 == 0 else _KINDS[number])
            old = cluster.master_of(key)
            old.kill()
            cluster.wait_failover(old)
            old.start()
            relay.wait_ready(60)
            wait_until(lambda old=old: old.info(
                "replication", "master_link_status") == "up", "the replica")
        _spread(outbox, 24)
        load.wait(100)
    judge_redis_once(outbox, cluster, relay)


def test_p1_p3_p5_p10_a_master_freezes(relay_of, cluster, outbox, topics,
                                       dice):
    relay = relay_of({"durability": "memory", "timeout": "2s"}).run()
    with Load(outbox, dice.seed_text, pause=0.005) as load:
        load.wait(100)
        old = cluster.master_of(topics + "order")
        old.freeze()
        relay.wait_unready(seconds=60)
        wait_until(lambda: _is_replaced(cluster, old), "a failover", 60)
        relay.wait_ready(60)
        old.thaw()
        load.wait(100)
    judge_redis_once(outbox, cluster, relay)


@pytest.mark.parametrize("full_coverage", ["yes", "no"])
@pytest.mark.sample(2)
def test_p10_servers_of_a_slot_that_are_down_are_named(
        relay_of, cluster, outbox, database, topics, full_coverage):
    """Its master and the replica, while the others answer."""
    for server in cluster.servers:
        server.ask("CONFIG", "SET", "cluster-require-full-coverage",
                   full_coverage)
    relay = relay_of().run()
    _spread(outbox, 24)
    database.wait_confirmed(relay.slot)
    stream = topics + _KINDS[3]
    lost = cluster.servers_of(stream)
    master = cluster.master_of(stream)
    for server in lost:
        server.kill()
    outbox.insert(_KINDS[3], "k", "1", sequence=next(_SEQUENCES))
    began = time.monotonic()
    relay.wait_unready(master.address, seconds=15)
    assert time.monotonic() - began < 11
    time.sleep(12)
    code, text = relay.get("/readyz")
    assert code == 503 and master.address in text, text
    assert stream in text, text
    for server in lost:
        server.start()
    relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay, at_least=25)


@pytest.mark.long
def test_p10_a_master_that_refuses_the_user_is_named(
        relay_of, cluster, outbox, database, topics):
    """It came back without its users; the others know them."""
    for server in cluster.servers:
        server.ask("ACL", "SETUSER", "walpost", "on", ">secret", "~*", "+@all")
    relay = relay_of({"user": "walpost", "password": "secret"}).run()
    _spread(outbox, 24)
    database.wait_confirmed(relay.slot)
    stream = topics + _KINDS[3]
    master = cluster.master_of(stream)
    master.ask("ACL", "DELUSER", "walpost")
    outbox.insert(_KINDS[3], "k", "1", sequence=next(_SEQUENCES))
    text = relay.wait_unready("WRONGPASS", seconds=11)
    assert master.address in text and stream in text, text
    # All streams of the node meet it.
    assert relay.log().count("WRONGPASS") < 10, relay.log()
    master.ask("ACL", "SETUSER", "walpost", "on", ">secret", "~*", "+@all")
    relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay, at_least=25)


@pytest.mark.long
def test_p10_a_first_start_needs_only_servers_with_events(
        relay_of, cluster, outbox, database, topics):
    """The servers of the first hash slot are down."""
    for server in cluster.servers:
        server.ask("CONFIG", "SET", "cluster-require-full-coverage", "no")
    key = next(key for key in map(str, itertools.count())
               if cluster.servers[0].ask("CLUSTER", "KEYSLOT", key) < 100)
    lost = cluster.servers_of(key)
    kinds = [kind for kind in _KINDS
             if cluster.master_of(topics + kind) not in lost]
    for server in lost:
        server.kill()
    alive = next(one for one in cluster.servers if one.running())
    wait_until(lambda: b"cluster_slots_fail:0" not in alive.ask(
        "CLUSTER", "INFO"), "the loss to be known")
    relay = relay_of().run()
    relay.wait_ready(30)
    for number, kind in enumerate(kinds):
        outbox.insert(kind, "k", str(number), sequence=next(_SEQUENCES))
    database.wait_confirmed(relay.slot)
    for server in lost:
        server.start()
    judge_redis_once(outbox, cluster, relay, at_least=len(kinds))


def _is_replaced(cluster, frozen):
    other = next(one for one in cluster.servers if one is not frozen)
    lines = other.ask("CLUSTER", "NODES").decode().splitlines()
    return any("fail" in line and f":{frozen.port}@" in line for line in lines)


def test_p1_p3_p5_slots_move(relay_of, cluster, outbox, topics, dice):
    relay = relay_of().run()
    with Load(outbox, dice.seed_text, pause=0.002) as load:
        for kind in ["order", "invoice", *_KINDS[:2 * _ROUNDS]]:
            _spread(outbox, 12)
            load.wait(50)
            cluster.begin_move(topics + kind)()
        _spread(outbox, 24)
        load.wait(50)
    relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay)


def test_p1_p3_a_slot_on_its_way_is_waited_for(relay_of, database, cluster,
                                               outbox, topics):
    """The stream is at the other node, which has not taken its slot yet."""
    relay = relay_of().run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(relay.slot)
    finish = cluster.begin_move(topics + "order")
    outbox.insert("order", "k", "2")
    relay.wait_unready("--cluster fix", seconds=90)
    finish()
    relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay, at_least=2)


@pytest.mark.long
def test_streams_of_a_hash_tag_share_a_node(relay_of, cluster, outbox, topics):
    relay = relay_of(route={
        "topic": topics + "\\{shop\\}.{aggregate_type}"}).run()
    _spread(outbox, 120)
    outbox.topic_prefix = topics + "{shop}."
    judge_redis_once(outbox, cluster, relay)
    nodes = {cluster.master_of(topics + "{shop}." + kind).port
             for kind in _KINDS}
    assert len(nodes) == 1, nodes
    stream = topics + "{shop}." + _KINDS[0]
    cluster.master_of(stream).ask("XTRIM", stream, "MAXLEN", "9")
    said = relay.verb("verify")
    assert said.returncode == 0, said
    relay.stop()
    for verb in (["recover"], ["replay", "--from-table", "--missing"]):
        said = relay.verb(*verb, "--dry-run", "--order-by", "sequence")
        assert said.returncode == 0, said


def test_p11_the_verbs_follow_slots_that_move(relay_of, cluster, outbox,
                                              database, topics):
    kinds = [f"kind-{number}" for number in range(60)]
    relay = relay_of().run()
    for number in range(240):
        outbox.insert(kinds[number % len(kinds)], "k", str(number),
                      sequence=next(_SEQUENCES))
    database.wait_confirmed(relay.slot)
    # All to one node: those that exchange slots at once may fall out over them.
    target = cluster.masters()[0]
    kinds = [kind for kind in kinds
             if cluster.master_of(topics + kind) is not target]
    finish = cluster.begin_move(topics + kinds.pop())
    said = relay.verb("verify")
    assert said.returncode == 0, said
    finish()
    over = threading.Event()
    moves = []

    def move():
        while kinds and not over.wait(0.1):
            cluster.begin_move(topics + kinds.pop())()
            moves.append(time.monotonic())

    mover = threading.Thread(target=move)
    mover.start()
    try:
        said = [relay.verb(*verb) for verb in [
            ["verify"], ["verify"], ["verify"], ["verify"],
            ["replay", "--from-table", "--missing", "--order-by", "sequence"]]]
        relay.stop()
        said.append(relay.verb("recover", "--dry-run", "--order-by",
                               "sequence"))
    finally:
        over.set()
        mover.join()
    assert all(one.returncode == 0 for one in said), said
    assert len(moves) > 4, moves
    relay.start()
    relay.wait_ready(60)
    judge_redis_once(outbox, cluster, relay)


@pytest.mark.long
def test_p11_verify_waits_for_a_failover(relay_of, cluster, outbox, database,
                                         topics):
    relay = relay_of().run()
    _spread(outbox, 36)
    database.wait_confirmed(relay.slot)
    lost = cluster.servers_of(topics + _KINDS[0])
    cluster.master_of(topics + _KINDS[0]).kill()
    said = relay.verb("verify")
    assert said.returncode == 0, said
    for server in lost:
        server.kill()
    relay.stop()
    said = relay.verb("verify")
    assert said.returncode == 4, said
    assert "redis-cli --cluster check" in said.stderr, said


@pytest.mark.long
def test_p9_a_stream_that_is_deleted_is_named_and_filled(
        relay_of, database, cluster, outbox, topics):
    relay = relay_of(checkpoint={"store": "postgres"}).run()
    _spread(outbox, 36)
    database.wait_confirmed(relay.slot)
    relay.stop()
    stream = topics + _KINDS[5]
    cluster.master_of(stream).ask("DEL", stream)
    relay.start()
    relay.wait_log(r"\[kafka_replaced\] stream " + re.escape(stream))
    relay.stop()
    said = relay.verb("recover", "--order-by", "sequence")
    assert said.returncode == 0, said
    relay.start()
    relay.wait_ready()
    judge_redis_once(outbox, cluster, relay, at_least=36)
    assert relay.verb("verify").returncode == 0


def test_check_looks_at_every_master(relay_of, cluster, outbox, topics):
    relay = relay_of()
    said = relay.verb("check")
    assert said.returncode == 0, said
    for server in cluster.masters():
        assert f"Redis at {server.address}" in said.stdout, said
    cluster.masters()[2].ask("CONFIG", "SET", "appendfsync", "everysec")
    said = relay.verb("check")
    assert said.returncode != 0 and "appendfsync everysec" in said.stdout, said


@pytest.mark.long
def test_check_says_which_key_names_the_servers(walpost, database, cluster,
                                                directory, topics, outbox):
    node = cluster.masters()[0]
    said = walpost(database, node, topics,
                   **redis_section(node)).verb("check")
    assert said.returncode != 0, said
    assert "redis.cluster: [its address" in said.stdout, said
    alone = RedisServer(directory / "alone").start()
    try:
        said = walpost(database, alone, topics, **redis_section(
            None, cluster=[alone.address])).verb("check")
    finally:
        alone.close()
    assert said.returncode != 0, said
    assert "redis.address in place of redis.cluster" in said.stdout, said


def test_the_rights_of_the_page_are_enough(relay_of, database, cluster,
                                           outbox, topics):
    [rights] = [block.text for block in blocks()
                if block.page == "docs/redis.md" and
                block.text.startswith("ACL SETUSER")]
    rights = rights.replace("PASSWORD", "secret").replace("outbox.event.",
                                                          topics)
    page = (REPOSITORY / "docs" / "redis.md").read_text()
    more = re.findall(r"`(\+cluster\|\w+)`", page)
    assert len(more) == 2, more
    for server in cluster.servers:
        server.ask(*shlex.split(rights))
    relay = relay_of({"user": "walpost", "password": "secret"})
    said = relay.verb("check")
    assert said.returncode != 0 and "+cluster|slots" in said.stdout, said
    for server in cluster.servers:
        server.ask("ACL", "SETUSER", "walpost", *more)
    said = relay.verb("check")
    assert said.returncode == 0, said
    relay.run()
    _spread(outbox, 24)
    judge_redis_once(outbox, cluster, relay, at_least=24)
    said = relay.verb("verify")
    assert said.returncode == 0, said


@pytest.mark.parametrize("keys, named", [
    ({"address": "127.0.0.1:1"}, "exclude each other"),
    ({"database": 1}, "only database 0"),
])
@pytest.mark.long
def test_refusals_name_the_key(relay_of, outbox, keys, named):
    said = relay_of(keys).verb("check", "--offline")
    assert said.returncode != 0 and named in said.stdout + said.stderr, said
