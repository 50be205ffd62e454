"""Passwords with the characters that a conninfo gives a meaning: they work, or
no piece of them is in anything that walpost prints."""

import re
import urllib.parse

import pytest

from harness import Authority, SecuredPostgres
from harness.matrix import long_only

# Each piece between two of these characters can be told from any other text.
_ODD = ("Pie1 Pie2'Pie3\\Pie4@Pie5/Pie6%41Pie7?Pie8#Pie9:PieA&PieB=PieC\"PieD"
        "$PieE,PieF;PieG'\\")
_PIECE = re.compile(r"Pie[0-9A-G]")


@pytest.fixture(scope="module", name="authority")
def made_authority(module_directory):
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module", name="postgres")
def with_password(module_directory, authority):
    server = SecuredPostgres(module_directory / "postgres", authority,
                             _ODD).start()
    yield server
    server.close()


def _keywords(database, password):
    return (database.conninfo("walpost")
            + f" sslmode=require password={password}")


def _uri(database, login, tail=""):
    settings = dict(re.findall(r"(\w+)=(\S+)", database.conninfo()))
    return (f"postgresql://{login}{settings['host']}:{settings['port']}/"
            f"{settings['dbname']}?sslmode=require{tail}")


def _said_by(relay):
    """All that it prints, at the verbs that connect and by the way."""
    for words in (["check"], ["status"], ["verify"], ["run", "--print-config"],
                  ["prune", "--older-than", "1d", "--dry-run"],
                  ["tail", "--count", "1", "--no-such"], ["init", "--print"]):
        said = relay.verb(*words)
        yield said.stdout + said.stderr
    for page in ("/readyz", "/status", "/metrics", "/"):
        yield relay.get(page)[1]
    yield relay.whole_log()


def _check_secret(relay):
    for text in _said_by(relay):
        assert not _PIECE.search(text), text


_PLACES = {
    "unquoted": lambda db, ref: _keywords(db, ref),
    "quoted": lambda db, ref: _keywords(db, f"'{ref}'"),
    "uri": lambda db, ref: _uri(db, f"walpost:{ref}@"),
    "query": lambda db, ref: _uri(db, "walpost@", f"&password={ref}"),
}


@pytest.mark.parametrize("source", ["env", *long_only("file")])
@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.long
def test_a_reference_is_quoted_for_its_place(walpost, database, kafka, outbox,
                                             topics, directory, place, source):
    database.execute("alter role walpost superuser")
    path = directory / "password"
    path.write_text(_ODD + "\n")
    reference = "${env:ODD}" if source == "env" else f"${{file:{path}}}"
    relay = walpost(database, kafka, topics, env={"ODD": _ODD},
                    log={"level": "debug"}, postgres={
                        "conninfo": _PLACES[place](database, reference)})
    relay.run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    _check_secret(relay)


@pytest.mark.parametrize("value", [
    lambda db: _uri(db, f"walpost:{urllib.parse.quote(_ODD, safe='')}@"),
    lambda db: _keywords(db, "'" + _ODD.replace("\\", "\\\\").replace(
        "'", "\\'") + "'")], ids=["uri", "keywords"])
@pytest.mark.long
def test_a_variable_with_the_whole_conninfo_stays_as_it_is(
        walpost, database, kafka, outbox, topics, value):
    database.execute("alter role walpost superuser")
    relay = walpost(database, kafka, topics, env={"URL": value(database)},
                    postgres={"conninfo": "${env:URL}"}).run()
    outbox.insert("order", "k1")
    database.wait_confirmed(database.name)
    _check_secret(relay)


# Not encoded, or not quoted: pieces that libpq takes for something else.
@pytest.mark.parametrize("password", [
    _ODD, "Pie1@Pie2", "Pie1/Pie2", "Pie1@Pie2/Pie3", "Pie1?Pie2",
    "Pie1?Pie2=Pie3", "Pie1%Pie2", "Pie1 Pie2", "Pie1 Pie2=Pie3", "'Pie1",
    "Pie1 host=", "[Pie1", "Pie1:Pie2"])
@pytest.mark.parametrize("form", ["uri", "keywords"])
@pytest.mark.parametrize("place", ["file", *long_only("env")])
@pytest.mark.sample(26)
def test_no_piece_of_a_password_is_printed(walpost, database, kafka, topics,
                                           password, form, place):
    conninfo = (_uri(database, f"walpost:{password}@") if form == "uri"
                else _keywords(database, password))
    relay = walpost(database, kafka, topics, env={"URL": conninfo},
                    log={"level": "debug"}, postgres={
                        "conninfo": "${env:URL}" if place == "env" else
                        conninfo.replace("${", "$${")})
    relay.start()
    try:
        relay.wait_exit(3)
    except TimeoutError:
        pass  # a wrong password may become right
    for text in _said_by(relay):
        assert not _PIECE.search(text), text


@pytest.mark.long
def test_a_template_can_take_each_character(walpost, database, kafka, reader,
                                            outbox, topics):
    relay = walpost(database, kafka, topics, route={
        "topic": topics + "{type|replace:\\}:-|replace:\\|:_|replace:\\::.}"})
    relay.run()
    outbox.insert("order", "k1", type="a}b|c:d")
    database.wait_confirmed(database.name)
    record, = reader.read_all(topics)
    assert record.topic == topics + "a-b_c.d"
    assert relay.verb("verify").returncode == 0
