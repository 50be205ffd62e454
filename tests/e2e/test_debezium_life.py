"""Records as Debezium makes them, through stops, restarts, changed tables,
snapshots, dead letters and other ways to Kafka: always the same bytes."""

import hashlib
import json
import re
import uuid

import pytest

from harness import KafkaReader, note, verify, wait_until
from harness.debezium_records import java_partition
from harness.exactly_once import once
from harness.sections import laid_over

# pylint: disable=redefined-outer-name

_TABLE = """
create table outbox (
  id uuid primary key, aggregatetype text not null, aggregateid text not null,
  type text, payload text, p int, ts timestamp, tstz timestamptz, v bytea
)"""
_CONTEXT = ("__debezium.context.connectorLogicalName",
            "__debezium.context.taskId", "__debezium.context.connectorName",
            "__debezium.context.runId")
_UUID_V7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]"
                      r"[0-9a-f]{3}-[0-9a-f]{12}")
_JSON = {"key_converter": "json", "value_converter": "json"}
_POISON = '{"a":[{"x":1},{"x":"s"}]}'


def _sections(topics, *laid, **records):
    sections = {
        "outbox": {"tables": [{"name": "public.outbox"}]},
        "records": {"profile": "debezium", "logical_name": "srv", **records},
        "route": {"topic": topics + "{aggregate_type|allow_empty}"}}
    for more in laid:
        sections = laid_over(sections, more)
    return sections


@pytest.fixture
def table(database):
    database.execute(_TABLE)
    return database


@pytest.fixture
def relay(walpost, table, kafka, topics):
    """relay(*sections, **records): a walpost that is not started."""
    def make(*laid, **records):
        return walpost(table, kafka, topics,
                       **_sections(topics, *laid, **records))

    return make


def _insert(database, number, payload="p", key="k", **columns):
    columns = {"id": str(uuid.UUID(int=number)), "aggregatetype": "order",
               "aggregateid": key, "payload": payload, **columns}
    names = ", ".join(columns)
    database.execute(
        f"insert into outbox ({names}) values "
        f"({', '.join(['%s'] * len(columns))})", tuple(columns.values()))


def _number(record):
    return uuid.UUID(dict(record.headers)["id"].decode()).int


def _parts(record):
    """What has to be the same, however the record came to Kafka."""
    return (record.topic, record.partition, record.key, record.value,
            tuple(header for header in record.headers
                  if not header[0].startswith(("__debezium.context.",
                                               "walpost-"))))


def _names(record):
    return tuple(name for name, _ in record.headers)


def _failing():
    """A row at which Debezium fails: columns, records, and the class."""
    return {
        "payload": ({"payload": _POISON}, {"expand_json": True, **_JSON}),
        "partition": ({"p": -1}, {"placements": ["p:partition"], **_JSON}),
        "timestamp": ({"ts": "1960-01-01"}, _JSON),
        "bytes": ({"payload": "x"}, {"key_converter": "string",
                                     "value_converter": "bytes"}),
    }


@pytest.mark.parametrize("case", _failing())
@pytest.mark.sample(4)
def test_flow_stops_before_a_row_at_which_debezium_fails(
        case, relay, table, kafka, topics):
    columns, records = _failing()[case]
    columns_section = {"timestamp": "ts"} if case == "timestamp" else {}
    if case == "bytes":  # each row of text fails, one of bytes does not
        columns_section = {"payload": "v"}
    tables = {"outbox": {"tables": [{"name": "public.outbox",
                                     "columns": columns_section}]}}
    made = relay(tables, **records)
    if case == "bytes":
        table.execute("alter table outbox alter v type text")
        columns = {"v": "x"}
    good = {"v": None} if case == "bytes" else {}
    made.run()
    _insert(table, 1, "1", **good)
    table.wait_confirmed(table.name)
    before = table.current_lsn()
    _insert(table, 2, **columns)
    _insert(table, 3, "3", **good)
    made.wait_unready("column", 20)
    status = json.loads(made.get("/status")[1])
    assert status["stopped_reason_code"] == "conversion_failed", status
    assert status["stopped_event_id"] == str(uuid.UUID(int=2)), status
    reader = KafkaReader(kafka.bootstrap)
    assert [_number(record) for record in reader.read_all(topics)] == [1]
    assert table.confirmed_lsn(table.name) <= before
    made.stop()
    assert table.confirmed_lsn(table.name) <= before
    made.configure(laid_over(made.config, {
        "on_error": {"conversion_failed": "skip"}}))
    made.run()
    table.wait_confirmed(table.name)
    first, third = sorted(reader.read_all(topics), key=_number)
    assert (_number(first), _number(third)) == (1, 3)
    assert made.metric(
        'walpost_skipped_events_total{class="conversion_failed"}') == 1


