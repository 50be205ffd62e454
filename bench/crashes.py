"""How long a crash holds the events up, and what it costs in duplicates.

pgbench inserts rows at a steady rate on a schedule that was fixed beforehand;
walpost is killed (SIGKILL) at random moments and started again at once, as a
supervisor does. kcat, which is not ours, reads along. Measured per crash:

  recovery    from the kill to the arrival of the first record of a row that
              was committed after the kill: what is sent once more and what has
              piled up meanwhile come before it
  duplicates  records whose id has been seen before

and at the end that as many ids have arrived as rows are in the table.
"""

import argparse
import contextlib
import os
import random
import subprocess
import threading
import time

import latency
import pgbench
import rig


class Arrivals:
    """kcat on the topic: how many records, how many ids, and the newest."""

    def __init__(self, bootstrap):
        self._seen = set()
        self.records = 0
        self.newest_commit_ms = 0
        self._newest_arrived = threading.Condition()
        self._process = subprocess.Popen(
            ["kcat", "-C", "-q", "-u", "-b", bootstrap, "-t", latency.TOPIC,
             "-o", "beginning", "-f", "%T %h\\n"], stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def ids(self):
        return len(self._seen)

    @property
    def duplicates(self):
        return self.records - self.ids

    def wait_for_commit_after(self, time_ms, seconds):
        """Until a record has come whose row was committed after `time_ms`."""
        with self._newest_arrived:
            if not self._newest_arrived.wait_for(
                    lambda: self.newest_commit_ms > time_ms, seconds):
                raise TimeoutError("no record has come since the crash")
        return time.monotonic()

    def close(self):
        self._process.terminate()
        self._thread.join()
        self._process.wait()

    def _read(self):
        rest = b""
        while chunk := os.read(self._process.stdout.fileno(), 1 << 20):
            *lines, rest = (rest + chunk).split(b"\n")
            newest_ms = 0
            for line in lines:
                commit_ms, _, headers = line.partition(b" ")
                self.records += 1
                self._seen.add(headers.partition(b"id=")[2].partition(b",")[0])
                newest_ms = max(newest_ms, int(commit_ms))
            with self._newest_arrived:
                self.newest_commit_ms = max(self.newest_commit_ms, newest_ms)
                self._newest_arrived.notify_all()


def crash(walpost, arrivals):
    """Kills it once, starts it again; the row of figures."""
    before = arrivals.duplicates
    killed = time.monotonic()
    walpost.kill()
    dead_ms = time.time_ns() // 1_000_000 + 1
    walpost.start()
    recovered = arrivals.wait_for_commit_after(dead_ms, seconds=60)
    return {"recovery_s": recovered - killed,
            "duplicates": arrivals.duplicates - before}


def measure(servers, database, config, script, options, results):
    walpost = rig.Walpost(servers.directory / f"walpost-{options.store}", config)
    arrivals = Arrivals(servers.kafka.bootstrap)
    moments = random.Random(options.seed)
    try:
        walpost.run()
        seconds = int(options.kills * (options.pause + 1.5) + 5)
        load = subprocess.Popen(
            pgbench.command(script, database.conninfo(), seconds, options.rate),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=servers.directory)
        for number in range(1, options.kills + 1):
            time.sleep(options.pause * (0.5 + moments.random()))
            row = {"crash": number, **crash(walpost, arrivals)}
            results.add(row)
            print(f"  crash {number:3}  recovered after {row['recovery_s']:.2f}"
                  f" s, {row['duplicates']} duplicates", flush=True)
        if load.wait() != 0:
            raise RuntimeError("pgbench failed")
        rows = database.value("select count(*) from outbox")
        achieved = rows / seconds
        rig.wait_until(lambda: arrivals.ids >= rows, "the last record",
                       seconds=60)
        if arrivals.ids != rows:
            raise RuntimeError(f"{rows} rows, {arrivals.ids} ids: this is void")
        return rows, achieved
    finally:
        arrivals.close()
        walpost.close()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=3.0,
                        help="seconds between crashes, on average")
    parser.add_argument("--store", default="none",
                        choices=["none", "file", "kafka", "postgres"],
                        help="checkpoint.store")
    parser.add_argument("--seed", default="crashes")
    options = parser.parse_args()

    results = rig.Results(f"crashes-{options.store}")
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(rig.servers(fsync="on"))
        servers.kafka.create_topic(latency.TOPIC, latency.PARTITIONS)
        database = servers.postgres.create_database()
        database.execute(latency.DDL)
        script = servers.directory / "insert.sql"
        script.write_text(latency.TRANSACTION)
        config = latency.walpost_config(servers, database, [])
        config["checkpoint"] = {"store": options.store}
        if options.store == "file":
            config["checkpoint"]["path"] = str(servers.directory / "checkpoint")
        rows, achieved = measure(servers, database, config, script, options,
                                 results)
    results.write_table(
        f"{rig.machine()}\n\n{rows} events at {achieved:.0f}/s "
        f"({options.rate}/s wanted), checkpoint store {options.store}\n\n" + rig.table(
            ["crashes", "recovery, s", "duplicates per crash"],
            [[str(options.kills), results.spread("recovery_s", 2),
              results.spread("duplicates", 0)]]))


if __name__ == "__main__":
    main()
