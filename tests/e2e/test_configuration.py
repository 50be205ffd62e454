"""The file, its environment and the command line."""

import json
import os
import subprocess

import pytest

from harness.paths import walpost_binary

_USABLE = """\
postgres:
  conninfo: host=127.0.0.1 port=1 dbname=shop user=walpost password=s3cr3t
kafka:
  brokers: 127.0.0.1:1
"""


@pytest.fixture
def run(directory):
    """run(text, *words): `walpost run` on that file, to its end."""
    def run_to_the_end(text, *words, env=None):
        path = directory / "walpost.yaml"
        path.write_text(text)
        return subprocess.run(
            [walpost_binary(), "run", "-c", path, *words],
            capture_output=True, text=True, timeout=20,
            env={**os.environ, **(env or {})})

    return run_to_the_end


def test_print_config_shows_everything_but_secrets(run, directory):
    (directory / "secret").write_text("fil3s3cr3t\n")
    ended = run(
        _USABLE + "  properties:\n    sasl.password: ${env:BROKER_PASSWORD}\n"
        f"    ssl.key.password: ${{file:{directory}/secret}}\n"
        "    linger.ms: 7\n",
        "--set", "delivery.max_in_flight_records=77", "--set",
        "kafka.brokers=broker:9092", "--print-config",
        env={"BROKER_PASSWORD": "env5ecret"})
    assert ended.returncode == 0, ended.stderr
    for shown in ("broker:9092", "max_in_flight_records: 77", "linger.ms",
                  "shop", "status_interval: 200ms", "127.0.0.1",
                  "outbox.event.{aggregate_type}"):
        assert shown in ended.stdout
    for secret in ("s3cr3t", "env5ecret", "fil3s3cr3t"):
        assert secret not in ended.stdout + ended.stderr


@pytest.mark.long
def test_print_config_is_a_configuration(run):
    printed = run(_USABLE.replace(" password=s3cr3t", ""), "--print-config")
    again = run(printed.stdout, "--print-config")
    assert again.returncode == 0, again.stderr
    assert again.stdout == printed.stdout


@pytest.mark.long
def test_print_config_does_not_bless_what_run_refuses(run):
    printed = run("kafka: {brokers: '127.0.0.1:1'}\n", "--print-config")
    assert printed.returncode == 2
    assert "postgres.conninfo is missing" in printed.stderr
    assert "brokers: 127.0.0.1:1" in printed.stdout


@pytest.fixture
def check(directory):
    """check(text, *words): `walpost check` on that file."""
    def check_it(text, *words):
        path = directory / "walpost.yaml"
        path.write_text(text)
        return subprocess.run([walpost_binary(), "check", "-c", path, *words],
                              capture_output=True, text=True, timeout=60)

    return check_it


def test_check_offline_asks_no_server(check):
    ended = check(_USABLE, "--offline")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "without a server, a folder or a port" in ended.stdout


@pytest.mark.parametrize("wrong, thing, code", [
    ("  properties: {compresion.type: lz4}\n", "compresion.type", 4),
    ("  properties: {linger.ms: soon}\n", "linger.ms", 4),
    ("  properties: {acks: 1}\n", "acks", 2),
    ("http: {listen: ':x'}\n", "http.listen", 2),
    ("route: {topic: 'a.{b'}\n", "route.topic", 2),
    ("retention: {batch_rows: 0}\n", "retention.batch_rows", 2),
])
@pytest.mark.sample(6)
def test_check_offline_refuses_what_run_refuses(
        check, run, wrong, thing, code):
    """`run` has a code of its own for properties of librdkafka."""
    printed = run(_USABLE + wrong, "--print-config")
    assert (printed.returncode, printed.stdout) == (code, "")
    assert thing in printed.stderr
    offline = check(_USABLE + wrong, "--offline")
    assert offline.returncode == {2: 2, 4: 1}[code], offline.stdout
    assert thing in offline.stdout + offline.stderr


def test_check_prints_json(check):
    """Nobody listens: each end is an error, with a cause."""
    ended = check(_USABLE, "--json")
    assert ended.returncode == 1
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    for finding in found:
        assert set(finding) == {"part", "id", "severity", "thing", "cause",
                                "remedy"}
    errors = {finding["part"] for finding in found
              if finding["severity"] == "error"}
    assert {"Postgres", "Kafka"} <= errors
    assert {"postgres_unavailable", "kafka_unavailable"} <= {
        finding["id"] for finding in found}
    note, = (finding for finding in found
             if finding["id"] == "checkpoint_store_none")
    assert note["severity"] == "note" and note["cause"] and note["remedy"]
    first = json.loads(check(_USABLE, "--offline", "--json")
                       .stdout.splitlines()[0])
    assert (first["part"], first["id"]) == (
        "configuration", "configuration_ok")


@pytest.mark.long
def test_check_prints_json_of_what_the_loader_refuses(check):
    """The line on stderr and the exit code are those of the text."""
    ended = check(_USABLE + "http: {lissten: ':1'}\n", "--json")
    assert ended.returncode == 2
    finding = json.loads(ended.stdout)
    assert finding["id"] == "configuration_invalid"
    assert finding["cause"] in ended.stderr
