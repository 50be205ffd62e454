"""The table of parked events does not begin again by itself (P3, P9)."""

import json
import os
import time

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import values

_BAD = '["no object"]'  # for the headers
_TABLE = "walpost_parked"

# What happens to the table, and how it is put right again.
_LOSSES = {
    "dropped": ("create table saved as table walpost_parked; "
                "drop table walpost_parked", None),
    "renamed": ("alter table walpost_parked rename to saved",
                "alter table saved rename to walpost_parked"),
    "made-again": ("alter table walpost_parked rename to saved; "
                   "create table walpost_parked (like saved including all)",
                   "drop table walpost_parked; "
                   "alter table saved rename to walpost_parked"),
    "moved": ("create schema hidden; alter table walpost_parked set schema "
              "hidden", "alter table hidden.walpost_parked set schema public"),
}


@pytest.fixture
def make(walpost, database, kafka, outbox, topics):
    """make(): a walpost that parks; make(on_error={}): one that does not."""
    assert outbox  # the table
    kafka.create_topic(topics + "order", 1)

    def made(**sections):
        return walpost(database, kafka, topics, **{
            "on_error": {"headers_unreadable": "park"}, **sections})
    return made


def _values(kafka, topics):
    return [int(record.value) for record in
            KafkaReader(kafka.bootstrap).read(topics + "order")]


def _accept(relay):
    return relay.verb("parked", "accept", "--why", "a test")


@pytest.mark.parametrize("case", values(
    loss=list(_LOSSES), seen_by=["active", "standby", "restart", "kill",
                                 "restart-without-park"],
    guarantee=["at_least_once", "exactly_once"]), ids=str)
@pytest.mark.sample(6)
def test_p3_p9_it_is_not_made_again(make, database, kafka, outbox, topics,
                                    case):
    harm, repair = _LOSSES[case["loss"]]
    sections = {"delivery": {"guarantee": case["guarantee"]}, "checkpoint": {
        "store": "kafka" if case["guarantee"] == "exactly_once" else "none",
        "topic": f"c-{topics}"}}
    relay = make(**sections).run()
    outbox.insert("order", "k", "1", headers=_BAD)
    outbox.insert("order", "k", "2")
    database.wait_confirmed(relay.slot)
    standby = make(**sections) if case["seen_by"] == "standby" else None
    if standby is not None:
        standby.start()
        wait_until(lambda: standby.get("/readyz")[1].startswith("standby"),
                   standby.log)
    if case["seen_by"].startswith("restart"):
        relay.stop()
    elif case["seen_by"] == "kill":
        relay.kill()
    database.execute(harm)
    if case["seen_by"] == "restart-without-park":
        relay.configure({**relay.config, "on_error": {}})
    if not relay.running():
        relay.start()
    # It makes the active one look, and give up the slot.
    outbox.insert("order", "k", "3")
    outbox.insert("order", "k2", "4", headers=_BAD if case["seen_by"] in (
        "active", "standby") else None)
    relays = [relay] + ([standby] if standby else [])
    for each in relays:
        wait_until(lambda one=each: "parked_table_missing" in
                   one.get("/readyz")[1] or
                   one.get("/readyz")[1].startswith("standby"), each.log, 60)
    # They hand the slot to each other: for moments, neither has it.
    wait_until(lambda: 503 in [each.get("/readyz")[0] for each in relays],
               "one that is not ready")
    assert _values(kafka, topics) == [], "nothing overtakes what is parked"
    said = relay.verb("parked", "list")
    assert said.returncode == 3 and "accept --why" in said.stderr, said
    if repair:
        database.execute(repair)
    else:
        # A restore makes it again, so an operator has to say that it is right.
        database.execute("create table walpost_parked (like saved including "
                         "all); insert into walpost_parked table saved")
        said = _accept(relay)
        assert said.returncode == 0, said.stderr
    database.wait_confirmed(relay.slot, seconds=60)
    said = relay.verb("parked", "discard", "--all", "--why", "a test")
    assert said.returncode == 0, said.stderr
    expected = [2, 3] + ([4] if case["seen_by"] not in (
        "active", "standby") else [])
    wait_until(lambda: sorted(set(_values(kafka, topics))) == expected,
               lambda: f"{expected}; there is {_values(kafka, topics)}", 60)
    firsts = list(dict.fromkeys(_values(kafka, topics)))
    assert firsts.index(2) < firsts.index(3)


