"""sink: nats: what walpost tells an operator to do works when it is done.

The long form pastes the commands into a shell (scripts/fetch-nats).
"""

import json
import os
import re
import subprocess

import pytest

from harness import Authority, wait_until
from harness.matrix import LONG
from harness.nats import Nats, NatsCluster, nats_cli, sections, wait_records

@pytest.fixture(scope="module")
def nats(module_directory):
    server = Nats(module_directory / "nats").start()
    yield server
    server.close()


@pytest.fixture
def relay_to(walpost, database, outbox, topics):  # pylint: disable=unused-argument
    def make(server, more=None, url=None, **configured):
        return walpost(database, server, topics, **{
            **sections(url or server.url, **(more or {})), **configured})

    return make


def _findings(relay):
    lines = relay.verb("check", "--json").stdout.splitlines()
    return [found for found in map(json.loads, lines) if found["part"] == "NATS"]


def _finding(relay, name, thing=""):
    return next((found for found in _findings(relay)
                 if found["id"] == name and thing in found["thing"]), None)


def _paste(command, **env):
    assert command.startswith("nats --server "), command
    ran = subprocess.run(command.replace("nats", nats_cli(), 1), shell=True,
                         check=False, capture_output=True, text=True,
                         env={**os.environ, **env})
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.long
def test_a_missing_stream_is_made_by_the_command(relay_to, directory, topics):
    """On one server, with a password and TLS: neither three replicas nor the
    password are in the command."""
    authority = Authority(directory / "ca")
    certificate, key = authority.issue("localhost", "127.0.0.1")
    server = Nats(
        directory / "nats",
        f"tls {{cert_file: \"{certificate}\", key_file: \"{key}\"}}\n"
        "authorization {user: shop, password: s3cret}",
        user=("shop", "s3cret")).start()
    try:
        relay = relay_to(server, {
            "user": "shop", "password": "s3cret",
            "tls": {"ca_file": str(authority.certificate)}},
            url=f"tls://localhost:{server.port}")
        command = _finding(relay, "stream_missing", topics)["remedy"]
        assert "s3cret" not in command and "--replicas 1" in command, command
        # The certificates of these tests have no names that Go reads.
        _paste(command.replace("localhost", "127.0.0.1"),
               NATS_PASSWORD="s3cret")
        assert _finding(relay, "stream_missing", topics) is None
        assert relay.verb("check").returncode == 0
    finally:
        server.close()


@pytest.mark.long
def test_a_missing_stream_of_a_cluster_has_three_replicas(relay_to, directory,
                                                          topics):
    cluster = NatsCluster(directory / "cluster").start()
    try:
        for servers in (cluster.nodes[0].url, cluster.bootstrap):
            relay = relay_to(cluster.nodes[0], url=servers)
            command = _finding(relay, "stream_missing", topics)["remedy"]
            assert "--replicas 3" in command, command
        _paste(command)
        assert _finding(relay, "stream_missing", topics) is None
    finally:
        cluster.close()


@pytest.mark.parametrize("policy, severity", [("dead_letter", "error"),
                                              ("stop", "note")])
@pytest.mark.sample(2)
def test_p8_dead_letters_get_a_stream(relay_to, database, outbox, nats, topics,
                                      policy, severity):
    name = topics.rstrip(".").upper()
    dead = topics.rstrip(".") + "-dead"
    nats.make_stream(name, [topics + ">"])
    try:
        relay = relay_to(nats, on_error={"topic_illegal": policy},
                         dead_letter={"topic": dead})
        found = _finding(relay, "stream_missing", dead)
        assert found["severity"] == severity, found
        assert (relay.verb("check").returncode != 0) == (severity == "error")
        if not LONG:
            return
        _paste(found["remedy"])
        assert _finding(relay, "stream_missing") is None
        relay.configure({**relay.config, "on_error": {
            "topic_illegal": "dead_letter"}})
        relay.run()
        outbox.insert("two words", "k", "1")
        database.wait_confirmed(relay.slot)
        letter, = wait_records(nats, dead, 1)
        assert letter.header("walpost-dead-letter") == b"topic_illegal"
        assert relay.stop() == 0
    finally:
        nats.api(f"STREAM.DELETE.{name}")


def test_p8_a_stream_that_lacks_a_new_subject_is_edited(
        relay_to, database, outbox, nats, topics):
    """nats.create_stream.subjects got one more, after the stream was made."""
    name = topics.rstrip(".").upper()
    dead = topics.rstrip(".") + "-dead"
    nats.make_stream(name, [topics + ">"])
    try:
        relay = relay_to(
            nats, {"create_stream": {"name": name, "replicas": 1,
                                     "subjects": [topics + ">", dead]}},
            on_error={"topic_illegal": "dead_letter"},
            dead_letter={"topic": dead})
        found = _finding(relay, "stream_lacks_subjects", dead)
        assert found["severity"] == "error", found
        relay.run()
        outbox.insert("two words", "k", "1")
        text = relay.wait_unready(r"10058", 60)
        assert "nats stream edit NAME --subjects ... --subjects" in text, text
        if not LONG:
            return
        _paste(found["remedy"])
        relay.stop()
        relay.run()
        database.wait_confirmed(relay.slot)
        assert len(wait_records(nats, dead, 1)) == 1
        assert relay.verb("check").returncode == 0
    finally:
        nats.api(f"STREAM.DELETE.{name}")


@pytest.mark.long
def test_p8_an_event_that_is_too_large_has_the_remedy_of_nats(
        relay_to, database, outbox, nats, topics):
    name = topics.rstrip(".").upper()
    nats.make_stream(name, [topics + ">"], max_msg_size=2000)
    try:
        relay = relay_to(nats, on_error={"record_too_large": "skip"}).run()
        outbox.insert("order", "k", json.dumps("x" * 3000))
        database.wait_confirmed(relay.slot)
        log = relay.whole_log()
        assert "--max-msg-size=" in log and "kafka.properties" not in log, log
        assert relay.stop() == 0
    finally:
        nats.api(f"STREAM.DELETE.{name}")


@pytest.mark.long
def test_a_purge_is_not_noticed_and_its_rows_come_again(
        relay_to, database, outbox, nats, topics):
    """As docs/nats.md says it."""
    name = topics.rstrip(".").upper()
    nats.make_stream(name, [topics + ">"])
    try:
        relay = relay_to(nats).run()
        for number in range(3):
            outbox.insert("order", "k", json.dumps(number), sequence=number)
        database.wait_confirmed(relay.slot)
        wait_records(nats, topics, 3)
        nats.api(f"STREAM.PURGE.{name}")
        outbox.insert("order", "k", "3", sequence=3)
        wait_records(nats, topics, 1)
        relay.wait_ready()
        said = relay.verb("verify")
        assert re.search(r"^ +3 expired: ", said.stdout, re.M), said
        sent = relay.verb("replay", "--from-table", "--missing", "--expired",
                          "--order-by", "sequence")
        assert sent.returncode == 0, sent.stdout + sent.stderr
        wait_until(lambda: len(nats.read_all(topics)) == 4, "all four")
        assert relay.stop() == 0
    finally:
        nats.api(f"STREAM.DELETE.{name}")


@pytest.mark.long
def test_what_cannot_be_reached_is_said_once(relay_to, nats):
    relay = relay_to(nats, url="nats://127.0.0.1:1")
    found = _finding(relay, "nats_unavailable")
    text = found["cause"]
    assert text.count("No server available") == 1, text
    assert "conn.c" not in text and "NATS NATS" not in relay.verb("check").stdout
