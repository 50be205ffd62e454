"""walpost verify: finds each kind of fault that is planted, and nothing else."""

import json
import signal
import subprocess

import pytest

from harness import Load, wait_until
from harness.request_proxy import LIST_OFFSETS


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """A relay that has published some rows, and is stopped."""
    made = walpost(database, kafka, topics).run()
    for number in range(20):
        outbox.insert("order", f"key-{number % 3}", json.dumps(number),
                      sequence=number)
    database.wait_confirmed(database.name)
    return made


def _report(relay, *words, expect=None):
    said = relay.verb("verify", "--json", *words)
    assert said.stdout, said.stderr
    report = json.loads(said.stdout)
    if expect is not None:
        assert said.returncode == expect, said.stdout
    return report


def _counts(report):
    return {kind: found["count"] for kind, found in report["findings"].items()
            if found["count"]}


def _produce(kafka, topic, value, key="key-0", **headers):
    words = [word for name, text in headers.items()
             for word in ("-H", f"{name.replace('_', '-')}={text}")]
    subprocess.run(
        ["kcat", "-P", "-b", kafka.bootstrap, "-t", topic, "-k", key, *words,
         "-X", "partitioner=murmur2_random"],
        input=value.encode(), check=True)


def _row(database, number):
    return database.execute(
        "select id::text, aggregate_id, payload::text from outbox "
        "where sequence = %s", (number,))[0]


def _later(number):
    """A position behind all that the relay has given."""
    return f"00000001-7FFFFFFF00000000-{number:016X}"


def test_a_broker_that_goes_while_it_is_asked(walpost, database, way, outbox,
                                              topics):
    """Then it is not known what the topics have, and nothing is missing."""
    _, proxy = way
    relay = walpost(database, proxy, topics).run()
    outbox.insert("order", "key")
    database.wait_confirmed(relay.slot)
    held = proxy.arm(LIST_OFFSETS)
    said = relay.verb("verify", "--json")
    assert held.is_kept()
    assert said.returncode not in (0, 1) and not said.stdout, said
    assert f"asking where {topics}order[" in said.stderr
    assert relay.verb("verify").returncode == 0


def test_a_relay_that_works_is_clean(relay, database):
    report = _report(relay, "--sequence", "sequence", expect=0)
    assert report["clean"] and report["expected"] == report["records"] == 20
    assert report["order_judged_by"] == "column sequence"
    assert _counts(report) == {}
    report = _report(relay, expect=0)
    assert report["order_judged_by"] == "header walpost-position"
    text = relay.verb("verify")
    assert text.returncode == 0 and text.stdout.endswith("clean\n")


def test_missing(relay, database, outbox):
    assert relay.stop() == 0
    lost = outbox.insert("order", "key-1", sequence=100)
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (database.name,))
    report = _report(relay, expect=1)
    assert _counts(report) == {"missing": 1}
    assert lost in report["findings"]["missing"]["examples"][0]


@pytest.mark.long
def test_rows_on_their_way_are_set_apart(relay, outbox):
    assert relay.stop() == 0
    outbox.insert("order", "key-1", sequence=100)
    report = _report(relay, "--wait", "1", expect=1)
    assert _counts(report) == {"unconfirmed": 1}
    assert relay.verb("verify", "--wait", "0").stdout.endswith("NOT clean\n")
    assert not report["caught_up"]


def test_altered(relay, database, kafka, topics):
    identity, key, _ = _row(database, 7)
    _produce(kafka, topics + "order", "tampered", key, id=identity,
             walpost_position=_later(1))
    report = _report(relay, expect=1)
    assert _counts(report) == {"altered": 1, "duplicates": 1}


@pytest.mark.long
def test_wrong_topic(relay, database, kafka, topics):
    identity, key, payload = _row(database, 7)
    _produce(kafka, topics + "invoice", payload, key, id=identity,
             walpost_position=_later(1))
    report = _report(relay, expect=1)
    assert _counts(report) == {"wrong_topic": 1, "duplicates": 1}


@pytest.mark.long
def test_wrong_key(relay, database, kafka, topics):
    identity, _, payload = _row(database, 7)
    _produce(kafka, topics + "order", payload, "stranger", id=identity,
             walpost_position=_later(1))
    report = _report(relay, expect=1)
    assert _counts(report) == {"wrong_key": 1, "duplicates": 1}


