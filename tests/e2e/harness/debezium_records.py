"""walpost's configuration for what a connector was set to, and the records that
a recording wants of it (debezium_cases.py)."""

import dataclasses
import re
import struct
import typing

from harness.debezium_cases import FAILS
from harness.debezium_schemas import with_schema

RUN_ID = "__debezium.context.runId"
_UUID_V7 = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")

# What walpost has no setting for, and why nobody is surprised.
NOT_FOLLOWED = {
    ("s8/H1", 0): "messages that the event router passes on undecoded",
    ("s8/H2", 0): "messages that the event router passes on undecoded",
    ("s8/H8", 0): "column.mask: walpost has no such setting",
    ("s8/H8", 1): "column.exclude: a column list of the publication",
}

# Rows of which Debezium makes one of several records, as its Java goes through
# a hash table; walpost makes the same one always.
_ANY_OF = {
    '[{"x":1},{"y":"s"}]': (
        b'{"a":[{"x":1,"y":null},{"x":null,"y":"s"}]}',
        b'{"a":[{"y":null,"x":1},{"y":"s","x":null}]}'),
    '[{"x":{"p":1}},{"x":{"q":2}}]': (
        b'{"a":[{"x":{"q":null}},{"x":{"q":2}}]}',
        b'{"a":[{"x":{"p":1}},{"x":{"p":null}}]}'),
}

# Debezium fails at the second shape of a payload under one version of an
# envelope's schema, or not, by which came first after its start; so does the
# name of that schema.
_UNSETTLED = {("s9/I1", 2, 1), ("s9/I1", 3, 1)}
_UNSETTLED_SCHEMAS = {("s8/H1", 2, 8)}

SKIPPED_CLASSES = (
    "conversion_failed", "topic_illegal", "topic_field_missing",
    "partition_illegal", "message_unreadable", "payload_missing",
    "column_unreadable", "record_refused")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A record that a consumer must find, without the prefix of its topic."""

    id: typing.Optional[bytes]
    topic: str
    partition: typing.Optional[int]
    timestamp: typing.Optional[int]
    key: typing.Optional[bytes]
    values: tuple  # one of them
    headers: tuple
    statement: int  # its number


# Settings of the event router.
_FIELDS = {"table.field.event.id": "id",
           "table.field.event.key": "aggregate_id",
           "table.field.event.payload": "payload",
           "table.field.event.timestamp": "timestamp",
           "route.by.field": "aggregate_type"}
_ROUTER = {"table.expand.json.payload": "expand_json",
           "table.json.payload.null.behavior": "json_nulls",
           "table.json.payload.empty.array.behavior": "json_empty_arrays",
           "route.tombstone.on.empty.payload": "tombstone_on_empty",
           "table.field.additional.missing": "missing_columns",
           "table.field.event.schema.version": "schema_version",
           "fields.null.include": "message_nulls"}
_CONNECTOR = {"binary.handling.mode": "binary",
              "decimal.handling.mode": "decimal",
              "time.precision.mode": "time_precision",
              "interval.handling.mode": "interval",
              "hstore.handling.mode": "hstore",
              "include.unknown.datatypes": "unknown_types"}
_IS_UPDATE_FATAL = {"warn": "ignore", "error": "ignore", "fatal": "stop"}
_PLACEMENTS = "table.fields.additional.placement"


def _boolean(text):
    return {"true": True, "false": False}.get(text, text)


def sections(connector, setting, key_converter, value_converter, topics,
             tables=("ob.outbox",)):
    """The sections of walpost's configuration: topics have a prefix."""
    records = {"profile": "debezium", "logical_name": "srv",
               "key_converter": key_converter,
               "value_converter": value_converter}
    columns = {}
    for name, value in setting.items():
        if name in _FIELDS:
            columns[_FIELDS[name]] = value
        elif name in _ROUTER:
            records[_ROUTER[name]] = _boolean(value)
        elif name == "table.op.invalid.behavior":
            records["on_update"] = _IS_UPDATE_FATAL.get(value.lower(), value)
        elif name == _PLACEMENTS:
            placements = value.split(",")
            if len(placements) > 1 and not placements[-1]:
                placements.pop()
            records["placements"] = placements
    for name, value in connector.items():
        if name in _CONNECTOR:
            records[_CONNECTOR[name]] = _boolean(value)
        elif name == "extended.headers.enabled" and value == "false":
            records["context_headers"] = "none"
    outbox = {"tables": [{"name": table, "columns": columns}
                         for table in tables]}
    if "decode" in setting:
        outbox["messages"] = {"prefix": "outbox"}
        if "timestamp" in columns:
            outbox["messages"]["columns"] = {
                "timestamp": columns.pop("timestamp")}
    return {"records": records, "outbox": outbox,
            "route": {"topic": topics + topic_template(setting)}}


