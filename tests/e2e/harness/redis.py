"""Private Redis servers, and the judge of what has come there."""

import pathlib
import signal
import subprocess

from harness.checker import Checker
from harness.figures import note
from harness.judge import MOST_MEMORY
from harness.ports import free_port
from harness.process import Process
from harness.redis_client import RedisClient, RedisError, RedisReader
from harness.waiting import wait_until

_MIB = 1 << 20


class RedisServer:
    """One redis-server that syncs each write before it answers.

    `settings` are those of redis.conf, with `__` for `-`; None removes one.
    Port and data stay the same through stop(), kill() and start().
    """

    def __init__(self, directory, port=None, **settings):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        self._process = None
        self._settings = {
            "bind": "127.0.0.1", "port": self.port, "dir": self.directory,
            "save": '""', "appendonly": "yes", "appendfsync": "always",
            # Replicas of a test follow at once.
            "repl-diskless-sync-delay": 0, "repl-ping-replica-period": 1,
            **{name.replace("__", "-"): value
               for name, value in settings.items()}}

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    # For who takes any broker.
    bootstrap = address

    def start(self, seconds=30):
        config = self.directory / "redis.conf"
        if not config.exists():
            config.write_text("".join(
                f"{name} {value}\n" for name, value in self._settings.items()
                if value is not None))
        self._process = Process(self.command(config),
                                self.directory / "redis.log",
                                cwd=self.directory)
        wait_until(self._answers, lambda: "Redis to start:\n" +
                   self._process.log_tail(), seconds)
        return self

    def command(self, config):
        return ["redis-server", config]

    @property
    def pid(self):
        return self._process.pid

    def ask(self, *words):
        with RedisClient(self.port) as client:
            return client.ask(*words)

    def reader(self):
        return RedisReader(self.port)

    def client(self, password):
        client = RedisClient(self.port)
        client.ask("AUTH", password)
        return client

    def info(self, section, name):
        """A value of INFO."""
        text = self.ask("INFO", section).decode()
        return next((line.partition(":")[2] for line in text.splitlines()
                     if line.startswith(name + ":")), None)

    def stop(self):
        self._process.end(signal.SIGTERM)

    def kill(self):
        self._process.send(signal.SIGKILL)
        self._process.wait(10)

    def freeze(self):
        self._process.send(signal.SIGSTOP)

    def thaw(self):
        self._process.send(signal.SIGCONT)

    def running(self):
        return self._process is not None and self._process.running()

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def _answers(self):
        try:
            return self.ask("PING") == b"PONG"
        except RedisError as error:
            return "NOAUTH" in str(error) or "NOPERM" in str(error)
        except (OSError, ConnectionError):
            return False


