"""`dead_letter.store: postgres`: dead letters are rows of parking.table, durable
before their LSN is confirmed; they are listed, retried and discarded, and none
is clean (P1, P2, P8, P11)."""

import json
import os
import pathlib
import re
import secrets
import subprocess
import time

import pytest

from harness import KafkaReader, note, wait_until

# Bytes that no compression makes smaller than the topic's limit.
_WIDE = json.dumps(secrets.token_hex(5000))
_LIMIT = 5000

# Class of the error, and a row that has it. `narrow` and `compacted` are topics.
_POISON = {
    "topic_field_missing": {"aggregate_type": None},
    "topic_illegal": {"aggregate_type": "not legal!"},
    "headers_unreadable": {"aggregate_type": "order", "headers": "[1]"},
    "record_too_large": {"aggregate_type": "narrow", "payload": _WIDE},
    "record_refused": {"aggregate_type": "compacted", "aggregate_id": None},
}
_ALL = {error_class: "dead_letter" for error_class in _POISON}


@pytest.fixture
def poisoned(database, kafka, outbox, topics):
    """Inserts poison: poisoned(CLASS, cursor=None, ...) returns the row's id."""
    database.execute("alter table outbox alter aggregate_type drop not null")
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    kafka.create_topic(topics + "compacted", 1, cleanup_policy="compact")

    def insert(error_class, **columns):
        return outbox.insert(**{"aggregate_id": "k", "payload": "{}",
                                **_POISON[error_class], **columns})

    return insert


@pytest.fixture
def relay_of(walpost, database, kafka, topics, poisoned):
    assert poisoned  # its topics

    def make(payload="whole", on_error=None, **sections):
        return walpost(database, kafka, topics,
                       on_error=_ALL if on_error is None else on_error,
                       dead_letter={"store": "postgres", "payload": payload},
                       **sections)

    return make


def _rows(database, columns="convert_from(id, 'UTF8')"):
    return database.execute(f"select {columns} from walpost_parked where state "
                            "like 'dead_letter%' order by position")


def _ids(database):
    return [row[0] for row in _rows(database)]


def _delivered(kafka, topics):
    return KafkaReader(kafka.bootstrap).read_all(topics)


def _letters(relay, *words):
    said = relay.verb("dead-letters", "list", "--json", *words)
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def _retry(relay, *words):
    return relay.verb("dead-letters", "retry", "--out-of-order", "--why",
                      "the cause is fixed", "--by", "alice", *words)


def _discard(relay, *words):
    return relay.verb("dead-letters", "discard", "--why", "a test row", "--by",
                      "bob", *words)


def _findings(relay):
    said = relay.verb("verify", "--json")
    report = json.loads(said.stdout)
    return said.returncode, {name: found["count"] for name, found
                             in report["findings"].items() if found["count"]}


def _cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _route(relay, topics, template):
    """The running walpost sends what is retried, so it must know."""
    relay.stop()
    relay.configure({**relay.config, "route": {"topic": topics + template}})
    relay.run()


