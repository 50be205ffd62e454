"""What hangs around walpost does not hang walpost (P10): it answers within a
second, goes on where it can, and ends in time."""

import contextlib
import fcntl
import json
import os
import re
import signal
import threading
import time

import pytest

from harness import HeldCalls, judge, wait_until
from harness.matrix import LONG, long_only
from harness.polled import PolledOutbox

_END_SECONDS = 13


@pytest.fixture
def held(directory):
    return HeldCalls(directory / "held")


def _answers(relay):
    """It is alive, and says so soon: what hangs does so until it is released."""
    begun = time.monotonic()
    code, text = relay.get("/healthz")
    seconds = time.monotonic() - begun
    assert code == 200, text
    assert seconds < (1 if LONG else 3), f"/healthz took {seconds:.1f} s"
    return True


def _keeps_answering(relay, seconds=3):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _answers(relay)
        time.sleep(0.1)


def _ends_in_time(relay, seconds=_END_SECONDS):
    begun = time.monotonic()
    assert relay.stop(seconds + 5) == 0
    assert time.monotonic() - begun < seconds


def _conninfo_by_name(database):
    return database.conninfo().replace("127.0.0.1", "localhost")


def _brokers_by_name(kafka):
    return kafka.bootstrap.replace("127.0.0.1", "localhost")


class _UnreadPipe:
    """A pipe as small as the system allows; read() begins to read it."""

    def __init__(self):
        self._reader, self.writer = os.pipe()
        fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, 4096)
        self._text = bytearray()
        self._thread = None

    def read(self):
        def run():
            while chunk := os.read(self._reader, 65536):
                self._text.extend(chunk)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def text(self):
        return self._text.decode()

    def close(self):
        os.close(self.writer)


@pytest.fixture
def unread_pipe():
    with contextlib.closing(_UnreadPipe()) as pipe:
        yield pipe


def _fill(outbox, relay):
    """Commits events until lines of the log had to be dropped."""
    def is_full():
        for number in range(20):
            outbox.insert("order", f"order-{number}")
        return relay.metric("walpost_dropped_log_lines_total") > 0

    wait_until(is_full, "lines of the log to be dropped")


def test_p10_a_log_that_nobody_reads(walpost, database, kafka, outbox, topics,
                                     unread_pipe):
    relay = walpost(database, kafka, topics, log={"level": "debug"},
                    kafka={"properties": {"debug": "all"}})
    relay.start(stderr=unread_pipe.writer)
    relay.wait_ready()
    _fill(outbox, relay)
    _answers(relay)
    judge(outbox, kafka, relay, at_least=1)
    unread_pipe.read()
    wait_until(lambda: re.search(r"warn \d+ log lines were dropped",
                                 unread_pipe.text()),
               "the log to say how many lines are missing")
    _ends_in_time(relay)


@pytest.mark.parametrize("log", ["json", *long_only("text")])
@pytest.mark.long
def test_p10_sighup_before_a_full_log(walpost, database, kafka, outbox, topics,
                                      unread_pipe, log):
    relay = walpost(database, kafka, topics,
                    log={"level": "debug", "format": log},
                    kafka={"properties": {"debug": "all"}})
    relay.start(stderr=unread_pipe.writer)
    relay.wait_ready()
    _fill(outbox, relay)
    for _ in range(3):
        relay.send(signal.SIGHUP)
        _keeps_answering(relay, 1)
    judge(outbox, kafka, relay, at_least=1)
    unread_pipe.read()
    wait_until(lambda: "SIGHUP: configuration reloaded" in unread_pipe.text(),
               "the log to go on")
    _ends_in_time(relay)


@pytest.mark.long
def test_p10_sighup_and_a_file_that_hangs(walpost, database, kafka, outbox,
                                          topics):
    relay = walpost(database, kafka, topics).run()
    content = relay.config_path.read_text()
    relay.config_path.unlink()
    os.mkfifo(relay.config_path)
    relay.send(signal.SIGHUP)
    _keeps_answering(relay)
    relay.send(signal.SIGHUP)
    relay.wait_log("SIGHUP: the configuration is still being read")
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    relay.config_path.write_text(content)
    relay.wait_log("SIGHUP: configuration reloaded")
    relay.config_path.unlink()
    os.mkfifo(relay.config_path)
    relay.send(signal.SIGHUP)
    _ends_in_time(relay)


