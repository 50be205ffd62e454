"""What clients see of a cluster whose brokers are all fenced."""

import socket
import struct
import threading

from harness.kafka_frames import accepted, end_connections, read_frame
from harness.ports import free_port

_METADATA = 3
_LEADER_NOT_AVAILABLE = 5


class FencedMetadata:
    """A way to a broker. While `is_fenced`, metadata name the topic and no
    broker, as those of a broker do that the controller has fenced.

    Of the versions 9 to 13 of Metadata, which librdkafka 2 speaks.
    `cluster_id` is that of the broker.
    """

    def __init__(self, target_port, topic, cluster_id, port=None):
        self.is_fenced = False
        self.answered = 0  # so
        self._target = ("127.0.0.1", target_port)
        self._topic = topic.encode()
        self._cluster_id = cluster_id.encode()
        self.port = port or free_port()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        for client, broker in accepted(self._listener, self._target):
            for run in (self._requests, self._answers):
                threading.Thread(target=run, args=(client, broker),
                                 daemon=True).start()

    def _requests(self, client, broker):
        while frame := read_frame(client):
            key, version, correlation = struct.unpack(">hhi", frame[4:12])
            if self.is_fenced and key == _METADATA:
                client.sendall(self._metadata(version, correlation))
                self.answered += 1
            else:
                broker.sendall(frame)
        end_connections(client, broker)

    @staticmethod
    def _answers(client, broker):
        try:
            while data := broker.recv(65536):
                client.sendall(data)
        except OSError:
            pass
        end_connections(client, broker)

    def _metadata(self, version, correlation):
        """Metadata Response (Version 9 to 13)."""
        topic = (struct.pack(">h", _LEADER_NOT_AVAILABLE)
                 + bytes([len(self._topic) + 1]) + self._topic
                 + (bytes(16) if version >= 10 else b"")  # topic_id
                 + b"\0"  # is_internal
                 + b"\1"  # no partitions
                 + struct.pack(">i", -2**31)  # authorized operations
                 + b"\0")
        body = (struct.pack(">i", correlation) + b"\0"
                + struct.pack(">i", 0)  # throttle time
                + b"\1"  # no brokers
                + bytes([len(self._cluster_id) + 1]) + self._cluster_id
                + struct.pack(">i", -1)  # controller
                + b"\2" + topic
                + (struct.pack(">i", -2**31) if version <= 10 else b"")
                + (struct.pack(">h", 0) if version >= 13 else b"")
                + b"\0")
        return struct.pack(">i", len(body)) + body