def test_p8_each_class_has_its_row_among_good_ones(
        relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of().run()
    good, dead = [], {}
    for error_class in _POISON:
        with database.transaction() as cursor:
            good.append(outbox.insert("order", "k", "1", cursor))
            dead[poisoned(error_class, cursor=cursor)] = error_class
            good.append(outbox.insert("order", "k", "2", cursor))
    database.wait_confirmed(database.name, seconds=60)
    wait_until(lambda: relay.get("/readyz") == (200, "streaming\n"),
               "nothing that is wrong")
    assert dict(_rows(database, "convert_from(id, 'UTF8'), error_class")
                ) == dead
    assert [record.id for record in _delivered(kafka, topics)] == good
    for error_class in _POISON:
        assert relay.metric(
            f'walpost_dead_letters_total{{class="{error_class}"}}') == 1
    assert relay.metric("walpost_parked_keys") == 0
    assert relay.verb("parked", "list", "--all").stdout == "0 parked events\n"
    assert _findings(relay) == (1, {"dead_letter": len(_POISON)})
    # For who wants to query it.
    found = database.execute(
        "select convert_from(aggregate_id, 'UTF8'), convert_from(headers, "
        "'UTF8')::jsonb, topic, reason, committed_at <= now() from "
        "walpost_parked where error_class = 'headers_unreadable'")[0]
    assert found[:3] == ("k", [1], topics + "order")
    assert "JSON object" in found[3] and found[4]
    # Nothing of it comes again after a restart.
    assert relay.stop() == 0
    relay.run()
    good.append(outbox.insert("order", "k", "3"))
    database.wait_confirmed(database.name)
    assert len(_ids(database)) == len(_POISON)
    assert [record.id for record in _delivered(kafka, topics)] == good


@pytest.mark.long
def test_what_is_dead_is_listed_and_shown(relay_of, database, outbox, topics,
                                          poisoned):
    relay = relay_of().run()
    missing = poisoned("topic_field_missing", aggregate_id="k1", payload="1")
    unread = poisoned("headers_unreadable", aggregate_id="k2", payload="2")
    without = poisoned("record_refused", payload="3")
    outbox.insert("order", "k1", "3")
    database.wait_confirmed(database.name)
    letters = {letter["id"]: letter for letter in _letters(relay)}
    assert set(letters) == {missing, unread, without}
    one = letters[unread]
    assert one["class"] == "headers_unreadable" and one["state"] == "open"
    assert one["key"] == "k2" and one["source"] == "public.outbox"
    assert one["topic"] == topics + "order" and one["payload_bytes"] == 1
    assert letters[without]["key"] is None, "not the empty text"
    said = relay.verb("dead-letters", "list").stdout
    assert unread in said and one["place"] in said and one["reason"] in said
    assert "3 dead letters: 1 headers_unreadable, 1 record_refused" in said
    for words, found in {
            ("--class", "headers_unreadable"): {unread},
            ("--key", "k1"): {missing},
            ("--topic", topics + "order"): {unread},
            ("--id", missing): {missing},
            ("--id", missing, "--key", "k2"): set(),
            ("--place", one["place"]): {unread},
            ("--since", "1h"): {missing, unread, without},
            ("--before", "1h"): set(),
    }.items():
        assert {letter["id"] for letter in _letters(relay, *words)
                } == found, words
    shown = relay.verb("dead-letters", "show", "--id", unread)
    assert shown.returncode == 0 and "\n2\n" in shown.stdout
    assert "[1]" in shown.stdout and one["position"] in shown.stdout
    nothing = relay.verb("dead-letters", "show", "--id", "none")
    assert nothing.returncode == 1, nothing.stdout
    wrong = relay.verb("dead-letters", "list", "--from", topics + "dead")
    assert wrong.returncode == 2 and "dead_letter.store" in wrong.stderr


@pytest.mark.parametrize("part, kept", [("whole", 6000), ("cut", 4096),
                                        ("none", 0)])
@pytest.mark.long
def test_the_payload_is_whole_cut_or_left_out(
        relay_of, database, topics, poisoned, part, kept):
    relay = relay_of(part).run()
    event = poisoned("topic_field_missing",
                     payload=json.dumps("x" * 5998))
    database.wait_confirmed(database.name)
    assert _rows(database, "octet_length(payload)") == [(kept,)]
    letter, = _letters(relay)
    assert letter["payload_bytes"] == 6000
    _route(relay, topics, "{aggregate_type|default:late}")
    said = _retry(relay, "--id", event)
    if part == "whole":
        assert said.returncode == 0 and "1 retried" in said.stdout, said.stdout
    else:
        assert said.returncode == 1, said.stdout
        assert re.search("replay -c .* --from-table", said.stdout)
        assert [letter["state"] for letter in _letters(relay)] == ["open"]


def test_p11_a_retry_is_in_its_topic_and_on_record(
        relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of().run()
    events = [poisoned("topic_field_missing", aggregate_id=f"k{n}",
                       payload=str(n)) for n in range(3)]
    keyless = poisoned("topic_field_missing", aggregate_id=None, payload="9")
    database.wait_confirmed(database.name)
    # The cause is not fixed: nothing moves.
    said = _retry(relay, "--all")
    assert said.returncode == 1 and "0 retried" in said.stdout, said.stdout
    assert said.stdout.count("stays as it is") == 4
    _route(relay, topics, "{aggregate_type|default:late}")
    dry = relay.verb("dead-letters", "retry", "--all", "--dry-run")
    assert dry.returncode == 0 and "4 would be retried" in dry.stdout
    assert len(_letters(relay)) == 4
    assert _delivered(kafka, topics) == []
    said = _retry(relay, "--key", "k1")
    assert said.returncode == 0 and "1 retried" in said.stdout, said.stderr
    record, = KafkaReader(kafka.bootstrap).read(topics + "late")
    assert record.id == events[1] and record.key == b"k1"
    assert record.header("walpost-retried")
    assert not record._has("walpost-position"), "it is no repeat"
    said = _retry(relay, "--all")
    assert said.returncode == 0 and "3 retried" in said.stdout, said.stderr
    found = KafkaReader(kafka.bootstrap).read(topics + "late")
    assert {record.id for record in found} == {*events, keyless}
    assert len(found) == 4
    assert [record.key for record in found if record.id == keyless] == [None]
    assert _letters(relay) == []
    settled = _letters(relay, "--all")
    assert {letter["state"] for letter in settled} == {"retried"}
    assert {letter["decided_by"] for letter in settled} == {"alice"}
    assert {letter["why"] for letter in settled} == {"the cause is fixed"}
    again = _retry(relay, "--all")
    assert again.returncode == 1 and "open" in again.stderr
    assert _findings(relay) == (0, {"replayed": 4})


@pytest.mark.long
def test_p8_a_retry_that_fails_again_is_dead_again(
        relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of().run()
    wide = [outbox.insert("narrow", "k", payload) for payload in
            (_WIDE, json.dumps(secrets.token_hex(10_000)), _WIDE)]
    database.wait_confirmed(database.name, seconds=60)
    assert _ids(database) == wide
    said = _retry(relay, "--id", wide[0])
    assert said.returncode == 1 and "0 retried" in said.stdout, said.stdout
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", "15000")
    said = _retry(relay, "--all")
    assert said.returncode == 1 and "2 retried" in said.stdout, said.stdout
    left, = _letters(relay)
    assert (left["id"], left["class"]) == (wide[1], "record_too_large")
    assert [record.id for record in _delivered(kafka, topics)] == [
        wide[0], wide[2]]
    # It never held up its key.
    after = outbox.insert("narrow", "k", "1")
    database.wait_confirmed(database.name)
    assert _delivered(kafka, topics)[-1].id == after
    wait_until(lambda: relay.get("/readyz") == (200, "streaming\n"),
               "nothing that is wrong")


@pytest.mark.long
def test_p11_what_is_discarded_is_never_clean(relay_of, database, poisoned):
    relay = relay_of().run()
    event = poisoned("topic_field_missing")
    kept = poisoned("topic_field_missing")
    database.wait_confirmed(database.name)
    dry = relay.verb("dead-letters", "discard", "--id", event, "--dry-run")
    assert dry.returncode == 0 and "1 would be discarded" in dry.stdout
    assert len(_letters(relay)) == 2
    said = _discard(relay, "--id", event)
    assert said.returncode == 0 and "1 discarded" in said.stdout, said.stderr
    assert [letter["id"] for letter in _letters(relay)] == [kept]
    settled = {letter["id"]: letter for letter in _letters(relay, "--all")}
    assert settled[event]["state"] == "discarded"
    assert settled[event]["decided_by"] == "bob"
    assert settled[event]["why"] == "a test row"
    assert _findings(relay) == (1, {"discarded": 1, "dead_letter": 1})


def _many(relay, database, topics, count):
    """The command that retries so many dead letters of ten keys."""
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select null, 'k-' || n %% 10, to_jsonb(n) "
        "from generate_series(1, %s) n", (count,))
    database.wait_confirmed(database.name, seconds=60)
    _route(relay, topics, "{aggregate_type|default:late}")
    return relay.command("dead-letters", "retry", "--all", "--out-of-order",
                         "--why", "x")


@pytest.mark.long
def test_p3_two_retries_at_once_send_nothing_twice(
        relay_of, database, kafka, topics):
    count = 2000
    relay = relay_of().run()
    words = _many(relay, database, topics, count)
    both = [subprocess.Popen(words, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert min(process.returncode for process in both) == 0, said
    assert _letters(relay) == []
    found = _delivered(kafka, topics)
    assert len({record.id for record in found}) == len(found) == count
    numbers = {}
    for record in found:
        numbers.setdefault(record.key, []).append(int(record.value))
    assert all(values == sorted(values) for values in numbers.values())


@pytest.mark.long
def test_p1_walpost_is_killed_while_it_retries(relay_of, database, kafka,
                                               topics):
    """What was sent and is not marked is sent again; nothing is lost."""
    count = 5000
    relay = relay_of().run()
    words = _many(relay, database, topics, count)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: database.value(
            "select count(*) from walpost_parked where state = "
            "'dead_letter_retry'"), "the decision", 60, 0.01)
        process.kill()
    for _ in range(3):
        before = len(_delivered(kafka, topics))
        wait_until(lambda: len(_delivered(kafka, topics)) > before or not
                   database.value("select count(*) from walpost_parked where "
                                  "state = 'dead_letter_retry'"), "some", 60)
        relay.kill()
        relay.run()
    said = _retry(relay, "--all")  # those that it did not come to
    assert said.returncode == 0 or "open" in said.stderr, said.stderr
    wait_until(lambda: _letters(relay) == [], relay.log, 60)
    found = _delivered(kafka, topics)
    assert len({record.id for record in found}) == count
    note(f"{len(found) - count} of {count} retried events are repeated")


@pytest.mark.parametrize("store", ["postgres", "kafka"])
@pytest.mark.long
def test_p2_a_letter_that_is_stored_stays_one(
        walpost, database, strict_kafka, outbox, topics, store):
    """kill -9 between the row and its LSN; then the event could be delivered,
    and perhaps dead letters are for Kafka."""
    database.execute("alter table outbox alter aggregate_type drop not null")
    relay = walpost(database, strict_kafka, topics, on_error=_ALL,
                    dead_letter={"store": "postgres"}).run()
    database.wait_confirmed(database.name)
    with database.transaction() as cursor:
        event = outbox.insert(None, "k", "1", cursor)
        # The topic is missing, so the transaction is not confirmed.
        blocked = outbox.insert("order", "k", "2", cursor)
        limit = database.lsn_before_commit(cursor)
    wait_until(lambda: _ids(database), "the letter")
    relay.kill()
    assert database.confirmed_lsn(database.name) <= limit
    for topic in ("order", "late"):
        strict_kafka.create_topic(topics + topic, 1)
    relay.configure({**relay.config, "dead_letter": {"store": store}, "route": {
        "topic": topics + "{aggregate_type|default:late}"}})
    relay.run()
    database.wait_confirmed(database.name, seconds=60)
    assert [record.id for record in _delivered(strict_kafka, topics)] == [
        blocked]
    assert _ids(database) == [event]


@pytest.mark.parametrize("guarantee, times", [
    ("at_least_once", 2), ("exactly_once", 1)])
@pytest.mark.sample(2)
def test_p1_p5_walpost_is_killed_between_a_record_and_its_mark(
        relay_of, database, kafka, topics, poisoned, guarantee, times):
    relay = relay_of(delivery={"guarantee": guarantee}, checkpoint={
        "store": "kafka", "topic": f"c-{topics}"}).run()
    event = poisoned("topic_field_missing")
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "route": {
        "topic": topics + "{aggregate_type|default:late}"}})
    said = _retry(relay, "--all")
    assert said.returncode == 0 and "No walpost answers" in said.stdout
    database.execute(
        "create function wait() returns trigger language plpgsql as "
        "'begin perform pg_advisory_xact_lock(7); return new; end'; "
        "create trigger wait before update on walpost_parked for each row "
        "when (new.state = 'dead_letter_retried') execute function wait()")
    with database.transaction() as cursor:
        cursor.execute("select pg_advisory_xact_lock(7)")
        relay.run()
        wait_until(lambda: _delivered(kafka, topics), relay.log)
        relay.kill()
        # Its statement, which waits for the lock, would still be carried out.
        cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                       "where application_name like 'walpost:%:parked'")
    assert [letter["state"] for letter in _letters(relay)] == ["retry"]
    relay.run()
    wait_until(lambda: _letters(relay) == [], relay.log)
    found = _delivered(kafka, topics)
    assert [record.id for record in found] == times * [event]
    assert all(record.header("walpost-retried") for record in found)
    assert _findings(relay)[0] == 0