def topic_template(setting):
    """Of route.topic.*; in braces, a backslash takes the meaning from special
    characters."""
    regex = setting.get("route.topic.regex")
    replacement = setting.get("route.topic.replacement")
    if regex is None and replacement is None:
        return "outbox.event.{aggregate_type|allow_empty}"

    def escaped(text):
        return re.sub(r"[{}|:\\]", r"\\\g<0>", text)

    return (f"{{aggregate_type|match:{escaped(regex or '(?<routedByValue>.*)')}"
            f":{escaped(replacement or 'outbox.event.${routedByValue}')}}}")


def wanted_of(group, number, key_converter, value_converter):
    """What the setting makes of the group's statements: records, the numbers of
    statements with a row at which Debezium fails, one for each, and the ids of
    rows of which nothing is known."""
    wanted, failing, unsettled = [], [], set()
    setting = group.settings[number]
    for place, statement in enumerate(group.statements):
        sql = statement.sql
        if "emit_message(false" in sql and "emit_message(true" not in sql:
            continue  # it is no part of a transaction
        for change in statement.changes:
            outcome = change.outcomes.get(number)
            if outcome is None or change.op not in ("c", "m"):
                continue
            if change.op == "m" and "rollback" in statement.sql:
                continue  # the message of no transaction
            is_any = any(part in statement.sql.replace(" ", "")
                         for part in _ANY_OF)
            where = (group.name, number, place)
            if (where in _UNSETTLED or value_converter == "json_schemas"
                    and where in _UNSETTLED_SCHEMAS
                    or is_any and value_converter != "json"):
                unsettled.add((change.row_id or "").encode())
                continue
            made = _wanted(group, setting, change, outcome, statement, place,
                           key_converter, value_converter)
            if made is None:
                failing.append(place)
            else:
                wanted.append(made)
    return wanted, failing, unsettled


# What the recordings have for infinity; they are older than 3.7.0.Final.
_RECORDED_INFINITY = 9223372036825200
_MAX_MILLIS = (2**63 - 1) // 1000  # of walpost's times


def _final_timestamp(setting, outcome):
    """The timestamp that Debezium 3.7.0.Final makes."""
    if outcome.timestamp != _RECORDED_INFINITY:
        return outcome.timestamp
    is_coarse = setting["table.field.event.timestamp"] in ("ts0", "ts3")
    return _RECORDED_INFINITY * 1000 if is_coarse else _MAX_MILLIS


