"""P10: of two troubles, what no outage's end mends is shown, whichever came first,
for every store and guarantee; and when one is over, the other."""

import json
import re
import signal
import time

import pytest

from harness import Outbox, Postgres, checkpoint_section, wait_until
from harness.exactly_once import once
from harness.matrix import pairs

# pylint: disable=redefined-outer-name

_SHOWN_WITHIN_S = 12
_SHOWN_FOR_S = 3
_BAD = '["no object"]'  # for the headers
_CODES = {"slot_lost": "slot_lost", "slot_missing": "slot_missing",
          "publication": "coverage_changed", "event": "headers_unreadable",
          "latched": "slot_missing", "parked_table": "parked_table_missing"}


@pytest.fixture(scope="module")
def thrifty_postgres(module_directory):
    """Keeps one segment of WAL for a slot."""
    server = Postgres(module_directory / "thrifty", settings={
        "max_slot_wal_keep_size": "16MB", "max_wal_size": "32MB",
        "wal_keep_size": "0"}).start()
    yield server
    server.close()


@pytest.fixture
def database(thrifty_postgres, walposts):
    fresh = thrifty_postgres.create_database()
    yield fresh
    for instance in walposts:
        instance.close()
    fresh.drop()


class _Scene:
    """One relay, and the two troubles that befall it."""

    def __init__(self, case, relay, database, broker, outbox):
        self.case, self.relay, self.database = case, relay, database
        self._broker, self.outbox = broker, outbox

    def lose_kafka(self):
        if self.case["outage"] == "freeze":
            self._broker.freeze()
        else:
            self._broker.kill()

    def bring_kafka(self):
        self._broker.mend()

    def harm(self):
        getattr(self, "_" + self.case["trouble"])()

    def befall(self):
        if self.case["trouble"] == "latched":
            self.lose_kafka()
            return
        steps = [self.harm, self.lose_kafka]
        if self.case["order"] == "outage first":
            steps.reverse()
        for step in steps:
            step()

    def _slot_lost(self):
        """While walpost cannot confirm."""
        self._held(lambda: wait_until(self._is_lost, "the slot to be lost"))

    def _is_lost(self):
        self.database.execute("create table if not exists filler ()")
        self.database.execute("drop table filler")
        self.database.execute("select pg_switch_wal()")
        self.database.execute("checkpoint")
        return self.database.value(
            "select wal_status from pg_replication_slots where slot_name = %s",
            (self.relay.slot,)) == "lost"

    def _slot_missing(self):
        self._held(self._drop_slot)

    def _drop_slot(self):
        self.database.execute(
            "select pg_terminate_backend(active_pid) from pg_replication_slots "
            "where slot_name = %s and active", (self.relay.slot,))
        self.database.wait_slot_inactive(self.relay.slot)
        self.database.execute("select pg_drop_replication_slot(%s)",
                              (self.relay.slot,))

    def _latched(self):
        self._slot_missing()
        self.relay.wait_unready(re.escape("[slot_missing]"))

    def _publication(self):
        self.database.execute("alter publication walpost drop table outbox")

    def _parked_table(self):
        self.database.execute("alter table walpost_parked rename to gone")

    def _event(self):
        self.outbox.insert("order", "bad", headers=_BAD)
        if self.case["order"] == "harm first":
            self.relay.wait_unready("headers_unreadable")

    def _held(self, harm):
        if not self.relay.running():
            return harm()
        self.relay.send(signal.SIGSTOP)
        try:
            return harm()
        finally:
            self.relay.send(signal.SIGCONT)

    def code(self):
        status = self.relay.get("/status")[1]
        return json.loads(status)["reason_code"] if status[:1] == "{" else ""

    def assert_shown(self):
        code = _CODES[self.case["trouble"]]
        wait_until(lambda: self.code() == code,
                   lambda: f"{code}; it says {self.relay.get('/readyz')}",
                   _SHOWN_WITHIN_S)
        end = time.monotonic() + _SHOWN_FOR_S
        while time.monotonic() < end:
            status, text = self.relay.get("/readyz")
            assert status == 503 and text.startswith("stuck"), text
            assert self.code() == code, text
            time.sleep(0.2)
        assert self.relay.metric(f'walpost_reason{{reason_code="{code}"}}') == 1
        assert f"[{code}]" in self.relay.log()

    def cure(self):
        """As an operator would."""
        if self.case["trouble"] == "event":
            self.relay.wait_unready("headers_unreadable")
            at = json.loads(self.relay.get("/status")[1])["stopped_position"]
            self._run("skip", at, "--why", "a test", "--by", "alice")
            return
        self.relay.stop()
        if self.case["trouble"] == "parked_table":
            self.database.execute("alter table gone rename to walpost_parked")
        elif self.case["trouble"] == "publication":
            self.database.execute("alter publication walpost add table outbox")
            self._run("recover", "--accept")
        else:
            self._run("recover")
        self.relay.start()

    def _run(self, *words):
        said = self.relay.verb(*words)
        assert said.returncode == 0, said.stdout + said.stderr


