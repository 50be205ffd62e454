"""What walpost wants to reach beside tuned Debezium, and whether it does.

Pure: ratios of the figures of one round, so that a slow hour of the machine
counts for both.
"""

import dataclasses

from compare.derived import missed_rate
from compare.figures import Spread
from compare.sections import LESS, MAIN_DRAIN, MORE, READER

OURS, RIVAL = "walpost", "debezium-tuned"
# Reading alone and producing alone: what a relay does at least.
PARTS = (READER, "produce")


@dataclasses.dataclass(frozen=True)
class Aim:
    title: str
    wanted: float
    better: str
    unit: str
    values: object       # records -> one number per round
    # The same of programs that do a part of the job; None where there is none.
    ceiling: object = None

    def spread(self, records):
        return Spread(self.values(records))

    def is_met(self, spread):
        sign = 1 if self.better == MORE else -1
        return sign * spread.median >= sign * self.wanted

    def line(self, records):
        """Cells of the table; None when it was not measured."""
        spread = self.spread(records)
        if not spread:
            return None
        bound = "≥" if self.better == MORE else "≤"
        most = Spread(self.ceiling(records) if self.ceiling else [])
        return [self.title, f"{bound} {self.wanted:g}{self.unit}",
                spread.text() + self.unit,
                "yes" if self.is_met(spread) else "**no**",
                most.text() + self.unit if most else most.text()]


def lines(records):
    """Those that were measured."""
    rates = sorted(records.of("rate").values("rate"))
    aims = (*AIMS, *(aim for rate in rates for aim in _latencies(records, rate)))
    return [line for line in (aim.line(records) for aim in aims) if line]


def _rounds(rows, column, *names):
    """The contenders' values in each round that all of them have."""
    for number in rows.valid().values("round"):
        of_round = rows.where(round=number)
        values = [of_round.where(contender=name).spread(column).median
                  for name in names]
        if None not in values and 0 not in values:
            yield values


def _times(column, better, *names):
    """How many times better than the rival, in the main drain.

    Of those who do a part of the job each, the slowest counts, and the sum of
    what they take.
    """
    def values(records):
        rounds = _rounds(records.of("drain").where(**MAIN_DRAIN), column,
                         RIVAL, *names)
        return [min(ours) / theirs if better == MORE else theirs / sum(ours)
                for theirs, *ours in rounds]
    return values


def _busiest(records):
    rows = records.of("drain").where(**MAIN_DRAIN, contender=OURS).valid()
    return [100 * max(row.get(name) or 0
                      for name in ("walsender_on_cpu", "machine_busy"))
            for row in rows.rows]


def _at_1000(name, column):
    def values(records):
        rows = records.of("rate").where(rate=1000, contender=name).valid()
        return [row.get(column) for row in rows.rows]
    return values


def _of_rivals(rate, column):
    """walpost's share of what tuned Debezium has in the same round."""
    def values(records):
        rounds = _rounds(records.of("rate").where(rate=rate), column, OURS,
                         RIVAL)
        return [ours / theirs for ours, theirs in rounds]
    return values


def _latencies(records, rate):
    """An aim for each percentile; the title says if the rate was not held."""
    rows = records.of("rate").where(rate=rate)
    is_missed = any(missed_rate(rows.where(contender=name))
                    for name in (OURS, RIVAL))
    where = f"{rate:,}/s" + (", which was not held" if is_missed else "")
    return [Aim(f"commit to consumer at {where}, {percentile}, of tuned "
                "Debezium's", 1, LESS, " ×",
                _of_rivals(rate, f"consumer_ms_{percentile}"))
            for percentile in ("p50", "p95", "p99")]


def _cost(event):
    def values(records):
        rounds = _rounds(records.of("insert"), "transactions_per_s", event,
                         "nothing")
        return [100 * (1 - with_event / without)
                for with_event, without in rounds]
    return values


AIMS = (
    Aim("drain rate, beside tuned Debezium", 4, MORE, " ×",
        _times("events_per_s", MORE, OURS),
        _times("events_per_s", MORE, *PARTS)),
    Aim("relay CPU-seconds per event, fewer than tuned Debezium", 20, MORE,
        " ×", _times("relay_cpu_s_per_million", LESS, OURS),
        _times("relay_cpu_s_per_million", LESS, *PARTS)),
    Aim("peak memory, less than tuned Debezium", 50, MORE, " ×",
        _times("peak_mb", LESS, OURS)),
    Aim("walsender or machine busy while draining", 90, MORE, " %", _busiest),
    Aim("cores of relay, Postgres and broker at 1,000/s, of tuned Debezium's",
        0.8, LESS, " ×", _of_rivals(1000, "all_cpu")),
    Aim("commit to consumer at 1,000/s, p50", 3, LESS, " ms",
        _at_1000(OURS, "consumer_ms_p50"), _at_1000(READER, "broker_ms_p50")),
    Aim("pg_logical_emit_message in RETURNING, cost to a business transaction",
        2, LESS, " %", _cost("message-returning")),
    Aim("the same as a statement of its own", 2, LESS, " %", _cost("message")),
)
