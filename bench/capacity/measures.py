"""Backlogs that are read and thrown away (programs/discard_reader.cc), so that the
server alone counts.

  one_slot  by the size of a row and the rows of a transaction
  slots     one that several slots read at once: each all of it, or each a part
            that a row filter chooses
  foreign   WAL of a table that no publication has
"""

import contextlib
import dataclasses
import time

from harness.process import Process

from compare.drain import DEADLINE_S
from compare.outbox import PUBLICATION, Outbox
from compare.stage import bench_program, settle
from compare.watch import RELAY_ROLE

COUNTS = (1, 2, 4)
# How many slots read at once, and whether each has a part of the rows or all.
READERS = {
    **{f"{count}, all rows": (count, False) for count in COUNTS},
    **{f"{count}, a part": (count, True) for count in COUNTS if count > 1},
}
ALONE = "1, all rows"

_PART = """
create publication {name} for table outbox
  where ((hashtext(aggregate_id) & {mask}) = {part})
  with (publish = 'insert')
"""
_OTHER = "create table other (id bigserial primary key, words text)"
_FOREIGN = """
do $$ begin for batch in 1 .. {batches} loop
  insert into other (words)
    select rpad(md5(n::text), 1000, '.') from generate_series(1, 1000) n;
  commit;
end loop; end $$
"""
_ROW = ("insert into outbox (aggregate_type, aggregate_id, type, payload) "
        "values ('order', 'customer-1', 'OrderPlaced', '{}')")


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs of one scenario and shape; `prepare(stage, **shape)` is a context whose
    value measures one by its name.
    """

    scenario: str
    shape: dict
    prepare: object
    names: tuple


@contextlib.contextmanager
def backlog(stage, rows, per_transaction, payload_bytes):
    with contextlib.closing(Outbox(stage)) as outbox:
        # Before the rows: the server looks a publication up as of their commit.
        for count in COUNTS[1:]:
            for part in range(count):
                outbox.database.execute(_PART.format(
                    name=_publication(count, part), mask=count - 1, part=part))
        outbox.load(rows, per_transaction, payload_bytes)
        yield lambda name: _read_at_once(stage, outbox, name)


@contextlib.contextmanager
def other_table(stage, batches):
    """A row of the outbox stands behind the WAL of a thousand rows per batch."""
    with contextlib.closing(Outbox(stage)) as outbox:
        def measure(name):
            slot = outbox.new_slot()
            before = outbox.wal_bytes()
            outbox.database.execute(_OTHER)
            with contextlib.closing(outbox.database.connect()) as connection:
                connection.autocommit = True
                connection.cursor().execute(_FOREIGN.format(batches=batches))
            outbox.database.execute(_ROW)
            gigabytes = (outbox.wal_bytes() - before) / 1e9
            watch, elapsed = _read(stage, outbox, [(slot, PUBLICATION, 1)])
            outbox.database.execute("drop table other; truncate outbox")
            return {"contender": name,
                    "megabytes_per_s": 1000 * gigabytes / elapsed,
                    "walsender_cpu_s_per_gigabyte":
                        watch.cpu_s("walsender") / gigabytes,
                    "gigabytes": gigabytes, "void": ""}

        yield measure


def _publication(count, part):
    return f"part_{part + 1}_of_{count}"


def _rows_of(outbox, count, part):
    return outbox.database.value(
        "select count(*) from outbox where (hashtext(aggregate_id) & %s) = %s",
        (count - 1, part))


def _read_at_once(stage, outbox, name):
    count, has_part = READERS[name]
    readers = [
        (outbox.copy_slot(), _publication(count, part),
         _rows_of(outbox, count, part)) if has_part
        else (outbox.copy_slot(), PUBLICATION, outbox.rows)
        for part in range(count)]
    watch, elapsed = _read(stage, outbox, readers)
    million = outbox.rows / 1e6
    return {"contender": name, "events_per_s": outbox.rows / elapsed,
            "walsender_cpu_s_per_million": watch.cpu_s("walsender") / million,
            "machine_busy": watch.machine_busy, "void": ""}


def _read(stage, outbox, readers):
    """Until each (slot, publication, rows) is read; returns (Watch, seconds)."""
    directory = stage.new_directory("run")
    settle()
    watch = stage.watch()
    begun = time.monotonic()
    processes = [
        Process([bench_program("discard"), outbox.conninfo(RELAY_ROLE), slot,
                 publication, 0, rows], directory / f"{slot}.log")
        for slot, publication, rows in readers]
    try:
        while any(process.running() for process in processes):
            if time.monotonic() - begun > DEADLINE_S:
                raise TimeoutError(processes[0].log_tail())
            watch.sample()
            time.sleep(0.01)
        elapsed = time.monotonic() - begun
        watch.close()
    finally:
        for process in processes:
            process.end()
    for process in processes:
        if process.exit_code() != 0:
            raise RuntimeError(process.log_tail())
    for slot, _, _ in readers:
        outbox.drop_slot(slot)
    return watch, elapsed


def groups(share):
    """`share`: of the rows, above 0 and at most 1."""
    def group(scenario, rows, per_transaction, payload_bytes, names):
        return Group(scenario, {"rows": max(1000, round(rows * share)),
                                "per_transaction": per_transaction,
                                "payload_bytes": payload_bytes},
                     backlog, names)

    return [
        *(group("one_slot", rows, per_transaction, payload_bytes, (ALONE,))
          for payload_bytes, rows in ((250, 400_000), (1_000, 200_000),
                                      (4_000, 100_000), (10_000, 40_000))
          for per_transaction in (1, 10, 100)),
        group("slots", 400_000, 100, 250, tuple(READERS)),
        Group("foreign", {"batches": max(1, round(500 * share))}, other_table,
              ("a table without a publication",)),
    ]
