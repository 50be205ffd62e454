"""The first day of an installation: what happens to it.

As test_first_day.py: each story is lived by README and docs alone, and ends
with every committed event in Kafka, or on record.
"""

import re

import pytest

from harness import Load, checkpoint_section, wait_until
from harness.first_day import mapped
from harness.matrix import long_only
from harness.remedies import run_printed_tool, tools
from harness.sections import laid_over


@pytest.fixture
def kafka(strict_kafka, topics):
    """Makes no topic by itself; a story may harm it."""
    for kind in ("order", "invoice", "shipment"):
        strict_kafka.create_topic(topics + kind, 4)
    yield strict_kafka
    strict_kafka.mend()


# ---- walpost is killed.

@pytest.mark.long
def test_p1_p3_killed_under_load(install, dice):
    day = install().start()
    with Load(day.outbox, dice.seed_text, pause=0.005) as load:
        day.relay.wait_acknowledged(100)
        day.relay.kill()
        assert day.relay.get("/readyz")[0] == 0
        assert "no walpost answers at" in day.verb("status", code=1)
        load.wait(100)
        day.relay.run()
        load.wait(100)
    day.assert_whole()


# ---- Kafka is away.

_OUTAGES = {
    "frozen": ("freeze", "have answered nothing for"),
    "stopped": ("kill", "no Kafka broker is reachable at"),
}


@pytest.mark.parametrize("outage", _OUTAGES)
@pytest.mark.long
def test_p1_p10_kafka_is_away(install, kafka, dice, outage):
    harm, words = _OUTAGES[outage]
    day = install().start()
    with Load(day.outbox, dice.seed_text, pause=0.02) as load:
        day.relay.wait_acknowledged(50)
        getattr(kafka, harm)()
        text = day.relay.wait_unready(words, 12)
        assert text.startswith("stuck: ") and kafka.bootstrap in text
        stands = day.database.confirmed_lsn(day.relay.slot)
        load.wait(50)
        assert day.relay.get("/readyz")[0] == 503
        assert day.database.confirmed_lsn(day.relay.slot) == stands
        assert words in day.verb("status", code=1)
        kafka.mend()
        day.relay.wait_ready()
        load.wait(50)
    day.assert_whole()


# ---- The slot is lost.

def _recover(day, text):
    """As it is printed. Returns how many events were published."""
    dry = day.paste(text, "recover", "--dry-run")
    lacking = re.search("([0-9]+) are not published; nothing was done", dry)[1]
    assert f"{lacking} published" in day.paste(text, "recover")
    day.relay.run()
    return int(lacking)


def _assert_all_there(day):
    ids = {event.id for event in day.outbox.expected()}
    wait_until(lambda: {record.id for record in day.records()} == ids,
               "all events")


def _drop(day):
    day.database.execute("select pg_drop_replication_slot(%s)",
                         (day.relay.slot,))


def _invalidate(day):
    """The server keeps no more than that of its WAL."""
    execute = day.database.execute
    execute("alter system set max_slot_wal_keep_size = '1MB'")
    execute("select pg_reload_conf()")

    def is_lost():
        execute("select pg_switch_wal()")
        execute("checkpoint")
        return day.database.value(
            "select wal_status = 'lost' from pg_replication_slots "
            "where slot_name = %s", (day.relay.slot,))

    wait_until(is_lost, "the slot to be lost")
    execute("alter system reset max_slot_wal_keep_size")
    execute("select pg_reload_conf()")


_LOSSES = {"slot_missing": _drop, "slot_lost": _invalidate}


@pytest.mark.parametrize("code, store", [
    ("slot_lost", "kafka"), *long_only(
        ("slot_missing", "none"), ("slot_missing", "kafka"),
        ("slot_lost", "none"))])
def test_p9_the_slot_is_lost(install, own_database, topics, directory, code,
                             store):
    day = install(own_database, **checkpoint_section(
        store, directory, f"points-{topics}")).start()
    day.write("key-1", 3)
    day.wait_confirmed()
    assert day.relay.stop() == 0
    lost = day.write("key-1", 3) + day.write("key-2", 2)
    _LOSSES[code](day)
    day.relay.start()
    text = day.wait_stuck(code, "may not have been published")
    assert day.relay.stop() == 0
    dry = day.paste(text, "recover", "--dry-run")
    assert all(f"{event}  to be published" in dry for event in lost)
    assert _recover(day, text) == 5
    day.write("key-1", 3)
    day.assert_whole()
    assert {record.id for record in day.records()
            if record.is_recovered} == set(lost)


@pytest.mark.long
def test_p10_a_cause_is_named_once(install):
    """What is behind `also:` are other causes."""
    day = install().start()
    assert day.relay.stop() == 0
    _drop(day)
    day.relay.start()
    text = day.wait_stuck("slot_missing")
    assert text.count("[slot_missing]") == 1, text


# ---- A topic is deleted under traffic.

@pytest.mark.long
def test_p1_p10_a_topic_is_deleted(install, kafka, topics, dice):
    topic = topics + "order"
    day = install().start()
    with Load(day.outbox, dice.seed_text, pause=0.02, deletes=False) as load:
        day.relay.wait_acknowledged(100)
        kafka.delete_topic(topic)
        text = day.relay.wait_unready(f"{topic}.*kafka-topics.sh", 60)
        stands = day.database.confirmed_lsn(day.relay.slot)
        load.wait(20)
        assert day.database.confirmed_lsn(day.relay.slot) == stands
        printed = tools(text)
        assert printed, f"no command that creates it: {text}"
        assert topic in printed[0], printed
        run_printed_tool(printed[0])
        # It is there again, and empty.
        text = day.wait_stuck("kafka_replaced", topic)
    assert day.relay.stop() == 0
    assert _recover(day, text)
    day.write("key-1", 3)
    _assert_all_there(day)  # the new one may have had some before, see below


