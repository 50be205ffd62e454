"""Everything that is compared, behind one interface.

    contender = make("walpost")
    contender.start(run)         # `run` says from where, to where
    ... run.log.read() ...       # what has arrived so far
    contender.stop()

A contender that died or was killed may be started again with the same run.
"""

import dataclasses
import json
import pathlib
import signal

from harness.paths import walpost_binary
from harness.process import Process

from compare import debezium, polling
from compare.outbox import PUBLICATION
from compare.stage import bench_program, wait_until
from pgbench import postgres_program
from compare.watch import RELAY_ROLE


@dataclasses.dataclass
class Run:
    """From where a contender reads, and where to it publishes."""

    stage: object
    outbox: object
    directory: pathlib.Path
    topic_prefix: str
    slot: str = None    # for those who follow the WAL
    table: str = None   # for pollers
    warm_up: int = 0    # rows before the clock starts
    rows: int = 0
    log: object = None  # BrokerLog of the topics

    @property
    def conninfo(self):
        return self.outbox.conninfo(RELAY_ROLE)

    @property
    def brokers(self):
        return self.stage.kafka.bootstrap


class Contender:
    """One process. Subclasses say which, by `command`."""

    title = ""
    reads_wal = False   # needs a slot
    polls = False       # needs a table that it may change
    deletes_rows = False
    is_ceiling = False  # does less than the job, and is judged by nobody
    warms_up = True     # can be timed from a record on that is not the first
    publishes_in_transactions = False  # of Kafka: records wait for their end

    def __init__(self):
        self._process = None

    def command(self, run):
        raise NotImplementedError

    def prepare(self, run):
        """What has to be there before the start; files, columns."""

    def start(self, run):
        self._process = Process(self.command(run),
                                run.directory / "contender.log")

    def progress(self, run):
        """How many rows it has been through."""
        return run.log.read()

    def first_record_at(self, run):
        """When a consumer could read it, in seconds since 1970; None: not yet."""
        if not run.log.read():
            return None
        first_ms = (run.log.marked_ms if self.publishes_in_transactions
                    else run.log.first_ms)
        return first_ms and first_ms / 1e3

    def finished_at(self, run):
        """The same of the last record, when all are there."""
        if not self.publishes_in_transactions:
            return run.log.last_ms / 1e3
        wait_until(lambda: run.log.read() and
                   (run.log.marked_ms or 0) >= run.log.last_ms,
                   "the end of the last transaction", seconds=60, pause=0.01)
        return run.log.marked_ms / 1e3

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.running()

    def log_tail(self):
        return self._process.log_tail()

    def stop(self):
        if self._process is not None:
            self._process.end(signal.SIGTERM, seconds=20)

    def kill(self):
        self._process.end(signal.SIGKILL)


class Walpost(Contender):
    """walpost on a slot; `override` is KEY=VALUE of its --set, or nothing.

    `binary` is another build; empty: the one of this tree.
    """

    reads_wal = True

    def __init__(self, override="", binary=""):
        super().__init__()
        self._override = override
        self._binary = binary
        self.title = ", ".join(filter(None, ("walpost", binary, override)))

    def config(self, run):
        return {
            "postgres": {"conninfo": run.conninfo, "slot": run.slot,
                         "publication": PUBLICATION},
            "outbox": {"tables": [{"name": "public.outbox"}]},
            # The same bytes for all: the others have no such header.
            "route": {"topic": run.topic_prefix + "{aggregate_type}",
                      "position_header": False},
            "kafka": {"brokers": run.brokers},
        }

    def prepare(self, run):
        _config_path(run).write_text(json.dumps(self.config(run), indent=2))

    def command(self, run):
        overrides = ["--set", self._override] if self._override else []
        return [self._binary or walpost_binary(), "run", "-c", _config_path(run), *overrides]


class WalpostOnce(Walpost):
    """walpost with exactly-once delivery; it keeps its position in Kafka."""

    publishes_in_transactions = True

    def __init__(self):
        super().__init__()
        self.title = "walpost, exactly once"

    def config(self, run):
        return {**super().config(run),
                "checkpoint": {"store": "kafka"},
                "delivery": {"guarantee": "exactly_once"}}


class Polling(Walpost):
    """walpost without a slot; see polling.py."""

    reads_wal = False
    polls = True

    def __init__(self, strategy, interval):
        super().__init__()
        self._strategy = strategy
        self._interval = interval
        self.deletes_rows = strategy.deletes_rows
        self.title = (f"walpost polling, {strategy.name}, "
                      f"{interval_text(interval)}")

    def config(self, run):
        return polling.config(self._strategy, self._interval, run)

    def prepare(self, run):
        changes = polling.ddl(self._strategy, self._interval, run.table)
        if changes:
            run.outbox.database.execute(changes)
        super().prepare(run)


