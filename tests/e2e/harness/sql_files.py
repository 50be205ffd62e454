"""The files of sql/."""

from harness.paths import REPOSITORY


def sql_file(name):
    return (REPOSITORY / "sql" / name).read_text()


def run_sql_file(database, name):
    """Runs one in a transaction of its own, as psql -1 would."""
    database.execute(sql_file(name))
