"""What a record looks like, byte by byte."""

import json
import subprocess

import pytest

from harness.paths import REPOSITORY

# Computed with the Java client's own hash: key and partition of twelve.
_JAVA_PARTITIONS = {
    "": 9,
    "42": 4,
    '"42"': 0,
    "k1": 5,
    '"k1"': 2,
    "null": 11,
    "10711fa5": 11,
    "order-1001": 6,
    "4d47e190-0402-4048-bc2c-89dd54343cdc": 4,
    "café": 6,
    '{"id":1}': 0,
}


@pytest.fixture
def published(walpost, database, kafka, outbox, reader, topics):
    """published(rows, **sections): the records of inserted rows, in order."""
    def publish(rows, **sections):
        walpost(database, kafka, topics, **sections).run()
        for row in rows:
            outbox.insert(**{"aggregate_type": "order", **row})
        database.wait_confirmed(database.name)
        records = reader.read_all(topics)
        assert len(records) == len(rows)
        if len(records) == 1:
            return records
        return sorted(records, key=lambda record: record.position)

    return publish


def test_partition_is_the_one_that_java_would_choose(
        walpost, database, kafka, outbox, reader, topics):
    kafka.create_topic(topics + "order", 12)
    walpost(database, kafka, topics).run()
    for key in _JAVA_PARTITIONS:
        outbox.insert("order", key)
    database.wait_confirmed(database.name)
    assert {record.key.decode(): record.partition
            for record in reader.read_all(topics)} == _JAVA_PARTITIONS


@pytest.mark.long
def test_empty_key_is_not_a_null_key(published):
    empty, null = published([{"aggregate_id": ""}, {"aggregate_id": None}])
    assert empty.key == b""
    assert null.key is None


def test_null_payload_is_a_tombstone_and_json_null_is_not(published):
    tombstone, null = published([
        {"aggregate_id": "a", "payload": None},
        {"aggregate_id": "a", "payload": "null"}])
    assert tombstone.value is None
    assert null.value == b"null"


def test_headers_column_becomes_headers(published):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    record, = published([{"aggregate_id": "a", "headers": json.dumps(
        {"traceparent": parent, "tracestate": "a=1,b=\"2\"", "é": "ü\n",
         "number": 12.50, "flag": True, "nothing": None, "empty": "",
         "nested": {"a": [1, "b"]}})}])
    headers = dict(record.headers)
    assert record.headers[0][0] == "id"
    assert record.headers[-1][0] == "walpost-position"
    assert len(headers) == len(record.headers) == 10
    assert json.loads(headers.pop("nested")) == {"a": [1, "b"]}
    del headers["id"], headers["walpost-position"]
    assert headers == {
        "traceparent": parent.encode(), "tracestate": b'a=1,b="2"',
        "é": "ü\n".encode(), "number": b"12.5", "flag": b"true",
        "nothing": None, "empty": b""}


@pytest.mark.long
def test_null_headers_column_adds_none(published):
    record, = published([{"headers": None}])
    assert [name for name, _ in record.headers] == ["id", "walpost-position"]


@pytest.mark.long
def test_configured_headers_come_between_json_and_position(published):
    record, = published(
        [{"type": "OrderPlaced", "headers": '{"trace": "t"}', "sequence": 7}],
        route={"headers": {"eventType": "type", "number": "sequence"}})
    assert record.headers == (
        ("id", record.id.encode()), ("trace", b"t"),
        ("eventType", b"OrderPlaced"), ("number", b"7"),
        ("walpost-position", record.position.encode()))


@pytest.mark.long
def test_position_header_can_be_switched_off(published):
    record, = published([{}], route={"position_header": False})
    assert [name for name, _ in record.headers] == ["id"]


@pytest.mark.long
def test_topic_template_takes_columns_and_functions(published, topics):
    record, = published(
        [{"type": "ORDER_WAS_Placed", "sequence": 5}],
        route={"topic": topics + "{type|lower|replace:_:-}."
                                 "{aggregate_type}.{sequence}"})
    assert record.topic == topics + "order-was-placed.order.5"


@pytest.mark.long
def test_constant_fields(published, topics):
    record, = published(
        [{"aggregate_id": "ignored", "type": "ignored"}],
        outbox={"tables": [{"name": "public.outbox", "columns": {
            "aggregate_type": {"constant": "everything"},
            "aggregate_id": {"constant": "one-key"}}}]})
    assert (record.topic, record.key) == (topics + "everything", b"one-key")


@pytest.mark.long
def test_timestamp_from_a_column(published, database):
    database.execute("alter table outbox add column happened_at timestamptz")
    record, = published(
        [{"happened_at": "2001-02-03 04:05:06.789123+00"}],
        outbox={"tables": [{"name": "public.outbox", "columns": {
            "timestamp": "happened_at"}}]})
    assert record.timestamp == 981173106789


def test_protobuf_value_is_decoded_by_protoc(published):
    record, = published(
        [{"aggregate_id": "order-1", "payload": '{"a": 1}',
          "type": "OrderPlaced", "headers": '{"trace": "t"}'}],
        value={"format": "protobuf"})
    decoded = subprocess.run(
        ["protoc", "-I", REPOSITORY / "proto", "--decode",
         "walpost.v1.Envelope", "walpost/v1/envelope.proto"],
        input=record.value, capture_output=True, check=True).stdout.decode()
    lines = decoded.splitlines()
    timeline, commit, ordinal = (int(part, 16)
                                 for part in record.position.split("-"))
    for line in (f'id: "{record.id}"', 'aggregate_type: "order"',
                 'aggregate_id: "order-1"', 'type: "OrderPlaced"',
                 r'payload: "{\"a\": 1}"', '  name: "trace"', '  value: "t"',
                 f"  timeline: {timeline}", f"  commit_lsn: {commit}",
                 f"  ordinal: {ordinal}",
                 f"  seconds: {record.timestamp // 1000}"):
        assert line in lines, decoded
    assert record.key == b"order-1"
