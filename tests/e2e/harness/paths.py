"""Where things are."""

import os
import pathlib
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def walpost_binary():
    """The program under test."""
    return pathlib.Path(
        os.environ.get("WALPOST_BINARY",
                       REPOSITORY / "build" / "release" / "walpost"))


def postgres_bin():
    """The folder of initdb and postgres: else of the oldest that is installed."""
    named = os.environ.get("WALPOST_TEST_PG_BIN")
    if named:
        return pathlib.Path(named)
    return min(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))


def fetched_postgres(major):
    """The same of another major; fetched when it is not there yet."""
    fetch = subprocess.run(
        [REPOSITORY / "scripts" / "fetch-postgres", str(major)],
        stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetch.stdout.strip())


def kafka_jars():
    """The folder of Kafka's jars; fetched when it is not there yet."""
    fetch = subprocess.run([REPOSITORY / "scripts" / "fetch-kafka"],
                           stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetch.stdout.strip())


def fetched_clients(group):
    """The libraries of the examples, see scripts/fetch-clients."""
    fetch = subprocess.run([REPOSITORY / "scripts" / "fetch-clients", group],
                           stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(fetch.stdout.strip())
