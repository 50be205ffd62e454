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
from harness.remedies import (command_lines, run_command, run_printed_tool,
                              shell_lines, statements, tool_lines)
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
                    if text.startswith("stuck") and not expected and not LONG:
                        limit = min(limit, time.monotonic() + 1)
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
        kafka.revoke(topics, f"point-{topics}x")


# ---- What is printed heals.

def _findings(text):
    """What is wrong, one thing each, with its remedy."""
    return re.findall(r"^(?:ERROR|.*Z error) .*(?:\n        -> .*)?", text,
                      re.M) or [line for line in text.splitlines() if
                                not re.search("Z (info|warn) ", line)]


def _errors(checked):
    """What check says of errors, with their remedies."""
    if checked.returncode == 2:
        return checked.stderr
    return "\n".join(_findings(checked.stdout))


def _paste(world, text):
    """Does all that a text says: of each finding the first way out."""
    heal = world.state.heal
    if isinstance(heal, Edit) and all(words in text for words in heal.words):
        world.edit(heal.sections)
        return
    done = set()
    for finding in _findings(text):
        Pasted(world, finding, done).do()
    assert done, f"nothing can be pasted:\n{text}"


class Pasted:
    """A text whose first way out is carried out, once."""

    def __init__(self, world, text, done):
        self._world = world
        self._text = text
        self._done = done

    def do(self):
        ways = [(self._text.find(found[0]), carry_out, found)
                for carry_out, found in (
                    (self._run_sql, statements(self._text)),
                    (self._run_tools, tool_lines(self._text)),
                    (self._run_shell, shell_lines(self._text)),
                    (self._run_own, command_lines(self._text))) if found]
        if not ways:
            return
        _, carry_out, found = min(ways, key=lambda way: way[0])
        carry_out(dict.fromkeys(found))

    def _is_new(self, line):
        is_new = line not in self._done
        self._done.add(line)
        return is_new

    def _run_sql(self, found):
        for statement in filter(self._is_new, found):
            self._world.database.execute(statement)

    def _run_tools(self, found):
        for line in filter(self._is_new, found):
            run_printed_tool(shlex.split(line), self._world.kafka.bootstrap)

    def _run_shell(self, found):
        for line in filter(self._is_new, found):
            subprocess.run(shlex.split(line), check=True)

    def _run_own(self, found):
        """The first that does something; what only looks comes before it."""
        for line in found:
            words = shlex.split(line)[1:]
            assert str(self._world.relay.config_path) in words, words
            looks = "--dry-run" in words or words[0] in ("verify", "status")
            if not looks and not self._is_new(line):
                return
            ran = run_command(words)
            if looks:
                continue
            if words[0] == "check":
                _paste(self._world, _errors(ran))
                return
            if ran.returncode != 0:
                ran = self._do_what_it_says(words, ran)
            assert ran.returncode == 0, line + ran.stdout + ran.stderr
            return
        raise AssertionError(f"nothing of these does anything: {found}")

    def _do_what_it_says(self, words, ran):
        option = re.search(r"--order-by (\w+)", ran.stderr)
        if option is not None:
            return run_command([*words, *shlex.split(option[0])])
        said = statements(ran.stderr)
        assert said, ran.stdout + ran.stderr
        self._run_sql(said)
        return run_command(words)


def _sources(state):
    """Whose words are pasted. In the usual run those of `run` where it prints a
    command of walpost or of Kafka, else those of `check`."""
    if LONG and state.heal not in (None, ELSEWHERE):
        return "check", "run"
    return ("run" if state.heal in ("own", "tool") else "check"),


@pytest.mark.parametrize("world, source", [
    pytest.param(state, source, id=f"{source}-{state.name}")
    for state in STATES for source in _sources(state)], indirect=["world"])
@pytest.mark.sample(16)
def test_check_says_what_run_does_and_what_they_print_heals(world, source):
    checked = None if world.state.pending else world.check()
    streams, said = world.streams(world.state.streams)
    checked = checked or world.check()
    told = checked.stdout + checked.stderr
    assert streams == world.state.streams, said + told
    assert (checked.returncode == 0) == streams, told + said
    print(told)
    assert checked.returncode in (0, 1, 2)
    for words in world.state.says:
        assert words in checked.stdout, told
    if world.state.heal in (None, ELSEWHERE):
        return
    if not world.state.pending:
        world.stop()
    _paste(world, said if source == "run" else _errors(checked))
    world.stop()
    for _ in range(4):  # one after the other
        checked = world.check()
        if checked.returncode == 0:
            break
        print("then:", _errors(checked))
        _paste(world, _errors(checked))
    assert checked.returncode == 0, said + checked.stdout
    streams, said = world.streams(True)
    assert streams, said


@pytest.mark.parametrize("world", [State(
    "a role with two connections", True, role="replication",
    after='alter role "$role" connection limit 2')], indirect=True)
@pytest.mark.long
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