@pytest.fixture
def scene(request, walpost, database, own_kafka, topics, directory):
    case = request.param
    if case["store"] == "transactions":
        sections = once(topics)
    else:
        sections = checkpoint_section(case["store"], directory, topics)
    if case["trouble"] == "parked_table":
        sections["on_error"] = {"topic_illegal": "park"}
    outbox = Outbox(database, topics)
    relay = walpost(database, own_kafka, topics, outbox={
        "tables": [{"name": "public.outbox", "order_by": "sequence"}]},
        **sections).run()
    outbox.insert("order", "first")
    database.wait_confirmed(relay.slot)
    return _Scene(case, relay, database, own_kafka, outbox)


def _is_unknowable(case):
    """Of an event, a process knows that has read it; and nothing is latched by
    one that cannot look."""
    is_restarted = case["life"] == "restarted"
    return (case["trouble"] == "event" and is_restarted) or (
        case["trouble"] == "latched" and case["order"] == "outage first")


# In the usual run: a trouble of the server, of an event, and of a table.
_SAMPLE = [
    dict(zip(("trouble", "outage", "store", "order", "life"), values))
    for values in (
        ("slot_missing", "freeze", "transactions", "outage first", "running"),
        ("event", "freeze", "file", "outage first", "running"),
        ("parked_table", "kill", "transactions", "harm first", "restarted"))]

_CASES = pairs(
    _SAMPLE, trouble=["slot_lost", "slot_missing", "publication", "event", "latched",
                      "parked_table"],
    outage=["kill", "freeze"],
    store=["none", "file", "postgres", "kafka", "transactions"],
    order=["harm first", "outage first"],
    life=["running", "restarted"],
    unless=_is_unknowable)


@pytest.mark.parametrize("scene", _CASES, ids=str, indirect=True)
@pytest.mark.sample(3)
def test_p10_what_no_end_of_an_outage_mends_is_shown_first(
        scene, database, topics):
    # pylint: disable=unused-argument
    relay, case = scene.relay, scene.case
    if case["trouble"] == "latched":
        scene.harm()
    if case["life"] == "restarted":
        relay.stop()
    scene.befall()
    if case["life"] == "restarted":
        relay.start()
    scene.assert_shown()
    scene.bring_kafka()
    scene.assert_shown()
    scene.cure()
    relay.wait_ready(60)
    assert scene.code() == ""
    scene.outbox.insert("order", "last")
    database.wait_confirmed(relay.slot)


@pytest.mark.parametrize("scene", pairs(
    [{"trouble": "event", "outage": "freeze", "store": "postgres",
      "order": "outage first", "life": "running"}],
    trouble=["event"], outage=["kill", "freeze"],
    store=["none", "postgres"], order=["harm first", "outage first"],
    life=["running"]), ids=str, indirect=True)
@pytest.mark.long
def test_p10_when_the_worse_is_over_the_outage_is_shown(scene):
    relay = scene.relay
    scene.befall()
    scene.assert_shown()
    scene.cure()
    relay.wait_unready("stuck: (no Kafka broker|the Kafka brokers)", 20)
    assert scene.code() == ""
    scene.bring_kafka()
    relay.wait_ready(30)


@pytest.mark.parametrize("case", pairs(
    [{"outage": "kill", "event": "to another topic"}],  # the usual run
    outage=["kill", "freeze"], event=["before", "after", "to another topic"]),
    ids=str)
@pytest.mark.long
def test_p10_exactly_once_blames_the_brokers_that_are_all_down(
        walpost, database, own_kafka, topics, case):
    outbox = Outbox(database, topics)
    relay = walpost(database, own_kafka, topics, **once(topics)).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    if case["event"] == "before":
        outbox.insert("order", "order-2")
    own_kafka.freeze() if case["outage"] == "freeze" else own_kafka.kill()
    if case["event"] != "before":
        outbox.insert("other" if "topic" in case["event"] else "order",
                      "order-2")
    relay.wait_unready("no Kafka broker|the Kafka brokers", 12)
    end = time.monotonic() + 15
    while time.monotonic() < end:
        status, text = relay.get("/readyz")
        assert status == 503 and re.match(
            "stuck: (no Kafka broker|the Kafka brokers)", text), text
        time.sleep(0.2)
    assert "has each of its partitions a leader" not in relay.log()
    own_kafka.mend()
    relay.wait_ready(30)
    database.wait_confirmed(relay.slot)
