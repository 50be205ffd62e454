"""README and docs: each block of code does what its page says."""

import functools
import hashlib
import json
import os
import re
import secrets
import shlex
import subprocess
import time

import jsonschema
import pytest
import yaml

from harness import KafkaReader, Walpost, run_sql_file, wait_until
from harness.certificates import Authority
from harness.kafka_java import run_tool
from harness.pages import blocks, inline_commands
from harness.paths import REPOSITORY, walpost_binary
from harness.polled import EVENTS, PolledOutbox, events_sections
from harness.ports import free_port

_OTHER_SHAPES = "outbox:\n  tables:\n    - name: public.outbox_messages"
_ON_ERROR = ("on_error:\n  topic_field_missing: dead_letter\n"
             "  record_too_large: dead_letter\n")
_LETTERS = ("on_error:\n  topic_field_missing: dead_letter\n"
            "  headers_unreadable: dead_letter\n")
_AWS = "image:\n  repository: registry.example.com/walpost-aws\n"
_CLAIM_CHECK = "outbox:\n  tables:\n    - name: public.outbox\n"

# Their tests hold these pages to the examples: test_producers, test_consumers.
_OF_EXAMPLES = ("docs/produce.md", "docs/consume.md")

# Page and beginning of each block, and what runs it: a test of this file, or
# the name of what does so elsewhere.
_BLOCKS = {
    ("README.md", "service"): "a picture",
    ("README.md", "apt-get install"): "tests/packages/test_packages.py",
    ("README.md", "scripts/build"): "test_the_scripts_of_readme_exist",
    ("README.md", "postgres:"): "test_readme",
    ("README.md", "sudo -u postgres psql"): "test_init",
    ("README.md", "sudo -u postgres walpost init"): "test_readme",
    ("README.md", "insert into outbox"): "test_readme",
    ("docs/architecture.md", "cli/run"): "a picture",
    ("docs/architecture.md", "WAL"): "a picture",
    ("docs/architecture.md", "broker"): "a picture",
    **{(block.page, block.first_line): "test_pages" for block in blocks()
       if block.page == "docs/cli.md"},
    ("docs/configuration.md", _OTHER_SHAPES): "test_tables_of_other_shapes",
    ("docs/configuration.md", "route:"): "test_topics_that_walpost_creates",
    ("docs/records.md", _CLAIM_CHECK): "test_claim_check",
    ("docs/records.md", "SELECT payload::text"): "test_claim_check",
    ("docs/dead-letters.md", _ON_ERROR): "test_dead_letters",
    ("docs/dead-letters.md", "walpost dead-letter -c"): "test_dead_letters",
    ("docs/dead-letters.md", "walpost dead-letters -c walpost.yaml list"):
        "test_dead_letters",
    ("docs/dead-letters.md", "walpost parked -c walpost.yaml list"):
        "test_dead_letters",
    ("docs/dead-letters.md", "walpost parked -c walpost.yaml accept"):
        "test_dead_letters",
    ("docs/dead-letters.md", "kcat"): "test_dead_letters",
    ("docs/dead-letters.md", _LETTERS): "test_dead_letters_in_postgres",
    ("docs/dead-letters.md", "select state"): "test_dead_letters_in_postgres",
    ("docs/from-debezium.md", "compared: 20"): "test_shadow",
    ("docs/from-debezium.md", "walpost import-debezium"):
        "test_import_debezium",
    ("docs/exactly-once.md", "delivery:\n  guarantee"): "test_exactly_once",
    ("docs/exactly-once.md", "delivery:\n  transaction_boundary"):
        "test_exactly_once",
    ("docs/exactly-once.md", "kafka-transactions.sh"): "test_exactly_once",
    ("docs/install.md", "apt-get install"): "tests/packages/test_packages.py",
    ("docs/install.md", "postgres:"): "test_packages_and_chart",
    ("docs/install.md", "walpost init --admin"): "test_administrator",
    ("docs/install.md", "systemctl enable"): "needs systemd as process 1",
    ("docs/install.md", "cp -p"): "needs systemd as process 1",
    ("docs/install.md", "docker load"): "needs an engine of Docker",
    ("docs/install.md", "docker build -f"): "needs an engine of Docker",
    ("docs/install.md", "FROM walpost"): "needs an engine of Docker",
    ("docs/kubernetes.md", "kubectl create"): "needs a cluster",
    ("docs/kubernetes.md", "image:\n  repository: registry.example.com/walpost\n"):
        "test_packages_and_chart",
    ("docs/kubernetes.md", _AWS): "test_packages_and_chart",
    ("docs/kubernetes.md", "helm install"): "tests/packages/test_chart.py",
    ("docs/kubernetes.md", "kubectl exec"): "needs a cluster",
    ("docs/kubernetes.md", "defaults:"): "test_packages_and_chart",
    ("docs/managed-kafka.md", "kafka:\n  brokers: pkc"): "test_managed_services",
    ("docs/managed-kafka.md", "kafka:\n  brokers: b-1"): "test_managed_services",
    ("docs/managed-kafka.md", "kafka:\n  brokers: b-2"): "test_managed_services",
    ("docs/managed-kafka.md", "kafka:\n  brokers: kaf"): "test_managed_services",
    ("docs/managed-kafka.md", "kafka:\n  brokers: abc"): "test_managed_services",
    ("docs/managed-kafka.md", "kafka:\n  brokers: sho"): "test_managed_services",
    ("docs/managed-postgres.md", "postgres:"): "test_managed_services",
    ("docs/moving.md", "walpost verify"): "test_moving",
    ("docs/moving.md", "walpost recover"): "test_moving",
    **{(block.page, block.text): "test_rabbitmq" for block in blocks()
       if block.page == "docs/rabbitmq.md"},
    **{(block.page, block.text): "test_nats" for block in blocks()
       if block.page == "docs/nats.md"},
    **{(block.page, block.text): "test_redis" for block in blocks()
       if block.page == "docs/redis.md"},
    ("docs/gaps.md", "ALTER TABLE outbox"): "test_recover",
    ("docs/gaps.md", "outbox: {tables"): "test_recover",
    ("docs/gaps.md", "walpost recover"): "test_recover",
    ("docs/wal.md", "walpost run"): "test_from_lsn",
    ("docs/first-start.md", "table public.outbox has"): "test_existing_rows",
    ("docs/replay.md", "walpost replay"): "test_replay",
    ("docs/postgres.md", "SELECT pg_copy"): "test_a_slot_with_two_phase",
    ("docs/origins.md", "postgres:"): "test_origins",
    ("docs/origins.md", "ALTER SYSTEM"): "test_origins",
    ("docs/origins.md", "walpost replay"): "test_origins",
    ("docs/origins.md", "select pg_replication_origin_create"): "test_origins",
    ("docs/origins.md", "select pg_replication_origin_session"): "test_origins",
    ("docs/polling.md", "source: polling"): "test_polling",
    ("docs/polling.md", "UPDATE outbox"): "test_a_failed_row",
    ("docs/polling.md", "ALTER TABLE events"): "test_cursor",
    ("docs/polling.md", "SELECT max"): "test_polling",
    ("docs/quickstart.md", "docker run"): "needs an engine of Docker",
    ("docs/quickstart.md", "apt-get install"): "tests/packages/test_packages.py",
    ("docs/quickstart.md", "cat >walpost.yaml"): "test_quickstart",
    ("docs/quickstart.md", "until psql -c"): "test_quickstart",
    ("docs/quickstart.md", "walpost run"): "test_quickstart",
    ("docs/quickstart.md", "for order"): "test_quickstart",
    ("docs/quickstart.md", "walpost verify"): "test_quickstart",
    ("docs/quickstart.md", "kill"): "test_quickstart",
    ("docs/retention.md", "walpost prune -c walpost.yaml --older-than 7d --d"):
        "test_prune",
    ("docs/retention.md", "walpost prune -c walpost.yaml --older-than 7d --a"):
        "test_prune",
    ("docs/retention.md", "public.outbox: Kafka has deleted"):
        "test_kafka_deletes",
    ("docs/runbook.md", "walpost status"):
        "test_monitoring",
    ("docs/metrics.md", "sum by (topic)"): "test_monitoring",
    ("docs/pause.md", "walpost pause -c"): "test_pause_and_resume",
    ("docs/security.md", "postgres:\n  conninfo: >-\n    host=db"):
        "test_secured_postgres",
    ("docs/security.md", "postgres:\n  conninfo: >-\n    host=shop"):
        "test_secured_postgres",
    ("docs/security.md", "kafka:\n  brokers: b-1"): "test_kafka_tokens",
    ("docs/security.md", "hostssl"): "harness.secured_postgres",
    ("docs/security.md", "create role"): "test_rights",
    ("docs/security.md", "alter publication"): "test_rights",
    ("docs/security.md", "alter role"): "test_rights",
    ("docs/security.md", "grant select, insert"): "test_rights",
    ("docs/security.md", "grant select, delete"): "test_rights",
    ("docs/security.md", "grant select on public.outbox"): "test_rights",
    ("docs/security.md", "grant select on public.events"): "test_rights",
    ("docs/security.md", "grant select, update on"): "test_rights",
    ("docs/security.md", "grant select, update, delete"): "test_rights",
    ("docs/security.md", "grant create"): "test_rights",
    ("docs/security.md", "kafka-acls.sh"): "test_kafka_acls",
    ("docs/sizing.md", "select pg_size_pretty"): "test_sizing",
    ("docs/tables.md", "outbox:"): "test_renamed_table",
    ("docs/tables.md", "walpost check"): "test_a_table_that_comes_later",
    ("docs/tables.md", "walpost replay"): "test_a_table_that_comes_later",
    ("docs/tables.md", "ALTER PUBLICATION"): "test_a_table_that_comes_later",
    ("docs/tables.md", "begin;"): "test_moved_history",
    ("docs/upgrade-postgres.md", "walpost verify"): "test_upgrade",
    ("docs/upgrade-postgres.md", "pg_upgrade"): "test_upgrade",
    ("docs/upgrade-postgres.md", "walpost recover -c walpost.yaml --a"):
        "test_upgrade",
    ("docs/upgrade-postgres.md", "walpost recover -c walpost.yaml --d"):
        "test_upgrade",
    ("docs/verify.md", "walpost verify"): "test_readme",
    ("docs/logs.md", '{"time"'): "test_json_log",
    ("docs/logs.md", "jq -r"): "needs jq",
    ("docs/wait.md", "select pg_current"): "test_wait",
    ("docs/wait.md", "lsn=$(psql"): "test_wait",
    ("docs/wait.md", "walpost wait -c walpost.yaml --l"): "test_wait",
    ("docs/wait.md", "walpost wait -c walpost.yaml --e"): "test_wait",
    ("docs/wait.md", "curl"): "test_wait",
}


