"""sink: nats: how records appear in a stream, and what is said when one cannot
get there."""

import json
import subprocess

import pytest

from harness import Authority, Outbox, wait_until
from harness.matrix import LONG
from harness.nats import (Nats, judge_nats, nats_cli, sections, wait_records)
from harness.polled import PolledOutbox, assert_delivered


@pytest.fixture(scope="module")
def nats(module_directory):
    server = Nats(module_directory / "nats").start()
    yield server
    server.close()


@pytest.fixture
def stream(nats, topics):
    """A stream of the test's own."""
    name = topics.rstrip(".").upper()
    nats.make_stream(name, [topics + ">"], duplicate_window=120_000_000_000)
    yield name
    nats.api(f"STREAM.DELETE.{name}")


@pytest.fixture
def relay_of(walpost, database, nats, topics):
    def make(**more):
        return walpost(database, nats, topics,
                       **{**sections(nats.url), **more})
    return make


def test_p1_every_part_of_a_record_arrives(relay_of, nats, outbox, stream,
                                           topics):
    relay = relay_of(outbox={"tables": [{
        "name": "public.outbox", "columns": {"headers": "headers"}}]}).run()
    headers = {"traceId": "a-1", "two lines": "one\ntwo", "Nats-Rollup": "all"}
    event = outbox.insert("order", "key 1 é", '{"n": 1}', type="created",
                          headers=json.dumps(headers))
    gone = outbox.insert("order", None, None)
    records = wait_records(nats, topics, 2)
    first = next(record for record in records if record.id == event)
    assert first.topic == topics + "order"
    assert first.key == "key 1 é".encode()
    assert first.value == b'{"n": 1}'
    named = dict(first.headers)
    assert named["traceId"] == b"a-1"
    assert named["two%20lines"] == b"one\ntwo"
    assert named["%4Eats-Rollup"] == b"all"
    assert named["Nats-Msg-Id"].decode() == (
        f"{event}@{first.position}/walpost-{relay.slot}/{first.topic}")
    assert named["Nats-Expected-Stream"].decode() == stream
    assert first.timestamp > 1_600_000_000_000
    tombstone = next(record for record in records if record.id == gone)
    assert tombstone.value is None and tombstone.key is None
    assert relay.stop() == 0


def test_p3_types_of_an_aggregate_keep_their_order(relay_of, database, nats,
                                                   outbox, stream, topics):
    """Subjects of one key are of one stream, and come in commit order."""
    relay_of(route={"topic": topics + "{aggregate_type}.{type}"}).run()
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, type, payload, "
        "sequence) select 'order', 'key-' || n % 3, 'type' || n % 7, "
        "to_jsonb(n), n from generate_series(1, 900) n")
    records = wait_records(nats, topics, 900)
    for key in (b"key-0", b"key-1", b"key-2"):
        values = [int(record.value) for record in records if record.key == key]
        assert values == sorted(values) and len(values) == 300
    assert len({record.topic for record in records}) == 7


def test_p5_a_resend_vanishes(relay_of, nats, outbox, stream, topics):
    """Nats-Msg-Id is the event's: killed before it confirms, it sends again."""
    relay = relay_of().run()
    for number in range(50):
        outbox.insert("order", f"key-{number}", json.dumps(number))
    wait_records(nats, topics, 50)
    relay.kill()
    relay.run()
    for number in range(50):
        outbox.insert("order", f"key-{number}", json.dumps(number))
    assert judge_nats(outbox, nats, relay).duplicates == 0


@pytest.mark.long
def test_p8_an_illegal_subject_is_said(relay_of, nats, outbox, stream, topics):
    relay = relay_of(on_error={"topic_illegal": "dead_letter"},
                     dead_letter={"topic": topics + "dead"}).run()
    outbox.insert("two words", "k", '{"n": 1}')
    outbox.insert("order", "k", '{"n": 2}')
    records = wait_records(nats, topics, 2)
    letter = next(record for record in records if record.topic.endswith("dead"))
    assert letter.header("walpost-dead-letter") == b"topic_illegal"
    assert b"two words" in letter.header("walpost-dead-letter-reason")
    assert relay.stop() == 0