@pytest.mark.long
def test_an_update_stops_the_flow_if_that_is_an_error(relay, table):
    made = relay(on_update="stop", **_JSON).run()
    _insert(table, 1)
    table.wait_confirmed(table.name)
    table.execute("update outbox set payload = 'q'")
    text = made.wait_unready("on_update", 20)
    assert "updated" in text


@pytest.mark.parametrize("identity", ["default", "full"])
@pytest.mark.sample(2)
def test_a_changed_primary_key_is_a_new_event_with_its_old_key(
        identity, relay, table, reader, topics):
    table.execute(
        "alter table outbox add column tenant int not null default 7; alter "
        "table outbox drop constraint outbox_pkey, add primary key (tenant, "
        f"id); alter table outbox replica identity {identity}")
    relay(on_update="stop", **_JSON).run()
    _insert(table, 1, "x" * 5000)
    table.execute("update outbox set tenant = 8")
    table.wait_confirmed(table.name)
    inserted, moved = reader.read_all(topics)
    assert moved.headers[0] == (
        "__debezium.oldkey",
        b'{"tenant":7,"id":"00000000-0000-0000-0000-000000000001"}')
    assert moved.headers[1:] == inserted.headers
    assert _names(inserted) == (*_CONTEXT, "id")
    assert (moved.key, moved.value) == (inserted.key, inserted.value)


