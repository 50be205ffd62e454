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
from harness.paths import REPOSITORY, fetched_postgres, walpost_binary
from mistakes import MISTAKES

_VERBS = ("run", "check", "init", "status", "replay", "prune", "tail",
          "verify", "recover", "wait")

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


# A release of PostgreSQL that has to be fetched is for a long run.
_ROWS = [pytest.param(row, marks=pytest.mark.long)
         if row.server in ("old", "16") else row for row in MISTAKES]


@pytest.mark.parametrize("place", _ROWS, ids=lambda row: row.name,
                         indirect=True)
@pytest.mark.sample(20)
def test_the_answer_names_the_cause_and_the_remedy(place, directory, walpost):
    mistake, words = place
    ended, answer = _made(place, directory, walpost)
    assert ended.returncode == mistake.code, answer
    for word in _filled(mistake.says, words):
        assert word in answer, f"{word!r} is not in:\n{answer}"
    for word in (*_filled(mistake.never, words), *_NEVER):
        assert word not in answer, f"{word!r} is in:\n{answer}"
    assert not _DOUBLED.search(answer), answer
    if mistake.code == 2:
        assert ended.stdout == "", answer
        assert len(ended.stderr.splitlines()) <= 2, answer


def _made(place, directory, walpost):
    """Makes the mistake; returns how it ended, and all that was said."""
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
    return ended, ended.stdout + ended.stderr


# Each message that docs/troubleshooting.md has, by its beginning, and the mistake
# that is answered with it.
_SYMPTOMS = {
    "configuration file": "a file that is not there",
    "there is no such key": "a mistyped section",
    "this line is not YAML": "a tab",
    "environment variable": "an environment variable that is not set",
    "is walpost's own": "acks",
    "Java TrustStores": "a trust store of Java",
    "Java JAAS": "a login of Java",
    "is not a security protocol": "brokers with the scheme of a URL",
    "wal_level is replica": "run under wal_level=replica",
    "must be superuser": "a role without REPLICATION",
    "check user, password": "a wrong password",
    "does not exist [3D000]": "a database that does not exist",
    "server does not support SSL": "TLS from a server without it",
    "does not exist; walpost init": "a slot that does not exist",
    "is a physical slot": "run on a physical slot",
    "belongs to output plugin": "run on a slot of another plugin",
    "correct the database": "run on a slot of another database",
    "max_replication_slots is used up": "run without a free slot",
    "is not in publication": "a publication without the table",
    "does not publish inserts": "a publication without inserts",
    "is not a table": "a view",
    "is unlogged": "an unlogged table",
    "did you mean public.outbox?": "a table in capitals",
    "has no published column": "a column that does not exist",
    "has no column 'payload'": "a table without a payload",
    "the server is older": "run on PostgreSQL 13",
    "does not answer:": "nobody answers at the brokers",
    "Receive failed": "the port of Postgres",
    "kafka.properties: ssl.ca": "a CA that is not there",
    "no walpost answers": "status while nobody runs",
    "make its folder": "a checkpoint in a folder that is not there",
    "nothing is on record": "recover where nothing is wrong",
    "set replay.window": "replay without a window",
}


def _symptoms():
    """(message, mistake) of each row of the page's first three tables."""
    page = (REPOSITORY / "docs" / "troubleshooting.md").read_text()
    for message in re.findall(r"(?m)^\| `([^`]+)` \|", page.split(
            "## walpost runs, and publishes nothing")[0]):
        name, = (name for beginning, name in _SYMPTOMS.items()
                 if message.startswith(beginning))
        mistake, = (row for row in MISTAKES if row.name == name)
        yield pytest.param(mistake, message, id=name)


@pytest.mark.parametrize("place, message", _symptoms(), indirect=["place"])
@pytest.mark.sample(20)
def test_the_messages_of_the_troubleshooting_page_are_printed(
        place, message, directory, walpost):
    answer = _made(place, directory, walpost)[1]
    parts = (re.escape(part.strip()) for part in message.split("…"))
    assert re.search(".*".join(parts), answer), f"{message}\n{answer}"


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
