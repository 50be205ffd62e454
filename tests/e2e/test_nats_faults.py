"""sink: nats, and what dies beside it: walpost, one server of three, the only
one, the network, the disk.

The long form of the suite kills walpost 20 times, the short form 4 times.
WALPOST_SEED replays a run that failed.
"""

import os
import signal
import time

import pytest

from harness import Load, Outbox, note, wait_until
from harness.matrix import LONG
from harness.nats import Nats, NatsCluster, judge_nats, sections

_CRASHES = int(os.environ.get("WALPOST_CRASHES", "20" if LONG else "4"))
_PAUSE_S = 0.02


@pytest.fixture(scope="module")
def cluster(module_directory):
    servers = NatsCluster(module_directory / "nats-cluster").start()
    yield servers
    servers.close()


@pytest.fixture(scope="module")
def nats(module_directory):
    """The only server; a test that harms it mends it."""
    server = Nats(module_directory / "nats").start()
    yield server
    server.close()


@pytest.fixture
def of_three(cluster, walpost, database, outbox, topics):
    """walpost, and the stream of three servers that it publishes to."""
    assert outbox.topic_prefix == topics
    stream = topics.rstrip(".").upper()
    cluster.make_stream(stream, [topics + ">"])
    cluster.wait_in_sync(stream)
    relay = walpost(database, cluster, topics,
                    **sections(cluster.bootstrap)).run()
    yield relay, stream
    cluster.nodes[0].api(f"STREAM.DELETE.{stream}")


@pytest.fixture
def alone(nats, walpost, database, outbox, topics):
    assert outbox.topic_prefix == topics
    nats.make_stream(topics.rstrip(".").upper(), [topics + ">"])
    return walpost(database, nats, topics, **sections(nats.url)).run()


def _acknowledged(relay):
    return relay.metric("walpost_acknowledged_records_total") or 0


def _wait_flow(relay, seconds=40):
    begun, before = time.monotonic(), _acknowledged(relay)
    wait_until(lambda: _acknowledged(relay) > before + 50,
               lambda: f"acknowledgements; {relay.get('/readyz')}\n"
                       f"{relay.log()[-3000:]}", seconds)
    return time.monotonic() - begun


def test_p1_p3_p5_walpost_is_killed(alone, nats, outbox, dice):
    with Load(outbox, dice.seed_text, pause=_PAUSE_S) as load:
        for _ in range(_CRASHES):
            time.sleep(dice.choice((0.02, 0.3, 1.5)) * (0.5 + dice.random()))
            alone.kill()
            alone.start()
        alone.wait_ready(60)
        load.wait(100)
    # What was sent twice came within the window of the stream.
    assert judge_nats(outbox, nats, alone).duplicates == 0
    assert alone.stop() == 0


@pytest.mark.parametrize("which", [
    "leader", pytest.param("connected", marks=pytest.mark.long)])
