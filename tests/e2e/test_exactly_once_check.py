"""delivery.guarantee: exactly_once: what `check`, `run` and `verify` say of
brokers that do not fit, and of transactions that are open or aborted."""

import json
import re
import secrets
import shlex

import pytest

from harness import Kafka, KafkaReader, OpenTransaction, wait_until
from harness.exactly_once import once

_UNFIT = {"transaction.state.log.replication.factor": 3,
          "transaction.state.log.min.isr": 2,
          "transaction.max.timeout.ms": 45000}


@pytest.fixture
def relay(walpost, database, kafka, outbox, topics):
    """A relay that has published some rows."""
    made = walpost(database, kafka, topics, **once(topics)).run()
    for number in range(20):
        outbox.insert("order", f"key-{number % 3}", json.dumps(number),
                      sequence=number)
    database.wait_confirmed(database.name)
    return made


@pytest.fixture
def copy(kafka, database, topics, relay):  # pylint: disable=unused-argument
    """Another program's copy of a row, in a transaction that is open."""
    identity, key, payload = database.execute(
        "select id::text, aggregate_id, payload::text from outbox "
        "where sequence = 7")[0]
    return OpenTransaction(kafka.bootstrap, f"another-{topics}").produce(
        topics + "order", key, payload, id=identity,
        walpost_position="00000001-7FFFFFFF00000000-0000000000000001")


def _verify(relay, *words):
    said = relay.verb("verify", "--json", *words)
    assert said.stdout, said.stderr
    report = json.loads(said.stdout)
    return {kind: found["count"] for kind, found in report["findings"].items()
            if found["count"]}


# ---- check and run

def _finding(checked, words):
    """The line of `check`, and the remedy below it."""
    found = re.search(rf"^(.*{words}.*)\n(?:        -> (.*))?", checked.stdout,
                      re.M)
    assert found, checked.stdout
    return found[1], found[2]


@pytest.mark.long
def test_check_does_not_disturb_the_relay_that_runs(relay, outbox, database):
    for _ in range(3):
        checked = relay.verb("check")
        assert checked.returncode == 0, checked.stdout
    line, _ = _finding(checked, f"transactional id walpost-.*-{relay.slot}")
    assert line.startswith("ok ") and line.endswith("may be written"), line
    _finding(checked, "ok .*transaction.max.timeout.ms is 900000 ms")
    outbox.insert("order", "key-1", sequence=20)
    database.wait_confirmed(database.name)
    assert "replacing the Kafka producer" not in relay.log()
    assert _verify(relay, "--fail-on-duplicates") == {}


@pytest.fixture(scope="module")
def unfit_kafka(module_directory):
    """One broker, as it is delivered: it can never log a transaction."""
    broker = Kafka(module_directory / "unfit", properties=_UNFIT).start()
    yield broker
    broker.close()


@pytest.mark.long
def test_one_broker_and_a_transaction_log_of_three_replicas(
        walpost, database, outbox, topics, unfit_kafka):
    relay = walpost(database, unfit_kafka, topics, **once(topics))
    assert relay.verb("init").returncode == 0
    checked = relay.verb("check")
    assert checked.returncode == 1, checked.stdout
    line, remedy = _finding(checked,
                            "transaction.state.log.replication.factor is 3")
    assert line.startswith("ERROR") and "1 broker" in line
    assert "transaction.state.log.replication.factor=1" in remedy
    line, _ = _finding(checked, "transaction.max.timeout.ms is 45000 ms")
    assert line.startswith("ERROR")
    assert "no coordinator" not in checked.stdout

    outbox.insert("order", "key-1")
    relay.start()
    relay.wait_unready("transaction.state.log.replication.factor", seconds=60)
    relay.wait_log("trying again")
    assert relay.running()
    assert database.confirmed_lsn(relay.slot) < database.current_lsn()
    assert relay.stop() == 0


@pytest.fixture(scope="module")
def hasty_kafka(module_directory):
    """Brokers that abort a transaction after 45 s."""
    broker = Kafka(module_directory / "hasty", properties={
        "transaction.max.timeout.ms": 45000}).start()
    yield broker
    broker.close()


@pytest.mark.long
def test_a_timeout_above_that_of_the_brokers(
        walpost, database, outbox, topics, hasty_kafka):
    relay = walpost(database, hasty_kafka, topics, **once(topics))
    assert relay.verb("init").returncode == 0
    outbox.insert("order", "key-1")
    before = database.confirmed_lsn(relay.slot)
    checked = relay.verb("check")
    assert checked.returncode == 1, checked.stdout
    line, remedy = _finding(checked, "transaction.max.timeout.ms is 45000 ms")
    assert line.startswith("ERROR") and "60000 ms" in line
    assert "delivery.transaction_timeout: 45000ms" in remedy
    relay.start()
    assert relay.wait_exit() == 4
    assert "lower delivery.transaction_timeout" in relay.log()
    assert database.confirmed_lsn(relay.slot) == before

    relay.configure({**relay.config,
                     **once(topics, transaction_timeout="45000ms")})
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    relay.run()
    database.wait_confirmed(relay.slot)
    assert _verify(relay, "--fail-on-duplicates") == {}


