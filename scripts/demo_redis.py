"""What is Redis' about scripts/demo --sink redis."""

import threading
import time

from harness.redis import RedisServer, redis_section
from harness.redis_client import RedisClient, record_of
from harness.waiting import wait_until


class Sink:
    """A server of its own, which syncs each write."""

    title = "Redis: private ones; WALPOST_PG may name a server of yours"
    reader = "a client that speaks Redis' protocol"

    def __init__(self):
        self._server = self._topic = None

    def start(self, folder, topic, cleanup):
        self._topic = topic
        self._server = RedisServer(folder / "redis")
        cleanup.callback(self._server.close)
        self._server.start()

    def address(self):
        return f"Redis: {self._server.address}, stream {self._topic}"

    def sections(self):
        sections = redis_section(self._server)
        return {name: section for name, section in sections.items()
                if section is not None}

    def consumer(self, _folder, topic, _cleanup):
        return _Consumer(self._server.port, topic)

    def reads(self, topic):
        return (f"redis-cli -p {self._server.port} XREAD BLOCK 0 STREAMS "
                f"{topic} 0")


class _Consumer:
    """XREAD, reading along; notes when each entry came."""

    def __init__(self, port, stream):
        self.records = []
        self.latencies = []  # milliseconds from commit
        self._stream = stream
        self._client = RedisClient(port, seconds=None)
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, count):
        wait_until(lambda: len(self.records) >= count,
                   lambda: f"{count} entries; {len(self.records)} came", 60)

    def _read(self):
        last = b"0"
        while True:
            try:
                found = self._client.ask("XREAD", "BLOCK", 0, "STREAMS",
                                         self._stream, last)
            except ConnectionError:  # the end of the demo
                return
            now = time.time() * 1000
            for last, fields in found[0][1]:
                pairs = dict(zip((name.decode() for name in fields[::2]),
                                 fields[1::2]))
                record = record_of(self._stream, len(self.records), pairs)
                self.latencies.append(now - record.timestamp)
                self.records.append(record)
