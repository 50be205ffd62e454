"""walpost run --from-lsn: the first start on a slot that others made."""

import re

import pytest

from harness import KafkaReader, Outbox, lsn, verify


def _text(number):
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def _values(kafka, topics):
    return sorted(int(record.value)
                  for record in KafkaReader(kafka.bootstrap).read_all(topics))


def _commit(outbox, numbers):
    for number in numbers:
        outbox.insert("order", "key", str(number))


def _make_backlog(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics)
    assert relay.verb("init").returncode == 0
    # As another program would have left it: nobody knows of its birth.
    database.execute("comment on publication walpost is null")
    stands = database.confirmed_lsn(database.name)
    _commit(outbox, range(5))
    middle = database.current_lsn()
    _commit(outbox, range(5, 10))
    return relay, stands, middle


@pytest.fixture
def backlog(walpost, database, kafka, outbox, topics):
    """A slot with ten events, and the LSN between the first and the last five.

    Returns (relay, where the slot stands, the LSN).
    """
    return _make_backlog(walpost, database, kafka, outbox, topics)


def _refused(relay, *words):
    relay.start(*words)
    code = relay.wait_exit()
    return code, relay.log()


def test_only_what_committed_there_or_later(backlog, database, kafka, outbox,
                                            topics):
    relay, _, middle = backlog
    relay.start("--from-lsn", _text(middle)).wait_ready()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == [5, 6, 7, 8, 9]
    assert f"born at {_text(middle)}" in database.value(
        "select obj_description(oid, 'pg_publication') from pg_publication")
    assert relay.stop() == 0

    # The flag stays in the unit file.
    _commit(outbox, range(10, 12))
    relay.start("--from-lsn", _text(middle)).wait_ready()
    relay.wait_log("is ignored: slot .* has been in use since LSN "
                   + re.escape(_text(middle)))
    database.wait_confirmed(database.name)
    assert relay.stop() == 0
    # Even one that lies ahead: nothing is passed over.
    _commit(outbox, range(12, 14))
    relay.start("--from-lsn", _text(database.current_lsn())).wait_ready()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == list(range(5, 14))


@pytest.mark.long
def test_p1_a_crash_of_both_before_anything_is_published_keeps_it(
        walpost, own_postgres, own_database, kafka, topics):
    outbox = Outbox(own_database, topics)
    relay, stands, middle = _make_backlog(walpost, own_database, kafka, outbox,
                                          topics)
    config = relay.config
    relay.configure({**config, "kafka": {"brokers": "127.0.0.1:1"}})
    relay.start("--from-lsn", _text(middle))
    relay.wait_log("streaming from slot")
    relay.kill()
    own_postgres.crash()
    own_postgres.start()
    # Told but not stored, so the server may have forgotten.
    assert own_database.confirmed_lsn(own_database.name) in (stands, middle)
    relay.configure(config)
    relay.run()
    own_database.wait_confirmed(own_database.name)
    assert _values(kafka, topics) == [5, 6, 7, 8, 9]
    assert relay.stop() == 0


@pytest.mark.long
def test_with_a_checkpoint_store(walpost, backlog, database, kafka, topics):
    relay, _, middle = backlog
    stored = walpost(database, kafka, topics, checkpoint={"store": "postgres"})
    assert relay
    stored.start("--from-lsn", _text(middle)).wait_ready()
    database.wait_confirmed(database.name)
    stored.kill()
    stored.start("--from-lsn", _text(middle)).wait_ready()
    database.wait_confirmed(database.name)
    assert set(_values(kafka, topics)) == {5, 6, 7, 8, 9}
    checkpoint = database.value("select birth::text from walpost_checkpoint")
    assert lsn(checkpoint) == middle


@pytest.mark.long
def test_what_makes_no_sense_is_refused(walpost, backlog, database, kafka,
                                        topics):
    relay, stands, _ = backlog
    code, said = _refused(relay, "--from-lsn", "somewhere")
    assert code == 2 and "--from-lsn: 'somewhere' is not an LSN" in said
    code, said = _refused(relay, "--from-lsn", _text(stands - 1))
    assert code == 3
    assert f"stands at {_text(stands)}" in said and "--from-table" in said
    end = database.current_lsn()
    code, said = _refused(relay, "--from-lsn", _text(end + (1 << 30)))
    assert code == 3 and "the server's WAL ends at" in said
    missing = walpost(database, kafka, topics,
                      postgres={"slot": database.name + "_other"})
    code, said = _refused(missing, "--from-lsn", _text(end))
    assert code == 3 and "does not exist" in said
    assert database.confirmed_lsn(database.name + "_other") is None
    # None of them has touched the slot.
    assert database.confirmed_lsn(database.name) == stands
    relay.run()
    database.wait_confirmed(database.name)
    assert _values(kafka, topics) == list(range(10))
    assert verify(relay)["clean"]


@pytest.mark.long
def test_a_role_that_cannot_keep_it_on_record_is_refused(
        walpost, backlog, database, kafka, topics):
    relay, stands, middle = backlog
    role = database.name + "_role"
    database.execute(f"create role {role} login replication")
    database.execute(f"grant select on outbox to {role}")
    try:
        poor = walpost(database, kafka, topics,
                       postgres={"conninfo": database.conninfo(role)})
        code, said = _refused(poor, "--from-lsn", _text(middle))
        assert code == 3, said
        sql = re.search(r"COMMENT ON PUBLICATION [^;]*", said)[0]
        assert database.confirmed_lsn(database.name) == stands
        database.execute(sql)
        poor.start("--from-lsn", _text(middle)).wait_ready()
        database.wait_confirmed(database.name)
        assert _values(kafka, topics) == [5, 6, 7, 8, 9]
        poor.close()
    finally:
        database.execute(f"drop owned by {role}")
        database.execute(f"drop role {role}")
    assert relay
