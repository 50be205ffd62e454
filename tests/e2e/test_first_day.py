"""The first day of an installation: what operators change and decide.

Each story is lived by README and docs alone, with the commands that walpost
prints. At its end every committed event is in Kafka, or on record with what was
decided about it, and walpost streams (P1, P3, P8, P9, P10, P11). The incidents
are in test_first_day_incidents.py.
"""

import json
import re
import secrets
import signal

import pytest

from harness import KafkaReader, Load, Readiness, verify, wait_until
from harness.exactly_once import once
from harness.first_day import mapped
from harness.remedies import statements

_BAD = '["no object"]'  # for the headers
_WHY = ("--why", "as the team has decided", "--by", "alice")


# ---- An outbox that has rows before the first start.

def test_p1_old_rows_are_counted_and_can_be_sent(install):
    day = install()
    old = day.write_many(300)
    said = "public.outbox has 300 rows"
    assert said in day.init()
    checked = day.verb("check")
    assert said in checked and "will not be published" in checked
    day.relay.run()
    day.relay.wait_log(rf" warn table {said}.*will not be published")
    day.write("key-1", 5)
    day.wait_confirmed()
    assert "300 missing" in day.verb("verify", code=1)
    day.paste(checked, "replay", "--from-table")
    day.assert_whole(late=old)


@pytest.mark.long
def test_p1_old_rows_come_first_with_a_snapshot(install):
    day = install(snapshot="initial", delivery={"max_in_flight_records": 20},
                  kafka={"properties": {"linger.ms": "100"}})
    day.write_many(300)
    said = "public.outbox has 300 rows"
    assert said in day.init()
    assert re.search(f"{said}.*will be published", day.verb("check"))
    day.relay.start()
    day.relay.wait_unready("starting: initial snapshot: [0-9]+ of 300 rows")
    day.write("key-1", 5)
    day.relay.wait_ready()
    day.assert_whole()
    day.restart()
    assert len(day.records()) == 305, "it happens once"


# ---- An event that cannot be delivered.

@pytest.mark.parametrize("verb, finding", [("skip", "skipped"),
                                           ("dead-letter", "dead_letter")])
@pytest.mark.sample(2)
def test_p8_the_flow_stops_and_says_what_to_type(install, topics, verb,
                                                 finding):
    day = install(dead_letter={"topic": f"letters-{topics}"}).start()
    day.write("key-1", 3)
    poison, = day.write("key-1", headers=_BAD)
    day.write("key-1", 3)
    day.write("key-2", 3)
    text = day.wait_stuck("headers_unreadable", poison, "key key-1",
                          "not a JSON object")
    assert len(day.records()) == 3, "nothing overtakes it"
    assert poison in day.paste(text, verb)
    day.assert_whole({finding: [poison]})
    day.restart()
    day.assert_whole({finding: [poison]})


# ---- Dead letters.

_LETTERS = {
    "kafka": lambda topics: {"topic": f"letters-{topics}"},
    "postgres": lambda topics: {"store": "postgres"},
}


@pytest.mark.parametrize("store", _LETTERS)
@pytest.mark.long
def test_p8_dead_letters_are_retried_after_the_mend(install, topics, store):
    day = install(dead_letter=_LETTERS[store](topics), on_error={
        "headers_unreadable": "dead_letter"}).start()
    day.write("key-1", 3)
    mended, = day.write("key-1", headers=_BAD)
    useless, = day.write("key-2", headers=_BAD)
    day.write("key-1", 3)
    day.wait_confirmed()
    assert day.relay.get("/readyz") == (200, "streaming\n")
    for event in (mended, useless):
        day.relay.wait_log(f" warn event {event} .* is set aside as a dead")
    listed = day.verb("dead-letters", "list")
    assert mended in listed and useless in listed
    assert "2 dead letters" in listed
    shown = day.verb("dead-letters", "show", "--id", mended)
    assert "no object" in shown and "public.outbox" in shown
    day.assert_whole({"dead_letter": [mended, useless]})

    # As docs/states.md has it for this reason code.
    day.restart(**mapped(headers=None))
    retry = ("dead-letters", "retry", "--key", "key-1", *_WHY)
    assert "--out-of-order" in day.verb(*retry, code=2)
    day.verb(*retry, "--out-of-order")
    wait_until(lambda: mended in {record.id for record in day.records()},
               "the retried event")
    day.verb("dead-letters", "discard", "--key", "key-2", *_WHY)
    day.restart(**mapped())
    day.write("key-1", 3)
    day.assert_whole({"discarded": [useless]}, late=[mended])
    assert "0 dead letters" in day.verb("dead-letters", "list")
    assert day.verb("dead-letters", "list", "--all").count("alice") == 2


# ---- Parked keys.

