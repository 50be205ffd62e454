"""What Debezium made of rows: recordings of its Postgres connector, its outbox
event router and the converters of Kafka Connect.

debezium/NAME.in.txt has groups: a table, properties of the connector (conn),
settings of the event router to try (smt), and statements (sql).
debezium/NAME.out.txt has the record of every row under each setting, as each
converter wrote it; or that it fails there.

A recording hides the headers of the context, and `id` where it is a uuid.
"""

import dataclasses
import pathlib
import re
import typing

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "debezium"

# In place of the bytes that a converter does not make.
FAILS = "fails"

_CONVERTERS = {"str": "string", "json": "json", "bytes": "bytes",
               "jsonSchemas": "json_schemas",
               "keyJsonSchemas": "json_schemas"}

# The recordings are of Java 17. Since 19 Double.toString prints the shortest
# text; Debezium's images have 21.
_SHORTEST = {"1.9999999999999998E23": "2.0E23",
             "8.409999999999999E21": "8.41E21"}


@dataclasses.dataclass
class Outcome:
    """What becomes of one row under one setting."""

    kind: str  # "record", "fails" or "dropped"
    topic: str = ""
    partition: typing.Optional[int] = None
    timestamp: typing.Optional[int] = None  # milliseconds; None: now
    key: dict = dataclasses.field(default_factory=dict)  # by converter
    value: dict = dataclasses.field(default_factory=dict)
    headers: list = dataclasses.field(default_factory=list)
    why: str = ""  # it fails
    key_schema: str = ""
    value_schema: typing.Optional[str] = ""  # None: not known
    header_schemas: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Change:
    """A row or a message that the connector read."""

    topic: str  # of the connector
    row_id: typing.Optional[str]  # None: the table's key is another
    op: str
    outcomes: dict = dataclasses.field(default_factory=dict)  # by setting


@dataclasses.dataclass
class Statement:
    sql: str
    is_refused: bool = False  # by the server
    changes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Group:
    name: str  # such as s3/C1
    ddl: str = ""
    connector: dict = dataclasses.field(default_factory=dict)
    settings: list = dataclasses.field(default_factory=list)
    statements: list = dataclasses.field(default_factory=list)
    refused: set = dataclasses.field(default_factory=set)  # settings

    @property
    def hides_id(self):
        return re.search(r"outbox\(id uuid", self.ddl) is not None


def read_groups(name):
    """The groups of debezium/NAME.*.txt."""
    groups = _read_input(name)
    texts = re.split(r"^=+ (?=\w)", _text(name, "out"), flags=re.M)[1:]
    assert len(texts) == len(groups), name
    for group, text in zip(groups, texts):
        _read_output(group, _lines(text))
    return groups


def _text(name, direction):
    return (FOLDER / f"{name}.{direction}.txt").read_text()


def _properties(text):
    """`a=b ;; c=d` as a dictionary."""
    if text.strip() == "-":
        return {}
    return dict(part.split("=", 1) for part in text.split(" ;; "))


def _read_input(name):
    groups = []
    for line in _text(name, "in").split("\n"):
        word, _, rest = line.partition(" ")
        if word == "==":
            groups.append(Group(f"{name}/{rest.split()[0]}"))
        elif word == "ddl":
            groups[-1].ddl = rest
        elif word == "conn":
            groups[-1].connector |= _properties(rest)
        elif word == "smt":
            groups[-1].settings.append(_properties(rest))
        elif word == "sql":
            groups[-1].statements.append(Statement(rest))
        else:
            assert not line, line
    return groups


def _lines(text):
    """Not splitlines(): texts have its other separators. A topic may hold the
    end of a line."""
    lines = []
    for line in text.split("\n"):
        if lines and re.search(r"topic=`[^`]*$", lines[-1]):
            lines[-1] += "\n" + line
        else:
            lines.append(line)
    return lines


def _read_output(group, lines):
    statements = iter(group.statements)
    change = outcome = None
    for line in lines:
        if line.startswith(" SQL> "):
            if not line.startswith(" SQL> <"):  # of a snapshot
                statement = next(statements)
                assert line[6:].startswith(statement.sql), line
        elif line.startswith(" SQL FAILED "):
            statement = next(statements)
            statement.is_refused = True
        elif line.startswith(" SMT CONFIG FAILED {"):
            group.refused |= {
                number for number, setting in enumerate(group.settings)
                if "{" + ", ".join(map("=".join, setting.items())) + "} :"
                in line}
        elif line.startswith("  src topic="):
            found = re.match(r"  src topic=(\S+) key=(.*?) valSchema=\S+ "
                             r"op=(\S+)", line)
            row_id = re.fullmatch(r"Struct\{id=(.*)\}", found[2])
            change = Change(found[1], row_id and row_id[1], found[3])
            if found[1] != "__debezium-heartbeat.srv":
                statement.changes.append(change)
        elif re.match(r"   \[\d+\] ", line):
            number, outcome = _read_outcome(line)
            change.outcomes[number] = outcome
        elif line.startswith("      key "):
            outcome.key_schema, outcome.key = _read_part(line[10:])
        elif line.startswith("      val "):
            outcome.value_schema = line[10:]
        elif line.startswith("      hdr "):
            name, schema, value = _read_header(line[10:])
            outcome.headers.append((name, value))
            outcome.header_schemas.append(schema)
        elif line.startswith("          "):
            kind = "key" if line.startswith("          key") else "value"
            _, converted = _read_part(" " + line.strip(" "))
            getattr(outcome, kind).update(converted)
    assert next(statements, None) is None, group.name


def _read_outcome(line):
    found = re.match(r"   \[(\d+)\] (.*)", line, re.S)
    number, text = int(found[1]), found[2]
    if text == "DROPPED":
        return number, Outcome("dropped")
    if text.startswith("SMT THROWS "):
        return number, Outcome("fails", why=text[11:])
    found = re.fullmatch(r"topic=`(.*)`(?: partition=(-?\d+))? ts=(\S+)", text,
                         re.S)
    return number, Outcome(
        "record", topic=found[1], partition=found[2] and int(found[2]),
        timestamp=None if found[3] in ("~now", "null") else int(found[3]))


def _read_part(text):
    """The schema, and the bytes by converter."""
    schema = re.match(r"(.*?) ?(?=\b\w+=(?:`|<null>|hex:|!!))", text)[1]
    text = text[len(schema):]
    converted = {}
    while text.strip():
        found = re.match(r" ?(\w+)=", text)
        text = text[found.end():]
        if text.startswith("!!"):
            end = re.search(r" (?=\w+=!!)|$", text).start()
            value, text = FAILS, text[end:]
        else:
            value, text = _read_bytes(text)
        if found[1] in _CONVERTERS:
            converted[_CONVERTERS[found[1]]] = value
    return schema, converted


def _read_bytes(text):
    """The bytes that `text` begins with, and the rest of it."""
    if text.startswith("<null>"):
        return None, text[6:]
    if text.startswith("hex:"):
        found = re.match(r"hex:([0-9a-f]*)", text)
        return bytes.fromhex(found[1]), text[found.end():]
    for found in re.finditer(r"` \((\d+)B\)", text):
        value = text[1:found.start()].encode()
        if len(value) == int(found[1]):
            for old, new in _SHORTEST.items():
                value = value.replace(old.encode(), new.encode())
            return value, text[found.end():].lstrip(" ")
    raise ValueError(text)


def _read_header(text):
    name, _, rest = text.partition(" ")
    schema, _, rest = rest.partition(" = ")
    return name, schema, _read_bytes(rest)[0]