@pytest.mark.long
def test_sighup_while_an_earlier_one_is_under_way(walpost, database, kafka,
                                                  outbox, topics):
    """What changed after the earlier one had begun to read is taken up, too."""
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics).run()
    before = relay.config_path.read_text()
    hung = relay.config_path.with_suffix(".hung")
    relay.config_path.unlink()
    os.mkfifo(hung)
    relay.config_path.symlink_to(hung)
    relay.send(signal.SIGHUP)
    with hung.open("w") as file:  # once walpost has opened it for reading
        relay.send(signal.SIGHUP)
        relay.wait_log("SIGHUP: the configuration is still being read")
        relay.config_path.unlink()
        relay.configure(relay.config | {"log": {"level": "debug"}})
        file.write(before)
    relay.wait_log("SIGHUP: configuration reloaded; taken up: log.level")
    _ends_in_time(relay)


@pytest.mark.long
def test_sighup_and_a_file_without_an_end(walpost, database, kafka, outbox,
                                          topics):
    # pylint: disable=unused-argument
    relay = walpost(database, kafka, topics).run()
    relay.config_path.unlink()
    relay.config_path.symlink_to("/dev/zero")
    relay.send(signal.SIGHUP)
    _keeps_answering(relay, 1)
    relay.wait_log("SIGHUP: the configuration stays as it was: .*more than 1 MiB")
    _ends_in_time(relay)


@pytest.mark.long
def test_p10_sigterm_before_a_full_log(walpost, database, kafka, outbox,
                                       topics, unread_pipe):
    relay = walpost(database, kafka, topics, log={"level": "debug"},
                    kafka={"properties": {"debug": "all"}})
    relay.start(stderr=unread_pipe.writer)
    relay.wait_ready()
    _fill(outbox, relay)
    _ends_in_time(relay, 5)


@pytest.mark.long
def test_the_log_as_json(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics, log={"format": "json"}).run()
    outbox.insert("order", "order-1")
    judge(outbox, kafka, relay, at_least=1)
    assert relay.stop() == 0
    lines = [json.loads(line) for line in relay.log().splitlines()]
    assert {tuple(line)[:3] for line in lines} == {("time", "level", "message")}
    assert any("streaming from slot" in line["message"] for line in lines)
    assert {line["level"] for line in lines} <= {"info", "warn"}


@pytest.mark.long
def test_a_failure_is_logged_as_json_too(walpost, database, kafka, topics):
    relay = walpost(database, kafka, topics, log={"format": "json"},
                    outbox={"tables": [{"name": "public.missing"}]})
    relay.start()
    assert relay.wait_exit() == 3
    last = json.loads(relay.log().splitlines()[-1])
    assert last["level"] == "error" and "public.missing" in last["message"]


@pytest.mark.long
def test_p10_name_servers_are_silent_when_it_starts(walpost, database, kafka,
                                                    outbox, topics, held):
    relay = walpost(database, kafka, topics, env=held.env,
                    postgres={"conninfo": _conninfo_by_name(database)})
    held.hold("names")
    relay.start()
    wait_until(lambda: relay.get("/healthz")[0] == 200, "/healthz")
    relay.wait_unready("name servers")
    _keeps_answering(relay)
    held.release("names")
    relay.wait_ready()
    outbox.insert("order", "order-1")
    judge(outbox, kafka, relay, at_least=1)


def test_p10_name_servers_fall_silent_in_mid_stream(
        walpost, database, kafka, outbox, topics, held):
    relay = walpost(database, kafka, topics, env=held.env,
                    postgres={"conninfo": _conninfo_by_name(database)},
                    kafka={"brokers": _brokers_by_name(kafka)}).run()
    outbox.insert("order", "order-1")
    held.hold("names")
    outbox.insert("order", "order-2")
    database.execute("select pg_terminate_backend(active_pid) from "
                     "pg_replication_slots where slot_name = %s",
                     (database.name,))
    relay.wait_unready("name servers")
    outbox.insert("order", "order-3")
    _keeps_answering(relay)
    held.release("names")
    relay.wait_ready(60)
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.parametrize("server", ["both", *long_only("postgres", "kafka")])
@pytest.mark.long
def test_p10_sigterm_before_silent_name_servers(walpost, database, kafka,
                                                topics, held, server):
    sections = {}
    if server != "kafka":
        sections["postgres"] = {"conninfo": _conninfo_by_name(database)}
    if server != "postgres":
        sections["kafka"] = {"brokers": _brokers_by_name(kafka)}
    relay = walpost(database, kafka, topics, env=held.env, **sections)
    held.hold("names")
    relay.start()
    wait_until(lambda: relay.get("/healthz")[0] == 200, "/healthz")
    _keeps_answering(relay, 2)
    _ends_in_time(relay)


