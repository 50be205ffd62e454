"""What is NATS' about scripts/demo --sink nats."""

import threading
import time

from harness.nats import Nats
from harness.nats_client import read_along
from harness.waiting import wait_until


class Sink:
    """A server of its own, and a stream for the demo's subjects."""

    title = "NATS JetStream: private ones; WALPOST_PG may name a server of yours"
    reader = "a client that speaks NATS' protocol"

    def __init__(self):
        self._server = self._topic = None

    def start(self, folder, topic, cleanup):
        self._topic = topic
        self._server = Nats(folder / "nats")
        cleanup.callback(self._server.close)
        self._server.start()
        self._server.make_stream("ORDERS", [topic])

    def address(self):
        return f"NATS: {self._server.url}, stream ORDERS, subject {self._topic}"

    def sections(self):
        return {"sink": "nats", "nats": {"servers": self._server.url}}

    def consumer(self, _folder, topic, _cleanup):
        return _Consumer(self._server, topic)

    def reads(self, topic):
        return (f"nats --server {self._server.url} subscribe {topic} "
                "--stream ORDERS --all")


class _Consumer:
    """A subscription, reading along; notes when each message came."""

    def __init__(self, server, subject):
        self.records = []
        self.latencies = []  # milliseconds from commit
        client = server.client()
        messages = read_along(client, subject)
        next(messages)  # it listens
        threading.Thread(target=self._read, args=(messages,),
                         daemon=True).start()

    def wait_for(self, count):
        wait_until(lambda: len(self.records) >= count,
                   lambda: f"{count} messages; {len(self.records)} came", 60)

    def _read(self, messages):
        for record in messages:
            self.latencies.append(time.time() * 1000 - record.timestamp)
            self.records.append(record)
