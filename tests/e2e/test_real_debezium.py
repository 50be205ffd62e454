"""The real Debezium on Kafka Connect, and walpost in its place: the imported
configuration makes the same records of random rows, the slot is taken over at the
stored offset, and Debezium can have it back."""

import collections
import json
import os
import random
import subprocess
import time

import psycopg2.extensions
import pytest
import yaml

from harness import KafkaReader, Walpost, note, verify, wait_until
from harness.paths import walpost_binary
from harness.ports import free_port
from harness.real_debezium import RealDebezium

pytestmark = pytest.mark.long

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_COLUMNS = {
    "i2": "smallint", "i4": "integer", "i8": "bigint not null default 7",
    "f4": "real", "f8": "double precision", "n": "numeric(12,3)", "nv": "numeric",
    "b": "boolean", "t": "text default 'none'", "v": "varchar(40)", "c": "char(6)",
    "u": "uuid", "by": "bytea", "j": "json", "jb": "jsonb", "d": "date",
    "ts": "timestamp", "ts3": "timestamp(3)", "tz": "timestamptz",
    "ti": "time", "tt": "timetz", "iv": "interval", "ta": "text[]", "ia": "int[]",
    "m": "money", "bi": "bit(5)", "vb": "varbit", "ip": "inet", "x": "xml",
    "r": "int4range", "ea": "mood[]", "ba": "bit(3)[]", "sa": "tsvector[]",
    "pt": "point", "pa": "path", "ci": "circle", "dd": "net_price",
    "de": "moods not null default '{{}}'"}
_TYPES = (
    "create type mood as enum ('sad', 'ok'); create domain moods as mood[];"
    " create domain price as numeric(8,2);"
    " create domain net_price as price check (value > -100000)")
_TABLE = (
    "create table outbox (id uuid primary key default gen_random_uuid(),"
    " aggregatetype text not null, aggregateid text, type text, payload {}, "
    + ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items()) + ")")

_SETTINGS = {
    "json, all columns in an envelope": ("text", {
        "key.converter": _JSON, "key.converter.schemas.enable": "false",
        "value.converter": _JSON, "value.converter.schemas.enable": "false"}, {
        "table.fields.additional.placement":
            ",".join(f"{name}:envelope" for name in _COLUMNS)}),
    "schemas, all columns in headers": ("jsonb", {
        "key.converter": _JSON, "value.converter": _JSON}, {
        "table.fields.additional.placement":
            ",".join(f"{name}:header" for name in _COLUMNS)}),
    "expanded json": ("jsonb", {
        "key.converter": _STRING,
        "value.converter": _JSON, "value.converter.schemas.enable": "true"}, {
        "table.expand.json.payload": "true",
        "table.json.payload.null.behavior": "optional_bytes",
        "route.tombstone.on.empty.payload": "true"}),
    "text": ("json", {"key.converter": _STRING, "value.converter": _STRING}, {}),
}


