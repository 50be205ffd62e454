"""The judge: what was committed against what a consumer reads.

It shares no code with walpost and trusts nothing that walpost says, except
that the header `id` names the row; the promises are those of docs/delivery.md.
"""

import collections
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Expected:
    """A committed event. `sequence` counts the commits of its key."""

    id: str
    topic: str
    key: typing.Optional[bytes]
    value: typing.Optional[bytes]
    sequence: typing.Optional[int] = None


class Checker:
    """Compares expected events with records; every finding is a sentence.

    missing    P1  committed, but not in Kafka
    unknown    P4  in Kafka, but never committed
    altered        another topic, key or value than the row's
    disorder   P3  first occurrences out of order, or a re-send that is not a
                   contiguous run
    duplicates P5  how many records repeat an earlier one; not a failure

    After a `takeover` the last window of the first instance may arrive amid
    the re-sends of the second, so that neither run is contiguous.
    """

    def __init__(self, expected, records, takeover=False):
        self._expected = {event.id: event for event in expected}
        self._records = records
        self.missing = []
        self.unknown = []
        self.altered = []
        self.disorder = []
        self.duplicates = 0
        self._compare()
        for records_of_partition in self._by_partition().values():
            self._check_positions(records_of_partition)
            if not takeover:
                self._check_resends(records_of_partition)
            self._check_sequences(records_of_partition)
        self._check_one_partition_per_key()

    def assert_clean(self):
        """Fails with the first findings of each kind."""
        findings = [f"{name}: {len(found)}\n  " + "\n  ".join(found[:5])
                    for name, found in vars(self).items()
                    if isinstance(found, list) and found
                    and not name.startswith("_")]
        assert not findings, "\n".join(findings + [self.summary()])

    @property
    def records(self):
        """How many records were compared."""
        return len(self._records)

    def summary(self):
        return (f"{len(self._expected)} committed, {len(self._records)} "
                f"records, {self.duplicates} duplicates")

    def _compare(self):
        seen = set()
        for record in self._records:
            event = self._expected.get(record.id)
            if event is None:
                self.unknown.append(f"{_where(record)} id {record.id}")
                continue
            self.duplicates += record.id in seen
            seen.add(record.id)
            for part in ("topic", "key", "value"):
                if getattr(event, part) != getattr(record, part):
                    self.altered.append(
                        f"{_where(record)} {part} "
                        f"{getattr(record, part)!r:.80} instead of "
                        f"{getattr(event, part)!r:.80}")
        self.missing = [f"{event}"[:200]
                        for event in self._expected.values()
                        if event.id not in seen]

    def _by_partition(self):
        partitions = collections.defaultdict(list)
        for record in self._records:
            partitions[record.topic, record.partition].append(record)
        for records in partitions.values():
            records.sort(key=lambda record: record.offset)
        return partitions

    def _check_positions(self, records):
        """First occurrences come in the order of their positions."""
        last = ""
        for record in _first_occurrences(records):
            if record.position <= last:
                self.disorder.append(f"{_where(record)} position "
                                     f"{record.position} after {last}")
            last = max(last, record.position)

    def _check_resends(self, records):
        """1 2 3 2 3 4, never 1 2 3 2 4 and never 1 2 3 2 at the end."""
        rank = {record.id: number
                for number, record in enumerate(_first_occurrences(records))}
        last = -1
        for record in records:
            number = rank[record.id]
            if number > last + 1:
                self.disorder.append(f"{_where(record)} the re-send before it "
                                     "is not contiguous")
            last = number
        if rank and last != len(rank) - 1:
            self.disorder.append(f"{_where(records[-1])} an older record "
                                 "stands alone at the end")

    def _check_sequences(self, records):
        """The table's own count per key rises, whatever positions say."""
        last = {}
        for record in _first_occurrences(records):
            event = self._expected.get(record.id)
            if event is None or event.sequence is None:
                continue
            previous = last.get(record.key)
            if previous is not None and event.sequence <= previous:
                self.disorder.append(
                    f"{_where(record)} sequence {event.sequence} of key "
                    f"{record.key!r} after {previous}")
            last[record.key] = event.sequence

    def _check_one_partition_per_key(self):
        homes = {}
        for record in self._records:
            if record.key is None:
                continue
            home = homes.setdefault((record.topic, record.key),
                                    record.partition)
            if home != record.partition:
                self.disorder.append(f"{_where(record)} key {record.key!r} "
                                     f"was in partition {home} before")


def _first_occurrences(records):
    seen = set()
    for record in records:
        if record.id not in seen:
            seen.add(record.id)
            yield record


def _where(record):
    return f"{record.topic}[{record.partition}]@{record.offset}:"