def test_p1_p2_p3_a_server_of_three_is_killed(of_three, cluster, outbox, dice,
                                              which):
    relay, stream = of_three
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(relay)
        node = (cluster.leader_of(stream) if which == "leader"
                else _connected(relay, cluster))
        node.kill()
        note(f"{_wait_flow(relay):.1f} s to the next records ({which})")
        node.start()
        cluster.wait_in_sync(stream)
        relay.wait_ready(60)
    assert judge_nats(outbox, cluster, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p2_p3_p10_the_leader_freezes(of_three, cluster, outbox, dice):
    relay, stream = of_three
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(relay)
        node = cluster.leader_of(stream)
        node.freeze()
        try:
            note(f"{_wait_flow(relay, 60):.1f} s to the next records")
        finally:
            node.thaw()
        cluster.wait_in_sync(stream)
        relay.wait_ready(60)
        _wait_flow(relay)
    # What the frozen server had taken comes late, and is dropped by its id.
    assert judge_nats(outbox, cluster, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p2_p10_without_a_quorum_nothing_is_confirmed(
        of_three, cluster, database, outbox, dice):
    relay, stream = of_three
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(relay)
        gone = cluster.nodes[1:]
        for node in gone:
            node.freeze()
        begun = time.monotonic()
        try:
            text = relay.wait_unready("", 20)
            note(f"noticed after {time.monotonic() - begun:.1f} s: {text:.70}")
            committed = database.current_lsn()
            time.sleep(1)
            assert database.confirmed_lsn(relay.slot) < committed
        finally:
            for node in gone:
                node.thaw()
        cluster.wait_in_sync(stream)
        relay.wait_ready(60)
        _wait_flow(relay)
    judge_nats(outbox, cluster, relay)
    assert relay.stop() == 0


@pytest.mark.long
def test_p1_p3_servers_are_restarted_one_by_one(of_three, cluster, outbox,
                                                dice):
    relay, stream = of_three
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(relay)
        for node in cluster.nodes:
            node.stop()
            note(f"{_wait_flow(relay):.1f} s to the next records")
            node.start()
            cluster.wait_in_sync(stream)
    assert judge_nats(outbox, cluster, relay).duplicates == 0


@pytest.mark.parametrize("end", [Nats.kill, Nats.stop])
@pytest.mark.sample(2)
def test_p1_p2_p3_p10_the_only_server_restarts(alone, nats, outbox, dice, end):
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(alone)
        end(nats)
        try:
            # A server that stops first says that nobody listens.
            alone.wait_unready("NATS|takes no message now", 20)
        finally:
            nats.start()
        alone.wait_ready(40)
        _wait_flow(alone)
    judge_nats(outbox, nats, alone)
    assert alone.stop() == 0


def test_p1_p2_p3_p10_the_network_is_cut(walpost, database, nats, outbox,
                                         topics, dice, proxy_of):
    nats.make_stream(topics.rstrip(".").upper(), [topics + ">"])
    way = proxy_of(nats.port)
    relay = walpost(database, nats, topics,
                    **sections(f"nats://127.0.0.1:{way.port}",
                               ack_timeout="2s")).run()
    with Load(outbox, dice.seed_text, pause=_PAUSE_S):
        _wait_flow(relay)
        way.cut()
        relay.wait_unready("", 20)
        way.heal()
        relay.wait_ready(40)
        way.reset()
        _wait_flow(relay)
        way.drop()
        _wait_flow(relay)
        way.split(7)
        _wait_flow(relay)
        way.clear()
    assert judge_nats(outbox, nats, relay).duplicates == 0
    assert relay.stop() == 0


def test_p1_p3_a_standby_takes_over(alone, walpost, nats, database, outbox,
                                    topics, dice):
    second = walpost(database, nats, topics, **sections(nats.url))
    with Load(outbox, dice.seed_text, pause=_PAUSE_S) as load:
        _wait_flow(alone)
        second.start()
        load.wait(50)
        alone.kill()
        second.wait_ready(60)
        _wait_flow(second)
    assert judge_nats(outbox, nats, second).duplicates == 0
    assert second.stop() == 0


def test_p1_p3_a_zombie_and_its_successor(alone, walpost, nats, database,
                                          outbox, topics, dice):
    """A frozen walpost goes on after another one has taken its slot."""
    second = walpost(database, nats, topics, **sections(nats.url))
    with Load(outbox, dice.seed_text, pause=_PAUSE_S) as load:
        _wait_flow(alone)
        alone.send(signal.SIGSTOP)
        database.execute(
            "select pg_terminate_backend(active_pid) from "
            "pg_replication_slots where slot_name = %s", (alone.slot,))
        second.run(seconds=60)
        load.wait(50)
        alone.send(signal.SIGCONT)
        _wait_flow(second)
    judge_nats(outbox, nats, second)
    alone.stop(30)
    assert second.stop() == 0


def test_p10_credentials_change(directory, walpost, database, outbox, topics):
    """A new password in the file is used without a restart."""
    def settings(password):
        return ("authorization {users: [{user: u, password: \"one\"}, "
                f"{{user: relay, password: \"{password}\"}}]}}")

    server = Nats(directory / "nats", settings("old"), user=("u", "one"))
    secret = directory / "password"
    secret.write_text("old")
    try:
        server.start()
        server.make_stream("S", [topics + ">"])
        relay = walpost(database, server, topics, **sections(
            server.url, user="relay",
            password=f"${{file:{secret}}}")).run()
        outbox.insert("order", "k", '{"n": 1}')
        relay.wait_ready()
        server.configure(settings("new"))
        server.reload()
        text = relay.wait_unready("credentials", 30)
        assert "nats.password" in text, text
        secret.write_text("new")
        relay.wait_ready(30)
        outbox.insert("order", "k", '{"n": 2}')
        database.wait_confirmed(relay.slot)
        assert len(server.read_all(topics)) == 2
        assert relay.stop() == 0
    finally:
        server.close()


@pytest.mark.long
def test_p10_a_denied_subject_is_said(directory, walpost, database, outbox,
                                      topics):
    server = Nats(directory / "nats",
                  "authorization {users: [{user: u, password: \"one\"}, "
                  "{user: relay, password: \"p\", permissions: {publish: "
                  "[\"$JS.API.>\"], subscribe: [\"_INBOX.>\"]}}]}",
                  user=("u", "one"))
    try:
        server.start()
        server.make_stream("S", [topics + ">"])
        relay = walpost(database, server, topics, **sections(
            server.url, user="relay", password="p")).run()
        outbox.insert("order", "k", '{"n": 1}')
        text = relay.wait_unready("may not publish to", 30)
        assert topics + "order" in text, text
        # Each attempt has a new sink, and none of them is news.
        wait_until(lambda: relay.metric("walpost_rewinds_total") >= 3, relay.log)
        assert relay.log().count("Permissions Violation") == 1, relay.log()
    finally:
        server.close()


def test_p1_p2_the_disk_of_jetstream_is_full(directory, walpost, database,
                                             topics, dice):
    server = Nats(directory / "nats")
    outbox = Outbox(database, topics)
    text = (server.directory / "nats.conf").read_text()
    (server.directory / "nats.conf").write_text(
        text.replace("jetstream {", "jetstream {max_file_store: 40KB, "))
    try:
        server.start()
        server.make_stream("S", [topics + ">"])
        relay = walpost(database, server, topics,
                        **sections(server.url)).run()
        with Load(outbox, dice.seed_text, pause=0.005) as load:
            load.wait(300)
        said = relay.wait_unready("disk of JetStream|no room left", 40)
        note(said[:90])
        assert database.confirmed_lsn(relay.slot) < database.current_lsn()
        server.stop()
        server.configure("")
        server.start()
        relay.wait_ready(60)
        judge_nats(outbox, server, relay)
    finally:
        server.close()


def _connected(relay, cluster):
    """The node that walpost has its connection to."""
    for node in cluster.nodes:
        port = f"{node.port:04X}"
        with open(f"/proc/{relay.pid}/net/tcp", encoding="ascii") as table:
            lines = [line.split() for line in table]
        mine = {os.readlink(f"/proc/{relay.pid}/fd/{fd}")
                for fd in os.listdir(f"/proc/{relay.pid}/fd")}
        if any(words[2].endswith(":" + port) and f"socket:[{words[9]}]" in mine
               for words in lines[1:]):
            return node
    raise KeyError("no connection")


@pytest.mark.long
def test_p9_a_stream_that_the_server_dates_anew_is_no_gap(
        walpost, directory, database, outbox, topics):
    """nats-server 2.9 does so after a restart, an edit, and a restart."""
    server = Nats(directory / "nats").start()
    try:
        name = topics.rstrip(".").upper()
        server.make_stream(name, [topics + ">"])
        relay = walpost(database, server, topics, **sections(server.url)).run()

        def restart(n):
            server.kill()
            server.start()
            outbox.insert("order", "k", f'{{"n": {n}}}')
            wait_until(lambda: len(server.read_all(topics)) == n,
                       lambda: f"event {n}: {relay.get('/readyz')}", 30)

        outbox.insert("order", "k", '{"n": 1}')
        wait_until(lambda: len(server.read_all(topics)) == 1, "the first", 30)
        before = server.api(f"STREAM.INFO.{name}")["created"]
        restart(2)
        server.edit_stream(name, max_msgs=1000)
        restart(3)
        after = server.api(f"STREAM.INFO.{name}")["created"]
        note("dated anew" if after != before else "dated as before")
        relay.wait_ready(30)
        assert [record.value for record in server.read_all(topics)] == [
            b'{"n": 1}', b'{"n": 2}', b'{"n": 3}']
        assert relay.stop() == 0
    finally:
        server.close()
