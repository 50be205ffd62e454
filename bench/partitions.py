"""What many partitions cost: the same rows to 24 partitions, and to thousands.

Topics of twelve partitions, one row after the other for another topic. Each
round starts a walpost for each build and each number of partitions, in shuffled
order, and measures

  first    rows of a walpost that has sent nothing yet: each partition's first
           record goes alone
  next     the same number again: all partitions have begun
  idle     CPU time and memory while nothing is sent
  trickle  how old the oldest record got, of one row a second
"""

import argparse
import contextlib
import os
import random
import time

import rig
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

_PARTITIONS = 12  # of a topic
_DDL = """
create table outbox (
  id bigint generated always as identity primary key,
  aggregate_type text not null, aggregate_id text not null,
  type text not null default 'Created', payload jsonb not null default '{}');
create publication bench for table outbox with (publish = 'insert');
"""
_ROWS = """
insert into outbox (aggregate_type, aggregate_id)
select 'tenant' || g %% %s, g::text from generate_series(1, %s) g
"""


def _topic(number):
    return f"outbox.event.tenant{number}"


def _create_topics(bootstrap, count):
    """In portions that a broker makes within its limit of time."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = [_topic(number) for number in range(count)]
    for begin in range(0, count, 50):
        topics = [NewTopic(name, _PARTITIONS, 1)
                  for name in names[begin:begin + 50]]
        for answer in admin.create_topics(topics, request_timeout=60).values():
            answer.result()
    # The controller has answered; the broker has yet to make the logs.
    begin = [TopicPartition(name, partition, 0)
             for name in names for partition in range(_PARTITIONS)]
    rig.wait_until(lambda: _has_all(bootstrap, begin), lambda: "no logs", 300, 1)


def _has_all(bootstrap, begin):
    """Asked by a new client: one keeps what it once learnt about a topic."""
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench"})
    try:
        found = client.offsets_for_times(begin, timeout=60)
    except KafkaException:
        return False
    finally:
        client.close()
    return not any(partition.error for partition in found)


class Bench:
    def __init__(self, servers, options, results):
        self._servers = servers
        self._options = options
        self._results = results
        self._runs = 0

    def measure(self, build, topics):
        """One walpost, with a database of its own, from its start."""
        self._runs += 1
        self._name = f"{topics * _PARTITIONS} partitions, {build or 'this'}"
        database = self._servers.postgres.create_database()
        database.execute(_DDL)
        walpost = rig.Walpost(
            self._servers.directory / f"walpost{self._runs}",
            {"postgres": {"conninfo": database.conninfo(),
                          "slot": f"bench_{self._runs}",
                          "publication": "bench", "create": True},
             "kafka": {"brokers": self._servers.kafka.bootstrap},
             "http": {"listen": f"127.0.0.1:{rig.free_port()}"}})
        if build:
            os.environ["WALPOST_BINARY"] = build
        with contextlib.closing(walpost):
            walpost.run()
            os.environ.pop("WALPOST_BINARY", None)
            self._drain("first", walpost, database, topics)
            self._drain("next", walpost, database, topics)
            self._idle(walpost)
            self._trickle(walpost, database, topics)
            if walpost.stop() != 0:
                raise RuntimeError(walpost.log())
        database.drop()

    def _drain(self, what, walpost, database, topics):
        rows = self._options.rows
        before = walpost.metric("walpost_acknowledged_records_total") or 0
        begun = time.monotonic()
        accounts = rig.Accounts({"walpost": walpost.pid})
        database.execute(_ROWS, (topics, rows))
        written = time.monotonic()
        rig.wait_acknowledged(walpost, before + rows)
        accounts.close()
        self._note(f"{what}: rows a second", "rows/s",
                   rows / (time.monotonic() - written))
        self._note(f"{what}: with the INSERT", "s", time.monotonic() - begun)
        self._note(f"{what}: CPU per million", "s",
                   accounts.cpu_s("walpost") / rows * 1e6)

    def _idle(self, walpost):
        time.sleep(5)
        accounts = rig.Accounts({"walpost": walpost.pid})
        time.sleep(self._options.idle)
        accounts.close()
        self._note("idle: CPU", "% of a core",
                   100 * accounts.cpu_s("walpost") / accounts.elapsed_s)
        self._note("peak of memory", "MB",
                   walpost.peak_memory_bytes() / (1 << 20))

    def _trickle(self, walpost, database, topics):
        worst = 0.0
        for number in range(self._options.trickle):
            name = "walpost_acknowledged_records_total"
            before = walpost.metric(name)
            database.execute(
                "insert into outbox (aggregate_type, aggregate_id) "
                "values (%s, %s)", (f"tenant{number % topics}", str(number)))
            begun = time.monotonic()
            rig.wait_until(lambda: walpost.metric(name) > before,
                           walpost.log, 30, 0.001)
            worst = max(worst, time.monotonic() - begun)
            time.sleep(1)
        self._note("trickle: the slowest", "ms", 1000 * worst)

    def _note(self, what, unit, value):
        self._results.note(f"{self._name}: {what}", unit, value)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, nargs="+", default=[2, 500])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--idle", type=int, default=30, help="seconds")
    parser.add_argument("--trickle", type=int, default=10, help="rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", action="append", default=[],
                        help="another build, measured beside this one")
    options = parser.parse_args()
    with rig.servers() as servers:
        _create_topics(servers.kafka.bootstrap, max(options.topics))
        results = rig.Results("partitions")
        bench = Bench(servers, options, results)
        runs = [(build, topics) for build in ["", *options.beside]
                for topics in options.topics]
        for _ in range(options.rounds):
            random.shuffle(runs)
            for build, topics in runs:
                bench.measure(build, topics)
    results.write_notes()


if __name__ == "__main__":
    main()