@pytest.mark.long
def test_p8_by_hand(relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of(on_error={}).run()
    event = poisoned("topic_illegal")
    outbox.insert("order", "k", "3")
    relay.wait_unready("topic")
    position = json.loads(relay.get("/status")[1])["stopped_position"]
    said = relay.verb("dead-letter", position, "--why", "by hand")
    assert said.returncode == 0, said.stderr
    database.wait_confirmed(database.name)
    letter, = _letters(relay)
    assert (letter["id"], letter["place"]) == (event, position)
    assert [record.value for record in _delivered(kafka, topics)] == [b"3"]


@pytest.mark.long
def test_p6_ten_thousand_in_a_row(relay_of, database, kafka, outbox, topics):
    count = 10_000
    relay = relay_of().run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select null, 'k-' || n %% 10, to_jsonb(repeat('x', 1000)) from "
        "generate_series(1, %s) n", (count,))
    after = outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name, seconds=120)
    assert [record.id for record in _delivered(kafka, topics)] == [after]
    assert len(_ids(database)) == count
    assert relay.peak_memory_bytes() < 100 << 20
    before = _cpu_seconds(relay.pid)
    time.sleep(3)
    assert _cpu_seconds(relay.pid) - before < 0.5, "it rests"
    said = _discard(relay, "--all")
    assert said.returncode == 0 and "10000 discarded" in said.stdout
    note(f"{count} letters: at most "
         f"{relay.peak_memory_bytes() / (1 << 20):.1f} MiB resident")


