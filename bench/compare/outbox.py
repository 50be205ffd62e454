"""The outbox table that all contenders read, its rows, and the judge.

One shape for all: those who follow the WAL get the columns that pollers need
as well. Pollers each get a copy of their own, because they change it; `walpost
verify` compares topics with the original.
"""

import contextlib
import json
import subprocess

from harness.paths import walpost_binary

BASE_SLOT = "bench_base"
PUBLICATION = "bench"

_DDL = """
create table outbox (
  seq            bigserial,
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id   text not null,
  type           text not null,
  payload        jsonb not null,
  processed_at   timestamptz
);
create publication bench for table outbox with (publish = 'insert');
"""

# What serves a poller's SELECT.
_PENDING_INDEX = ("create index {0}_pending on {0} (seq) "
                  "where processed_at is null")

# No two payloads are alike.
_INSERT = """
insert into outbox (aggregate_type, aggregate_id, type, payload)
select (array['order','invoice','payment','shipment'])[1 + n % 4],
       'customer-' || n % 10000, 'OrderPlaced',
       jsonb_build_object(
         'order', n, 'total', n % 100000 / 100.0, 'currency', 'EUR',
         'lines', jsonb_build_array(
           jsonb_build_object('sku', md5(n::text), 'quantity', n % 9),
           jsonb_build_object('sku', md5((n + 1)::text), 'quantity', n % 7)),
         'note', rpad('please leave it with the neighbours', note_length, '.'))
from generate_series(batch, batch + per_transaction - 1) n
"""
_BYTES_WITHOUT_NOTE = 205


class Outbox:
    """A database with an outbox table, perhaps a backlog, and a slot before it.
    """

    def __init__(self, stage):
        self._stage = stage
        self.database = stage.postgres.create_database()
        self.database.execute(_DDL)
        self.end_lsn = None
        self.rows = 0
        self.payload_bytes = 0

    def conninfo(self, user):
        return self.database.conninfo(user)

    def load(self, rows, per_transaction, payload_bytes):
        """Commits a backlog; the base slot lies before it."""
        self.database.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (BASE_SLOT,))
        with contextlib.closing(self.database.connect()) as connection:
            with connection.cursor() as cursor:
                cursor.execute("set synchronous_commit = off")
                cursor.execute(f"""
                    do $load$
                    declare
                      per_transaction constant bigint := {per_transaction};
                      note_length constant int :=
                        {max(0, payload_bytes - _BYTES_WITHOUT_NOTE)};
                    begin
                      for batch in 1 .. {rows} - per_transaction + 1
                          by per_transaction loop
                        {_INSERT};
                        commit;
                      end loop;
                    end $load$""")
        self.database.execute("vacuum analyze outbox")
        self.database.execute("checkpoint")
        self.rows = self.database.value("select count(*) from outbox")
        self.end_lsn = self.database.value("select pg_current_wal_lsn()::text")
        self.payload_bytes = self.database.value(
            "select avg(octet_length(payload::text))::int from "
            "(select payload from outbox limit 1000) sample")

    def copy_slot(self):
        """A slot that stands before the backlog."""
        slot = self._stage.new_name("bench_slot")
        self.database.execute(
            "select pg_copy_logical_replication_slot(%s, %s)",
            (BASE_SLOT, slot))
        return slot

    def new_slot(self):
        """A slot that stands here."""
        slot = self._stage.new_name("bench_slot")
        self.database.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (slot,))
        return slot

    def drop_slot(self, slot):
        self.database.wait_slot_inactive(slot, seconds=60)
        self.database.execute("select pg_drop_replication_slot(%s)", (slot,))

    def make_pollable(self):
        self.database.execute(_PENDING_INDEX.format("outbox"))

    def pollable_copy(self):
        """The backlog in a table of its own, none of it processed."""
        table = self._stage.new_name("polled")
        self.database.execute(
            f"create table {table} (like outbox including defaults, "
            "primary key (id))")
        self.database.execute(
            f"insert into {table} select * from outbox order by seq")
        self.database.execute(_PENDING_INDEX.format(table))
        self.database.execute(f"vacuum analyze {table}")
        self.database.execute("checkpoint")
        return table

    def dead_tuples(self, table):
        """What updates and deletes have left in a table, vacuumed or not."""
        return self.database.value(
            "select n_tup_upd + n_tup_del from pg_stat_user_tables "
            "where relname = %s", (table,))

    def wal_bytes(self):
        """How much WAL the server has written so far."""
        return self.database.value(
            "select (pg_current_wal_insert_lsn() - '0/0')::bigint")

    def close(self):
        self.database.drop()

    def verdict(self, stage, topic_prefix, may_double=False):
        """(why the run is void or "", number of duplicates)."""
        config = stage.new_directory("verify") / "walpost.yaml"
        config.write_text(json.dumps({
            "postgres": {"conninfo": self.conninfo("postgres"),
                         "slot": BASE_SLOT, "publication": PUBLICATION},
            "outbox": {"tables": [{"name": "public.outbox"}]},
            "route": {"topic": topic_prefix + "{aggregate_type}"},
            "kafka": {"brokers": stage.kafka.bootstrap}}))
        command = [str(walpost_binary()), "verify", "-c", str(config), "--json",
                   "--fail-on-unknown", "--wait", "0", "--sequence", "seq"]
        said = subprocess.run(command, capture_output=True, text=True,
                              check=False)
        if not said.stdout:
            return f"not judged: {said.stderr.strip()[-200:]}", 0
        return judged(json.loads(said.stdout), may_double)


def judged(report, may_double=False):
    """(why the run is void or "", number of duplicates), of what verify says.

    A row that the slot has not confirmed is as missing as any other.
    """
    found = {kind: entry["count"]
             for kind, entry in report["findings"].items() if entry["count"]}
    duplicates = found.get("duplicates", 0)
    if may_double:
        found.pop("duplicates", None)
    found.pop("newer", None)
    if "unconfirmed" in found:
        found["missing"] = (found.get("missing", 0)
                            + found.pop("unconfirmed"))
    return ", ".join(f"{count} {kind}" for kind, count in found.items()), \
        duplicates
