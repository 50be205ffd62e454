"""How fast a backlog drains: walpost into Kafka beside pg_recvlogical.

A slot is made, then rows are committed, then every contender drains a copy of
that slot, round after round in shuffled order:

  pg_recvlogical  reads the same stream and throws it away (-f /dev/null)
  walpost         publishes it, acks=all, 4 topics of 4 partitions

The clock runs from the start of the process to the last event: read by the one,
acknowledged by the brokers for the other; Kafka's end offsets are compared
with the number of rows. A few drains that do not count warm the broker up.

fsync is off in Postgres, as in the tests: only the reading is measured.
"""

import argparse
import contextlib
import os
import random
import re
import subprocess
import time

import rig

TOPICS = ("order", "invoice", "payment", "shipment")
PARTITIONS = 4
BASE_SLOT = "bench_base"
PUBLICATION = "bench"

RECVLOGICAL = "pg_recvlogical"
WALPOST = "walpost"
# What can be tried instead of the defaults: --variants.
VARIANTS = {
    "linger.ms=5": {"kafka": {"properties": {"linger.ms": 5}}},
    "lz4": {"kafka": {"properties": {"compression.type": "lz4"}}},
    "window 2,000": {"delivery": {"max_in_flight_records": 2_000}},
    "window 50,000": {"delivery": {"max_in_flight_records": 50_000,
                                   "max_in_flight_bytes": "64MiB"}},
}

_DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id   text not null,
  type           text not null,
  payload        jsonb not null
);
create publication bench for table outbox with (publish = 'insert');
"""

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


def _load_script(rows, per_transaction, payload_bytes):
    return f"""
do $load$
declare
  per_transaction constant bigint := {per_transaction};
  note_length constant int := {max(0, payload_bytes - 205)};
begin
  for batch in 1 .. {rows} - per_transaction + 1 by per_transaction loop
    {_INSERT};
    commit;
  end loop;
