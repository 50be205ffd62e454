"""The sinks beside Kafka: walpost and Debezium Server with the same broker.

For each broker the client library alone, as a ceiling; and in shuffled order for
each contender:

  drain   a backlog that was there before, from its first record in the broker
          to the last: records a second, CPU of the contender and of the broker,
          peak of memory
  rate    pgbench inserts a row per transaction at a steady rate, on a schedule
          that was fixed beforehand; a reader that is not ours takes the time
          from the INSERT to the arrival: p50, p99, CPU
  kill    the same while the contender is killed (SIGKILL) and started again:
          records that came twice, and rows that never came

Everything is on one machine, with one server of each kind.
"""

import argparse
import contextlib
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import pgbench
import rig
from harness import Postgres, wait_until
from sink.brokers import BROKERS
from sink.contenders import CONTENDERS, Client

_DDL = """
create table outbox (
  event bigserial primary key, id uuid not null default gen_random_uuid(),
  aggregate_type text not null default 'order', aggregate_id text not null,
  type text not null default 'OrderPlaced', payload jsonb not null);
create publication bench for table outbox with (publish = 'insert');
"""
_ROW = """(aggregate_id, payload)
select 'customer-' || {n} % 10000, jsonb_build_object(
  'event', {n}, 'at', (extract(epoch from clock_timestamp()) * 1e6)::bigint,
  'sku', md5({n}::text), 'note', rpad('please', 170, '.'))"""
_BACKLOG = """
do $$ begin
  for batch in 0 .. {rows} / 100 - 1 loop
    insert into outbox {row} from generate_series(batch * 100 + 1,
                                                  batch * 100 + 100) n;
    commit;
  end loop;
end $$"""
_ONE = "insert into outbox " + _ROW.format(n=":n::bigint") + ";\n"
_SCRIPT = "\\set n random(1, 1000000000)\n" + _ONE


