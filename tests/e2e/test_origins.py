"""postgres.origin: what was replicated to the server is another node's to send.

Cases 20 and 16 of the field: active-active pairs, migrations, and rows that
are moved between partitions.
"""

import contextlib
import json
import shlex
import time

import psycopg2
import pytest

from harness import KafkaReader, Outbox, Postgres, wait_until
from harness.pages import blocks
from harness.remedies import commands, statements

_NONE = {"postgres": {"origin": "none"}}
_ORDERED = {"tables": [{"name": "public.outbox", "order_by": "sequence"}]}


@contextlib.contextmanager
def _session(database, origin):
    """A cursor whose transactions have the origin."""
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(
                "select pg_replication_origin_create(%s) where not exists "
                "(select from pg_replication_origin where roname = %s)",
                (origin, origin))
            cursor.execute("select pg_replication_origin_session_setup(%s)",
                           (origin,))
            yield cursor


def _drop(database, origin):
    """Its session may need a moment to end."""
    def dropped():
        try:
            database.execute("select pg_replication_origin_drop(%s)", (origin,))
        except psycopg2.errors.ObjectInUse:
            return False
        return True

    wait_until(dropped, "the origin to be free", pause=0.1)


@pytest.fixture
def peer(database):
    """A session that writes what another node has committed."""
    origin = "peer_" + database.name
    with _session(database, origin) as cursor:
        yield cursor
    _drop(database, origin)


@pytest.fixture
def forgetful(directory):
    """A server that keeps no origins of rows."""
    server = Postgres(directory / "forgetful",
                      settings={"track_commit_timestamp": "off"}).start()
    yield server
    server.close()


def _ids(kafka, topics):
    return sorted(record.id for record
                  in KafkaReader(kafka.bootstrap).read_all(topics))


def _status(relay):
    return json.loads(relay.get("/status")[1])


def _verify(relay, code):
    said = relay.verb("verify", "--json")
    assert said.stdout, said.stderr
    report = json.loads(said.stdout)
    found = {kind: findings["count"] for kind, findings
             in report["findings"].items() if findings["count"]}
    assert said.returncode == code, (found, report["notes"])
    return found, "\n".join(report["notes"])


def _lose(database, relay):
    """What the slot has is lost, and nobody notices (there is no checkpoint)."""
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (relay.slot,))
    relay.run()
    database.wait_confirmed(relay.slot)


# ---- The stream.

def test_only_own_transactions_are_published(walpost, database, kafka, outbox,
                                             topics, peer):
    relay = walpost(database, kafka, topics,
                    outbox={"tables": [{"name": "public.outbox"}],
                            "messages": {"prefix": "outbox"}}, **_NONE).run()
    event = json.dumps({"id": "own-message", "aggregate_type": "order",
                        "aggregate_id": "1", "payload": {}})
    emit = "select pg_logical_emit_message(%s, 'outbox', %s)"
    own = outbox.insert("order", "own")
    for number in range(3):
        outbox.insert("order", f"copy-{number}", cursor=peer)
    peer.execute(emit, (True, event.replace("own", "copied")))
    peer.execute(emit, (False, event.replace("own", "copied")))
    # Nobody could deliver it.
    peer.execute(emit, (True, "{"))
    with database.transaction() as cursor:
        cursor.execute(emit, (True, event))
        second = outbox.insert("order", "own", cursor=cursor)
    database.wait_confirmed(relay.slot)
    relay.wait_ready()
    records = KafkaReader(kafka.bootstrap).read_all(topics)
    assert sorted(record.id for record in records) == sorted(
        [own, "own-message", second])
    ordinal = {record.id: int(record.position.rpartition("-")[2], 16)
               for record in records}
    assert ordinal == {own: 1, "own-message": 1, second: 2}
    status = _status(relay)
    assert status["replicated_events"] == 5
    assert status["replicated_transactions"] == 5
    assert status["events"] == 3
    assert relay.metric("walpost_replicated_events_total") == 5
    assert relay.metric("walpost_replicated_transactions_total") == 5
    relay.wait_log(r"\d events of \d transactions were not published")
    assert relay.log().count("were not published") == 1
    # The message has no row.
    assert _verify(relay, 0)[0] == {"other_origin": 3, "not_in_table": 1}


