"""Kafka deletes, too: retention, compaction and kafka-delete-records take records
away that were delivered. Nothing that was delivered is called missing, nothing
is sent again for it, and nobody is surprised by it.
"""

import json
import pathlib
import re
import time

import pytest

from harness import Kafka, KafkaReader, verify, wait_until
from harness.kafka_java import run_tool
from harness.matrix import long_only
from harness.remedies import run_printed_tool, tools

_DAY_MS = 86_400_000
_TABLE = """
create table public.outbox (
  id bigint generated always as identity primary key,
  aggregate_type text not null, aggregate_id text, type text,
  payload jsonb, created_at timestamptz not null default clock_timestamp());
create publication walpost for table public.outbox with (publish = 'insert');
"""


@pytest.fixture(scope="module")
def sweeping(module_directory):
    """A broker that deletes and compacts without delay."""
    broker = Kafka(module_directory / "sweeping", properties={
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 100,
        "log.cleaner.backoff.ms": 200,
        "log.cleaner.min.cleanable.ratio": 0.01}).start()
    yield broker
    broker.close()


@pytest.fixture
def shop(walpost, database, sweeping, topics):
    return Shop(walpost, database, sweeping, topics)


class Shop:
    """A table, a topic of four partitions, and a walpost."""

    def __init__(self, make, database, kafka, topics):
        self.database, self.kafka = database, kafka
        self.topic = topics + "order"
        database.execute(_TABLE)
        self.relay = make(database, kafka, topics,
                          outbox={"tables": [{"name": "public.outbox"}]})

    def create_topic(self, **config):
        self.kafka.create_topic(self.topic, 4, **config)

    def configure(self, **sections):
        self.relay.configure({**self.relay.config, **sections})

    def write(self, first, last, payload="{}", age="0"):
        self.database.execute(
            "insert into outbox (aggregate_type, aggregate_id, type, payload, "
            "created_at) select 'order', 'k' || g, 'Created', %s, "
            f"clock_timestamp() - interval '{age}' from "
            f"generate_series({first}, {last}) g", (payload,))

    def write_keys(self, keys, rounds, payload="{}"):
        """Rows one after the other: each key has one in each round."""
        for _ in range(rounds):
            self.database.execute(
                "insert into outbox (aggregate_type, aggregate_id, type, "
                "payload) select 'order', 'k' || g, 'Changed', %s from "
                f"generate_series(1, {keys}) g", (payload,))

    def run(self):
        self.relay.run()
        return self

    def settled(self):
        self.database.wait_confirmed(self.relay.slot)

    def records(self):
        return KafkaReader(self.kafka.bootstrap).read(self.topic)

    def rows(self):
        return self.database.value("select count(*) from outbox")

    def gone(self):
        """Rows whose records Kafka has deleted."""
        return self.rows() - len({record.id for record in self.records()})

    def delete_before(self, offsets):
        """kafka-delete-records.sh; offsets by partition."""
        plan = pathlib.Path(self.relay.config_path).parent / "delete.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": self.topic, "partition": partition, "offset": offset}
            for partition, offset in offsets.items()]}))
        run_tool(self.kafka.bootstrap, "DeleteRecordsCommand",
                 "--offset-json-file", plan)

    def ends(self):
        return KafkaReader(self.kafka.bootstrap).ends(self.topic)

    def await_gone(self, left=0):
        wait_until(lambda: len(self.records()) <= left,
                   lambda: f"{len(self.records())} records to go", 60)

    def lose_the_slot(self):
        assert self.relay.stop() == 0
        self.database.wait_slot_inactive(self.relay.slot)
        self.database.execute("select pg_drop_replication_slot(%s)",
                              (self.relay.slot,))


# ---- How records go: each leaves some of the rows without a record.

def _half_of_each(shop):
    shop.create_topic()
    shop.run().write(1, 400)
    shop.settled()
    shop.delete_before({partition: end // 2
                        for partition, end in shop.ends().items()})


def _one_of_four(shop):
    shop.create_topic()
    shop.run().write(1, 200)
    shop.settled()
    shop.delete_before({2: shop.ends()[2] - 3})


