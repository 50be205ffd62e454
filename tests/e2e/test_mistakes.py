"""What mistakes are answered with: an exit code, the cause and the remedy.

The mistakes are in mistakes.py, one a row.
"""

import contextlib
import os
import re
import shlex
import string
import subprocess

import pytest

from harness import Outbox, Postgres
from harness.paths import fetched_postgres, walpost_binary
from mistakes import MISTAKES

_VERBS = ("run", "check", "init", "status", "replay", "prune", "tail",
          "verify", "recover")

# In no answer: secrets, and ways to say a thing that help nobody.
_NEVER = ("s3cr3t", "terminate called", "must be made anew")
_DOUBLED = re.compile(r"(table \S+) \1\b")


@pytest.fixture(scope="module")
def servers(module_directory):
    """Servers by name, started when they are first asked for."""
    made = {}

    def server(name):
        if name not in made:
            made[name] = _START[name](module_directory / name)
            with contextlib.closing(made[name].connect()) as connection:
                connection.cursor().execute(_ROLES)
        return made[name]

    yield server
    for made_server in made.values():
        made_server.close()


_ROLES = """
create role walpost_nobody login;
create role walpost_relay login replication;
create role locked login replication password 'right';
"""


def _full(directory):
    server = Postgres(directory, settings={"max_replication_slots": 1}).start()
    with contextlib.closing(server.connect()) as connection:
        connection.cursor().execute(
            "select pg_create_physical_replication_slot('theirs')")
    return server


_START = {
    "postgres": lambda directory: Postgres(directory).start(),
    "old": lambda directory: Postgres(directory, fetched_postgres(13)).start(),
    "16": lambda directory: Postgres(directory, fetched_postgres(16)).start(),
    "replica": lambda directory: Postgres(
        directory, settings={"wal_level": "replica"}).start(),
    "full": _full,
}


@pytest.fixture
def place(request, servers, topics, directory):
    """The words of a mistake's texts; with a database where it wants one."""
    mistake = request.param
    words = {"slot": "walpost", "database": "shop", "port": "1",
             "brokers": "127.0.0.1:1", "topics": topics,
             "folder": str(directory),
             "conninfo": "host=127.0.0.1 port=1 dbname=shop user=walpost"}
    if mistake.server is None:
        yield mistake, words
        return
    words["brokers"] = request.getfixturevalue("kafka").bootstrap
    server = servers(mistake.server if mistake.server in _START else "postgres")
    database = server.create_database()
    words |= {"slot": database.name, "database": database.name,
              "port": str(server.port),
              "conninfo": (server.conninfo(database.name, mistake.user))}
    Outbox(database, topics)
    # One by one: a slot is not made in a transaction that has written.
    for statement in filter(str.strip, mistake.sql.split(";")):
        database.execute(_filled(statement, words))
    if mistake.server == "elsewhere":
        _at_server(server, "select pg_create_logical_replication_slot(%s, "
                   "'pgoutput')", database.name)
    yield mistake, words
    if mistake.server == "elsewhere":
        _at_server(server, "select pg_drop_replication_slot(%s)", database.name)
    database.drop()


def _at_server(server, sql, *parameters):
    """In the database `postgres`."""
    with contextlib.closing(server.connect()) as connection:
        connection.cursor().execute(sql, parameters)


def _filled(thing, words):
    """With the words in all of its texts."""
    if isinstance(thing, str):
        return string.Template(thing).substitute(words)
    if isinstance(thing, dict):
        return {_filled(key, words): _filled(value, words)
                for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_filled(item, words) for item in thing]
    return thing


@pytest.mark.parametrize("place", MISTAKES, ids=lambda row: row.name,
                         indirect=True)
@pytest.mark.sample(4)
def test_the_answer_names_the_cause_and_the_remedy(place, directory, walpost):
    mistake, words = place
    for name, text in mistake.files.items():
        (directory / name).write_text(text)
    command = shlex.split(_filled(mistake.words, words))
    if mistake.config is not None and command and command[0] in _VERBS:
        config = _filled(mistake.config, words)
        relay = _relay(walpost, words, config)
        command[1:1] = ["-c", str(relay.config_path)]
    ended = subprocess.run([walpost_binary(), *command], capture_output=True,
                           text=True, timeout=30, env=_environment())
    answer = ended.stdout + ended.stderr
    assert ended.returncode == mistake.code, answer
    for word in _filled(mistake.says, words):
        assert word in answer, f"{word!r} is not in:\n{answer}"
    for word in (*_filled(mistake.never, words), *_NEVER):
        assert word not in answer, f"{word!r} is in:\n{answer}"
    assert not _DOUBLED.search(answer), answer
    if mistake.code == 2:
        assert ended.stdout == "", answer
        assert len(ended.stderr.splitlines()) <= 2, answer


def _relay(walpost, words, config):
    database = _Placed(words)
    if isinstance(config, str):
        relay = walpost(database, database, words["topics"])
        relay.configure(config)
        return relay
    return walpost(database, database, words["topics"], **config)


class _Placed:
    """Database and Kafka, as the fixture `walpost` wants them."""

    def __init__(self, words):
        self.name = words["slot"]
        self.bootstrap = words["brokers"]
        self.conninfo = lambda: words["conninfo"]


def _environment():
    """Without what would fill in for a conninfo."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("PG")}


def test_there_are_enough_of_them():
    names = [mistake.name for mistake in MISTAKES]
    assert len(names) >= 80
    assert len(names) == len(set(names))