def _wanted(group, setting, change, outcome, statement, place, key_converter,
            value_converter):
    """None: Debezium fails."""
    if outcome.kind == "fails":
        return None
    key = _converted(outcome.key, outcome.key_schema, key_converter)
    value = _converted(outcome.value, outcome.value_schema, value_converter)
    timestamp = _final_timestamp(setting, outcome)
    is_fit = (_LEGAL_TOPIC.fullmatch(outcome.topic)
              and (outcome.partition or 0) >= 0
              and -1 <= (timestamp or 0) <= _MAX_MILLIS)
    if key is FAILS or value is FAILS or not is_fit:
        return None
    headers = list(outcome.headers)
    row_id = (change.row_id or "").encode()
    if group.hides_id and "id" not in dict(headers):
        headers = [("id", row_id)] + _with_hidden_ids(setting, headers, row_id)
    if change.op == "c" and group.connector.get(
            "extended.headers.enabled") != "false":
        after = [name for name, _ in headers].count("__debezium.oldkey")
        headers[after:after] = [
            ("__debezium.context.connectorLogicalName", b"srv"),
            ("__debezium.context.taskId", b"0"),
            ("__debezium.context.connectorName", b"postgresql"),
            (RUN_ID, b"")]
    values = (value,)
    for part, several in _ANY_OF.items():
        if part in statement.sql.replace(" ", ""):
            values = several
    return Wanted(
        dict(headers).get("id"), outcome.topic, outcome.partition,
        # To librdkafka a time of 0 is none.
        None if timestamp in (-1, 0) else timestamp, key, values,
        tuple(headers), place)


def _with_hidden_ids(setting, headers, row_id):
    """`id:header` adds `id` again, which the recording hides as well."""
    left, complete = list(headers), []
    for placement in setting.get(_PLACEMENTS, "").split(","):
        parts = [part.strip() for part in placement.split(":")]
        if len(parts) < 2 or parts[1].lower() != "header":
            continue
        if parts[-1] == "id":
            complete.append(("id", row_id))
        elif left:
            complete.append(left.pop(0))
    return complete + left


def _converted(by_converter, schema, converter):
    """The bytes; FAILS if the converter takes none of that type."""
    if converter in by_converter:
        converted = by_converter[converter]
        # Texts of Java's objects, which are others every time.
        is_object = converted not in (None, FAILS) and re.search(
            rb"HeapByteBuffer\[|\[B@", converted)
        return FAILS if is_object and converter == "string" else converted
    if converter == "json_schemas":
        text = by_converter["json"]
        return FAILS if text is FAILS else with_schema(schema, text)
    if converter == "bytes":
        assert not re.match(r"BYTES\??( |$)", schema), schema
        return FAILS
    raise KeyError(converter)


def differences(records, wanted, unsettled, prefix, partitions, began_ms):
    """What a consumer finds otherwise than Debezium's records; and how many
    parts of records were compared."""
    found = {}
    texts = []
    for record in records:
        record_id = dict(record.headers).get("id")
        if record_id in unsettled:
            continue
        found.setdefault(record_id, []).append(record)
    checks = 0
    for want in wanted:
        matches = found.get(want.id, [])
        if not matches:
            texts.append(f"no record {want}")
            continue
        record = matches.pop(0)
        for part, is_equal in _compare(record, want, prefix, partitions,
                                       began_ms):
            checks += 1
            if not is_equal:
                texts.append(f"{part} of {record}\nis not that of {want}")
    texts += [f"a record too many: {record}"
              for left in found.values() for record in left]
    return texts, checks


def _compare(record, want, prefix, partitions, began_ms):
    partition = want.partition
    if partition is None and want.key is not None:
        partition = java_partition(want.key, partitions)
    yield "topic", record.topic == prefix + want.topic
    yield "partition", partition in (None, record.partition)
    yield "key", record.key == want.key
    yield "value", record.value in want.values
    yield "timestamp", (began_ms <= record.timestamp
                        if want.timestamp is None
                        else record.timestamp == want.timestamp)
    yield "headers", _without_run(record.headers) == want.headers


def _without_run(headers):
    """An id of the run is an UUID of version 7, whatever it is."""
    return tuple(
        (name, b"" if name == RUN_ID and _UUID_V7.fullmatch(value) else value)
        for name, value in headers)


def java_partition(key, partitions):
    """Of Java's producer."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data):
    """As in Kafka's org.apache.kafka.common.utils.Utils."""
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    state = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        state = (state * multiplier & mask) ^ word
    rest = data[whole:]
    if rest:
        state ^= int.from_bytes(rest, "little")
        state = state * multiplier & mask
    state = (state ^ state >> 13) * multiplier & mask
    return state ^ state >> 15