def _all_of_one(shop):
    shop.create_topic()
    shop.run().write(1, 400)
    shop.settled()
    # The last event is in another partition.
    other = next(each.key for each in shop.records() if each.partition == 0)
    number = int(other[1:])
    shop.write(number, number)
    shop.settled()
    shop.delete_before({1: shop.ends()[1]})


def _all(shop):
    shop.create_topic()
    shop.run().write(1, 100)
    shop.settled()
    shop.delete_before(shop.ends())


def _old_times(shop):
    """Case 5: what is sent is older than what the topic keeps."""
    shop.create_topic(retention_ms=7 * _DAY_MS)
    shop.configure(outbox={"tables": [{
        "name": "public.outbox", "columns": {"timestamp": "created_at"}}]},
        snapshot="initial")
    shop.write(1, 100, age="30 days")
    shop.run().settled()
    shop.await_gone()


def _smaller_meanwhile(shop):
    """The topic is made smaller while walpost runs."""
    shop.create_topic(segment_ms=500)
    shop.run()
    for _ in range(5):
        shop.write(1, 100)
        shop.settled()
        time.sleep(0.6)
    shop.write(1, 40)
    shop.kafka.set_topic_config(shop.topic, "retention.bytes", "3000")
    shop.await_gone(400)
    shop.write(1, 20)
    shop.settled()


def _compacted(shop, policy="compact"):
    shop.create_topic(cleanup_policy=policy, segment_ms=500,
                      min_cleanable_dirty_ratio=0.01)
    shop.run().write_keys(10, 20)
    shop.settled()
    # The active segment stays: a later record closes it.
    shop.write(1, 8)
    shop.settled()

    def is_compacted():
        shop.write(1, 4)
        return len(shop.records()) < shop.rows() - 100
    wait_until(is_compacted, "the topic to be compacted", 90, pause=1)
    shop.settled()


def _compact_delete(shop):
    _compacted(shop, "compact,delete")
    shop.delete_before({1: shop.ends()[1] - 1})


def _tombstone(shop):
    """The last event of a key has no payload."""
    shop.create_topic(cleanup_policy="compact", segment_ms=500,
                      delete_retention_ms=0, min_cleanable_dirty_ratio=0.01)
    shop.run().write_keys(5, 3)
    shop.write_keys(5, 1, payload=None)
    shop.settled()

    def is_compacted():
        shop.write(101, 104)
        found = {record.key for record in shop.records()}
        return not found & {b"k1", b"k2", b"k3", b"k4", b"k5"}
    wait_until(is_compacted, "the keys to be gone", 90, pause=1)
    shop.settled()


_WAYS = [_half_of_each, _all_of_one, _all, _old_times, _compacted]
_ALL_WAYS = [*_WAYS, _one_of_four, _smaller_meanwhile, _compact_delete, _tombstone]


def _name(way):
    return way.__name__.strip("_")


@pytest.fixture(params=[*_WAYS, *long_only(*_ALL_WAYS[len(_WAYS):])], ids=_name)
def deleted(request, shop):
    request.param(shop)
    return shop


@pytest.mark.sample(6)
def test_what_kafka_has_deleted_is_expired_and_not_missing(deleted):
    gone = deleted.gone()
    assert gone > 0
    report = verify(deleted.relay, sequence=None)
    # Compaction may go on meanwhile.
    assert gone <= report["found"]["expired"] <= deleted.gone(), json.dumps(
        report, indent=1)
    assert "missing" not in report["found"]
    assert report["clean"], json.dumps(report, indent=1)
    said = deleted.relay.verb("verify")
    assert said.returncode == 0
    assert re.search(r"\d+ expired: no longer in Kafka", said.stdout)


@pytest.mark.sample(6)
def test_recover_sends_only_what_was_lost(deleted):
    before = len(deleted.records())
    deleted.lose_the_slot()
    deleted.write(901, 905)  # nobody has sent these
    said = deleted.relay.verb("recover", "--dry-run")
    assert said.returncode == 0, said.stderr
    counted = re.search(r"rows looked at, (\d+) are not published", said.stdout)
    if before == 0:
        # Neither Kafka nor a checkpoint says how far it had come.
        assert int(counted[1]) == deleted.rows(), said.stdout
        return
    assert int(counted[1]) == 5, said.stdout
    assert re.search(r"\d+ rows were sent, and are no longer there",
                     said.stdout)
    assert deleted.relay.verb("recover").returncode == 0
    sent = {record.key for record in deleted.records() if record.is_recovered}
    assert sent == {f"k{g}".encode() for g in range(901, 906)}


