"""Rows of figures: kept as CSV while the benchmark runs, read by the report."""

import csv
import pathlib
import shutil

from compare.derived import with_derived
from compare.figures import Rows

# Texts; all other columns are numbers, and empty is none.
_TEXTS = {"contender", "void", "level", "at", "held_snapshot"}


class Records:
    """One CSV file per scenario in `directory`.

    A scenario's file is begun anew by its first row of this run; those of the
    scenarios that are not run stay as they are.
    """

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._columns = {}

    def add(self, scenario, row):
        begins = scenario not in self._columns
        columns = self._columns.setdefault(scenario, list(row))
        for name in row:  # a void row has few, and may come first
            if name not in columns:
                columns.append(name)
        kept = [] if begins else self._stored(scenario)
        with open(self._path(scenario), "w", newline="",
                  encoding="utf-8") as out:
            writer = csv.DictWriter(out, columns)
            writer.writeheader()
            writer.writerows([*kept, row])

    def keep_only(self, scenarios):
        """Deletes the files of others, which are of an earlier run."""
        for path in self._directory.glob("*.csv"):
            if path.stem not in scenarios:
                path.unlink()

    def of(self, scenario):
        """Rows with all columns, none when the scenario was never run."""
        return Rows(map(with_derived, self._stored(scenario)))

    def _stored(self, scenario):
        path = self._path(scenario)
        if not path.exists():
            return []
        with open(path, newline="", encoding="utf-8") as text:
            return [_typed(row) for row in csv.DictReader(text)]

    def _path(self, scenario):
        return self._directory / f"{scenario}.csv"


def publish_raw(raw, target):
    """Puts the figures of a report beside it, in place of earlier ones."""
    if raw.resolve() == target.resolve():
        return
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(raw, target)


def _typed(row):
    return {name: value if name in _TEXTS else _number(value)
            for name, value in row.items()}


def _number(text):
    if text == "":
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)