class Naive(Contender):
    """SELECT unprocessed, produce, UPDATE: bench/programs."""

    polls = True

    def __init__(self, interval_ms):
        super().__init__()
        self._interval_ms = interval_ms
        self.title = f"naive poller, {interval_text(interval_ms)}"

    def command(self, run):
        return [bench_program("naive"), run.conninfo, run.table, run.brokers,
                run.topic_prefix, self._interval_ms, 1000]


class Debezium(Contender):
    """Kafka Connect with Debezium's connector and EventRouter."""

    reads_wal = True

    def __init__(self, profile):
        super().__init__()
        self._profile = profile
        self._connector = None
        self.title = profile.title
        self.publishes_in_transactions = profile.is_distributed

    def prepare(self, run):
        self._connector = debezium.write_configuration(self._profile, run,
                                                       PUBLICATION)

    def start(self, run):
        super().start(run)
        if self._profile.is_distributed:
            wait_until(lambda: debezium.submit(*self._connector),
                       lambda: f"Kafka Connect:\n{self.log_tail()}", 180, 0.2)

    def command(self, run):
        return debezium.command(self._profile, run)


class Recvlogical(Contender):
    """Does not say how far it is: timed as a whole, start to exit."""

    title = "pg_recvlogical > /dev/null"
    reads_wal = True
    is_ceiling = True
    warms_up = False

    def command(self, run):
        return [postgres_program("pg_recvlogical"), "--start", "--slot",
                run.slot, "-d", run.conninfo, "-f", "/dev/null", "-o",
                "proto_version=1", "-o", f"publication_names={PUBLICATION}",
                "--endpos", run.outbox.end_lsn, "--no-loop"]

    def progress(self, run):
        return 0 if self.running() else run.rows

    def finished_at(self, run):
        return None


class Discard(Contender):
    """Says on stdout when it has read so many rows: bench/programs."""

    title = "reader that discards"
    reads_wal = True
    is_ceiling = True

    def command(self, run):
        return [bench_program("discard"), run.conninfo, run.slot, PUBLICATION,
                run.warm_up, run.rows]

    def progress(self, run):
        said = self._said()
        return said[-1][0] if said else 0

    def finished_at(self, run):
        return self._said()[-1][1] / 1e9

    def _said(self):
        return [tuple(map(int, line.split()))
                for line in self._process.log().splitlines()]


class ProduceOnly(Contender):
    """Records of the same shape from no database: bench/programs."""

    title = "produce only"
    is_ceiling = True

    def command(self, run):
        return [bench_program("produce"), run.brokers, run.topic_prefix,
                run.rows, run.outbox.payload_bytes]


def interval_text(milliseconds):
    if milliseconds == polling.NOTIFY:
        return "notify"
    return (f"{milliseconds} ms" if milliseconds % 1000
            else f"{milliseconds // 1000} s")


def interval_key(interval):
    return interval if interval == polling.NOTIFY else f"{interval}ms"


INTERVALS_MS = (1000, 100, 10)

_MAKERS = {
    "walpost": Walpost,
    "walpost-once": WalpostOnce,
    "debezium": lambda: Debezium(debezium.DEFAULTS),
    "debezium-tuned": lambda: Debezium(debezium.TUNED),
    "debezium-small": lambda: Debezium(debezium.SMALL),
    "debezium-once": lambda: Debezium(debezium.ONCE),
    **{f"polling-{strategy.name}-{interval_key(interval)}":
       lambda strategy=strategy, interval=interval: Polling(strategy, interval)
       for strategy in polling.STRATEGIES.values()
       for interval in (*INTERVALS_MS, polling.NOTIFY)},
    **{f"naive-{ms}ms": lambda ms=ms: Naive(ms) for ms in INTERVALS_MS},
    "pg_recvlogical": Recvlogical,
    "discard": Discard,
    "produce": ProduceOnly,
}

NAMES = tuple(_MAKERS)


def make(name):
    """One of NAMES, or walpost[@BINARY][+KEY=VALUE]; KeyError for others."""
    base, plus, override = name.partition("+")
    base, at, binary = base.partition("@")
    if base == "walpost" and bool(plus) == ("=" in override) and (
            bool(at) == pathlib.Path(binary).is_file()):
        return Walpost(override, binary)
    return _MAKERS[name]()


def title(name):
    return make(name).title


def _config_path(run):
    return run.directory / "walpost.yaml"