def test_p3_p8_a_parked_key_waits_and_keeps_its_order(install, kafka, topics):
    kafka.create_topic(topics + "narrow", 2, max_message_bytes=5000)
    day = install(on_error={"record_too_large": "park",
                            "headers_unreadable": "park"}).start()
    wide = json.dumps(secrets.token_hex(5000))
    day.write("key-1", 3, "narrow")
    large, = day.write("key-1", 1, "narrow", payload=wide)
    unreadable, = day.write("key-2", 1, headers=_BAD)
    behind = day.write("key-1", 3, "narrow") + day.write("key-2", 2)
    day.write("key-3", 3, "narrow")
    day.wait_confirmed()
    wait_until(lambda: "2 keys are parked" in day.relay.get("/readyz")[1],
               lambda: day.relay.get("/readyz"))
    code, text = day.relay.get("/readyz")
    assert code == 200 and text.startswith("degraded"), "others go on"
    listed = day.paste(text, "parked", "list")
    assert large in listed and unreadable in listed and "key-1" in listed
    report = verify(day.relay)
    assert report["found"] == {"parked": 7}
    assert not {large, unreadable, *behind} & {
        record.id for record in day.records()}

    # The list has said what to raise.
    assert "raise max.message.bytes of the topic" in listed
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", "100000")
    assert "1 sent" in day.verb("parked", "release", "--key", "key-1", *_WHY)
    day.verb("parked", "discard", "--id", unreadable, *_WHY)
    wait_until(lambda: day.relay.metric("walpost_parked_keys") == 0,
               lambda: f"no parked key\n{day.relay.log()}")
    day.write("key-1", 3, "narrow")
    day.assert_whole({"discarded": [unreadable]})


# ---- Exactly once, and back.

def _shows(day, word):
    wait_until(lambda: word in day.verb("status"),
               lambda: f"{word} in {day.verb('status')}")


@pytest.mark.long
def test_p5_to_exactly_once_and_back(install, topics, dice):
    sections = once(topics, transaction_timeout="30s")
    day = install().start()
    day.write("key-1", 3)
    day.wait_confirmed()
    day.restart(checkpoint={**sections["checkpoint"], "store": "kafka"})
    with Load(day.outbox, dice.seed_text, pause=0.01) as load:
        load.wait(50)
        _shows(day, "checkpoint")
        day.restart(delivery=sections["delivery"])
        _shows(day, "exactly_once")
        load.wait(50)
        day.restart(delivery={"guarantee": "at_least_once"})
        _shows(day, "at_least_once")
        load.wait(50)
    day.assert_whole()
    assert verify(day.relay, "--fail-on-duplicates")["clean"]


@pytest.mark.long
def test_p9_back_to_exactly_once_by_the_wrong_way(install, topics):
    """The checkpoint has fallen behind: that is a gap, and recover ends it."""
    sections = once(topics)
    day = install(**sections).start()
    day.write("key-1", 3)
    day.wait_confirmed()
    day.restart(delivery=None, checkpoint=None)
    day.write("key-1", 3)
    day.wait_confirmed()
    assert day.relay.stop() == 0
    day.configure(**sections)
    day.write("key-1", 3)
    day.relay.start()
    text = day.wait_stuck("slot_advanced")
    assert day.relay.stop() == 0
    assert "3 are not published" in day.paste(text, "recover", "--dry-run")
    assert "3 published" in day.paste(text, "recover")
    day.relay.run()
    day.write("key-1", 3)
    day.assert_whole()
    assert verify(day.relay, "--fail-on-duplicates")["clean"]


# ---- SIGHUP.

def _hang_up(day, pattern, **sections):
    day.configure(**sections)
    day.relay.send(signal.SIGHUP)
    return day.relay.wait_log(pattern)[0]


@pytest.mark.long
def test_p10_sighup_says_what_it_takes_up(install, topics):
    day = install().start()
    with Readiness(day.relay) as readiness:
        day.write("key-1", 3)
        _hang_up(day, "SIGHUP: configuration reloaded; taken up: log.level",
                 log={"level": "debug"})
        said = _hang_up(
            day, " warn SIGHUP: restart walpost to take up .*",
            route={"topic": topics + "later.{aggregate_type}"},
            on_error={"headers_unreadable": "skip"})
        assert "route.topic" in said
        assert "on_error.headers_unreadable" in said
        day.write("key-1", 3)
        good = day.relay.config
        day.relay.configure("route: {")
        day.relay.send(signal.SIGHUP)
        day.relay.wait_log("error SIGHUP: the configuration stays as it was: ")
        day.relay.configure(good)
        day.write("key-1", 3)
        day.wait_confirmed()
    readiness.assert_always_ready()
    assert {record.topic for record in day.records()} == {topics + "order"}
    day.configure(route={"topic": topics + "{aggregate_type}"})
    day.assert_whole()


# ---- Another owner of the publication.

@pytest.mark.long
def test_p9_another_owner_is_no_gap(install, database):
    day = install().start()
    day.write("key-1", 3)
    with Readiness(day.relay) as readiness, Load(day.outbox, 1, pause=0.01):
        database.execute("alter publication walpost owner to current_user")
        day.relay.wait_acknowledged(100)
        note = day.verb("check")
        assert "does not own publication walpost" in note
        database.execute(f"alter publication walpost owner to {day.role}")
        day.relay.wait_acknowledged(100)
    readiness.assert_always_ready()
    assert "does not own" not in day.verb("check")

    assert day.relay.stop() == 0
    database.execute("alter publication walpost owner to current_user")
    day.write("key-1", 3)
    day.relay.run()
    said = day.relay.wait_log(" warn the publication has another owner.*")
    day.paste(said[0], "verify")
    day.assert_whole()


