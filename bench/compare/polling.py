"""walpost's polling source, every strategy, on the table of the benchmark."""

import dataclasses

from harness.sql_files import sql_file

NOTIFY = "notify"
_CHANNEL = "outbox_changed"
_LEASES = "public.walpost_leases"  # in sql/leases.sql

NOTIFY_DDL = f"""
create function {{0}}_notify() returns trigger language plpgsql as
  $$ begin notify {_CHANNEL}; return null; end $$;
create trigger notify after insert on {{0}}
  for each statement execute function {{0}}_notify();
"""


@dataclasses.dataclass(frozen=True)
class Strategy:
    name: str
    state: dict          # outbox.tables[].state
    ddl: str = ""        # what the table needs besides; {0} is its name
    deletes_rows: bool = False
    has_lease_table: bool = False


STRATEGIES = {strategy.name: strategy for strategy in (
    Strategy("claim", {"published_at": "processed_at",
                       "locked_until": "locked_until"},
             "alter table {0} add column locked_until timestamptz;"
             "create index on {0} (locked_until) "
             "where locked_until is not null;"),
    Strategy("claim-leases", {"published_at": "processed_at"},
             has_lease_table=True),
    Strategy("delete", {}, "create index on {0} (seq);", deletes_rows=True),
    Strategy("cursor", {"transaction_id": "transaction_id"},
             "alter table {0} add column transaction_id xid8 not null "
             "default pg_current_xact_id();"
             "create index on {0} (transaction_id, seq);"
             "create unique index on {0} (seq);"),
)}


def ddl(strategy, interval, table):
    text = strategy.ddl + (NOTIFY_DDL if interval == NOTIFY else "")
    leases = sql_file("leases.sql") if strategy.has_lease_table else ""
    return text.format(table) + leases.replace(_LEASES, f"public.{table}_leases")


def config(strategy, interval, run):
    """`interval` is in milliseconds, or NOTIFY: a second and a wake-up."""
    kind, *_ = strategy.name.split("-")
    polling = {"strategy": kind, "batch_size": 1000}
    if interval == NOTIFY:
        polling.update(interval="1s", notify=_CHANNEL)
    else:
        polling.update(interval=f"{interval}ms")
    if strategy.has_lease_table:
        polling["lease_table"] = f"public.{run.table}_leases"
    if kind == "cursor":
        polling["cursor_table"] = f"public.{run.table}_cursor"
    table = {"name": f"public.{run.table}", "order_by": "seq"}
    if strategy.state:
        table["state"] = strategy.state
    return {
        "source": "polling",
        "polling": polling,
        "postgres": {"conninfo": run.conninfo},
        "outbox": {"tables": [table]},
        "route": {"topic": run.topic_prefix + "{aggregate_type}",
                  "position_header": False},
        "kafka": {"brokers": run.brokers},
    }