@pytest.mark.long
def test_by_default_all_are_published(walpost, database, kafka, outbox, topics,
                                      peer):
    relay = walpost(database, kafka, topics).run()
    ids = {outbox.insert("order", "own"),
           outbox.insert("order", "copy", cursor=peer)}
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics) == sorted(ids)
    assert _status(relay)["replicated_events"] == 0


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.long
def test_a_large_transaction_and_a_restart_in_it(walpost, database, kafka,
                                                 outbox, topics, peer,
                                                 guarantee):
    """It is skipped as a whole, whatever was done before the restart."""
    sections = {**_NONE, "delivery": {"guarantee": guarantee}}
    if guarantee == "exactly_once":
        sections["checkpoint"] = {"topic": topics + "checkpoint"}
    relay = walpost(database, kafka, topics, **sections).run()
    rows = 30_000
    peer.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', n::text, to_jsonb(repeat('x', 300)) from "
        "generate_series(1, %s) n", (rows,))
    wait_until(lambda: relay.metric("walpost_replicated_events_total") > 0,
               "the first of them", pause=0.01)
    relay.kill()
    own = outbox.insert("order", "own")
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics + "order") == [own]
    skipped = relay.metric("walpost_replicated_events_total")
    transactions = relay.metric("walpost_replicated_transactions_total")
    # The server may have stored the confirmation of the first run.
    assert (skipped, transactions) in ((rows, 1), (0, 0))
    assert relay.peak_memory_bytes() < 200 << 20


@pytest.mark.long
def test_a_changed_setting_holds_from_the_confirmed_place_on(
        walpost, database, kafka, outbox, topics, peer):
    relay = walpost(database, kafka, topics).run()
    config = relay.config
    any_one = outbox.insert("order", "copy", cursor=peer)
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    relay.configure({**config, "postgres": {**config["postgres"],
                                            "origin": "none"}})
    relay.run()
    outbox.insert("order", "skipped", cursor=peer)
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    # While nobody reads.
    later = outbox.insert("order", "later", cursor=peer)
    relay.configure(config)
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics) == sorted([any_one, later])


@pytest.mark.long
def test_an_origin_that_was_dropped_meanwhile(walpost, database, kafka, outbox,
                                              topics):
    relay = walpost(database, kafka, topics, **_NONE).run()
    assert relay.stop() == 0
    origin = "gone_" + database.name
    with _session(database, origin) as cursor:
        outbox.insert("order", "copy", cursor=cursor)
    _drop(database, origin)
    own = outbox.insert("order", "own")
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics) == [own]


@pytest.mark.long
def test_other_readers_of_the_wal(walpost, database, kafka, outbox, topics,
                                  peer):
    relay = walpost(database, kafka, topics, replay={"window": "16MiB"},
                    **_NONE).run()
    tail = relay.spawn("tail", "--count", "2")
    wait_until(lambda: database.execute(
        "select 1 from pg_replication_slots where temporary and "
        "confirmed_flush_lsn is not null and database = %s", (database.name,)),
        "the temporary slot of tail")
    begin = database.value("select pg_current_wal_lsn()::text")
    ids = []
    for number in range(2):
        ids.append(outbox.insert("order", f"own-{number}"))
        outbox.insert("order", f"copy-{number}", cursor=peer)
    assert tail.wait(20) == 0
    printed = [json.loads(line)["id"]
               for line in tail.stdout.read().splitlines()]
    assert printed == ids
    database.wait_confirmed(relay.slot)
    said = relay.verb("replay", "--from-lsn", begin, "--topic-prefix", "again.")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("2 events replayed")
    assert "left out: 2 that were replicated" in said.stdout
    assert _ids(kafka, "again." + topics) == sorted(ids)