def test_rows_of_a_snapshot_have_no_context(relay, table, reader, topics):
    for number in range(1, 4):
        _insert(table, number)
    relay({"snapshot": "initial", "outbox": {"tables": [
        {"name": "public.outbox", "order_by": "id"}]}}, **_JSON).run()
    _insert(table, 4)
    table.wait_confirmed(table.name)
    records = sorted(reader.read_all(topics), key=_number)
    assert [_names(record) for record in records] == [
        ("id",), ("id",), ("id",), (*_CONTEXT, "id")]
    assert {record.value for record in records} == {b'"p"'}
    context = dict(records[-1].headers)
    assert [context[name] for name in _CONTEXT[:3]] == [
        b"srv", b"0", b"postgresql"]
    assert _UUID_V7.fullmatch(context[_CONTEXT[3]].decode())


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.sample(2)
def test_kill_changes_no_byte(guarantee, relay, table, reader, topics):
    rows, kills = 3000, 3
    sections = once(topics) if guarantee == "exactly_once" else {}
    made = relay(sections, expand_json=True,
                 placements=["type:envelope:eventType", "p:header"]).run()
    for kill in range(kills):
        table.execute(
            "insert into outbox (id, aggregatetype, aggregateid, type, "
            "payload, p) select lpad(to_hex(n), 32, '0')::uuid, "
            "'order', 'k' || n %% 7, "
            "'T' || n, json_build_object('n', n, 'f', n / 8.0), n "
            "from generate_series(%s, %s) n",
            (kill * rows // kills + 1, (kill + 1) * rows // kills))
        wait_until(lambda: (made.metric(
            "walpost_acknowledged_records_total") or 0) > 100, "records")
        made.kill()
        made.run()
    table.wait_confirmed(table.name)
    found = reader.read_all(topics)
    by_number = {}
    last = {}
    for record in found:
        number = _number(record)
        wanted = _made_by_hand(number)
        assert (record.key, record.value) == wanted, record
        assert record.headers[-1] == ("p", str(number).encode())
        assert _names(record) == (*_CONTEXT, "id", "p")
        if number not in by_number:  # the first occurrences are in order
            assert last.get(record.key, 0) < number
            last[record.key] = number
        by_number.setdefault(number, []).append(record)
    assert sorted(by_number) == list(range(1, rows + 1))
    runs = {dict(record.headers)[_CONTEXT[3]] for record in found}
    assert len(runs) > 1
    duplicates = len(found) - rows
    assert guarantee == "at_least_once" or duplicates == 0
    note(f"{rows} records, {duplicates} sent again, {len(runs)} runs")


def _made_by_hand(number):
    """Key and value with schemas, from the row alone."""
    key = b'{"schema":{"type":"string","optional":false},"payload":"k%d"}' % (
        number % 7)
    fraction = number / 8
    value = (
        b'{"schema":{"type":"struct","fields":[{"type":"struct","fields":['
        b'{"type":"int32","optional":true,"field":"n"},'
        b'{"type":"double","optional":true,"field":"f"}],"optional":true,'
        b'"name":"payload","field":"payload"},'
        b'{"type":"string","optional":true,"field":"eventType"}],'
        b'"optional":false,"name":"srv.public.outbox.order.Value"},'
        b'"payload":{"payload":{"n":%d,"f":%s},"eventType":"T%d"}}' % (
            number, repr(fraction).encode(), number))
    return key, value


@pytest.mark.long
def test_types_are_those_behind_domains_and_arrays(relay, table, reader, topics):
    """What the catalog says of elements, and of domains over domains."""
    table.execute(
        "create schema other; create type other.mood as enum ('sad', 'ok');"
        " create domain moods as other.mood[];"
        " create domain price as numeric(8,2); create domain net as price;"
        " create domain at as timestamp(3); create domain later as at;"
        " create type pair as (a int, b text); create type _mood as enum ('x')")
    columns = {
        "net": ("net", "1.5", b"1.50"),
        "later": ("later", "2020-01-02 03:04:05.678", b"1577934245678"),
        "moods": ("moods", "{sad,ok}", b'["sad","ok"]'),
        "named": ("_mood", "x", b"x"),
        "pairs": ("pair[]", '{"(1,x)"}', b'["KDEseCk="]'),
        "nets": ("net[]", "{1.5}", b'["MS41MA=="]'),
        "bits": ("bit(3)[]", "{101}", None),
        "spot": ("point", "(1,2.5)", b'{"x":1.0,"y":2.5,"wkb":"AQEAAAAAAAAAAADwPwAA'
                 b'AAAAAARA","srid":null}')}
    table.execute("alter table outbox " + ", ".join(
        f"add column {name} {kind}" for name, (kind, _, _) in columns.items()))
    relay(placements=[f"{name}:header" for name in columns], unknown_types=True,
          context_headers="none").run()
    _insert(table, 1, **{name: value for name, (_, value, _) in columns.items()})
    table.wait_confirmed(table.name)
    record, = reader.read_all(topics)
    headers = dict(record.headers)
    assert {name: headers[name] for name in columns} == {
        name: header for name, (_, _, header) in columns.items()}


@pytest.mark.long
def test_a_type_that_is_not_made_is_refused_by_check_and_run(relay, table):
    table.execute("alter table outbox add column shapes box[]")
    walpost = relay(placements=["shapes:header"], unknown_types=True,
                    missing_columns="ignore")
    said = walpost.verb("check")
    cause = ("walpost cannot make what Debezium makes of the type of column"
             " 'shapes'")
    assert said.returncode == 1 and cause in said.stdout, said.stdout
    walpost.start()
    assert walpost.wait_exit(30) == 3
    assert cause in walpost.log()


def test_schemas_follow_the_columns(relay, table, reader, topics):
    """Columns that come and go while walpost streams."""
    relay(placements=["extra:envelope", "kind:header"], header_converter="json"
          "_schemas", missing_columns="ignore",
          context_headers="none").run()
    _insert(table, 1, "1")
    table.wait_confirmed(table.name)
    table.execute("alter table outbox add column extra int not null default 5, "
                  "add column kind text default 'a'")
    _insert(table, 2, "2")
    table.wait_confirmed(table.name)
    table.execute("alter table outbox drop column extra")
    _insert(table, 3, "3")
    table.wait_confirmed(table.name)
    records = sorted(reader.read_all(topics), key=lambda record: json.loads(
        record.value)["payload"]["payload"])

    def fields(record):
        return json.loads(record.value)["schema"]["fields"]

    assert [[field["field"] for field in fields(record)]
            for record in records] == [["payload"], ["payload", "extra"],
                                       ["payload"]]
    assert fields(records[1])[1] == {"type": "int32", "optional": False,
                                     "default": 5, "field": "extra"}
    assert dict(records[1].headers)["kind"] == (
        b'{"schema":{"type":"string","optional":true,"default":"a"},'
        b'"payload":"a"}')


@pytest.mark.long
def test_schemas_have_not_null_and_default_from_the_next_connection(
        relay, table, reader, topics):
    """Of a column that the table has had before: the stream does not tell."""
    table.execute("alter table outbox alter aggregateid drop not null")
    made = relay().run()
    _insert(table, 1)
    table.wait_confirmed(table.name)
    made.stop()
    table.execute("alter table outbox alter aggregateid set not null, alter "
                  "payload set default 'new'")
    made.run()
    _insert(table, 2, None)
    table.wait_confirmed(table.name)
    first, second = sorted(reader.read_all(topics), key=_number)
    assert json.loads(first.key)["schema"]["optional"] is True
    assert json.loads(second.key)["schema"]["optional"] is False
    assert json.loads(second.value) == {
        "schema": {"type": "string", "optional": True, "default": "new"},
        "payload": "new"}


@pytest.mark.long
def test_an_enum_has_its_labels_in_the_schema(relay, table, reader, topics):
    table.execute("create type color as enum ('red', 'dark blue'); create "
                  "domain short as varchar(5); alter table outbox add column e "
                  "color, add column d short not null default 'x'")
    relay({"outbox": {"tables": [{"name": "public.outbox", "columns": {
        "payload": "e", "aggregate_id": "d"}}]}}).run()
    _insert(table, 1, e="dark blue", d="y")
    table.execute("alter type color add value 'white'")
    _insert(table, 2, e="white", d="y")
    table.wait_confirmed(table.name)
    first, second = sorted(reader.read_all(topics), key=_number)
    assert first.value == (
        b'{"schema":{"type":"string","optional":true,"name":'
        b'"io.debezium.data.Enum","version":1,"parameters":{"allowed":'
        b'"red,dark blue"}},"payload":"dark blue"}')
    assert json.loads(second.value)["payload"] == "white"
    assert json.loads(first.key)["payload"] == "y"
    assert first.key == second.key


@pytest.mark.long
def test_a_column_headers_makes_no_headers(relay, table, reader, topics):
    table.execute("alter table outbox add column headers jsonb")
    relay(**_JSON).run()
    _insert(table, 1, headers='{"trace": "t"}')
    table.wait_confirmed(table.name)
    record, = reader.read_all(topics)
    assert _names(record) == (*_CONTEXT, "id")


@pytest.mark.parametrize("converter,text", [
    ("simple", b"%s"), ("string", b"%s"), ("json", b'"%s"'),
    ("json_schemas", b'{"schema":{"type":"string","optional":false},'
                     b'"payload":"%s"}')])
@pytest.mark.sample(4)
def test_headers_of_each_converter(converter, text, relay, table, reader,
                                   topics):
    relay(header_converter=converter, context_headers="3.2", **_JSON).run()
    _insert(table, 1)
    table.wait_confirmed(table.name)
    record, = reader.read_all(topics)
    assert record.headers[:3] == tuple(zip(_CONTEXT, (
        text % b"srv", text % b"0", text % b"postgresql")))
    named = text.replace(b"false", b'false,"name":"io.debezium.data.Uuid",'
                                   b'"version":1')
    assert record.headers[3] == (
        "id", named % str(uuid.UUID(int=1)).encode())
    assert len(record.headers) == 4


@pytest.mark.long
def test_debezium_server_takes_no_partition_time_or_null_header(
        relay, table, reader, topics):
    relay({"outbox": {"tables": [{"name": "public.outbox", "columns": {
        "timestamp": "ts"}}]}}, runtime="server", context_headers="none",
        placements=["p:partition", "type:header"], **_JSON).run()
    _insert(table, 1, p=3, ts="2001-01-01")
    table.wait_confirmed(table.name)
    record, = reader.read_all(topics)
    assert _names(record) == ("id",)
    assert record.partition == java_partition(b'"k"', 4)
    assert record.timestamp > 1_700_000_000_000


@pytest.mark.parametrize("action", ["dead_letter", "park"])
@pytest.mark.sample(2)
def test_what_was_set_aside_has_the_same_bytes_later(
        action, relay, table, kafka, reader, topics):
    """A row whose topic is illegal is sent when the template is corrected."""
    kafka.create_topic(topics + "dead", 1)
    made = relay({"on_error": {"topic_illegal": action},
                  "dead_letter": {"topic": topics + "dead"}},
                 expand_json=True, placements=["type:header"], **_JSON).run()
    payload = '{"a":1.10,"b":[]}'
    _insert(table, 1, payload, aggregatetype="a/b", type="T")
    _insert(table, 2, payload, type="T")
    table.wait_confirmed(table.name)
    made.stop()
    made.configure(laid_over(made.config, {"route": {
        "topic": topics + "{aggregate_type|replace:a/b:order}"}}))
    made.run()
    verb = {"dead_letter": ("dead-letters", "retry", "--out-of-order"),
            "park": ("parked", "release")}[action]
    said = made.verb(*verb, "--all", "--why", "a test")
    assert said.returncode == 0, said.stderr
    records = wait_until(
        lambda: (found := reader.read(topics + "order")) and len(found) == 2
        and found, "both records")
    later, = (record for record in records if _number(record) == 1)
    usual, = (record for record in records if _number(record) == 2)
    assert later.key == usual.key and later.value == usual.value == b'{"a":1.1}'
    assert _parts(later)[4][1:] == _parts(usual)[4][1:] == (("type", b"T"),)


# Constraints, replica identity, the column that an UPDATE changes, and whether the
# real connector makes an event of it.
_IDENTITIES = {
    "primary key": ("add primary key (id)", "default", "id", True),
    "primary key, full": ("add primary key (id)", "full", "id", True),
    "part of the identity, not of the key": (
        "add primary key (id), add unique (id, p)", "using index outbox_id_p_key",
        "p", False),
    "unique index": ("add unique (id)", "using index outbox_id_key", "id", True),
    "unique index, full": ("add unique (id)", "full", "id", True),
    "no key, full": ("add check (id is not null)", "full", "id", False),
    "another column, full": ("add primary key (id)", "full", "p", False),
}


@pytest.mark.parametrize("identity", _IDENTITIES)
@pytest.mark.sample(7)
def test_an_update_is_an_event_if_the_key_changes(identity, relay, table, reader,
                                                  topics):
    constraints, replica, changed, is_event = _IDENTITIES[identity]
    table.execute("alter table outbox drop constraint outbox_pkey, alter p set not"
                  f" null, alter id set not null, {constraints}")
    table.execute(f"alter table outbox replica identity {replica}")
    relay(key_converter="string", value_converter="string").run()
    large = "".join(hashlib.sha256(bytes([n % 256, n // 256])).hexdigest()
                    for n in range(300))
    _insert(table, 1, large, p=1)
    table.execute("update outbox set " + {
        "id": f"id = '{uuid.UUID(int=2)}'", "p": "p = 2"}[changed])
    _insert(table, 3, p=1)
    table.wait_confirmed(table.name)
    records = sorted(reader.read_all(topics), key=_number)
    assert [_number(record) for record in records] == (
        [1, 2, 3] if is_event else [1, 3])
    if is_event:
        headers = dict(records[1].headers)
        assert json.loads(headers["__debezium.oldkey"]) == {
            "id": str(uuid.UUID(int=1))}
        kept = large if "full" in replica else "__debezium_unavailable_value"
        assert records[1].value == kept.encode()


def test_what_the_catalog_says_of_a_column_is_read_again(relay, table, reader,
                                                         topics):
    """A DEFAULT, NOT NULL and labels, while it streams, and no record twice."""
    table.execute("create type mood as enum ('sad', 'ok'); alter table outbox add"
                  " column m mood, add column d int not null default 4")
    made = relay(placements=["d:envelope", "m:envelope"], key_converter="json",
                 value_converter="json_schemas").run()
    _insert(table, 1)
    table.wait_confirmed(table.name)

    def last():
        return json.loads(max(reader.read_all(topics), key=_number).value)
    assert last()["schema"]["fields"][1] == {
        "type": "int32", "optional": False, "default": 4, "field": "d"}
    table.execute("alter table outbox alter d drop not null, alter d set default 7;"
                  " alter type mood add value 'glad'")
    made.wait_log("were altered")
    made.wait_ready()
    _insert(table, 2, m="glad", d=None)
    table.wait_confirmed(table.name)
    assert last()["schema"]["fields"][1] == {
        "type": "int32", "optional": True, "default": 7, "field": "d"}
    assert last()["payload"]["d"] == 7
    assert last()["schema"]["fields"][2]["parameters"]["allowed"] == "sad,ok,glad"
    table.execute("analyze outbox")
    _insert(table, 3)
    table.wait_confirmed(table.name)
    assert [_number(record) for record in reader.read_all(topics)] == [1, 2, 3]
    assert made.log().count("were altered: reading them again; trying again") == 1


@pytest.mark.long
def test_verify_is_clean(relay, table):
    made = relay(expand_json=True, placements=["type:envelope"],
                 tombstone_on_empty=True).run()
    for number, payload in enumerate(('{"a": 1}', None, "", "[1", "x"), 1):
        _insert(table, number, payload, type="T")
    table.wait_confirmed(table.name)
    report = verify(made, sequence=None)
    assert report["clean"] and report["records"] == 5, report


@pytest.mark.parametrize("converter", ["json", "json_schemas", "string"])
@pytest.mark.parametrize("kind", ["text", "jsonb", "int"])
@pytest.mark.sample(9)
def test_verify_compares_as_json(relay, table, converter, kind):
    """Each row with its record; a row that was changed is altered."""
    payloads = {
        "text": ('{"a": 1.10, "n": null, "l": [], "d": {"x": [1, 2]}}', "null", "x",
                 " ", '"s"', "[1", '{"r": [{"a": 1}, {"b": 1.50}]}', "é😀"),
        "jsonb": ('{"b": 1, "a": 2.50}', "[]", "{}", "null", '"s"', "17", "1e3"),
        "int": ("17", "-1")}[kind]
    table.execute(f"alter table outbox alter payload type {kind} using null")
    made = relay(expand_json=kind != "int" and converter != "string",
                 tombstone_on_empty=kind == "text", key_converter=converter,
                 value_converter=converter).run()
    for number, payload in enumerate((*payloads, None), 1):
        _insert(table, number, payload, key=("42", "k", "null")[number % 3])
    table.wait_confirmed(table.name)
    report = verify(made, "--json-equal", sequence=None)
    assert report["clean"] and report["records"] == len(payloads) + 1, report
    assert not report["notes"], report
    changed = {"text": "y", "jsonb": '{"b": 1, "a": 2.51}', "int": "18"}[kind]
    table.execute("update outbox set payload = %s where id = %s",
                  (changed, str(uuid.UUID(int=1))))
    assert verify(made, sequence=None)["clean"], "without it nobody looks"
    report = verify(made, "--json-equal", sequence=None)
    assert not report["clean"] and set(report["found"]) & {
        "altered", "undecided"}, report


def test_polled_rows_have_the_same_bytes(relay, walpost, table, kafka, reader,
                                         topics):
    table.execute("alter table outbox add column status text not null default "
                  "'pending', add column published_at timestamptz, add column "
                  "locked_until timestamptz, add column n bigserial; create "
                  "index on outbox (n) where status = 'pending'")
    records = {"expand_json": True, "placements": ["type:header",
                                                   "v:envelope"]}
    for number, payload in enumerate(
            ('{"a":1.10,"n":null}', None, "", '{"a":[1,"x"]}', "é"), 1):
        _insert(table, number, payload, type="T", v=b"\x00\xff")
    table.execute("create publication walpost for table outbox")
    relay({"snapshot": "initial", "outbox": {"tables": [
        {"name": "public.outbox", "order_by": "n"}]}}, **records).run()
    table.wait_confirmed(table.name)
    streamed = {_number(record): _parts(record)
                for record in reader.read_all(topics)}
    polled = topics[:-1] + "polled."
    walpost(table, kafka, polled, **_sections(polled, {
        "source": "polling", "polling": {"interval": "50ms"},
        "outbox": {"tables": [{"name": "public.outbox", "order_by": "n",
                               "state": {"status": "status",
                                         "published_at": "published_at",
                                         "locked_until": "locked_until"}}]},
    }, **records)).run()
    wait_until(lambda: table.value(
        "select count(*) from outbox where status = 'published'") == 5,
        "polled rows")
    found = {_number(record): _parts(record)
             for record in reader.read_all(polled)}
    assert len(found) == len(streamed) == 5
    assert {number: parts[2:] for number, parts in found.items()} == {
        number: parts[2:] for number, parts in streamed.items()}