def _text(page, beginning):
    """The one block of `page` that begins so."""
    assert (page, beginning) in _BLOCKS
    found = [block.text for block in blocks()
             if block.page == page and block.text.startswith(beginning)]
    assert len(found) == 1, f"{page} has {len(found)} blocks '{beginning}...'"
    return found[0]


def _commands(page, beginning):
    """The words after `walpost` of each line, without -c FILE."""
    lines = _text(page, beginning).splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    assert all(line[0] == "walpost" and line[2] == "-c" for line in words)
    return [[line[1], *line[4:]] for line in words]


def test_every_block_is_run():
    unknown = [str(block) for block in blocks()
               if block.page not in _OF_EXAMPLES and
               not any(block.page == page and
                       block.text.startswith(beginning)
                       for page, beginning in _BLOCKS)]
    assert not unknown, "no test runs these blocks"
    gone = [f"{page}: {beginning}" for page, beginning in _BLOCKS
            if not any(block.page == page and block.text.startswith(beginning)
                       for block in blocks())]
    assert not gone, "no page has these blocks"


def test_packages_and_chart(tmp_path):
    """The configurations in these pages, also those inside of values."""
    instances = yaml.safe_load(_text(
        "docs/kubernetes.md",
        "image:\n  repository: registry.example.com/walpost\n"))["instances"]
    aws = yaml.safe_load(_text("docs/kubernetes.md", _AWS))["instances"]
    shared = yaml.safe_load(_text("docs/kubernetes.md", "defaults:"))
    configs = [yaml.safe_load(_text("docs/install.md", "postgres:")),
               instances["shop"]["config"], aws["shop"]["config"]]
    configs += [{**shared["defaults"]["config"], **entry["config"]}
                for entry in shared["instances"].values()]
    for config in configs:
        conninfo = config["postgres"]["conninfo"]
        config["postgres"]["conninfo"] = re.sub(r" password=\S+", "", conninfo)
        path = tmp_path / "walpost.yaml"
        path.write_text(json.dumps(config))
        subprocess.run([walpost_binary(), "run", "--print-config", "-c", path],
                       check=True, capture_output=True, timeout=30)


