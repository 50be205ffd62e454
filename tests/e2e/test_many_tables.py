"""A schema per tenant: walpost asks about all tables of outbox.tables in the same
few statements, however far Postgres is away."""

import re
import time

import pytest

from harness.matrix import LONG, long_only

_ONE_WAY_S = 0.0025  # of the network: a round trip takes 5 ms
_TABLES = 1_000
# Beside other tests: a statement for each table and start took 50 s and more.
_START_S = 10 if LONG else 40
_REACTION_S = 2 + 8  # the watch looks every 2 s; generous for a busy machine


def _make_tables(database, count, definition="like public.outbox including all"):
    for begin in range(0, count, 200):  # locks of one transaction are limited
        database.execute(
            "do $$ begin for i in {}..{} loop execute format('create schema t%s; "
            "create table t%s.outbox ({})', i, i); end loop; end $$"
            .format(begin + 1, min(begin + 200, count), definition))


def _names(count):
    return [f"t{number}.outbox" for number in range(1, count + 1)]


def _far(walpost, database, kafka, topics, proxy, names, **sections):
    """Behind a network that takes its time."""
    proxy.delay(_ONE_WAY_S)
    conninfo = re.sub(r"port=\d+", f"port={proxy.port}",
                      re.sub(r"host=\S+", "host=127.0.0.1", database.conninfo()))
    return walpost(database, kafka, topics,
                   postgres={"conninfo": conninfo, "create": True},
                   outbox={"tables": [{"name": name} for name in names]},
                   **sections)


def _statements(postgres, database):
    """How many statements the database has run so far."""
    with postgres.connect().cursor() as cursor:
        cursor.execute("select xact_commit + xact_rollback from "
                       "pg_stat_database where datname = %s", [database.name])
        return cursor.fetchone()[0]


def _first_record_s(relay, database, table):
    """Seconds from the start to the acknowledgement of a first event."""
    begin = time.monotonic()
    relay.start()
    relay.wait_ready(60)
    database.execute(f"insert into {table} (aggregate_type, aggregate_id, type, "
                     "payload) values ('order', '1', 'Made', '{}')")
    relay.wait_acknowledged(1)
    return time.monotonic() - begin


@pytest.mark.parametrize("names", [["t*.outbox"], *long_only(
    _names(_TABLES))], ids=["by a pattern", *long_only("listed")])
def test_a_thousand_tables_start_behind_a_slow_network(
        walpost, postgres, database, kafka, topics, outbox, proxy_of, names):
    _make_tables(database, _TABLES)
    relay = _far(walpost, database, kafka, topics, proxy_of(postgres.port),
                 names)
    assert _first_record_s(relay, database, f"t{_TABLES}.outbox") < _START_S

    # What it asks while it is idle does not depend on the number of tables.
    before = _statements(postgres, database)
    time.sleep(10)
    assert _statements(postgres, database) - before < 100

    changed = time.monotonic()
    database.execute("alter publication walpost drop table t500.outbox")
    relay.wait_unready(r"coverage_changed.*t500\.outbox is not in publication")
    assert time.monotonic() - changed < _REACTION_S


@pytest.mark.long
def test_init_and_check_name_each_of_them(
        walpost, postgres, database, kafka, topics, outbox, proxy_of):
    _make_tables(database, _TABLES)
    relay = _far(walpost, database, kafka, topics, proxy_of(postgres.port),
                 _names(_TABLES))
    begin = time.monotonic()
    init = relay.verb("init")
    assert init.returncode == 0, init.stdout + init.stderr
    assert time.monotonic() - begin < _START_S
    check = relay.verb("check", seconds=120)
    assert check.returncode == 0, check.stdout + check.stderr
    assert check.stdout.count("is published, and its columns fit") == _TABLES


@pytest.mark.long
def test_a_table_that_cannot_be_read_says_so_as_if_it_were_the_only_one(
        walpost, database, kafka, topics, outbox):
    """Its count fails; those before and behind it are counted."""
    _make_tables(database, 3)
    for number in (1, 3):
        database.execute(f"insert into t{number}.outbox (aggregate_type, "
                         "aggregate_id, type, payload) values ('a', '1', 'b', "
                         "'{}')")
    role = database.create_role()
    for number in (1, 2, 3):
        database.execute(f"grant usage on schema t{number} to {role}")
    database.execute(f"grant select on t1.outbox, t3.outbox to {role}")
    relay = walpost(database, kafka, topics,
                    postgres={"create": False},
                    outbox={"tables": [{"name": name} for name in _names(3)]})
    assert relay.verb("init").returncode == 0
    relay.config["postgres"]["conninfo"] = database.conninfo(user=role)
    relay.configure(relay.config)
    relay.start()
    relay.wait_log(r"table t2\.outbox cannot be read by role .*permission "
                   r"denied for table outbox \[42501\].*GRANT SELECT ON "
                   r'\"?t2')
    for number in (1, 3):
        relay.wait_log(rf"table t{number}\.outbox has 1 row that are older|"
                       rf"table t{number}\.outbox has 1 row")
