"""walpost as a service: what it tells systemd, and where its file is."""

import os
import signal
import socket
import subprocess
import time

import pytest

from harness.paths import walpost_binary
from harness.ports import free_port


class _Manager:
    """The socket of a service manager; reads what it is told, in order."""

    def __init__(self, path):
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)

    def wait(self, wanted, seconds=30):
        """Returns the lines up to the datagram that has the line `wanted`."""
        self._socket.settimeout(seconds)
        lines = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            told = self._socket.recv(65536).decode().splitlines()
            lines += told
            if any(line.startswith(wanted) for line in told):
                return lines
        raise AssertionError(f"not told {wanted}, but {lines}")

    def close(self):
        self._socket.close()


@pytest.fixture
def manager(directory):
    made = _Manager(directory / "notify")
    yield made
    made.close()


def test_systemd_is_told_the_whole_life(walpost, database, kafka, topics, outbox,
                                        manager):
    relay = walpost(database, kafka, topics, log={"level": "info"}, env={
        "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"}).start()
    told = manager.wait("READY=1")
    assert "STATUS=streaming" in told
    assert "WATCHDOG=1" in told
    relay.wait_ready()
    for _ in range(3):
        manager.wait("WATCHDOG=1", seconds=1)  # the unit's time
    relay.send(signal.SIGHUP)
    begun = manager.wait("RELOADING=1")
    assert begun[-1].startswith("MONOTONIC_USEC=")
    assert abs(int(begun[-1].partition("=")[2]) / 1e6 - time.monotonic()) < 10
    manager.wait("READY=1")
    relay.wait_log("SIGHUP: configuration reloaded")
    relay.send(signal.SIGTERM)
    manager.wait("STOPPING=1")
    assert relay.wait_exit() == 0


def test_a_state_is_told_with_its_reason_and_readiness_is_not_waited_for(
        walpost, database, kafka, topics, manager):
    """A restart does not help while Postgres is away, and so the unit starts."""
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": f"host=127.0.0.1 port={free_port()} dbname=shop user=walpost"},
        env={"NOTIFY_SOCKET": manager.path}).start()
    begun = time.monotonic()
    told = manager.wait("READY=1")
    assert 9 < time.monotonic() - begun < 15
    reason = [line for line in told if line.startswith("STATUS=")][-1]
    assert "refused" in reason
    relay.wait_unready("refused")
    assert relay.stop() == 0


@pytest.mark.long
def test_a_manager_that_is_not_there_is_logged(walpost, database, kafka, topics,
                                               outbox):
    relay = walpost(database, kafka, topics,
                    env={"NOTIFY_SOCKET": "/nobody/listens"}).run()
    relay.wait_log("warn the service manager cannot be told: NOTIFY_SOCKET "
                   "/nobody/listens: No such file or directory")
    assert relay.stop() == 0


def _say(*words, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if name != "WALPOST_CONFIG"}
    return subprocess.run([walpost_binary(), *map(str, words)], timeout=30,
                          capture_output=True, text=True, check=False,
                          env={**environment, **variables})


@pytest.mark.long
def test_an_error_says_who_has_named_the_file():
    for words, variables, expected in (
            (["-c", "/none.yaml"], {"WALPOST_CONFIG": "/other.yaml"},
             "configuration file /none.yaml cannot be read: No such file or "
             "directory; give its path with -c"),
            ([], {"WALPOST_CONFIG": "/other.yaml"},
             "configuration file /other.yaml cannot be read: No such file or "
             "directory; WALPOST_CONFIG names it; -c overrides it"),
            ([], {"WALPOST_CONFIG": ""},
             "configuration file /etc/walpost/walpost.yaml cannot be read: No "
             "such file or directory; it is the default; name another with -c "
             "or in WALPOST_CONFIG")):
        for verb in ("run", "check", "status", "tail"):
            said = _say(verb, *words, **variables)
            assert said.returncode == 2
            assert said.stderr == f"walpost: {expected}\n"


@pytest.mark.long
def test_the_variable_names_the_file(tmp_path):
    path = tmp_path / "shop.yaml"
    path.write_text("postgres: {slot: of_shop, conninfo: host=a}\n"
                    "kafka: {brokers: 'a:1'}\n")
    said = _say("run", "--print-config", WALPOST_CONFIG=str(path))
    assert said.returncode == 0
    assert "of_shop" in said.stdout
    # What a message says to type has the file, for another shell.
    said = _say("check", WALPOST_CONFIG=str(path))
    assert "-c FILE" not in said.stdout + said.stderr


@pytest.mark.long
def test_the_status_needs_no_secret(walpost, database, kafka, topics, outbox):
    """Nor does it read one: whoever asks may not have the right."""
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": database.conninfo() + " password=${env:OF_THE_SERVICE}"},
        env={"OF_THE_SERVICE": "secret"}).run()
    said = _say("status", WALPOST_CONFIG=str(relay.config_path))
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("state      streaming")
    assert relay.stop() == 0
