"""A private Apache Kafka broker."""

import base64
import pathlib
import secrets
import signal
import subprocess

from harness.paths import kafka_jars
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

# Small and quick to start; a test is over before the big compiler pays.
_JVM = ["-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-Xshare:auto"]

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %c{1}: %m%n
"""


class Kafka:
    """One KRaft node, broker and controller, on free ports.

    Topics are created by the first record, with `partitions` partitions.
    `properties` are added to server.properties. Ports and data stay the same
    through stop(), kill() and start().

    With `advertised_port` it also listens on `behind_port`, and tells who
    comes that way to go to `advertised_port`: that of a Proxy.
    """

    def __init__(self, directory, partitions=4, properties=None,
                 advertised_port=None, controller=None, cluster_id=None,
                 jvm=()):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        self._process = None
        self._jvm = [*_JVM, *jvm]
        self._cluster_id = cluster_id or new_cluster_id()
        self._controller = controller or f"127.0.0.1:{free_port()}"
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.behind_port = free_port() if advertised_port else None
        self._config = self._directory / "server.properties"
        self._config.write_text(_lines(
            self._properties(partitions) | self._behind(advertised_port)
            | (properties or {})))
        (self._directory / "log4j2.properties").write_text(_LOG4J)
        self._format()

    def start(self, seconds=120):
        return self.launch().wait_started(seconds)

    def launch(self):
        """Starts it, and does not wait."""
        self._process = Process(
            ["java", *self._jvm, f"-Dlog4j2.configurationFile={self._directory}"
             "/log4j2.properties", "-cp", _class_path(), "kafka.Kafka",
             self._config],
            self._directory / "kafka.log", cwd=self._directory)
        return self

    def wait_started(self, seconds=120):
        wait_until(self._answers, lambda: "Kafka to start:\n" +
                   self._process.log_tail(), seconds, pause=0.2)
        return self

    def stop(self):
        """Ends the broker in an orderly way."""
        self._process.end(signal.SIGTERM, seconds=30)

    def kill(self):
        """Ends the broker at once."""
        self._process.send(signal.SIGKILL)
        self._process.wait(10)

    def freeze(self):
        """Halts the broker: connections stay open, nothing is answered."""
        self._process.send(signal.SIGSTOP)

    def thaw(self):
        self._process.send(signal.SIGCONT)

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def create_topic(self, name, partitions, **config):
        create_topic(self.bootstrap, name, partitions, **config)

    def _answers(self):
        if not self._process.running():
            raise RuntimeError("Kafka ended while starting:\n" +
                               self._process.log_tail())
        asked = subprocess.run(
            ["kcat", "-b", self.bootstrap, "-L", "-J", "-m", "2"],
            capture_output=True, text=True)
        return asked.returncode == 0 and '"brokers":[{' in asked.stdout

    def delete_topic(self, name):
        delete_topic(self.bootstrap, name)

    def _format(self):
        formatting = Process(
            ["java", *_JVM, "-cp", _class_path(), "kafka.tools.StorageTool",
             "format", "-t", self._cluster_id, "-c", self._config],
            self._directory / "format.log")
        if formatting.wait(120) != 0:
            raise RuntimeError("Kafka's StorageTool failed:\n" +
                               formatting.log_tail())

    def _properties(self, partitions):
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{self._controller}",
            "listeners": f"BROKER://{self.bootstrap},"
                         f"CONTROLLER://{self._controller}",
            "advertised.listeners": f"BROKER://{self.bootstrap}",
            "listener.security.protocol.map":
                "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "BROKER",
            "log.dirs": self._directory / "data",
            "num.partitions": partitions,
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "controlled.shutdown.enable": "false",
            # So that a killed broker may come back soon.
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
        }

    def _behind(self, advertised_port):
        """The listener that is reached through a Proxy."""
        if advertised_port is None:
            return {}
        own = self._properties(0)
        return {
            name: f"{own[name]},{listener}" for name, listener in (
                ("listeners", f"BEHIND://127.0.0.1:{self.behind_port}"),
                ("advertised.listeners",
                 f"BEHIND://127.0.0.1:{advertised_port}"),
                ("listener.security.protocol.map", "BEHIND:PLAINTEXT"))}


def new_cluster_id():
    # Its text must not begin with a dash: that would be an option.
    cluster = base64.urlsafe_b64encode(b"w" + secrets.token_bytes(15))
    return cluster.decode().rstrip("=")


def create_topic(bootstrap, name, partitions, **config):
    """Creates a topic by hand; settings like max_message_bytes=1000."""
    settings = [word for key, value in config.items()
                for word in ("--config", f"{key.replace('_', '.')}={value}")]
    _topic_command(bootstrap, "--create", "--topic", name, "--partitions",
                   str(partitions), *settings)


def delete_topic(bootstrap, name):
    _topic_command(bootstrap, "--delete", "--topic", name)


def _topic_command(bootstrap, *words):
    subprocess.run(
        ["java", *_JVM, "-cp", _class_path(),
         "org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
         bootstrap, *words],
        check=True, capture_output=True, timeout=60)


def _class_path():
    return f"{kafka_jars()}/*"


def _lines(properties):
    return "".join(f"{key}={value}\n" for key, value in properties.items())
