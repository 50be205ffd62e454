"""The checkpoint where walpost keeps it, read by the published contract alone
(proto/walpost/v1/checkpoint.proto, sql/checkpoint.sql)."""

import dataclasses
import pathlib
import subprocess
import tempfile
import zlib

from harness.kafka_reader import KafkaReader
from harness.lsn import lsn

STORES = ("file", "postgres", "kafka")

_COLUMNS = ("slot, system_identifier, timeline, birth, confirmed, commit_lsn, "
            "ordinal, numbering, written_at, transaction_horizon, "
            "server_started_at")


def checkpoint_section(store, directory, topics):
    """Of a configuration; `store` may be `none`, too."""
    if store == "none":
        return {}
    return {"checkpoint": {"store": store, "interval": "50ms",
                           "path": str(directory / "checkpoint"),
                           "topic": topics + "checkpoint"}}


@dataclasses.dataclass(frozen=True)
class Stored:
    """What tests ask of a checkpoint."""

    system_identifier: str
    confirmed: int
    position: tuple  # (LSN of the commit, ordinal)
    horizon: int = 0  # a transaction id; 0 is none


class Store:
    """One store of one slot; `section` is its part of the configuration."""

    def __init__(self, kind, directory, database, kafka, topics, slot=None,
                 **section):
        self._database = database
        self._slot = slot or database.name
        self._system = None
        self._kafka = kafka
        self.kind = kind
        self.path = pathlib.Path(directory) / "checkpoint"
        self.topic = f"checkpoint.{topics}topic"  # not one of its topics
        self.section = {"store": kind, "interval": "200ms",
                        "path": str(self.path), "topic": self.topic, **section}

    def read(self):
        """The checkpoint; None when there is none yet."""
        raw = self.raw()
        if raw is None:
            return None
        if self.kind == "postgres":
            return Stored(raw[1], lsn(raw[4]), (lsn(raw[5]), raw[6]),
                          int(raw[9]))
        return _decode(raw)

    def raw(self):
        """As it lies there: bytes, or the columns of the row."""
        if self.kind == "file":
            return self.path.read_bytes() if self.path.exists() else None
        if self.kind == "postgres":
            if not self._database.value(
                    "select to_regclass('walpost_checkpoint') is not null"):
                return None
            rows = self._database.execute(
                f"select {_COLUMNS} from walpost_checkpoint where slot = %s",
                (self._slot,))
            return rows[0] if rows else None
        reader = KafkaReader(self._kafka.bootstrap)
        if self.topic not in reader.topics(self.topic):
            return None
        values = [value for key, value in self._records()
                  if key == self.key().encode()]
        return values[-1] if values and values[-1] else None

    def key(self):
        """Of the record in the topic."""
        if self._system is None:
            self._system = self._database.value(
                "select system_identifier::text from pg_control_system()")
        return f"{self._slot}@{self._system}"

    def rename_to_old_key(self):
        """As a release would have written it that knew the slot alone."""
        raw = self.raw()
        self.forget()
        self.put_record(self._slot, raw)

    def forget(self):
        """A record without a value."""
        subprocess.run(["kcat", "-b", self._kafka.bootstrap, "-P", "-t",
                        self.topic, "-K", "|", "-Z"],
                       input=f"{self.key()}|\n".encode(), check=True)

    def _records(self):
        """Keys and values of the topic. As they are: no JSON, for the values are
        bytes. A fetch that waited long would never come to the end of a topic
        that is written to."""
        printed = subprocess.run(
            ["kcat", "-C", "-q", "-e", "-b", self._kafka.bootstrap, "-t",
             self.topic, "-o", "beginning", "-X", "fetch.wait.max.ms=20",
             "-f", "%k\\t%S\\t%s"],
            check=True, capture_output=True, timeout=60).stdout
        while printed:
            key, size, printed = printed.split(b"\t", 2)
            length = max(int(size), 0)
            yield key, printed[:length]
            printed = printed[length:]

    def put(self, raw):
        """Writes over what is there."""
        if self.kind == "file":
            self.path.write_bytes(raw)
        elif self.kind == "postgres":
            self._database.execute(
                "delete from walpost_checkpoint where slot = %s", raw[:1])
            self._database.execute(
                f"insert into walpost_checkpoint ({_COLUMNS}) values "
                f"({', '.join(['%s'] * len(raw))})", raw)
        else:
            self.put_record(self.key(), raw)

    def put_record(self, key, value):
        """A record into the topic."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(value)
            file.flush()
            subprocess.run(["kcat", "-b", self._kafka.bootstrap, "-P", "-t",
                            self.topic, "-k", key, file.name], check=True)


def with_other_system(store):
    """The raw checkpoint, as another cluster would have written it."""
    raw = store.raw()
    if store.kind == "postgres":
        return (raw[0], str(int(raw[1]) ^ 1), *raw[2:])
    own = _decode(raw).system_identifier.encode()
    other = own[::-1]
    assert own != other
    body = raw[:-4].replace(own, other)
    return body + zlib.crc32(body).to_bytes(4, "big")


def _decode(raw):
    body, checksum = raw[:-4], raw[-4:]
    assert body[:5] == b"WPCK\x01", raw
    assert zlib.crc32(body).to_bytes(4, "big") == checksum, raw
    fields = _fields(body[5:])
    return Stored(fields[1].decode(), fields.get(5, 0),
                  (fields.get(6, 0), fields.get(7, 0)), fields.get(10, 0))


def _fields(message):
    """Number -> value of a protobuf message, as far as ours goes."""
    fields = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(message[at:at + 8], "little"), at + 8
        else:
            assert tag & 7 == 2, tag
            size, at = _varint(message, at)
            value, at = message[at:at + size], at + size
        fields[tag >> 3] = value
    return fields


def _varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
