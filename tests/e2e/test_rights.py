"""Each verb with exactly the rights that docs/security.md gives it."""

import re

import pytest

from harness import LONG_AGO, Postgres, put_on_record, run_sql_file, wait_until
from harness.matrix import covering
from harness.paths import REPOSITORY
from harness.polled import EVENTS, events_sections


def _statements(*headings):
    """Those of the blocks of SQL in these sections, each privilege apart."""
    page = (REPOSITORY / "docs/security.md").read_text()
    sections = [page.split(f"\n### {heading}\n")[1].split("\n#")[0]
                for heading in headings]
    blocks = [re.search(r"```sql\n(.*?)```", section, re.S)[1]
              for section in sections]
    return [apart for block in blocks for statement in block.split(";")
            if statement.strip() for apart in _apart(statement.strip())]


def _apart(statement):
    """`grant a, b on c` as `grant a on c` and `grant b on c`."""
    grant = re.fullmatch(r"grant ([\w, ]+) on (.*)", statement)
    if not grant:
        return [statement]
    return [f"grant {privilege} on {grant[2]}"
            for privilege in re.split(r",\s*", grant[1])]


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
    database.execute("create index on outbox (created_at)")
    database.execute(EVENTS)
    run_sql_file(database, "checkpoint.sql")
    run_sql_file(database, "cursor.sql")
    return database


def _grant(database, statements):
    for statement in statements:
        database.execute(statement.replace("shop", database.name))


def _as_walpost(database):
    return {"conninfo": database.conninfo("walpost"), "create": False}


# ---- What each verb does: whether it works, and what it says.

def _says(ran, works=True):
    return ran.returncode == 0 and works, ran.stdout + ran.stderr


def _verb(*words):
    return lambda make, database, outbox: _says(make().verb(*words))


def _until(relay, done):
    """Runs until it is done, or cannot."""
    relay.start()
    wait_until(lambda: not relay.running() or done()
               or "stuck" in relay.get("/readyz")[1], "an answer")
    said = relay.get("/readyz")[1]
    works = relay.running() and "stuck" not in said and done()
    if relay.running():
        relay.stop()
    return works, said + relay.log()


def _streams(relay, database, outbox):
    outbox.insert("order", "order-1")
    end = database.current_lsn()
    return _until(relay, lambda: (database.confirmed_lsn(relay.slot) or 0) >= end)


def _run(make, database, outbox):
    return _streams(make(), database, outbox)


def _run_with_checkpoint(make, database, outbox):
    return _streams(make(checkpoint={"store": "postgres"}), database, outbox)


def _count(database, condition="true", table="outbox"):
    return database.value(f"select count(*) from {table} where {condition}")


def _run_with_retention(make, database, outbox):
    relay = make(retention={"keep": "1s", "interval": "1s"})
    outbox.insert("order", "order-1")
    _, said = _until(relay, lambda: not _count(database)
                     or "permission denied" in relay.log())
    return not _count(database), said


def _prune(make, database, _):
    ran = make().verb("prune", "--older-than", "1s", "--assume-sent-before",
                      "1s")
    return _says(ran, not _count(database))


def _wait(make, database, outbox):
    event = outbox.insert("order", "order-3")
    return _says(make().verb("wait", "--event", event))


def _tail(make, database, outbox):
    relay = make()
    tail = relay.spawn("tail", "--count", "1")
    wait_until(lambda: not tail.running() or database.execute(
        "select 1 from pg_replication_slots where temporary and active "
        "and database = %s", (database.name,)), "tail to stream")
    outbox.insert("order", "order-2")
    return tail.wait(30) == 0, relay.whole_log()


def _replay(make, _, __):
    return _says(make(replay={"window": "64MiB"}).verb("replay", "--since",
                                                       "1h"))


def _recover(make, database, outbox):
    """And what runs after it finds nothing amiss."""
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    outbox.insert("order", "order-2")
    relay = make()
    works, said = _says(relay.verb("recover", "--order-by", "place"))
    if not works:
        return works, said
    streams, log = _streams(relay, database, outbox)
    assert streams, log
    return True, said


def _poll(strategy):
    def works(make, database, _):
        relay = make(source="polling", polling={"strategy": strategy},
                     outbox={"tables": [
                         {"name": "public.outbox", "order_by": "place",
                          "state": {"published_at": "published_at"}}]})
        return _until(relay,
                      lambda: not _count(database, "published_at is null"))

    return works