def test_managed_services(tmp_path):
    """walpost and librdkafka take what these pages have, files aside."""
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    authority = Authority(tmp_path / "certificates")
    certificate, key = authority.issue("walpost")
    files = {"ssl.ca.location": authority.certificate,
             "ssl.certificate.location": certificate, "ssl.key.location": key}
    for block in blocks():
        if not block.page.startswith("docs/managed-"):
            continue
        text = re.sub(r"\$\{file:[^}]*\}", f"${{file:{secret}}}", block.text)
        for name, file in files.items():
            text = re.sub(rf"{re.escape(name)}: \S+", f"{name}: {file}", text)
        config = {"postgres": {"conninfo": "host=db"},
                  "kafka": {"brokers": "kafka:9092"}, **yaml.safe_load(text)}
        path = tmp_path / "walpost.yaml"
        path.write_text(yaml.safe_dump(config))
        ran = subprocess.run([walpost_binary(), "check", "--offline", "-c", path],
                             capture_output=True, text=True, timeout=30)
        assert ran.returncode == 0, f"{block}\n{ran.stdout}{ran.stderr}"


def test_sizing(database):
    """The query; tests/bench has the figures."""
    assert database.value(_text("docs/sizing.md", "select pg_size_pretty"))


def test_inline_commands_are_ones_that_walpost_has():
    """`walpost VERB --flag`: the help of the verb has the flag."""
    unknown = []
    for page, command in inline_commands():
        _, verb, *words = command.split()
        help_text = _help(verb)
        unknown += [
            f"{page}: walpost {verb} has no {word}" for word in words
            if word.startswith("-") and not word[1:].isnumeric()
            and not re.search(rf"(^|[\s,]){re.escape(word)}\b", help_text)]
    assert not unknown, "\n".join(unknown)


