"""Cases of Debezium's behaviour that no recording shows whole, by number: what
is known of it, in the shape of debezium_cases.py."""

from harness.debezium_cases import FAILS, Change, Group, Outcome, Statement

_EXPAND = {"table.expand.json.payload": "true"}
_KEEP_NULLS = {**_EXPAND, "table.json.payload.null.behavior": "optional_bytes"}
_KEEP_EMPTY = {**_EXPAND,
               "table.json.payload.empty.array.behavior": "optional_string"}
_TOMBSTONE = {"route.tombstone.on.empty.payload": "true"}
_FATAL = {"table.op.invalid.behavior": "fatal"}

# The id is not null there, because it is the primary key.
_TEXT = ("create table ob.outbox(id uuid primary key, aggregatetype text, "
         "aggregateid text, type text, payload text);")
_JSONB = ("create table ob.outbox(id uuid not null primary key, aggregatetype "
          "varchar(255) not null, aggregateid varchar(255) not null, type "
          "varchar(255) not null, payload jsonb);")
_SERIAL = ("create table ob.outbox(id serial primary key, aggregatetype text "
           "not null, aggregateid text not null, type text, payload text);")
_INT = ("create table ob.outbox(id int primary key, aggregatetype text, "
        "aggregateid text, type text, payload text);")

_EVENT_TYPE = {"table.fields.additional.placement": "type:envelope:eventType"}


def _placed(placements, **settings):
    return {"table.fields.additional.placement": placements, **settings}


def _uuid(number):
    return f"00000000-0000-0000-0000-{number:012x}"


def _record(row_id, json, string=None, key=b"k", headers=None, schema="STRING?",
            key_schema="STRING?", **parts):
    """`string` is FAILS or text; None: the text in `json`."""
    value = {"json": json, "string": json if string is None else string}
    if "value" in parts:
        value = parts.pop("value")
    return row_id, Outcome(
        "record", topic=parts.pop("topic", "outbox.event.order"),
        key=parts.pop("keys", {"string": key, "json": b'"%s"' % key}),
        value=value, value_schema=schema, key_schema=key_schema,
        headers=[("id", str(row_id).encode())] if headers is None else headers,
        **parts)


def _only_json(row_id, json):
    return _record(row_id, json, value={"json": json}, schema=None)


def _fails(row_id):
    return row_id, Outcome("fails")


def _text(text):
    return {"string": text,
            "json": b'"' + text.replace(b'"', b'\\"') + b'"'}


def _group(number, ddl, settings, *statements, connector=None):
    """A statement is its SQL, and for each setting what it makes, None for
    nothing, or a list of these."""
    group = Group(f"number/{number}", ddl, connector or {}, list(settings))
    for sql, *made in statements:
        statement = Statement(sql)
        group.statements.append(statement)
        made = made * len(settings) if len(made) == 1 else made
        assert len(made) in (0, len(settings)), sql
        rows = {}
        for setting, outcomes in enumerate(made):
            if not isinstance(outcomes, list):
                outcomes = [outcomes] if outcomes else []
            for place, (row_id, outcome) in enumerate(outcomes):
                row = rows.setdefault(place, Change("srv.ob.outbox",
                                                    str(row_id), "c"))
                row.outcomes[setting] = outcome
        statement.changes = list(rows.values())
    return group


def _expansions():
    """Of a text column: with a serial as the id."""
    rows = [
        # payload, as it is, with null members kept
        ('{"a":null,"b":1}', b'{"b":1}', b'{"a":null,"b":1}'),
        ('{"a":[null]}', _text(b'{"a":[null]}')["json"], b'{"a":[null]}'),
        ('{"a":[{"x":null},{"x":null}]}', b'{"a":[{},{}]}',
         b'{"a":[{"x":null},{"x":null}]}'),
        ('{"a":[{"x":1},null,{"y":2}]}', FAILS, FAILS),
        ('{"a$b":1,"c d":{"e-f":2},"ok":3}',
         b'{"a$b":1,"c d":{"e-f":2},"ok":3}',
         b'{"a$b":1,"c d":{"e-f":2},"ok":3}'),
        ('{}', b"{}", b"{}"),
    ]
    statements = []
    for number, (payload, plain, kept) in enumerate(rows, 1):
        statements.append((
            "insert into ob.outbox(aggregatetype,aggregateid,type,payload) "
            f"values ('order','k','T','{payload}')",
            _only_json(number, plain), _only_json(number, kept)))
    return _group("133-155", _SERIAL, [_EXPAND, _KEEP_NULLS], *statements)


def _insert(number, payload, aggregate_type="'order'", key="'k'"):
    return (f"insert into ob.outbox values ('{_uuid(number)}',{aggregate_type},"
            f"{key},'T',{payload})")


