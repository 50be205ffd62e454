"""The programs of docs/producers and docs/consumers, and their databases."""

import os
import sys

from harness.pages import blocks, excerpts
from harness.paths import REPOSITORY
from harness.sql_files import run_sql_file

PRODUCERS = REPOSITORY / "docs" / "producers"
CONSUMERS = REPOSITORY / "docs" / "consumers"

# Places one order and writes its three events.
SQL_PRODUCER = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f",
                PRODUCERS / "sql" / "shop.sql"]


def environment(database):
    """The variables of libpq, which say where an example's database is."""
    where = dict(word.split("=") for word in database.conninfo().split())
    return {**os.environ, "PGHOST": where["host"], "PGPORT": where["port"],
            "PGDATABASE": where["dbname"], "PGUSER": where["user"]}


def create_billing(postgres):
    """A database of a consumer's own."""
    billing = postgres.create_database()
    run_sql_file(billing, "processed_events.sql")
    for name in ("schema.sql", "positions.sql"):
        billing.execute((CONSUMERS / name).read_text())
    return billing


def python_consumer(kafka, topic, billing, *words):
    return [sys.executable, "-B", CONSUMERS / "python" / "consumer.py",
            "--brokers", kafka.bootstrap, "--topic", topic, "--conninfo",
            billing.conninfo(), *words]


def totals(billing):
    """What a consumer has billed: customer to orders and cents."""
    return {row[0]: row[1:] for row in billing.execute(
        "select customer, orders, cents from customer_total")}


def check_page(page, folder):
    """The page shows what the programs have; each section has its command."""
    shown = [block for block in blocks() if block.page == page]
    programs = [block.text for block in shown
                if block.language not in ("", "sh", "yaml")]
    assert sorted(programs) == sorted(excerpts(folder))
    sections = (REPOSITORY / page).read_text().split("\n## ")
    without = [section.splitlines()[0] for section in sections
               if f"\nFrom `{folder}/" in section and "```sh\n" not in section]
    assert not without, "no command runs the examples of these sections"