@functools.cache
def _help(verb):
    ran = subprocess.run([walpost_binary(), verb, "--help"], timeout=30,
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"walpost {verb}: {ran.stderr}"
    return ran.stdout


@pytest.fixture
def shop(own_postgres):
    """A server like the one that README begins with."""
    database = own_postgres.create_database()
    run_sql_file(database, "role.sql")
    return database


def test_readme(shop, kafka, directory):
    """Configuration, init, check, run, an insert, verify."""
    config = yaml.safe_load(_text("README.md", "postgres:"))
    assert "${env:WALPOST_PASSWORD}" in config["postgres"]["conninfo"]
    config["postgres"]["conninfo"] = (
        shop.conninfo("walpost") + " password=${env:WALPOST_PASSWORD}")
    config["kafka"]["brokers"] = kafka.bootstrap
    config["http"]["listen"] = f"127.0.0.1:{free_port()}"
    relay = Walpost(directory / "readme", config, {"WALPOST_PASSWORD": "unused"})
    # test_init.py runs it over the socket; here all are let in.
    words = shlex.split(_text("README.md", "sudo -u postgres walpost init"))
    assert words[:3] == ["sudo", "-u", "postgres"]
    assert words[4:] == ["init", "-c", "walpost.yaml", "--admin", "dbname=shop"]
    made = relay.verb("init", "--admin", shop.conninfo())
    assert made.returncode == 0, made.stderr
    made = shop.execute("select pubowner::regrole::text from pg_publication")
    assert made == [("walpost",)]
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    try:
        relay.run()
        shop.execute(_text("README.md", "insert into outbox"))
        reader = KafkaReader(kafka.bootstrap)
        record, = wait_until(lambda: reader.read_all("outbox.event.order"),
                             "the record")
        assert record.key == b"42"
        assert json.loads(record.value) == {
            "event": "OrderPlaced", "orderId": 42, "customer": "alice",
            "cents": 1250}
        assert {name for name, _ in record.headers} == {"id",
                                                        "walpost-position"}
        text = _text("docs/verify.md", "walpost verify")
        text = text.replace("[--sequence COLUMN] ", "").replace("[", "")
        words = text.replace("]", "").split()
        wait_until(lambda: relay.verb(words[1], *words[4:]).returncode == 0,
                   "verify to find nothing")
    finally:
        relay.close()


def test_quickstart(own_postgres, kafka, directory):
    """The whole page as a reader pastes it, except for what brings the servers
    and the program."""
    script = "".join(
        block.text for block in blocks() if block.page == "docs/quickstart.md"
        and not block.text.startswith(("docker", "apt-get")))
    for word, own in (("127.0.0.1:9092", kafka.bootstrap),
                      ("127.0.0.1:9187", f"127.0.0.1:{free_port()}")):
        assert word in script
        script = script.replace(word, own)
    (directory / "walpost").symlink_to(walpost_binary())
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "trap 'kill 0' EXIT\n" + script],
        cwd=directory, capture_output=True, text=True, timeout=120,
        start_new_session=True, check=False,
        env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}",
             "PGPORT": str(own_postgres.port)})
    log = (directory / "walpost.log").read_text()
    assert re.search(r'key 42, value \{"event": "OrderPlaced", .*\}, headers id=',
                     ran.stdout), ran.stdout + ran.stderr + log
    assert "501 committed events" in ran.stdout and "\nclean\n" in ran.stdout, (
        ran.stdout + ran.stderr + log)
    assert log.count("streaming from slot walpost") == 2, log
    assert "pg_drop_replication_slot" in ran.stdout, ran.stdout + ran.stderr


def test_a_table_that_comes_later(walpost, database, kafka, topics):
    """Added while walpost runs, mended, and removed again."""
    relay = walpost(database, kafka, topics)
    two = {**relay.config, "outbox": {"tables": [
        {"name": "public.outbox"}, {"name": "public.push"}]}}
    relay.verb("init")
    relay.run()
    relay.configure(two)
    for verb, *words in _commands("docs/tables.md", "walpost check"):
        words = [database.conninfo() if word == "dbname=shop" else word
                 for word in words]
        ran = relay.verb(verb, *words)
        assert verb == "check" or "table public.push: created" in ran.stdout
    assert ran.returncode == 0, ran.stdout
    database.execute("insert into push (aggregate_type, aggregate_id, payload) "
                     "values ('order', '42', '{}')")
    database.wait_confirmed(relay.slot)
    assert relay.stop() == 0
    relay.start()
    relay.wait_unready(r"\[table_passed_over\]", 30)
    (verb, *words), = _commands("docs/tables.md", "walpost replay")
    ran = relay.verb(verb, *words)
    assert ran.returncode == 0, ran.stderr
    relay.wait_ready(30)
    record, = KafkaReader(kafka.bootstrap).read_all(topics + "order")
    assert record.key == b"42"
    assert relay.stop() == 0
    relay.configure({**two, "outbox": {"tables": two["outbox"]["tables"][:1]}})
    relay.run()
    database.execute(_text("docs/tables.md", "ALTER PUBLICATION"))
    relay.wait_looked()
    relay.wait_ready()


