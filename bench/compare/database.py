"""What the outbox costs the database: an idle relay, a busy neighbour, and the
business transaction that writes the event.
"""

import subprocess
import time

from compare.live import Live
from compare.outbox import Outbox
import pgbench

# Of pgbench: 100,000 accounts, few enough that after the warm-up most of their
# pages have been written to the WAL in full since the last checkpoint.
_SCALE = 1

NO_RELAY = "none"

# pgbench's simple update: what stands for the business.
_BUSINESS = """\
\\set aid random(1, 100000 * {scale})
\\set delta random(-5000, 5000)
begin;
update pgbench_accounts set abalance = abalance + :delta where aid = :aid;
select abalance from pgbench_accounts where aid = :aid;
insert into pgbench_history (tid, bid, aid, delta, mtime)
values (1, 1, :aid, :delta, current_timestamp);
{event}
end;
"""

_PAYLOAD = """jsonb_build_object('account', :aid::int, 'delta', :delta::int,
  'remark', repeat('please leave it with the neighbours ', 5))"""

_INSERT = f"""\
insert into outbox (aggregate_type, aggregate_id, type, payload)
values ('order', :aid::int::text, 'BalanceChanged', {_PAYLOAD});"""

_MESSAGE = f"""\
select pg_logical_emit_message(true, 'outbox', jsonb_build_object(
  'id', gen_random_uuid(), 'aggregate_type', 'order', 'aggregate_id',
  :aid::int::text, 'type', 'BalanceChanged', 'payload', {_PAYLOAD})::text);"""

# How a business transaction can say what happened.
EVENTS = {
    "nothing": "",
    "row": _INSERT,
    "row-polled": _INSERT,  # with the index that serves pollers
    "message": _MESSAGE,
}
EVENT_TITLES = {
    "nothing": "no event",
    "row": "a row in the outbox",
    "row-polled": "a row, and the index for pollers",
    "message": "pg_logical_emit_message",
}


def idle(stage, name, seconds):
    """Nothing happens; what does waiting cost?"""
    with Live(stage, name) as live:
        time.sleep(5)  # what the start leaves to do
        watch = stage.watch()
        watch.follow(live.contender.pid)
        watch.mark()
        before = _transactions(live.outbox.database)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            watch.sample()
            time.sleep(0.2)
        watch.close()
        transactions = _transactions(live.outbox.database) - before
        live.contender.stop()
        void, duplicates = live.verdict(1)
    return {"contender": name,
            **{f"{role}_ms_per_s": 1e3 * watch.cpu_s(role) / watch.elapsed_s
               for role in ("relay", "walsender", "backends", "broker")},
            "transactions_per_s": transactions / watch.elapsed_s,
            "peak_mb": watch.peak_bytes / 1e6,
            "duplicates": duplicates, "void": void}


def neighbour(stage, name, seconds):
    """pgbench on tables that the relay is not interested in."""
    if name == NO_RELAY:
        outbox = Outbox(stage)
        try:
            return _neighbour(stage, outbox, name, seconds, None)
        finally:
            outbox.close()
    with Live(stage, name) as live:
        return _neighbour(stage, live.outbox, name, seconds,
                          live.contender.pid)


def insert_cost(stage, event, seconds):
    """A business transaction with one of EVENTS; no relay runs."""
    outbox = Outbox(stage)
    try:
        if event == "row-polled":
            outbox.make_pollable()
        figures = _pgbench(stage, outbox, seconds, EVENTS[event])
        return {"contender": event, **figures, "duplicates": 0, "void": ""}
    finally:
        outbox.close()


def _neighbour(stage, outbox, name, seconds, relay_pid):
    watch = stage.watch()
    if relay_pid is not None:
        watch.follow(relay_pid)
    figures = _pgbench(stage, outbox, seconds, "", watch)
    return {"contender": name, **figures,
            "relay_cpu": watch.cpu_s("relay") / watch.elapsed_s,
            "walsender_cpu": watch.cpu_s("walsender") / watch.elapsed_s,
            "duplicates": 0, "void": ""}


def _pgbench(stage, outbox, seconds, event, watch=None):
    """As fast as it goes; the first fifth does not count."""
    directory = stage.new_directory("pgbench")
    script = directory / "business.sql"
    script.write_text(_BUSINESS.format(scale=_SCALE, event=event))
    conninfo = outbox.conninfo("postgres")
    subprocess.run([pgbench.postgres_program("pgbench"), "-i", "-q", "-s",
                    str(_SCALE), conninfo], check=True, capture_output=True)
    outbox.database.execute("checkpoint")
    subprocess.run(pgbench.command(script, conninfo, max(1, seconds // 5)),
                   check=True, capture_output=True, cwd=directory)
    wal_before = outbox.wal_bytes()
    if watch is not None:
        watch.mark()
    said = subprocess.run(pgbench.command(script, conninfo, seconds),
                          check=True, text=True, capture_output=True,
                          cwd=directory).stdout
    if watch is not None:
        watch.close()
    return {
        "transactions_per_s": pgbench.per_second(said),
        "latency_ms": pgbench.latency_ms(said),
        "wal_bytes_per_transaction":
            (outbox.wal_bytes() - wal_before) / pgbench.transactions(said),
    }


def _transactions(database):
    return database.value("select xact_commit from pg_stat_database "
                          "where datname = current_database()")
