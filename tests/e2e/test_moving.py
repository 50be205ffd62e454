"""A database that moves to another server: what walpost says of it, and that
consumers which follow that lose nothing.

The consumer is that of docs/delivery.md: it keeps the last `walpost-position`
of each partition, and drops what does not sort after it."""

import itertools
import json
import re
import shlex
import subprocess

import pytest

from harness import (Database, KafkaReader, Outbox, Postgres,
                     checkpoint_section, wait_until)
from harness.matrix import pairs
from harness.pages import blocks
from harness.paths import fetched_postgres

# What must be said wherever the move is spoken of.
_FORGET = r"(?is)consumers.*walpost-position.*forget"


class Consumer:
    """Of all topics that begin with `topics`."""

    def __init__(self, kafka, topics):
        self._reader = KafkaReader(kafka.bootstrap)
        self._topics = topics
        self._next = {}
        self._last = {}
        self.handled = set()

    def read(self):
        """Handles what has come since; returns the ids so far."""
        for record in self._reader.read_all(self._topics):
            if record.topic.endswith("checkpoint"):
                continue
            place = (record.topic, record.partition)
            if record.offset < self._next.get(place, 0):
                continue
            self._next[place] = record.offset + 1
            position = dict(record.headers).get("walpost-position", b"")
            if position and position <= self._last.get(place, b""):
                continue
            if position:
                self._last[place] = position
            self.handled.add(record.id)
        return self.handled

    def forget(self):
        self._last = {}

    def wait_for(self, ids):
        wait_until(lambda: not set(ids) - self.read(),
                   lambda: f"{len(set(ids) - self.handled)} of {len(ids)} rows"
                   " at the consumer")


_numbers = itertools.count()


def _write(outbox, name, count):
    """Rows of a few keys, which have rows of the old server, too."""
    return [outbox.insert("order", f"key-{number % 3}",
                          payload=f'{{"from": "{name}"}}',
                          sequence=next(_numbers))
            for number in range(count)]


@pytest.fixture
def server(directory):
    """Makes servers: server(name, major=None)."""
    made = []

    def make(name, major=None):
        programs = {"bin_dir": fetched_postgres(major)} if major else {}
        made.append(Postgres(directory / name, **programs).start())
        return made[-1]

    yield make
    for one in made:
        one.close()


def _go_higher(old, how):
    """Positions beyond those of a server that was just made."""
    if how == "timeline":
        old.begin_timeline()
        return
    with old.connect() as connection, connection.cursor() as cursor:
        for _ in range(6):
            cursor.execute(
                "select pg_logical_emit_message(false, 'filler', 'x')")
            cursor.execute("select pg_switch_wal()")


def _run_script(target, script):
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                    target.conninfo(), "-f", "-"], input=script, check=True,
                   stdout=subprocess.DEVNULL, text=True)


def _dump(source, *words):
    return subprocess.run(
        ["pg_dump", "-d", source.conninfo(), *words], check=True,
        stdout=subprocess.PIPE, text=True).stdout


def _by_dump(source, target):
    _run_script(target, _dump(source))


def _by_subscription(source, target):
    """The publication is made again there, so nothing is on record."""
    _run_script(target, _dump(source, "--schema-only"))
    target.execute("drop publication walpost")
    source.execute("create publication moving for table outbox, truth")
    target.execute(
        f"create subscription moving connection '{source.conninfo()}' "
        "publication moving")
    rows = "select count(*) from outbox"
    wait_until(lambda: target.value(rows) == source.value(rows),
               "the rows to be copied")
    target.execute("drop subscription moving")
    source.execute("drop publication moving")


_WAYS = {"dump": _by_dump, "subscription": _by_subscription}