@pytest.mark.long
def test_p8_a_record_that_is_too_large_stops_before_it(
        relay_of, nats, outbox, stream, topics, database):
    nats.edit_stream(stream, max_msg_size=2000)
    relay = relay_of().run()
    outbox.insert("order", "k", '{"n": 1}')
    outbox.insert("order", "k", json.dumps("x" * 3000))
    text = relay.wait_unready("max_msg_size of stream")
    assert f"nats stream edit {stream} --max-msg-size=" in text
    nats.edit_stream(stream, max_msg_size=5000)
    relay.stop()
    relay.run()
    assert len(wait_records(nats, topics, 2)) == 2
    database.wait_confirmed(relay.slot)


def test_p1_p2_a_missing_stream_is_waited_for(relay_of, nats, outbox, topics,
                                              database):
    relay = relay_of().run()
    outbox.insert("order", "k", '{"n": 1}')
    committed = database.current_lsn()
    text = relay.wait_unready("no stream of JetStream takes subject", 40)
    assert topics + "order" in text
    assert database.confirmed_lsn(relay.slot) < committed
    nats.make_stream("LATE" + topics[1:9], [topics + ">"])
    wait_records(nats, topics, 1)
    relay.wait_ready()
    nats.api(f"STREAM.DELETE.LATE{topics[1:9]}")


def test_a_stream_is_created(relay_of, nats, outbox, topics):
    name = "MADE-" + topics.rstrip(".")
    relay = relay_of(**sections(nats.url, create_stream={
        "name": name, "subjects": [topics + ">"], "replicas": 1}))
    checked = relay.verb("check")
    assert "walpost creates stream" in checked.stdout, checked.stdout
    relay.run()
    outbox.insert("order", "k", '{"n": 1}')
    wait_records(nats, topics, 1)
    assert relay.log().count(f"created stream {name}") == 1, relay.log()
    config = nats.api(f"STREAM.INFO.{name}")["config"]
    assert config["storage"] == "file" and config["num_replicas"] == 1
    assert config["subjects"] == [topics + ">"]
    nats.api(f"STREAM.DELETE.{name}")


def test_p1_p2_a_full_stream_holds_up(relay_of, nats, outbox, stream, topics,
                                      database):
    """discard: new rejects; nothing is confirmed, and nothing is lost."""
    nats.edit_stream(stream, discard="new", max_msgs=20)
    relay = relay_of().run()
    for number in range(100):
        outbox.insert("order", f"key-{number % 7}", json.dumps(number),
                      sequence=number)
    text = relay.wait_unready("the stream is full", 40)
    assert "nats stream edit" in text, text
    assert database.confirmed_lsn(relay.slot) < database.current_lsn()
    nats.edit_stream(stream, max_msgs=-1)
    relay.wait_ready(60)
    judge_nats(outbox, nats, relay)


@pytest.mark.parametrize("maker", ["operator", "walpost"])
@pytest.mark.sample(2)
def test_p9_a_stream_that_was_made_again_is_a_gap(
        walpost, nats, outbox, topics, database, directory, maker):
    """Whoever has made it; and the gap is latched until it is accepted."""
    name = f"{topics.rstrip('.').upper()}-{maker}"
    creation = {"name": name, "subjects": [topics + ">"], "replicas": 1}
    more = {"create_stream": creation} if maker == "walpost" else {}
    if maker == "operator":
        nats.make_stream(name, [topics + ">"])
    relay = walpost(database, nats, topics, **sections(nats.url, **more),
                    checkpoint={"store": "file",
                                "path": str(directory / "checkpoint")}).run()
    outbox.insert("order", "k", '{"n": 1}')
    wait_records(nats, topics, 1)
    database.wait_confirmed(relay.slot)
    nats.api(f"STREAM.DELETE.{name}")
    if maker == "operator":
        nats.make_stream(name, [topics + ">"])
    outbox.insert("order", "k", '{"n": 2}')
    text = relay.wait_unready("deleted and created again", 40)
    assert "recover" in text, text
    relay.stop()
    relay.start()
    relay.wait_unready("deleted and created again", 40)
    relay.stop()
    looked = relay.verb("recover", "--dry-run", "--order-by", "sequence")
    assert looked.returncode == 0, looked.stdout + looked.stderr
    accepted = relay.verb("recover", "--accept")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    relay.run()
    outbox.insert("order", "k", '{"n": 3}')
    wait_until(lambda: b'{"n": 3}' in {record.value for record
                                       in nats.read_all(topics)}, "the event")
    nats.api(f"STREAM.DELETE.{name}")