# ---- A second table.

@pytest.fixture
def second(install):
    """An Installation that publishes one table, and five rows in another."""
    day = install().start()
    day.write("key-1", 3)
    day.database.execute(
        "create table push (like outbox including defaults); "
        "create trigger remember after insert on push "
        "for each row execute function remember()")
    day.write("key-p", 5, "push", table="push")
    return day


_BOTH = {"tables": [{"name": name, "order_by": "sequence"}
                    for name in ("public.outbox", "public.push")]}


def test_p1_p9_a_table_is_added_while_walpost_runs(second):
    day = second
    _hang_up(day, " warn SIGHUP: restart walpost to take up .*tables",
             outbox=_BOTH)
    day.verb("check", code=1)
    said = "public.push is new in outbox.tables, and has 5 rows"
    assert said in day.init()
    assert said in day.verb("check")
    day.write("key-p", 7, "push", table="push")
    day.write("key-1", 3)
    day.wait_confirmed()
    day.restart_only()
    text = day.wait_stuck("table_passed_over", "public.push")
    day.write("key-p", 2, "push", table="push")
    again = day.paste(text, "replay", "--from-table", "--table", "public.push",
                      "--missing")
    assert "12 were not published" in again
    day.relay.wait_ready()
    day.write("key-p", 2, "push", table="push")
    day.assert_whole()


@pytest.mark.long
def test_p1_a_table_is_added_while_walpost_is_stopped(second):
    day = second
    assert day.relay.stop() == 0
    day.configure(outbox=_BOTH)
    said = "public.push is new in outbox.tables, and has 5 rows"
    assert said in day.init()
    old = day.verb("check")
    assert said in old
    later = day.write("key-q", 7, "push", table="push")
    day.relay.run()
    day.relay.wait_log(f" warn table {said}")
    day.wait_confirmed()
    assert set(later) <= {record.id for record in day.records()}
    assert "5 missing" in day.verb("verify", code=1)
    day.paste(old, "replay", "--from-table", "--table", "public.push",
              "--missing")
    day.assert_whole()


# ---- Retention.

@pytest.mark.long
def test_p11_prune_deletes_what_is_confirmed(install, database, topics):
    day = install(dead_letter={"topic": f"letters-{topics}"})
    day.add_age()
    day.start()
    day.wait_born()
    old = set(day.write("key-1", 3))
    day.wait_older(1)
    refused = day.verb("prune", "--older-than", "1s", code=3)
    assert day.rows() == old
    for statement in statements(refused):
        database.execute(statement)

    poison, = day.write("key-1", headers=_BAD)
    old |= {poison, *day.write("key-1", 3)}
    text = day.wait_stuck("headers_unreadable")
    day.wait_older(1)
    waiting = day.relay.spawn("prune", "--older-than", "1s")
    day.wait_session("prune")
    waiting.send(signal.SIGTERM)
    assert waiting.wait(15) == 1 and day.rows() == old
    day.paste(text, "dead-letter")
    day.assert_whole({"dead_letter": [poison]})

    day.wait_older(6)
    young = set(day.write("key-1", 2))
    prune = ("prune", "--older-than", "6s")
    assert "7 rows would be deleted" in day.verb(*prune, "--dry-run")
    assert "7 rows deleted" in day.verb(*prune)
    assert day.rows() == young
    day.assert_whole({"dead_letter": [poison]})


# ---- Replay.

@pytest.mark.long
def test_p5_a_window_is_replayed(install, topics):
    day = install(replay={"window": "64MiB"}).start()
    day.write("key-1", 3)
    day.wait_confirmed()
    begin = day.status()["confirmed_lsn"]
    day.write("key-1", 2)
    day.write("key-2", 2)
    day.wait_confirmed()
    replay = ("replay", "--from-lsn", begin)
    assert "4 events would be replayed" in day.verb(*replay, "--dry-run")
    assert not any(record.is_by_hand for record in day.records())
    with Readiness(day.relay) as readiness:
        assert "4 events replayed" in day.verb(*replay)
        day.write("key-1", 2)
        day.wait_confirmed()
        assert "9 events replayed" in day.verb(
            "replay", "--since", "1h", "--topic-prefix", "again.")
    readiness.assert_always_ready()
    again = KafkaReader(day.kafka.bootstrap).read_all("again." + topics)
    assert len(again) == 9 and all(record.is_replayed for record in again)
    assert len(day.records()) == 9 + 4
    # What is older than the window comes from the table.
    refused = day.verb("replay", "--from-lsn", "0/1", code=3)
    oldest = re.search("oldest LSN that is left to replay from is ([0-9A-F/]+)",
                       refused)[1]
    assert "9 events would be" in day.verb("replay", "--from-lsn", oldest,
                                           "--dry-run")
    assert "9 rows replayed" in day.paste(refused, "replay", "--from-table")
    day.assert_whole()