class Sentinel(RedisServer):
    """Watches `master`, with a quorum of two."""

    def __init__(self, directory, master):
        super().__init__(directory)
        self._settings = {
            "bind": "127.0.0.1", "port": self.port, "dir": self.directory,
            "sentinel monitor": f"shop 127.0.0.1 {master.port} 2",
            "sentinel down-after-milliseconds": "shop 1000",
            "sentinel failover-timeout": "shop 4000"}

    def command(self, config):
        return ["redis-sentinel", config]

    def master_port(self):
        return int(self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop")[1])


class RedisTrio:
    """A master with two replicas, and three Sentinels."""

    def __init__(self, directory, **settings):
        directory = pathlib.Path(directory)
        first = RedisServer(directory / "redis-0", **settings)
        self.servers = [first] + [
            RedisServer(directory / f"redis-{number}",
                        replicaof=f"127.0.0.1 {first.port}", **settings)
            for number in (1, 2)]
        self.sentinels = [Sentinel(directory / f"sentinel-{number}", first)
                          for number in range(3)]

    def start(self):
        for server in self.servers + self.sentinels:
            server.start()
        wait_until(lambda: self.servers[0].info(
            "replication", "connected_slaves") == "2", "two replicas")
        wait_until(lambda: all(self._is_known(sentinel)
                               for sentinel in self.sentinels), "the Sentinels")
        return self

    @staticmethod
    def _is_known(sentinel):
        words = sentinel.ask("SENTINEL", "MASTER", "shop")
        facts = dict(zip(words[::2], words[1::2]))
        return (facts[b"num-slaves"], facts[b"num-other-sentinels"]) == (
            b"2", b"2")

    def master(self):
        port = self.sentinels[0].master_port()
        return next(server for server in self.servers if server.port == port)

    def wait_failover(self, old, seconds=60):
        """Waits for another master, which has said so itself."""
        def other():
            master = self.master()
            return (master is not old and master.running() and
                    master.info("replication", "role") == "master" and master)
        return wait_until(other, "a failover", seconds)

    def section(self, **more):
        return redis_section(None, sentinels=[
            sentinel.address for sentinel in self.sentinels], master="shop",
            **more)

    def close(self):
        for server in self.servers + self.sentinels:
            server.close()


class RedisCluster:
    """Three masters with a third of the hash slots each, and a replica of each
    of them. A test that harms it leaves it to mend()."""

    def __init__(self, directory, **settings):
        directory = pathlib.Path(directory)
        self.servers = [
            RedisServer(directory / f"node-{number}", cluster__enabled="yes",
                        cluster__port=free_port(),
                        cluster__node__timeout=1500, **settings)
            for number in range(6)]

    def start(self):
        for server in self.servers:
            server.start()
        done = subprocess.run(
            ["redis-cli", "--cluster", "create",
             *(server.address for server in self.servers),
             "--cluster-replicas", "1", "--cluster-yes"],
            capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        wait_until(self._is_whole, "the cluster", 60)
        return self

    def mend(self):
        """Restarts servers that are down, thaws frozen ones, and restores the
        settings and users of the start. Data and the places of slots stay."""
        for server in self.servers:
            server.thaw()
            if not server.running():
                server.start()
        for server in self.servers:
            server.ask("CONFIG", "SET", "appendfsync", "always",
                       "cluster-require-full-coverage", "yes")
            server.ask("ACL", "DELUSER", "walpost")
        wait_until(self._is_whole, "the cluster to be whole again", 60)

    def _is_whole(self):
        masters = self.masters()
        return (len(masters) == 3 and
                all(master.info("replication", "connected_slaves") == "1"
                    for master in masters) and
                all(server in masters or
                    server.info("replication", "master_link_status") == "up"
                    for server in self.servers) and
                all(b"cluster_state:ok" in server.ask("CLUSTER", "INFO")
                    for server in self.servers))

    def nodes(self):
        """(id, port, flags, slots as they are written) of each node."""
        server = next(one for one in self.servers if one.running())
        found = []
        for line in server.ask("CLUSTER", "NODES").decode().splitlines():
            node_id, place, flags, *_ = words = line.split()
            port = int(place.partition("@")[0].rpartition(":")[2])
            found.append((node_id, port, flags.split(","), words[8:]))
        return found

    def masters(self):
        ports = [port for _, port, flags, slots in self.nodes()
                 if "master" in flags and "fail" not in flags and slots]
        return [server for server in self.servers
                if server.port in ports and server.running()]

    def master_of(self, key):
        """The server that has the slot of `key`."""
        for server in self.masters():
            try:
                server.ask("TYPE", key)
                return server
            except RedisError as error:
                assert "MOVED" in str(error), error
        raise AssertionError(f"nobody has the slot of {key}")

    def servers_of(self, key):
        """The server that has the slot of `key`, and its replicas."""
        port = str(self.master_of(key).port)
        return [server for server in self.servers
                if port in (str(server.port),
                            server.info("replication", "master_port"))]

    def wait_failover(self, old, seconds=60):
        """Waits until other servers serve all slots."""
        def other():
            masters = self.masters()
            return old not in masters and len(masters) == 3 and all(
                b"cluster_state:ok" in server.ask("CLUSTER", "INFO")
                for server in masters)
        wait_until(other, "a failover", seconds)

    def begin_move(self, key):
        """Begins to move the slot of `key` to another master, and moves its
        keys, as redis-cli does. Returns the function that finishes it."""
        old = self.master_of(key)
        new = next(server for server in self.masters() if server is not old)
        slot = old.ask("CLUSTER", "KEYSLOT", key)
        ids = {port: node_id for node_id, port, *_ in self.nodes()}
        new.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[old.port])
        old.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[new.port])
        for found in old.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            old.ask("MIGRATE", "127.0.0.1", new.port, found, 0, 10_000)

        def finish():
            for server in (new, *self.masters()):
                server.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[new.port])
        return finish

    def reader(self):
        return _ClusterReader(self)

    def section(self, **more):
        return redis_section(None, cluster=[
            server.address for server in self.servers[:3]], **more)

    def close(self):
        for server in self.servers:
            server.close()


class _ClusterReader:
    """RedisReader of all masters."""

    def __init__(self, cluster):
        self._cluster = cluster

    def read_all(self, prefix):
        return [record for server in self._cluster.masters()
                for record in server.reader().read_all(prefix)]


def redis_section(server, **more):
    """The sections of a configuration whose sink is Redis."""
    address = {} if server is None else {"address": server.address}
    return {"kafka": None, "sink": "redis", "redis": {**address, **more}}


def judge_redis(outbox, server, relay, *, takeover=False, at_least=100,
                seconds=120):
    """Holds the relay to its promises, now that the fault is over: waits until
    the slot is confirmed to now, and compares what was committed with the
    streams. Returns the Checker.
    """
    outbox.database.wait_confirmed(relay.slot, seconds=seconds)
    expected = outbox.expected()
    records = server.reader().read_all(outbox.topic_prefix)
    checker = Checker(expected, records, takeover=takeover)
    peak = relay.peak_memory_bytes()
    note(f"{checker.summary()}, at most {peak / _MIB:.1f} MiB resident")
    checker.assert_clean()
    assert len(expected) >= at_least, "too few events to judge by"
    assert peak < MOST_MEMORY, f"{peak / _MIB:.1f} MiB resident"
    return checker


def judge_redis_once(outbox, server, relay, **options):
    """The same, and no event is there twice (P5)."""
    checker = judge_redis(outbox, server, relay, **options)
    assert checker.duplicates == 0, checker.summary()
    return checker
