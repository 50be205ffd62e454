"""The reason says what the server or the broker said, and names the thing: the
address that a broker gives, the topic in the way, the replica identity that a
DELETE lacks, why a slot is lost.
"""

import re
import time
import socket

import pytest

from harness import Kafka, Outbox, Postgres, RequestProxy, wait_until
from harness.ports import free_port

_OUTBOX = """
create table public.outbox (id bigint, aggregate_type text not null,
  aggregate_id text, type text, payload jsonb, status text default 'pending',
  published_at timestamptz, created_at timestamptz default now());
"""


@pytest.fixture(scope="module")
def silent():
    """A port that takes connections, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def advertised(module_directory, silent):
    """The ways to a broker that gives another address to who comes there."""
    ways = {name: (free_port(), address) for name, address in (
        ("CLOSED", f"127.0.0.1:{free_port()}"),
        ("SILENT", f"127.0.0.1:{silent}"),
        ("NAME", "kafka.invalid:9092"))}
    broker = Kafka(module_directory / "advertised", listeners={
        name: (f"127.0.0.1:{port}", "PLAINTEXT", address)
        for name, (port, address) in ways.items()}).start()
    yield {name.lower(): (f"127.0.0.1:{port}", address)
           for name, (port, address) in ways.items()}
    broker.close()


class At:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap


@pytest.mark.parametrize("way", ["closed", "silent", "name"])
@pytest.mark.sample(4)
def test_check_names_the_address_that_a_broker_gives(
        walpost, database, advertised, topics, way):
    bootstrap, address = advertised[way]
    Outbox(database, topics)
    said = walpost(database, At(bootstrap), topics).verb("check")
    assert said.returncode == 1, said.stdout
    found = re.search(r"ERROR .*broker 1 says that its address is " +
                      re.escape(address) + r", which cannot be reached from "
                      r"here: .+\n +-> .*advertised\.listeners", said.stdout)
    assert found, said.stdout
    assert "rights" not in said.stdout, said.stdout
    assert len(re.findall("ERROR .*Kafka", said.stdout)) == 1, said.stdout


@pytest.mark.parametrize("way", ["closed", "silent", "name"])
@pytest.mark.long
def test_readyz_names_the_address_that_a_broker_gives(
        walpost, database, advertised, topics, way):
    bootstrap, address = advertised[way]
    outbox = Outbox(database, topics)
    relay = walpost(database, At(bootstrap), topics)
    relay.start()
    outbox.insert("order", "k")

    def names_it():
        status, text = relay.get("/readyz")
        return status == 503 and address in text and (
            "advertised.listeners" in text)
    wait_until(names_it, lambda: f"the address: {relay.get('/readyz')}", 40)


@pytest.mark.long
def test_check_names_one_address_of_three(walpost, database, kafka_cluster,
                                          topics):
    """Two of the three addresses that the brokers give lead to them."""
    Outbox(database, topics)
    *reached, lost = kafka_cluster.far_ports.values()
    proxies = [RequestProxy(*ports) for ports in reached]
    try:
        said = walpost(database, At(",".join(
            proxy.bootstrap for proxy in proxies)), topics).verb("check")
    finally:
        for proxy in proxies:
            proxy.close()
    assert said.returncode == 1, said.stdout
    assert re.findall(r"ERROR .*broker (\d) says that its address is "
                      r"127.0.0.1:(\d+),", said.stdout) == [
        ("3", str(lost[1]))], said.stdout
    assert "rights" not in said.stdout, said.stdout


@pytest.mark.long
def test_the_topic_in_the_way_is_named(walpost, database, kafka, topics):
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order_item", "k")
    database.wait_confirmed(relay.slot)
    outbox.insert("order.item", "k")
    said = relay.verb("check")
    assert re.search(rf"{topics}order\.item collides with topic "
                     rf"{topics}order_item", said.stdout), said.stdout

    def names_both():
        text = relay.get("/readyz")[1]
        return f"{topics}order_item" in text and f"{topics}order.item" in text
    wait_until(names_both, lambda: f"both names: {relay.get('/readyz')}", 40)
    assert "collides" in relay.get("/readyz")[1]


@pytest.mark.long
def test_the_refusal_of_the_brokers_is_quoted(walpost, database,
                                              module_directory, topics):
    """Brokers that would create the topic, and may not."""
    broker = Kafka(module_directory / "refusing", properties={
        "default.replication.factor": 3}).start()
    try:
        outbox = Outbox(database, topics)
        relay = walpost(database, broker, topics).run()
        outbox.insert("order", "k")
        wait_until(lambda: re.search("would not create it: .*replication",
                                     relay.get("/readyz")[1]),
                   lambda: f"the refusal: {relay.get('/readyz')}", 40)
        relay.close()
    finally:
        broker.close()


# ---- Replica identity.

_STATE = {"status": "status", "published_at": "published_at"}
_CHANGES = {
    "prune": {"retention": {"keep": "1s"}},
    "claim": {"source": "polling", "polling": {"strategy": "claim"}},
    "delete": {"source": "polling", "polling": {"strategy": "delete"}},
}


@pytest.mark.parametrize("partitioned", [False, True],
                         ids=["table", "partition"])
@pytest.mark.parametrize("change", list(_CHANGES))
@pytest.mark.long
def test_check_names_the_replica_identity_before(
        walpost, database, kafka, topics, change, partitioned):
    table = _OUTBOX
    if partitioned:
        table = table.replace("default now());", "default now()) partition by "
                              "range (created_at);") + (
            "create table outbox_all partition of outbox default;")
    database.execute(table + "create publication everything for all tables;")
    options = {"name": "public.outbox", "order_by": "id"}
    if change == "claim":
        options["state"] = _STATE
    relay = walpost(database, kafka, topics, outbox={"tables": [options]},
                    **_CHANGES[change])
    if change != "prune":
        relay.configure({**relay.config, "postgres": {
            "conninfo": database.conninfo()}})
    said = relay.verb("check")
    leaf = "public.outbox_all" if partitioned else "public.outbox"
    verb = "UPDATE" if change == "claim" else "DELETE"
    found = re.search(rf"table {leaf} has no replica identity.*publication "
                      rf"everything sends {verb}s.*\n +-> (ALTER .*;)",
                      said.stdout)
    assert found, said.stdout
    assert said.returncode == (0 if change == "prune" else 1), said.stdout
    database.execute(found[1])
    assert "replica identity" not in relay.verb("check").stdout


@pytest.mark.long
def test_nothing_is_said_of_a_table_with_an_identity(walpost, database, kafka,
                                                     topics):
    database.execute(_OUTBOX + "alter table outbox add primary key (id);"
                     "create publication everything for all tables;")
    relay = walpost(database, kafka, topics,
                    outbox={"tables": [{"name": "public.outbox"}]},
                    **_CHANGES["prune"])
    assert "replica identity" not in relay.verb("check").stdout


@pytest.mark.long
def test_check_names_tables_of_others_before(walpost, database, kafka, topics):
    """A publication FOR ALL TABLES has the tables of extensions, too."""
    Outbox(database, topics)
    database.execute("""
        create schema "Cron"; create table "Cron"."run details" (id int);
        create table parts (id int) partition by list (id);
        create table parts_1 partition of parts for values in (1);
        create table keyed (id int primary key);
        create table whole (id int); alter table whole replica identity full;
        create unlogged table unlogged_one (id int);
        create publication everything for all tables""")
    database.execute("alter table truth replica identity full")
    relay = walpost(database, kafka, topics,
                    postgres={"publication": "everything"})
    said = relay.verb("check").stdout
    found = re.search(r"publication everything sends each UPDATE and DELETE of 2"
                      r" table.*: (.*)\n +-> (ALTER .*;)", said)
    assert found, said
    assert found[1] == '"Cron"."run details", public.parts_1', said
    with pytest.raises(Exception, match="replica identity"):
        database.execute("insert into parts values (1); delete from parts")
    database.execute(found[2])
    database.execute("insert into parts values (1); delete from parts")
    assert "replica identity" not in relay.verb("check").stdout


@pytest.mark.long
def test_a_table_of_others_is_no_trouble_of_the_stream(walpost, database, kafka,
                                                       topics):
    """walpost looks at the publication every 2 s, and sees the new table."""
    outbox = Outbox(database, topics)
    database.execute("create publication everything for all tables; "
                     "alter table truth replica identity full")
    relay = walpost(database, kafka, topics,
                    postgres={"publication": "everything"}).run()
    database.execute("create table keyless (id int)")
    end = time.monotonic() + 7
    while time.monotonic() < end:
        assert relay.get("/readyz") == (200, "streaming\n"), relay.log()
        time.sleep(0.2)
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)


@pytest.mark.long
def test_the_failure_of_prune_names_the_remedy(walpost, database, kafka,
                                               topics):
    database.execute(_OUTBOX + "create publication walpost for all tables;")
    relay = walpost(database, kafka, topics, outbox={
        "tables": [{"name": "public.outbox", "order_by": "id"}]}).run()
    database.execute("insert into outbox (id, aggregate_type) values (1, 'a')")
    database.wait_confirmed(relay.slot)
    said = relay.verb("prune", "--older-than", "0s")
    found = re.search(r"(ALTER TABLE \S+ REPLICA IDENTITY FULL;)", said.stderr)
    assert found, said.stderr
    database.execute(found[1])
    assert relay.verb("prune", "--older-than", "0s").returncode == 0


# ---- A lost slot.

@pytest.mark.long
def test_a_lost_slot_has_the_reason_of_the_server(walpost, major_17, directory,
                                                  kafka, topics):
    server = Postgres(directory / "postgres", bin_dir=major_17).start()
    try:
        database = server.create_database()
        Outbox(database, topics)
        relay = walpost(database, kafka, topics).run()
        relay.wait_ready()
        assert relay.stop() == 0
        server.configure(max_slot_wal_keep_size="1MB")
        server.restart()
        def is_lost():
            database.execute("create table filler as select 1; drop table "
                             "filler; select pg_switch_wal()")
            database.execute("checkpoint")
            return database.value("select wal_status from "
                                  "pg_replication_slots") == "lost"
        wait_until(is_lost, "the slot to be lost", 60)
        relay.start()
        wait_until(lambda: "invalidation_reason wal_removed" in
                   relay.get("/readyz")[1],
                   lambda: f"the reason: {relay.get('/readyz')}", 30)
        assert "max_slot_wal_keep_size" in relay.get("/readyz")[1]
        said = relay.verb("check")
        assert "invalidation_reason wal_removed" in said.stdout, said.stdout
        relay.close()
    finally:
        server.close()
