"""Figures of the report on other pages: tables between two comments.

    <!-- figures: readme -->

    | ... |

    <!-- end of figures -->

The name is one of TABLES. Whoever writes bench/RESULTS.md writes these tables,
too, so that no page has a figure that the report does not have.
"""

import dataclasses
import re
import textwrap

from compare import blocks
from compare.derived import missed_rate
from compare.report import figure, label, table
from compare.sections import LESS, MAIN_DRAIN, MORE, RATES

_KIND = "figures"

OURS = "walpost"
# walpost stands first.
RELAYS = (OURS, "debezium-tuned", "debezium-small", "debezium", "naive-100ms")
_NAMES = {"naive-100ms": "polling publisher"}
_ARROWS = {MORE: " ↑", LESS: " ↓"}
# One that few machines hold: shown where it was measured, with what was reached.
_HIGH_RATE = 5000


@dataclasses.dataclass(frozen=True)
class Figure:
    """One cell: where it stands in the raw files."""

    scenario: str
    shape: dict
    column: str
    contender: str = OURS

    def rows(self, records):
        return records.of(self.scenario).where(**self.shape,
                                               contender=self.contender)

    def spread(self, records):
        return self.rows(records).spread(self.column)

    def text(self, records):
        return figure(self.rows(records), self.column)


@dataclasses.dataclass(frozen=True)
class Line:
    """Cells that are compared if `better` says which is."""

    title: str
    cells: tuple
    better: str = ""

    def best(self, records):
        """The places of the best cells; none where loads differ."""
        if not self.better or any(missed_rate(cell.rows(records))
                                  for cell in self.cells):
            return ()
        middles = [cell.spread(records).median for cell in self.cells]
        known = [middle for middle in middles if middle is not None]
        best = (max if self.better == MORE else min)(known)
        return tuple(place for place, middle in enumerate(middles)
                     if middle == best)


@dataclasses.dataclass(frozen=True)
class Table:
    head: tuple
    lines: tuple

    def text(self, records):
        """Without the lines and columns that nothing was measured of."""
        lines = self._measured(records)
        columns = [place for place in range(len(self.head) - 1)
                   if any(line.cells[place].spread(records) for line in lines)]
        return table(
            [self.head[0], *(self.head[1 + place] for place in columns)],
            [[line.title + _ARROWS.get(line.better, ""),
              *(_emphasised(line, place, records) for place in columns)]
             for line in lines])

    def lost(self, records):
        """Titles of the lines in which the first column is not the best."""
        return [line.title for line in self._measured(records)
                if line.better and 0 not in line.best(records)]

    def _measured(self, records):
        return [line for line in self.lines
                if any(cell.spread(records) for cell in line.cells)]


def _emphasised(line, place, records):
    text = line.cells[place].text(records)
    return f"**{text}**" if place in line.best(records) else text


def _beside(title, scenario, shape, column, better):
    return Line(title, tuple(Figure(scenario, shape, column, name)
                             for name in RELAYS), better)


def _of_walpost(title, scenario, shape, *columns):
    return Line(title, tuple(Figure(scenario, shape, column)
                             for column in columns))


def _relays(*lines):
    return Table(("", *(_NAMES.get(name, label(name)) for name in RELAYS)),
                 lines)


_DRAIN = (
    _beside("Backlog of 250 B rows, events/s", "drain", MAIN_DRAIN,
            "events_per_s", MORE),
    _beside("CPU of relay, Postgres and broker, s per million events", "drain",
            MAIN_DRAIN, "all_cpu_s_per_million", LESS),
    _beside("Peak memory of the relay, MB", "drain", MAIN_DRAIN, "peak_mb",
            LESS),
)
_STEADY = tuple(
    _beside(f"{what} at {rate:,} events/s{unit}", "rate", {"rate": rate},
            column, LESS)
    for rate in RATES
    for what, unit, column in (
        ("Commit to consumer", ", median, ms", "consumer_ms_p50"),
        ("Commit to consumer", ", p99, ms", "consumer_ms_p99"),
        ("Cores of relay, Postgres and broker", "", "all_cpu"))) + (
    _beside(f"Commit to consumer at {_HIGH_RATE:,} events/s, p99, ms", "rate",
            {"rate": _HIGH_RATE}, "consumer_ms_p99", LESS),)
