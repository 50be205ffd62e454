"""Reading back, with a client that is not ours."""

import dataclasses
import functools
import json
import subprocess
import typing

from harness.waiting import wait_until


@dataclasses.dataclass(frozen=True)
class Record:
    """One record as a plain consumer sees it. None is Kafka's null."""

    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds since 1970
    key: typing.Optional[bytes]
    value: typing.Optional[bytes]
    headers: tuple  # of (name, bytes or None), in order

    def header(self, name):
        """The value of the only header of that name; KeyError if absent."""
        values = [value for key, value in self.headers if key == name]
        if len(values) != 1:
            raise KeyError(f"{len(values)} headers {name} in {self}")
        return values[0]

    @functools.cached_property
    def id(self):
        return self.header("id").decode()

    @property
    def is_replayed(self):
        """Whether walpost replay has sent it, beside the live flow."""
        return self._has("walpost-replay")

    @property
    def is_recovered(self):
        """Whether walpost recover has sent it, in the place of the flow."""
        return self._has("walpost-recovered")

    @property
    def is_by_hand(self):
        """Whether an operator has had it sent, beside the stream."""
        return any(map(self._has, ("walpost-replay", "walpost-released",
                                   "walpost-retried")))

    def _has(self, header):
        return any(name == header for name, _ in self.headers)

    @functools.cached_property
    def position(self):
        return self.header("walpost-position").decode()


class KafkaReader:
    """Reads whole topics with kcat, from the first record to the last.

    kcat's JSON lines hold the exact bytes: null is not the empty string, and
    bytes that are not UTF-8 come through as they are.
    """

    def __init__(self, bootstrap):
        self._bootstrap = bootstrap

    def topics(self, prefix=""):
        listing = json.loads(self._kcat("-L", "-m", "5"))
        return sorted(entry["topic"] for entry in listing["topics"]
                      if entry["topic"].startswith(prefix))

    def read(self, topic):
        """Every record of one topic, each partition in its own order."""
        output = self._kcat("-C", "-t", topic, "-o", "beginning", "-e", "-q",
                            "-X", "fetch.wait.max.ms=20",
                            "-X", "check.crcs=true")
        # Not splitlines(): it also splits at characters that payloads may hold.
        return [parse_record(line) for line in output.split("\n") if line]

    def read_all(self, prefix):
        """Every record of all topics whose names begin with `prefix`."""
        return [record for topic in self.topics(prefix)
                for record in self.read(topic)]

    def size(self, topic):
        """How many records a topic holds, by its last offsets alone."""
        return sum(self.ends(topic).values())

    def ends(self, topic):
        """The offset of the next record, by partition."""
        entry, = (entry for entry in json.loads(
            self._kcat("-L", "-t", topic))["topics"])
        words = [word for partition in entry["partitions"]
                 for word in ("-t", f"{topic}:{partition['partition']}:-1")]
        ends = wait_until(lambda: self._query(words), "leaders of " + topic)
        return {int(number): partition["offset"]
                for number, partition in ends[topic].items()
                if isinstance(partition, dict)}

    def _query(self, words):
        """Offsets; None while partitions that were just made have no leader."""
        try:
            return json.loads(self._kcat("-Q", *words))
        except RuntimeError as failure:
            if "Not leader" not in str(failure):
                raise
            return None

    def _kcat(self, *arguments):
        asked = subprocess.run(
            ["kcat", "-b", self._bootstrap, "-J", *arguments],
            capture_output=True, timeout=300)
        if asked.returncode != 0:
            raise RuntimeError(f"kcat {' '.join(arguments)} failed: "
                               f"{asked.stderr.decode(errors='replace')}")
        return asked.stdout.decode("utf-8", "surrogateescape")


def parse_record(line):
    """The record in one line of `kcat -J`."""
    fields = json.loads(line)
    headers = [_bytes(part) for part in fields.get("headers", [])]
    return Record(
        fields["topic"], fields["partition"], fields["offset"], fields["ts"],
        _bytes(fields["key"]), _bytes(fields["payload"]),
        tuple((name.decode(), value)
              for name, value in zip(headers[::2], headers[1::2])))


def _bytes(text):
    return None if text is None else text.encode("utf-8", "surrogateescape")
