"""What the outbox costs the database: an idle relay, a busy neighbour, and the
business transaction that writes the event.
"""

import dataclasses
import json
import subprocess
import time

from compare.live import Live
from compare import polling
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
values (1, 1, :aid, :delta, current_timestamp){returning};
{event}
end;
"""

# What the application has made and sends: the payload of the row, and the
# message that has it, an id and the rest in it. It is always the same one, for
# nobody reads it here.
_PAYLOAD = json.dumps({"account": 4711, "delta": -42, "remark":
                       "please leave it with the neighbours " * 5})
_MESSAGE = json.dumps({"id": "2f1c9d1e-7a55-4a52-9b1b-0d6b6a6f3c11",
                       "aggregate_type": "order", "aggregate_id": "4711",
                       "type": "BalanceChanged",
                       "payload": json.loads(_PAYLOAD)})

_INSERT = """\
insert into outbox (aggregate_type, aggregate_id, type, payload)
values ('order', :aid::int::text, 'BalanceChanged', :payload::jsonb);"""
_EMIT = "pg_logical_emit_message(true, 'outbox', :message)"


@dataclasses.dataclass(frozen=True)
class Event:
    """How a business transaction can say what happened."""

    title: str
    statement: str = ""
    returning: str = ""  # of a statement that is there anyway
    pollable: bool = False  # the table has the index that pollers need
    # And a trigger. Nobody listens: what notifications cost is their order.
    notifies: bool = False


EVENTS = {
    "nothing": Event("no event"),
    "row": Event("a row in the outbox", _INSERT),
    "row-polled": Event("a row, and the index for pollers", _INSERT,
                        pollable=True),
    "row-notify": Event("the same, and a trigger", _INSERT, pollable=True,
                        notifies=True),
    "message": Event("pg_logical_emit_message", f"select {_EMIT};"),
    "message-returning": Event("the message, in RETURNING",
                               returning=f" returning {_EMIT}"),
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


def insert_cost(stage, name, seconds):
    """A business transaction with one of EVENTS; no relay runs."""
    event = EVENTS[name]
    outbox = Outbox(stage)
    try:
        if event.pollable:
            outbox.make_pollable()
        if event.notifies:
            outbox.database.execute(polling.NOTIFY_DDL.format("outbox"))
        figures = _pgbench(stage, outbox, seconds, event)
        return {"contender": name, **figures, "duplicates": 0, "void": ""}
    finally:
        outbox.close()


def _neighbour(stage, outbox, name, seconds, relay_pid):
    watch = stage.watch()
    if relay_pid is not None:
        watch.follow(relay_pid)
    figures = _pgbench(stage, outbox, seconds, EVENTS["nothing"], watch)
    return {"contender": name, **figures,
            **watch.cores("relay", "walsender"),
            "duplicates": 0, "void": ""}


def _pgbench(stage, outbox, seconds, event, watch=None):
    """As fast as it goes; the first fifth does not count."""
    directory = stage.new_directory("pgbench")
    script = directory / "business.sql"
    script.write_text(_BUSINESS.format(
        scale=_SCALE, event=event.statement, returning=event.returning))
    conninfo = outbox.conninfo("postgres")
    subprocess.run([pgbench.postgres_program("pgbench"), "-i", "-q", "-s",
                    str(_SCALE), conninfo], check=True, capture_output=True)
    outbox.database.execute("checkpoint")
    variables = {"payload": _PAYLOAD, "message": _MESSAGE}
    subprocess.run(pgbench.command(script, conninfo, max(1, seconds // 5),
                                   variables=variables),
                   check=True, capture_output=True, cwd=directory)
    wal_before = outbox.wal_bytes()
    if watch is not None:
        watch.mark()
    said = subprocess.run(pgbench.command(script, conninfo, seconds,
                                          variables=variables),
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
