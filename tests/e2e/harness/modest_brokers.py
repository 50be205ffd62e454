"""Brokers that say less of themselves than Apache Kafka: Event Hubs, Redpanda and
WarpStream, imitated on the way to a broker.
"""

import socket
import struct
import threading

from harness.kafka_frames import accepted, end_connections, read_frame

API_VERSIONS = 18
METADATA = 3
CREATE_TOPICS = 19
DESCRIBE_CONFIGS = 32

_NO_TOPIC_IDS = 9  # the last version of Metadata without them


class ModestBrokers:
    """The way to a broker whose answers lack something, while `is_modest`.

        proxy = ModestBrokers(kafka.behind_port, advertised_port,
                              cluster_id=None, without={DESCRIBE_CONFIGS})

    `cluster_id=None` and `controller=None` null them in Metadata; `without` are
    kinds of requests that the broker does not know. Metadata has no topic ids.
    """

    def __init__(self, target_port, port, cluster_id="", controller=1,
                 without=frozenset()):
        self.is_modest = True
        self.bootstrap = f"127.0.0.1:{port}"
        self._target = ("127.0.0.1", target_port)
        self._nulls = (cluster_id is None, controller is None)
        self._without = without
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        end_connections(self._listener)
        self._listener.close()

    def _accept(self):
        for client, broker in accepted(self._listener, self._target):
            asked = {}
            for run in (self._requests, self._answers):
                threading.Thread(target=run, args=(client, broker, asked),
                                 daemon=True).start()

    @staticmethod
    def _requests(client, broker, asked):
        try:
            while frame := read_frame(client):
                key, version = struct.unpack(">hh", frame[4:8])
                asked[frame[8:12]] = (key, version)
                broker.sendall(frame)
        except OSError:
            pass
        end_connections(client, broker)

    def _answers(self, client, broker, asked):
        try:
            while frame := read_frame(broker):
                key, version = asked.pop(frame[4:8], (None, None))
                body = frame[4:]
                if self.is_modest and key == API_VERSIONS and version >= 3:
                    body = self._versions(body)
                elif self.is_modest and key == METADATA and version >= 9:
                    body = self._metadata(body)
                client.sendall(struct.pack(">i", len(body)) + body)
        except OSError:
            pass
        end_connections(client, broker)

    def _versions(self, body):
        """ApiVersions Response (Version 3 and 4)."""
        count, at = _number(body, 6)
        kinds = []
        for _ in range(count - 1):
            key, low, high = struct.unpack(">hhh", body[at:at + 6])
            at += 7  # no tags
            if key == METADATA:
                high = min(high, _NO_TOPIC_IDS)
            if key not in self._without:
                kinds.append(struct.pack(">hhh", key, low, high) + b"\0")
        return body[:6] + _bytes_of(len(kinds) + 1) + b"".join(kinds) + body[at:]

    def _metadata(self, body):
        """Metadata Response (Version 9): its cluster id and controller."""
        no_cluster, no_controller = self._nulls
        count, at = _number(body, 9)  # correlation, tags, throttle time
        for _ in range(count - 1):
            at += 4
            size, at = _number(body, at)
            at += size - 1 + 4
            size, at = _number(body, at)
            at += max(size - 1, 0) + 1
        size, end = _number(body, at)
        end += max(size - 1, 0)
        cluster = b"\0" if no_cluster else body[at:end]
        controller = (struct.pack(">i", -1) if no_controller
                      else body[end:end + 4])
        return body[:at] + cluster + controller + body[end + 4:]


def _number(data, at):
    """An unsigned varint, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def _bytes_of(value):
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])
