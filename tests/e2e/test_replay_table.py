"""walpost replay --from-table: rows once more, however old."""

import signal
import time

import pytest

from harness import KafkaReader, note, wait_until


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """Nine rows of three keys are published; `sequence` runs against the ids."""
    made = walpost(database, kafka, topics).run()
    for number in range(9):
        outbox.insert("order", f"key-{number % 3}", str(number),
                      id=f"00000000-0000-0000-0000-00000000000{number}",
                      sequence=100 - number)
    database.wait_confirmed(database.name)
    return made


def _replay(relay, kafka, topics, *words):
    """What it says, and the values of the records, in order, by key."""
    if "--order-by" not in words:
        words = ("--order-by", "id", *words)
    said = relay.verb("replay", "--from-table", *words)
    assert said.returncode == 0, said.stderr
    records = [record for record in KafkaReader(kafka.bootstrap).read_all(topics)
               if record.is_replayed]
    assert all(record.header("walpost-replay") == b"table"
               for record in records)
    values = {}
    for record in records:
        values.setdefault(record.key.decode(), []).append(int(record.value))
    return said.stdout, values


@pytest.mark.long
def test_random_ids_are_no_order(relay, kafka, topics):
    said = relay.verb("replay", "--from-table")
    assert said.returncode == 3, said.stdout
    assert "--order-by" in said.stderr
    assert "outbox.tables.order_by" in said.stderr
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 9


def test_all_rows_in_the_order_of_the_id(relay, kafka, topics):
    said, values = _replay(relay, kafka, topics, "--rate", "100/s")
    assert said == "9 rows replayed\n"
    assert values == {"key-0": [0, 3, 6], "key-1": [1, 4, 7],
                      "key-2": [2, 5, 8]}
    assert relay.verb("verify").returncode == 0


@pytest.mark.long
def test_in_the_order_of_a_column(relay, kafka, topics):
    _, values = _replay(relay, kafka, topics, "--order-by", "sequence")
    assert values == {"key-0": [6, 3, 0], "key-1": [7, 4, 1],
                      "key-2": [8, 5, 2]}


def test_by_ids(relay, kafka, topics, directory):
    ids = directory / "ids"
    ids.write_text("00000000-0000-0000-0000-000000000007\n\n"
                   "00000000-0000-0000-0000-000000000001\n")
    said, values = _replay(relay, kafka, topics, "--ids", str(ids))
    assert said == "2 rows replayed\n" and values == {"key-1": [1, 7]}


@pytest.mark.long
def test_by_aggregate(relay, kafka, topics):
    said, values = _replay(relay, kafka, topics, "--aggregate", "key-2")
    assert said == "3 rows replayed\n" and values == {"key-2": [2, 5, 8]}


@pytest.mark.long
def test_by_condition_and_aggregate(relay, kafka, topics):
    _, values = _replay(relay, kafka, topics, "--where",
                        "sequence > 94 or sequence = 92", "--aggregate",
                        "key-2")
    assert values == {"key-2": [2, 5, 8]}


@pytest.mark.long
def test_to_other_topics(relay, kafka, topics):
    _, values = _replay(relay, kafka, topics, "--topic-prefix", "again.",
                        "--where", "sequence = 100")
    assert not values
    records = KafkaReader(kafka.bootstrap).read_all("again." + topics)
    assert [record.value for record in records] == [b"0"]


@pytest.mark.long
def test_the_records_are_the_same_but_for_the_mark(relay, kafka, topics):
    """And without a place in the order of commits, for rows have none."""
    _replay(relay, kafka, topics)
    records = KafkaReader(kafka.bootstrap).read_all(topics)

    def content(record):
        headers = tuple(header for header in record.headers
                        if not header[0].startswith("walpost-"))
        return record.partition, record.key, record.value, headers

    assert (sorted(map(content, (r for r in records if r.is_replayed)))
            == sorted(map(content, (r for r in records if not r.is_replayed))))


@pytest.mark.long
def test_what_makes_no_sense_is_refused(relay, kafka, topics, directory):
    empty = directory / "empty"
    empty.write_text("\n")
    for words, code, says in (
            (("--ids", str(empty)), 2, "has no id"),
            (("--ids", "/nonexistent"), 2, "/nonexistent"),
            (("--order-by", "id", "--where", "no_such_column = 1"), 3,
             "no_such_column"),
            (("--order-by", "no_such_column"), 3, "no_such_column"),
            (("--since", "2025-01-01"), 3, "outbox.tables.columns.timestamp")):
        said = relay.verb("replay", "--from-table", *words)
        assert said.returncode == code and says in said.stderr, said.stderr
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 9


@pytest.mark.long
def test_since_a_time(walpost, database, kafka, outbox, topics):
    database.execute("alter table outbox add made timestamptz default now(), "
                     "add made_ms bigint default extract(epoch from now()) * "
                     "1000")
    outbox.insert("order", "old")
    database.execute("update outbox set made = made - interval '2 hours', "
                     "made_ms = made_ms - 7200000")
    outbox.insert("order", "new")
    for column in ("made", "made_ms"):
        relay = walpost(database, kafka, topics, outbox={"tables": [
            {"name": "public.outbox", "columns": {"timestamp": column}}]})
        for since, rows in (("1h", 1), ("3h", 2), ("2020-01-01 00:00+00", 2)):
            said = relay.verb("replay", "--from-table", "--since", since,
                              "--dry-run")
            assert said.stdout.endswith(
                f"{rows} rows would be replayed\n"), said


@pytest.mark.long
def test_a_stall_earns_no_burst(relay, database, kafka, outbox, topics):
    kafka.create_topic(topics + "stall", 1,
                       message_timestamp_type="LogAppendTime")
    for number in range(500):
        outbox.insert("stall", f"key-{number}", str(number))
    database.wait_confirmed(database.name)

    def written_at():
        return sorted(record.timestamp for record in
                      KafkaReader(kafka.bootstrap).read_all(topics + "stall")
                      if record.is_replayed)

    replay = relay.spawn("replay", "--from-table", "--order-by", "id",
                         "--rate", "100/s")
    try:
        wait_until(lambda: len(written_at()) > 20, "the first records")
        replay.send(signal.SIGSTOP)
        time.sleep(3)
        replay.send(signal.SIGCONT)
        assert replay.wait(30) == 0
    finally:
        replay.end(signal.SIGKILL)
    times = written_at()
    assert len(times) == 500
    assert times[-1] - times[0] > 3000
    most = max(sum(begin <= time < begin + 1000 for time in times)
               for begin in times)
    note(f"at most {most} records within a second, after a stall of 3 s")
    assert most <= 150
