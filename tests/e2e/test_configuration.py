"""The file, its environment and the command line."""

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


@pytest.mark.parametrize("text, words", [
    (_USABLE + "kafak:\n  brokers: x\n", ("kafak", "5")),
    (_USABLE + "delivery:\n  max_in_flight: 5\n",
     ("delivery.max_in_flight", "6")),
    (_USABLE + "delivery:\n  max_in_flight_records: many\n",
     ("max_in_flight_records", "many")),
    (_USABLE + "delivery:\n  max_in_flight_bytes: 16 parsecs\n",
     ("max_in_flight_bytes", "16 parsecs")),
    (_USABLE + "delivery:\n  shutdown_timeout: 10\n",
     ("shutdown_timeout", "10")),
    (_USABLE + "value:\n  format: xml\n", ("value.format", "xml")),
    (_USABLE + "route:\n  topic: a.{b\n", ("route.topic", "a.{b")),
    (_USABLE + "route:\n  topic: '{b|shout}'\n", ("route.topic", "shout")),
    (_USABLE + "outbox:\n  tables:\n    - name: public.outbox\n"
     "      columns: {payloda: body}\n", ("payloda", "8")),
    (_USABLE.replace("conninfo:", "conninfo: ${env:WALPOST_NOT_SET}  #"),
     ("WALPOST_NOT_SET", "conninfo")),
    (_USABLE.replace("conninfo:", "conninfo: ${file:/not/there}  #"),
     ("/not/there", "conninfo")),
    (_USABLE.replace("host=", "hots="), ("hots",)),
    ("kafka: {brokers: x}\n", ("postgres.conninfo",)),
    (_USABLE.replace("brokers: 127.0.0.1:1", "brokers: ''"),
     ("kafka.brokers",)),
    (_USABLE + "log:\n  level: [\n", ("walpost.yaml:7",)),
    (_USABLE + "kafka:\n  brokers: twice\n", ("kafka", "5")),
])
def test_unusable_file(run, text, words):
    ended = run(text)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    line, = ended.stderr.strip().splitlines()
    for word in words:
        assert word in line
    assert "s3cr3t" not in line


@pytest.mark.parametrize("words", [
    ["run"], ["run", "-c", "/not/there.yaml"], ["frobnicate"], [],
    ["run", "--no-such-option"], ["tail", "-c"],
])
def test_bad_usage(words):
    ended = subprocess.run([walpost_binary(), *words], capture_output=True,
                           text=True, timeout=20)
    assert ended.returncode == 2
    assert ended.stderr.strip()


@pytest.mark.parametrize("setting, word", [
    ("delivery.nope=1", "delivery.nope"),
    ("delivery.max_in_flight_records=x", "max_in_flight_records"),
    ("no equals sign", "no equals sign"),
])
def test_unusable_set(run, setting, word):
    ended = run(_USABLE, "--set", setting)
    assert ended.returncode == 2
    assert word in ended.stderr


def test_print_config_shows_everything_but_secrets(run, directory):
    (directory / "secret").write_text("fil3s3cr3t\n")
    ended = run(
        _USABLE + "  properties:\n    sasl.password: ${env:BROKER_PASSWORD}\n"
        f"    ssl.key.password: ${{file:{directory}/secret}}\n"
        "    client.id: shop\n",
        "--set", "delivery.max_in_flight_records=77", "--set",
        "kafka.brokers=broker:9092", "--print-config",
        env={"BROKER_PASSWORD": "env5ecret"})
    assert ended.returncode == 0, ended.stderr
    for shown in ("broker:9092", "max_in_flight_records: 77", "client.id",
                  "shop", "status_interval: 200ms", "127.0.0.1",
                  "outbox.event.{aggregate_type}"):
        assert shown in ended.stdout
    for secret in ("s3cr3t", "env5ecret", "fil3s3cr3t"):
        assert secret not in ended.stdout + ended.stderr


def test_print_config_is_a_configuration(run):
    printed = run(_USABLE.replace(" password=s3cr3t", ""), "--print-config")
    again = run(printed.stdout, "--print-config")
    assert again.returncode == 0, again.stderr
    assert again.stdout == printed.stdout