def test_tables_of_other_shapes(walpost, database, kafka, topics):
    database.execute(
        "create table outbox_messages (id uuid primary key default "
        "gen_random_uuid(), aggregate_id text, payload text); "
        "create table outbox_tasks (id bigint generated always as identity "
        "primary key, task_type text, payload text); "
        'create table "references" (id bigint generated always as identity '
        "primary key, table_name text, table_id bigint)")
    section = yaml.safe_load(_text("docs/configuration.md", _OTHER_SHAPES))
    for table in section["outbox"]["tables"]:
        if "topic" in table:
            table["topic"] = topics + table["topic"]
    relay = walpost(database, kafka, topics, **section).run()
    database.execute("insert into outbox_messages values (default, 'a', 'x')")
    database.execute("insert into outbox_tasks (task_type, payload) "
                     "values ('Send_Mail', 'y')")
    database.execute('insert into "references" (table_name, table_id) '
                     "values ('orders', 7)")
    reader = KafkaReader(kafka.bootstrap)
    records = wait_until(
        lambda: (lambda all_: all_ if len(all_) == 3 else None)(
            reader.read_all(topics)), lambda: f"records\n{relay.log()}")
    values = {record.topic: record.value for record in records}
    assert values[topics + "order"] == b"x"
    assert values[topics + "tasks.send-mail"] == b"y"
    assert yaml.safe_load(values[topics + "orders"]) == {
        "table_id": 7, "table_name": "orders"}


def test_recover(walpost, database, kafka, topics):
    """A lost slot, on a table that has been given a transaction_id."""
    run_sql_file(database, "outbox.sql")
    database.execute("alter table outbox drop column if exists transaction_id")
    database.execute(_text("docs/gaps.md", "ALTER TABLE outbox"))
    relay = walpost(database, kafka, topics, **yaml.safe_load(
        _text("docs/gaps.md", "outbox: {tables")))
    relay.run()
    insert = _text("README.md", "insert into outbox")
    database.execute(insert)
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total") == 1,
               "the first event")
    relay.stop()
    database.execute(insert)
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    dry, real = _commands("docs/gaps.md", "walpost recover")
    scratch = ["--work-directory", str(relay.config_path.parent)]
    shown = relay.verb(*dry, *scratch)
    assert shown.returncode == 0 and "slot_missing" in shown.stdout, (
        shown.stdout + shown.stderr)
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 1
    done = relay.verb(*real, *scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    relay.run()
    database.execute(insert)
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) == 3, "three events")


def test_from_lsn(walpost, database, kafka, outbox, topics):
    """Another program's slot, that has confirmed less than it has sent."""
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    relay = walpost(database, kafka, topics, postgres={"create": False})
    database.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (relay.slot,))
    outbox.insert("order", "sent-by-the-other")
    begin = database.current_lsn()
    outbox.insert("order", "to-be-sent")
    (_, flag, _), = _commands("docs/wal.md", "walpost run")
    relay.start(flag, f"{begin >> 32:X}/{begin & 0xffffffff:X}")
    relay.wait_ready()
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: reader.read_all(topics), "the event")
    time.sleep(0.5)
    assert [record.key for record in reader.read_all(topics)] == [
        b"to-be-sent"]


def test_existing_rows(walpost, database, kafka, outbox, topics):
    for number in range(3):
        outbox.insert("order", f"order-{number}")
    relay = walpost(database, kafka, topics)
    assert relay.verb("init").returncode == 0
    relay.run()
    line = _text("docs/first-start.md", "table public.outbox has").strip()
    line = line.replace("300 rows", "3 rows").replace(
        "slot walpost:", f"slot {relay.slot}:")
    relay.wait_log(re.escape(line))