_CRASH = (
    _beside("kill -9 to first new record, s", "recovery", {}, "recovery_s",
            LESS),
    _beside("Records that come twice after kill -9", "recovery", {},
            "duplicates", LESS),
)
_COLD = _beside("Start of the process to first record, s", "cold_start", {},
                "first_record_s", LESS)
_BROKER = _beside("Cores of the broker at 1,000 events/s", "rate",
                  {"rate": 1000}, "broker_cpu", LESS)

_PARTS = ("relay", "walsender", "broker", "all")

TABLES = {
    "readme": _relays(*_DRAIN, *_STEADY, _COLD, *_CRASH),
    "compared": _relays(*_DRAIN, *_STEADY, _BROKER, _COLD, *_CRASH),
    "steady": Table(
        ("Events a second, each in a transaction of its own", *_PARTS,
         "commit to consumer, median, ms", "p99, ms"),
        tuple(_of_walpost(f"{rate:,}", "rate", {"rate": rate},
                          *(f"{part}_cpu" for part in _PARTS),
                          "consumer_ms_p50", "consumer_ms_p99")
              for rate in (*RATES, _HIGH_RATE))),
    "backlog": Table(
        ("Backlog", "events/s", *_PARTS),
        tuple(_of_walpost(
            f"{payload:,} B, {transaction:,} per transaction", "drain",
            {"payload_bytes": payload, "per_transaction": transaction},
            "events_per_s", *(f"{part}_cpu_s_per_million" for part in _PARTS))
              for payload, transaction in ((250, 1), (250, 100), (1_000, 100),
                                           (10_000, 100)))),
    "memory": Table(
        ("Peak memory", "MB"),
        (_of_walpost("idle", "idle", {}, "peak_mb"),
         _of_walpost("backlog of 250 B rows", "drain", MAIN_DRAIN, "peak_mb"),
         _of_walpost("backlog of 10,000 B rows", "drain",
                     {"payload_bytes": 10_000, "per_transaction": 100},
                     "peak_mb"))),
    "wal": Table(
        ("A transaction of pgbench", "WAL, B"),
        tuple(Line(label(event), (Figure("insert", {},
                                         "wal_bytes_per_transaction", event),))
              for event in ("nothing", "row", "message"))),
    "neighbours": Table(
        ("pgbench on tables that are not in the outbox", "transactions/s"),
        tuple(Line(title, (Figure("neighbour", {}, "transactions_per_s",
                                  name),))
              for title, name in (("without a relay", "none"),
                                  ("beside walpost", OURS)))),
}
# With what walpost loses, and where it was measured.
_COMPARING = ("readme", "compared")


def block(name, records, environment):
    """What stands between the comments; KeyError for another name."""
    chosen = TABLES[name]
    text = chosen.text(records)
    if name in _COMPARING:
        lost = chosen.lost(records)
        if lost:
            text += _paragraph("walpost is not the best in: " + "; ".join(lost)
                               + ".")
        text += _paragraph(_measured_on(records, environment))
    return text


def _paragraph(words):
    return "\n" + textwrap.fill(words, 90, break_on_hyphens=False) + "\n"


def rewritten(page, records, environment):
    """The text of a page with its tables as they are in the report."""
    return blocks.rewritten(
        page, _KIND, lambda name: block(name, records, environment))


def pages(root):
    """Those that have such a table."""
    return [page for pattern in ("*.md", "docs/*.md", "bench/*.md")
            for page in sorted(root.glob(pattern))
            if blocks.block_names(page.read_text(encoding="utf-8"), _KIND)]


def write_pages(root, records, environment):
    for page in pages(root):
        page.write_text(rewritten(page.read_text(encoding="utf-8"), records,
                                  environment), encoding="utf-8")


def _measured_on(records, environment):
    day = min(row["at"] for row in records.of("drain").rows)[:10]
    postgres = re.sub(r"^postgres \(PostgreSQL\) (\S+).*", r"PostgreSQL \1",
                      environment["postgres"])
    machine = environment["machine"].partition(", Linux")[0]
    return ("A cell has the value of each round, or, of five rounds, their "
            f"median. Measured on {day} with {environment['walpost']}, "
            f"Debezium {environment['debezium']} on Kafka Connect, {postgres} "
            f"and one Kafka {environment['kafka']} on {machine}.")
