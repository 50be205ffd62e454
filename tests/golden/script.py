"""The SQL of a recording, and beside it what each commit must deliver.

The same script for every major version; what only newer ones understand is
marked. A change is stated as the SQL means it: no decoder had a say in it.
"""

import datetime

from truth import (
    Message, Origin, Truncate, Unchanged, bytea, boolean, date, delete, double,
    insert, int_text_row, integer, jsonb, numeric, text, text_array, timestamp,
    update, uuid_value)

SCHEMA = [
    "create type public.mood as enum ('calm', 'so so')",
    "create domain public.email as varchar(40) check (value like '%@%')",
    "create type public.place as (floor int, label text)",
    # The usual outbox.
    """create table public.outbox (
        id uuid primary key, aggregate_type text not null, aggregate_id text,
        type text, payload jsonb, headers jsonb)""",
    # The other spelling, a bytea payload, and a generated column.
    """create table public.outbox_events (
        id bigint primary key, aggregatetype varchar(255) not null,
        aggregateid varchar(255), type public.mood, payload bytea,
        doubled bigint generated always as (id * 2) stored)""",
    # One column of every type that an outbox may have.
    """create table public.typed (
        id int primary key, small smallint, big bigint, flag boolean,
        ratio double precision, amount numeric, name varchar(20), code char(5),
        note text, raw bytea, ref uuid, doc json, docb jsonb, at timestamptz,
        local timestamp, day date, feeling public.mood, mail public.email,
        spot public.place, tags text[])""",
    # Partitions, one of them with another order of columns and a gap.
    """create table public.parted (
        id int, day date, note text, primary key (id, day))
        partition by range (day)""",
    """create table public.parted_a partition of public.parted
        for values from ('2026-01-01') to ('2026-01-02')""",
    """create table public.parted_b (
        note text, gone int, day date not null, id int not null)""",
    "alter table public.parted_b drop column gone",
    """alter table public.parted attach partition public.parted_b
        for values from ('2026-01-02') to ('2026-01-03')""",
    "create table public.parted_rest partition of public.parted default",
    # Names that need quotes.
    'create schema "App"',
    """create table "App"."Outbox Table" (
        "Id" int primary key, "Aggregate Type" text)""",
    # In no publication: rows here only make a transaction large.
    "create table public.noise (filler text)",
    # One table for each replica identity.
    """create table public.identity_default (
        id int primary key, note text, long text)""",
    # Out of line without compression: an update may leave it untouched.
    """alter table public.identity_default
        alter column long set storage external""",
    "create table public.identity_full (id int primary key, note text)",
    "alter table public.identity_full replica identity full",
    """create table public.identity_index (
        id int primary key, code text not null, note text)""",
    "create unique index identity_index_code on public.identity_index (code)",
    """alter table public.identity_index
        replica identity using index identity_index_code""",
    "create table public.identity_nothing (id int)",
    "alter table public.identity_nothing replica identity nothing",
    "select pg_replication_origin_create('upstream')",
]

DAY = datetime.date
UTC = datetime.timezone.utc


def uid(number):
    return f"00000000-0000-0000-0000-{number:012d}"


def event(number, **columns):
    """The row number `number` of public.outbox."""
    row = {
        "id": uid(number),
        "aggregate_type": "order",
        "aggregate_id": f"k{number % 3}",
        "type": "Placed",
        "payload": f'{{"n": {number}}}',
        "headers": None,
    }
    row.update(columns)
    return row


def values(*rows):
    """The rows as SQL values; no text here holds a quote or a backslash."""
    return ", ".join(
        "(" + ", ".join("null" if v is None else f"'{v}'"
                        for v in row.values()) + ")"
        for row in rows)


def put(*numbers):
    return "insert into outbox values " + values(*map(event, numbers))


def got(*numbers):
    return [insert("public.outbox", event(n)) for n in numbers]


def single_insert(r):
    """One row in one transaction."""
    r.transaction([put(1)], got(1))


