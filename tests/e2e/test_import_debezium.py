"""walpost import-debezium: its configuration takes over a connector's slot."""

import json
import os
import subprocess

import psycopg2.extensions
import yaml

from harness import KafkaReader, Walpost, wait_until
from harness.paths import walpost_binary
from harness.ports import free_port

_TABLE = """
create table outboxevent (id uuid primary key, aggregatetype text not null,
    aggregateid text not null, type text not null, payload jsonb);
create publication dbz_publication for table outboxevent;
"""
_INSERT = ("insert into outboxevent values (gen_random_uuid(), '{}', '{}', "
           "'Created', '{{\"n\": 1}}')")


def _connector(database, kafka, topics):
    place = psycopg2.extensions.parse_dsn(database.conninfo())
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.hostname": place["host"], "database.port": place["port"],
        "database.user": place["user"], "database.dbname": place["dbname"],
        "topic.prefix": "shop", "slot.name": database.name,
        "table.include.list": "public.outboxevent",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "producer.override.bootstrap.servers": kafka.bootstrap,
        "transforms": "outbox",
        "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.outbox.route.topic.regex": "(?<kind>\\w+)(\\.v\\d)?",
        "transforms.outbox.route.topic.replacement": topics + "${kind}",
        "transforms.outbox.table.fields.additional.placement":
            "type:header:eventType"}


def test_takes_over_the_slot_at_the_stored_offset(database, kafka, topics,
                                                  directory):
    database.execute(_TABLE)
    database.execute("select pg_create_logical_replication_slot("
                     f"'{database.name}', 'pgoutput')")
    database.execute(_INSERT.format("order", "sent"))
    offset = database.current_lsn()
    database.execute(_INSERT.format("order.v2", "next"))
    (directory / "connector.json").write_text(
        json.dumps({"name": "shop",
                    "config": _connector(database, kafka, topics)}))
    (directory / "offsets.json").write_text(json.dumps(
        {"offsets": [{"partition": {"server": "shop"},
                      "offset": {"lsn_commit": offset, "lsn": offset + 8}}]}))

    def imported(*arguments):
        ran = subprocess.run(
            [walpost_binary(), "import-debezium", "connector.json", *arguments],
            cwd=directory, env={**os.environ}, timeout=30, capture_output=True,
            text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout
    begin = f"{offset >> 32:X}/{offset & 0xffffffff:X}"
    assert f"--from-lsn {begin}\n" in imported("--offsets", "offsets.json")

    imported("-o", "walpost.yaml")
    imported("-o", "walpost.yaml")  # the same again
    config = yaml.safe_load((directory / "walpost.yaml").read_text())
    assert config["http"] == {"listen": "127.0.0.1:9187"}
    config["http"] = {"listen": f"127.0.0.1:{free_port()}"}
    relay = Walpost(directory / "walpost", config)
    try:
        relay.start("--from-lsn", begin).wait_ready()
        reader = KafkaReader(kafka.bootstrap)
        wait_until(lambda: reader.read_all(topics), "the event")
        [record] = reader.read_all(topics)
        assert (record.topic, record.key) == (f"{topics}order", b"next")
        assert record.value == b'"{\\"n\\": 1}"'
        names = [name for name, _ in record.headers]
        assert names[-2:] == ["id", "eventType"]
        assert "__debezium.context.connectorLogicalName" in names
    finally:
        relay.close()
