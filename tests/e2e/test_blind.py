"""Blind is not ready: what walpost watches beside the stream has an age, and
after ten seconds without a look /readyz names the cause."""

import contextlib
import json
import os
import signal

import psycopg2
import pytest

from harness import Outbox, wait_until

_SIDE = ("select pid from pg_stat_activity where application_name like "
         "'walpost:%%:side' and datname = %s")


def _terminate(database):
    database.execute(f"select pg_terminate_backend(pid) from ({_SIDE}) _",
                     (database.name,))


@contextlib.contextmanager
def _limit_of_the_role(_, database):
    database.execute("alter role shop connection limit 0")
    _terminate(database)
    yield
    database.execute("alter role shop connection limit -1")


@contextlib.contextmanager
def _limit_of_the_database(_, database):
    database.execute(f"alter database {database.name} connection limit 0")
    _terminate(database)
    yield
    database.execute(f"alter database {database.name} connection limit -1")


@contextlib.contextmanager
def _full_server(server, database):
    with contextlib.ExitStack() as idle:
        def fill():
            with contextlib.suppress(psycopg2.OperationalError):
                while True:
                    idle.enter_context(contextlib.closing(
                        server.connect(user="idler")))

        def is_full():
            fill()
            _terminate(database)
            fill()
            return not database.execute(_SIDE, (database.name,))

        wait_until(is_full, "the place of the session to be taken", pause=0.01)
        yield


@contextlib.contextmanager
def _refused_by_pg_hba(server, database):
    before = server.hba()
    server.set_hba(f"host {database.name} shop 127.0.0.1/32 reject\n{before}")
    _terminate(database)
    yield
    server.set_hba(before)


@contextlib.contextmanager
def _changed_password(server, database):
    before = server.hba()
    server.set_hba("host all shop 127.0.0.1/32 scram-sha-256\n" + before)
    database.execute("alter role shop password 'another'")
    _terminate(database)
    yield
    database.execute("alter role shop password 'secret'")
    server.set_hba(before)


@contextlib.contextmanager
def _frozen_backend(_, database):
    pid = database.value(_SIDE, (database.name,))
    os.kill(pid, signal.SIGSTOP)
    yield
    os.kill(pid, signal.SIGCONT)


_CAUSES = {
    "limit of the role": (_limit_of_the_role, "too many connections for role"),
    "limit of the database": (_limit_of_the_database,
                              "too many connections for database"),
    "full server": (_full_server, "connection slots are reserved|too many "
                                  "clients"),
    "pg_hba": (_refused_by_pg_hba, "pg_hba.conf rejects connection"),
    "password": (_changed_password, "password authentication failed"),
    "frozen": (_frozen_backend, "does not answer its session"),
}


@pytest.mark.parametrize("cause", _CAUSES)
@pytest.mark.sample(6)
def test_p10_who_cannot_see_is_degraded(walpost, own_postgres, kafka, topics,
                                        cause):
    own_postgres.stop()
    own_postgres.configure(max_connections=20)
    own_postgres.start()
    database = own_postgres.create_database()
    outbox = Outbox(database, topics)
    database.execute("create role shop login replication password 'secret'")
    database.execute("create role idler login")
    database.execute("grant select on outbox to shop")
    admin = walpost(database, kafka, topics)
    assert admin.verb("init").returncode == 0
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": database.conninfo("shop") + " password=secret",
        "create": False}).run()
    _wait_side(database)
    blinded, words = _CAUSES[cause]
    with blinded(own_postgres, database):
        wait_until(lambda: relay.get("/readyz")[1].startswith("degraded"),
                   lambda: f"it to be degraded\n{relay.log()}", seconds=12,
                   pause=0.05)
        _said_everywhere(relay, words)
        if cause != "frozen":
            outbox.insert("order", "order-1")
            database.wait_confirmed(relay.slot)
    wait_until(lambda: relay.get("/readyz")[1].startswith("streaming"),
               lambda: f"it to see again\n{relay.log()}")
    assert relay.stop() == 0


def _wait_side(database):
    wait_until(lambda: database.execute(_SIDE, (database.name,)),
               "the session beside the stream")


def _said_everywhere(relay, words):
    status = json.loads(relay.get("/status")[1])
    assert status["state"] == "degraded"
    assert status["slot_report_age_seconds"] > 7
    assert relay.metric('walpost_state{state="degraded"}') == 1
    assert relay.metric("walpost_slot_report_age_seconds") > 7
    relay.wait_log(f"degraded: .*cannot read the WAL status.*: .*({words})", 5)


# ---- A partition that is a foreign table.

_PARTITIONED = """
create extension postgres_fdw;
create server other foreign data wrapper postgres_fdw;
create table outbox (id uuid default gen_random_uuid(), aggregate_type text,
  aggregate_id text, type text, payload jsonb, at date not null)
  partition by range (at);
create table outbox_new partition of outbox
  for values from ('2020-01-01') to (maxvalue);
"""
_DEPTHS = {
    1: """create foreign table outbox_old partition of outbox
          for values from (minvalue) to ('2020-01-01') server other;""",
    2: """create table archive partition of outbox
          for values from (minvalue) to ('2020-01-01') partition by range (at);
          create foreign table outbox_old partition of archive
          for values from (minvalue) to ('2010-01-01') server other;""",
}
_FOREIGN = ("public.outbox_old is a partition of public.outbox and a foreign "
            "table: rows that are routed there are in no WAL")


@pytest.mark.parametrize("depth", _DEPTHS)
@pytest.mark.sample(2)
def test_p11_check_and_run_name_a_foreign_partition(
        walpost, database, kafka, topics, depth):
    database.execute(_PARTITIONED + _DEPTHS[depth])
    relay = walpost(database, kafka, topics, outbox={
        "tables": [{"name": "public.outbox", "columns": {"type": None}}]})
    relay.verb("init")
    said = relay.verb("check").stdout
    assert _FOREIGN in said, said
    relay.run()
    relay.wait_log(_FOREIGN)
    assert relay.stop() == 0
    parent = {1: "public.outbox", 2: "public.archive"}[depth]
    remedy = f"ALTER TABLE {parent} DETACH PARTITION public.outbox_old;"
    assert remedy in said, said
    database.execute(remedy)
    assert "foreign" not in relay.verb("check").stdout


@pytest.mark.long
def test_p9_a_foreign_partition_that_comes_later(walpost, database, kafka,
                                                 topics):
    database.execute(_PARTITIONED)
    relay = walpost(database, kafka, topics).run()
    database.execute(_DEPTHS[1])
    text = relay.wait_unready("foreign table")
    assert _FOREIGN in text
    database.execute("ALTER TABLE public.outbox DETACH PARTITION "
                     "public.outbox_old;")
    relay.wait_ready()
    assert relay.stop() == 0