def test_p9_an_operator_goes_on_without_it(make, database, kafka, outbox,
                                           topics):
    relay = make().run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)
    said = _accept(relay)
    assert said.returncode == 3 and "nothing to accept" in said.stderr, said
    relay.stop()
    database.execute("drop table walpost_parked")
    relay.start()
    relay.wait_unready("parked_table_missing")
    assert relay.verb("check").returncode == 1
    said = relay.verb("parked", "accept")
    assert said.returncode == 2 and "--why" in said.stderr, said
    said = _accept(relay)
    assert said.returncode == 0 and "walpost verify" in said.stdout, said
    outbox.insert("order", "k", "2")
    database.wait_confirmed(relay.slot)
    assert _values(kafka, topics) == [2]
    assert relay.verb("verify").returncode == 1, "it names the lost row"


@pytest.mark.long
def test_p9_a_table_that_nothing_needs_is_given_up(make, database, outbox):
    relay = make().run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)
    relay.stop()
    database.execute("drop table walpost_parked")
    relay.configure({**relay.config, "on_error": {}})
    relay.start()
    relay.wait_unready("parked_table_missing")
    assert _accept(relay).returncode == 0
    relay.wait_ready()
    assert database.value("select to_regclass('walpost_parked') is null")


@pytest.mark.long
def test_p9_another_name_does_not_forget_what_is_parked(make, database, kafka,
                                                       outbox, topics):
    relay = make().run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)
    relay.stop()
    relay.configure({**relay.config, "parking": {"table": "public.other"}})
    said = relay.verb("parked", "list")
    assert said.returncode == 3, said
    assert "set parking.table: public.walpost_parked" in said.stderr
    said = relay.verb("check")
    assert said.returncode == 1 and "public.walpost_parked" in said.stdout
    relay.start()
    relay.wait_unready("set parking.table: public.walpost_parked")
    outbox.insert("order", "k", "2")
    assert _values(kafka, topics) == []
    # Its new name, in the database, too.
    database.execute("alter table walpost_parked rename to other")
    database.wait_confirmed(relay.slot)
    assert len(json.loads(relay.verb("parked", "list", "--json").stdout)) > 0
    # Nothing is in it any more: another one may take its place.
    assert relay.verb("parked", "discard", "--all", "--why",
                      "a test").returncode == 0
    database.wait_confirmed(relay.slot)
    wait_until(lambda: _values(kafka, topics) == [2], relay.log)
    relay.stop()
    relay.configure({**relay.config, "parking": {"table": "public.third"}})
    relay.run()
    wait_until(lambda: database.value("select to_regclass('third') is not null"),
               "the table of the new name")


@pytest.mark.long
def test_p3_each_take_over_looks_into_the_table(make, database, kafka, outbox,
                                               topics):
    """Rolling out `park`: the old configuration has the slot, then the new one
    parks a key, then the old one has the slot again."""
    old = make(on_error={}).run()
    new = make()
    for number in (1, 2):
        new.start()
        wait_until(lambda: new.get("/readyz")[1].startswith("standby"),
                   new.log)
        old.kill()
        new.wait_ready()
        outbox.insert("order", f"k{number}", "1", headers=_BAD)
        outbox.insert("order", f"k{number}", "2")
        database.wait_confirmed(new.slot)
        old.start()
        wait_until(lambda: old.get("/readyz")[1].startswith("standby"),
                   old.log)
        new.kill()
        old.wait_ready()
        outbox.insert("order", f"k{number}", "3")
        database.wait_confirmed(old.slot)
        assert _values(kafka, topics) == [], "they follow the parked ones"
        wait_until(lambda: old.get("/readyz")[1].startswith("degraded"),
                   old.log)


