"""Private NATS servers with JetStream, and the judge of what has come there."""

import contextlib
import functools
import json
import pathlib
import shutil
import signal
import subprocess
import time

from harness.checker import Checker
from harness.figures import note
from harness.judge import MOST_MEMORY
from harness.nats_client import NatsClient, NatsReader
from harness.paths import REPOSITORY
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

_MIB = 1 << 20


class Nats:
    """One nats-server. Port and data stay the same through stop(), kill() and
    start(). `settings` is text for its configuration."""

    def __init__(self, directory, settings="", user=None, name="node"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.bootstrap = self.url
        self.name = name
        self._user = user
        self._process = None
        self.configure(settings)

    def configure(self, settings):
        """For the next start, or reload()."""
        (self.directory / "nats.conf").write_text(
            f"server_name: {self.name}\nlisten: \"127.0.0.1:{self.port}\"\n"
            f"jetstream {{store_dir: \"{self.directory}/data\"}}\n{settings}\n")

    def launch(self):
        self._process = Process(
            [shutil.which("nats-server") or "/usr/sbin/nats-server",
             "-c", self.directory / "nats.conf"], self.directory / "nats.log")
        return self

    @property
    def pid(self):
        return self._process.pid

    def start(self, seconds=30):
        self.launch()
        wait_until(self._answers, lambda: "NATS to start:\n" +
                   self._process.log_tail(), seconds)
        return self

    def client(self):
        return NatsClient(self.port, *(self._user or ()))

    def api(self, request, **body):
        with self.client() as client:
            return client.api(request, **body)

    def make_stream(self, name, subjects, **settings):
        answer = self.api(f"STREAM.CREATE.{name}", **{
            "name": name, "subjects": subjects, "storage": "file",
            "retention": "limits", "max_msgs": -1, "max_bytes": -1,
            "max_consumers": -1, "num_replicas": 1, **settings})
        assert "error" not in answer, answer
        return answer

    def edit_stream(self, name, **changes):
        config = self.api(f"STREAM.INFO.{name}")["config"]
        answer = self.api(f"STREAM.UPDATE.{name}", **{**config, **changes})
        assert "error" not in answer, answer

    def read_all(self, prefix=""):
        with self.client() as client:
            return NatsReader(client).read_all(prefix)

    def _answers(self):
        try:
            return "error" not in self.api("INFO")
        except OSError:
            return False

    def stop(self):
        self._process.end(signal.SIGTERM)

    def kill(self):
        self._process.end(signal.SIGKILL)

    def freeze(self):
        self._process.send(signal.SIGSTOP)

    def thaw(self):
        self._process.send(signal.SIGCONT)

    def reload(self):
        self._process.send(signal.SIGHUP)

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)


class NatsCluster:
    """Three servers that keep streams together."""

    def __init__(self, directory, nodes=3):
        ports = [free_port() for _ in range(nodes)]
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in ports)
        self.nodes = [
            Nats(pathlib.Path(directory) / f"node-{number}",
                 f"cluster {{name: shop, listen: \"127.0.0.1:{port}\", "
                 f"routes: [{routes}]}}", name=f"node-{number}")
            for number, port in enumerate(ports)]
        self.bootstrap = ",".join(node.url for node in self.nodes)

    def start(self):
        for node in self.nodes:
            node.launch()
        wait_until(self._has_leader, "the cluster to have a leader", 60,
                   pause=0.2)
        return self

    def _has_leader(self):
        try:
            return all("error" not in node.api("INFO") for node in self.nodes)
        except OSError:
            return False

    def make_stream(self, name, subjects, **settings):
        def made():
            try:
                return self.nodes[0].make_stream(
                    name, subjects, **{"num_replicas": 3, **settings})
            except (AssertionError, OSError):
                return None  # peers are not known yet
        return wait_until(made, f"stream {name}", 30, pause=0.3)

    def leader_of(self, stream):
        """The node that leads it."""
        def leader():
            for node in self.nodes:
                try:
                    info = node.api(f"STREAM.INFO.{stream}")
                except OSError:
                    continue
                name = info.get("cluster", {}).get("leader")
                if name:
                    return next(one for one in self.nodes if one.name == name)
            return None
        return wait_until(leader, f"a leader of {stream}", 60, pause=0.2)

    def wait_in_sync(self, stream, seconds=60):
        def in_sync():
            try:
                info = self.leader_of(stream).api(f"STREAM.INFO.{stream}")
            except OSError:
                return False
            replicas = info.get("cluster", {}).get("replicas", [])
            return len(replicas) == len(self.nodes) - 1 and all(
                one["current"] for one in replicas)
        wait_until(in_sync, f"the replicas of {stream}", seconds, pause=0.2)

    def read_all(self, prefix=""):
        """By any node that answers: one that was frozen is late."""
        def read():
            for node in self.nodes:
                try:
                    return [node.read_all(prefix)]
                except (OSError, KeyError):
                    continue
            return None
        return wait_until(read, "a node to answer", 60)[0]

    def close(self):
        for node in self.nodes:
            node.close()


def sections(servers, **more):
    """The sections of walpost's configuration for the walpost fixture."""
    return {"sink": "nats", "kafka": None,
            "nats": {"servers": servers, **more}}


def judge_nats(outbox, broker, relay, *, takeover=False, at_least=100,
               seconds=120):
    """Holds the relay to P1 to P6, now that the fault is over."""
    outbox.database.wait_confirmed(relay.slot, seconds=seconds)
    expected = outbox.expected()
    for node in getattr(broker, "nodes", [broker]):  # shown if it fails
        with contextlib.suppress(OSError):
            print(node.name, node.api("STREAM.LIST"))
    checker = Checker(expected, broker.read_all(outbox.topic_prefix),
                      takeover=takeover)
    peak = relay.peak_memory_bytes()
    note(f"{checker.summary()}, at most {peak / _MIB:.1f} MiB resident")
    checker.assert_clean()
    assert len(expected) >= at_least, "too few events to judge by"
    assert peak < MOST_MEMORY, f"{peak / _MIB:.1f} MiB resident"
    return checker


@functools.cache
def nats_cli():
    """The program `nats`."""
    return subprocess.run([REPOSITORY / "scripts" / "fetch-nats"], check=True,
                          text=True, stdout=subprocess.PIPE).stdout.strip()


def wait_records(broker, prefix, count, seconds=30):
    """Waits for so many messages; returns all."""
    deadline = time.monotonic() + seconds
    while True:
        records = broker.read_all(prefix)
        if len(records) >= count:
            return records
        assert time.monotonic() < deadline, json.dumps(
            [record.topic for record in records])
        time.sleep(0.1)