def test_replay(walpost, database, kafka, outbox, topics, directory):
    relay = walpost(database, kafka, topics, replay={"window": "1MiB"},
                    checkpoint={"store": "file", "path": str(
                        directory / "checkpoint")}).run()
    begin = database.current_lsn()
    wait_until(lambda: database.confirmed_lsn(f"{relay.slot}_guard"),
               "the guard slot")
    checkpoint = wait_until(
        lambda: (directory / "checkpoint").exists() and
        (directory / "checkpoint").read_bytes(), "a checkpoint")
    (directory / "monday").write_bytes(checkpoint)
    outbox.insert("order", "order-1")
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) == 1, "the event")
    end = database.current_lsn()
    wait_until(lambda: database.confirmed_lsn(relay.slot) >= end,
               "its confirmation")

    def place(lsn):
        return f"{lsn >> 32:X}/{lsn & 0xffffffff:X}"

    values = {"16/B374D848": place(begin), "16/C0000000": place(end),
              "checkpoint.of.monday": str(directory / "monday"),
              "again.": f"{topics}again."}
    for words in _commands("docs/replay.md", "walpost replay"):
        ran = relay.verb(*[values.get(word, word) for word in words])
        assert ran.returncode == 0, f"{words}\n{ran.stdout}{ran.stderr}"
    assert len(reader.read_all(f"{topics}again.")) == 1
    assert len(reader.read_all(f"{topics}order")) == 2


def test_import_debezium(directory):
    """The command makes a configuration that can be checked."""
    for name, sample in (("connector.json", "older.json"),
                         ("worker.properties", "worker.properties")):
        text = (REPOSITORY / "tests/import/connectors" / sample).read_text()
        (directory / name).write_text(re.sub(
            r'(?m)^ *("slot.drop|"errors.tol|producer.s).*\n', "", text))
    words = shlex.split(_text("docs/from-debezium.md",
                              "walpost import-debezium"))
    environment = {**os.environ, "POSTGRES_PASSWORD": "x"}
    for arguments in (words[1:],
                      ["check", "--offline", "-c", "walpost.yaml"]):
        ran = subprocess.run([walpost_binary(), *arguments], cwd=directory,
                             env=environment, capture_output=True, text=True,
                             timeout=30, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_slot_with_two_phase(walpost, own_postgres, kafka, topics):
    """A slot that is made again without the flag, where it stood."""
    database = own_postgres.create_database()
    run_sql_file(database, "outbox.sql")
    database.execute("create publication walpost for table outbox "
                     "with (publish = 'insert')")
    database.execute("select pg_create_logical_replication_slot('walpost', "
                     "'pgoutput', false, true)")
    database.execute(_text("README.md", "insert into outbox"))
    relay = walpost(database, kafka, topics, postgres={"slot": "walpost"})
    relay.start()
    assert relay.wait_exit() == 3
    for statement in _text("docs/postgres.md", "SELECT pg_copy").split(";"):
        if statement.strip():
            database.execute(statement)
    relay.run()
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) == 1, "the event")


def test_polling(walpost, database, kafka, topics):
    """The configuration, from `init` on, and the queries of the way to the WAL."""
    section = yaml.safe_load(_text("docs/polling.md", "source: polling"))
    relay = walpost(database, kafka, topics, **section)
    said = relay.verb("init")
    assert said.returncode == 0, said.stderr
    polled = PolledOutbox(database, "table")
    relay.run()
    polled.insert(3)
    polled.wait_published()
    newest, pending, _ = _text("docs/polling.md", "SELECT max").split(";")
    highest = database.value(newest)
    assert highest == 3
    pending = re.sub(r"--.*", "", pending).replace("4711", str(highest))
    assert database.value(pending) == 0
    assert relay.stop() == 0


def test_a_failed_row(walpost, database, kafka, topics):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics,
                    **polled.sections(max_attempts=1)).run()
    database.execute("insert into outbox (aggregate_type, aggregate_id, type, "
                     "payload) values ('no topic!', 'a', 'Happened', '{}')")
    wait_until(lambda: polled.counts().get("failed") == 1,
               lambda: f"a failed row\n{relay.log()}")
    database.execute("update outbox set aggregate_type = 'order'")
    row = str(database.value("select id from outbox"))
    statement = _text("docs/polling.md", "UPDATE outbox")
    database.execute(statement.replace("7d4b0f5e-…", row))
    polled.wait_published()


def test_cursor(walpost, database, kafka, topics):
    without = re.sub(r",\n *transaction_id [^\n]*|create index on events "
                     r"\(transaction_id[^\n]*", "", EVENTS)
    assert "transaction_id" not in without
    database.execute(without)
    database.execute(_text("docs/polling.md", "ALTER TABLE events"))
    walpost(database, kafka, topics, **events_sections()).run()
    database.execute("insert into events (aggregate_id) values ('a')")
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) == 1, "the event")


def test_prune(walpost, database, kafka, topics):
    run_sql_file(database, "outbox.sql")
    insert = _text("README.md", "insert into outbox")
    database.execute(insert)  # older than the slot
    relay = walpost(database, kafka, topics).run()
    database.execute(insert)
    database.execute("update outbox set created_at = '2026-01-01'")
    wait_until(lambda: relay.metric("walpost_acknowledged_records_total") == 1,
               "the event")
    beginning = "walpost prune -c walpost.yaml --older-than 7d --"
    for words in _commands("docs/retention.md", beginning + "d"):
        ran = relay.verb(*words)
        assert ran.returncode in (0, 1, 3), f"{ran.stdout}{ran.stderr}"
    assert database.value("select count(*) from outbox") == 2  # no proof
    words, = _commands("docs/retention.md", beginning + "a")
    ran = relay.verb(*words)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert database.value("select count(*) from outbox") == 0