@pytest.mark.parametrize("harm, remedy", [
    ("alter table walpost_parked set unlogged", "SET LOGGED"),
    ("create view walpost_parked as select 1", "is not a table"),
    ("create table walpost_parked (id int)", "is not one of parked events"),
])
@pytest.mark.long
def test_p1_a_table_that_may_lose_rows_is_refused(make, database, outbox, harm,
                                                  remedy):
    relay = make()
    is_made = "set unlogged" in harm
    if is_made:
        relay.run()
        relay.stop()
    database.execute(harm)
    said = relay.verb("check")
    assert said.returncode == 1 and remedy in said.stdout, said.stdout
    relay.start()
    if not is_made:
        assert relay.wait_exit() == 3
        assert remedy in relay.log()
        return
    assert relay.wait_exit() == 3
    sql = relay.log().split("run as its owner: ")[1].splitlines()[0]
    database.execute(sql)
    relay.run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)


@pytest.mark.parametrize("harm", [
    "create function gone() returns trigger language plpgsql as $$ begin "
    "return null; end $$; create trigger gone before insert on walpost_parked "
    "for each row execute function gone()",
    "create function gone() returns trigger language plpgsql as $$ begin "
    "delete from walpost_parked where number = new.number; return null; end $$; "
    "create trigger gone after insert on walpost_parked for each row execute "
    "function gone()",
    "create rule gone as on insert to walpost_parked do instead nothing",
], ids=["before", "after", "rule"])
@pytest.mark.long
def test_p1_what_is_stored_is_read_back(make, database, kafka, outbox, topics,
                                        harm):
    relay = make().run()
    database.execute(harm)
    outbox.insert("order", "k", "1", headers=_BAD)
    outbox.insert("order", "k", "2")
    relay.wait_unready("has not kept the event at")
    confirmed = database.confirmed_lsn(relay.slot)
    assert _values(kafka, topics) == []
    if "rule" in harm:
        database.execute("drop rule gone on walpost_parked")
    else:
        database.execute("drop trigger gone on walpost_parked")
    database.wait_confirmed(relay.slot, seconds=60)
    assert database.confirmed_lsn(relay.slot) > confirmed
    assert relay.verb("parked", "discard", "--all", "--why",
                      "a test").returncode == 0
    wait_until(lambda: _values(kafka, topics) == [2], relay.log)


def test_a_locked_table_is_named(make, database, outbox):
    relay = make().run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)
    with database.transaction() as cursor:
        cursor.execute("lock table walpost_parked in access exclusive mode")
        cursor.execute("select pg_backend_pid()")
        pid = cursor.fetchone()[0]
        for words in (["parked", "list"],
                      ["parked", "discard", "--all", "--why", "a test"]):
            said = relay.verb(*words)
            assert said.returncode == 3, said
            assert f"is locked by session {pid}" in said.stderr, said.stderr
    assert relay.verb("parked", "list").returncode == 0


def test_p10_nothing_is_ready_before_it_is_known_what_is_parked(
        make, database, outbox):
    relay = make().run()
    outbox.insert("order", "k", "1", headers=_BAD)
    database.wait_confirmed(relay.slot)
    relay.stop()
    with database.transaction() as cursor:
        cursor.execute("lock table walpost_parked in access exclusive mode")
        relay.start()
        text = relay.wait_unready("what is parked")
        assert "streaming" not in relay.log(), relay.log()
        assert "starting" in text, text
    relay.wait_ready()
    relay.wait_log("degraded")


@pytest.mark.long
def test_p1_another_event_at_its_position_stops_the_flow(
        make, database, kafka, outbox, topics):
    """The row is of an event that the server has forgotten."""
    relay = make(dead_letter={"store": "postgres"}, on_error={
        "headers_unreadable": "dead_letter"}).run()
    outbox.insert("order", "k", "1", headers=_BAD)
    with database.transaction() as cursor:
        for _ in range(2):
            outbox.insert("order", "k", "2", headers=_BAD, cursor=cursor)
        outbox.insert("not legal!", "k", "3", cursor=cursor)
    relay.wait_unready("topic_illegal")
    relay.stop()
    position, = database.execute(
        "update walpost_parked set digest = 'i00' where position = (select "
        "max(position) from walpost_parked) returning number")
    relay.start()
    text = relay.wait_unready("parked_event_differs")
    sql = text[text.index("DELETE FROM"):].split(";")[0]
    assert sql.endswith(str(position[0]))
    database.execute(sql)
    relay.stop()
    relay.start()
    relay.wait_unready("topic_illegal")
    listed = [json.loads(line) for line in relay.verb(
        "dead-letters", "list", "--json").stdout.splitlines()]
    assert len(listed) == 3