def multi_row_insert(r):
    """Several rows in one statement."""
    r.transaction([put(2, 3, 4)], got(2, 3, 4))


def copy(r):
    """COPY: rows that share one LSN."""
    headers = '{"traceparent": "00-ab-cd-01"}'
    r.begin()
    r.sql("copy outbox from stdin", copy=(
        f'{uid(5)}\torder\tk2\tPlaced\t{{"n": 5}}\t\\N\n'
        f'{uid(6)}\torder\tk0\tPlaced\t{{"n": 6}}\t{headers}\n'
        f'{uid(7)}\torder\t\\N\t\\N\t\\N\t\\N\n'))
    r.commit([
        insert("public.outbox", event(5)),
        insert("public.outbox", event(6, headers=headers)),
        insert("public.outbox", event(
            7, aggregate_id=None, type=None, payload=None)),
    ])


def null_empty_unicode(r):
    """NULL is not the empty text; text beyond ASCII."""
    rows = [
        event(8, aggregate_id=None, type=None, payload=None),
        event(9, aggregate_id="", type="", payload='""', headers="{}"),
        event(10, aggregate_id="Zoë 東京 🐘 e\u0301", type="Größe",
              payload='{"ß": "\u2028🐘", "tab": "\\t"}',
              headers='{"clé": "värde"}'),
        event(11, payload="null"),
    ]
    r.transaction(
        ["insert into outbox values " + values(*rows)],
        [insert("public.outbox", row) for row in rows])


def column_types(r):
    """Every column type, with values, NULLs and extremes."""
    ref = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    moment = datetime.datetime(2024, 1, 2, 1, 4, 5, 678901, UTC)
    full = {
        "id": integer(1, 4),
        "small": integer(-2, 2),
        "big": integer(1234567890123, 8),
        "flag": boolean(True),
        "ratio": double("0.1", 0.1),
        "amount": numeric("123.4500", [123, 4500], 0, 0, 4),
        "name": text("Zoë"),
        "code": text("ab   "),
        "note": text("tab\there, back\\slash, line\nend, quote'\""),
        "raw": bytea(b"\x00\xff\\\n"),
        "ref": uuid_value(ref),
        "doc": text('{"b":1,  "a":[2,2.50]}'),
        "docb": jsonb('{"a": [2, 2.50], "b": 1}'),
        "at": timestamp("2024-01-02 01:04:05.678901+00", moment),
        "local": timestamp("2024-01-02 01:04:05.678901", moment),
        "day": date("2024-02-29", DAY(2024, 2, 29)),
        "feeling": text("so so"),
        "mail": text("a@example.com"),
        "spot": int_text_row('(7,"two words")', 7, "two words"),
        "tags": text_array('{a,NULL,"b c"}', ["a", None, "b c"]),
    }
    nothing = dict.fromkeys(full) | {"id": integer(2, 4)}
    edge = {
        "id": integer(-2147483648, 4),
        "small": integer(32767, 2),
        "big": integer(-9223372036854775808, 8),
        "flag": boolean(False),
        "ratio": double("-Infinity", float("-inf")),
        "amount": numeric("NaN", [], 0, 0xC000, 0),
        "name": text(""),
        "code": text("     "),
        "note": text(""),
        "raw": bytea(b""),
        "ref": uuid_value("ffffffff-ffff-ffff-ffff-ffffffffffff"),
        "doc": text(" null "),
        "docb": jsonb("null"),
        "at": timestamp("infinity", 2**63 - 1),
        "local": timestamp("-infinity", -(2**63)),
        "day": date("1999-12-31", DAY(1999, 12, 31)),
        "feeling": text("calm"),
        "mail": text("@"),
        "spot": int_text_row("(,)", None, None),
        "tags": text_array("{}", []),
    }
    r.transaction([
        f"""insert into typed values (1, -2, 1234567890123, true, 0.1, 123.4500,
            'Zoë', 'ab', e'tab\\there, back\\\\slash, line\\nend, quote\\'"',
            '\\x00ff5c0a', '{ref}', '{{"b":1,  "a":[2,2.50]}}',
            '{{"b":1,  "a":[2,2.50]}}', '2024-01-02 03:04:05.678901+02',
            '2024-01-02 01:04:05.678901', '2024-02-29', 'so so',
            'a@example.com', row(7, 'two words'), array['a', null, 'b c'])""",
        "insert into typed (id) values (2)",
        """insert into typed values (-2147483648, 32767, -9223372036854775808,
            false, '-infinity', 'NaN', '', '', '', '',
            'FFFFFFFF-ffff-ffff-ffff-ffffffffffff', ' null ', ' null ',
            'infinity', '-infinity', '1999-12-31', 'calm', '@',
            row(null, null), '{}')""",
    ], [insert("public.typed", row) for row in (full, nothing, edge)])


