"""What has to hold after every fault."""

import json
import time

from harness.checker import Checker
from harness.figures import note
from harness.kafka_reader import KafkaReader

_MIB = 1 << 20

# What a relay may have been resident with at most, whatever happened (P6).
MOST_MEMORY = 64 * _MIB

# How long a confirmed event may take to be visible. A transaction becomes
# visible a moment after its commit is answered. Without transactions, a wait
# would hide events that were confirmed before they were acknowledged.
_VISIBLE_S = {"at_least_once": 0, "exactly_once": 60}


def judge(outbox, broker, relay, *, takeover=False, at_least=100, seconds=180,
          gone=frozenset()):
    """Holds the relay to its promises, now that the fault is over.

    Waits until the slot is confirmed to now, and with exactly_once until the
    events are visible. Then it lets the Checker and `walpost verify` compare
    the outbox with Kafka, each by itself, and them with each other, and looks
    at the memory. Records that were replayed are set apart. `gone` are the ids
    of events whose records went with their topic. Returns the Checker.
    """
    outbox.database.wait_confirmed(relay.slot, seconds=seconds)
    expected = [event for event in outbox.expected() if event.id not in gone]
    found = read_visible(KafkaReader(broker.bootstrap), outbox.topic_prefix,
                         expected, _VISIBLE_S[relay.guarantee])
    records = [record for record in found if not record.is_replayed]
    checker = Checker(expected, records, takeover=takeover)
    peak = relay.peak_memory_bytes()
    note(f"{checker.summary()}, at most {peak / _MIB:.1f} MiB resident")
    checker.assert_clean()
    assert len(expected) >= at_least, "too few events to judge by"
    recovered = sum(record.is_recovered for record in records)
    _judge_by_verify(relay, outbox, checker, gone,
                     len(found) - len(records), recovered)
    assert peak < MOST_MEMORY, f"{peak / _MIB:.1f} MiB resident"
    return checker


def judge_once(outbox, broker, relay, **options):
    """The same, and nobody who reads committed records sees an event twice."""
    checker = judge(outbox, broker, relay, **options)
    assert checker.duplicates == 0, checker.summary()
    assert verify(relay, "--fail-on-duplicates")["clean"]
    return checker


def verify(relay, *words, sequence="sequence"):
    """The report of the product's own judge, and whether it is content.

    `sequence` is the column of the table that rises with a key's commits; None:
    it has none.
    """
    if sequence is not None:
        words = ("--sequence", sequence, *words)
    # An idle server writes WAL, too, now and then.
    if "--wait" not in words:
        words = ("--wait", "20", *words)
    said = relay.verb("verify", "--json", *words, seconds=1200)
    assert said.stdout, said.stderr
    report = json.loads(said.stdout)
    assert report["clean"] == (said.returncode == 0), said.stdout
    report["found"] = {kind: entry["count"]
                       for kind, entry in report["findings"].items()
                       if entry["count"]}
    return report


def read_visible(reader, prefix, expected, seconds):
    """Every record, read again until each expected event has one.

    What is missing after `seconds` is left for the Checker to report. Replayed
    records do not count.
    """
    ids = {event.id for event in expected}
    deadline = time.monotonic() + seconds
    while True:
        found = reader.read_all(prefix)
        seen = {record.id for record in found if not record.is_replayed}
        if ids <= seen or time.monotonic() >= deadline:
            return found
        time.sleep(1)


def _judge_by_verify(relay, outbox, checker, gone, replayed, recovered):
    """It must find the same as the Checker."""
    report = verify(relay)
    found = report["found"]
    text = json.dumps(report, indent=1)
    rows = {row[0] for row in outbox.database.execute(
        "select id::text from outbox")}
    # The load deletes some rows in the transaction that inserts them.
    assert set(found) <= {"duplicates", "not_in_table", "missing",
                          "replayed"}, text
    assert found.get("replayed", 0) == replayed + recovered, text
    assert found.get("missing", 0) == len(rows & gone), text
    assert report["clean"] == (not rows & gone), text
    assert report["caught_up"], text
    assert report["expected"] == len(rows), text
    assert report["records"] == checker.records + replayed, text
    assert found.get("duplicates", 0) == checker.duplicates, text
