"""The configuration that we ship cannot gap (P9): docker/walpost.yaml, with the
SQL that compose.yaml runs."""

import re

import pytest
import yaml

from harness import KafkaReader, Walpost, wait_until
from harness.paths import REPOSITORY
from harness.ports import free_port

_TOPIC = "outbox.event.shipped"


def _compose():
    return yaml.safe_load((REPOSITORY / "docker/compose.yaml").read_text())


def _initdb_files():
    """The files that the postgres container runs, in its order."""
    volumes = _compose()["services"]["postgres"]["volumes"]
    mounts = [volume.split(":") for volume in volumes
              if "docker-entrypoint-initdb.d" in volume]
    return [(REPOSITORY / "docker" / source).resolve()
            for source, _, _ in sorted(mounts, key=lambda mount: mount[1])]


@pytest.fixture
def shop(own_postgres):
    database = own_postgres.create_database()
    for path in _initdb_files():
        database.execute(path.read_text())
    return database


def _shipped(directory, database, kafka, **changes):
    """docker/walpost.yaml with other addresses."""
    config = yaml.safe_load((REPOSITORY / "docker/walpost.yaml").read_text())
    config["postgres"]["conninfo"] = database.conninfo("walpost")
    config["kafka"]["brokers"] = kafka.bootstrap
    config["http"]["listen"] = f"127.0.0.1:{free_port()}"
    config.update(changes)
    return Walpost(directory / "shipped", config)


def _as_administrator(relay, database, verb, *words):
    """As compose.yaml runs `init`."""
    return relay.verb(verb, *words, "--set",
                      f"postgres.conninfo={database.conninfo()}")


def _insert(database, number):
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "values ('shipped', 'key', %s)", (str(number),))


def _values(kafka):
    return [int(record.value) for record
            in KafkaReader(kafka.bootstrap).read_all(_TOPIC)]


@pytest.fixture
def relay(directory, shop, own_kafka):
    made = _shipped(directory, shop, own_kafka)
    yield made
    made.close()


def test_compose_makes_the_slot_as_the_administrator():
    services = _compose()["services"]
    init = services["init"]
    assert init["command"][:3] == ["init", "-c", "/etc/walpost/walpost.yaml"]
    assert "user=postgres" in init["command"][-1]
    assert services["walpost"]["depends_on"] == {
        "init": {"condition": "service_completed_successfully"}}


@pytest.mark.parametrize("path", ["docker/walpost.yaml", "README.md"])
@pytest.mark.sample(2)
def test_no_shipped_configuration_makes_slots_by_itself(path):
    assert not re.search(r"^\s*create: true",
                         (REPOSITORY / path).read_text(), re.M)


def test_p9_a_dropped_slot_is_held_and_recovered(relay, shop, own_kafka):
    for _ in range(2):  # `docker compose up` runs it each time
        made = _as_administrator(relay, shop, "init")
        assert made.returncode == 0, made.stderr
    relay.run()
    assert "cannot know" not in relay.log()
    _insert(shop, 1)
    wait_until(lambda: _values(own_kafka) == [1], "event 1")
    shop.wait_confirmed("walpost")
    assert relay.stop() == 0

    shop.wait_slot_inactive("walpost")
    shop.execute("select pg_drop_replication_slot('walpost')")
    _insert(shop, 2)
    again = _as_administrator(relay, shop, "init")
    assert again.returncode == 3 and "walpost recover" in again.stderr
    relay.start()
    assert "slot_missing" in relay.wait_unready("slot_missing")
    _insert(shop, 3)
    assert shop.confirmed_lsn("walpost") is None
    assert relay.stop() == 0

    recovered = _as_administrator(relay, shop, "recover")
    assert recovered.returncode == 0, recovered.stderr
    relay.run()
    _insert(shop, 4)
    wait_until(lambda: len(_values(own_kafka)) >= 4, "all events")
    assert sorted(_values(own_kafka)) == [1, 2, 3, 4]