def test_check_finds_and_its_commands_help(relay_of, nats, outbox, topics):
    relay = relay_of()
    checked = relay.verb("check")
    assert checked.returncode != 0
    assert "no stream of JetStream takes them" in checked.stdout
    name = "CHECKED" + topics[1:9]
    nats.make_stream(name, [topics + ">"], storage="memory", num_replicas=1,
                     duplicate_window=1_000_000_000, discard="new",
                     max_msgs=1000)
    text = relay.verb("check").stdout
    for part in ("is kept in memory", "has 1 replica", "--replicas=3",
                 "duplicate window", "--dupe-window=2m", "discard: new"):
        assert part in text, text
    if LONG:
        command = next(line.strip().removeprefix("-> ") for line in text.splitlines()
                       if "--dupe-window=2m" in line)
        subprocess.run(command.replace("nats --server",
                                       nats_cli() + " --server", 1),
                       shell=True, check=True)
    nats.edit_stream(name, no_ack=True)
    checked = relay.verb("check")
    assert "acknowledges nothing" in checked.stdout and checked.returncode
    nats.api(f"STREAM.DELETE.{name}")


@pytest.mark.parametrize("key, value, reason", [
    ("servers", "http://127.0.0.1:1", "begins with neither nats://"),
    ("token", "a", "one of nats.user"),
    ("create_stream", {"name": "a b", "subjects": ["x"]},
     "not the name of a stream"),
    ("create_stream", {"name": "A", "subjects": ["x.>.y"]}, "> is the last"),
])
@pytest.mark.long
def test_wrong_options_are_named(relay_of, nats, outbox, key, value, reason):
    more = {"user": "u", "password": "p"} if key == "token" else {}
    relay = relay_of(**sections(nats.url, **more) | {"nats": {
        "servers": nats.url, **more, key: value}})
    checked = relay.verb("check")
    assert checked.returncode != 0
    assert reason in checked.stdout + checked.stderr, checked


@pytest.mark.long
def test_a_message_that_another_subscriber_answers_is_not_acknowledged(
        relay_of, nats, outbox, stream, topics, database):
    """A service that listens on the subject may answer before JetStream."""
    relay = relay_of().run()
    with nats.client() as service:
        service._send(f"SUB {topics}> 9\r\n")  # pylint: disable=protected-access
        outbox.insert("order", "k", '{"n": 1}')
        records = wait_records(nats, topics, 1)
        database.wait_confirmed(relay.slot)
    assert len(records) == 1
    assert wait_until(relay.running, "it still runs")
    assert isinstance(outbox, Outbox)


def test_p1_p3_polled_rows(walpost, database, nats, topics):
    """Without a position they have no Nats-Msg-Id, and arrive in order."""
    polled = PolledOutbox(database)
    name = topics.rstrip(".").upper()
    nats.make_stream(name, [topics + ">"])
    polled.insert(300, aggregates=3)
    relay = walpost(database, nats, topics,
                    **{**polled.sections(), **sections(nats.url)}).run()
    polled.wait_published(60)
    records = nats.read_all(topics)
    assert_delivered(polled.expected(), records, 0)
    assert not any(name == "Nats-Msg-Id" for record in records
                   for name, _ in record.headers)
    assert relay.stop() == 0


@pytest.mark.parametrize("name, trusts, said", [
    ("localhost", True, ""), ("localhost", False, "certificate"),
    ("elsewhere", True, "certificate")])
@pytest.mark.sample(2)
def test_tls_is_verified(walpost, database, outbox, topics, directory, name,
                         trusts, said):
    authority = Authority(directory / "ca")
    other = Authority(directory / "other", name="others")
    certificate, key = authority.issue(name)
    server = Nats(directory / "nats", f"tls {{cert_file: \"{certificate}\", "
                  f"key_file: \"{key}\"}}").start()
    try:
        server.make_stream("S", [topics + ">"])
        ca = (authority if trusts else other).certificate
        relay = walpost(database, server, topics, **sections(
            f"tls://localhost:{server.port}", tls={"ca_file": str(ca)}))
        checked = relay.verb("check").stdout
        if said:
            assert "TLS with the NATS servers fails" in checked, checked
            assert said in checked, checked
            return
        relay.run()
        outbox.insert("order", "k", '{"n": 1}')
        assert len(wait_records(server, topics, 1)) == 1
        assert relay.stop() == 0
    finally:
        server.close()