end $load$
"""


class Drain:
    """One loaded database, and the drains of copies of its slot."""

    def __init__(self, servers, rows, per_transaction, payload_bytes):
        self._servers = servers
        self._rows = rows
        self._database = servers.postgres.create_database()
        self._database.execute(_DDL)
        self._database.execute(
            "select pg_create_logical_replication_slot(%s, 'pgoutput')",
            (BASE_SLOT,))
        with contextlib.closing(self._database.connect()) as connection:
            with connection.cursor() as cursor:
                cursor.execute("set synchronous_commit = off")
                cursor.execute(_load_script(rows, per_transaction,
                                            payload_bytes))
        self._database.execute("checkpoint")
        self.payload_bytes = self._database.value(
            "select avg(octet_length(payload::text))::int from "
            "(select payload from outbox limit 1000) sample")

    def run(self, contender):
        """One drain; returns its figures."""
        slot = f"bench_{random.getrandbits(32):08x}"
        self._database.execute(
            "select pg_copy_logical_replication_slot(%s, %s)",
            (BASE_SLOT, slot))
        try:
            if contender == RECVLOGICAL:
                return self._figures(*self._run_recvlogical(slot))
            config = VARIANTS.get(contender, {})
            return self._figures(*self._run_walpost(slot, config))
        finally:
            self._database.wait_slot_inactive(slot)
            self._database.execute("select pg_drop_replication_slot(%s)",
                                   (slot,))

    def close(self):
        self._database.drop()

    def _run_recvlogical(self, slot):
        end = self._database.value("select pg_current_wal_lsn()::text")
        command = [rig.postgres_program("pg_recvlogical"), "--start", "--slot",
                   slot, "-d", self._database.conninfo(), "-f", "/dev/null",
                   "-o", "proto_version=1", "-o",
                   f"publication_names={PUBLICATION}", "--endpos", end,
                   "--no-loop"]
        accounts = rig.Accounts({"broker": self._servers.broker_pid})
        with subprocess.Popen(command) as reader:
            accounts.add("reader", reader.pid)
            accounts.add("walsender", self._walsender(slot))
            peak = 0
            while reader.poll() is None:
                accounts.sample()
                peak = _peak_memory_bytes(reader.pid) or peak
                time.sleep(0.01)
            accounts.close()
        if reader.returncode != 0:
            raise RuntimeError(f"pg_recvlogical: exit {reader.returncode}")
        return accounts, peak

    def _run_walpost(self, slot, config):
        before = self._end_offsets()
        walpost = rig.Walpost(
            self._servers.directory / slot,
            _walpost_config(self._database, self._servers, slot, config))
        accounts = rig.Accounts({"broker": self._servers.broker_pid})
        try:
            walpost.start()
            accounts.add("reader", walpost.pid)
            accounts.add("walsender", self._walsender(slot))
            while _acknowledged(walpost) < self._rows:
                time.sleep(0.02)
            accounts.close()
            peak = walpost.peak_memory_bytes()
            if walpost.stop() != 0:
                raise RuntimeError(walpost.log())
        finally:
            walpost.close()
        published = self._end_offsets() - before
        if published != self._rows:
            raise RuntimeError(f"{published} records in Kafka for "
                               f"{self._rows} rows")
        return accounts, peak

    def _walsender(self, slot):
        return rig.wait_until(
            lambda: self._database.value(
                "select active_pid from pg_replication_slots "
                "where slot_name = %s", (slot,)),
            f"a walsender for {slot}", pause=0.01)

    def _end_offsets(self):
        words = [word for topic in TOPICS for partition in range(PARTITIONS)
                 for word in ("-t", f"{_topic(topic)}:{partition}:-1")]
        asked = subprocess.run(
            ["kcat", "-b", self._servers.kafka.bootstrap, "-Q", *words],
            capture_output=True, text=True, check=True)
        return sum(int(offset)
                   for offset in re.findall(r"offset (\d+)", asked.stdout))

    def _figures(self, accounts, peak_bytes):
        millions = self._rows / 1e6
        spent = {name: accounts.cpu_s(name)
                 for name in ("reader", "walsender", "broker")}
        return {
            "elapsed_s": accounts.elapsed_s,
            "events_per_s": self._rows / accounts.elapsed_s,
            "walsender_on_cpu": spent["walsender"] / accounts.elapsed_s,
            "machine_busy": accounts.machine_busy,
            "others_busy": (accounts.machine_cpu_s - sum(spent.values()))
                           / accounts.elapsed_s / os.cpu_count(),
            "reader_cpu_s_per_million": spent["reader"] / millions,
            "walsender_cpu_s_per_million": spent["walsender"] / millions,
            "broker_cpu_s_per_million": spent["broker"] / millions,
            "peak_mb": peak_bytes / 1e6,
        }


def _walpost_config(database, servers, slot, changes):
    config = {
        "postgres": {"conninfo": database.conninfo(), "slot": slot,
                     "publication": PUBLICATION},
        "kafka": {"brokers": servers.kafka.bootstrap},
        "http": {"listen": f"127.0.0.1:{rig.free_port()}"},
    }
    for section, keys in changes.items():
        config[section] = {**config.get(section, {}), **keys}
    return config


def _topic(aggregate_type):
    return f"outbox.event.{aggregate_type}"


def _acknowledged(walpost):
    if not walpost.running():
        raise RuntimeError(walpost.log())
    code, page = walpost.get("/metrics")
    return rig.metric(page, "walpost_acknowledged_records_total") if code else 0


def _peak_memory_bytes(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return None


def _show(results, contenders, shapes):
    rows = []
    for per_transaction in shapes:
        for contender in contenders:
            where = {"contender": contender,
                     "per_transaction": per_transaction}
            if not results.column("round", **where):
                continue
            rows.append([
                f"{per_transaction}", contender,
                results.spread("events_per_s", 0, 1e-3, **where) + " k",
                results.spread("ratio", 2, **where),
                results.spread("walsender_on_cpu", 0, 100, **where),
                results.spread("machine_busy", 0, 100, **where),
                results.spread("others_busy", 0, 100, **where),
                results.spread("reader_cpu_s_per_million", 2, **where),
                results.spread("walsender_cpu_s_per_million", 2, **where),
                results.spread("broker_cpu_s_per_million", 2, **where),
                results.spread("peak_mb", 0, **where),
            ])
    results.write_table(
        f"{rig.machine()}\n\n" + rig.table(
            ["rows per transaction", "reader", "events/s",
             "× pg_recvlogical", "walsender on CPU, %", "machine busy, %",
             "of it others, %", "reader CPU-s/M", "walsender CPU-s/M",
             "broker CPU-s/M", "peak MB"], rows))


def _add_round(results, round_number, per_transaction, figures):
    """The ratio is to pg_recvlogical of the same round."""
    base = figures[RECVLOGICAL]["events_per_s"]
    for contender, row in figures.items():
        results.add({"per_transaction": per_transaction, "round": round_number,
                     "contender": contender, **row,
                     "ratio": row["events_per_s"] / base})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--per-transaction", type=int, nargs="+",
                        default=[100, 1])
    parser.add_argument("--payload-bytes", type=int, default=250,
                        help="about, as the server renders it; at least 205")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variants", action="store_true",
                        help="also: " + ", ".join(VARIANTS))
    parser.add_argument("--name", default="drain",
                        help="of the files in build/bench")
    options = parser.parse_args()

    contenders = [RECVLOGICAL, WALPOST]
    if options.variants:
        contenders += VARIANTS
    results = rig.Results(options.name)
    with rig.servers(max_wal_size="8GB") as servers:
        for topic in TOPICS:
            servers.kafka.create_topic(_topic(topic), PARTITIONS)
        for per_transaction in options.per_transaction:
            print(f"loading {options.rows} rows, {per_transaction} per "
                  "transaction", flush=True)
            drain = Drain(servers, options.rows, per_transaction,
                          options.payload_bytes)
            print(f"payload {drain.payload_bytes} B; warming up", flush=True)
            # The broker's compiler takes a few drains to finish its work.
            for contender in (RECVLOGICAL, WALPOST, WALPOST, WALPOST):
                drain.run(contender)
            for number in range(1, options.rounds + 1):
                figures = {}
                for contender in random.sample(contenders, len(contenders)):
                    row = figures[contender] = drain.run(contender)
                    print(f"  round {number}  {contender:18} "
                          f"{row['events_per_s']:9.0f}/s  machine "
                          f"{row['machine_busy']:4.0%}  walsender "
                          f"{row['walsender_on_cpu']:4.0%}  reader "
                          f"{row['reader_cpu_s_per_million']:.2f} CPU-s/M  "
                          f"{row['peak_mb']:.0f} MB", flush=True)
                _add_round(results, number, per_transaction, figures)
            drain.close()
    _show(results, contenders, options.per_transaction)


if __name__ == "__main__":
    main()