def test_duplicates_are_counted_and_may_be_errors(relay, database, kafka,
                                                  topics):
    identity, key, payload = _row(database, 7)
    _produce(kafka, topics + "order", payload, key, id=identity,
             walpost_position=_later(1))
    assert _counts(_report(relay, expect=0)) == {"duplicates": 1}
    _report(relay, "--fail-on-duplicates", expect=1)


@pytest.mark.long
def test_replayed_records_are_set_apart(relay, database, kafka, topics):
    identity, key, payload = _row(database, 7)
    _produce(kafka, topics + "order", payload, key, id=identity,
             walpost_position=_later(1), walpost_replay="1")
    assert _counts(_report(relay, "--fail-on-duplicates", expect=0)) == {
        "replayed": 1}


@pytest.mark.long
def test_records_without_a_row(relay, database, kafka, topics):
    _produce(kafka, topics + "order", "{}", id="nobody",
             walpost_position=_later(1))
    _produce(kafka, topics + "order", "{}")
    report = _report(relay, expect=1)
    assert _counts(report) == {"not_in_table": 1, "without_id": 1}
    _report(relay, "--fail-on-unknown", expect=1)


@pytest.mark.long
def test_pruned_rows_are_no_fault(relay, database):
    database.execute("delete from outbox where sequence < 5")
    assert _counts(_report(relay, expect=0)) == {"not_in_table": 5}


def test_disorder(relay, database, kafka, outbox, topics):
    assert relay.stop() == 0
    first, second = (outbox.insert("order", "key-9", sequence=number)
                     for number in (1000, 1001))
    database.execute("select pg_replication_slot_advance(%s, "
                     "pg_current_wal_lsn())", (database.name,))
    for identity, place in ((second, 2), (first, 1)):
        _produce(kafka, topics + "order", "{}", "key-9", id=identity,
                 walpost_position=_later(place))
    for words in ((), ("--sequence", "sequence")):
        report = _report(relay, *words, expect=1)
        assert _counts(report) == {"disorder": 1}
        assert first in report["findings"]["disorder"]["examples"][0]


@pytest.mark.long
def test_a_key_in_two_partitions(relay, database, kafka, topics):
    identity, key, payload = _row(database, 7)
    for partition in range(4):
        subprocess.run(
            ["kcat", "-P", "-b", kafka.bootstrap, "-t", topics + "order", "-k",
             key, "-p", str(partition), "-H", f"id={identity}", "-H",
             f"walpost-position={_later(1)}"],
            input=payload.encode(), check=True)
    report = _report(relay, expect=1)
    assert _counts(report) == {"split_key": 1, "duplicates": 4}


@pytest.mark.long
def test_a_list_of_ids_instead_of_the_table(relay, database, directory):
    ids = [row[0] for row in database.execute("select id::text from outbox")]
    path = directory / "ids"
    path.write_text("\n".join(ids + ["never-was"]) + "\n")
    report = _report(relay, "--ids", str(path), expect=1)
    assert _counts(report) == {"missing": 1}
    path.write_text("\n".join(ids[1:]) + "\n")
    report = _report(relay, "--ids", str(path), expect=1)
    assert _counts(report) == {"not_in_table": 1}


@pytest.mark.long
def test_protobuf_values(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics,
                    value={"format": "protobuf"}).run()
    outbox.insert("order", "key-1", '{"a": 1}')
    database.wait_confirmed(database.name)
    assert _counts(_report(relay, expect=0)) == {}


def test_while_it_runs(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, seed=5, pause=0.002) as load:
        load.wait(300)
        report = _report(relay, "--sequence", "sequence", expect=0)
    assert report["expected"] > 100
    # The load deletes some of what it inserts.
    assert set(_counts(report)) <= {"not_in_table", "newer"}


