"""What scripts/demo shows, once everything is installed and built.

It uses the harness of the end-to-end tests: the servers die with this process,
however it ends.
"""

import argparse
import contextlib
import importlib
import pathlib
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psycopg2.extensions

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))

# pylint: disable=wrong-import-position
from harness import (Checker, Expected, ExternalKafka,  # noqa: E402
                     ExternalPostgres, Kafka, Postgres, Walpost, wait_until)
from harness.kafka_reader import parse_record  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.process import Process  # noqa: E402

SINKS = ["kafka", "nats", "rabbitmq", "redis"]
_ORDERS = 1000
_PER_SECOND = 200

_PLACE_ORDER = """
with placed as (
  insert into orders (customer, cents) values (%s, %s)
  returning *
)
insert into outbox (id, aggregate_type, aggregate_id, type, payload)
select gen_random_uuid(), 'order', customer, 'OrderPlaced',
       json_build_object('event', 'OrderPlaced', 'orderId', id,
                         'customer', customer, 'cents', cents)
from placed
returning id::text, aggregate_id, payload::text, (payload->>'orderId')::int
"""


def main():
    parser = argparse.ArgumentParser("scripts/demo", allow_abbrev=False)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--sink", default="kafka", choices=SINKS)
    words = parser.parse_args()
    sink = (_Kafka if words.sink == "kafka" else
            importlib.import_module(f"demo_{words.sink}").Sink)()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        with contextlib.ExitStack() as cleanup:
            _show(cleanup, sink, words.keep)
    except KeyboardInterrupt:
        print()
    print("\nAll stopped and removed. Next: scripts/demo --keep to play on;"
          "\nscripts/test to try to break it; README.md for your tables.")


def _show(cleanup, sink, keep):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="walpost-demo-"))
    cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)  # Postgres runs as another user

    _say(1, f"PostgreSQL and {sink.title}")
    server = _postgres(folder, cleanup)
    database = server.create_database()
    cleanup.callback(database.drop)
    topics = f"walpost.demo.{secrets.token_hex(3)}."
    topic = topics + "order"
    sink.start(folder, topic, cleanup)
    version = database.value("show server_version").split()[0]
    _more(f"PostgreSQL {version}: {_without_password(database)}")
    _more(sink.address())

    _say(2, "walpost init makes the outbox table, publication and slot; "
            "walpost run relays")
    relay = Walpost(folder, {
        "postgres": {"conninfo": database.conninfo(), "slot": database.name,
                     "publication": "walpost"},
        "route": {"topic": topics + "{aggregate_type}"},
        **sink.sections(),
        "http": {"listen": f"127.0.0.1:{free_port()}"},
    })
    init = relay.verb("init")
    if init.returncode != 0:
        sys.exit(f"walpost init failed:\n{init.stderr}")
    cleanup.callback(relay.close)
    relay.run()
    _more(f"build/release/walpost run -c {relay.config_path}")

    _say(3, f"Placing {_ORDERS} orders, {_PER_SECOND} a second: the order and "
            "its event in one transaction")
    database.execute("create table orders (id int generated always as identity"
                     ", customer text, cents int)")
    consumer = sink.consumer(folder, topic, cleanup)
    with contextlib.closing(database.connect()) as connection:
        connection.autocommit = False
        expected = [_place(connection, topic)]
        connection.commit()
        consumer.wait_for(1)  # all connections are warm now
        lag = _place_orders(connection, database, topic, expected)
    consumer.wait_for(len(expected))
    database.wait_confirmed(database.name)
    _more(f"{len(expected)} committed, {_ORDERS - len(expected)} rolled back")

    _say(4, f"What {sink.reader}, which is not ours, has read meanwhile")
    checker = Checker(expected, consumer.records)
    checker.assert_clean()
    _more(f"{len(consumer.records)} records: every committed order and none "
          "of those rolled back, in order")
    _more(f"per customer, {checker.duplicates} of them sent twice. The last:")
    for record in consumer.records[-2:]:
        _more(f"key {record.key.decode()}  {record.value.decode()}")
        _more(f"    id {record.id}  walpost-position {record.position}")

    _say(5, "How far behind")
    latencies = sorted(consumer.latencies[1:])
    _more("commit to consumer: median %.1f ms, 99 %% within %.1f ms" % (
        latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]))
    _more(f"WAL not yet confirmed: at most {max(lag)} bytes, now "
          f"{max(0, _lag(database))}")
    _more(f"walpost took {relay.peak_memory_bytes() / 2**20:.0f} MB at most")

    if keep:
        _keep_running(relay, sink.reads(topic), database)
    if relay.stop() != 0:
        sys.exit(f"walpost did not end cleanly:\n{relay.log()}")


