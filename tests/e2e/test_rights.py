"""Each verb with exactly the rights that docs/security.md gives it."""

import re

import pytest

from harness import Postgres, run_sql_file, wait_until
from harness.paths import REPOSITORY


def _statements(*headings):
    """Those of the blocks of SQL in these sections."""
    page = (REPOSITORY / "docs/security.md").read_text()
    sections = [page.split(f"\n### {heading}\n")[1].split("\n#")[0]
                for heading in headings]
    blocks = [re.search(r"```sql\n(.*?)```", section, re.S)[1]
              for section in sections]
    return [statement.strip() for block in blocks
            for statement in block.split(";") if statement.strip()]


@pytest.fixture(scope="module")
def postgres(module_directory):
    """A server with the role of the page."""
    server = Postgres(module_directory / "postgres").start()
    page = (REPOSITORY / "docs/security.md").read_text()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(re.search(r"create role walpost[^;]*;", page)[0])
    yield server
    server.close()


@pytest.fixture
def prepared(database, outbox):
    database.execute("alter role walpost noreplication")
    database.execute("alter table outbox add created_at timestamptz default "
                     "now() - interval '1 hour', add place bigserial, "
                     "add published_at timestamptz")
    database.execute("create index on outbox (place) where published_at is null")
    run_sql_file(database, "checkpoint.sql")
    outbox.insert("order", "order-1")
    return database


def _grant(database, statements):
    for statement in statements:
        database.execute(statement.replace("shop", database.name))


def _as_walpost(database):
    return {"conninfo": database.conninfo("walpost"), "create": False}


def _init(walpost, database, kafka, topics):
    """By an administrator."""
    made = walpost(database, kafka, topics).verb("init")
    assert made.returncode == 0, made.stdout + made.stderr


def _streams(relay, database, outbox):
    relay.start()
    wait_until(lambda: not relay.running()
               or relay.get("/readyz")[0] == 200
               or "stuck" in relay.get("/readyz")[1], "an answer")
    if not relay.running() or relay.get("/readyz")[0] != 200:
        return False
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    return relay.stop() == 0


def _run(make, database, outbox):
    return _streams(make(), database, outbox)


def _run_with_checkpoint(make, database, outbox):
    return _streams(make(checkpoint={"store": "postgres"}), database, outbox)


def _poll(make, database, outbox):
    relay = make(source="polling", outbox={"tables": [
        {"name": "public.outbox", "order_by": "place",
         "state": {"published_at": "published_at"}}]})
    relay.start()
    wait_until(lambda: not relay.running() or not database.value(
        "select count(*) from outbox where published_at is null"), "an end")
    return relay.running() and relay.stop() == 0


def _verb(*words):
    return lambda make, database, outbox: make().verb(*words).returncode == 0


def _prune(make, database, outbox):
    ran = make().verb("prune", "--older-than", "1s",
                      "--assume-sent-before", "1s")
    return ran.returncode == 0 and not database.value(
        "select count(*) from outbox")


_RUN = "walpost run, check, tail and replay"
_VERBS = {
    "run": (_run, _RUN),
    "check": (_verb("check"), _RUN),
    "run with a checkpoint": (
        _run_with_checkpoint, _RUN,
        "walpost run with checkpoint.store: postgres"),
    "prune": (_prune, "walpost prune, and run with retention.keep"),
    "verify": (_verb("verify"), "walpost verify"),
    "poll": (_poll, "walpost run with source: polling"),
    "init": (_verb("init"), "walpost init"),
}


@pytest.mark.parametrize("verb", _VERBS)
def test_a_verb_has_the_rights_that_it_needs_and_no_more(
        walpost, prepared, outbox, kafka, topics, verb):
    works, *headings = _VERBS[verb]
    statements = _statements(*headings)
    if verb not in ("init", "poll"):
        _init(walpost, prepared, kafka, topics)
    if verb in ("verify", "prune"):
        prepared.execute("delete from outbox")
        walpost(prepared, kafka, topics).run()
        outbox.insert("order", "order-2")
        prepared.wait_confirmed(prepared.name)

    def make(**sections):
        return walpost(prepared, kafka, topics, postgres=_as_walpost(prepared),
                       **sections)

    # Each of them is needed ...
    for left_out in range(len(statements)):
        _grant(prepared, statements[:left_out])
        assert not works(make, prepared, outbox), statements[left_out]
    # ... and all are enough.
    _grant(prepared, statements)
    assert works(make, prepared, outbox)