@pytest.mark.long
def test_two_nodes_that_replicate_to_each_other(walpost, own_postgres, kafka,
                                                directory, topics):
    """A subscription's origin is one, also that of its first copy."""
    other = Postgres(directory / "other").start()
    with contextlib.closing(other):
        here, there = own_postgres.create_database(), other.create_database()
        boxes = [Outbox(node, topics) for node in (here, there)]
        nodes = [walpost(node, kafka, topics, **_NONE).run()
                 for node in (here, there)]
        early = boxes[0].insert("order", "early")
        here.execute("create publication pair for table outbox with (publish = "
                     "'insert')")
        there.execute(f"create subscription pair connection "
                      f"'{here.conninfo()}' publication pair")
        count = "select count(*) from outbox"
        wait_until(lambda: there.value(count) == 1, "the first copy")
        late = boxes[0].insert("order", "late")
        own = boxes[1].insert("order", "own")
        wait_until(lambda: there.value(count) == 3, "the copy")
        for node, relay in zip((here, there), nodes):
            node.wait_confirmed(relay.slot)
        assert _ids(kafka, topics) == sorted([early, late, own])
        assert _status(nodes[1])["replicated_events"] == 2
        for relay in nodes:
            found, _ = _verify(relay, 0)
            assert set(found) <= {"not_in_table"}
        there.execute("drop subscription pair")


# ---- Readers of the table.

@pytest.mark.long
def test_verify_without_the_origins_of_rows(walpost, forgetful, kafka, topics):
    database = forgetful.create_database()
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, **_NONE).run()
    outbox.insert("order", "own")
    with _session(database, "peer") as peer:
        outbox.insert("order", "copy", cursor=peer)
    database.wait_confirmed(relay.slot)
    found, notes = _verify(relay, 1)
    assert found == {"missing": 1}
    assert "1 rows without a record may have been replicated" in notes
    checked = relay.verb("check")
    assert "verify reports them as missing" in checked.stdout + checked.stderr
    # The remedy, and rows that are written after it.
    assert relay.stop() == 0
    database.execute("delete from outbox")
    alter, = statements(notes)
    assert [alter] == [block.text.strip() for block in blocks()
                       if block.page == "docs/origins.md"
                       and block.text.startswith("ALTER SYSTEM")]
    database.execute(alter)
    forgetful.configure(track_commit_timestamp="on")
    forgetful.stop()
    forgetful.start()
    relay.run()
    with _session(database, "peer") as peer:
        outbox.insert("order", "copy", cursor=peer)
    database.wait_confirmed(relay.slot)
    found, notes = _verify(relay, 0)
    found.pop("duplicates", None)  # the server was restarted
    assert found == {"other_origin": 1, "not_in_table": 1} and not notes


@pytest.mark.long
def test_an_update_hides_the_origin(walpost, database, kafka, outbox, topics,
                                    peer):
    """A row of this server that a peer has updated was not replicated."""
    relay = walpost(database, kafka, topics, **_NONE).run()
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    lost = outbox.insert("order", "own")
    peer.execute("update outbox set payload = '{\"seen\": 1}' where id = %s",
                 (lost,))
    wait_until(lambda: database.value(
        "select n_tup_upd from pg_stat_user_tables where relname = 'outbox'"),
        "the statistics", pause=0.2)
    _lose(database, relay)
    found, notes = _verify(relay, 1)
    assert found["missing"] == 1 and "other_origin" not in found
    assert "1 rows without a record may have been replicated" in notes