@pytest.mark.long
def test_p6_many_rows_need_little_memory(
        walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    database.execute("alter table outbox disable trigger remember")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        "select 'order', 'key-' || n % 1000, to_jsonb(repeat('x', 200)), n "
        "from generate_series(1, 200000) n")
    database.wait_confirmed(database.name, seconds=120)
    measured = subprocess.run(
        ["/usr/bin/python3", "-c",
         "import resource, subprocess, sys\n"
         "code = subprocess.run(sys.argv[1:]).returncode\n"
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
         "sys.exit(code)", *relay.command("verify", "--sequence", "sequence")],
        capture_output=True, text=True, timeout=300)
    assert measured.returncode == 0, measured.stdout + measured.stderr
    assert int(measured.stdout.split()[-1]) < 150_000, "KiB"


@pytest.mark.long
def test_what_does_not_fit_is_refused(relay, database):
    said = relay.verb("verify", "--sequence", "nowhere")
    assert said.returncode == 2 and "'nowhere'" in said.stderr
    said = relay.verb("verify", "--table", "elsewhere")
    assert said.returncode == 2 and "elsewhere" in said.stderr
    said = relay.verb("verify", "--ids", "/nonexistent")
    assert said.returncode == 2 and "/nonexistent" in said.stderr


@pytest.mark.long
def test_without_the_slot_nothing_is_on_its_way(relay, database, outbox):
    assert relay.stop() == 0
    lost = outbox.insert("order", "key-1", sequence=100)
    database.wait_slot_inactive(database.name)
    database.execute("select pg_drop_replication_slot(%s)", (database.name,))
    report = _report(relay, expect=1)
    assert _counts(report) == {"missing": 1, "undecided": 1}
    assert lost in report["findings"]["missing"]["examples"][0]
    assert "slot_missing" in report["findings"]["undecided"]["examples"][0]
    assert "slot does not exist" in relay.verb("verify").stdout


# ---- Clean is said of what was looked at, and of nothing else.

# What is known of a table without a row: what has happened, the exit code, and
# words of the report. A word of _STEPS is a step.
_EMPTY = [
    ("init", 0, "its topics have no record"),
    ("run", 0, "its topics have no record"),
    ("run stop", 0, "its topics have no record"),
    ("init pending", 1, "1 events are pending"),
    ("run stop pending", 1, "1 events are pending"),
    ("run stop pending run", 0, "were not compared"),
    ("run sent", 0, "were not compared"),
    ("run sent stop", 0, "were not compared"),
    ("run sent stop unpublished", 0, "were not compared"),
    ("run sent stop pending", 1, "1 events are pending"),
    ("run sent stop foreign pending", 1, "may be pending"),
    ("run stop drop", 1, "slot_missing"),
    ("run sent stop drop", 1, "slot_missing"),
    ("run sent stop drop uncomment", 1, "without the slot"),
    ("no slot", 0, "its topics have no record"),
]


def _insert_and_delete(database, **_):
    database.execute("insert into outbox (aggregate_type, aggregate_id, "
                     "payload) values ('order', 'key', '{}')")
    database.execute("delete from outbox")


def _sent(relay, database, outbox):
    for number in range(5):
        outbox.insert("order", "key", sequence=number)
    database.wait_confirmed(relay.slot)
    database.execute("delete from outbox")
    database.wait_confirmed(relay.slot)


def _foreign(relay, database, **_):
    """Another program has the slot, and confirms nothing."""
    relay.config["foreign"] = subprocess.Popen(
        ["pg_recvlogical", "-d", database.conninfo(), "--slot", relay.slot,
         "--start", "-f", "/dev/null", "--no-loop", "-o", "proto_version=1",
         "-o", "publication_names=walpost"])
    wait_until(lambda: database.value(
        "select active from pg_replication_slots where slot_name = %s",
        (relay.slot,)), "the slot to be in use")
    relay.config["foreign"].send_signal(signal.SIGSTOP)


_STEPS = {
    "init": lambda relay, **_: relay.verb("init").check_returncode(),
    "run": lambda relay, database, **_: (
        relay.run(), database.wait_confirmed(relay.slot)),
    "stop": lambda relay, **_: relay.stop(),
    "pending": _insert_and_delete,
    "sent": _sent,
    "unpublished": lambda database, **_: database.execute(
        "create table other (); create table another ()"),
    "foreign": _foreign,
    "drop": lambda relay, database, **_: (
        database.wait_slot_inactive(relay.slot),
        database.execute("select pg_drop_replication_slot(%s)",
                         (relay.slot,))),
    "uncomment": lambda database, **_: database.execute(
        "comment on publication walpost is null"),
    "no": lambda **_: None,
    "slot": lambda **_: None,
}