class Move:
    """An outbox on a server that is left, and its walpost."""

    def __init__(self, walpost, server, kafka, topics, directory, case,
                 **sections):
        self.old = server("old")
        _go_higher(self.old, case["higher"])
        self.new = server("new", case["major"])
        self.source = Database(self.old)
        self.target = Database(self.new)
        self.outbox = Outbox(self.source, topics)
        self.consumer = Consumer(kafka, topics)
        self.relay = walpost(
            self.source, kafka, topics,
            **checkpoint_section(case["store"], directory, topics),
            **sections).run()
        self.sent = _write(self.outbox, "old", 40)
        self.source.wait_confirmed(self.relay.slot)
        self.consumer.wait_for(self.sent)
        assert self.relay.stop() == 0
        self._case = case

    def carry_out(self):
        _WAYS[self._case["way"]](self.source, self.target)
        config = self.relay.config
        config["postgres"]["conninfo"] = self.target.conninfo()
        self.relay.configure(config)
        self.outbox = self.outbox.on(self.target)

    def is_on_record(self):
        """Whether walpost knows at the new server what it left."""
        return (self._case["way"] == "dump" or
                self._case["store"] in ("file", "kafka"))

    def recover(self):
        ran = self.relay.verb("recover", "--order-by", "sequence")
        if not self.is_on_record():
            assert ran.returncode == 3 and "--force" in ran.stderr, (
                ran.stdout + ran.stderr)
            ran = self.relay.verb("recover", "--order-by", "sequence",
                                  "--force")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def finish(self, pending=()):
        """Whoever has forgotten gets all that is written there."""
        self.consumer.forget()
        self.relay.run()
        later = _write(self.outbox, "new", 30)
        self.target.wait_confirmed(self.relay.slot)
        self.consumer.wait_for([*pending, *later])
        verified = self.relay.verb("verify", "--json", "--sequence", "sequence")
        found = json.loads(verified.stdout)["findings"]
        assert not any(found[kind]["count"] for kind in (
            "missing", "unconfirmed", "altered", "disorder", "undecided")), found
        assert self.relay.stop() == 0


_VALUES = {"way": list(_WAYS), "higher": ["timeline", "lsn"],
           "store": ["none", "file", "postgres", "kafka"],
           "major": [None, 17]}


@pytest.fixture
def move(walpost, server, kafka, topics, directory, request):
    return Move(walpost, server, kafka, topics, directory, request.param)


def _tail(text, lines=6):
    return "\n".join(text.strip().splitlines()[-lines:])


_CASES = [pytest.param(case, id=str(case)) for case in pairs(**_VALUES)]
_FRESH = [pytest.param(case, id=str(case)) for case in pairs(always=[
    dict(zip(_VALUES, chosen)) for chosen in [
        ("dump", "timeline", "none", None), ("dump", "lsn", "file", 17),
        ("subscription", "timeline", "kafka", None),
        ("subscription", "lsn", "none", 17)]], **_VALUES)]


@pytest.mark.parametrize("move", _CASES, indirect=True)
@pytest.mark.long
def test_p1_consumers_that_do_as_recover_says_lose_nothing(move):
    """Some rows were not sent before the move."""
    pending = _write(move.outbox, "pending", 7)
    move.carry_out()
    if move.is_on_record():
        move.relay.start()
        reason = move.relay.wait_unready(re.escape("[other_cluster]"))
        assert re.search(_FORGET, reason), reason
        # The slot is not there, so there is none to continue with.
        assert "--accept" not in reason, reason
        assert "init" in reason and "--fresh" in reason, reason
        assert move.relay.stop() == 0
    said = move.recover()
    assert re.search(_FORGET, _tail(said)), said
    move.finish(pending)
    assert re.search(_FORGET, move.relay.log()), move.relay.log()


@pytest.mark.parametrize("move", _FRESH, indirect=True)
@pytest.mark.long
def test_p1_consumers_that_do_as_init_says_lose_nothing(move):
    """Everything was sent before the move, so nothing has to be looked for."""
    move.carry_out()
    refused = move.relay.verb("init")
    if move.relay.config.get("checkpoint") is None and move.is_on_record():
        assert refused.returncode == 3, refused.stdout
        assert re.search(_FORGET, refused.stderr), refused.stderr
        text = refused.stderr
        assert text.index("walpost recover") < text.index("--fresh"), text
    made = move.relay.verb("init", "--fresh")
    assert made.returncode == 0, made.stderr
    said = refused.stdout + made.stdout
    assert re.search(_FORGET, _tail(said, 10)), said
    for command in re.findall(r"before walpost runs: (.*?); not if", said):
        _paste(command, move)
    move.finish()


