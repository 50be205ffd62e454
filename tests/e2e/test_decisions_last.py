"""What was decided about an event stays decided, whatever reads the WAL or the
table again: nothing is sent or written twice for it (P1, P8, P11)."""

import json

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import pairs

# What is on record about the event, and the policy of its class.
_STATES = {
    "skipped": {},
    "letter_kafka": {"headers_unreadable": "dead_letter"},
    "letter_postgres": {"headers_unreadable": "dead_letter"},
    "letter_kafka_discarded": {"headers_unreadable": "dead_letter"},
    "letter_postgres_discarded": {"headers_unreadable": "dead_letter"},
    "letter_postgres_retried": {"headers_unreadable": "dead_letter"},
    "letter_kafka_retried": {"headers_unreadable": "dead_letter"},
    "parked": {"headers_unreadable": "park"},
    "parked_discarded": {"headers_unreadable": "park"},
    "released": {"headers_unreadable": "park"},
}
_SENT = ("letter_postgres_retried", "letter_kafka_retried", "released")
_PATHS = ("recover", "replay", "replay_table", "init_fresh", "other_instance")

# With this mapping the event can be delivered.
_TABLE = {"name": "public.outbox", "order_by": "sequence"}
_OUTBOX = {"tables": [_TABLE]}
_MENDED = {"tables": [{**_TABLE, "columns": {"headers": None}}]}


def _letters_in(store, topics):
    return {"store": store,
            **({"topic": topics + "dead"} if store == "kafka" else {})}


def _is_letter(record):
    return "walpost-dead-letter" in dict(record.headers)


class _Story:
    """One event that cannot be delivered, and what is decided about it."""

    def __init__(self, walpost, database, kafka, outbox, topics, state):
        self.database, self.kafka, self.topics = database, kafka, topics
        self.outbox, self.walpost = outbox, walpost
        store = "postgres" if "postgres" in state else "kafka"
        self.sections = {
            "on_error": _STATES[state], "replay": {"window": "64MiB"},
            "outbox": _OUTBOX, "dead_letter": _letters_in(store, topics)}
        self.state = state
        self.relay = self.make().run()

    def make(self, **sections):
        return self.walpost(self.database, self.kafka, self.topics,
                            **{**self.sections, **sections})

    def verb(self, *words, code=0):
        said = self.relay.verb(*words)
        assert said.returncode == code, said.stdout + said.stderr
        return said.stdout

    def configure(self, **sections):
        """Another configuration, from the next start on."""
        self.relay.configure({**self.relay.config, **sections})

    def records(self, event):
        return [record for record in KafkaReader(self.kafka.bootstrap)
                .read_all(self.topics) if record.id == event
                and not record.topic.endswith("dead")]

    def letters(self):
        """All copies, also of what is settled."""
        records = [record for record in KafkaReader(self.kafka.bootstrap)
                   .read_all(self.topics) if _is_letter(record)]
        rows = self.database.execute(
            "select number from walpost_parked" if self.database.value(
                "select to_regclass('walpost_parked') is not null")
            else "select 1 where false")
        return len(records), len(rows)

    def restart(self, **sections):
        self.relay.stop()
        self.configure(**sections)
        self.relay.run()

    def bring_about(self, event):
        """Brings the event into its state."""
        why = ("--why", "so be it", "--by", "alice")
        if self.state == "skipped":
            self.relay.wait_unready("headers")
            position = json.loads(self.relay.get("/status")[1])[
                "stopped_position"]
            self.verb("skip", position, *why)
        self.database.wait_confirmed(self.database.name)
        if self.state in _SENT:
            self.restart(outbox=_MENDED)
        if self.state == "released":
            self.verb("parked", "release", "--all", *why)
        if self.state == "parked_discarded":
            self.verb("parked", "discard", "--all", *why)
        if self.state.endswith("retried"):
            self.verb("dead-letters", "retry", "--all", "--out-of-order", *why)
        if self.state.startswith("letter") and "discarded" in self.state:
            self.verb("dead-letters", "discard", "--all", *why)
        if self.state in _SENT:
            wait_until(lambda: self.records(event), self.relay.log)
            self.restart(outbox=_OUTBOX)


def _cannot_be_sent_again(case):
    """What is in Kafka, and could not be delivered as configured now."""
    return (case["state"] in _SENT and case["cause"] == "there" and
            case["path"] not in ("recover", "other_instance"))