@pytest.mark.parametrize("steps, code, says", _EMPTY,
                         ids=[row[0].replace(" ", "-") for row in _EMPTY])
@pytest.mark.long
def test_an_empty_table(walpost, database, kafka, outbox, topics, steps, code,
                        says):
    # Other tests may have letters in the usual topic.
    relay = walpost(database, kafka, topics,
                    dead_letter={"topic": topics + "dead"})
    try:
        for step in steps.split():
            _STEPS[step](relay=relay, database=database, outbox=outbox)
        # One that runs may be behind the WAL of other tests for a moment.
        is_running = steps.split()[-1] in ("run", "sent")
        words = () if is_running else ("--wait", "0")
        said = relay.verb("verify", *words)
        assert (said.returncode, says in said.stdout) == (code, True), said
        assert said.stdout.endswith("\nclean\n") == (code == 0)
    finally:
        if "foreign" in relay.config:
            relay.config["foreign"].kill()


@pytest.mark.long
def test_an_empty_table_beside_one_with_rows(walpost, database, kafka, outbox,
                                             topics):
    database.execute("create table other (like outbox including all)")
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": "public.outbox"}, {"name": "public.other"}]}).run()
    outbox.insert("order", "key")
    database.wait_confirmed(relay.slot)
    report = _report(relay, expect=0)
    assert report["notes"] == [
        "table public.other has no row: records of rows that were deleted "
        "were not compared (--ids FILE compares with a list)"]


@pytest.mark.long
def test_an_empty_table_that_is_polled(walpost, database, kafka, topics):
    database.execute("create table queue (id bigserial primary key, "
                     "aggregate_type text, aggregate_id text, payload text)")
    relay = walpost(database, kafka, topics, source="polling", postgres={
        "slot": None, "publication": None, "create": None}, polling={
            "strategy": "delete"}, outbox={"tables": [
                {"name": "public.queue", "order_by": "id"}]},
                    dead_letter={"topic": topics + "dead"}).run()
    report = _report(relay, expect=0)
    assert "no record" in report["notes"][0]
    database.execute("insert into queue (aggregate_type, aggregate_id) "
                     "values ('order', 'key')")
    wait_until(lambda: not database.value("select count(*) from queue"),
               "the row to go")
    report = _report(relay, expect=0)
    assert "not compared" in report["notes"][0]


@pytest.mark.long
def test_a_gap_on_record_is_not_clean(relay, database):
    assert relay.stop() == 0
    comment = database.value(
        "select obj_description(oid, 'pg_publication') from pg_publication")
    database.execute("comment on publication walpost is %s",
                     (comment + " gap=wal_forked",))
    report = _report(relay, "--wait", "0", expect=1)
    assert _counts(report) == {"undecided": 1}
    assert "wal_forked" in report["findings"]["undecided"]["examples"][0]


@pytest.mark.long
def test_rows_from_before_the_slot_are_missing_running_or_not(
        walpost, database, kafka, outbox, topics):
    for number in range(30):
        outbox.insert("order", "key", sequence=number)
    relay = walpost(database, kafka, topics).run()
    late = outbox.insert("order", "key", sequence=30)
    database.wait_confirmed(database.name)
    assert _counts(_report(relay, expect=1)) == {"missing": 30}
    assert relay.stop() == 0
    assert _counts(_report(relay, "--wait", "1", expect=1)) == {"missing": 30}
    outbox.insert("order", "key", sequence=31)
    report = _report(relay, "--wait", "1", expect=1)
    assert _counts(report) == {"missing": 30, "unconfirmed": 1}
    assert late not in str(report["findings"]["missing"]["examples"])


@pytest.mark.long
def test_a_topic_that_may_not_be_there_at_all(relay, kafka, database, topics):
    assert relay.stop() == 0
    kafka.delete_topic(topics + "order")
    report = _report(relay, "--wait", "0", expect=1)
    assert report["findings"]["missing"]["count"] + report["findings"][
        "unconfirmed"]["count"] == 20
