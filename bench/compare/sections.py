"""What the report shows of each scenario: its columns, and which end is good.

Pure data.
"""

import dataclasses

MORE, LESS = "more", "less"  # which is better
READER = "discard"  # the contender that reads the stream, and no more


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    name: str            # in the CSV
    scale: float = 1.0
    better: str = ""


@dataclasses.dataclass(frozen=True)
class Chart:
    title: str
    name: str            # of the column
    unit: str
    scale: float = 1.0
    logarithmic: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A scenario; one table, and its charts, per shape."""

    scenario: str
    title: str
    prose: str
    shape: tuple         # columns that make a table of their own
    columns: tuple
    charts: tuple = ()


_DRAIN = Section(
    "drain", "Drain a backlog",
    "Rows are committed first, then published. The clock runs from the end of "
    "the first quarter, which warms the contender up, to the last record by "
    "the broker's clock; `pg_recvlogical` does not tell how far it is and is "
    "timed as a whole. CPU-seconds are per million events; \"all\" is the sum "
    "of relay, walsender, the backends that serve the relay, and broker. \"Of "
    "the ceiling\" is the share of the lower of two ceilings: the faster of the "
    "two readers that throw away, and producing without a database. A JVM "
    "takes the heap that it is given, and as much again for itself where that "
    "is small: Debezium's memory follows from its heap flag, which its name has "
    "here.",
    ("payload_bytes", "per_transaction", "rows"),
    (Column("events/s", "events_per_s", better=MORE),
     Column("of the ceiling, %", "of_ceiling", 100),
     Column("all CPU-s", "all_cpu_s_per_million", better=LESS),
     Column("relay CPU-s", "relay_cpu_s_per_million", better=LESS),
     Column("walsender CPU-s", "walsender_cpu_s_per_million"),
     Column("backends CPU-s", "backends_cpu_s_per_million"),
     Column("broker CPU-s", "broker_cpu_s_per_million", better=LESS),
     Column("peak MB", "peak_mb", better=LESS),
     Column("walsender on CPU, %", "walsender_on_cpu", 100),
     Column("machine busy, %", "machine_busy", 100),
     Column("WAL written per event, B", "wal_bytes_per_event"),
     Column("dead rows", "dead_tuples", better=LESS),
     Column("duplicates", "duplicates", better=LESS)),
    (Chart("Events per second", "events_per_s", "/s"),
     Chart("CPU-seconds of relay, Postgres for it and broker, per million "
           "events", "all_cpu_s_per_million", "s"),
     Chart("CPU-seconds of the relay per million events",
           "relay_cpu_s_per_million", "s"),
     Chart("Peak memory of the relay", "peak_mb", "MB")))

_LATENCY_COLUMNS = tuple(
    Column(f"{title} {percentile}", f"{prefix}_ms_{name}",
           better=LESS if prefix == "consumer" else "")
    for prefix, title in (("broker", "broker"), ("consumer", "consumer"))
    for percentile, name in (("p50", "p50"), ("p95", "p95"), ("p99", "p99"),
                             ("p99.9", "p999"), ("max", "max")))

_RATE = Section(
    "rate", "Latency at a steady rate",
    "Single-row transactions on a schedule that slow moments do not stretch "
    "(`pgbench -R`), milliseconds from the commit's timestamp to the broker's "
    "append and to an independent consumer. The broker's clock counts whole "
    "milliseconds; the next one is taken. The reader that discards has no "
    "broker: to it means into its hands, beside a Kafka that has nothing to "
    "do. CPU is in cores; \"all cores\" is the sum of relay, walsender, the "
    "backends that serve the relay, and broker.\n\n"
    "A rate is held by a contender if 95 % of it were offered and arrived; "
    "beside the name of one that did not hold it stands what it reached, and "
    "its figures are those of that load, not of the rate.",
    ("rate",),
    (*_LATENCY_COLUMNS,
     Column("offered/s", "achieved_per_s"),
     Column("arrived/s", "arrived_per_s"),
     Column("load late by, ms", "late_ms"),
     Column("all cores", "all_cpu", better=LESS),
     Column("relay CPU", "relay_cpu", better=LESS),
     Column("walsender CPU", "walsender_cpu"),
     Column("backends CPU", "backends_cpu"),
     Column("broker CPU", "broker_cpu", better=LESS),
     Column("peak MB", "peak_mb", better=LESS),
     Column("machine busy, %", "machine_busy", 100),
     Column("duplicates", "duplicates", better=LESS)),
    (Chart("Commit to consumer, median, ms (logarithmic)", "consumer_ms_p50",
           "ms", logarithmic=True),
     Chart("Commit to consumer, 99th percentile, ms (logarithmic)",
           "consumer_ms_p99", "ms", logarithmic=True),
     Chart("Cores of relay, Postgres for it and broker", "all_cpu", "cores")))

_COLD_START = Section(
    "cold_start", "Cold start",
    "From the start of the process to the first record at the broker; a row is "
    "waiting, topics and slot are there.", (),
    (Column("seconds", "first_record_s", better=LESS),),
    (Chart("Start of the process to first record, s (logarithmic)",
           "first_record_s", "s", logarithmic=True),))

_RECOVERY = Section(
    "recovery", "Recovery after kill -9",
    "At 1,000 events a second, killed and started again at once: until the "
    "broker has the first event that was committed after the kill, or, where "
    "it comes in a transaction of Kafka, until a consumer of committed records "
    "has it. Rows that a killed walpost had claimed by polling follow later, "
    "when their lease of 30 s has ended.",
    (),
    (Column("seconds", "recovery_s", better=LESS),
     Column("duplicates", "duplicates", better=LESS)),
    (Chart("kill -9 to first new record, s (logarithmic)", "recovery_s", "s",
           logarithmic=True),))

_INSERT = Section(
    "insert", "What the event costs the business transaction",
    "pgbench's simple update with and without an event in it, four clients, as "
    "fast as it goes; no relay runs. The application has made the event and "
    "sends it as a parameter. The disk's flush at commit is in all of them. "
    "The trigger notifies pollers; RETURNING is that of a business statement "
    "which is there anyway.",
    (),
    (Column("transactions/s", "transactions_per_s"),
     Column("of \"no event\", %", "of_baseline", 100),
     Column("mean latency, ms", "latency_ms"),
     Column("WAL per transaction, B", "wal_bytes_per_transaction")),
    (Chart("Business transactions per second", "transactions_per_s", "/s"),))

_NEIGHBOUR = Section(
    "neighbour", "What a relay costs its neighbours",
    "pgbench's simple update on tables that are not in the outbox, four "
    "clients, as fast as it goes, while the relay stands by.", (),
    (Column("transactions/s", "transactions_per_s", better=MORE),
     Column("of \"no relay\", %", "of_baseline", 100),
     Column("relay CPU, cores", "relay_cpu", better=LESS),
     Column("walsender CPU, cores", "walsender_cpu", better=LESS)))

_IDLE = Section(
    "idle", "Idle",
    "Nothing is written. CPU in milliseconds per second.", (),
    (Column("all", "all_ms_per_s", better=LESS),
     Column("relay", "relay_ms_per_s", better=LESS),
     Column("walsender", "walsender_ms_per_s", better=LESS),
     Column("backends", "backends_ms_per_s", better=LESS),
     Column("broker", "broker_ms_per_s", better=LESS),
     Column("transactions/s", "transactions_per_s", better=LESS),
     Column("peak MB", "peak_mb", better=LESS)))

_HELD = Section(
    "held_snapshot", "A snapshot that is held",
    "2,000 events a second while a transaction elsewhere keeps its snapshot "
    "(1) or not (0): dead rows cannot be removed, and pollers must step over "
    "them.", ("held",),
    (Column("consumer p50, ms", "consumer_ms_p50", better=LESS),
     Column("consumer p99, ms", "consumer_ms_p99", better=LESS),
     Column("all cores", "all_cpu", better=LESS),
     Column("backends CPU, cores", "backends_cpu", better=LESS),
     Column("rows updated or deleted", "dead_tuples", better=LESS),
     Column("offered/s", "achieved_per_s"),
     Column("arrived/s", "arrived_per_s")))

_SUSTAINABLE = Section(
    "sustainable", "Highest sustainable rate",
    "Of the steps 500, 1,000, 2,000, 5,000, 10,000, 20,000 and 40,000 events a "
    "second, ten per transaction: the last at which the 99th percentile from "
    "commit to consumer stayed under a second. The load shares the machine, "
    "so this is no limit of a relay that has a core of its own.", (),
    (Column("events/s", "rate", better=MORE),
     Column("consumer p50, ms", "consumer_ms_p50"),
     Column("consumer p99, ms", "consumer_ms_p99"),
     Column("machine busy, %", "machine_busy", 100)),
    (Chart("Highest sustainable rate", "rate", "/s"),))

SECTIONS = (_DRAIN, _RATE, _COLD_START, _RECOVERY, _INSERT, _NEIGHBOUR, _IDLE,
            _HELD, _SUSTAINABLE)

_SHAPE_WORDS = {
    "payload_bytes": "{:,} B",
    "per_transaction": "{:,} per transaction",
    "rows": "{:,} rows",
    "rate": "{:,} events a second",
    "seconds": "{:,} s",
    "warm_up_s": "{:,} s of warm-up",
    "before_s": "killed after {:,} s",
    "after_s": "watched for {:,} s",
    "held": "snapshots held: {:,}",
}


def shape_words(shape):
    """{"rate": 1000} is "1,000 events a second"."""
    return ", ".join(_SHAPE_WORDS[name].format(value)
                     for name, value in shape.items())


MAIN_DRAIN = {"per_transaction": 100, "payload_bytes": 250}

RATES = (100, 1000, 3000)  # that every contender can be expected to hold

SUMMARY = (
    # title, scenario, shape, column
    ("drain, events/s", "drain", MAIN_DRAIN, "events_per_s"),
    ("all CPU-s per million", "drain", MAIN_DRAIN, "all_cpu_s_per_million"),
    ("relay CPU-s per million", "drain", MAIN_DRAIN,
     "relay_cpu_s_per_million"),
    ("peak MB", "drain", MAIN_DRAIN, "peak_mb"),
    *(entry for rate in RATES for entry in (
        (f"commit → consumer at {rate:,}/s, p50 ms", "rate", {"rate": rate},
         "consumer_ms_p50"),
        (f"at {rate:,}/s, p99 ms", "rate", {"rate": rate}, "consumer_ms_p99"),
        (f"at {rate:,}/s, all cores", "rate", {"rate": rate}, "all_cpu"))),
    ("start → first record, s", "cold_start", {}, "first_record_s"),
    ("kill -9 → new record, s", "recovery", {}, "recovery_s"),
    ("records twice after kill -9", "recovery", {}, "duplicates"),
)
