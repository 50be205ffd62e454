"""Matrices of cases: CI runs a sample, WALPOST_LONG=1 the whole."""

import itertools
import os

LONG = os.environ.get("WALPOST_LONG") == "1"


def long_only(*cases):
    """Those cases in a long run, else none: nothing is reported as skipped.

        @pytest.mark.parametrize("case", [A, B, *long_only(C, D)])
    """
    return list(cases) if LONG else []


class Case(dict):
    """One value for each name; its text is the name of the test."""

    def __str__(self):
        return "-".join(str(value) for value in self.values())


def pairs(always=(), unless=lambda case: False, **values):
    """The product of the values in a long run. Else cases such that each value
    stands beside each other one at least once; with `always`, those alone."""
    product = [Case(zip(values, chosen))
               for chosen in itertools.product(*values.values())]
    product = [case for case in product if not unless(case)]
    if LONG:
        return product
    if always:
        return [Case(case) for case in always]
    chosen, seen = [], set()
    for _ in product:
        best = max(product, key=lambda case: len(_pairs_of(case) - seen))
        if not _pairs_of(best) - seen:
            break
        seen |= _pairs_of(best)
        chosen.append(best)
    return chosen


def _pairs_of(case):
    return set(itertools.combinations(case.items(), 2))