def savepoint_rolled_back(r):
    """A savepoint that is rolled back takes its rows with it."""
    r.transaction([
        put(20), "savepoint s", put(21), "rollback to s", put(22),
    ], got(20, 22))


def savepoint_released(r):
    """Released savepoints, nested, one of them inside a rolled-back one."""
    r.transaction([
        "savepoint s1", put(23), "savepoint s2", put(24), "release s2",
        "release s1", "savepoint s3", put(25), "savepoint s4", put(26),
        "release s4", "rollback to s3", put(27),
    ], got(23, 24, 27))


def rolled_back(r):
    """A transaction that is rolled back is never heard of."""
    r.begin()
    r.sql(put(28, 29))
    r.rollback()


def insert_and_delete(r):
    """A row deleted by the transaction that inserted it is delivered."""
    r.transaction(
        [put(30, 31), f"delete from outbox where id = '{uid(30)}'"],
        got(30, 31))


def unpublished_actions(r):
    """Updates and deletes are not in an insert-only publication."""
    r.transaction([
        f"update outbox set type = 'Changed' where id = '{uid(1)}'",
        f"delete from outbox where id = '{uid(2)}'",
    ], [])


def upsert(r):
    """ON CONFLICT inserts, or updates, or does nothing."""
    r.transaction([
        put(31) + " on conflict do nothing",
        put(31) + " on conflict (id) do update set type = 'Again'",
        put(32) + " on conflict (id) do update set type = 'Again'",
    ], got(32))


def merge(r):
    """MERGE: what it inserts, not what it updates (PostgreSQL 15)."""
    source = values(event(32), event(33))
    r.transaction([
        f"""merge into outbox o using (values {source})
            s (id, aggregate_type, aggregate_id, type, payload, headers)
            on o.id = s.id::uuid
            when matched then update set type = 'Merged'
            when not matched then insert values (s.id::uuid, s.aggregate_type,
                s.aggregate_id, s.type, s.payload::jsonb, s.headers::jsonb)"""
    ], got(33))


def relation_changes(r):
    """Columns come, go and are renamed between the rows of a transaction."""
    renamed = {("kind" if k == "type" else k): v for k, v in event(43).items()}
    r.transaction([
        put(40),
        "alter table outbox add column extra text default 'x'",
        "insert into outbox values " + values(event(41, extra="y")),
        "alter table outbox drop column extra",
        put(42),
        "alter table outbox rename column type to kind",
        put(43),
        "alter table outbox rename column kind to type",
        put(44),
    ], [
        insert("public.outbox", event(40)),
        insert("public.outbox", event(41, extra="y")),
        insert("public.outbox", event(42)),
        insert("public.outbox", renamed),
        insert("public.outbox", event(44)),
    ])


def relation_change_rolled_back(r):
    """A column that was added and rolled back is in no later row."""
    r.transaction([
        put(45), "savepoint s", "alter table outbox add column extra text",
        "insert into outbox values " + values(event(46, extra="y")),
        "rollback to s", put(47),
    ], got(45, 47))