@pytest.mark.long
def test_rows_from_before_the_slot_are_missing_all_the_same(shop):
    shop.create_topic()
    shop.write(1, 8)
    shop.run().write(101, 300)
    shop.settled()
    shop.delete_before({partition: end // 2
                        for partition, end in shop.ends().items()})
    report = verify(shop.relay, sequence=None)
    assert report["found"]["missing"] == 8, json.dumps(report, indent=1)
    assert report["found"]["expired"] == 200 - len(shop.records())
    assert not report["clean"]


@pytest.mark.long
def test_recover_sends_what_kafka_has_deleted_only_if_told_to(shop):
    _half_of_each(shop)
    gone = shop.rows() - len(shop.records())
    shop.lose_the_slot()
    said = shop.relay.verb("recover", "--expired")
    assert said.returncode == 0, said.stderr
    assert f"{gone} published" in said.stdout, said.stdout


@pytest.mark.long
def test_replay_of_missing_rows_leaves_out_what_kafka_has_deleted(shop):
    _half_of_each(shop)
    said = shop.relay.verb("replay", "--from-table", "--missing")
    assert said.returncode == 0, said.stderr
    assert "rows looked at, 0 were not published" in said.stdout, said.stdout
    assert "no longer there" in said.stdout


@pytest.mark.long
def test_recover_puts_no_old_event_behind_a_newer_one_of_its_key(shop):
    _compacted(shop)
    newest = _last_of_each_key(shop)
    shop.lose_the_slot()
    assert shop.relay.verb("recover").returncode == 0
    assert _last_of_each_key(shop) == newest


def _last_of_each_key(shop):
    """What a compacted topic says in the end."""
    return {record.key: record.id for record in shop.records()}


# ---- Before the first record.

def _mapped(shop):
    shop.configure(outbox={"tables": [{
        "name": "public.outbox", "columns": {"timestamp": "created_at"}}]})


@pytest.mark.parametrize("verb", ["check", "snapshot", "recover", "replay"])
@pytest.mark.long
def test_what_kafka_would_delete_at_once_is_said_before(shop, verb):
    shop.create_topic(retention_ms=7 * _DAY_MS)
    _mapped(shop)
    shop.write(1, 30, age="30 days")
    shop.write(31, 40)
    if verb == "check":
        said = shop.relay.verb("check")
        assert said.returncode == 0, said.stdout
        text = said.stdout
    elif verb == "snapshot":
        shop.configure(snapshot="initial")
        shop.run().settled()
        text = shop.relay.log()
    elif verb == "recover":
        shop.run().settled()
        shop.lose_the_slot()
        text = _both(shop.relay.verb("recover", "--dry-run"))
    else:
        text = _both(shop.relay.verb("replay", "--from-table", "--dry-run"))
    line = next((line for line in text.splitlines()
                 if "retention.ms=604800000" in line), None)
    assert line, text
    assert shop.topic in line and "30 rows of table public.outbox" in line


def _published_after_the_remedy(shop):
    """What is printed is pasted: then nothing is said, and all rows come."""
    said = shop.relay.verb("check")
    run_printed_tool(*tools(_warning(said.stdout, shop.topic)))
    assert not _warning(shop.relay.verb("check").stdout, shop.topic)
    shop.configure(snapshot="initial")
    shop.run().settled()
    time.sleep(2)  # some sweeps
    return len(shop.records())


def _warning(text, topic):
    """What check says of rows that are older, with its remedy."""
    found = re.search(rf"^(?:note|warning) +topic {re.escape(topic)} .* are older by "
                      r".*\n +-> .*", text, re.M)
    return found[0] if found else ""


@pytest.mark.parametrize("created", [
    None, {"config": {"retention.ms": 86_400_000}}],
    ids=["by_the_brokers", "by_walpost"])
@pytest.mark.long
def test_a_topic_that_does_not_exist_yet_is_judged_by_its_settings(
        shop, created):
    if created:
        shop.configure(route={**shop.relay.config["route"],
                              "create_topics": created})
    _mapped(shop)
    shop.write(1, 30, age="30 days")
    said = _warning(shop.relay.verb("check").stdout, shop.topic)
    limit = 86_400_000 if created else 7 * _DAY_MS
    assert f"would be created with retention.ms={limit}" in said, said
    assert "30 rows of table public.outbox" in said
    assert _published_after_the_remedy(shop) == 30