@pytest.mark.long
def test_p10_a_poller_before_silent_name_servers(walpost, database, kafka,
                                                 topics, held):
    polled = PolledOutbox(database)
    sections = polled.sections()
    sections["postgres"] = {**sections.get("postgres", {}),
                            "conninfo": _conninfo_by_name(database)}
    relay = walpost(database, kafka, topics, env=held.env, **sections)
    held.hold("names")
    polled.insert(3)
    relay.start()
    wait_until(lambda: relay.get("/healthz")[0] == 200, "/healthz")
    relay.wait_unready("name servers")
    _keeps_answering(relay, 2)
    held.release("names")
    relay.wait_ready()
    polled.wait_published()
    held.hold("names")
    database.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                     "where pid <> pg_backend_pid() and datname = %s",
                     (database.name,))
    relay.wait_unready("name servers")
    _ends_in_time(relay)


@pytest.mark.parametrize("end", ["healed", "sigterm"])
@pytest.mark.long
def test_p10_a_file_that_the_conninfo_names_hangs(
        walpost, database, kafka, outbox, topics, directory, end):
    """As one on a network share may."""
    services = directory / "services"
    text = "[shop]\n" + "\n".join(database.conninfo().split()) + "\n"
    services.write_text(text)
    relay = walpost(database, kafka, topics,
                    env={"PGSERVICEFILE": str(services)},
                    postgres={"conninfo": "service=shop"}).run()
    outbox.insert("order", "order-1")
    services.unlink()
    os.mkfifo(services)
    database.execute("select pg_terminate_backend(active_pid) from "
                     "pg_replication_slots where slot_name = %s",
                     (database.name,))
    relay.wait_unready("a file that postgres.conninfo names")
    outbox.insert("order", "order-2")
    _keeps_answering(relay)
    if end == "sigterm":
        _ends_in_time(relay)
        return
    hung = services.with_suffix(".hung")
    services.rename(hung)
    services.write_text(text)
    with hung.open("w") as file:  # for whoever has opened it
        file.write(text)
    relay.wait_ready(60)
    judge(outbox, kafka, relay, at_least=1)


@pytest.mark.long
def test_p10_verbs_end_before_silent_name_servers(walpost, database, kafka,
                                                  topics, held):
    relay = walpost(database, kafka, topics, env=held.env,
                    postgres={"conninfo": _conninfo_by_name(database)},
                    kafka={"brokers": _brokers_by_name(kafka)})
    held.hold("names")
    for verb in (["check"], ["init"], ["verify"]):
        ran = relay.verb(*verb, seconds=60)
        assert ran.returncode != 0
        assert "name servers" in ran.stdout + ran.stderr, verb


def test_p10_a_disk_hangs_under_the_checkpoint(walpost, database, kafka,
                                               outbox, topics, held,
                                               directory):
    relay = walpost(database, kafka, topics, env=held.env,
                    checkpoint={"store": "file",
                                "path": str(directory / "checkpoint")}).run()
    outbox.insert("order", "order-1")
    held.hold("fsync")
    outbox.insert("order", "order-2")
    end = database.current_lsn()
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total") == 2,
               "both events at the brokers")
    _keeps_answering(relay)
    assert database.confirmed_lsn(database.name) < end
    held.release("fsync")
    wait_until(lambda: database.confirmed_lsn(database.name) >= end,
               "what was acknowledged to be confirmed")
    held.hold("fsync")
    outbox.insert("order", "order-3")
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total") == 3,
               "the third event at the brokers")
    _ends_in_time(relay)
    held.release("fsync")
    relay.run()
    judge(outbox, kafka, relay, at_least=1)
