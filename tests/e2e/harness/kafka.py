"""A private Apache Kafka broker."""

import pathlib
import signal

from harness.brokers import Brokers
from harness.kafka_java import answers, format_folder, java, new_id
from harness.ports import free_port, is_open
from harness.process import Process
from harness.waiting import wait_until

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %c{1}: %m%n
"""


class Kafka(Brokers):
    """One KRaft node, broker and controller, on free ports.

    Topics are created by the first record, with `partitions` partitions.
    `properties` are added to server.properties. Ports and data stay the same
    through stop(), kill() and start().

    With `advertised_port` it also listens on `behind_port`, and tells who
    comes that way to go to `advertised_port`: that of a Proxy. `listeners` are
    further ones: name -> (address, protocol), and the address to go to, if that
    is another.
    """

    def __init__(self, directory, partitions=4, properties=None,
                 advertised_port=None, controller=None, cluster_id=None,
                 jvm=(), listeners=None):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        self._process = None
        self._jvm = jvm
        self._controller = controller or f"127.0.0.1:{free_port()}"
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.behind_port = free_port() if advertised_port else None
        self._config = self._directory / "server.properties"
        further = {
            name: (address, (*advertised, address)[0], protocol) for
            name, (address, protocol, *advertised) in (listeners or {}).items()}
        if advertised_port:
            further["BEHIND"] = (f"127.0.0.1:{self.behind_port}",
                                 f"127.0.0.1:{advertised_port}", "PLAINTEXT")
        settings = _with_listeners(self._properties(partitions), further)
        settings |= properties or {}
        self._config.write_text(_lines(settings))
        (self._directory / "log4j2.properties").write_text(_LOG4J)
        format_folder(settings["log.dirs"], settings["node.id"],
                      cluster_id or new_id())

    def start(self, seconds=120):
        return self.launch().wait_started(seconds)

    def launch(self):
        """Starts it, and does not wait."""
        self._process = Process(
            java("kafka.Kafka", self._config,
                 jvm=[*self._jvm, "-Dlog4j2.configurationFile="
                      f"{self._directory}/log4j2.properties"]),
            self._directory / "kafka.log", cwd=self._directory)
        return self

    def wait_started(self, seconds=120):
        wait_until(self._answers, lambda: "Kafka to start:\n" +
                   self._process.log_tail(), seconds)
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

    def mend(self):
        """Makes good what freeze(), kill() and stop() have done."""
        self.thaw()
        if not self._process.running():
            print("--- end of Kafka's log\n" + self._process.log_tail())
            self.launch()
        self.wait_started()

    def close(self):
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def _answers(self):
        if not self._process.running():
            raise RuntimeError("Kafka ended while starting:\n" +
                               self._process.log_tail())
        # kcat would try for two seconds.
        return is_open(self.bootstrap) and answers(self.bootstrap)

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


def _with_listeners(settings, further):
    """`further`: name -> (address, advertised address, protocol)."""
    added = {"listeners": "", "advertised.listeners": "",
             "listener.security.protocol.map": ""}
    for name, (address, advertised, protocol) in further.items():
        added["listeners"] += f",{name}://{address}"
        added["advertised.listeners"] += f",{name}://{advertised}"
        added["listener.security.protocol.map"] += f",{name}:{protocol}"
    return settings | {key: settings[key] + text
                       for key, text in added.items()}


def _lines(properties):
    return "".join(f"{key}={value}\n" for key, value in properties.items())
