"""Private RabbitMQ nodes, and a reader that is not ours (pika)."""

import dataclasses
import functools
import logging
import pathlib
import re
import signal
import subprocess
import sys
import time
import typing

from harness.checker import Checker
from harness.figures import note
from harness.judge import MOST_MEMORY
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

# Debian's package is for the system's Python, whichever one runs.
sys.path.append("/usr/lib/python3/dist-packages")
import pika  # noqa: E402  pylint: disable=wrong-import-position

# It tells of each attempt while a node starts.
logging.getLogger("pika").setLevel(logging.CRITICAL)

_BIN = pathlib.Path("/usr/lib/rabbitmq/bin")
_START_S = 240

_CONF = """\
loopback_users = none
vm_memory_high_watermark.absolute = 512MB
disk_free_limit.absolute = 1MB
log.console = true
log.file = false
cluster_partition_handling = ignore
"""


class Rabbitmq:
    """One node on free loopback ports, with a folder and an epmd of its own.

    `settings` are further lines of rabbitmq.conf. Ports and data stay the same
    through stop(), kill() and start().
    """

    # For the fixture `walpost`, which knows Kafka.
    bootstrap = ""

    def __init__(self, directory, settings="", epmd_port=None,
                 with_tls=False):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        self.port = free_port()
        self.tls_port = free_port()
        self._dist_port = free_port()
        self._is_own_epmd = epmd_port is None
        self.epmd_port = epmd_port or free_port()
        self.name = f"walpost{self.port}@localhost"
        self.address = f"127.0.0.1:{self.port}"
        self._epmd = None
        self._process = None
        if with_tls:
            settings += f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\n"
        (self._directory / "rabbitmq.conf").write_text(_CONF + settings)
        (self._directory / "plugins").write_text("[].\n")
        (self._directory / "env.conf").write_text("")

    def add_settings(self, lines):
        """Further lines of rabbitmq.conf, for the next start."""
        with open(self._directory / "rabbitmq.conf", "a") as conf:
            conf.write(lines)

    def _environment(self):
        folder = self._directory
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(self.epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env.conf"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-setcookie walpost +S 2:2 +sbwt none -kernel "
                "inet_dist_use_interface {127,0,0,1} -kernel net_ticktime 8",
            "RABBITMQ_CTL_ERL_ARGS": "-setcookie walpost",
            # Then the script becomes the server, and leaves no child behind.
            "RUNNING_UNDER_SYSTEMD": "1",
        }

    def launch(self):
        """Starts it, and does not wait."""
        environment = self._environment()
        if self._is_own_epmd and self._epmd is None:
            self._epmd = Process(
                ["epmd", "-port", self.epmd_port, "-address", "127.0.0.1"],
                self._directory / "epmd.log", env=environment)
        self._process = Process([_BIN / "rabbitmq-server"],
                                self._directory / "rabbitmq.log",
                                env=environment)
        return self

    def start(self):
        return self.launch().wait_started()

    def wait_started(self):
        def answers():
            if not self._process.running():
                raise RuntimeError("RabbitMQ ended:\n" +
                                   self._process.log_tail(60))
            try:
                self.connect().close()
            except (pika.exceptions.AMQPError, OSError):
                return False
            return True

        wait_until(answers, lambda: "RabbitMQ to start:\n" +
                   self._process.log_tail(), _START_S, pause=0.2)
        return self

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process is not None and self._process.running()

    def kill(self):
        self._process.end(signal.SIGKILL)

    def stop(self):
        """Ends it in an orderly way."""
        self._process.end(signal.SIGTERM, seconds=60)

    def freeze(self):
        self._process.send(signal.SIGSTOP)

    def thaw(self):
        self._process.send(signal.SIGCONT)

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)
        if self._epmd is not None:
            self._epmd.end(signal.SIGKILL)

    def log(self):
        return self._process.log()

    def control(self, *words, program="rabbitmqctl", seconds=120):
        """What rabbitmqctl prints."""
        ran = subprocess.run(
            [str(_BIN / program), "-q", *map(str, words)],
            capture_output=True, text=True, timeout=seconds,
            env=self._environment())
        assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def paste(self, command, seconds=120):
        """Runs a command line as walpost shows it."""
        environment = self._environment()
        environment["PATH"] = f"{_BIN}:{environment['PATH']}"
        return subprocess.run(["bash", "-c", command], check=True,
                              capture_output=True, text=True, timeout=seconds,
                              env=environment)

    # ---- With a client that is not ours.

    def connect(self, vhost="/", user="guest", password="guest"):
        return pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", self.port, vhost, heartbeat=60,
            credentials=pika.PlainCredentials(user, password),
            socket_timeout=5, blocked_connection_timeout=20))

    def declare_queue(self, name, vhost="/", **arguments):
        """A quorum queue; x_max_length=10 for x-max-length: 10."""
        arguments = {key.replace("_", "-"): value
                     for key, value in arguments.items()}
        connection = self.connect(vhost)
        connection.channel().queue_declare(
            name, durable=True,
            arguments={"x-queue-type": "quorum", **arguments})
        connection.close()

    def declare_classic_queue(self, name, durable=True):
        connection = self.connect()
        connection.channel().queue_declare(name, durable=durable)
        connection.close()

    def delete_queue(self, name):
        connection = self.connect()
        connection.channel().queue_delete(name)
        connection.close()

    def declare_exchange(self, name, kind="topic", bind=(), vhost="/"):
        """`bind`: pairs of a queue and a binding key."""
        connection = self.connect(vhost)
        channel = connection.channel()
        channel.exchange_declare(name, kind, durable=True)
        for queue, key in bind:
            channel.queue_bind(queue, name, key)
        connection.close()

    def delete_exchange(self, name):
        connection = self.connect()
        connection.channel().exchange_delete(name)
        connection.close()

    def read(self, queue):
        """Takes the messages out of a queue, in its order."""
        connection = self.connect()
        channel = connection.channel()
        found = []
        for method, properties, body in channel.consume(
                queue, auto_ack=True, inactivity_timeout=1):
            if method is None:
                break
            found.append(Message(method.exchange, method.routing_key,
                                 properties, body, len(found)))
        channel.cancel()
        connection.close()
        return found

    def count(self, queue):
        connection = self.connect()
        declared = connection.channel().queue_declare(queue, passive=True)
        connection.close()
        return declared.method.message_count

    def sync(self):
        """Writes to disk which quorum queues there are.

        RabbitMQ itself does so up to three minutes after a declaration: killed
        before, it begins such a queue again, empty, and what it had confirmed
        is lost.
        """
        self.control("eval", "[dets:sync(Table) || Table <- dets:all()].")

    def elect(self, queue):
        """Gives a queue of vhost / a leader, if it stays without one.

        After kill -9, a quorum queue on one node sometimes does (3.8 to 3.13:
        rabbitmq-server issue 10070).
        """
        self.control("eval",
                     f"ra:trigger_election({{'%2F_{queue}', node()}}).")

    def leader_of(self, queue):
        """The name of the node."""
        listing = self.control("list_queues", "name", "leader")
        return re.search(rf"^{re.escape(queue)}\t(\S+)$", listing, re.M)[1]