def test_pause_and_resume(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    assert outbox
    for words in _commands("docs/pause.md", "walpost pause -c"):
        said = relay.verb(*words)
        assert said.returncode == 0, said.stderr
        assert f"slot {database.name}: {words[0]}" in said.stdout


def test_wait(walpost, database, kafka, topics):
    page = "docs/wait.md"
    run_sql_file(database, "outbox.sql")
    relay = walpost(database, kafka, topics).run()
    time.sleep(1.1)  # the slot's birth is on record to the second
    event = database.value("insert into outbox (aggregate_type, payload) "
                           "values ('order', '{}') returning id::text")
    lsn = database.value(_text(page, "select pg_current"))
    values = {"0/16B3748": lsn, "0192f0c4-7c1e-7b52-9e3a-5d0e8d2c9a11": event}
    for option in ("--l", "--e"):
        words, = _commands(page, f"walpost wait -c walpost.yaml {option}")
        ran = relay.verb(*[values.get(word, word) for word in words])
        assert ran.returncode == 0, ran.stdout + ran.stderr
    script = _text(page, "lsn=$(psql").replace(
        " shop)", f" '{database.conninfo()}')")
    script = script.replace("walpost wait -c walpost.yaml", shlex.join(
        [str(walpost_binary()), "wait", "-c", str(relay.config_path)]))
    subprocess.run(["bash", "-c", script], timeout=60, check=True)
    command = _text(page, "curl").replace("0/16B3748", lsn).replace(
        "127.0.0.1:9187", relay.config["http"]["listen"])
    subprocess.run(command, shell=True, timeout=30, check=True)


def test_administrator(walpost, database, kafka, topics):
    """A table that the role of walpost may not make."""
    words = shlex.split(_text("docs/install.md", "walpost init --admin"))
    assert words[:3] == ["walpost", "init", "--admin"], words
    role = database.create_role()
    relay = walpost(database, kafka, topics,
                    postgres={"conninfo": database.conninfo(role)})
    assert relay.verb("init").returncode == 3
    made = relay.verb("init", "--admin", database.conninfo())
    assert made.returncode == 0, made.stdout + made.stderr


def test_dead_letters(walpost, database, kafka, outbox, topics):
    page = "docs/dead-letters.md"
    relay = walpost(database, kafka, topics,
                    **yaml.safe_load(_text(page, _ON_ERROR))).run()
    outbox.insert("order", "k", headers="[1]")
    database.wait_confirmed(database.name)
    assert relay.metric(
        'walpost_skipped_events_total{class="headers_unreadable"}') == 1
    for words in _commands(page, "walpost dead-letter -c"):
        outbox.insert("not legal!", "k", '"dead"')
        relay.wait_unready("topic")
        # The 503 may still be that of the event before.
        words[1] = wait_until(
            lambda: json.loads(relay.get("/status")[1])["stopped_position"],
            "the event that it stops before")
        said = relay.verb(*words)
        assert said.returncode == 0, said.stderr
        database.wait_confirmed(database.name)
    command = _text(page, "kcat").replace("127.0.0.1:9092", kafka.bootstrap)
    shown = subprocess.run(command, shell=True, timeout=30, check=True,
                           capture_output=True, text=True).stdout
    assert '"dead"' in shown and "topic_illegal" in shown
    for words in _commands(page,
                           "walpost dead-letters -c walpost.yaml list"):
        # The examples select what is not there.
        said = relay.verb(*words)
        assert said.returncode == (0 if "list" in words else 1), said.stderr
        assert said.returncode == 0 or "no such dead letter" in said.stderr
    outbox.insert("order", "42", headers="[1]")
    relay.stop()
    relay.configure({**relay.config, "on_error": {
        "headers_unreadable": "park"}})
    relay.run()
    outbox.insert("order", "42", headers="[2]")
    database.wait_confirmed(database.name)
    for words in _commands(page, "walpost parked -c walpost.yaml list"):
        said = relay.verb(*words)
        # It cannot be delivered still; and no event is at that position.
        assert said.returncode == ("--why" in words), said.stderr
    relay.stop()
    database.execute("drop table walpost_parked")
    accept, = _commands(page, "walpost parked -c walpost.yaml accept")
    said = relay.verb(*accept)
    assert said.returncode == 0, said.stderr
    relay.run()


def test_dead_letters_in_postgres(walpost, database, kafka, outbox, topics):
    page = "docs/dead-letters.md"
    relay = walpost(database, kafka, topics,
                    **yaml.safe_load(_text(page, _LETTERS))).run()
    event = outbox.insert("order", "42", "17", headers="[1]")
    database.wait_confirmed(database.name)
    row, = database.execute(_text(page, "select state"))
    assert row[:2] == ("dead_letter", "headers_unreadable")
    assert row[3] == topics + "order"
    assert row[5:] == (event, "42", "[1]", "17")
    for words in _commands(page, "walpost dead-letters -c walpost.yaml list"):
        said = relay.verb(*words)
        # The last one discards it; the others select what is not there.
        is_there = "list" in words or "discard" in words
        assert said.returncode == (0 if is_there else 1), said.stderr


def test_claim_check(walpost, database, kafka, topics):
    page = "docs/records.md"
    run_sql_file(database, "outbox.sql")
    database.execute("alter table outbox drop constraint outbox_payload_check")
    walpost(database, kafka, topics,
            **yaml.safe_load(_text(page, _CLAIM_CHECK))).run()
    select = _text(page, "SELECT payload::text")
    event_id = select.split("'")[1]
    database.execute(
        "insert into outbox (id, aggregate_type, aggregate_id, payload) "
        "values (%s, 'order', '1', %s)",
        (event_id, json.dumps(secrets.token_hex(2_000_000))))
    database.wait_confirmed(database.name)
    record, = KafkaReader(kafka.bootstrap).read_all(topics)
    claim = json.loads(record.header("walpost-claim-check"))
    payload = database.value(select).encode()
    assert claim == {"table": "public.outbox", "id": event_id,
                     "bytes": len(payload),
                     "sha256": hashlib.sha256(payload).hexdigest()}


@pytest.mark.parametrize("block", ["guarantee", "transaction_boundary"])
@pytest.mark.sample(2)
def test_exactly_once(walpost, database, kafka, outbox, topics, block):
    page = "docs/exactly-once.md"
    relay = walpost(database, kafka, topics, checkpoint={"topic": topics + "c"},
                    **yaml.safe_load(_text(page, f"delivery:\n  {block}"))).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    assert relay.metric("walpost_kafka_transaction_records_total") == 1
    assert len(KafkaReader(kafka.bootstrap).read(topics + "order")) == 1
    script, option, _, *words = _text(page, "kafka-transactions.sh").split()
    assert [script, option] == ["kafka-transactions.sh", "--bootstrap-server"]
    said = run_tool(kafka.bootstrap, "TransactionsCommand", *words)
    assert len(said.splitlines()) == 1, said  # the heads of the columns


def test_topics_that_walpost_creates(walpost, database, kafka, outbox, topics):
    sections = yaml.safe_load(_text("docs/configuration.md", "route:"))
    sections["route"]["topic"] = topics + "{aggregate_type}"
    sections["route"]["create_topics"]["replication_factor"] = 1
    sections["dead_letter"]["topic"] = topics + "dead"
    walpost(database, kafka, topics, **sections).run()
    outbox.insert("order", "k", "1")
    database.wait_confirmed(database.name)
    made = kafka.describe_topic(topics + "order")
    assert "PartitionCount: 6" in made and "retention.ms=604800000" in made


def test_the_scripts_of_readme_exist():
    for line in _text("README.md", "scripts/build").splitlines():
        path = REPOSITORY / line.split()[0]
        assert path.stat().st_mode & 0o111, path


@functools.cache
def _schema():
    return json.loads(subprocess.run(
        [walpost_binary(), "config", "schema"], capture_output=True, text=True,
        check=True).stdout)


def _examples():
    """Every piece of a configuration in README, docs/ and docker/."""
    files = [(str(path.relative_to(REPOSITORY)), path.read_text())
             for path in REPOSITORY.glob("docker/walpost*.yaml")]
    for page, text in [*files, *((b.page, b.text) for b in blocks())]:
        try:
            read = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(read, dict) and set(read) <= set(
                _schema()["properties"]):
            yield page, read


def test_the_schema_accepts_every_example():
    examples = list(_examples())
    assert len(examples) > 10
    for page, example in examples:
        errors = list(jsonschema.Draft202012Validator(_schema()).iter_errors(
            example))
        assert not errors, f"{page}: {errors[0].message}"


@pytest.mark.parametrize("wrong", [
    {"postgres": {"slott": "a"}}, {"polling": {"interval": "1 hour"}},
    {"retention": {"batch_rows": 0}}, {"log": {"level": "loud"}},
    {"outbox": {"tables": {"name": "a"}}}, {"on_error": {"other": "skip"}},
    {"outbox": {"tables": [{"columns": {"id": {"const": "a"}}}]}}])
@pytest.mark.sample(7)
def test_the_schema_refuses_what_the_loader_refuses(wrong, tmp_path):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, _schema())
    file = tmp_path / "walpost.yaml"
    file.write_text(yaml.safe_dump(wrong))
    run = subprocess.run([walpost_binary(), "run", "-c", file,
                          "--print-config"], capture_output=True, text=True)
    assert run.returncode == 2, run.stdout