def _narrow(kafka, topics, limit):
    kafka.set_topic_config(topics + "order", "max.message.bytes", limit)


@pytest.mark.parametrize("case", values(
    lost=["UPDATE", "DELETE", "trigger"], sent=["parked", "letter"],
    guarantee=["at_least_once", "exactly_once"],
    unless=lambda case: case["lost"] == "DELETE" and
    case["sent"] == "letter"), ids=str)
@pytest.mark.long
def test_p5_what_cannot_be_marked_is_not_sent_again_and_again(
        make, database, kafka, outbox, topics, case):
    """The role loses a right on the table, or a trigger rejects the mark; an
    operator releases an event, and the one behind it follows."""
    role = database.name + "_role"
    database.execute(f"create role {role} login replication; "
                     f"grant select on outbox to {role}; "
                     f"grant create on database {database.name} to {role}; "
                     f"create publication walpost for table outbox with "
                     f"(publish = 'insert'); "
                     f"alter publication walpost owner to {role}")
    wide = json.dumps("x" * 10 + os.urandom(5000).hex())
    _narrow(kafka, topics, "5000")
    letters = case["sent"] == "letter"
    relay = make(
        dead_letter={"store": "postgres"},
        on_error={"record_too_large": "dead_letter" if letters else "park"},
        delivery={"guarantee": case["guarantee"]}, checkpoint={
            "store": "kafka" if case["guarantee"] == "exactly_once" else "none",
            "topic": f"c-{topics}"}).run()
    outbox.insert("order", "k", wide)
    outbox.insert("order", "k", "2")
    database.wait_confirmed(relay.slot)
    relay.stop()
    database.execute(f"alter table walpost_parked owner to {role}")
    verb_config = relay.config
    relay.configure({**relay.config, "postgres": {
        **relay.config["postgres"], "conninfo": database.conninfo(user=role)}})
    try:
        if case["lost"] == "trigger":
            database.execute(
                "create function stop() returns trigger language plpgsql as "
                "$$ begin if new.state in ('released', 'dead_letter_retried') "
                "then raise 'no mark'; end if; return new; end $$; create "
                "trigger stop before update on walpost_parked for each row "
                "execute function stop()")
        _narrow(kafka, topics, "1000000")
        relay.run()
        if case["lost"] != "trigger":
            database.execute(f"alter table walpost_parked owner to postgres; "
                             f"grant select, insert, update, delete on "
                             f"walpost_parked to {role}; revoke "
                             f"{case['lost']} on walpost_parked from {role}")
        number = "dead_letter_retry" if letters else "retry"
        database.execute(f"update walpost_parked set state = '{number}' where "
                         "state in ('dead', 'dead_letter')")
        relay.wait_unready("no mark" if case["lost"] == "trigger"
                           else "GRANT SELECT, INSERT, UPDATE, DELETE", 60)
        time.sleep(8)
        once = 1 if case["lost"] == "trigger" else 0
        sent = [record for record in KafkaReader(kafka.bootstrap).read(
            topics + "order") if len(record.value) > 10]
        assert len(sent) == once, "each attempt sends it again"
        if case["lost"] == "trigger":
            database.execute("drop trigger stop on walpost_parked")
        else:
            text = relay.wait_unready("GRANT SELECT", 30)
            sql = text[text.index("create table"):].split(" (sql")[0]
            database.execute(sql.rsplit(";", 1)[0])
        database.wait_confirmed(relay.slot, seconds=60)
        wait_until(lambda: not database.value(
            "select count(*) from walpost_parked where state in ('retry', "
            "'waiting', 'dead_letter_retry')"), relay.log, 60)
        sent = [record for record in KafkaReader(kafka.bootstrap).read(
            topics + "order") if len(record.value) > 10]
        assert len(sent) == 1
    finally:
        relay.close()
        relay.configure(verb_config)
        database.execute(f"reassign owned by {role} to postgres; "
                         f"drop owned by {role}; drop role {role}")