def _poll_with_cursor(make, database, _):
    relay = make(**events_sections())
    database.execute("insert into events (aggregate_id) values ('order-1')")
    return _until(
        relay, lambda: relay.metric("walpost_acknowledged_records_total"))


_RUN = "walpost run, check, tail and replay"
_RETENTION = "walpost prune, and run with retention.keep"
_WAIT = "walpost wait --event"
_READ = "walpost verify, and replay --from-table"
_VERBS = {
    "run": (_run, _RUN),
    "check": (_verb("check"), _RUN),
    "tail": (_tail, _RUN),
    "replay": (_replay, _RUN),
    "run with a checkpoint": (
        _run_with_checkpoint, _RUN,
        "walpost run with checkpoint.store: postgres"),
    "run with retention": (_run_with_retention, _RUN, _RETENTION),
    "prune": (_prune, _RETENTION),
    "verify": (_verb("verify"), _READ),
    "wait": (_wait, _WAIT),
    "replay --from-table": (_verb("replay", "--from-table", "--order-by",
                                  "place"), _READ),
    "recover": (_recover, "walpost recover"),
    "poll": (_poll("claim"), "walpost run with source: polling"),
    "poll and delete": (_poll("delete"),
                        "walpost run with polling.strategy: delete"),
    "poll with a cursor": (_poll_with_cursor,
                           "walpost run with polling.strategy: cursor"),
    "init": (_verb("init"), "walpost init"),
}
# Without it the verb works, and warns.
_WARNED_OF = ["alter publication walpost owner to walpost"]


def _remedy(statement):
    """How the answer names what is missing."""
    grant = re.fullmatch(r"grant (\w+) on (public[\w.]+) .*", statement)
    if grant:
        table = r"\W+".join(grant[2].split("."))
        return rf"(?i)grant [^;]*\b{grant[1]}\b[^;]* on \W*({table}|outbox)\b"
    return {
        "alter role walpost replication": 'ALTER ROLE "walpost" REPLICATION;',
        "grant create on database shop to walpost": "CREATE on the database",
        "alter table public.outbox owner to walpost": "the owner of the table",
        "alter publication walpost owner to walpost":
            "not on record.*must be owner of publication",
    }[statement]


_CASES = [(verb, left_out) for verb, (_, *headings) in _VERBS.items()
          for left_out in (None, *_statements(*headings))]


def _prepare(administrator, verb, database, outbox):
    """What the verb finds."""
    outbox.insert("order", "order-1")
    if verb == "init" or verb.startswith("poll"):
        return
    made = administrator.verb("init")
    assert made.returncode == 0, made.stdout + made.stderr
    if verb in ("verify", "prune", "replay", "recover", "wait"):
        database.execute("delete from outbox")
        administrator.run()
        outbox.insert("order", "order-2")
        database.wait_confirmed(database.name)
    if verb in ("replay", "recover"):
        assert administrator.stop() == 0
    if verb == "wait":
        put_on_record(database, database.name, born_at=LONG_AGO)
    if verb == "run with retention":
        database.execute("delete from outbox")
        put_on_record(database, database.name, born_at=LONG_AGO)


def _parts(case):
    """In the usual run: each verb that may do all and one that may not, and each
    right that is left out, for some verb."""
    verb, left_out = case
    return {(verb, left_out is None), left_out}


@pytest.mark.parametrize("verb, left_out", covering(_CASES, _parts),
                         ids=lambda value: str(value))
@pytest.mark.sample(4)
def test_a_verb_has_the_rights_that_it_needs_and_no_more(
        walpost, prepared, outbox, kafka, topics, verb, left_out):
    works, *headings = _VERBS[verb]
    administrator = walpost(prepared, kafka, topics,
                            replay={"window": "64MiB"})
    _prepare(administrator, verb, prepared, outbox)
    _grant(prepared, [statement for statement in _statements(*headings)
                      if statement != left_out])

    def make(**sections):
        return walpost(prepared, kafka, topics, postgres=_as_walpost(prepared),
                       **sections)

    done, said = works(make, prepared, outbox)
    assert done == (left_out in (None, *_WARNED_OF)), said
    if left_out is not None:
        assert re.search(_remedy(left_out), said, re.S), said