def _postgres(folder, cleanup):
    """The user's server where the environment names it, else our own."""
    server = ExternalPostgres.from_environment()
    if server is None:
        server = Postgres(folder / "postgres", settings={"fsync": "on"})
        cleanup.callback(server.close)
        server.start()
    return server


def _place(connection, topic):
    """Places one order; returns the event that a consumer must see."""
    with connection.cursor() as cursor:
        cursor.execute(_PLACE_ORDER, (
            f"customer-{random.randint(1, 20)}",
            random.randint(100, 9999)))
        event, key, value, order = cursor.fetchone()
    return Expected(event, topic, key.encode(), value.encode(), order)


def _place_orders(connection, database, topic, expected):
    """Appends the committed ones to `expected`; returns samples of the lag."""
    lag = []
    begun = time.monotonic()
    for number in range(1, _ORDERS):
        time.sleep(max(0, begun + number / _PER_SECOND - time.monotonic()))
        event = _place(connection, topic)
        if number % 5 == 0:
            connection.rollback()
        else:
            connection.commit()
            expected.append(event)
        if number % 50 == 0:
            lag.append(_lag(database))
    return lag


def _lag(database):
    return database.current_lsn() - database.confirmed_lsn(database.name)


def _without_password(database):
    parts = psycopg2.extensions.parse_dsn(database.conninfo())
    parts.pop("password", None)
    return " ".join(f"{name}={value}" for name, value in parts.items())


def _keep_running(relay, reads, database):
    print(f"""
Running until Ctrl-C. In other terminals:
  {reads}
  psql '{_without_password(database)}'
  curl http://{relay.config['http']['listen']}/metrics
  build/release/walpost tail -c {relay.config_path}""")
    signal.pause()


class _Kafka:
    """What is Kafka's about the demo; demo_NAME.py has the other sinks."""

    title = ("Apache Kafka: private ones, unless WALPOST_PG and "
             "WALPOST_BROKERS say otherwise")
    reader = "kcat"

    def __init__(self):
        self._broker = self._topic = None

    def start(self, folder, topic, cleanup):
        self._topic = topic
        self._broker = ExternalKafka.from_environment()
        is_own = self._broker is None
        if is_own:
            self._broker = Kafka(folder / "kafka")
            cleanup.callback(self._broker.close)
            self._broker.start()
        self._broker.create_topic(topic, 4)
        if not is_own:
            cleanup.callback(self._broker.delete_topic, topic)

    def address(self):
        return f"Kafka: {self._broker.bootstrap}, topic {self._topic}"

    def sections(self):
        return {"kafka": {"brokers": self._broker.bootstrap}}

    def consumer(self, folder, topic, cleanup):
        return _Consumer(self._broker.bootstrap, topic, folder, cleanup)

    def reads(self, topic):
        return f"kcat -b {self._broker.bootstrap} -C -u -t {topic}"


class _Consumer:
    """kcat, reading along; notes when each record came."""

    def __init__(self, bootstrap, topic, folder, cleanup):
        self.records = []
        self.latencies = []  # milliseconds from commit
        self._kcat = Process(
            ["kcat", "-b", bootstrap, "-C", "-t", topic, "-o", "beginning",
             "-u", "-q", "-J"], folder / "kcat.log", stdout=subprocess.PIPE)
        cleanup.callback(self._kcat.end)
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, count):
        wait_until(lambda: len(self.records) >= count,
                   lambda: f"{count} records; {len(self.records)} came", 60)

    def _read(self):
        for line in self._kcat.stdout:
            now = time.time() * 1000
            record = parse_record(line.decode("utf-8", "surrogateescape"))
            self.latencies.append(now - record.timestamp)
            self.records.append(record)


def _say(number, text):
    print(f"{number}. {text}", flush=True)


def _more(text):
    print(f"   {text}", flush=True)


if __name__ == "__main__":
    main()