class RabbitmqCluster:
    """Three nodes, of which two make a quorum."""

    def __init__(self, directory, settings=""):
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True)
        first = Rabbitmq(directory / "0", settings)
        self.nodes = [first, *(
            Rabbitmq(directory / str(number), settings, first.epmd_port)
            for number in (1, 2))]
        names = "".join(
            f"cluster_formation.classic_config.nodes.{number} = {node.name}\n"
            for number, node in enumerate(self.nodes, 1))
        for node in self.nodes:
            node.add_settings(
                "cluster_formation.peer_discovery_backend = classic_config\n"
                + names)

    @property
    def addresses(self):
        return ",".join(node.address for node in self.nodes)

    def start(self):
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_started()

        def is_whole():
            running = self.nodes[0].control(
                "eval", "length(rabbit_nodes:all_running()).")
            return running.strip() == "3"

        wait_until(is_whole, "three nodes in one cluster", 120, pause=0.5)
        return self

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def close(self):
        for node in reversed(self.nodes):
            node.close()


@dataclasses.dataclass(frozen=True)
class Message:
    """A message as a consumer gets it, in the words of harness/checker.py.

    What is kept in order is a key: so each key is a partition of its own.
    """

    exchange: str
    routing_key: str
    properties: typing.Any
    body: bytes
    offset: int

    @property
    def topic(self):
        return self.routing_key

    @functools.cached_property
    def headers(self):
        return self.properties.headers or {}

    @property
    def key(self):
        key = self.headers.get("walpost-key")
        return key.encode() if isinstance(key, str) else key

    @property
    def partition(self):
        return self.key

    @property
    def value(self):
        return None if self.headers.get("walpost-null") else self.body

    @property
    def id(self):
        return self.properties.message_id

    @property
    def position(self):
        return self.headers["walpost-position"]

    @property
    def is_replayed(self):
        return "walpost-replay" in self.headers

    @property
    def is_recovered(self):
        return "walpost-recovered" in self.headers




def sink_to(nodes, /, **options):
    """The sections of a configuration that sends to RabbitMQ."""
    return {"sink": "rabbitmq", "kafka": None,
            "rabbitmq": {"nodes": nodes, **options}}


def judge(outbox, broker, queue, relay, *, takeover=False, at_least=100,
          seconds=180):
    """Holds the relay to P1 to P6, now that the fault is over.

    `queue` gets all messages of the relay. Returns the Checker.
    """
    outbox.database.wait_confirmed(relay.slot, seconds=seconds)
    expected = outbox.expected()
    checker = Checker(expected, broker.read(queue), takeover=takeover)
    peak = relay.peak_memory_bytes()
    note(f"{checker.summary()}, at most {peak / (1 << 20):.1f} MiB resident")
    checker.assert_clean()
    assert len(expected) >= at_least, "too few events to judge by"
    assert peak < MOST_MEMORY, f"{peak / (1 << 20):.1f} MiB resident"
    return checker


def declare_all(node, topics):
    """An exchange and a queue that gets all of its messages; returns the
    queue's name."""
    name = topics + "all"
    node.declare_queue(name)
    node.declare_exchange(topics + "events", bind=[(name, "#")])
    return name


def wait_flow(relay, seconds=60):
    """Waits until records are acknowledged again; returns the seconds."""
    def acknowledged():
        return relay.metric("walpost_acknowledged_records_total") or 0

    begun = time.monotonic()
    before = acknowledged()
    wait_until(lambda: acknowledged() > before + 50,
               lambda: f"acknowledgements; {relay.get('/readyz')}\n"
                       f"{relay.log()[-3000:]}", seconds)
    return time.monotonic() - begun
