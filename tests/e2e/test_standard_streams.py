"""stdin, stdout and stderr that are closed, full or gone."""

import os
import subprocess

import pytest

from harness import wait_until
from harness.paths import walpost_binary


def _shell(relay, words, redirections):
    """The verb under a shell that redirects its streams."""
    command = relay.command(*words.split())
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirections}', "walpost", *command],
        capture_output=True, text=True, timeout=60)


def _wait_tail(database):
    wait_until(lambda: database.execute(
        "select 1 from pg_replication_slots where temporary and database = %s "
        "and confirmed_flush_lsn is not null", (database.name,)),
        "the temporary slot of tail")


@pytest.mark.parametrize("closed", [">&- 2>&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["verify --wait 0", "check", "prune --dry-run"])
@pytest.mark.long
def test_closed_streams_change_no_exit_code(walpost, database, kafka, outbox,
                                            topics, closed, words):
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics)
    assert relay.verb("init").returncode == 0
    usual = relay.verb(*words.split())
    assert 0 <= usual.returncode <= 2, usual.stderr
    assert _shell(relay, words, closed).returncode == usual.returncode


@pytest.mark.parametrize("words", ["check", "run --print-config",
                                   "verify --wait 0"])
@pytest.mark.long
def test_output_that_cannot_be_written(walpost, database, kafka, outbox, topics,
                                       words):
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics)
    assert relay.verb("init").returncode == 0
    ended = _shell(relay, words, ">/dev/full")
    assert ended.returncode == 1
    assert ended.stderr.count("stdout cannot be written: No space left") == 1


@pytest.mark.long
def test_manual_that_cannot_be_written():
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run([walpost_binary(), "man"], stdout=full,
                               stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 1
    assert "stdout cannot be written: No space left" in ended.stderr


@pytest.mark.long
def test_tail_that_cannot_write(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics)
    with open("/dev/full", "w", encoding="utf-8") as full, subprocess.Popen(
            relay.command("tail", "--count", "1"), stdout=full,
            stderr=subprocess.PIPE, text=True) as tail:
        _wait_tail(database)
        outbox.insert("order", "order-1")
        error = tail.communicate(timeout=30)[1]
    assert tail.returncode == 1
    assert "stdout cannot be written: No space left" in error


def test_a_reader_that_has_gone_is_not_an_error(walpost, database, kafka,
                                                outbox, topics):
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics)
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(relay.command("tail"), stdout=write,
                          stderr=subprocess.PIPE, text=True) as tail:
        os.close(write)
        _wait_tail(database)
        outbox.insert("order", "order-1")
        error = tail.communicate(timeout=30)[1]
    assert tail.returncode == 0, error
