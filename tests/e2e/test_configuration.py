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


def test_print_config_is_a_configuration(run):
    printed = run(_USABLE.replace(" password=s3cr3t", ""), "--print-config")
    again = run(printed.stdout, "--print-config")
    assert again.returncode == 0, again.stderr
    assert again.stdout == printed.stdout