class Arrivals:
    """Follows the broker in a thread of its own."""

    def __init__(self, broker):
        self.latencies_ms = []
        self.events = []
        self._ends = threading.Event()
        self._broker = broker
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self):
        for arrival in self._broker.follow(self._ends.is_set):
            self.latencies_ms.append(time.time() * 1e3 - arrival.at_us / 1e3)
            self.events.append(arrival.event)

    def wait_for(self, events, seconds):
        """Until so many different ones have come; the number that lack."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(set(self.events)) >= events:
                return 0
            time.sleep(0.2)
        return events - len(set(self.events))

    def close(self):
        self._ends.set()
        self._thread.join()


class Bench:
    def __init__(self, directory, postgres, options, results):
        self._directory = directory
        self._postgres = postgres
        self._options = options
        self._results = results
        self._runs = 0

    @contextlib.contextmanager
    def _place(self, broker):
        """A database, a slot in it, and an empty place in the broker."""
        self._runs += 1
        broker.make_place()
        database = self._postgres.create_database()
        database.execute(_DDL)
        slot = f"bench_{self._runs}"
        database.execute("select pg_create_logical_replication_slot(%s, "
                         "'pgoutput')", (slot,))
        yield database, slot, self._directory / f"run{self._runs}"
        database.wait_slot_inactive(slot, seconds=60)
        database.execute("select pg_drop_replication_slot(%s)", (slot,))
        database.drop()

    def drain(self, broker, make):
        rows = self._options.rows
        with self._place(broker) as (database, slot, directory):
            database.execute(_BACKLOG.format(rows=rows, row=_ROW.format(n="n")))
            with contextlib.closing(
                    make(directory, broker, database, slot)) as contender:
                contender.start()
                wait_until(lambda: broker.count() > 0, contender.log, 120, 0.01)
                accounts = rig.Accounts(
                    {"relay": contender.pid, "broker": broker.pid})
                begun, first = time.monotonic(), broker.count()
                wait_until(lambda: broker.count() >= rows, contender.log, 600,
                           0.05)
                seconds = time.monotonic() - begun
                accounts.close()
                self._note(broker, make, "drain", {
                    "events/s": (rows - first) / seconds,
                    "CPU-s per million": accounts.cpu_s("relay") / (rows - first) * 1e6,
                    "CPU-s per million of the broker":
                        accounts.cpu_s("broker") / (rows - first) * 1e6,
                    "peak MB": contender.peak_bytes() / (1 << 20)})

    def ceiling(self, broker):
        rows = self._options.rows
        broker.make_place()
        accounts = rig.Accounts({"broker": broker.pid})
        cpu_s = Client(broker, rows).run()
        accounts.close()
        if broker.count() != rows:
            raise RuntimeError(f"{broker.count()} of {rows} records")
        self._note(broker, Client, "drain", {
            "events/s": rows / accounts.elapsed_s,
            "CPU-s per million": cpu_s / rows * 1e6,
            "CPU-s per million of the broker":
                accounts.cpu_s("broker") / rows * 1e6})

    def rate(self, broker, make, kills=0):
        options = self._options
        with self._place(broker) as (database, slot, directory):
            with contextlib.ExitStack() as stack:
                contender = stack.enter_context(contextlib.closing(
                    make(directory, broker, database, slot)))
                contender.start()
                database.execute("insert into outbox " + _ROW.format(n="0"))
                wait_until(lambda: broker.count() > 0, contender.log, 120, 0.05)
                arrivals = stack.enter_context(
                    contextlib.closing(Arrivals(broker)))
                script = directory / "insert.sql"
                script.write_text(_SCRIPT)
                accounts = rig.Accounts(
                    {"relay": contender.pid, "broker": broker.pid})
                load = subprocess.Popen(
                    pgbench.command(script, database.conninfo(),
                                    options.seconds, options.rate),
                    stdout=subprocess.PIPE, text=True)
                for _ in range(kills):
                    time.sleep(options.seconds / (kills + 1))
                    contender.kill()
                    contender.start()
                said, _ = load.communicate()
                accounts.close()
                rows = database.value("select count(*) from outbox")
                distinct = database.value(
                    "select count(distinct payload->>'event') from outbox")
                lacking = arrivals.wait_for(distinct, 120)
                if kills:
                    time.sleep(2)
                    self._note(broker, make, f"{kills} kills", {
                        "records that came twice":
                            len(arrivals.events) - (rows - lacking),
                        "rows that never came": lacking})
                    return
                late = sorted(arrivals.latencies_ms[1:])
                sent = pgbench.transactions(said)
                self._note(broker, make, f"{options.rate}/s", {
                    "rate reached": sent / options.seconds,
                    "p50 ms": statistics.median(late),
                    "p99 ms": late[int(len(late) * 0.99)],
                    "cores": accounts.cpu_s("relay") / accounts.elapsed_s,
                    "cores of the broker":
                        accounts.cpu_s("broker") / accounts.elapsed_s})

    def _note(self, broker, make, what, figures):
        for unit, value in figures.items():
            self._results.note(f"{broker.name}, {what}, {make.name}: {unit}",
                               unit, value)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sinks", nargs="+", default=list(BROKERS),
                        choices=list(BROKERS))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[one.name for one in CONTENDERS])
    options = parser.parse_args()
    results = rig.Results("sinks")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="walpost-bench-"))
    directory.chmod(0o755)
    contenders = [one for one in CONTENDERS
                  if options.only in (None, one.name)]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        postgres = Postgres(directory / "postgres")
        stack.callback(postgres.close)
        postgres.start()
        for name in options.sinks:
            broker = BROKERS[name](directory / name)
            stack.callback(broker.close)
            broker.start()
            bench = Bench(directory / f"runs-{name}", postgres, options, results)
            for _ in range(options.rounds):
                bench.ceiling(broker)
                for make in random.sample(contenders, len(contenders)):
                    bench.drain(broker, make)
                    bench.rate(broker, make)
            for make in contenders:
                bench.rate(broker, make, kills=options.kills)
    results.write_notes()


if __name__ == "__main__":
    main()
