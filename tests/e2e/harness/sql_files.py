"""The files of sql/."""

from harness.paths import REPOSITORY


def run_sql_file(database, name):
    """Runs one in a transaction of its own, as psql -1 would."""
    database.execute((REPOSITORY / "sql" / name).read_text())