def analyze_between(r):
    """ANALYZE, GRANT and an index make the server send the Relation again."""
    r.transaction([put(48), "analyze outbox", put(49)], got(48, 49))
    r.transaction(["analyze outbox"], [])
    r.transaction([put(50)], got(50))
    r.transaction(["grant select on outbox to public",
                   "create index on outbox (aggregate_id)"], [])
    r.transaction([put(51)], got(51))


def partitions(r):
    """Rows of partitions, through the root and straight into a leaf."""
    def row(number, day, note):
        return {"id": str(number), "day": day, "note": note}
    def parted(leaf, *columns):
        return insert("public.parted", row(*columns), leaf=f"public.{leaf}")
    # A leaf's own order of columns shows where the root does not speak for it.
    r.transaction(
        ["insert into parted values (1, '2026-01-01', 'a'),"
         " (3, '2030-01-01', null)"],
        [parted("parted_a", 1, "2026-01-01", "a"),
         parted("parted_rest", 3, "2030-01-01", None)])
    r.transaction(
        ["insert into parted_a values (4, '2026-01-01', 'direct')"],
        [parted("parted_a", 4, "2026-01-01", "direct")])
    r.transaction([
        "create table parted_c partition of parted"
        " for values from ('2026-01-03') to ('2026-01-04')",
        "insert into parted values (5, '2026-01-03', 'new leaf')",
    ], [parted("parted_c", 5, "2026-01-03", "new leaf")])
    # An update that moves a row to another leaf is a delete and an insert in
    # the WAL: an insert-only publication delivers the row a second time.
    r.transaction(
        ["update parted set day = '2026-01-03' where id = 4"],
        [delete("public.parted",
                key={"id": "4", "day": "2026-01-01"}, leaf="public.parted_a"),
         parted("parted_c", 4, "2026-01-03", "direct")])


def partition_column_order(r):
    """A leaf with another order of columns, through the root."""
    r.transaction(
        ["insert into parted values (2, '2026-01-02', 'b')",
         "insert into parted_b (id, day, note) values (6, '2026-01-02', 'c')"],
        [OtherOrder(2, "b"), OtherOrder(6, "c")])


class OtherOrder:
    """A row of parted_b, whose columns the root reorders."""

    op = "insert"

    def __init__(self, number, note):
        day = "2026-01-02"
        root = {"id": str(number), "day": day, "note": note}
        leaf = {"note": note, "day": day, "id": str(number)}
        self.root = insert("public.parted", root)
        self.leaf = insert("public.parted_b", leaf)

    def tables(self, via_root):
        return (self.root if via_root else self.leaf).tables(via_root)

    def line(self, stream):
        return (self.root if stream.via_root else self.leaf).line(stream)


def several_tables(r):
    """One transaction over several tables, one with names that need quotes."""
    def other(number, mood):
        return insert("public.outbox_events", {
            "id": str(number), "aggregatetype": "cart", "aggregateid": "c1",
            "type": mood, "payload": bytea(b"\x01\x02")})
    def quoted(number):
        return insert("App.Outbox Table", {
            "Id": str(number), "Aggregate Type": "quoted"})
    r.transaction([
        put(60),
        "insert into outbox_events values (1, 'cart', 'c1', 'calm', '\\x0102')",
        """insert into "App"."Outbox Table" values (1, 'quoted')""",
        put(61),
        "insert into outbox_events values (2, 'cart', 'c1', null, '\\x0102')",
        "insert into noise values ('not published')",
    ], got(60) + [other(1, "calm"), quoted(1)] + got(61) + [other(2, None)])


def late_publication(r):
    """A table that joins the publication while the stream runs."""
    r.transaction(["create table late (id int primary key)",
                   "insert into late values (1)"], [])
    r.transaction(["alter publication golden_outbox add table late",
                   "alter publication golden_streamed add table late"], [])
    r.transaction(["insert into late values (2)"],
                  [insert("public.late", {"id": "2"})])


