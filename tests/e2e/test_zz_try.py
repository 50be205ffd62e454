import time, re, pytest
from harness import *
from test_kafka_rights import relay
def test_pg(walpost, database, kafka, outbox, topics):
    role = mk(database, "")
    made = walpost(database, kafka, topics, postgres={"conninfo": database.conninfo(role)}).run()
    time.sleep(20)
    print("PG1"); print(made.log())
    assert 0
def test_pg2(walpost, database, kafka, outbox, topics):
    role = mk(database, "replication")
    made = walpost(database, kafka, topics, postgres={"conninfo": database.conninfo(role)}).run()
    time.sleep(20)
    print("PG2"); print(made.log())
    assert 0
def test_kafka(relay, database, outbox, guarded, topics):
    made = relay().run()
    outbox.insert("order", "order-1")
    time.sleep(25)
    print("K"); print(made.log())
    assert 0
def test_kafka2(relay, database, outbox, guarded, topics):
    guarded.create_topic(topics + "order", 1)
    guarded.grant("--allow-principal", "User:walpost", "--operation",
                  "DESCRIBE", "--topic", topics + "order")
    made = relay().run()
    outbox.insert("order", "order-1")
    time.sleep(25)
    print("K2"); print(made.log())
    assert 0
def test_poll(walpost, database, kafka, outbox, topics):
    role = mk(database, "")
    made = walpost(database, kafka, topics, source="polling", postgres={"conninfo": database.conninfo(role)}).run()
    time.sleep(20)
    print("P"); print(made.log())
    assert 0
def mk(database, attributes):
    role = "poor_" + database.name
    database.execute(f"create role {role} login {attributes}")
    return role
