"""What is on record about an event is about that event, also when its position
becomes that of another one (P1, P8, P11): outbox.tables, outbox.messages or
postgres.publication change while a transaction is half done."""

import json

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import LONG, values

_BAD = '["no object"]'  # for the headers
_BOTH = [{"name": "public.outbox"}, {"name": "public.other"}]

# What becomes of the events that cannot be delivered.
_ACTIONS = {
    "parked": {"headers_unreadable": "park"},
    "discarded": {"headers_unreadable": "park"},
    "letter-postgres": {"headers_unreadable": "dead_letter"},
    "letter-kafka": {"headers_unreadable": "dead_letter"},
    "skipped": {},
}

# What counts as an event, before and after.
_CHANGES = {
    "table-removed": ({"tables": _BOTH}, {"tables": _BOTH[:1]}),
    "table-added": ({"tables": _BOTH[:1]}, {"tables": _BOTH}),
    "order-changed": ({"tables": _BOTH}, {"tables": _BOTH[::-1]}),
    "prefix-removed": ({"tables": _BOTH, "messages": {"prefix": "outbox"}},
                       {"tables": _BOTH, "messages": {"prefix": "nothing"}}),
    "publication": ({"tables": _BOTH}, {"tables": _BOTH}),
}

_CASES = values(record=list(_ACTIONS), change=list(_CHANGES),
               way=["stopped", "killed", "standby"],
               guarantee=["at_least_once", "exactly_once"],
               unless=lambda case: not LONG and (
                   case["guarantee"] == "exactly_once"
                   and case["way"] == "killed"))


class _Scene:
    """One transaction whose first events cannot be delivered, and which is half
    done: the flow has stopped before an event that has no topic."""

    def __init__(self, walpost, database, kafka, topics, case):
        self.database = database
        self.kafka = kafka
        self.topics = topics
        self.case = case
        self._walpost = walpost
        before, after = _CHANGES[case["change"]]
        self.before, self.after = before, after
        database.execute("alter table outbox alter aggregate_type drop not null")
        database.execute("create table other (like outbox including all)")
        for publication in ("walpost", "walpost2"):
            database.execute(f"create publication {publication} for table "
                             "outbox, other with (publish = 'insert')")
        kafka.create_topic(topics + "order", 1)
        kafka.create_topic(topics + "late", 1)
        kafka.create_topic(topics + "dead", 1)
        self.ids = {}

    def relay(self, outbox, publication, topic):
        letters = {"topic": self.topics + "dead"}
        if self.case["record"] == "letter-postgres":
            letters = {"store": "postgres"}
        return self._walpost(
            self.database, self.kafka, self.topics, outbox=outbox,
            on_error=_ACTIONS[self.case["record"]], dead_letter=letters,
            delivery={"guarantee": self.case["guarantee"]},
            checkpoint={"store": "kafka" if self.case["guarantee"] ==
                        "exactly_once" else "none",
                        "topic": f"c-{self.topics}"},
            postgres={"publication": publication},
            route={"topic": self.topics + topic})

    def first(self):
        return self.relay(self.before, "walpost", "{aggregate_type}")

    def second(self):
        """The cause is fixed: what stopped the flow has a topic."""
        changed = self.case["change"] == "publication"
        return self.relay(self.after, "walpost2" if changed else "walpost",
                          "{aggregate_type|default:late}")

    def write(self):
        """The transaction. Its events by name: o1, o2 of `other`; a to d of
        `outbox`, s without a topic; bad ones are o1 and a."""
        with self.database.transaction() as cursor:
            def insert(name, table, type_, key, headers=None):
                cursor.execute(
                    f"insert into {table} (aggregate_type, aggregate_id, "
                    "payload, headers) values (%s, %s, %s, %s) returning id",
                    (type_, key, json.dumps(name), headers))
                self.ids[name] = str(cursor.fetchone()[0])

            insert("o1", "other", "order", "o", _BAD)
            cursor.execute("select pg_logical_emit_message(true, 'outbox', %s)",
                           ('{"aggregate_type": "order", "aggregate_id": "m", '
                            '"id": "m1", "payload": "\\"m1\\""}',))
            insert("a", "outbox", "order", "a", _BAD)
            insert("b", "outbox", "order", "a")
            insert("o2", "other", "order", "o")
            insert("s", "outbox", None, "s")
            insert("c", "outbox", "order", "a")
            insert("d", "outbox", "order", "d")

    def pass_bad_events(self, relay):
        """Up to the event without a topic, with the bad ones on record."""
        record = self.case["record"]
        bad = {"o1", "a"} if len(self.before["tables"]) == 2 else {"a"}
        if record == "skipped":
            for _ in bad:
                relay.wait_unready("headers_unreadable")
                said = relay.verb("skip", _stopped_at(relay), "--why", "a test")
                assert said.returncode == 0, said.stderr
        relay.wait_unready("topic_field_missing")
        if record == "discarded":
            said = relay.verb("parked", "discard", "--all", "--why", "a test")
            assert said.returncode == 0, said.stderr
        if record == "skipped":
            wait_until(lambda: _comment(self.database).count("obeyed=yes") ==
                       len(bad), "the decisions to be noted as obeyed")
        return bad

    def change(self, relay):
        """The relay with the other configuration."""
        way = self.case["way"]
        if way == "standby":
            second = self.second().start()
            wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
                       second.log)
            relay.kill()
            return second
        relay.kill() if way == "killed" else relay.stop()
        return self.second().start()

    # ---- Afterwards.

    def values(self, topic="order"):
        found = KafkaReader(self.kafka.bootstrap).read(self.topics + topic)
        return [json.loads(record.value) for record in found]

    def on_record(self, relay):
        """Ids of events on record, one for each record of them."""
        record = self.case["record"]
        if record == "skipped":
            return []
        if record == "letter-kafka":
            said = relay.verb("dead-letters", "list", "--all", "--json")
            assert said.returncode == 0, said.stderr
            return [json.loads(line)["id"]
                    for line in said.stdout.splitlines()]
        verb = "dead-letters" if record == "letter-postgres" else "parked"
        said = relay.verb(verb, "list", "--all", "--json")
        assert said.returncode == 0, said.stderr
        return [json.loads(line)["id"] for line in said.stdout.splitlines()]


