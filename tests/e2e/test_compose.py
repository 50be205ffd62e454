"""docker/compose.yaml fits the files, the configuration and the Dockerfile that it
names. No container engine runs here: tests/image builds and runs the image."""

import os
import re
import subprocess

import pytest
import yaml

from harness.compose import Compose
from harness.paths import REPOSITORY, walpost_binary

_DIRECTORY = REPOSITORY / "docker"


@pytest.fixture
def content():
    return yaml.safe_load((_DIRECTORY / "compose.yaml").read_text())


@pytest.fixture
def config(content):
    """What walpost makes of docker/walpost.yaml in its container."""
    environment = content["services"]["walpost"]["environment"]
    printed = subprocess.run(
        [walpost_binary(), "run", "-c", _DIRECTORY / "walpost.yaml",
         "--print-config"], env={**os.environ, **environment}, timeout=30,
        capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    return yaml.safe_load(printed.stdout)


def _faults(content, config):
    text = (_DIRECTORY / "walpost.yaml").read_text()
    return Compose(content, _DIRECTORY, config, text).faults()


def test_compose_fits_what_it_names(content, config):
    assert _faults(content, config) == []


def test_nothing_is_left_to_the_environment_of_the_caller():
    """`${NAME}` in the file itself would be substituted, or be empty."""
    text = (_DIRECTORY / "compose.yaml").read_text()
    assert not re.findall(r"^[^#\n]*\$\{?\w+", text, re.M)


@pytest.mark.long
def test_the_image_reads_the_file_that_is_mounted(content):
    dockerfile = (_DIRECTORY / "Dockerfile").read_text()
    command = " ".join(re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", dockerfile,
                                  re.M))
    assert "command" not in content["services"]["walpost"]
    for volume in content["services"]["walpost"]["volumes"]:
        assert volume.split(":")[1] in command


def test_the_password_of_walpost_is_that_of_its_role(content):
    password = content["services"]["walpost"]["environment"]["WALPOST_PASSWORD"]
    assert f"password '{password}'" in (_DIRECTORY / "shop.sql").read_text()


_ADDRESS = {"nats": "servers", "rabbitmq": "nodes", "redis": "address"}


@pytest.mark.parametrize("sink", _ADDRESS)
def test_the_profile_of_a_sink_fits_its_server(sink, content):
    service = content["services"][sink]
    path = _DIRECTORY / f"walpost-{sink}.yaml"
    address = yaml.safe_load(path.read_text())[sink][_ADDRESS[sink]]
    host, _, port = address.removeprefix("nats://").partition(":")
    assert content["services"][host] is service
    assert f":{port}" in service["ports"][0]
    relay = content["services"][f"walpost-{sink}"]
    assert service["profiles"] == relay["profiles"] == [sink]
    said = subprocess.run(
        [walpost_binary(), "check", "--offline", "-c", path], check=False,
        timeout=30, env={**os.environ, **relay["environment"]},
        capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.long
def test_redis_of_the_compose_file_syncs_each_write(content):
    assert content["services"]["redis"]["command"][1:] == [
        "--appendonly", "yes", "--appendfsync", "always"]


@pytest.mark.long
def test_rabbitmq_of_the_compose_file_knows_the_user(content):
    config = yaml.safe_load((_DIRECTORY / "walpost-rabbitmq.yaml").read_text())
    login = content["services"]["rabbitmq"]["environment"]
    relay = content["services"]["walpost-rabbitmq"]
    assert config["rabbitmq"]["user"] == login["RABBITMQ_DEFAULT_USER"]
    assert (relay["environment"]["RABBITMQ_PASSWORD"] ==
            login["RABBITMQ_DEFAULT_PASS"])


# Path in the file, what is put there, and how the fault is named. None: removed.
_BROKEN = [
    ("services postgres volumes 1", "../sql/no.sql:/x:ro", "not a file"),
    ("services kafka volumes 0", "other:/data", "other is not declared"),
    ("services kafka volumes", [], "kafka-data is not mounted"),
    ("services init build dockerfile", "Dockerfile", "there is no"),
    ("services init build context", ".", "there is no"),
    ("services init build", None, "walpost is not built here"),
    ("services shop image", "postgres", "no version"),
    ("services shop image", None, "neither image nor build"),
    ("services walpost depends_on",
     {"inti": {"condition": "service_completed_successfully"}},
     "inti, which is not a service"),
    ("services postgres healthcheck", {}, "tests nothing"),
    ("services init restart", "always", "is restarted"),
    ("services init command 2", "/etc/other.yaml", "is not mounted"),
    ("services shop command 1", "--host=db", "db, which is not a service"),
    ("services init command 4",
     "host=db dbname=shop user=postgres password=postgres",
     "host=db is not a service"),
    ("services postgres environment POSTGRES_DB", "store", "POSTGRES_DB"),
    ("services postgres environment POSTGRES_PASSWORD", "x",
     "POSTGRES_PASSWORD"),
    ("services postgres command", ["postgres"], "wal_level"),
    ("services postgres ports 0", "127.0.0.1:5432:5433", "is 5432"),
    ("services kafka environment KAFKA_LISTENERS",
     "INSIDE://:9094,OUTSIDE://:29092,CONTROLLER://:9093", "advertised with"),
    ("services kafka environment KAFKA_LISTENERS", "INSIDE://:9092,CONTROLLER:"
     "//:9093", "protocols are not"),
    ("services kafka environment KAFKA_ADVERTISED_LISTENERS",
     "INSIDE://broker:9092,OUTSIDE://127.0.0.1:29092", "is not advertised"),
    ("services kafka environment KAFKA_INTER_BROKER_LISTENER_NAME", "BROKER",
     "no listener BROKER"),
    ("services kafka environment KAFKA_CONTROLLER_QUORUM_VOTERS",
     "1@kafka:9092", "is not its controller"),
    ("services kafka ports 0", "127.0.0.1:29093:29092", "nobody is told"),
    ("services walpost ports 0", "127.0.0.1:9187:9188", "is not published"),
    ("services walpost stop_grace_period", "12s", "too short"),
    ("services walpost stop_grace_period", None, "too short"),
    ("services walpost environment", {}, "WALPOST_PASSWORD is not set"),
]


@pytest.mark.parametrize("path, value, words", _BROKEN,
                         ids=lambda value: str(value)[:40])
@pytest.mark.sample(28)
def test_a_fault_is_found(content, config, path, value, words):
    *parents, last = [int(word) if word.isdigit() else word
                      for word in path.split()]
    place = content
    for word in parents:
        place = place[word]
    if value is None:
        del place[last]
    else:
        place[last] = value
    found = _faults(content, config)
    assert any(words in fault for fault in found), found


@pytest.mark.parametrize("section, key, value, words", [
    ("kafka", "brokers", "kafka:29093", "kafka:29093 is not advertised"),
    ("kafka", "brokers", "127.0.0.1:29092", "127.0.0.1:29092 is not advertised"),
    ("http", "listen", "0.0.0.0:9188", "9188 of http.listen"),
    ("delivery", "shutdown_timeout", "30s", "too short"),
    ("postgres", "conninfo", "host=db dbname=shop user=walpost", "host=db"),
    ("postgres", "conninfo", "host=postgres dbname=shop user=walpost port=5433",
     "no port of postgres"),
])
@pytest.mark.sample(6)
def test_a_configuration_that_does_not_fit_is_found(content, config, section,
                                                    key, value, words):
    config[section][key] = value
    found = _faults(content, config)
    assert any(words in fault for fault in found), found
