"""walpost replay: WAL of the replay window to Kafka once more."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from harness import (Database, KafkaReader, Load, Outbox, Postgres, judge,
                     lsn, wait_until)
from harness.figures import note
from harness.paths import REPOSITORY, walpost_binary


_MIB = 1 << 20


def _text(number):
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def _guard(database):
    return database.name + "_guard"


def _commit_lsn(record):
    return int(record.position.split("-")[1], 16)


def _content(record, prefix=""):
    """All that a consumer sees, but for where it lies and the mark."""
    assert record.topic.startswith(prefix)
    headers = tuple(header for header in record.headers
                    if header[0] != "walpost-replay")
    return (record.topic[len(prefix):], record.partition, record.key,
            record.value, headers, record.timestamp)


def _range(said):
    """The range that a replay says it has replayed."""
    found = re.search(r"(\d+) events .* from (\S+) to (\S+) ", said.stdout)
    assert found, said.stdout + said.stderr
    return int(found[1]), lsn(found[2]), lsn(found[3])


def _live(broker, topics):
    return [record for record in KafkaReader(broker.bootstrap).read_all(topics)
            if not record.is_replayed]


def _selected(broker, topics, begin, end):
    return [record for record in _live(broker, topics)
            if begin <= _commit_lsn(record) < end]


def _replayed(broker, topics, prefix=""):
    return [record for record in
            KafkaReader(broker.bootstrap).read_all(prefix + topics)
            if record.is_replayed]


def _assert_same(replayed, selected, prefix=""):
    """The same records, byte for byte, each once and in order."""
    assert (sorted(map(repr, (_content(record, prefix)
                              for record in replayed)))
            == sorted(map(repr, map(_content, selected))))
    last = {}
    for record in replayed:
        place = record.topic, record.partition
        assert last.get(place, "") < record.position
        last[place] = record.position


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    assert outbox
    return walpost(database, kafka, topics, replay={"window": "64MiB"}).run()


def test_a_range_beside_the_live_flow(relay, database, kafka, outbox, topics):
    with Load(outbox, seed=1, pause=0.002) as load:
        load.wait(300)
        database.wait_confirmed(database.name)
        begin = database.confirmed_lsn(database.name)
        load.wait(300)
        database.wait_confirmed(database.name)
        end = database.confirmed_lsn(database.name)
        guard = database.confirmed_lsn(_guard(database))
        said = relay.verb("replay", "--from-lsn", _text(begin), "--to-lsn",
                          _text(end), "--topic-prefix", "again.")
        assert said.returncode == 0, said.stderr
        assert database.confirmed_lsn(_guard(database)) == guard
        wait_until(lambda: not database.execute(
            "select 1 from pg_replication_slots where temporary "
            "and database = %s", (database.name,)), "its slot to be dropped")
    judge(outbox, kafka, relay)
    selected = _selected(kafka, topics, begin, end)
    replayed = _replayed(kafka, topics, "again.")
    assert len(selected) > 100 and _range(said) == (len(selected), begin, end)
    _assert_same(replayed, selected, "again.")
    assert {record.header("walpost-replay") for record in replayed} == {
        f"{_text(begin)}-{_text(end)}".encode()}


@pytest.mark.long
def test_to_the_original_topics_up_to_now(relay, database, kafka, outbox,
                                          topics):
    with Load(outbox, seed=2, pause=0.002) as load:
        wait_until(lambda: relay.metric("walpost_acknowledged_records_total")
                   > 100, "records to flow")
        begin = database.confirmed_lsn(database.name)
        load.wait(200)
        said = relay.verb("replay", "--from-lsn", _text(begin))
        assert said.returncode == 0, said.stderr
        load.wait(100)
    judge(outbox, kafka, relay)
    count, first, end = _range(said)
    assert first == begin and count > 100
    _assert_same(_replayed(kafka, topics), _selected(kafka, topics, begin, end))


@pytest.mark.long
def test_everything_since_the_first_start(relay, database, kafka, outbox,
                                          topics):
    """The guard slot begins where the live slot began."""
    with Load(outbox, seed=3, pause=0.002) as load:
        load.wait(100)
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--since", "1h", "--topic-prefix", "again.")
    assert said.returncode == 0, said.stderr
    assert "cannot be told" in said.stdout
    live = _live(kafka, topics)
    assert len(live) > 50
    _assert_same(_replayed(kafka, topics, "again."), live, "again.")


@pytest.mark.long
def test_a_dry_run_counts(relay, database, kafka, outbox, topics):
    for number in range(20):
        outbox.insert("order", "key", json.dumps(number))
    database.wait_confirmed(database.name)
    begin = database.confirmed_lsn(_guard(database))
    said = relay.verb("replay", "--from-lsn", _text(begin), "--dry-run")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("20 events would be replayed")
    assert not _replayed(kafka, topics)


@pytest.mark.long
def test_since_a_time(relay, database, kafka, outbox, topics):
    outbox.insert("order", "key", '"before"')
    time.sleep(0.2)
    since = database.value("select now()::text")
    time.sleep(0.2)
    outbox.insert("order", "key", '"after"')
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--since", since)
    assert said.returncode == 0, said.stderr
    assert "cannot be told" not in said.stdout
    assert [record.value for record in _replayed(kafka, topics)] == [
        b'"after"']
    for bad in ("whenever", "2999-01-01"):
        said = relay.verb("replay", "--since", bad)
        assert said.returncode == 2 and bad in said.stderr


def test_from_a_checkpoint(walpost, database, kafka, outbox, topics, directory):
    path = directory / "checkpoint"
    relay = walpost(database, kafka, topics, replay={"window": "64MiB"},
                    checkpoint={"store": "file", "path": str(path),
                                "interval": "20ms"}).run()
    outbox.insert("order", "key", '"before"')
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    kept = directory / "kept"
    shutil.copy(path, kept)
    relay.run()
    outbox.insert("order", "key", '"after"')
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-checkpoint", str(kept))
    assert said.returncode == 0, said.stderr
    assert [record.value for record in _replayed(kafka, topics)] == [
        b'"after"']
    said = relay.verb("replay", "--from-checkpoint", "/nonexistent")
    assert said.returncode == 2 and "/nonexistent" in said.stderr


@pytest.mark.long
def test_the_window_is_bounded_and_what_is_older_is_refused(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, replay={"window": "1MiB"}).run()
    begin = database.confirmed_lsn(_guard(database))
    for _ in range(4):
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload) "
            "select 'order', 'key-' || n % 9, to_jsonb(repeat('x', 500)) "
            "from generate_series(1, 2000) n")
        database.wait_confirmed(database.name)
        time.sleep(0.2)
    outbox.insert("order", "key", '"last"')
    database.wait_confirmed(database.name)

    def distance():
        return (database.confirmed_lsn(database.name)
                - database.confirmed_lsn(_guard(database)))

    wait_until(lambda: distance() < 1.2 * _MIB,
               lambda: f"the guard slot to follow; it is {distance()} behind")
    assert distance() >= _MIB
    wait_until(lambda: relay.metric("walpost_replay_window_bytes")
               < 1.3 * _MIB, "the metric to follow")
    assert "\nreplay     from" in relay.verb("status").stdout
    said = relay.verb("replay", "--from-lsn", _text(begin))
    assert said.returncode == 3
    oldest = database.confirmed_lsn(_guard(database))
    assert f"left to replay from is {_text(oldest)}" in said.stderr
    assert "--from-table" in said.stderr
    said = relay.verb("replay", "--from-lsn", _text(oldest))
    assert said.returncode == 0, said.stderr
    _, first, end = _range(said)
    _assert_same(_replayed(kafka, topics),
                 _selected(kafka, topics, first, end))


@pytest.mark.long
def test_from_the_table_only_counted(relay, database, outbox):
    outbox.insert("order", "key", '"row"')
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-table", "--dry-run", "--order-by",
                      "sequence")
    assert said.returncode == 0
    assert said.stdout.endswith("  to be published\n1 rows would be replayed\n")


@pytest.mark.long
def test_without_a_guard_slot(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "key")
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-lsn", "0/1")
    assert said.returncode == 3 and "replay.window" in said.stderr


@pytest.mark.long
def test_what_makes_no_sense(relay, database, outbox):
    outbox.insert("order", "key")
    database.wait_confirmed(database.name)
    for words, says in (
            ((), "--from-lsn"),
            (("--from-lsn", "nowhere"), "'nowhere'"),
            (("--since", "1h", "--to-lsn", "FFFF/0"), "--to-lsn FFFF/0"),
            (("--since", "1h", "--rate", "many"), "--rate many"),
            (("--since", "1h", "--aggregate", "key"), "--from-table"),
            (("--from-table", "--to-lsn", "0/1"), "--from-table")):
        said = relay.verb("replay", *words)
        assert said.returncode == 2 and says in said.stderr, said.stderr


@pytest.mark.long
def test_after_a_break_it_goes_on(relay, database, kafka, outbox, topics):
    database.execute(
        "do $$ begin for n in 1..1500 loop insert into outbox (aggregate_type,"
        "aggregate_id, payload) values ('order', 'key-' || n % 9, "
        "to_jsonb(n)); commit; end loop; end $$")
    database.wait_confirmed(database.name)
    begin = database.confirmed_lsn(_guard(database))
    replay = subprocess.Popen(
        relay.command("replay", "--from-lsn", _text(begin), "--rate", "300/s",
                      "--topic-prefix", "again."),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    replay.send_signal(signal.SIGTERM)
    output, errors = replay.communicate(timeout=20)
    assert replay.returncode == 1, errors
    first = int(output.split()[0])
    assert 200 < first < 900, output
    command = shlex.split(errors.split("to continue where it stopped, run:\n")[1])
    assert command[0] == "walpost"
    rate = command.index("--rate")
    del command[rate:rate + 2]
    said = subprocess.run([walpost_binary(), *command[1:]],
                          capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    replayed = _replayed(kafka, topics, "again.")
    assert len(replayed) == 1500, "the break was between transactions"
    _assert_same(replayed, _live(kafka, topics), "again.")


def test_after_a_restart_of_the_server(walpost, own_postgres, own_database,
                                       kafka, topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics,
                    replay={"window": "64MiB"}).run()
    begin = own_database.confirmed_lsn(_guard(own_database))
    outbox.insert("order", "key", '"before"')
    own_database.wait_confirmed(own_database.name)
    own_postgres.restart()
    relay.wait_ready()
    outbox.insert("order", "key", '"after"')
    own_database.wait_confirmed(own_database.name)
    said = relay.verb("replay", "--from-lsn", _text(begin))
    assert said.returncode == 0, said.stderr
    assert [record.value for record in _replayed(kafka, topics)] == [
        b'"before"', b'"after"']


@pytest.mark.long
def test_p10_it_does_not_hold_up_a_shutdown_of_the_server(
        walpost, own_postgres, own_database, kafka, topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics,
                    replay={"window": "64MiB"}).run()
    begin = own_database.confirmed_lsn(_guard(own_database))
    for number in range(500):
        outbox.insert("order", "key", json.dumps(number))
    own_database.wait_confirmed(own_database.name)
    replay = subprocess.Popen(
        relay.command("replay", "--from-lsn", _text(begin), "--rate", "20/s"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    began = time.monotonic()
    own_postgres.stop("fast")
    assert time.monotonic() - began < 8
    output, errors = replay.communicate(timeout=20)
    assert replay.returncode == 3, errors
    assert 10 < int(output.split()[0]) < 400, output
    own_postgres.start()
    # The server may have forgotten what was confirmed last.
    own_database.wait_confirmed(own_database.name)
    command = shlex.split(errors.split("to continue where it stopped, run:\n")[1]
                          .split("\n")[0].replace("20/s", "2000/s"))
    said = subprocess.run([walpost_binary(), *command[1:]],
                          capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    assert [record.value for record in _replayed(kafka, topics)] == [
        str(number).encode() for number in range(500)]


@pytest.mark.long
def test_a_guard_slot_that_is_gone_is_made_anew(relay, database, outbox):
    outbox.insert("order", "key")
    database.wait_confirmed(database.name)
    database.execute("select pg_drop_replication_slot(%s)",
                     (_guard(database),))
    wait_until(lambda: database.confirmed_lsn(_guard(database)) is not None,
               "another guard slot")
    wait_until(lambda: relay.log().count("made guard slot") == 2,
               "the log to say so")


@pytest.mark.long
def test_a_guard_slot_that_is_lost_is_named(walpost, own_postgres,
                                            own_database, kafka, topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics,
                    replay={"window": "1GiB"}).run()
    for _ in range(5):
        own_database.execute("select pg_switch_wal()")
        own_database.execute("create table t(n int); drop table t")

    def keeps_little():
        own_database.execute("checkpoint")
        return own_database.value(
            "select pg_current_wal_lsn() - restart_lsn < 1e6 "
            "from pg_replication_slots where slot_name = %s",
            (own_database.name,))

    wait_until(keeps_little, "the live slot to keep little WAL", pause=0.5)
    assert relay.stop() == 0
    own_postgres.configure(max_slot_wal_keep_size="16MB")
    own_postgres.restart()

    def is_lost():
        own_database.execute("checkpoint")
        return own_database.value(
            "select wal_status = 'lost' from pg_replication_slots "
            "where slot_name = %s", (_guard(own_database),))

    wait_until(is_lost, "the guard slot to be lost", pause=0.5)
    said = relay.verb("replay", "--from-lsn", "0/1000000")
    assert said.returncode == 3 and "lost" in said.stderr
    relay.run()
    relay.wait_log("guard slot .* is lost")
    outbox.insert("order", "key")
    own_database.wait_confirmed(own_database.name)
    said = relay.verb("replay", "--since", "1h", "--dry-run")
    assert said.returncode == 0 and said.stdout.startswith("1 events")


@pytest.mark.long
def test_a_guard_slot_that_is_left_over_is_named(relay, walpost, database,
                                                 kafka, topics):
    assert relay.stop() == 0
    other = walpost(database, kafka, topics).run()
    other.wait_log(rf"SELECT pg_drop_replication_slot\('{_guard(database)}'\)")


@pytest.mark.long
def test_a_failover_slot_has_a_guard_slot_that_fails_over(
        walpost, directory, kafka, topics):
    fetched = subprocess.run([REPOSITORY / "scripts" / "fetch-postgres", "17"],
                             stdout=subprocess.PIPE, check=True, text=True)
    server = Postgres(directory / "postgres", fetched.stdout.strip()).start()
    try:
        database = Database(server)
        outbox = Outbox(database, topics)
        relay = walpost(database, kafka, topics, replay={"window": "64MiB"},
                        postgres={"failover": True}).run()
        outbox.insert("order", "key")
        database.wait_confirmed(database.name)
        assert database.value(
            "select bool_and(failover) and count(*) = 2 "
            "from pg_replication_slots")
        said = relay.verb("replay", "--since", "1h")
        assert said.returncode == 0, said.stderr
        assert len(_replayed(kafka, topics)) == 1
        relay.close()
    finally:
        server.close()


@pytest.mark.long
def test_p6_a_big_window_needs_little_memory(walpost, database, kafka, outbox,
                                             topics):
    relay = walpost(database, kafka, topics, replay={"window": "1GiB"}).run()
    begin = database.confirmed_lsn(_guard(database))
    database.execute("alter table outbox disable trigger remember")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 1000, to_jsonb(repeat('x', 250)), n "
        "from generate_series(1, 300000) n")
    database.wait_confirmed(database.name, seconds=120)
    began = time.monotonic()
    measured = subprocess.run(
        ["/usr/bin/python3", "-c",
         "import resource, subprocess, sys\n"
         "code = subprocess.run(sys.argv[1:]).returncode\n"
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
         "sys.exit(code)",
         *relay.command("replay", "--from-lsn", _text(begin),
                        "--topic-prefix", "again.")],
        capture_output=True, text=True, timeout=300)
    seconds = time.monotonic() - began
    assert measured.returncode == 0, measured.stdout + measured.stderr
    assert measured.stdout.startswith("300000 events replayed")
    peak = int(measured.stdout.split()[-1])
    note(f"300000 records replayed in {seconds:.1f} s, {peak / 1024:.0f} MiB")
    assert peak < 64 * 1024, "KiB"
    reader = KafkaReader(kafka.bootstrap)
    assert reader.size(f"again.{topics}order") == 300000


@pytest.mark.long
def test_a_replay_whose_walsender_freezes_ends_and_says_so(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, replay={"window": "64MiB"},
                    postgres={"wal_sender_timeout": "4s"}).run()
    begin = database.confirmed_lsn(_guard(database))
    database.execute("alter table outbox disable trigger remember")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', n::text, to_jsonb(repeat(md5(n::text), 300)), n "
        "from generate_series(1, 3000) n")
    database.wait_confirmed(database.name)
    replay = relay.spawn("replay", "--from-lsn", _text(begin), "--rate",
                         "500/s", "--topic-prefix", "again.")
    pid = wait_until(lambda: database.execute(
        "select pid from pg_stat_replication "
        "where application_name = 'walpost:replay' "
        "and state in ('streaming', 'catchup')"), "its walsender")[0][0]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert replay.wait(60) != 0
        assert "walsender of walpost:replay frozen" in replay.log()
    finally:
        os.kill(pid, signal.SIGCONT)
        replay.end(signal.SIGKILL)
