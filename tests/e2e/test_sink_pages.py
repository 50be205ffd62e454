"""docs/nats.md, rabbitmq.md and redis.md, used as they stand: the table, the
role of sql/role.sql, the configuration, and the commands."""

import json
import re
import shlex
import subprocess

import pytest
import yaml

from harness import Walpost, run_sql_file
from harness.nats import Nats, nats_cli, wait_records
from harness.pages import blocks
from harness.ports import free_port
from harness.rabbitmq import Rabbitmq
from harness.redis import RedisServer


def _block(page, language, beginning=""):
    """The first block that begins so."""
    return next(block.text for block in blocks()
                if block.page == f"docs/{page}.md"
                and block.language == language
                and block.text.startswith(beginning))


@pytest.fixture
def page_of(own_postgres, walposts, directory):
    """Does what a page says, up to `run`; the relay, and its database."""
    def make(page, table, **sections):
        database = own_postgres.create_database()
        run_sql_file(database, "role.sql")
        if table:
            database.execute(table)
        config = yaml.safe_load(_block(page, "yaml"))
        assert re.search(r"\bhost=127\.0\.0\.1 dbname=shop user=walpost "
                         r"password=\$\{env:WALPOST_PASSWORD\}",
                         config["postgres"]["conninfo"])
        config["postgres"]["conninfo"] = (
            database.conninfo("walpost") + " password=${env:WALPOST_PASSWORD}")
        assert config["http"] == {"listen": "127.0.0.1:9187"}
        config["http"]["listen"] = f"127.0.0.1:{free_port()}"
        for section, keys in sections.items():
            config[section].update(keys)
        relay = Walpost(directory / "walpost", config,
                        {"WALPOST_PASSWORD": "unused"})
        walposts.append(relay)
        init, check, run = _block(page, "sh", "sudo -u postgres walpost init"
                                  ).splitlines()
        assert shlex.split(init)[3:] == [
            "walpost", "init", "-c", "walpost.yaml", "--admin", "dbname=shop"]
        made = relay.verb("init", "--admin", database.conninfo())
        assert made.returncode == 0, made.stdout + made.stderr
        assert check == "walpost check -c walpost.yaml"
        checked = relay.verb("check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert run == "walpost run -c walpost.yaml"
        relay.run()
        status = relay.verb("status")
        assert status.returncode == 0, status.stdout + status.stderr
        return relay, database

    return make


@pytest.fixture
def nats(directory):
    server = Nats(directory / "nats").start()
    yield server
    server.close()


def test_the_page_of_nats(page_of, nats):
    relay, database = page_of("nats", _block("nats", "sql"),
                              nats={"servers": nats.url})
    database.execute(
        "insert into outbox_events values (gen_random_uuid(), 'order', "
        "'o-1', 'created', '{\"n\": 1}', '{\"traceId\": \"t-1\"}')")
    record, = wait_records(nats, "events.", 1)
    assert record.topic == "events.order.created"
    assert record.key == b"o-1" and record.value == b'{"n": 1}'
    assert record.header("traceId") == b"t-1"
    found = [json.loads(line) for line
             in relay.verb("check", "--json").stdout.splitlines()]
    assert not [finding for finding in found
                if finding["id"] == "stream_missing"]
    assert relay.stop() == 0


@pytest.mark.long
def test_the_commands_of_the_page_of_nats_make_its_stream(nats):
    def paste(beginning):
        command = _block("nats", "sh", beginning).strip()
        assert "nats://127.0.0.1:4222" in command
        command = command.replace("nats://127.0.0.1:4222", nats.url)
        subprocess.run(command.replace("nats", nats_cli(), 1), shell=True,
                       check=True, capture_output=True)
        return nats.api("STREAM.INFO.EVENTS")["config"]

    add = "nats --server nats://127.0.0.1:4222 stream add"
    made = paste(add)
    wanted = yaml.safe_load(_block("nats", "yaml"))["nats"]["create_stream"]
    assert made["subjects"] == wanted["subjects"]
    assert made["num_replicas"] == wanted["replicas"]
    nats.edit_stream("EVENTS", subjects=["events.>"])
    edited = paste(add.replace("add", "edit"))
    assert sorted(edited["subjects"]) == sorted(wanted["subjects"])


def test_the_page_of_rabbitmq(page_of, module_directory):
    node = Rabbitmq(module_directory / "rabbitmq").start()
    try:
        relay, database = page_of("rabbitmq", _block("rabbitmq", "sql"),
                                  rabbitmq={"nodes": node.address})
        for event in ("OrderPlaced", "OrderPaid"):
            database.execute(
                "insert into outbox_messages (aggregate_id, event_type, "
                "payload) values ('o-1', %s, '{}')", (event,))
        database.wait_confirmed("walpost")
        messages = node.read("shop.orders")
        assert [message.routing_key for message in messages] == [
            "order.OrderPlaced", "order.OrderPaid"]
        assert {message.key for message in messages} == {b"o-1"}
        assert relay.stop() == 0
    finally:
        node.close()


def test_the_page_of_redis(page_of, directory):
    """init makes the table."""
    server = RedisServer(directory / "redis").start()
    try:
        relay, database = page_of("redis", None,
                                  redis={"address": server.address})
        database.execute(
            "insert into outbox (aggregate_type, aggregate_id, type, payload) "
            "values ('order', 'o-1', 'OrderPlaced', '{}')")
        database.wait_confirmed("walpost")
        assert server.ask("XLEN", "outbox.event.order") == 1
        assert relay.stop() == 0
    finally:
        server.close()
