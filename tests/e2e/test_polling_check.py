"""What a table lacks that is to be polled: named with the SQL that mends it."""

import re

import pytest

from harness.remedies import statements

_DDL = """
create type state as enum ('PENDING', 'COMPLETED');
create table tasks (
  id uuid primary key, seq bigserial, aggregate_type text not null,
  aggregate_id text, payload jsonb, state state not null default 'PENDING',
  xmin_text text);
create index on tasks (seq) where xmin_text is not null;  -- serves nobody
"""


def _config(strategy="claim", order_by="seq", **state):
    return {
        "source": "polling",
        "polling": {"strategy": strategy, "interval": "100ms"},
        "outbox": {"tables": [{"name": "public.tasks", "order_by": order_by,
                               "state": state}]}}


_CLAIM = {"status": "state", "pending": "PENDING", "published": "COMPLETED",
          "processing": "PROCESSING", "failed": "",
          "locked_until": "locked_until", "attempts": "attempts"}


def _check(relay):
    """The findings of `check`, and the remedies that are SQL."""
    said = relay.verb("check")
    remedies = [line.split("-> ", 1)[1] for line in said.stdout.split("\n")
                if "-> " in line]
    return said.returncode, said.stdout, remedies


def _mend(database, remedies):
    """Runs what `check` says, as it says it."""
    for remedy in remedies:
        if re.match("(ALTER|CREATE|GRANT) ", remedy):
            for statement in statements(remedy) or [remedy]:
                database.execute(statement)


@pytest.mark.parametrize("config, ddl, named", [
    (_config(**_CLAIM), "",
     ["no column locked_until", "no column attempts", "no value 'PROCESSING'",
      "no index of pending rows",
      "no index on locked_until, by which held rows are found"]),
    (_config("cursor", transaction_id="xid"), "",
     ["no column xid", "no unique index on seq", "no index on xid"]),
    (_config(order_by="place", status="state", pending="PENDING",
             published="COMPLETED", failed=""), "",
     ["no column place", "no index of pending rows"]),
    (_config("delete"), "", ["no index on seq"]),
    (_config("delete"), "create index on tasks using hash (seq);",
     ["no index on seq"]),
    (_config(status="state", pending="PENDING", published="COMPLETED",
             failed=""),
     "create index on tasks (seq) where state = 'COMPLETED';",
     ["no index of pending rows"]),
    (_config("delete", next_attempt_at="next_attempt_at"),
     "alter table tasks add next_attempt_at timestamptz not null "
     "default now(); create index on tasks (seq);",
     ["column next_attempt_at may not be NULL"]),
], ids=["claim", "cursor", "order", "delete", "hash", "other rows",
        "not null"])
@pytest.mark.sample(9)
def test_what_a_table_lacks_is_named_and_its_remedy_mends_it(
        database, walpost, kafka, topics, config, ddl, named):
    database.execute(_DDL + ddl)
    relay = walpost(database, kafka, topics, **config)
    seen = ""
    for _ in range(4):  # columns first; what they are like, next
        code, text, remedies = _check(relay)
        if code == 0:
            break
        assert relay.start().wait_exit() != 0, "run must refuse it, too"
        assert remedies, text
        seen += text + relay.log()
        _mend(database, remedies)
    assert code == 0, text
    for words in named:
        assert words in seen, seen
    relay.run()
    database.execute("insert into tasks (id, aggregate_type) values "
                     "(gen_random_uuid(), 'order')")
    assert relay.stop() == 0


@pytest.mark.long
def test_what_is_slow_with_a_backlog_is_a_warning(
        database, walpost, kafka, topics):
    database.execute(
        _DDL + "alter table tasks add locked_until timestamptz, "
        "add next_attempt_at timestamptz, add published_at timestamptz; "
        "create index on tasks (seq) where published_at is null;")
    relay = walpost(database, kafka, topics, **_config(
        published_at="published_at", locked_until="locked_until",
        next_attempt_at="next_attempt_at"))
    code, text, remedies = _check(relay)
    assert code == 0, text
    for words in ("no index on locked_until, by which held rows are found",
                  "no index on next_attempt_at, by which refused rows"):
        assert words in text, text
        assert words in relay.run().log()
        assert relay.stop() == 0
    _mend(database, remedies)
    text = _check(relay)[1]
    assert "no index" not in text, text


@pytest.mark.long
def test_a_table_that_is_not_there_is_named(database, walpost, kafka, topics):
    relay = walpost(database, kafka, topics, **_config("delete"))
    code, text, _ = _check(relay)
    assert code != 0 and "public.tasks" in text and "does not exist" in text
    assert relay.start().wait_exit() != 0
    assert "does not exist" in relay.log()


def test_missing_privileges_are_named(database, walpost, kafka, topics):
    database.execute(_DDL + "create index on tasks (seq);")
    role = f"poller_{database.name}"
    database.execute(f"create role {role} login")
    try:
        relay = walpost(database, kafka, topics, **_config("delete"),
                        postgres={"conninfo": database.conninfo(user=role)})
        code, text, remedies = _check(relay)
        assert code != 0 and "may not SELECT, UPDATE, DELETE" in text, text
        assert relay.start().wait_exit() != 0
        _mend(database, remedies)
        assert _check(relay)[0] == 0
        relay.run()
        code, text, _ = _check(relay)  # its port is that of this walpost
        assert code == 0 and "runs, and is " in text, text
        assert relay.stop() == 0
    finally:
        database.execute(f"drop owned by {role}; drop role {role}")


@pytest.mark.long
def test_verbs_about_the_slot_say_that_there_is_none(
        database, walpost, kafka, topics):
    relay = walpost(database, kafka, topics, **_config("delete"))
    for words in (["recover"], ["replay", "--since", "1h"]):
        said = relay.verb(*words)
        assert said.returncode == 2, said
        assert "source: polling" in said.stderr, said


@pytest.mark.long
def test_a_clock_as_the_order_is_a_warning(database, walpost, kafka, topics):
    database.execute(_DDL + "alter table tasks add created_at timestamptz; "
                     "create index on tasks (created_at);")
    relay = walpost(database, kafka, topics,
                    **_config("delete", order_by="created_at"))
    code, text, _ = _check(relay)
    assert code == 0 and "clocks of writers disagree" in text, text


@pytest.mark.long
def test_a_clock_that_counts_milliseconds_is_a_clock_too(
        database, walpost, kafka, topics):
    database.execute(_DDL + "alter table tasks add at bigint; "
                     "create index on tasks (at);")
    config = _config("delete", order_by="at")
    config["outbox"]["tables"][0]["columns"] = {"timestamp": "at"}
    code, text, _ = _check(walpost(database, kafka, topics, **config))
    assert code == 0 and "clocks of writers disagree" in text, text
    assert "column at may be NULL, and such a row goes out after all" in text


@pytest.mark.long
def test_the_wal_source_needs_wal_level_logical(
        directory, walpost, kafka, topics):
    from harness import Postgres
    server = Postgres(directory / "replica",
                      settings={"wal_level": "replica"}).start()
    try:
        database = server.create_database()
        database.execute(_DDL + "create index on tasks (seq);")
        outbox = {"tables": [{"name": "public.tasks"}]}
        wal = walpost(database, kafka, topics, outbox=outbox)
        said = wal.verb("check")
        assert said.returncode != 0 and "wal_level" in said.stdout
        assert wal.start().wait_exit() != 0
        assert "wal_level" in wal.log()
        # Polling is what is left there.
        polling = walpost(database, kafka, topics, **_config("delete")).run()
        assert polling.stop() == 0
    finally:
        server.close()