def _stopped_at(relay):
    return json.loads(relay.get("/status")[1])["stopped_position"]


def _comment(database):
    return "\n".join(row[0] or "" for row in database.execute(
        "select obj_description(oid, 'pg_publication') from pg_publication"))


@pytest.mark.parametrize("case", _CASES, ids=str)
@pytest.mark.sample(6)
def test_p1_a_record_is_about_its_event(walpost, database, kafka, outbox,
                                        topics, case):
    assert outbox  # the table
    scene = _Scene(walpost, database, kafka, topics, case)
    relay = scene.first().run()
    scene.write()
    bad = scene.pass_bad_events(relay)
    relay = scene.change(relay)
    if case["record"] == "skipped" and case["change"] == "table-added":
        # An event of the new table, which nobody has decided about.
        relay.wait_unready("headers_unreadable", 60)
        assert "o1" not in bad
        said = relay.verb("skip", _stopped_at(relay), "--why", "a test")
        assert said.returncode == 0, said.stderr
        bad |= {"o1"}
    if case["change"] == "publication":
        # Another publication is a gap, whatever it covers.
        relay.wait_unready("coverage_changed", 60)
        relay.stop()
        said = relay.verb("recover", "--accept")
        assert said.returncode == 0, said.stderr
        relay.start()
    database.wait_confirmed(relay.slot, seconds=90)
    if len(scene.after["tables"]) == 2:
        bad |= {"o1"}

    recorded = scene.on_record(relay)
    if case["record"] == "parked" or (
            case["record"] == "discarded" and case["change"] == "table-added"):
        # Behind the bad ones, in their order.
        said = relay.verb("parked", "discard", "--all", "--why", "a test")
        assert said.returncode == 0, said.stderr
    if case["record"] in ("parked", "discarded"):
        # What waited of a table that is not configured any more is dead.
        left = ["dead"] if case["change"] == "table-removed" else []
        wait_until(lambda: _waiting(database) == left,
                   lambda: f"{left}; there is {_waiting(database)}\n"
                           f"{relay.log()}")

    # Each event is in Kafka, or on record once.
    expected = {"b", "c", "d"}
    if len(scene.after["tables"]) == 2:
        expected |= {"o2"}
    wait_until(lambda: expected <= set(scene.values()),
               lambda: f"{expected}; there is {scene.values()}\n{relay.log()}")
    assert "s" in scene.values("late"), "it was not on record"
    assert not bad & set(scene.values()), "it was set aside"
    firsts = [value for value in dict.fromkeys(scene.values())
              if value in "abcd"]
    assert [value for value in firsts if value in "abc"] == ["b", "c"]
    for name in bad if case["record"] != "skipped" else ():
        assert recorded.count(scene.ids[name]) == 1, (name, recorded)
    if case["record"] == "skipped":
        assert _comment(database).count(" skip ") == len(bad)
    if case["guarantee"] == "exactly_once" and case["change"] in (
            "order-changed",):
        assert len(scene.values()) == len(set(scene.values()))
    # A restart changes nothing.
    before = (sorted(set(scene.values())), recorded)
    relay.stop()
    relay.run()
    database.wait_confirmed(relay.slot)
    after = (sorted(set(scene.values())), scene.on_record(relay))
    assert before[0] == after[0]
    assert len(after[1]) >= len([id for id in before[1]
                                 if id in map(scene.ids.get, bad)])


def _waiting(database):
    return [row[0] for row in database.execute(
        "select state from walpost_parked where state in ('dead', 'waiting', "
        "'retry')")]
