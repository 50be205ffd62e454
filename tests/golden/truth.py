"""What a stream must say, told from the SQL side, and the lines it is told in.

script.py states each change beside the SQL that makes it; nothing here has seen
a byte of pgoutput. README.md describes the lines.
"""

import datetime
import struct
import uuid

POSTGRES_EPOCH = datetime.datetime(
    2000, 1, 1, tzinfo=datetime.timezone.utc
)
NULL = "\\N"


class Unchanged:
    """A TOASTed value that an UPDATE did not touch: the server omits it."""


class Value:
    """A column value as the server prints it, and as it sends it in binary."""

    def __init__(self, text, binary):
        self.text, self.binary = text, binary


def escape(text):
    return (
        text.replace("\\", "\\\\")
        .replace("\t", "\\t")
        .replace("\n", "\\n")
        .replace("\r", "\\r")
    )


def cell(value, binary):
    if value is None:
        return NULL
    if value is Unchanged:
        return "\\U"
    if isinstance(value, Value):
        return "\\x" + value.binary.hex() if binary else escape(value.text)
    return escape(value)


class Change:
    """One row change. `leaf` is the partition's name where it differs.

    `before` is the old row (before_kind "old") or its key (before_kind "key").
    """

    def __init__(self, op, table, after=None, before=None, before_kind=None,
                 leaf=None):
        self.op, self.table, self.leaf = op, table, leaf or table
        self.after, self.before = after, before
        self.before_kind = before_kind

    def tables(self, via_root):
        return [self.table if via_root else self.leaf]

    def line(self, stream):
        cells = [self.op] + self.tables(stream.via_root)
        prefix = "" if self.op == "insert" else "new:"
        for mark, row in ((f"{self.before_kind}:", self.before),
                          (prefix, self.after)):
            for name, value in (row or {}).items():
                cells.append(f"{mark}{name}={cell(value, stream.binary)}")
        return "\t".join(cells)


class Truncate:
    op = "truncate"

    def __init__(self, names, options="-"):
        self.names, self.options = names, options

    def tables(self, via_root):
        return self.names

    def line(self, stream):
        return "\t".join(["truncate", self.options] + self.names)


class Message:
    op = "message"

    def __init__(self, prefix, content, transactional=True):
        self.prefix, self.transactional = prefix, transactional
        self.content = (
            content if isinstance(content, bytes) else content.encode()
        )

    def line(self, stream):
        kind = "transactional" if self.transactional else "nontransactional"
        return "\t".join(
            ["message", kind, escape(self.prefix), "\\x" + self.content.hex()]
        )


class Origin:
    op = "origin"

    def __init__(self, name, lsn):
        self.name, self.lsn = name, lsn

    def line(self, stream):
        return f"origin\t{escape(self.name)}\t{self.lsn:016X}"


class Transaction:
    """A committed transaction: what the SQL session itself knows about it."""

    def __init__(self, xid, commit_time_us, lsn_from, lsn_to, changes):
        self.xid, self.commit_time_us = xid, commit_time_us
        self.lsn_from, self.lsn_to = lsn_from, lsn_to
        self.changes = changes

    def lines(self, stream):
        seen = [c for c in self.changes if stream.sees(c)]
        if all(c.op == "origin" for c in seen):
            return []
        begin = (
            f"begin\txid={self.xid}\tcommit_time={self.commit_time_us}"
            f"\tlsn_from={self.lsn_from:016X}\tlsn_to={self.lsn_to:016X}"
        )
        return [begin] + [c.line(stream) for c in seen] + ["commit"]


def insert(table, row, leaf=None):
    return Change("insert", table, after=row, leaf=leaf)


def update(table, row, key=None, old=None):
    return Change("update", table, after=row, before=key or old,
                  before_kind="key" if key else "old")


def delete(table, key=None, old=None, leaf=None):
    return Change("delete", table, before=key or old,
                  before_kind="key" if key else "old", leaf=leaf)


# Column values in both formats. The binary forms follow the send functions of
# the manual and of the types' sources, not a decoder.

def text(value):
    return Value(value, value.encode())


def integer(value, size):
    return Value(str(value), value.to_bytes(size, "big", signed=True))


def boolean(value):
    return Value("t" if value else "f", bytes([value]))


def double(printed, value):
    return Value(printed, struct.pack(">d", value))


def numeric(printed, digits, weight, sign, scale):
    """`digits` are base 10000; sign 0 plus, 0x4000 minus, 0xC000 NaN."""
    return Value(printed, struct.pack(
        f">HhHH{len(digits)}H", len(digits), weight, sign, scale, *digits))


def bytea(value):
    return Value("\\x" + value.hex(), value)


def uuid_value(printed):
    return Value(printed, uuid.UUID(printed).bytes)


def jsonb(printed):
    return Value(printed, b"\x01" + printed.encode())


def timestamp(printed, when):
    """`when`: an aware datetime, or the int64 itself for an infinity."""
    if isinstance(when, datetime.datetime):
        when = (when - POSTGRES_EPOCH) // datetime.timedelta(microseconds=1)
    return Value(printed, struct.pack(">q", when))


def date(printed, day):
    return Value(printed, struct.pack(
        ">i", (day - POSTGRES_EPOCH.date()).days))


def sized(data):
    """A value inside an array or a row: length and bytes, -1 for NULL."""
    if data is None:
        return struct.pack(">i", -1)
    return struct.pack(">i", len(data)) + data


def text_array(printed, items):
    """One dimension, lower bound 1; 25 is the OID of text."""
    if not items:
        return Value(printed, struct.pack(">iii", 0, 0, 25))
    header = struct.pack(">iiiii", 1, int(None in items), 25, len(items), 1)
    return Value(printed, header + b"".join(
        sized(None if i is None else i.encode()) for i in items))


def int_text_row(printed, number, label):
    """A composite of (int4, text); 23 and 25 are their OIDs."""
    return Value(printed, struct.pack(">i", 2)
                 + struct.pack(">I", 23)
                 + sized(None if number is None else struct.pack(">i", number))
                 + struct.pack(">I", 25)
                 + sized(None if label is None else label.encode()))
