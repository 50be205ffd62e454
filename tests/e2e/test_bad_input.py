"""What bad configuration ends with: an exit code and one line that helps."""

import pytest

from harness import Kafka, KafkaReader, Outbox, Postgres, wait_until

_BAD_CONFIGURATION = 2
_POSTGRES_REFUSES = 3
_KAFKA_REFUSES = 4


def _refused(relay, code, *words):
    """It ends with `code`, and one line of its log holds all the words."""
    relay.start()
    assert relay.wait_exit(20) == code, relay.log()
    lines = relay.log().splitlines()
    assert any(all(word in line for word in words) for line in lines), (
        f"no line with {words} in\n{relay.log()}")
    return relay.log()


def _tables(**table):
    return {"tables": [{"name": "public.outbox", **table}]}


def test_unknown_table(walpost, database, kafka, outbox, topics):
    _refused(walpost(database, kafka, topics,
                     outbox={"tables": [{"name": "public.outbocks"}]}),
             _POSTGRES_REFUSES, "public.outbocks")


@pytest.mark.parametrize("outbox_section, words", [
    (_tables(columns={"payload": "body"}), ("public.outbox", "body")),
    (_tables(topic="x.{kind}"), ("public.outbox", "kind")),
    (_tables(value={"columns": ["id", "nope"]}), ("public.outbox", "nope")),
    (_tables(columns={"timestamp": "payload"}), ("timestamp", "payload")),
])
def test_unknown_or_unfit_column(walpost, database, kafka, outbox, topics,
                                 outbox_section, words):
    _refused(walpost(database, kafka, topics, outbox=outbox_section),
             _POSTGRES_REFUSES, *words)


def test_slot_that_does_not_exist(walpost, database, kafka, outbox, topics):
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    log = _refused(walpost(database, kafka, topics,
                           postgres={"create": False}),
                   _POSTGRES_REFUSES, "slot", database.name)
    assert "init" in log or "create: true" in log
    assert database.confirmed_lsn(database.name) is None, "it made the slot"


def test_publication_that_does_not_exist(walpost, database, kafka, outbox,
                                         topics):
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    before = database.confirmed_lsn(database.name)
    _refused(walpost(database, kafka, topics,
                     postgres={"create": False, "publication": "not_there"}),
             _POSTGRES_REFUSES, "not_there", "CREATE PUBLICATION")
    assert database.confirmed_lsn(database.name) == before


def test_publication_without_the_table(walpost, database, kafka, outbox,
                                       topics):
    database.execute("create table other (id int)")
    database.execute("create publication walpost for table other")
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (database.name,))
    _refused(walpost(database, kafka, topics, postgres={"create": False}),
             _POSTGRES_REFUSES, "publication", "public.outbox")


def test_slot_of_another_plugin(walpost, database, kafka, outbox, topics):
    database.execute("select pg_create_physical_replication_slot(%s)",
                     (database.name,))
    try:
        _refused(walpost(database, kafka, topics), _POSTGRES_REFUSES,
                 database.name)
    finally:
        database.execute("select pg_drop_replication_slot(%s)",
                         (database.name,))


def test_wal_level_replica(walpost, directory, kafka, topics):
    server = Postgres(directory / "replica", settings={"wal_level": "replica"})
    try:
        database = server.start().create_database()
        Outbox(database, topics)
        _refused(walpost(database, kafka, topics), _POSTGRES_REFUSES,
                 "wal_level", "logical")
    finally:
        server.close()


def test_wrong_password(walpost, own_postgres, own_database, kafka, topics):
    own_database.execute("create role locked login replication "
                         "password 'right-one'")
    conninfo = own_database.conninfo("locked") + " password=wrong-one"
    log = _refused(walpost(own_database, kafka, topics,
                           postgres={"conninfo": conninfo}),
                   _POSTGRES_REFUSES, "password", "locked")
    assert "wrong-one" not in log
    assert "right-one" not in log


def test_role_without_replication(walpost, own_postgres, own_database, kafka,
                                  topics):
    Outbox(own_database, topics)
    own_database.execute("create role plain login")
    _refused(walpost(own_database, kafka, topics,
                     postgres={"conninfo": own_database.conninfo("plain")}),
             _POSTGRES_REFUSES, "REPLICATION", "grant")


@pytest.mark.parametrize("name, value, code", [
    ("no.such.property", "1", _KAFKA_REFUSES),
    ("linger.ms", "soon", _KAFKA_REFUSES),
    # The promises depend on these.
    ("acks", "1", _BAD_CONFIGURATION),
    ("enable.idempotence", "false", _BAD_CONFIGURATION),
    ("enable.gapless.guarantee", "false", _BAD_CONFIGURATION),
    ("message.timeout.ms", "1000", _BAD_CONFIGURATION),
    ("partitioner", "random", _BAD_CONFIGURATION),
])
def test_refused_kafka_property(walpost, database, kafka, outbox, topics, name,
                                value, code):
    relay = walpost(database, kafka, topics,
                    kafka={"properties": {name: value}})
    _refused(relay, code, name)


def test_unreachable_broker_is_waited_for(walpost, directory, database, outbox,
                                          topics):
    broker = Kafka(directory / "late-kafka")  # made, but not started
    try:
        relay = walpost(database, broker, topics).start()
        relay.wait_log("streaming from slot")
        outbox.insert("order", "order-1")
        relay.wait_log(broker.bootstrap)
        relay.wait_unready("Kafka|broker")
        limit = database.current_lsn()
        broker.start()
        relay.wait_ready(60)
        database.wait_confirmed(database.name, limit)
        record, = KafkaReader(broker.bootstrap).read_all(topics)
        assert record.key == b"order-1"
    finally:
        broker.close()


def test_unreachable_postgres_is_waited_for(walpost, own_postgres,
                                            own_database, kafka, reader,
                                            topics):
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics)
    own_postgres.stop()
    relay.start()
    relay.wait_log(str(own_postgres.port))
    relay.wait_unready()
    own_postgres.start()
    relay.wait_ready(60)
    outbox.insert("order", "order-1")
    own_database.wait_confirmed(own_database.name)
    assert [r.key for r in reader.read_all(topics)] == [b"order-1"]
