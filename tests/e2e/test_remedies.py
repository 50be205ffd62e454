"""`check` says what `run` does, and what they print can be pasted, and heals.

The states are in states.py, one a row.
"""

import contextlib
import http.server
import json
import pathlib
import re
import shlex
import signal
import string
import subprocess
import threading
import time

import pytest

from harness import (Outbox, Postgres, put_on_record,
                     wait_until)
from harness.matrix import LONG
from harness.paths import walpost_binary
from harness.ports import free_port
from harness.remedies import (commands, run_command, run_printed_tool,
                              statements, tools)
from harness.sections import laid_over
from states import ELSEWHERE, STATES, Edit, State

# Time in which a `run` that streams does so, and one that does not shows it.
_STREAMS_S = 30
_STUCK_S = 12 if LONG else 5


def _full(directory):
    server = Postgres(directory, settings={"max_replication_slots": 1})
    return server.start()


_START = {
    "replica": lambda directory: Postgres(
        directory, settings={"wal_level": "replica"}).start(),
    "full": _full,
}


@pytest.fixture(scope="module")
def servers(module_directory, request):
    made = {}

    def server(name):
        if name == "postgres":
            return request.getfixturevalue("postgres")
        if name not in made:
            made[name] = _START[name](module_directory / name)
        return made[name]

    yield server
    for each in made.values():
        each.close()