# ---- Rights

def _grant(guarded, topics, operations, *resource):
    words = [word for name in operations for word in ("--operation", name)]
    guarded.grant("--allow-principal", "User:walpost", *words, *resource)


@pytest.fixture
def restricted(walpost, database, outbox, topics, guarded):
    """A relay with all rights but those on its transactional id and on the
    cluster."""
    _grant(guarded, topics, ["Write", "Read", "Create"], "--topic", topics,
           "--resource-pattern-type", "prefixed")
    _grant(guarded, topics, ["Write", "Read", "Create", "DescribeConfigs"],
           "--topic", f"checkpoints-{topics}")
    made = walpost(database, guarded, topics, **once(topics),
                   kafka=guarded.login())
    assert made.verb("init").returncode == 0
    outbox.insert("order", "key-1")
    yield made
    guarded.revoke(topics)


def _follow(guarded, remedy):
    """Does what `kafka-acls.sh` does, as an administrator."""
    words = shlex.split(remedy)
    assert words[0] == "kafka-acls.sh"
    assert words[1:3] == ["--bootstrap-server", guarded.sasl]
    assert "--add" in words
    guarded.run_acls(*words[3:])


@pytest.mark.long
def test_the_right_on_the_transactional_id(restricted, database, guarded,
                                           topics):
    before = database.confirmed_lsn(restricted.slot)
    checked = restricted.verb("check")
    line, grant = _finding(checked, "transactional id .* are not tested")
    assert line.startswith("note") and "DESCRIBE_CONFIGS" in line
    restricted.start()
    assert restricted.wait_exit() == 4
    assert "WRITE and DESCRIBE on the transactional id" in restricted.log()
    assert database.confirmed_lsn(restricted.slot) == before

    _grant(guarded, topics, ["DescribeConfigs"], "--cluster")
    checked = restricted.verb("check")
    assert checked.returncode == 1, checked.stdout
    line, remedy = _finding(checked, "transactional id .* may not be written")
    assert line.startswith("ERROR") and remedy == grant
    _follow(guarded, remedy)
    checked = restricted.verb("check")
    assert checked.returncode == 0, checked.stdout
    restricted.run()
    database.wait_confirmed(restricted.slot)
    assert _verify(restricted, "--fail-on-duplicates") == {}


_STORING = {"on_error": {"record_too_large": "park",
                         "headers_unreadable": "dead_letter"},
            "dead_letter": {"store": "postgres"},
            "parking": {"isolate_after": "10s"}}
_WIDE = json.dumps(secrets.token_hex(5000))


def _park_and_release(relay, database, kafka, outbox, topic, key):
    """One event, by making its topic too narrow for a while."""
    kafka.set_topic_config(topic, "max.message.bytes", "5000")
    outbox.insert("order", key, _WIDE)
    database.wait_confirmed(relay.slot)
    kafka.set_topic_config(topic, "max.message.bytes", "100000")
    said = relay.verb("parked", "release", "--key", key, "--why", "a test")
    assert said.returncode == 0, said.stderr + relay.log()


@pytest.mark.long
def test_the_rights_on_the_ids_of_stored_events(restricted, database, guarded,
                                                outbox, topics):
    """`check` asks for them, and does not disturb who releases events."""
    restricted.configure({**restricted.config, **_STORING})
    _, name = _checkpoint_key(restricted, database)
    _grant(guarded, topics, ["DescribeConfigs"], "--cluster")
    _grant(guarded, topics, ["Write", "Describe"], "--transactional-id", name)
    checked = restricted.verb("check")
    assert checked.returncode == 1, checked.stdout
    line, _ = _finding(checked, f"transactional id {name} ")
    assert line.startswith("ok"), line
    remedies = set()
    for sender in ("released", "retried", f"released-{topics}walpost-check"):
        line, remedy = _finding(checked, f"transactional id {name}-{sender} ")
        assert line.startswith("ERROR") and "WRITE and DESCRIBE" in line, line
        remedies.add(remedy)
    remedy, = remedies
    _follow(guarded, remedy)
    assert restricted.verb("check").returncode == 0

    restricted.run()
    database.wait_confirmed(restricted.slot)
    for number in range(3):
        _park_and_release(restricted, database, guarded, outbox,
                          topics + "order", f"wide-{number}")
        assert "-released may be written" in restricted.verb("check").stdout
    assert "are not sent" not in restricted.log(), restricted.log()
    assert _verify(restricted, "--fail-on-duplicates") == {}