@pytest.mark.long
def test_p3_a_topic_is_deleted_and_made_again(install, kafka, topics):
    """The new one may get events before walpost sees that it is another: what
    was in the old one comes behind them."""
    topic = topics + "order"
    day = install().start()
    lost = day.write("key-1", 20)
    day.wait_confirmed()
    kafka.delete_topic(topic)
    day.write("key-1", 3)
    day.relay.wait_unready(f"{topic}.*create the topic", 30)
    kafka.create_topic(topic, 4)
    text = day.wait_stuck("kafka_replaced", topic)
    assert day.relay.stop() == 0
    assert _recover(day, text) >= 20
    day.write("key-1", 3)
    _assert_all_there(day)
    assert set(lost) < {record.id for record in day.records()}


# ---- A column is renamed.

@pytest.fixture
def renamed(install, kafka, topics):
    """The Installation that has stopped before a row without its payload, and
    the ids of three such rows."""
    kafka.create_topic(f"letters-{topics}", 1)
    day = install(dead_letter={"topic": f"letters-{topics}"})
    day.add_age()
    day.start()
    day.wait_born()
    day.write("key-1", 3)
    day.wait_confirmed()
    day.outbox.rename("payload", "body")
    rows = day.write("key-1", 3)
    day.wait_stuck("table_unsuitable", "public.outbox", "column 'payload'",
                   "outbox.tables.columns.payload")
    assert len(day.records()) == 3
    return day, rows


@pytest.mark.long
def test_p1_p3_a_column_is_renamed(renamed):
    day, _ = renamed
    assert "columns.payload" in day.verb("check", code=1)
    day.restart(**mapped(payload="body"))
    day.write("key-1", 3)
    day.assert_whole()


def _decide_all(day, verb, rows):
    """Pastes the command for one row after the other; what it says."""
    decided = {None: ""}  # by position
    for _ in rows:
        position = wait_until(
            lambda: ({day.status()["stopped_position"]} - decided.keys()),
            "the next row").pop()
        text = day.relay.wait_unready(re.escape(position))
        decided[position] = day.paste(text, verb)
    return list(decided.values())[1:]


@pytest.mark.long
def test_p1_p8_a_column_is_renamed_and_back(renamed):
    """A deploy, and its rollback: the rows of then come from the table, as it
    is printed. Their dead letters would be empty."""
    day, rows = renamed
    day.outbox.rename("payload", "payload")
    day.write("key-2", 3)  # later events of a key would go before them
    day.restart_only()
    text = day.wait_stuck("table_unsuitable", "--missing")
    position = day.status()["stopped_position"]
    said = day.relay.verb("dead-letter", position, "--why", "x")
    assert said.returncode == 1 and "would be empty" in said.stderr, said
    _decide_all(day, "skip", rows)
    day.wait_confirmed()
    assert "replay -c" in text
    said = day.verb("replay", "--from-table", "--table", "public.outbox",
                    "--missing")
    assert "3 were not published, and are replayed" in said, said
    day.assert_whole()


# ---- The active instance dies.

def _wait_standby(relay):
    wait_until(lambda: relay.get("/readyz")[1].startswith("standby"),
               lambda: f"standby; it says {relay.get('/readyz')}")


def test_p1_p2_p3_a_standby_takes_over(install, dice):
    day = install().start()
    other = day.another().start()
    _wait_standby(other)
    assert other.get("/readyz")[0] == 200
    with Load(day.outbox, dice.seed_text, pause=0.005) as load:
        day.relay.wait_acknowledged(100)
        day.relay.kill()
        wait_until(lambda: other.get("/readyz")[1].startswith("streaming"),
                   other.log)
        load.wait(100)
        day.relay.start()
        _wait_standby(day.relay)
        load.wait(50)
    first, day.relay = day.relay, other
    day.assert_whole(takeover=True)
    assert first.get("/readyz")[1].startswith("standby")


# ---- Another configuration, while a transaction is half sent.

_SLOW = {"delivery": {"max_in_flight_records": 50}}
_ROLLED_OUT = {
    "route": {"route": {"headers": {"kind": "aggregate_type"}}},
    "numbering": {"outbox": {"messages": {"prefix": "shop"}}},
}
_AGAIN = "that transaction is sent again as a whole"


@pytest.mark.parametrize("change, end", [
    ("numbering", "kill"), *long_only(
        ("route", "stop"), ("route", "kill"), ("numbering", "stop"))])
@pytest.mark.long
def test_p1_p3_a_configuration_is_rolled_out(install, topics, directory,
                                             change, end):
    sections = {**_SLOW, **checkpoint_section("kafka", directory,
                                              f"points-{topics}")}
    day = install(**sections).start()
    other = day.another(**sections, **_ROLLED_OUT[change]).start()
    _wait_standby(other)
    day.write_many(8000)
    target = day.database.current_lsn()
    day.relay.wait_acknowledged(1000)
    getattr(day.relay, end)()
    assert day.database.confirmed_lsn(day.relay.slot) < target
    wait_until(lambda: re.match("streaming|catching", other.get("/readyz")[1]),
               other.log)
    # The first machine comes back with the configuration of before.
    day.relay.start()
    _wait_standby(day.relay)
    last = set(day.write("key-1", 3))
    first, day.relay = day.relay, other
    day.wait_confirmed()
    assert first.stop() == 0
    first.configure(laid_over(first.config, _ROLLED_OUT[change]))
    first.start()
    _wait_standby(first)
    day.assert_whole(takeover=True)
    assert (_AGAIN in other.log()) == (change == "numbering")
    for record in day.records():
        if record.id in last and change == "route":
            assert record.header("kind") == b"order"