def _paste(command, move):
    if command.startswith("DELETE"):
        move.target.execute(command)
        return
    subprocess.run(command, shell=True, check=True, timeout=60)


def _page_commands():
    return [shlex.split(line) for block in blocks()
            if block.page == "docs/moving.md"
            for line in block.text.splitlines()]


@pytest.mark.parametrize("major", [None, 17])
@pytest.mark.sample(2)
def test_the_commands_of_the_page(walpost, server, kafka, topics, directory,
                                  major):
    """From major 15, or the one under test, to another server."""
    move = Move(walpost, server, kafka, topics, directory, {
        "way": "dump", "higher": "timeline", "store": "none", "major": major})
    move.relay.run()
    said = []
    for word, verb, _, _, *words in _page_commands():
        assert word == "walpost"
        if verb == "recover" and not said:
            assert move.relay.stop() == 0
            move.consumer.read()
            move.carry_out()
        ran = move.relay.verb(verb, *words, *(
            ["--order-by", "sequence"] if verb == "recover" else []))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        if verb == "recover":
            said.append(ran.stdout)
    assert len(said) == 2 and all(re.search(_FORGET, text) for text in said)
    move.finish()


@pytest.mark.long
def test_a_slot_that_has_moved_with_its_server(walpost, server, kafka, topics,
                                               directory):
    """As pg_upgrade does it from 17 on: --accept sends what the slot has, also
    logical messages."""
    move = Move(walpost, server, kafka, topics, directory, {
        "way": "dump", "higher": "timeline", "store": "file", "major": 17},
        outbox={"tables": [{"name": "public.outbox"}],
                "messages": {"prefix": "outbox"}})
    move.carry_out()
    move.target.execute("select pg_create_logical_replication_slot(%s, "
                        "'pgoutput')", (move.relay.slot,))
    sent = _write(move.outbox, "in the slot", 5)
    message = ('{"id": "the-message", "aggregate_type": "order", '
               '"aggregate_id": "key-1", "payload": {}}')
    move.target.execute(
        "select pg_logical_emit_message(true, 'outbox', %s)", (message,))
    move.relay.start()
    reason = move.relay.wait_unready(re.escape("[other_cluster]"))
    assert re.search(_FORGET, reason), reason
    assert reason.index("walpost recover") < reason.index("--accept"), reason
    assert move.relay.stop() == 0
    dry = move.relay.verb("recover", "--dry-run", "--order-by", "sequence")
    assert "1 logical messages" in dry.stdout, dry.stdout + dry.stderr
    accepted = move.relay.verb("recover", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    assert re.search(_FORGET, _tail(accepted.stdout)), accepted.stdout
    move.finish([*sent, "the-message"])


@pytest.mark.parametrize("gap", ["server_behind", "timeline_diverged"])
@pytest.mark.long
def test_positions_that_go_back_on_the_same_server(
        walpost, server, kafka, topics, directory, gap):
    """A backup is put back: lower LSNs, or the timeline before a promotion."""
    old = server("old")
    database = Database(old)
    outbox = Outbox(database, topics)
    consumer = Consumer(kafka, topics)
    relay = walpost(database, kafka, topics,
                    **checkpoint_section("file", directory, topics)).run()
    _write(outbox, "before", 5)
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    database.move_to(old)
    old.backup(directory / "backup")
    if gap == "timeline_diverged":
        old.begin_timeline()
    else:
        _go_higher(old, "lsn")
    relay.run()
    _write(outbox, "lost", 20)
    database.wait_confirmed(relay.slot)
    consumer.read()
    assert relay.stop() == 0
    database.move_to(old)
    old.restore(directory / "backup")
    relay.start()
    reason = relay.wait_unready(re.escape(f"[{gap}]"))
    assert re.search(_FORGET, reason), reason
    assert relay.stop() == 0
    ran = relay.verb("recover", "--order-by", "sequence")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(_FORGET, _tail(ran.stdout)), ran.stdout
    consumer.forget()
    relay.run()
    later = _write(outbox, "after", 10)
    database.wait_confirmed(relay.slot)
    consumer.wait_for(later)
    assert relay.stop() == 0