@pytest.mark.long
def test_a_topic_that_may_not_be_written(restricted, database, guarded, outbox,
                                         topics):
    _, transactional_id = _checkpoint_key(restricted, database)
    _grant(guarded, topics, ["Write", "Describe"], "--transactional-id",
           transactional_id)
    closed = topics + "closed"
    guarded.create_topic(closed, 1)
    guarded.deny(closed)
    restricted.run()
    database.wait_confirmed(restricted.slot)
    outbox.insert("order", "key-2")
    outbox.insert("closed", "key-1")
    end = database.current_lsn()
    outbox.insert("order", "key-3")
    said = restricted.wait_unready(closed, 60)
    assert "grant WRITE on the topic" in said
    reader = KafkaReader(guarded.bootstrap)
    wait_until(lambda: len(reader.read(topics + "order")) == 2,
               lambda: restricted.log(), 60)
    assert database.confirmed_lsn(restricted.slot) < end

    guarded.allow(closed)
    database.wait_confirmed(restricted.slot, seconds=60)
    assert [record.key for record in reader.read(closed)] == [b"key-1"]
    assert _verify(restricted, "--fail-on-duplicates") == {}


# ---- The checkpoint topic, which other programs may use, too

def _checkpoint_key(relay, database):
    system = database.value(
        "select system_identifier::text from pg_control_system()")
    return f"{relay.slot}@{system}", f"walpost-{system}-{relay.slot}"


def test_p5_a_checkpoint_behind_the_transaction_of_another_program(
        relay, kafka, database, outbox, topics):
    other = OpenTransaction(kafka.bootstrap, f"another-{topics}").produce(
        f"checkpoints-{topics}", "bills@7", "{}")
    outbox.insert("order", "key-1", sequence=20)
    database.wait_confirmed(database.name)
    relay.kill()
    relay.start()
    with pytest.raises(TimeoutError):
        relay.wait_ready(5)
    other.abort()
    relay.wait_ready()
    assert "gap" not in relay.log(), relay.log()
    assert _verify(relay, "--fail-on-duplicates") == {}


@pytest.mark.long
def test_p5_the_transaction_of_an_instance_that_died_is_not_waited_for(
        relay, kafka, database, outbox, topics):
    key, name = _checkpoint_key(relay, database)
    identity = outbox.insert("order", "key-1", sequence=20)
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    # As it would have been left behind.
    OpenTransaction(kafka.bootstrap, name).produce(
        topics + "order", "key-1", "{}", id=identity).produce(
            f"checkpoints-{topics}", key, "{}")
    relay.run(seconds=10)
    outbox.insert("order", "key-1", sequence=21)
    database.wait_confirmed(database.name)
    assert _verify(relay, "--fail-on-duplicates") == {}


# ---- verify

@pytest.mark.long
def test_records_of_an_aborted_transaction_are_none(relay, copy):
    copy.abort()
    for words in ((), ("--read-committed",)):
        assert _verify(relay, "--fail-on-duplicates", *words) == {}
    assert _verify(relay, "--read-uncommitted") == {"duplicates": 1,
                                                    "undecided": 1}


def test_verify_waits_for_an_open_transaction(relay, copy, outbox, database):
    for number in range(20, 40):
        outbox.insert("order", f"key-{number % 3}", json.dumps(number),
                      sequence=number)
    database.wait_confirmed(database.name)
    verifying = relay.spawn("verify", "--json", "--fail-on-duplicates")
    with pytest.raises(TimeoutError):
        wait_until(lambda: not verifying.running(), "an answer", 5)
    copy.abort()
    assert verifying.wait(30) == 0


@pytest.mark.long
def test_a_committed_copy_is_a_duplicate(relay, copy):
    copy.commit()
    assert relay.verb("verify", "--fail-on-duplicates").returncode == 1
    assert _verify(relay) == {"duplicates": 1}


@pytest.mark.long
def test_a_transaction_that_stays_open_is_an_error_and_no_missing_row(
        relay, copy, outbox, database, topics):
    outbox.insert("order", "key-1", "{}", sequence=20)
    database.wait_confirmed(database.name)
    relay.configure({**relay.config,
                     **once(topics, transaction_timeout="30s")})
    said = relay.verb("verify", seconds=90)
    copy.abort()
    assert said.returncode == 4, said.stdout
    assert "a transaction has been open for 45 s" in said.stderr, said.stderr
    assert "describe-producers --topic" in said.stderr