def test_p2_a_table_that_is_locked_or_missing_holds_up_the_flow(
        relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of().run()
    poisoned("topic_field_missing")
    database.wait_confirmed(database.name)
    with database.transaction() as cursor:
        cursor.execute("lock table walpost_parked")
        locked = poisoned("topic_field_missing")
        relay.wait_unready("walpost_parked", 60)
        assert locked not in database.execute("select 1")
    database.wait_confirmed(database.name, seconds=60)
    assert locked in _ids(database)
    database.execute("alter table walpost_parked rename to hidden")
    hidden = poisoned("topic_field_missing")
    relay.wait_unready("is missing, and existed before", 60)
    database.execute("alter table hidden rename to walpost_parked")
    database.wait_confirmed(database.name, seconds=60)
    assert _ids(database)[-1] == hidden
    relay.wait_ready()


@pytest.mark.long
def test_a_table_of_an_earlier_release_gets_its_columns(
        relay_of, database, poisoned):
    relay = relay_of(on_error={"topic_field_missing": "park"}).run()
    poisoned("topic_field_missing")
    database.wait_confirmed(database.name)
    relay.stop()
    database.execute("alter table walpost_parked drop column id, drop column "
                     "type, drop column headers")
    relay.configure({**relay.config, "dead_letter": {}})
    relay.run()  # dead letters are for Kafka: it stays as it is
    assert relay.stop() == 0
    relay.configure({**relay.config, "dead_letter": {"store": "postgres"},
                     "on_error": {"topic_illegal": "dead_letter"}})
    relay.run()
    poisoned("topic_illegal", aggregate_id="other")
    database.wait_confirmed(database.name)
    assert len(_letters(relay)) == 1
    assert "1 parked events" in relay.verb("parked", "list").stdout


@pytest.mark.long
def test_a_role_without_rights_is_told_what_to_run(
        relay_of, database, outbox, poisoned):
    """Not the owner of a table that an earlier release has made."""
    relay = relay_of(on_error={"topic_field_missing": "park"}).run()
    relay.stop()
    database.execute("alter table walpost_parked drop column id, drop column "
                     "type, drop column headers")
    role = database.name + "_role"
    database.execute(f"create role {role} login replication")
    database.execute("revoke create on schema public from public")
    database.execute(f"grant select on outbox to {role}")
    database.execute("grant select, insert, update, delete on walpost_parked "
                     f"to {role}")
    try:
        relay.configure({**relay.config, "on_error": _ALL, "postgres": {
            **relay.config["postgres"],
            "conninfo": database.conninfo(user=role)}})
        said = relay.verb("check")
        assert "lacks columns" in said.stdout, said.stdout
        relay.start()
        assert relay.wait_exit() == 3
        remedy = relay.log().split("(sql/parked.sql): ")[1].splitlines()[0]
        database.execute(remedy)
        assert "walpost_parked can be written" in relay.verb("check").stdout
        relay.run()
        poisoned("topic_field_missing")
        database.wait_confirmed(database.name)
        assert len(_letters(relay)) == 1
        relay.stop()
    finally:
        relay.close()
        database.execute(f"drop owned by {role}; drop role {role}")


@pytest.mark.long
def test_p9_recover_leaves_letters_to_their_operator(
        relay_of, database, kafka, outbox, topics, poisoned):
    relay = relay_of().run()
    dead = poisoned("headers_unreadable", sequence=1)
    database.wait_confirmed(database.name)
    relay.stop()
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    lost = outbox.insert("order", "k2", "3", sequence=3)
    database.execute("update outbox set headers = null")
    said = relay.verb("recover", "--all", "--order-by", "sequence")
    assert said.returncode == 0, said.stderr
    relay.run()
    assert [record.id for record in _delivered(kafka, topics)] == [lost]
    assert _ids(database) == [dead]


@pytest.mark.long
def test_other_senders_stop_before_it(relay_of, database, kafka, outbox, topics,
                                      poisoned):
    """Only the stream of `run` writes the table. What is on record is left
    out."""
    relay = relay_of(replay={"window": "64MiB"}).run()
    begin = database.confirmed_lsn(database.name)
    poisoned("topic_illegal", sequence=1)
    database.wait_confirmed(database.name)
    said = relay.verb("replay", "--from-lsn",
                      f"{begin >> 32:X}/{begin & 0xFFFFFFFF:X}")
    assert said.returncode == 0 and "left out: 1 that have" in said.stdout
    relay.stop()
    poisoned("topic_illegal", sequence=2)
    said = relay.verb("replay", "--from-table", "--order-by", "sequence")
    assert said.returncode != 0
    assert "dead_letter.store: postgres" in said.stderr, said.stderr
    assert len(_ids(database)) == 1 and not _delivered(kafka, topics)


@pytest.mark.long
def test_p8_the_snapshot_stops_before_it(relay_of, kafka, outbox, topics,
                                         poisoned):
    outbox.insert("order", "k", "1", sequence=1)
    poisoned("topic_illegal", sequence=2)
    relay = relay_of(snapshot="initial", outbox={"tables": [
        {"name": "public.outbox", "order_by": "sequence"}]}).start()
    relay.wait_unready("only the stream of walpost run writes", 60)
    assert [record.value for record in _delivered(kafka, topics)] == [b"1"]


@pytest.mark.long
def test_letters_stay_letters_when_they_are_for_kafka_again(
        relay_of, database, kafka, outbox, topics, poisoned):
    """Those of before are sent by the next walpost, if somebody wants it."""
    relay = relay_of().run()
    event = poisoned("topic_field_missing")
    database.wait_confirmed(database.name)
    relay.stop()
    relay.configure({**relay.config, "route": {
        "topic": topics + "{aggregate_type|default:late}"}})
    said = _retry(relay, "--all")
    assert said.returncode == 0 and "No walpost answers" in said.stdout
    relay.configure({**relay.config, "dead_letter": {}})
    relay.run()
    wait_until(lambda: [record.id for record in _delivered(kafka, topics)]
               == [event], relay.log)
    relay.wait_log("of an earlier configuration")


@pytest.mark.parametrize("sections, remedy", [
    ({"source": "polling", "polling": {"strategy": "delete"}},
     "needs source: wal"),
    ({"dead_letter": {"store": "postgres", "topic": "dead"}}, "remove it"),
    ({"retention": {"keep": "1d"}, "on_error": {
        "column_unreadable": "dead_letter"}}, "the row would be deleted"),
])
@pytest.mark.long
def test_configurations_that_promise_more_are_refused(
        walpost, database, kafka, topics, sections, remedy):
    relay = walpost(database, kafka, topics, **{
        "dead_letter": {"store": "postgres"}, **sections})
    said = relay.verb("run")
    assert said.returncode == 2 and remedy in said.stderr, said.stderr