class _Rows:
    """Random rows, the same for the same seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def _json(self, depth=0):
        pick = self._random.random()
        if depth < 3 and pick < 0.4:
            return {self._word(): self._json(depth + 1)
                    for _ in range(self._random.randrange(4))}
        if depth < 3 and pick < 0.5:
            return [self._random.randrange(1000)
                    for _ in range(self._random.randrange(1, 4))]
        return self._random.choice([
            self._random.randrange(-2**31, 2**31), self._random.randrange(2**62),
            round(self._random.uniform(-1e9, 1e9), 4), self._random.random() * 1e-9,
            True, None, self._word(), "é😀\u0001\"\\ \u2028"])

    def _word(self):
        return "".join(self._random.choice("abcdefgé") for _ in range(
            self._random.randrange(1, 8)))

    def _value(self, name):
        pick = self._random
        if name not in ("i8", "de") and pick.random() < 0.15:
            return None
        number = pick.randrange(-10**6, 10**6)
        moment = (f"{pick.randrange(1971, 2100)}-{pick.randrange(1, 13):02}-"
                  f"{pick.randrange(1, 29):02} {pick.randrange(24):02}:"
                  f"{pick.randrange(60):02}:{pick.randrange(60):02}."
                  f"{pick.randrange(10**6):06}")
        return {
            "i2": lambda: number % 2**15, "i4": lambda: number,
            "i8": lambda: number * 10**9, "f4": lambda: number / 997,
            "f8": lambda: pick.choice([number / 9973, number * 1e20, 1e-7, 0.1]),
            "n": lambda: f"{number / 7:.3f}", "nv": lambda: f"{number}.{number % 97}00"
            .replace("-", "") , "b": lambda: pick.random() < 0.5,
            "t": self._word, "v": lambda: "v" + self._word(), "c": lambda: "ab",
            "u": lambda: f"{pick.getrandbits(128):032x}",
            "by": lambda: pick.randbytes(pick.randrange(9)),
            "j": lambda: json.dumps(self._json()), "jb": lambda: json.dumps(
                self._json()),
            "d": lambda: moment[:10], "ts": lambda: moment, "ts3": lambda: moment,
            "tz": lambda: moment + "+02", "ti": lambda: moment[11:],
            "tt": lambda: moment[11:] + "+05:30",
            "iv": lambda: f"{number % 40} days {number % 9} months {number} ms",
            "ta": lambda: [self._word(), None, "b c"], "ia": lambda: [number, None],
            "m": lambda: f"{number / 100:.2f}", "bi": lambda: f"{number % 32:05b}",
            "vb": lambda: f"{abs(number):b}", "ip": lambda: "10.0.0.1/8",
            "x": lambda: "<a>1</a>", "r": lambda: "[1,5)",
            "ea": lambda: pick.choice(["{sad,ok}", "{}", "{ok,NULL}"]),
            "ba": lambda: "{101}", "sa": lambda: "{a,'b c'}",
            "pt": lambda: f"({number / 7},{number})",
            "pa": lambda: f"[(0,{number}),({number / 9},1)]",
            "ci": lambda: f"<({number},1e-9),{abs(number)}>",
            "dd": lambda: f"{number / 7 % 1000:.2f}", "de": lambda: "{sad}",
        }[name]()

    def next(self):
        payload = json.dumps({"p": self._json(), "q": self._json()})
        if self._random.random() < 0.1:
            payload = None
        return {"aggregatetype": self._random.choice(["order", "Invoice.v2"]),
                "aggregateid": self._random.choice(
                    [None, "42", f"k{self._random.randrange(9)}", "é"]),
                "type": self._word(), "payload": payload,
                **{name: self._value(name) for name in _COLUMNS}}


def _insert(database, rows, count):
    made = [rows.next() for _ in range(count)]
    one = f"({', '.join(['%s'] * len(made[0]))})"
    database.execute(
        f"insert into outbox ({', '.join(made[0])}) values"
        f" {', '.join([one] * count)}",
        tuple(value for row in made for value in row.values()))


def _connector(database, topics, properties, router):
    place = psycopg2.extensions.parse_dsn(database.conninfo())
    return {
        "name": "outbox",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput", "tasks.max": "1",
        "database.hostname": place["host"], "database.port": place["port"],
        "database.user": place["user"], "database.dbname": place["dbname"],
        "database.password": "none",
        "topic.prefix": "shop", "slot.name": database.name,
        "publication.name": "dbz", "publication.autocreate.mode": "disabled",
        "table.include.list": "public.outbox", "snapshot.mode": "no_data",
        "transforms": "outbox",
        "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.outbox.route.topic.replacement": topics + "${routedByValue}",
        **properties,
        **{f"transforms.outbox.{key}": value for key, value in router.items()}}


def _import(debezium, *arguments):
    said = subprocess.run(
        [walpost_binary(), "import-debezium", "connector.properties", "--worker",
         "worker.properties", *arguments], cwd=debezium.directory,
        env={**os.environ, "POSTGRES_PASSWORD": "none"}, timeout=30,
        capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return said


@pytest.fixture
def taken_over(database, kafka, topics, directory, request):
    payload, properties, router = _SETTINGS[request.param]
    database.execute(_TYPES)
    database.execute(_TABLE.format(payload))
    database.execute("create publication dbz for table outbox")
    debezium = RealDebezium(
        directory / "debezium", kafka.bootstrap,
        _connector(database, topics, properties, router), {
            "key.converter": _JSON, "value.converter": _JSON})
    os.environ["POSTGRES_PASSWORD"] = "none"
    config = yaml.safe_load(_import(debezium).stdout)
    config["http"] = {"listen": f"127.0.0.1:{free_port()}"}
    relay = Walpost(directory / "walpost", config)
    debezium.start()
    yield database, debezium, relay
    relay.close()
    debezium.close()


@pytest.mark.parametrize("taken_over", _SETTINGS, indirect=True)
def test_random_rows_are_the_same_records(taken_over):
    database, debezium, relay = taken_over
    seed = int(os.environ.get("WALPOST_SEED", random.randrange(10**6)))
    print(f"WALPOST_SEED={seed}")
    rows = _Rows(seed)
    _insert(database, rows, 5)  # before
    shadow = relay.spawn("shadow", "--for", "15s", "--grace", "30s")
    wait_until(lambda: database.value(
        "select count(*) from pg_stat_replication where application_name ="
        " 'walpost:shadow' and state = 'streaming'") == 1, "its stream", 60)
    for _ in range(30):
        _insert(database, rows, 10)
    said = shadow.stdout.read().decode()
    code = shadow.wait(30)
    assert debezium.task_state() == "RUNNING", debezium.directory
    assert code == 0, said + relay.log()
    assert "compared: 300 events, 300 of them equal" in said, said
    report = verify(relay, "--json-equal", sequence=None)
    assert report["clean"] and report["expected"] == 305, report
    note(f"300 records of the real Debezium are equal, seed {seed}")


@pytest.mark.parametrize("taken_over", ["text"], indirect=True)
def test_the_slot_goes_to_walpost_and_back(taken_over, kafka, topics):
    database, debezium, relay = taken_over
    rows = _Rows(1)
    for _ in range(20):
        _insert(database, rows, 1)
    reader = KafkaReader(kafka.bootstrap)

    def times():
        return collections.Counter(record.id for record in reader.read_all(topics))
    wait_until(lambda: len(times()) == 20, "Debezium's records", 60)
    time.sleep(3)  # the offsets are stored each second
    debezium.stop_connector()
    (debezium.directory / "offsets.json").write_text(
        json.dumps(debezium.offsets()))
    said = _import(debezium, "--offsets", "offsets.json")
    print(debezium.offsets())
    begin = said.stdout.split("--from-lsn ")[1].split()[0]
    _insert(database, rows, 20)
    relay.start("--from-lsn", begin).wait_ready()
    wait_until(lambda: len(times()) == 40, "walpost's records", 60)
    # The offset of the last event does not say that its transaction has ended.
    assert sum(times().values()) <= 41, times()
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    relay.stop()
    _insert(database, rows, 20)
    # Otherwise it fails: its offset is older than the slot.
    debezium.forget_offsets()
    debezium.resume_connector()
    wait_until(lambda: len(times()) == 60, "Debezium's records again", 60)
    note(f"{sum(times().values()) - 60} records were sent again on the way there "
         "and back")
