"""The brokers that are compared: a server, the contenders' settings, readers.

Each reader is a client of its own, none of ours: it counts what is there, and
follows what comes. All contenders write to the same place, which is made anew
for each run.
"""

import json
import re
import socket

import harness.nats
from harness.rabbitmq import Rabbitmq
from harness.redis import RedisServer
from harness.redis_client import RedisClient

TOPIC = "outbox.event.order"  # a subject, a routing key, a stream
_PLACE = "bench"  # a stream of NATS, a queue of RabbitMQ
_EVENT_ID = re.compile(rb'"event": ?(\d+)')
_SENT_AT = re.compile(rb'"at": ?(\d+)')


class Arrival:
    """A record, as far as the benchmark reads it."""

    def __init__(self, raw):
        self.event = int(_EVENT_ID.search(raw)[1])
        self.at_us = int(_SENT_AT.search(raw)[1])


class _Broker:
    """One server, started with the benchmark and stopped after it."""

    def __init__(self, server):
        self.server = server

    def start(self):
        self.server.start()

    @property
    def pid(self):
        return self.server.pid

    def close(self):
        self.server.close()


class Redis(_Broker):
    """Redis Streams. Each write is synced, which is walpost's default."""

    name = "redis"

    def __init__(self, directory):
        super().__init__(RedisServer(directory))

    def make_place(self):
        self.server.ask("FLUSHALL")

    def walpost(self):
        return {"sink": "redis", "redis": {"address": self.server.address}}

    def debezium(self):
        return {"type": "redis", "redis.address": self.server.address,
                "redis.batch.size": 2048,
                "redis.memory.threshold.percentage": 0}

    def count(self):
        return self.server.ask("XLEN", TOPIC)

    def follow(self, ended):
        """Yields arrivals, from the first one on, until ended()."""
        with RedisClient(self.server.port) as client:
            last = b"0"
            while not ended():
                found = client.ask("XREAD", "COUNT", 5000, "BLOCK", 200,
                                   "STREAMS", TOPIC, last)
                for entry, fields in (found[0][1] if found else []):
                    last = entry
                    yield Arrival(b" ".join(fields))


class RabbitMQ(_Broker):
    """A quorum queue behind a topic exchange."""

    name = "rabbitmq"

    def __init__(self, directory):
        super().__init__(Rabbitmq(directory))

    def _channel(self):
        connection = self.server.connect()
        return connection, connection.channel()

    def make_place(self):
        connection, channel = self._channel()
        channel.exchange_declare(_PLACE, "topic", durable=True)
        channel.queue_delete(_PLACE)
        channel.queue_declare(_PLACE, durable=True,
                              arguments={"x-queue-type": "quorum"})
        channel.queue_bind(_PLACE, _PLACE, "#")
        connection.close()

    def walpost(self):
        return {"sink": "rabbitmq", "rabbitmq": {
            "nodes": f"127.0.0.1:{self.server.port}", "exchange": _PLACE}}

    def debezium(self):
        return {"type": "rabbitmq",
                "rabbitmq.connection.host": "127.0.0.1",
                "rabbitmq.connection.port": self.server.port,
                "rabbitmq.exchange": _PLACE,
                "rabbitmq.routingKey.source": "topic",
                "rabbitmq.deliveryMode": 2}

    def count(self):
        connection, channel = self._channel()
        there = channel.queue_declare(_PLACE, passive=True)
        connection.close()
        return there.method.message_count

    def follow(self, ended):
        connection, channel = self._channel()
        channel.basic_qos(prefetch_count=2000)
        for method, _, body in channel.consume(_PLACE, auto_ack=False,
                                               inactivity_timeout=0.2):
            if method is not None:
                channel.basic_ack(method.delivery_tag)
                yield Arrival(body)
            if ended():
                break
        connection.close()


class Nats(_Broker):
    """A stream of JetStream in files, with one server."""

    name = "nats"

    def __init__(self, directory):
        super().__init__(harness.nats.Nats(directory))

    def make_place(self):
        with _Wire(self.server.port) as wire:
            wire.ask(f"STREAM.DELETE.{_PLACE}", {})
            made = wire.ask(f"STREAM.CREATE.{_PLACE}", {
                "name": _PLACE, "subjects": ["outbox.>"], "storage": "file",
                "retention": "limits", "discard": "new", "num_replicas": 1,
                "max_msgs": -1, "max_bytes": -1, "max_age": 0,
                "max_consumers": -1, "duplicate_window": 120_000_000_000})
            if "error" in made:
                raise RuntimeError(made)

    def walpost(self):
        return {"sink": "nats",
                "nats": {"servers": f"127.0.0.1:{self.server.port}"}}

    def debezium(self):
        return {"type": "nats-jetstream",
                "nats-jetstream.url": f"nats://127.0.0.1:{self.server.port}",
                "nats-jetstream.create-stream": "false"}

    def count(self):
        with _Wire(self.server.port) as wire:
            return wire.ask(f"STREAM.INFO.{_PLACE}", {})["state"]["messages"]

    def follow(self, ended):
        with _Wire(self.server.port) as wire:
            wire.send("SUB bench.arrivals 2")
            wire.ask(f"CONSUMER.CREATE.{_PLACE}", {
                "stream_name": _PLACE, "config": {
                    "deliver_subject": "bench.arrivals", "ack_policy": "none",
                    "deliver_policy": "all", "replay_policy": "instant"}})
            while not ended():
                for body in wire.bodies(0.2):
                    yield Arrival(body)


class _Wire:
    """The protocol of NATS, as far as a reader needs it."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._rest = b""
        self._kept = []
        self.send('CONNECT {"verbose":false,"headers":true,"lang":"bench"}')
        self.send("SUB bench.answers 1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send(self, line, body=b""):
        self._socket.sendall(line.encode() + b"\r\n" + body)

    def ask(self, what, request):
        body = json.dumps(request).encode()
        self.send(f"PUB $JS.API.{what} bench.answers {len(body)}",
                  body + b"\r\n")
        while True:
            found = self.bodies(5)
            for answer in found:
                if b'"type":"io.nats.jetstream.api' in answer:
                    # Messages may come with the answer.
                    self._kept = [body for body in found if body != answer]
                    return json.loads(answer)

    def bodies(self, seconds):
        """What has come, after a wait of at most this long."""
        if self._kept:
            kept, self._kept = self._kept, []
            return kept
        self._socket.settimeout(seconds)
        try:
            got = self._socket.recv(1 << 20)
        except TimeoutError:
            return []
        if not got:
            raise ConnectionError("NATS has closed the connection")
        data = self._rest + got
        found = []
        while (end := data.find(b"\r\n")) >= 0:
            words = data[:end].split()
            size = 0
            if words and words[0] in (b"MSG", b"HMSG"):
                size = int(words[-1]) + 2
                if len(data) < end + 2 + size:
                    break
                found.append(data[end + 2:end + size])
            elif words and words[0] == b"PING":
                self.send("PONG")
            data = data[end + 2 + size:]
        self._rest = data
        return found


BROKERS = {broker.name: broker for broker in (Nats, RabbitMQ, Redis)}