@pytest.mark.long
def test_the_snapshot_publishes_own_rows(walpost, database, kafka, outbox,
                                         topics, peer):
    own = outbox.insert("order", "own")
    outbox.insert("order", "copy", cursor=peer)
    relay = walpost(database, kafka, topics, snapshot="initial",
                    outbox=_ORDERED, **_NONE)
    assert "[error]" not in relay.verb("check").stdout
    relay.run()
    relay.wait_log("1 of these rows are left out, because they were replicated")
    later = outbox.insert("order", "own")
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics) == sorted([own, later])
    assert _verify(relay, 0)[0]["other_origin"] == 1


@pytest.mark.long
def test_the_snapshot_does_not_guess(walpost, forgetful, kafka, topics):
    database = forgetful.create_database()
    outbox = Outbox(database, topics)
    ids = [outbox.insert("order", "own")]
    with _session(database, "peer") as peer:
        ids.append(outbox.insert("order", "copy", cursor=peer))
    relay = walpost(database, kafka, topics, snapshot="initial",
                    outbox=_ORDERED, **_NONE)
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert "the origin of some is not known" in checked.stdout + checked.stderr
    relay.start()
    relay.wait_log("the origin of some is not known")
    time.sleep(1)
    assert not _ids(kafka, topics)
    relay.close()
    # The remedy.
    relay.start("--set", "postgres.origin=any")
    relay.wait_ready()
    database.wait_confirmed(relay.slot)
    assert _ids(kafka, topics) == sorted(ids)
    assert relay.stop() == 0
    assert "origin of some" not in relay.verb("check").stdout


def test_replay_and_recover_publish_own_rows(walpost, database, kafka, outbox,
                                             topics, peer):
    relay = walpost(database, kafka, topics, outbox=_ORDERED, **_NONE).run()
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    lost = outbox.insert("order", "own", sequence=1)
    copy = outbox.insert("order", "42", sequence=2, cursor=peer)
    said = relay.verb("replay", "--from-table", "--topic-prefix", "again.")
    assert said.returncode == 0, said.stderr
    assert _ids(kafka, "again." + topics) == [lost]
    assert "left out: 1 that were replicated" in said.stdout
    preview = relay.verb("recover", "--dry-run")
    assert preview.returncode == 0, preview.stderr
    assert f"{lost}  to be published" in preview.stdout
    assert f"{copy}  other_origin" in preview.stdout
    said = relay.verb("recover")
    assert said.returncode == 0, said.stderr
    assert _ids(kafka, topics) == [lost]
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _verify(relay, 0)[0]["other_origin"] == 1
    # Any row, if somebody says so.
    (_, verb, _, _, *words), = (
        shlex.split(line) for line in _block("walpost replay").splitlines())
    said = relay.verb(verb, *words)
    assert said.returncode == 0, said.stderr
    assert _ids(kafka, topics) == sorted([lost, copy])


@pytest.mark.long
def test_replay_and_recover_do_not_guess(walpost, forgetful, kafka, topics):
    database = forgetful.create_database()
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, outbox=_ORDERED, **_NONE).run()
    sent = outbox.insert("order", "own", sequence=1)
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    outbox.insert("order", "own", sequence=2)
    for words in (("recover",), ("replay", "--from-table", "--missing")):
        said = relay.verb(*words)
        assert said.returncode == 3, said
        assert "the origin of this one is not known" in said.stderr
        assert _ids(kafka, topics) == [sent]
    # The remedy.
    replay, = commands(said.stderr)
    assert replay[:1] == ["replay"]
    assert relay.verb("recover", "--set", "postgres.origin=any").returncode == 0
    assert len(_ids(kafka, topics)) == 2
    # What Kafka has is not asked for its origin.
    said = relay.verb("replay", "--from-table", "--missing")
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("tracks", ["on", "off"])
@pytest.mark.long
def test_p11_prune_deletes_what_is_known(walpost, directory, kafka, topics,
                                         tracks):
    server = Postgres(directory / "server",
                      settings={"track_commit_timestamp": tracks}).start()
    with contextlib.closing(server):
        database = server.create_database()
        outbox = Outbox(database, topics)
        database.execute("alter table outbox add created_at timestamptz not "
                         "null default now(); create index on outbox "
                         "(created_at)")
        relay = walpost(database, kafka, topics, **_NONE).run()
        time.sleep(1.1)  # rows of the second of its birth stay
        outbox.insert("order", "own")
        with _session(database, "peer") as peer:
            outbox.insert("order", "copy", cursor=peer)
        with _session(database, "walpost_move") as mover:
            outbox.insert("order", "moved", cursor=mover)
        database.wait_confirmed(relay.slot)
        time.sleep(1.1)
        said = relay.verb("prune", "--older-than", "1s")
        left = {row[0] for row in database.execute(
            "select aggregate_id from outbox")}
        assert said.returncode == 0, said.stderr
        assert left == ({"moved"} if tracks == "on"
                        else {"own", "copy", "moved"})
        assert "rows whose origin is not known" in said.stdout + said.stderr