def interleaved(r):
    """Two sessions: rows come in the order of commits, not of inserts."""
    r.begin("a")
    r.sql(put(70), "a")
    r.begin("b")
    r.sql(put(71), "b")
    r.sql(put(72), "a")
    r.sql(put(73), "b")
    r.commit(got(71, 73), "b")
    r.commit(got(70, 72), "a")


def messages(r):
    """Logical messages inside transactions, in the order of statements."""
    content = '{"aggregate_type": "order", "payload": {"n": 1}}'
    r.transaction([
        put(80),
        f"select pg_logical_emit_message(true, 'outbox', '{content}')",
        "select pg_logical_emit_message(true, 'other', '\\x00ff0a'::bytea)",
        "select pg_logical_emit_message(true, '', '')",
        put(81),
    ], got(80) + [Message("outbox", content),
                  Message("other", b"\x00\xff\n"), Message("", "")] + got(81))
    r.transaction(
        ["select pg_logical_emit_message(true, 'outbox', 'alone')"],
        [Message("outbox", "alone")])
    r.transaction([
        "select pg_logical_emit_message(true, 'outbox', 'kept')", "savepoint s",
        "select pg_logical_emit_message(true, 'outbox', 'dropped')",
        "rollback to s",
    ], [Message("outbox", "kept")])
    r.begin()
    r.sql("select pg_logical_emit_message(true, 'outbox', 'rolled back')")
    r.rollback()


def messages_outside(r):
    """Non-transactional messages are delivered at once, even if rolled back."""
    r.begin()
    r.sql(put(82))
    r.sql("select pg_logical_emit_message(false, 'outbox', 'at once')")
    r.message_outside(Message("outbox", "at once", transactional=False))
    r.commit(got(82))
    r.begin()
    r.sql(put(86))
    r.sql("select pg_logical_emit_message(false, 'outbox', 'no way back')")
    r.message_outside(Message("outbox", "no way back", transactional=False))
    r.rollback()


def origin(r):
    """A transaction replayed under a replication origin."""
    r.sql("select pg_replication_origin_session_setup('upstream')")
    # Without a position and a time of its own.
    r.transaction([put(85)], [Origin("upstream", 0)] + got(85))
    r.begin()
    r.sql("select pg_replication_origin_xact_setup"
          "('A/B00000C', '2020-02-02 02:02:02.020202+00')")
    r.sql(put(83))
    r.commit([Origin("upstream", 0xA0B00000C)] + got(83))
    r.sql("select pg_replication_origin_session_reset()")
    r.transaction([put(84)], got(84))


def two_phase(r):
    """A prepared transaction comes when it is committed, or never."""
    r.begin()
    r.sql(put(90))
    r.prepare("kept")
    r.begin()
    r.sql(put(91))
    r.prepare("dropped")
    r.transaction([put(92)], got(92))
    r.commit_prepared("kept", got(90))
    r.rollback_prepared("dropped")


def large_aborted(r):
    """A large aborted transaction with savepoints, decoded after its end."""
    filler = "insert into noise select repeat('x', 1000) from" \
             " generate_series(1, 150)"
    r.hold_streams()
    r.begin()
    for statement in (put(100), "savepoint s1", put(101), filler, "release s1",
                      "savepoint s2", put(102), filler, "rollback to s2",
                      put(103), filler):
        r.sql(statement)
    r.rollback()
    # The savepoint is still in memory when the limit is reached: PostgreSQL 18
    # sends an Abort for it, in a stream that never asked for streaming.
    r.begin()
    for statement in (put(105), "savepoint s", put(106), "release s", filler):
        r.sql(statement)
    r.rollback()
    r.transaction([put(104)], got(104))
    r.release_streams()


def large_committed(r):
    """A large transaction with a rolled-back savepoint, decoded as it runs."""
    filler = "insert into noise select repeat('x', 1000) from" \
             " generate_series(1, 150)"
    r.transaction([
        put(110), filler, "savepoint s1", put(111), filler, "rollback to s1",
        "savepoint s2", put(112), filler, "release s2", put(113),
    ], got(110, 112, 113))


