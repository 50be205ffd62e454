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


def pairs(always=(), unless=lambda case: False, **axes):
    """The product of the values in a long run. Else cases such that each value
    stands beside each other one at least once; with `always`, those alone."""
    product = _product(axes, unless)
    if LONG:
        return product
    if always:
        return [Case(case) for case in always]
    return _covering(product, _pairs_of)


def values(unless=lambda case: False, **axes):
    """The product of the axes in a long run. Else cases in which each value of
    each axis stands at least once: for axes of which one does not change what
    another does."""
    product = _product(axes, unless)
    return product if LONG else _covering(product, _values_of, _pairs_of)


def covering(cases, parts_of):
    """All cases in a long run. Else so few that each part which `parts_of(case)`
    finds in any case is in one of them."""
    return list(cases) if LONG else _covering(list(cases), parts_of)


def each(cases, judge, name=str):
    """Calls judge(case) for each case, whatever becomes of the others; fails with
    what it said of any. One test for cases that share all that is expensive."""
    found = []
    for case in cases:
        try:
            judge(case)
        except AssertionError as failure:
            found.append(f"{name(case)}: {failure}")
    assert cases and not found, "\n\n".join(found)


def _product(axes, unless):
    product = [Case(zip(axes, chosen))
               for chosen in itertools.product(*axes.values())]
    return [case for case in product if not unless(case)]


def _covering(product, *parts_of):
    """Few cases that have all that `parts_of[0]` finds in any; of equally good
    ones that with more new parts of the next kind."""
    chosen, seen = [], [set() for _ in parts_of]
    for _ in product:
        best = max(product, key=lambda case: [
            len(parts(case) - known) for parts, known in zip(parts_of, seen)])
        if not parts_of[0](best) - seen[0]:
            break
        for parts, known in zip(parts_of, seen):
            known |= parts(best)
        chosen.append(best)
    return chosen


def _values_of(case):
    return set(case.items())


def _pairs_of(case):
    return set(itertools.combinations(case.items(), 2))