@pytest.fixture
def story(walpost, database, kafka, outbox, topics):
    return lambda state: _Story(walpost, database, kafka, outbox, topics, state)


def _listed(relay):
    """What the verbs list, also of what is settled."""
    lists = []
    for words in (("parked", "list", "--all", "--json"),
                  ("dead-letters", "list", "--all", "--json")):
        said = relay.verb(*words)
        assert said.returncode == 0, said.stderr
        lists += [(shown["id"], shown["state"]) for shown in
                  map(json.loads, said.stdout.splitlines())]
    return lists


def _take(story, path):
    """Reads the events again. Returns what the verb has said."""
    relay, database = story.relay, story.database
    if path == "replay":
        return story.verb("replay", "--since", "1h")
    if path == "replay_table":
        return story.verb("replay", "--from-table")
    if path == "other_instance":
        other = story.make(**{name: relay.config[name] for name in
                              ("outbox", "on_error") if name in relay.config})
        other.start()
        relay.kill()
        other.wait_ready()
        return ""
    relay.stop()
    database.execute("select pg_drop_replication_slot(slot_name) from "
                     "pg_replication_slots where slot_name like %s",
                     (database.name + "%",))
    said = story.verb(*({"recover": ("recover", "--all"),
                         "init_fresh": ("init", "--fresh")}[path]))
    story.configure(snapshot="initial")
    relay.run()
    return said


# In the usual run: each state, and each path more than once.
_SAMPLE = [{"state": state, "path": path, "cause": cause}
           for state, path, cause in (
               ("skipped", "init_fresh", "mended"),
               ("letter_kafka", "replay", "mended"),
               ("letter_postgres_discarded", "recover", "mended"),
               ("letter_kafka_retried", "recover", "there"),
               ("parked_discarded", "replay_table", "there"),
               ("released", "other_instance", "mended"))]


@pytest.mark.parametrize("case", pairs(
    _SAMPLE, state=list(_STATES), path=_PATHS, cause=("mended", "there"),
    unless=_cannot_be_sent_again), ids=str)
@pytest.mark.sample(6)
def test_p8_a_decision_outlasts_what_reads_again(story, case):
    state, path = case["state"], case["path"]
    told = story(state)
    before = told.outbox.insert("order", "other", "1")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    behind = told.outbox.insert("order", "k", "3")
    told.bring_about(event)
    if case["cause"] == "mended":
        told.restart(outbox=_MENDED)
    told.database.wait_confirmed(told.database.name)
    waits = state == "parked"
    wait_until(lambda: waits or told.records(behind), told.relay.log)
    sent, letters = len(told.records(event)), told.letters()
    assert sent == (1 if state in _SENT else 0)
    listed = _listed(told.relay)
    said = _take(told, path)
    last = told.outbox.insert("order", "last", "4")
    told.database.wait_confirmed(told.database.name)
    wait_until(lambda: told.records(last), told.relay.log)
    assert told.records(before)
    assert bool(told.records(behind)) != waits
    # What was sent can be sent again, but is never taken for undelivered.
    again = state in _SENT and case["cause"] == "mended" and path in (
        "replay", "replay_table", "init_fresh")
    assert len(told.records(event)) == sent + again
    if state not in _SENT:
        assert told.letters() == letters
        assert _listed(told.relay) == listed
        if path in ("recover", "replay", "replay_table"):
            kind = ("parked" if state == "parked" else
                    "discarded" if "discarded" in state else
                    "skipped" if state == "skipped" else "dead letter")
            line, = [line for line in said.splitlines() if kind in line]
            assert line.startswith(f"left out: {2 if waits else 1} ")


def test_p11_verify_names_what_was_skipped(story):
    told = story("skipped")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.bring_about(event)
    said = told.relay.verb("verify", "--json")
    report = json.loads(said.stdout)
    assert said.returncode == 1 and not report["clean"]
    assert {name for name, found in report["findings"].items()
            if found["count"]} == {"skipped"}
    assert event in str(report["findings"]["skipped"])


@pytest.mark.long
def test_p11_a_dry_run_lists_ids(story):
    told = story("letter_kafka")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.database.wait_confirmed(told.database.name)
    told.relay.stop()
    told.database.execute("select pg_drop_replication_slot(slot_name) from "
                          "pg_replication_slots where slot_name like %s",
                          (told.database.name + "%",))
    lost = told.outbox.insert("order", "k", "3")
    dead = told.outbox.insert("order", "k", "4", headers="[2]")
    said = told.verb("recover", "--dry-run", "--all").splitlines()
    assert f"{event}  dead_letter" in said
    assert f"{lost}  to be published" in said
    assert f"{dead}  not deliverable" in said
    assert any("1 are not published, 1 not deliverable" in line
               for line in said), said
    said = told.verb("recover", "--all")
    assert "1 published with header walpost-recovered, 1 not" in said
    assert told.letters()[0] == 2