# ---- Moves between partitions.

_PARTITIONED = """
create table outbox (id bigint generated always as identity, created_at
  timestamptz not null default now(), aggregate_type text not null default
  'order', aggregate_id text not null, payload text default '{}', primary key
  (id, created_at)) partition by range (created_at);
create table outbox_default partition of outbox default;
create publication walpost for table outbox with (publish = 'insert',
  publish_via_partition_root = true);
"""
_ROWS = ("insert into outbox (aggregate_id, created_at) select n::text, "
         "'2026-06-01' from generate_series(1, 200) n")


def _block(beginning):
    block, = (block.text for block in blocks()
              if block.page == "docs/origins.md"
              and block.text.startswith(beginning))
    return block


@pytest.mark.parametrize("origin", ["none", "any"])
@pytest.mark.long
def test_rows_that_move_under_an_origin_are_not_sent_again(
        walpost, own_postgres, kafka, topics, origin):
    """Case 16, as the role that the documentation names."""
    database = own_postgres.create_database()
    database.execute("create role mover login")
    database.execute(_block("select pg_replication_origin_create"))
    database.execute(_PARTITIONED)
    database.execute("alter table outbox owner to mover; alter table "
                     "outbox_default owner to mover; grant create on schema "
                     "public to mover")
    relay = walpost(database, kafka, topics, postgres={"origin": origin}).run()
    database.execute(_ROWS)
    database.wait_confirmed(relay.slot)
    with contextlib.closing(own_postgres.connect(database.name, "mover")) as (
            session), session.cursor() as cursor:
        session.autocommit = True
        for statement in _block(
                "select pg_replication_origin_session_setup").split(";"):
            if statement.strip():
                cursor.execute(statement)
    assert database.value("select count(*) from outbox_2026") == 200
    database.execute(_ROWS)
    database.wait_confirmed(relay.slot)
    relay.wait_ready()
    ids = _ids(kafka, topics)
    assert len(set(ids)) == 400
    if origin == "none":
        assert len(ids) == 400
        assert _verify(relay, 0)[0] == {}
    else:
        assert len(ids) == 600
        assert _verify(relay, 0)[0] == {"duplicates": 200}


@pytest.mark.long
def test_a_moved_row_that_was_lost_is_missing(walpost, database, kafka, outbox,
                                              topics):
    """Its origin does not excuse it: it was written here."""
    relay = walpost(database, kafka, topics, **_NONE).run()
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    outbox.insert("order", "own")
    with _session(database, "walpost_" + database.name) as mover:
        mover.execute("begin")
        mover.execute("create temporary table moved as select * from outbox")
        mover.execute("delete from outbox")
        mover.execute("insert into outbox select * from moved")
        mover.execute("commit")
    _lose(database, relay)
    found, notes = _verify(relay, 1)
    assert found["missing"] == 1 and "other_origin" not in found
    assert "may have been replicated" in notes
    _drop(database, "walpost_" + database.name)
