"""Connectors as Kafka Connect has them, and what walpost makes of them."""

import json
import subprocess

import yaml

from harness.paths import walpost_binary

_CONVERTERS = {
    "string": ("org.apache.kafka.connect.storage.StringConverter", {}),
    "json": ("org.apache.kafka.connect.json.JsonConverter",
             {"schemas.enable": "false"}),
    "json_schemas": ("org.apache.kafka.connect.json.JsonConverter",
                     {"schemas.enable": "true"}),
    "bytes": ("org.apache.kafka.connect.converters.ByteArrayConverter", {}),
}


def connector_of(properties, setting, key_converter, value_converter, tables):
    """The configuration of a connector with the event router."""
    config = {
        "connector.class":
            "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput", "database.hostname": "127.0.0.1",
        "database.port": "5432", "database.user": "walpost",
        "database.dbname": "shop", "topic.prefix": "srv",
        "slot.name": "walpost", "publication.name": "walpost",
        "publication.autocreate.mode": "disabled",
        "snapshot.mode": "no_data",
        "table.include.list": ",".join(tables).replace(".", r"\."),
        "transforms": "outbox",
        "transforms.outbox.type":
            "io.debezium.transforms.outbox.EventRouter",
        **{f"transforms.outbox.{name}": value
           for name, value in setting.items()},
        **{name: value for name, value in properties.items()
           if name != "table.include.list"}}
    for side, converter in (("key", key_converter), ("value", value_converter)):
        name, options = _CONVERTERS[converter]
        config[f"{side}.converter"] = name
        config |= {f"{side}.converter.{option}": value
                   for option, value in options.items()}
    return {"name": "outbox", "config": config}


def imported(connector, prefix):
    """Sections of the configuration that walpost import-debezium writes; its
    topics have a prefix."""
    said = subprocess.run(
        [walpost_binary(), "import-debezium", "--brokers", "127.0.0.1:9092",
         "/dev/stdin"], input=json.dumps(connector), capture_output=True,
        text=True)
    assert said.returncode == 0, said.stderr
    made = yaml.safe_load(said.stdout)
    route = made.get("route", {})
    route["topic"] = prefix + route.get(
        "topic", "outbox.event.{aggregate_type|allow_empty}")
    return {"records": made["records"], "outbox": made["outbox"],
            "route": route}
