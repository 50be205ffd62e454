"""Arithmetic on measurements. Pure: no clock, no files."""

import math
import statistics


def quantile(ordered, fraction):
    """The smallest value that at least `fraction` of all do not exceed.

    `ordered` is sorted and not empty. No interpolation: the answer is a value
    that was measured.
    """
    rank = max(1, math.ceil(fraction * len(ordered)))
    return ordered[rank - 1]


PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999),
               ("max", 1.0))


def percentiles(values, prefix):
    """{prefix_p50: ..., prefix_max: ...}; None for each without values."""
    ordered = sorted(values)
    return {f"{prefix}_{name}": quantile(ordered, fraction) if ordered else None
            for name, fraction in PERCENTILES}


# With fewer repetitions there is no median to speak of: each value is shown.
ENOUGH_FOR_A_MEDIAN = 5


class Spread:
    """Some repetitions, in the order of the rounds; false when empty."""

    def __init__(self, values):
        known = [value for value in values if value is not None]
        self.values = tuple(known)
        self.count = len(known)
        self.median = statistics.median(known) if known else None
        self.low = min(known, default=None)
        self.high = max(known, default=None)

    def __bool__(self):
        return self.count > 0

    @property
    def has_median(self):
        """Whether there are repetitions enough."""
        return self.count >= ENOUGH_FOR_A_MEDIAN

    def text(self, scale=1.0):
        """`median (min–max)`, three digits; of fewer than five each value; a
        dash without values.
        """
        middle = self.middle(scale)
        if not self.has_median or self.low == self.high:
            return middle
        return f"{middle} ({short(self.low * scale)}–{short(self.high * scale)})"

    def middle(self, scale=1.0):
        """The same without the least and the greatest."""
        if not self:
            return "–"
        if self.has_median or self.low == self.high:
            return short(self.median * scale)
        return " · ".join(short(value * scale) for value in self.values)


def short(value):
    """Three digits that count, thousands set apart: 0.0123, 1.23, 45,678."""
    if value == 0:
        return "0"
    # By the text: 99.96 is rounded to 100, which has no digit after the point.
    magnitude = int(f"{value:.2e}".partition("e")[2])
    digits = 2 - magnitude
    return f"{round(value, digits):,.{max(0, digits)}f}"


class Rows:
    """The rows of one scenario: dictionaries with `contender` and `void`.

    A void row counts in no median.
    """

    def __init__(self, rows):
        self.rows = list(rows)

    def where(self, **wanted):
        return Rows(row for row in self.rows
                    if all(row.get(key) == value
                           for key, value in wanted.items()))

    def values(self, name):
        """In the order of first appearance, each once."""
        return list(dict.fromkeys(row[name] for row in self.rows
                                  if row.get(name) is not None))

    def valid(self):
        return Rows(row for row in self.rows if not row["void"])

    def spread(self, name):
        return Spread(row.get(name) for row in self.valid().rows)

    def voids(self):
        """Why rows are void, each reason once."""
        return list(dict.fromkeys(row["void"] for row in self.rows
                                  if row["void"]))

    def __len__(self):
        return len(self.rows)
