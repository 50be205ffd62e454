"""Several brokers, as in production."""

import json
import pathlib
import subprocess

from harness.brokers import Brokers
from harness.kafka import Kafka
from harness.kafka_java import new_id, run_tool
from harness.ports import free_port
from harness.proxy import Proxy
from harness.waiting import wait_until

_SMALL = ["-Xmx256m"]


class KafkaCluster(Brokers):
    """KRaft nodes that are brokers and controllers, all partitions on each.

    A record is acknowledged when it is on `min_insync` of them. `nodes` are
    Kafkas, to be stopped, killed and frozen one by one. What the others want of
    a node goes through `ways_to[node]`, a Proxy: once it is cut, they replicate
    nothing from that node, while clients and controllers still reach it.
    `far_ports[node]`: where clients are told to go whose way to the node is a
    RequestProxy, and where that one goes.
    """

    def __init__(self, directory, nodes=3, min_insync=2, partitions=4):
        directory = self._directory = pathlib.Path(directory)
        controllers = [f"127.0.0.1:{free_port()}" for _ in range(nodes)]
        voters = ",".join(f"{number}@{address}" for number, address
                          in enumerate(controllers, 1))
        cluster_id = new_id()
        ports = [free_port() for _ in range(nodes)]
        far = [(free_port(), free_port()) for _ in range(nodes)]
        self.nodes = [
            Kafka(directory / f"node-{number}", partitions,
                  controller=address, cluster_id=cluster_id, jvm=_SMALL,
                  advertised_port=port, listeners=_far_listener(*way),
                  properties={
                      "node.id": number,
                      "inter.broker.listener.name": "BEHIND",
                      "controller.quorum.voters": voters,
                      "default.replication.factor": nodes,
                      "min.insync.replicas": min_insync,
                      "offsets.topic.replication.factor": nodes,
                      "transaction.state.log.replication.factor": nodes,
                      "transaction.state.log.min.isr": min_insync,
                      "replica.lag.time.max.ms": 5000,
                      "controller.quorum.election.timeout.ms": 1000,
                      "controller.quorum.fetch.timeout.ms": 2000,
                      # A clean stop hands the leadership over first.
                      "controlled.shutdown.enable": "true",
                  })
            for number, (address, port, way)
            in enumerate(zip(controllers, ports, far), 1)]
        self.ways_to = {node: Proxy(node.behind_port, port)
                        for node, port in zip(self.nodes, ports)}
        self.far_ports = dict(zip(self.nodes, far))
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes)

    def start(self):
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_started()
        self.wait_in_sync()
        return self

    def wait_in_sync(self, seconds=60):
        """Waits until every partition is whole on every node."""
        wait_until(self._is_in_sync, "the replicas to be in sync", seconds,
                   pause=0.2)

    def leader_of(self, topic, partition=0):
        """The node that leads a partition."""
        for entry in self._metadata()["topics"]:
            if entry["topic"] == topic:
                return self.nodes[entry["partitions"][partition]["leader"] - 1]
        raise KeyError(topic)

    def move_leader(self, topic, partition=0):
        """Another node leads it when this returns; both are well."""
        leader = self.leader_of(topic, partition)
        order = [number for number, node in enumerate(self.nodes, 1)
                 if node is not leader]
        order.append(self.nodes.index(leader) + 1)
        plan = self._directory / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": topic, "partition": partition, "replicas": order}]}))
        run_tool(self.bootstrap, "reassign.ReassignPartitionsCommand",
                 "--execute", "--reassignment-json-file", plan)
        run_tool(self.bootstrap, "LeaderElectionCommand", "--election-type",
                 "preferred", "--topic", topic, "--partition", partition)
        wait_until(lambda: self.leader_of(topic, partition) is not leader,
                   f"another leader of {topic}", pause=0.2)

    def close(self):
        for node, way in self.ways_to.items():
            node.close()
            way.close()

    def _is_in_sync(self):
        metadata = self._metadata()
        return (len(metadata["brokers"]) == len(self.nodes) and all(
            len(partition["isrs"]) == len(self.nodes)
            and partition["leader"] > 0
            for entry in metadata["topics"]
            for partition in entry["partitions"]))

    def _metadata(self):
        asked = subprocess.run(
            ["kcat", "-b", self.bootstrap, "-L", "-J", "-m", "5"],
            capture_output=True, text=True)
        if asked.returncode != 0:
            return {"brokers": [], "topics": []}
        return json.loads(asked.stdout)


def _far_listener(target_port, advertised_port):
    return {"FAR": (f"127.0.0.1:{target_port}", "PLAINTEXT",
                    f"127.0.0.1:{advertised_port}")}