def _groups():
    one = _uuid(1)
    envelope = b'{"payload":"{\\"a\\": 1}","type":"T"}'
    yield _group(
        "4", _TEXT, [{}],
        (_insert(1, "'x'"), _record(one, b'"x"', string=b"x")))
    yield _group(
        "32-bytes", _TEXT, [{}],
        (_insert(1, "'x'"), _record(one, b"", value={"bytes": FAILS})))
    yield _group(
        "59-61", _JSONB, [_placed("type:envelope")],
        (_insert(1, "'{\"a\": 1}'"), _record(
            one, envelope, string=b'Struct{payload={"a": 1},type=T}',
            key_schema="STRING",
            schema="STRUCT<srv.ob.outbox.order.Value>{payload:STRING<"
                   "io.debezium.data.Json>v1? type:STRING }")),
        (_insert(2, "NULL"), _record(
            _uuid(2), b'{"payload":null,"type":"T"}', key_schema="STRING",
            string=b"Struct{type=T}",
            schema="STRUCT<srv.ob.outbox.order.Value>{payload:STRING<"
                   "io.debezium.data.Json>v1? type:STRING }")))
    yield _group(
        "52", _TEXT, [{"route.topic.regex": "a|ab",
                       "route.topic.replacement": "X"}],
        (_insert(1, "'x'", "'ab'"),
         _record(one, b'"x"', string=b"x", topic="Xb")),
        (_insert(2, "'x'", "'b'"),
         _record(_uuid(2), b'"x"', string=b"x", topic="b")))
    yield _group(
        "76-bigint", _JSONB.replace("payload jsonb", "payload jsonb, "
                                    "v bigint"),
        [_placed("type:envelope", **{
            "table.field.event.schema.version": name}) for name in ("v", "no")],
        ("insert into ob.outbox values ('" + one + "','order','k','T','{}',3)",
         _fails(one)))
    yield _group(
        "98-100", _SERIAL,
        [{**_placed("type:envelope"), **_TOMBSTONE}, {**_EXPAND, **_TOMBSTONE}],
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T',NULL)",
         _record(1, None, value=dict.fromkeys(("string", "json")),
                 schema="null", key_schema="STRING"),
         _record(1, None, value=dict.fromkeys(("string", "json")),
                 schema="null", key_schema="STRING")),
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T','{}')",
         _record(2, b'{"payload":"{}","type":"T"}', key_schema="STRING",
                 string=b"Struct{payload={},type=T}",
                 schema="STRUCT<srv.ob.outbox.order.Value>{payload:STRING? "
                        "type:STRING? }"),
         _record(2, b"{}", string=b"Struct{}", key_schema="STRING",
                 schema="STRUCT<payload>?{}")))
    yield _group(
        "157-158", _SERIAL, [{**_EXPAND, **_EVENT_TYPE}],
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T','[1]')", _fails(1)),
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T','not json')",
         _record(2, b'{"payload":"not json","eventType":"T"}',
                 string=b"Struct{payload=not json,eventType=T}",
                 key_schema="STRING",
                 schema="STRUCT<srv.ob.outbox.order.Value>{payload:STRING? "
                        "eventType:STRING? }")))
    yield _group(
        "empty-arrays", _SERIAL, [_KEEP_EMPTY],
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T','{\"a\":[],\"b\":1}')",
         _record(1, b'{"a":[],"b":1}', string=b"Struct{a=[],b=1}",
                 key_schema="STRING",
                 schema="STRUCT<payload>?{a:ARRAY?[STRING?] b:INT32? }")))
    yield _expansions()
    yield _operations()
    yield _group(
        "112", _INT.replace(" primary key", ""), [{}],
        ("insert into ob.outbox values (1,'order','k','T','p')",
         _record(1, b'"p"', string=b"p")))
    yield from _columns()


def _operations():
    """Insert, delete, update, rollback, truncate."""
    def row(number, payload=b"p"):
        return _record(number, b'"%s"' % payload, string=payload)

    moved = _record(2, b'"p"', string=b"p", headers=[
        ("__debezium.oldkey", b'{"id":1}'), ("id", b"2")])
    return _group(
        "101-109", _INT, [{}, _FATAL],
        ("insert into ob.outbox values (1,'order','k','T','p')", row(1)),
        ("update ob.outbox set id = 2 where id = 1", moved),
        ("update ob.outbox set payload = 'q'", None, _fails(2)),
        ("insert into ob.outbox values (2,'order','k','T','p') on conflict "
         "(id) do update set payload = 'r'", None, _fails(2)),
        ("delete from ob.outbox", None),
        ("begin; insert into ob.outbox values (3,'order','k','T','p'); "
         "rollback",
         None),
        ("begin; insert into ob.outbox values (5,'order','k','T','p'); "
         "savepoint s; insert into ob.outbox values (6,'order','k','T','p'); rollback "
         "to s; insert into ob.outbox values (7,'order','k','T','p'); commit",
         [row(5), row(7)]),
        ("truncate ob.outbox", None),
        ("begin; insert into ob.outbox values (8,'order','k','T','p'); delete "
         "from ob.outbox; commit", row(8)),
        ("insert into ob.outbox select n,'order','k','T','p' from "
         "generate_series(10,12) n", [row(10), row(11), row(12)]))


