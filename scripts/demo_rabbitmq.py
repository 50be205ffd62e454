"""What is RabbitMQ's about scripts/demo --sink rabbitmq."""

import threading
import time

from harness.rabbitmq import Message, Rabbitmq, pika, sink_to
from harness.waiting import wait_until


class Sink:
    """A node of its own, with a quorum queue."""

    title = "RabbitMQ: private ones; WALPOST_PG may name a server of yours"
    reader = "pika"

    def __init__(self):
        self._node = self._queue = None

    def start(self, folder, topic, cleanup):
        self._queue = topic
        self._node = Rabbitmq(folder / "rabbitmq")
        cleanup.callback(self._node.close)
        self._node.start()
        self._node.declare_queue(topic)

    def address(self):
        return f"RabbitMQ: {self._node.address}, queue {self._queue}"

    def sections(self):
        sections = sink_to(self._node.address)
        return {name: section for name, section in sections.items()
                if section is not None}

    def consumer(self, _folder, topic, _cleanup):
        return _Consumer(self._node, topic)

    def reads(self, topic):
        return (f"rabbitmqadmin --port HTTP_PORT get queue={topic}   (with the "
                "plugin rabbitmq_management)")


class _Consumer:
    """Reads along; notes when each message came."""

    def __init__(self, node, queue):
        self.records = []
        self.latencies = []  # milliseconds from commit
        self._queue = queue
        self._channel = node.connect().channel()
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, count):
        wait_until(lambda: len(self.records) >= count,
                   lambda: f"{count} messages; {len(self.records)} came", 60)

    def _read(self):
        try:
            self._read_along()
        except pika.exceptions.AMQPError:
            pass  # the node has ended before us

    def _read_along(self):
        for method, properties, body in self._channel.consume(
                self._queue, auto_ack=True):
            now = time.time() * 1000
            message = Message(method.exchange, method.routing_key, properties,
                              body, len(self.records))
            self.latencies.append(now - message.headers["timestamp_in_ms"])
            self.records.append(message)