def large_prepared(r):
    """A large prepared transaction."""
    r.begin()
    r.sql(put(114))
    r.sql("insert into noise select repeat('x', 1000) from"
          " generate_series(1, 150)")
    r.sql(put(115))
    r.prepare("large")
    r.commit_prepared("large", got(114, 115))


def empty_transactions(r):
    """Transactions that touch nothing published."""
    r.transaction(["insert into noise values ('quiet')"], [])
    r.transaction(["create table scratch ()", "drop table scratch"], [])


def identities(r):
    """Updates and deletes under each replica identity."""
    long = "z" * 2100
    def default(number, note, value=long):
        return {"id": str(number), "note": note, "long": value}
    def full(number, note):
        return {"id": str(number), "note": note}
    def index(number, code, note):
        return {"id": str(number), "code": code, "note": note}
    table = "public.identity_default"
    r.transaction([
        "insert into identity_default values (1, 'a', repeat('z', 2100))",
        "update identity_default set note = 'b' where id = 1",
        "update identity_default set id = 2 where id = 1",
        "update identity_default set long = null",
        "delete from identity_default",
    ], [
        insert(table, default(1, "a")),
        update(table, default(1, "b", Unchanged)),
        # The row is another one by its key: the old key comes along.
        update(table, default(2, "b", Unchanged), key={"id": "1"}),
        update(table, default(2, "b", None)),
        delete(table, key={"id": "2"}),
    ])
    table = "public.identity_full"
    r.transaction([
        "insert into identity_full values (1, null), (2, 'b')",
        "update identity_full set note = 'c' where id = 1",
        "delete from identity_full where id = 2",
    ], [
        insert(table, full(1, None)),
        insert(table, full(2, "b")),
        update(table, full(1, "c"), old=full(1, None)),
        delete(table, old=full(2, "b")),
    ])
    table = "public.identity_index"
    r.transaction([
        "insert into identity_index values (1, 'x', 'a')",
        "update identity_index set note = 'b'",
        "update identity_index set code = 'y'",
        "delete from identity_index",
    ], [
        insert(table, index(1, "x", "a")),
        update(table, index(1, "x", "b")),
        update(table, index(1, "y", "b"), key={"code": "x"}),
        delete(table, key={"code": "y"}),
    ])
    r.transaction(["insert into identity_nothing values (1)"],
                  [insert("public.identity_nothing", {"id": "1"})])


def truncates(r):
    """TRUNCATE, alone and with its options; what it removes was delivered."""
    r.transaction(
        ["insert into identity_full values (3, 'c')", "truncate identity_full"],
        [insert("public.identity_full", {"id": "3", "note": "c"}),
         Truncate(["public.identity_full"])])
    r.transaction(
        ["truncate identity_full, identity_index restart identity cascade"],
        [Truncate(["public.identity_full", "public.identity_index"],
                  "cascade,restart_identity")])
    r.transaction([put(120), "truncate outbox", put(121)], got(120, 121))


def dropped_table(r):
    """Rows of a table that is gone before they are decoded."""
    r.hold_streams()
    r.transaction(["insert into late values (3)"],
                  [insert("public.late", {"id": "3"})])
    r.transaction(["drop table late"], [])
    r.release_streams()


def steps(version):
    return [
        single_insert, multi_row_insert, copy, null_empty_unicode, column_types,
        savepoint_rolled_back, savepoint_released, rolled_back,
        insert_and_delete, unpublished_actions, upsert,
    ] + ([merge] if version >= 15 else []) + [
        relation_changes, relation_change_rolled_back, analyze_between,
        partitions, partition_column_order, several_tables, late_publication,
        interleaved, messages, messages_outside, origin, two_phase,
        large_aborted, large_committed, large_prepared, empty_transactions,
        identities, truncates, dropped_table,
    ]