class World:
    """One state, with all that belongs to it."""

    def __init__(self, state, server, kafka, topics, directory, make):
        self.state = state
        self.server = server
        self.kafka = kafka
        self.topics = topics
        self.directory = directory
        self.closing = []
        self.database = server.create_database()
        self.outbox = Outbox(self.database, topics)
        self.role = f"relay_{self.database.name}"
        if state.role is not None:
            self.database.execute(
                f"create role {self.role} login {state.role}")
        self._do(state.before)
        self.listen = f"127.0.0.1:{free_port()}"
        self.relay = make(self.database, kafka, topics,
                          **self._filled(self._of(state.sections)))
        if state.role is not None:
            self.relay.configure(laid_over(self.relay.config, {
                "postgres": {"conninfo": self.database.conninfo(self.role)}}))
        if state.init:
            self._init()
        self._do(state.after)

    def _init(self):
        """As an administrator; with the configuration that works."""
        words = ["--admin", self.database.conninfo()] if (
            self.state.role is not None) else []
        made = self.relay.verb("init", *words)
        if made.returncode == 2:  # it is the configuration that is wrong
            working = pathlib.Path(self.directory) / "working.yaml"
            config = json.loads(json.dumps(self.relay.config))
            for section in ("http", "checkpoint", "kafka"):
                config.pop(section, None)
            working.write_text(json.dumps(config))
            made = subprocess.run(
                [walpost_binary(), "init", "-c", working, *words], check=False,
                capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stdout + made.stderr

    def _of(self, sections):
        return sections(self) if callable(sections) else sections

    def _filled(self, thing):
        if isinstance(thing, str):
            return string.Template(thing).safe_substitute(
                slot=self.database.name, database=self.database.name,
                role=self.role)
        if isinstance(thing, dict):
            return {key: self._filled(value) for key, value in thing.items()}
        if isinstance(thing, list):
            return [self._filled(value) for value in thing]
        return thing

    def _do(self, what):
        if callable(what):
            what(self)
            return
        for statement in filter(str.strip, what.split(";")):
            self.database.execute(self._filled(statement))

    def edit(self, sections):
        self.relay.configure(laid_over(
            self.relay.config, self._filled(self._of(sections))))

    def put_on_record(self, **words):
        put_on_record(self.database, self.database.name, **words)

    def read_slot(self):
        reader = subprocess.Popen(
            ["pg_recvlogical", "-d", self.database.conninfo(), "--slot",
             self.database.name, "--start", "-f", "/dev/null", "--no-loop",
             "-o", "proto_version=1", "-o", "publication_names=walpost"])
        self.closing.append(contextlib.closing(_Killed(reader)))
        wait_until(lambda: self.database.value(
            "select active from pg_replication_slots where slot_name = %s",
            (self.database.name,)), "the slot to be in use")

    def http_server(self):
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.closing.append(contextlib.closing(server.socket))
        return f"127.0.0.1:{server.server_address[1]}"

    def check(self):
        return self.relay.verb("check")

    def streams(self, expected):
        """Whether `run` comes to stream, and all that it says."""
        self.relay.start()
        limit = time.monotonic() + (_STREAMS_S if expected else _STUCK_S)
        ready, said = False, set()
        listens = self.relay.config.get("http", {}).get("listen")
        while time.monotonic() < limit and self.relay.running() and not ready:
            if not listens:
                ready = re.search("info streaming$", self.relay.log(), re.M)
            else:
                code, text = self._ask()
                ready = code == 200
                if code == 503:
                    said.add(text)
            time.sleep(0.1)
        ready = bool(ready) and self.relay.running()
        if ready and self.state.pending:
            # Ready, because it is new; not for long.
            with contextlib.suppress(TimeoutError):
                said.add(self.relay.wait_unready("stuck", 20))
                ready = False
        return ready, self.relay.log() + "".join(sorted(said))

    def _ask(self):
        try:
            return self.relay.get("/readyz")
        except ValueError:  # of an address that is none
            return 0, ""

    def stop(self):
        if self.relay.running():
            self.relay.send(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                self.relay.wait_exit(15)
        self.relay.close()

    def close(self):
        self.stop()
        for each in self.closing:
            with contextlib.suppress(Exception):
                if hasattr(each, "__exit__"):
                    each.__exit__(None, None, None)
                else:
                    each.close()
        if self.state.role is not None:
            self.database.execute(f"reassign owned by {self.role} to postgres;"
                                  f" drop owned by {self.role}")
        self.database.drop()
        if self.state.role is not None:
            with self.server.connect() as connection:
                connection.autocommit = True
                connection.cursor().execute(f"drop role {self.role}")


class _Killed:
    def __init__(self, process):
        self._process = process

    def close(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def world(request, servers, topics, directory, walpost):
    state = request.param
    kafka = request.getfixturevalue(state.kafka)
    made = World(state, servers(state.server), kafka, topics, directory,
                 walpost)
    yield made
    made.close()
    if state.kafka == "guarded":
        kafka.revoke(topics, f"point-{topics}")


_ALL = pytest.mark.parametrize("world", STATES, ids=lambda state: state.name,
                               indirect=True)


@_ALL
def test_check_says_what_run_does(world):
    checked = None if world.state.pending else world.check()
    streams, said = world.streams(world.state.streams)
    checked = checked or world.check()
    assert streams == world.state.streams, said + checked.stdout
    assert (checked.returncode == 0) == streams, (
        checked.stdout + checked.stderr + said)
    print(checked.stdout)
    assert checked.returncode in (0, 1, 2)
    for words in world.state.says:
        assert words in checked.stdout, checked.stdout


# ---- What is printed heals.

def _errors(checked):
    """What check says of errors, with their remedies."""
    if checked.returncode == 2:
        return checked.stderr
    return "\n".join(re.findall(r"^ERROR .*(?:\n        -> .*)?",
                                checked.stdout, re.M))


def _paste(world, text):
    """Does all that a text says."""
    heal = world.state.heal
    if isinstance(heal, Edit):
        for words in heal.words:
            assert words in text, f"{words!r} is not in:\n{text}"
        world.edit(heal.sections)
        return
    if heal == "sql":
        pasted = statements(text)
        assert pasted, text
        for statement in dict.fromkeys(pasted):
            world.database.execute(statement)
    elif heal == "tool":
        pasted = tools(text)
        assert pasted, text
        for words in {tuple(words) for words in pasted}:
            run_printed_tool(words)
    else:
        pasted = commands(text)
        assert pasted, text
        _run_commands(world, pasted)


def _run_commands(world, pasted):
    """The first way out that is offered; what only looks comes before it."""
    for words in pasted:
        assert str(world.relay.config_path) in words, words
        ran = run_command(words)
        if "--dry-run" in words or words[0] in ("check", "verify", "status"):
            continue
        assert ran.returncode == 0, shlex.join(words) + ran.stdout + ran.stderr
        return
    raise AssertionError(f"nothing of these does anything: {pasted}")


_WRONG = [state for state in STATES if not state.streams]


# In the usual run. A long run pastes what is printed in every state: not all of
# the others heal yet.
_HEALED = frozenset((
    "a child table",
    "a column that does not exist",
    "a name that does not resolve",
    "a name to listen on",
    "a physical slot",
    "a port in use",
    "a port that does not exist",
    "a role without REPLICATION",
    "a slot of another plugin",
    "a slot with two_phase",
    "a table in capitals",
    "a view",
    "acks=1",
    "an address of another machine",
    "an address without its host",
    "an event that cannot be delivered",
    "an unlogged partition",
    "an unlogged table",
    "bootstrap.servers=x:1",
    "checkpoint.store: postgres, a table of something else",
    "checkpoint.store: postgres, no right on the table",
    "checkpoint.store: postgres, no right to make the table",
    "client.id=x",
    "compression.codec=rar",
    "compression.type=rar",
    "delivery.timeout.ms=100",
    "enable.gapless.guarantee=false",
    "enable.idempotence=false",
    "failover slots before 17",
    "linger.ms=soon",
    "lingerms=1",
    "max.in.flight=1000",
    "message.timeout.ms=100",
    "metadata.broker.list=x:1",
    "no publication and no slot, and neither is made",
    "no slot, and none is made",
    "park, no right to make the table",
    "partitioner=random",
    "partitions without their root",
    "queue.buffering.max.messages=5",
    "request.required.acks=1",
    "retries=0",
    "snapshot under row security",
    "snapshot without SELECT",
    "snapshot without USAGE",
    "ssl.ca.location=/not/there",
    "the port of Postgres",
    "transaction.timeout.ms=5000",
    "transactional.id=x",
    "two tables, one missing",
))


@pytest.mark.parametrize("world", [
    state for state in _WRONG if state.heal != ELSEWHERE and
    (LONG or state.name in _HEALED)],
                         ids=lambda state: state.name, indirect=True)
@pytest.mark.parametrize("source", ("check", "run"))
def test_what_is_printed_heals(world, source):
    text = "" if world.state.pending else _errors(world.check())
    if source == "run" or world.state.pending:
        _, said = world.streams(False)
        text = said if source == "run" else _errors(world.check())
    if not world.state.pending:
        world.stop()
    _paste(world, text)
    world.stop()
    for _ in range(4):  # one after the other
        checked = world.check()
        if checked.returncode == 0 or source == "run":
            break
        _paste(world, _errors(checked))
    assert checked.returncode == 0, text + checked.stdout
    streams, said = world.streams(True)
    assert streams, text + said


@pytest.mark.parametrize("world", [State(
    "a role with two connections", True, role="replication",
    after='alter role "$role" connection limit 2')], indirect=True)
def test_a_role_may_have_the_connections_that_run_needs(world):
    """With fewer it runs, and does not see what becomes of its slot."""
    checked = world.check()
    assert checked.returncode == 1
    for statement in statements(_errors(checked)):
        world.database.execute(statement)
    assert world.check().returncode == 0


def test_each_state_says_how_it_ends():
    names = [state.name for state in STATES]
    assert len(names) == len(set(names))
    for state in STATES:
        assert state.streams == (state.heal is None), state.name