@pytest.mark.long
def test_a_topic_that_refuses_old_records_is_said_before(shop):
    shop.create_topic(retention_ms=-1, message_timestamp_before_max_ms=_DAY_MS)
    _mapped(shop)
    shop.write(1, 30, age="30 days")
    said = _warning(shop.relay.verb("check").stdout, shop.topic)
    assert f"message.timestamp.before.max.ms={_DAY_MS}" in said, said
    assert "30 rows of table public.outbox" in said
    assert _published_after_the_remedy(shop) == 30


@pytest.mark.long
def test_a_compacted_topic_that_refuses_rows_without_a_key_is_said_before(shop):
    shop.create_topic(cleanup_policy="compact")
    shop.write(1, 3)
    assert "have no key" not in shop.relay.verb("check").stdout
    shop.database.execute("insert into outbox (aggregate_type, aggregate_id) "
                          "values ('order', null)")
    assert "1 rows of table public.outbox have no key" in \
        shop.relay.verb("check").stdout
    shop.configure(outbox={"tables": [{"name": "public.outbox", "columns": {
        "aggregate_id": None}}]})
    assert "4 rows of table public.outbox have no key" in \
        shop.relay.verb("check").stdout


@pytest.mark.long
def test_the_time_of_arrival_is_not_that_of_the_row(shop):
    shop.create_topic(retention_ms=7 * _DAY_MS,
                      message_timestamp_type="LogAppendTime")
    _mapped(shop)
    shop.write(1, 30, age="30 days")
    assert not _warning(shop.relay.verb("check").stdout, shop.topic)


@pytest.mark.long
def test_a_topic_that_is_too_small_is_said_before(shop):
    shop.create_topic(retention_bytes=1000)
    shop.write(1, 400, payload=json.dumps({"text": "x" * 300}))
    said = shop.relay.verb("check")
    assert re.search(rf"{re.escape(shop.topic)}.*retention.bytes=1000",
                     said.stdout), said.stdout


@pytest.mark.long
def test_a_compacted_topic_is_said_before(shop):
    shop.create_topic(cleanup_policy="compact,delete")
    shop.write(1, 3)
    said = shop.relay.verb("check")
    assert re.search(rf"{re.escape(shop.topic)}.*cleanup.policy=compact,delete",
                     said.stdout), said.stdout
    said = _both(shop.relay.verb("replay", "--from-table", "--dry-run"))
    assert re.search(r"cleanup.policy=compact,delete", said)


@pytest.mark.long
def test_nothing_is_said_of_a_topic_that_keeps_all(shop):
    shop.create_topic(retention_ms=-1)
    _mapped(shop)
    shop.write(1, 30, age="30 days")
    said = shop.relay.verb("check")
    assert "retention" not in said.stdout, said.stdout


def _both(said):
    return said.stdout + said.stderr


# ---- The only copy.

@pytest.mark.parametrize("way", [_old_times, _half_of_each], ids=_name)
@pytest.mark.long
def test_prune_says_that_a_row_is_the_only_copy(shop, way):
    way(shop)
    for words in (["--dry-run"], []):
        said = shop.relay.verb("prune", "--older-than", "0s", *words)
        assert said.returncode == 0, said.stderr
        assert "only copy" in said.stdout, said.stdout
        assert shop.topic in said.stdout


@pytest.mark.long
def test_prune_says_nothing_of_rows_that_kafka_has(shop):
    shop.create_topic()
    shop.run().write(1, 40)
    shop.settled()
    said = shop.relay.verb("prune", "--older-than", "0s")
    assert said.returncode == 0, said.stderr
    assert "only copy" not in said.stdout, said.stdout


@pytest.mark.long
def test_check_says_that_rows_are_kept_longer_than_records(shop):
    shop.create_topic(retention_ms=_DAY_MS)
    shop.configure(retention={"keep": "30d"})
    shop.write(1, 3)
    said = shop.relay.verb("check")
    assert re.search(r"retention.keep.*" + re.escape(shop.topic), said.stdout)
