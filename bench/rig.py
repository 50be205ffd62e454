"""What the benchmarks stand on: servers, accounts of CPU time, tables.

The servers are those of the end-to-end tests, private and on free loopback
ports; everything is gone when the benchmark ends.
"""

import contextlib
import csv
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from harness import Kafka, Postgres, Walpost, wait_until
from harness.paths import REPOSITORY
from harness.ports import free_port
from pgbench import postgres_program
from processes import child_named, cpu_seconds, machine_cpu_seconds

__all__ = ["Accounts", "RESULTS", "Results", "Walpost", "free_port", "machine",
           "metric", "servers", "wait_acknowledged", "wait_until"]

RESULTS = REPOSITORY / "build" / "bench"

# The tests' JVM is one that starts quickly; a broker that is measured may use
# its whole compiler. This variable overrides the command line.
_BROKER_JVM = "-Xmx1g -Xms256m -XX:TieredStopAtLevel=4"


class Servers:
    """One Postgres, one Kafka and a folder for the rest."""

    def __init__(self, directory, postgres, kafka):
        self.directory = directory
        self.postgres = postgres
        self.kafka = kafka
        self.broker_pid = child_named("java")


@contextlib.contextmanager
def servers(kafka_properties=None, **postgres_settings):
    """Starts both; the settings are added to those of the tests."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="walpost-bench-"))
    directory.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        postgres = Postgres(directory / "postgres", settings=postgres_settings)
        stack.callback(postgres.close)
        postgres.start()
        os.environ["_JAVA_OPTIONS"] = _BROKER_JVM
        kafka = Kafka(directory / "kafka", properties=kafka_properties)
        stack.callback(kafka.close)
        kafka.start()
        yield Servers(directory, postgres, kafka)


class Accounts:
    """CPU time and wall time from construction until `close`.

    `pids` are processes that live now, by name. A process that ends meanwhile
    is accounted up to the last `sample`.
    """

    def __init__(self, pids):
        self._pids = dict(pids)
        self._last = {}
        self._first = {name: cpu_seconds(pid) or 0.0
                       for name, pid in self._pids.items()}
        self._machine = machine_cpu_seconds()
        self._begun = time.monotonic()
        self.elapsed_s = None
        self.machine_busy = None
        self.machine_cpu_s = None

    def add(self, name, pid):
        """A process that was born after we began."""
        self._pids[name] = pid
        self._first[name] = 0.0
        self.sample()

    def sample(self):
        for name, pid in self._pids.items():
            spent = cpu_seconds(pid)
            if spent is not None:
                self._last[name] = spent

    def close(self):
        self.elapsed_s = time.monotonic() - self._begun
        self.sample()
        busy, total = (end - begin for end, begin in
                       zip(machine_cpu_seconds(), self._machine))
        self.machine_busy = busy / total
        self.machine_cpu_s = busy
        return self

    def cpu_s(self, name):
        return self._last.get(name, 0.0) - self._first.get(name, 0.0)


def wait_acknowledged(relay, records, pause=0.02):
    """Until the brokers have so many records of this run."""
    name = "walpost_acknowledged_records_total"
    wait_until(lambda: (relay.metric(name) or 0) >= records,
               lambda: f"{records} records:\n{relay.log()}", 600, pause)


def metric(page, name):
    """A value of a /metrics page."""
    return float(re.search(rf"^{re.escape(name)} (\S+)", page, re.M)[1])


class Results:
    """Rows of figures: kept as CSV, printed as medians."""

    def __init__(self, name):
        RESULTS.mkdir(parents=True, exist_ok=True)
        self._csv = RESULTS / f"{name}.csv"
        self._markdown = RESULTS / f"{name}.md"
        self.rows = []

    def add(self, row):
        self.rows.append(row)
        with open(self._csv, "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, self.rows[0])
            writer.writeheader()
            writer.writerows(self.rows)

    def note(self, what, unit, value):
        """A figure of its own row, shown at once."""
        self.add({"what": what, "unit": unit, "value": value})
        print(f"  {what:48} {value:12.3f} {unit}", flush=True)

    def column(self, name, **where):
        return [row[name] for row in self.rows
                if all(row[key] == value for key, value in where.items())]

    def spread(self, name, digits, scale=1.0, **where):
        """`median (min–max)`; a dash where there is nothing."""
        values = [value * scale for value in self.column(name, **where)
                  if value is not None]
        if not values:
            return "–"
        return (f"{statistics.median(values):.{digits}f} "
                f"({min(values):.{digits}f}–{max(values):.{digits}f})")

    def write_notes(self):
        """The table of what was noted."""
        rows = []
        for what in dict.fromkeys(row["what"] for row in self.rows):
            unit, = set(self.column("unit", what=what))
            digits = 0 if unit.endswith("s/s") else 2
            rows.append([what, self.spread("value", digits, what=what), unit])
        self.write_table(f"{machine()}\n\n" + table(
            ["what", "median (min–max)", "unit"], rows))

    def write_table(self, text):
        """Prints the table of medians and keeps it."""
        self._markdown.write_text(text, encoding="utf-8")
        print(f"\n{text}\n({self._csv}, {self._markdown})", flush=True)


def table(header, rows):
    """Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine():
    """One line that says what this ran on."""
    cpu = re.search(r"model name\s*: (.*)",
                    pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)",
                       pathlib.Path("/proc/meminfo").read_text())
    postgres = subprocess.run([postgres_program("postgres"), "--version"],
                              capture_output=True, text=True, check=True)
    return (f"{os.cpu_count()} x {cpu[1] if cpu else platform.machine()}, "
            f"{int(memory[1]) >> 20} GB, Linux {platform.release()}, "
            f"{postgres.stdout.strip()}")
