"""Servers and databases for the tests, and their end.

Each file of tests shares one Postgres and one Kafka; each test has a database,
a slot and topics of its own. A test that harms Postgres starts one of its own;
those that harm Kafka share another, one after the other. In a run of the whole
suite, all files share the Kafka of with_kafka.py.
"""

import collections
import contextlib
import os
import pathlib
import random
import secrets
import shutil
import sys
import tempfile

import pytest

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from harness import (Authority, ExternalKafka, ExternalPostgres,  # noqa: E402
                     Kafka, KafkaCluster, KafkaReader, Outbox, Postgres, Proxy,
                     RequestProxy, SecuredKafka, Walpost, note)
from harness.figures import noted  # noqa: E402
from harness.first_day import Installation  # noqa: E402
from harness.paths import fetched_postgres  # noqa: E402
from harness.matrix import LONG  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.sections import laid_over  # noqa: E402


_prefixes = []  # of the topics of the tests so far


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """A test that did not run is a failure, never a skip."""
    report = (yield).get_result()
    if report.skipped:
        report.outcome = "failed"


def pytest_collection_modifyitems(config, items):
    """Leaves out what only a long run has."""
    if LONG:
        return
    seen = collections.Counter()
    left_out = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        sample = item.get_closest_marker("sample")
        is_of_sample = not sample or seen[test] % sample.args[0] == 0
        seen[test] += 1
        if item.get_closest_marker("long") or not is_of_sample:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    config.is_for_long_runs = bool(left_out) and not items


def pytest_sessionfinish(session, exitstatus):
    """A file of which a usual run has nothing is no failure."""
    if (exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
            and getattr(session.config, "is_for_long_runs", False)):
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter):
    """What the tests have measured, also when they have passed."""
    for line in noted():
        terminalreporter.write_line(line)


@contextlib.contextmanager
def _scratch():
    """A folder that the user of the servers may enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="walpost-e2e-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def module_directory():
    with _scratch() as folder:
        yield folder


@pytest.fixture
def directory():
    with _scratch() as folder:
        yield folder


@pytest.fixture(scope="module")
def postgres(module_directory):
    server = ExternalPostgres.from_environment()
    if server is None:
        server = Postgres(module_directory / "postgres").start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def kafka(module_directory):
    broker = ExternalKafka.from_environment()
    if broker is None:
        broker = Kafka(module_directory / "kafka").start()
    yield broker
    if isinstance(broker, ExternalKafka):
        broker.forget(_prefixes)
    broker.close()


@pytest.fixture(scope="module")
def guarded(module_directory):
    """A broker that asks who somebody is, and for each right."""
    broker = SecuredKafka(module_directory / "guarded",
                          Authority(module_directory / "authority"),
                          "a-secret", asks_for_rights=True).start()
    yield broker
    broker.close()


@pytest.fixture(scope="module")
def kafka_cluster(module_directory):
    """Three brokers; a test that harms one mends it."""
    cluster = KafkaCluster(module_directory / "cluster").start()
    yield cluster
    cluster.close()


@pytest.fixture
def major_17():
    """The folder of PostgreSQL 17's programs."""
    return fetched_postgres(17)


@pytest.fixture
def own_postgres(directory):
    """A server that the test may harm."""
    server = Postgres(directory / "postgres").start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def harmed_kafka(module_directory):
    """The broker behind `own_kafka`."""
    broker = Kafka(module_directory / "harmed-kafka").start()
    yield broker
    broker.close()


@pytest.fixture
def own_kafka(harmed_kafka):
    """A broker that the test may harm; the file's next such test has it again,
    mended."""
    yield harmed_kafka
    harmed_kafka.mend()


@pytest.fixture(scope="module")
def strict_kafka(module_directory):
    """A broker that makes no topic by itself."""
    broker = Kafka(module_directory / "strict-kafka", properties={
        "auto.create.topics.enable": "false"}).start()
    yield broker
    broker.close()


@pytest.fixture(scope="module")
def far_kafka(module_directory, request):
    """The broker and the proxy behind `way`; a file may have properties for it
    in BROKER."""
    port = free_port()
    broker = Kafka(module_directory / "far-kafka", advertised_port=port,
                   properties=getattr(request.module, "BROKER", None)).start()
    proxy = RequestProxy(broker.behind_port, port)
    yield broker, proxy
    proxy.close()
    broker.close()


@pytest.fixture
def way(far_kafka):
    """A broker, and the RequestProxy that is the only way to it; a test may
    harm both."""
    broker, proxy = far_kafka
    yield broker, proxy
    proxy.heal()
    broker.mend()


@pytest.fixture
def proxy_of():
    """Makes Proxies: proxy_of(port); they are closed at the end."""
    made = []

    def make(target_port, port=None):
        made.append(Proxy(target_port, port))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


@pytest.fixture
def walposts(directory):  # pylint: disable=unused-argument
    """Every Walpost of the test, in the order of their making."""
    made = []
    yield made
    for number, instance in enumerate(made):
        instance.close()
        # pytest shows this when the test has failed.
        print(f"--- log of walpost {number}\n{instance.whole_log()[-20000:]}")


@pytest.fixture
def database(postgres, walposts):
    fresh = postgres.create_database()
    yield fresh
    for instance in walposts:
        instance.close()  # else it would take its slot again
    fresh.drop()


@pytest.fixture
def own_database(own_postgres):
    """A database of `own_postgres`; it goes with its server."""
    return own_postgres.create_database()


@pytest.fixture
def topics():
    """What the names of this test's topics begin with."""
    _prefixes.append(f"t{secrets.token_hex(4)}.")
    return _prefixes[-1]


@pytest.fixture
def dice():
    """Random numbers; WALPOST_SEED replays those of a run that failed."""
    seed = os.environ.get("WALPOST_SEED") or secrets.token_hex(4)
    note(f"WALPOST_SEED={seed}")
    random_numbers = random.Random(seed)
    random_numbers.seed_text = seed
    return random_numbers


@pytest.fixture
def reader(kafka):
    return KafkaReader(kafka.bootstrap)


@pytest.fixture
def outbox(database, topics):
    return Outbox(database, topics)


@pytest.fixture
def walpost(directory, walposts):
    """Makes Walposts: walpost(database, kafka, topics, section={...}).

    The sections are laid over a configuration that works; a value of None
    removes the key.
    """

    def make(database, kafka, topics, /, env=None, **sections):
        config = {
            "postgres": {"conninfo": database.conninfo(),
                         "slot": database.name, "publication": "walpost",
                         "create": True},
            "route": {"topic": topics + "{aggregate_type}"},
            "kafka": {"brokers": kafka.bootstrap},
            "http": {"listen": f"127.0.0.1:{free_port()}"},
        }
        made = Walpost(directory / f"walpost-{len(walposts)}",
                       laid_over(config, sections), env)
        walposts.append(made)
        return made

    return make


@pytest.fixture
def install(walpost, database, kafka, topics):
    """Makes the Installation of the test: install(section={...})."""
    def installed(where=database, /, **sections):
        return Installation(walpost, where, kafka, topics, **sections)

    return installed