@pytest.mark.long
def test_p8_ids_that_are_named_are_sent(story, directory):
    told = story("letter_kafka")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.database.wait_confirmed(told.database.name)
    told.restart(outbox=_MENDED)
    ids = directory / "ids"
    ids.write_text(event + "\n")
    assert "0 rows replayed" in told.verb("replay", "--from-table")
    assert "1 rows replayed" in told.verb("replay", "--from-table", "--ids",
                                          str(ids))
    assert len(told.records(event)) == 1


@pytest.mark.parametrize("later", [
    {"topic": "other.dead"}, {"topic": "other.{class}.dead"},
    {"store": "postgres", "topic": None}], ids=str)
@pytest.mark.long
def test_p3_dead_letters_of_an_earlier_topic(story, topics, later):
    told = story("letter_kafka")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.database.wait_confirmed(told.database.name)
    wait_until(lambda: " letters=" in told.database.value(
        "select obj_description(oid) from pg_publication"), told.relay.log)
    dead_letter = {"store": "kafka", **later}
    if dead_letter["topic"]:
        dead_letter["topic"] = topics + dead_letter["topic"]
    told.restart(outbox=_MENDED, dead_letter={
        key: value for key, value in dead_letter.items() if value})
    assert "0 rows replayed" in told.verb("replay", "--from-table")
    assert told.records(event) == []


@pytest.mark.long
def test_p3_an_earlier_topic_that_cannot_be_told_hides_no_other(story, topics):
    told = story("letter_kafka")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.database.wait_confirmed(told.database.name)
    told.restart(dead_letter={"topic": "{aggregate_type}.dead"})
    wait_until(lambda: "%7Baggregate_type%7D" in told.database.value(
        "select obj_description(oid) from pg_publication"), told.relay.log)
    told.restart(outbox=_MENDED, dead_letter=_letters_in("kafka", topics))
    said = told.relay.verb("replay", "--from-table")
    assert "0 rows replayed" in said.stdout, said.stdout + said.stderr
    assert "{aggregate_type}.dead" in said.stdout + said.stderr
    assert told.records(event) == []


@pytest.mark.long
def test_p1_another_service_with_the_same_ids(story):
    """Its dead letters, in the same topic, are not ours."""
    told = story("letter_kafka")
    event = told.outbox.insert("order", "k", "2", headers="[1]")
    told.database.wait_confirmed(told.database.name)
    # What another database has under this id.
    told.database.execute("update outbox set payload = '3' where id = %s",
                          (event,))
    told.restart(outbox=_MENDED)
    assert "1 rows replayed" in told.verb("replay", "--from-table")
    assert [record.value for record in told.records(event)] == [b"3"]


@pytest.mark.parametrize("decided", [False, True], ids=["open", "discarded"])
@pytest.mark.long
def test_p8_a_snapshot_that_is_begun_again(
        walpost, database, kafka, outbox, topics, decided):
    dead = [outbox.insert("order", "k", "1", headers="[1]") for _ in range(3)]
    stop = outbox.insert("not legal!", "k", "2")
    relay = walpost(
        database, kafka, topics, snapshot="initial",
        outbox=_OUTBOX,
        on_error={"headers_unreadable": "dead_letter"},
        dead_letter=_letters_in("kafka", topics))
    relay.start()
    relay.wait_unready("topic")
    if decided:
        said = relay.verb("dead-letters", "discard", "--all", "--why", "x")
        assert said.returncode == 0, said.stderr
    relay.kill()
    database.execute("update outbox set aggregate_type = 'order' where id = %s",
                     (stop,))
    relay.run()
    relay.wait_log("begins at")
    records = KafkaReader(kafka.bootstrap).read_all(topics)
    assert [record.id for record in records
            if not record.topic.endswith("dead")] == [stop]
    listed = [shown for shown in _listed(relay) if shown[0] in dead]
    assert len(listed) == 3
    assert all("discarded" in state if decided else state == "open"
               for _, state in listed), listed
    assert len(list(filter(_is_letter, records))) == 3
