"""Redis' protocol, spoken by hand: a client that is not ours."""

import socket

from harness.kafka_reader import Record


class RedisError(RuntimeError):
    """An error reply."""


class RedisClient:
    """One connection. Replies are bytes, integers, None and lists."""

    def __init__(self, port, seconds=10):
        self._socket = socket.create_connection(("127.0.0.1", port), seconds)
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.close()
        self._socket.close()

    def ask(self, *words):
        """The reply to one command."""
        parts = [word if isinstance(word, bytes) else str(word).encode()
                 for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self._reply()

    def _reply(self):
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"$":
            return self._file.read(int(rest) + 2)[:-2]
        return [self._reply() for _ in range(int(rest))]


class RedisReader:
    """Reads whole streams, from the first entry to the last."""

    def __init__(self, port):
        self._port = port

    def streams(self, prefix=""):
        with RedisClient(self._port) as client:
            keys = client.ask("KEYS", prefix + "*")
            return sorted(key.decode() for key in keys
                          if client.ask("TYPE", key) == b"stream")

    def entries(self, stream):
        """(id, {field: value}) of each entry."""
        with RedisClient(self._port, 60) as client:
            found = client.ask("XRANGE", stream, "-", "+") or []
        return [(entry_id.decode(),
                 dict(zip((name.decode() for name in fields[::2]),
                          fields[1::2])))
                for entry_id, fields in found]

    def read(self, stream):
        """The entries as Records: the stream is the only partition."""
        return [record_of(stream, number, fields)
                for number, (_, fields) in enumerate(self.entries(stream))]

    def read_all(self, prefix):
        return [record for stream in self.streams(prefix)
                for record in self.read(stream)]


def record_of(stream, number, fields):
    """An entry as a Record."""
    headers = [(name.removeprefix("header."), value)
               for name, value in fields.items() if name.startswith("header.")]
    if "id" in fields:
        headers.append(("id", fields["id"]))
    return Record(topic=stream, partition=0, offset=number,
                  timestamp=int(fields["timestamp"]), key=fields.get("key"),
                  value=fields.get("payload"), headers=tuple(headers))