def _columns():
    """Names, defaults and types of columns."""
    mixed = ('create table ob.outbox("Id" int primary key, "aggregateType" '
             'text, "aggregateId" text, payload text);')
    fields = {"table.field.event.key": "aggregateId",
              "route.by.field": "aggregateType"}
    yield _group(
        "25", mixed, [{"table.field.event.id": "Id", **fields}, fields],
        ("insert into ob.outbox values (1,'order','k','p')",
         _record(1, b'"p"', string=b"p"), _fails(1)))
    yield _group(
        "29-defaults",
        "create table ob.outbox(n int primary key, id uuid default "
        "gen_random_uuid(), aggregatetype text default 'agg', aggregateid text "
        "default 'dflt', h int default 9, payload text);",
        [_placed("h:header")],
        ("insert into ob.outbox values (1,NULL,'order',NULL,NULL,'p')",
         _record("", b'"p"', string=b"p", key=b"dflt",
                 headers=[("id", None), ("h", b"9")],
                 key_schema="STRING?=dflt(dflt)")),
        ("insert into ob.outbox values (2,NULL,NULL,'k',1,'p')", _fails("2")))
    floats = ("create table ob.outbox(id text primary key, aggregatetype text, "
              "aggregateid text, payload text, a float8, b float8, c float8, d "
              "float4, e float4, f float4, n numeric);")
    placed = ",".join(f"{name}:header" for name in "abcdefn")
    yield _group(
        "19-79", floats, [_placed(placed)],
        ("insert into ob.outbox values ('  sp ','order','k','p',123456789012,"
         "1e-7,'NaN',1e10,3.4028235e38,'Infinity','NaN')",
         _record("  sp ", b'"p"', string=b"p", headers=[
             ("id", b"  sp "), ("a", b"1.23456789012E11"), ("b", b"1.0E-7"),
             ("c", b"NaN"), ("d", b"1.0E10"), ("e", b"3.4028235E38"),
             ("f", b"Infinity"), ("n", None)])))
    partitions = (
        "create table ob.outbox(id int, aggregatetype text, aggregateid text, "
        "payload text) partition by range (id); create table ob.outbox_1 "
        "partition of ob.outbox for values from (0) to (10);")
    yield _group(
        "119", partitions, [{}],
        ("insert into ob.outbox values (1,'order','k','p')",
         _record(1, b'"p"', string=b"p")),
        ("create table ob.outbox_2 partition of ob.outbox for values from (10) "
         "to (20)", None),
        ("insert into ob.outbox values (11,'order','k','p')",
         _record(11, b'"p"', string=b"p")))
    yield _group(
        "131", _SERIAL.replace("payload text", "payload jsonb"),
        [_EXPAND],
        ("insert into ob.outbox(aggregatetype,aggregateid,type,payload) values "
         "('order','k','T','{\"c\":1e2,\"g\":1e7}')",
         _record(1, b'{"c":100,"g":10000000}', key_schema="STRING",
                 string=b"Struct{c=100,g=10000000}",
                 schema="STRUCT<payload>?{c:INT32? g:INT32? }")))


GROUPS = {group.name: group for group in _groups()}

# The numbers of cases, by the group that has them.
NUMBERS = {
    "s1/A1": [1], "s2/B1": [5, 16, 35, 37, 38, 94, 95], "s2/B2": [6],
    "s2/B3": [7], "s2/B4": [8, 97], "s2/B5": [9], "s2/B6": [10],
    "s2/B7": [29],
    "s3/C1": [11, 12, 13, 14, 17, 22, 23, 49, 50],
    "s3/C2": [55, 58, 62, 64], "s3/C3": [77], "s3/C4": [77],
    "s4/D1": [82, 83, 85, 86, 88, 89], "s4/D2": [92], "s4/D3": [91],
    "s4/D4": [92], "s4/D5": [56, 65, 67, 68, 70, 71, 73],
    "s4/D6": [34, 40, 41, 43, 44, 46, 47],
    "s5/E1": [121, 122, 124, 125, 127, 128, 134, 137, 139, 140, 142, 143, 146,
              149, 151, 152, 154, 160],
    "s5/E2": [130], "s8/H1": [163, 164, 166, 167], "s8/H4": [31, 53],
    "s8/H5": [53], "s8/H6": [116], "s8/H7": [80],
    "s9/I1": [2, 3, 20, 26, 74], "s9/I2": [4],
    "number/4": [4], "number/32-bytes": [32], "number/59-61": [59, 61],
    "number/52": [52], "number/76-bigint": [76], "number/98-100": [98, 100],
    "number/157-158": [157, 158], "number/133-155": [133, 136, 145, 148, 155],
    "number/101-109": [101, 103, 104, 106, 107, 109], "number/112": [112],
    "number/25": [25], "number/19-79": [19, 79], "number/119": [119],
    "number/131": [131],
}

# Where walpost is not as Debezium is, by intention.
OTHERWISE = {
    28: "it masks no column",
    110: "a TRUNCATE is never an error",
    113: "it has no need of heartbeats",
    115: "rows of other tables are not events",
    118: "partitions are published by the name of their root",
    161: "the second shape of a payload under one version is a record",
    169: "a message of no transaction is no event",
    170: "messages are always decoded",
}
