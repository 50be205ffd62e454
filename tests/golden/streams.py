"""The streams that are recorded of one run of script.py, side by side."""

import struct

OUTBOX_TABLES = [
    "public.outbox",
    "public.outbox_events",
    "public.typed",
    "public.parted",
    "App.Outbox Table",
    "public.late",
]
IDENTITY_TABLES = [
    "public.identity_default",
    "public.identity_full",
    "public.identity_index",
    "public.identity_nothing",
]
PARTED_LEAVES = ["public.parted_a", "public.parted_b", "public.parted_rest",
                 "public.parted_c"]

# Pinned, as they change the text of values.
SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    # No requests for a reply but our own.
    "wal_sender_timeout": "0",
}


class Stream:
    """One slot, its options, and what was recorded of it.

    `name` is the infix of the files; empty for the main stream. `tables` are
    the tables it publishes, under the names that its Relation messages use.
    """

    def __init__(self, name, publication_sql, options, tables, operations,
                 via_root=False, binary=False, has_expected=True):
        self.name, self.slot = name, "golden_" + (name or "outbox")
        self.publication_sql, self.options = publication_sql, options
        self.tables, self.operations = tables, operations
        self.via_root, self.binary = via_root, binary
        self.has_expected = has_expected
        self.transcript, self.expected = [], []
        self.connection, self.last_keepalive = None, None

    def sees(self, change):
        if change.op == "message":
            return self.options.get("messages") == "true"
        if change.op == "origin":
            return True
        return change.op in self.operations and all(
            table in self.tables for table in change.tables(self.via_root))

    def start(self, server, version):
        self.transcript += [
            f"# {version}",
            f"# {self.publication_sql}",
            "# START_REPLICATION options: " + ", ".join(
                f"{k} '{v}'" for k, v in self.options.items()),
        ]
        self.connection = server.connect(
            replication="database", application_name=self.slot, **SESSION)
        self.connection.start_replication(self.slot, self.options)

    def read_until(self, target):
        """Takes down what has come; true once a keepalive has passed target."""
        self.connection.send_status(reply_requested=1)
        reached = False
        while (body := self.connection.read_copy_data(0.05)) is not None:
            (position,) = struct.unpack(">Q", body[1:9])
            if body[:1] == b"k":
                reached = position >= target
                if body[1:9] == self.last_keepalive:
                    continue
                self.last_keepalive = body[1:9]
                kind = "k"
            else:
                kind = chr(body[25])
            self.transcript.append(f"{position:016X} {kind} {body.hex()}")
        return reached

    def write(self, directory, version):
        stem = f"pg{version}" + (f".{self.name}" if self.name else "")
        paths = [directory / f"{stem}.transcript"]
        paths[0].write_text("\n".join(self.transcript) + "\n")
        if self.has_expected:
            paths.append(directory / f"{stem}.expected")
            text = "\n".join(self.expected).strip("\n") + "\n"
            paths[1].write_text(text, encoding="utf-8")
        return paths


def for_version(version):
    def publication(name, tables, options):
        quoted = ", ".join(
            ".".join(f'"{part}"' for part in table.split(".", 1))
            for table in tables)
        return f"create publication {name} for table {quoted} with ({options})"

    tables = [t for t in OUTBOX_TABLES if t != "public.late"]
    outbox = publication(
        "golden_outbox", tables,
        "publish = 'insert', publish_via_partition_root = true")
    everything = publication(
        "golden_everything", IDENTITY_TABLES + ["public.parted"],
        "publish = 'insert, update, delete, truncate'")
    typed = publication("golden_typed", ["public.typed"], "publish = 'insert'")
    # The newest protocol: what walpost does not ask for, yet must survive.
    streamed = {"proto_version": "2", "streaming": "on"}
    if version >= 15:
        streamed.update(proto_version="3", two_phase="true")
    if version >= 16:
        streamed.update(proto_version="4", streaming="parallel")
    every_operation = ["insert", "update", "delete", "truncate"]
    return [
        Stream("", outbox,
               {"proto_version": "1", "publication_names": "golden_outbox",
                "messages": "true"},
               OUTBOX_TABLES, ["insert"], via_root=True),
        Stream("everything", everything,
               {"proto_version": "1",
                "publication_names": "golden_everything"},
               IDENTITY_TABLES + PARTED_LEAVES, every_operation),
        Stream("binary", typed,
               {"proto_version": "1", "publication_names": "golden_typed",
                "binary": "true"},
               ["public.typed"], ["insert"], binary=True),
        Stream("streamed",
               publication("golden_streamed", tables, "publish = 'insert'"),
               {"publication_names": "golden_streamed", "messages": "true"}
               | streamed,
               OUTBOX_TABLES, ["insert"], has_expected=False),
    ]
