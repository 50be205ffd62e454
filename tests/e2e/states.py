"""States of an installation, for what holds in each of them: `check` says what
`run` does, and what they print puts the state in order.

One row is one state. `test_remedies.py` brings it about.
"""

import dataclasses
import json
import pathlib
import socket
import time
import typing

from harness import KafkaReader, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, covering
from harness.sections import kafka_properties, outbox_table, outbox_tables


@dataclasses.dataclass(frozen=True)
class Edit:
    """The remedy is a change of the configuration: `words` are in what is
    printed, `sections` are laid over it."""
    words: tuple
    sections: typing.Any


# The remedy is printed, and is no command: somebody has to act elsewhere.
ELSEWHERE = "elsewhere"


@dataclasses.dataclass(frozen=True)
class State:
    """`sections` lie over a configuration that works. `before` is SQL or a
    function of the World, before `walpost init`, as an administrator; `after`
    the same after it. Without `init`, `run` makes what is missing.

    `role` is LOGIN, and what it says. `streams`: what becomes of `run`.
    `heal` is what puts it in order: what is printed, as "sql", "own" (a command
    of walpost), "tool" (of Kafka) or "shell"; an Edit, ELSEWHERE; or None if
    nothing is wrong.
    """
    name: str
    streams: bool
    sections: typing.Any = dataclasses.field(default_factory=dict)
    heal: typing.Any = None
    before: typing.Any = ""
    after: typing.Any = ""
    init: bool = True
    role: str | None = None
    kafka: str = "kafka"
    server: str = "postgres"
    says: tuple = ()  # by `check`
    long: bool = False  # only in a long run
    # Known only to a walpost that runs, of which `check` then speaks.
    pending: bool = False


def _free(world):
    return {"http": {"listen": world.listen}}


def _occupied(world):
    """A port that another program listens on."""
    listener = socket.create_server(("127.0.0.1", 0))
    world.closing.append(listener)
    world.occupied = f"127.0.0.1:{listener.getsockname()[1]}"
    return {"http": {"listen": world.occupied}}


def _foreign_reader(world):
    """Another program has the slot."""
    world.read_slot()


def _folder(mode):
    def sections(world):
        folder = world.directory / "points"
        if mode == "a file":
            folder.write_text("")
        elif mode != "missing":
            folder.mkdir(exist_ok=True)
        return {"checkpoint": {"store": "file",
                               "path": str(folder / "checkpoint")}}

    return sections


def _rubbish(world):
    sections = _folder("made")(world)
    pathlib.Path(sections["checkpoint"]["path"]).write_text("buy milk\n")
    return sections


def _checkpoint_topic(topic="point", partitions=1, **creation):
    def sections(world):
        name = f"{topic}-{world.topics}x"
        if creation:
            world.kafka.create_topic(name, partitions, **creation)
        return {"checkpoint": {"store": "kafka", "topic": name}}

    return sections


def _pending(world):
    world.outbox.insert("order", "key")


def _stop(kind):
    """An event that is pending and cannot be delivered."""
    def insert(world):
        world.outbox.insert(kind, "key")

    return insert


def _on_record(**words):
    def write(world):
        world.put_on_record(**words)

    return write


def _made_again(world):
    """A topic that has events is deleted, and made again."""
    topic = world.topics + "order"
    world.relay.run()
    for _ in range(2):
        _pending(world)
        world.database.wait_confirmed(world.relay.slot)
        time.sleep(3)  # until its id is known, and in a checkpoint
    assert world.relay.stop() == 0
    world.kafka.delete_topic(topic)
    wait_until(lambda: topic not in KafkaReader(
        world.kafka.bootstrap).topics(), "the topic to go")
    world.kafka.create_topic(topic, 4)


def _whole_topic(world):
    return {"route": {"topic": world.topics + "whole"}}


def _once(world):
    return once(world.topics)


_OWN_SLOT = "select pg_create_logical_replication_slot('$slot', 'pgoutput')"
_ROLE_TABLES = ("create table checkpoint_x (); ")

POSTGRES = [
    State("all is well", True),
    State("all is well, made by run", True, init=False),
    State("messages alone", True, {"outbox": {
        "tables": [], "messages": {"prefix": "outbox"}}}, init=False),
    State("a role that init has given its rights", True, role="replication"),
    State("a role without REPLICATION", False, role="", heal="sql",
          after='alter role "$role" noreplication'),
    State("a role that may not log in", False, role="replication",
          heal=ELSEWHERE, after='alter role "$role" nologin'),
    State("a role without CONNECT", False, role="replication", heal=ELSEWHERE,
          after='revoke connect on database "$database" from public'),
    State("a role that owns nothing", True, role="replication",
          after='alter publication walpost owner to pg_monitor; '
                'revoke all on outbox from "$role"'),
    State("a role that owns nothing, and no slot", False, role="replication",
          init=False, heal="own",
          before="create publication walpost for table outbox with "
                 "(publish = 'insert')"),
    State("a role without USAGE on the schema", True,
          outbox_tables("apart.outbox"), role="replication",
          before="create schema apart; create table apart.outbox (like "
                 "outbox including all)",
          after='revoke all on schema apart from "$role"'),
    State("snapshot without SELECT", False, {"snapshot": "initial"},
          role="replication", heal="sql", init=False, says=("GRANT SELECT",),
          before='create publication walpost for table outbox with (publish = '
                 "'insert'); alter publication walpost owner to \"$role\"; "
                 "alter table outbox add position bigserial"),
    State("snapshot without USAGE", False,
          {"snapshot": "initial", **outbox_tables("apart.outbox")},
          role="replication", heal="sql", init=False,
          before="create schema apart; create table apart.outbox (like "
                 "outbox including all); alter table apart.outbox add "
                 "position bigserial; create publication walpost for table "
                 "apart.outbox with (publish = 'insert'); alter publication "
                 'walpost owner to "$role"'),
    State("snapshot under row security", False, {"snapshot": "initial"},
          role="replication", heal="sql", init=False,
          before='create publication walpost for table outbox with (publish = '
                 "'insert'); alter publication walpost owner to \"$role\"; "
                 "alter table outbox add position bigserial, enable row level "
                 'security; grant select on outbox to "$role"'),
    State("snapshot without an order", False, {
        "snapshot": "initial", **outbox_table(columns={"timestamp": None})},
          init=False, heal=ELSEWHERE,
          before="drop trigger remember on outbox; alter table outbox drop "
                 "column sequence; insert into outbox (aggregate_type) values "
                 "('order')"),
    State("snapshot of a slot that is not on record", False,
          {"snapshot": "initial", **outbox_table(order_by="sequence")},
          init=False, heal="own",
          before="create publication walpost for table outbox with (publish = "
                 "'insert'); " + _OWN_SLOT),
    State("checkpoint.store: postgres, no right on the table", False,
          {"checkpoint": {"store": "postgres"}}, role="replication",
          heal="sql", after="alter table walpost_checkpoint owner to postgres; "
                            'revoke all on walpost_checkpoint from "$role"'),
    State("checkpoint.store: postgres, no right to make the table", False,
          {"checkpoint": {"store": "postgres"}}, role="replication",
          heal="sql", after="drop table walpost_checkpoint"),
    State("checkpoint.store: postgres, a table of something else", False,
          {"checkpoint": {"store": "postgres", "table": "public.truth"}},
          heal=Edit(("public.truth",), {"checkpoint": {
              "table": "public.walpost_checkpoint"}})),
    State("park, no right on the table", False,
          {"on_error": {"topic_illegal": "park"}}, role="replication",
          heal="sql", after="alter table walpost_parked owner to postgres; "
                            'revoke all on walpost_parked from "$role"'),
    State("park, no right to make the table", False,
          {"on_error": {"topic_illegal": "park"}}, role="replication",
          heal="sql", after="drop table walpost_parked"),
    State("letters in a table, no right on it", False,
          {"on_error": {"topic_illegal": "dead_letter"},
           "dead_letter": {"store": "postgres"}}, role="replication",
          heal="sql", after="alter table walpost_parked owner to postgres; "
                            'revoke all on walpost_parked from "$role"'),
    State("retention without SELECT", True, {"retention": {"keep": "1d"}},
          role="replication",
          before="alter table outbox add created_at timestamptz default now()",
          after='revoke all on outbox from "$role"'),
    State("retention without a time", True, {"retention": {"keep": "1d"}},
          role="replication"),
    State("a window", True, {"replay": {"window": "64MiB"}}),
    State("a window, and no free slot for it", True,
          {"replay": {"window": "64MiB"}}, server="full", init=False,
          before=_OWN_SLOT),
    State("no free slot", False, server="full", init=False, heal=ELSEWHERE,
          before="select pg_create_physical_replication_slot('one_more')"),
    State("wal_level is replica", False, server="replica", init=False,
          heal=ELSEWHERE),
    State("a standby", False, server="standby", heal=ELSEWHERE, long=True),
    State("failover slots before 17", False, {"postgres": {"failover": True}},
          init=False, heal=Edit(("postgres.failover",), {
              "postgres": {"failover": False}})),
    State("no publication and no slot, and neither is made", False,
          {"postgres": {"create": False}}, init=False, heal="own"),
    State("no slot, and none is made", False, {"postgres": {"create": False}},
          init=False, heal="own",
          before="create publication walpost for table outbox with "
                 "(publish = 'insert')"),
    State("no publication, nothing pending", True, after="drop publication "
          "walpost"),
    State("no publication, rows pending", False, after="drop publication "
          "walpost; insert into outbox (aggregate_type, payload) values "
          "('order', '{}')", heal="own"),
    State("a publication of updates", False,
          after="alter publication walpost set (publish = 'update')",
          heal="sql"),
    State("a publication without the table", False,
          after="alter publication walpost drop table outbox; create table "
                "other (); alter publication walpost add table other",
          heal="sql"),
    State("a publication with another table", True,
          after="create table other (); alter publication walpost add table "
                "other"),
    State("a publication for all tables", True, init=False,
          before="create publication walpost for all tables"),
    State("a row filter", True, init=False,
          before="create publication walpost for table outbox where "
                 "(aggregate_type = 'order') with (publish = 'insert')"),
    State("a column list without the payload", False, init=False,
          before="create publication walpost for table outbox (id, "
                 "aggregate_type, aggregate_id) with (publish = 'insert')",
          heal="sql"),
    State("a table that does not exist", False,
          outbox_tables("public.outboxes"), init=False,
          heal=Edit(("public.outbox?",), outbox_tables("public.outbox"))),
    State("a table that is like no other", False,
          outbox_tables("public.invoices"), init=False,
          heal=Edit(("outbox.tables",), outbox_tables("public.outbox"))),
    State("a table in capitals", False, outbox_tables("public.Outbox"),
          init=False,
          heal=Edit(("public.outbox",), outbox_tables("public.outbox"))),
    State("two tables, one missing", False,
          outbox_tables("public.outbox", "public.more"), init=False,
          heal=Edit(("public.more", "outbox.tables"),
                    outbox_tables("public.outbox"))),
    State("a view", False, outbox_tables("public.seen"), init=False,
          before="create view seen as select * from outbox",
          heal=Edit(("is not a table",), outbox_tables("public.outbox"))),
    State("an unlogged table", False, init=False,
          before="alter table outbox set unlogged", heal="sql"),
    State("an unlogged partition", False, outbox_tables("public.parts"),
          init=False,
          before="create table parts (like outbox) partition by list "
                 "(aggregate_type); create unlogged table part partition of "
                 "parts default", heal="sql"),
    State("a child table", False, init=False,
          before="create table child () inherits (outbox)", heal="sql"),
    State("partitions without their root", False, outbox_tables("public.parts"),
          init=False,
          before="create table parts (like outbox) partition by list "
                 "(aggregate_type); create table part partition of "
                 "parts default; create publication walpost for table parts "
                 "with (publish = 'insert')", heal="sql"),
    State("a column that does not exist", False,
          outbox_table(columns={"payload": "body"}), init=False,
          heal=Edit(("columns.payload",), outbox_table(columns={
              "payload": "payload"}))),
    State("no aggregate_id", True,
          outbox_table(columns={"aggregate_id": None})),
    State("a slot of another plugin", False, init=False, heal=Edit(
        ("postgres.slot",), {"postgres": {"slot": "walpost_$slot"}}),
          before="select pg_create_logical_replication_slot('$slot', "
                 "'test_decoding')"),
    State("a physical slot", False, init=False, heal=Edit(
        ("postgres.slot",), {"postgres": {"slot": "walpost_$slot"}}),
          before="select pg_create_physical_replication_slot('$slot')"),
    State("a slot with two_phase", False, init=False, heal="sql",
          before="create publication walpost for table outbox with (publish = "
                 "'insert'); select pg_create_logical_replication_slot("
                 "'$slot', 'pgoutput', false, true)"),
    State("a slot in use by another program", False, init=False,
          before="create publication walpost for table outbox with (publish = "
                 "'insert'); " + _OWN_SLOT, after=_foreign_reader,
          heal=ELSEWHERE),
    State("a slot that was dropped", False,
          after="select pg_drop_replication_slot('$slot')", heal="own"),
    State("a slot of another system", False, after=_on_record(system="17"),
          heal="own"),
    State("a gap on record", False, after=_on_record(gap="wal_forked"),
          heal="own"),
    State("another Kafka on record", False, after=_on_record(kafka="another"),
          heal="own"),
    State("another coverage on record", False,
          after=_on_record(coverage="1:2,public.outbox=3.r4:5"), heal="own"),
    State("a newer timeline on record", False, heal="own",
          after=_on_record(timeline="9")),
    State("an event that cannot be delivered", False, after=_stop("no topic!"),
          heal="own", pending=True),
    State("an event that cannot be delivered, with letters", False,
          {"on_error": {"topic_illegal": "stop"}}, after=_stop("no topic!"),
          heal="own", pending=True, long=True),
]

CONFIGURATION = [
    State("an address without its host", False, {"http": {"listen": "9188"}},
          heal=Edit(("127.0.0.1:9187",), _free)),
    State("an address of another machine", False,
          {"http": {"listen": "192.0.2.1:9188"}},
          heal=Edit(("http.listen",), _free)),
    State("a name to listen on", False,
          {"http": {"listen": "db.example.com:9188"}},
          heal=Edit(("http.listen",), _free)),
    State("a port that does not exist", False,
          {"http": {"listen": "127.0.0.1:99999"}},
          heal=Edit(("http.listen",), _free)),
    State("a port in use", False, _occupied, heal=Edit(("http.listen",), _free)),
    State("no port", True, {"http": {"listen": ""}}, long=True),
    *[State(f"{name}={value}", False, {"kafka": {"properties": {name: value}}},
            heal=Edit((name,), {"kafka": {"properties": None}}))
      for name, value in [
          ("acks", "1"), ("request.required.acks", "1"),
          ("enable.idempotence", "false"),
          ("enable.gapless.guarantee", "false"), ("message.timeout.ms", "100"),
          ("delivery.timeout.ms", "100"), ("partitioner", "random"),
          ("bootstrap.servers", "x:1"), ("metadata.broker.list", "x:1"),
          ("queue.buffering.max.messages", "5"), ("retries", "0"),
          ("max.in.flight", "1000"), ("transactional.id", "x"),
          ("transaction.timeout.ms", "5000"), ("client.id", "x"),
          ("lingerms", "1"), ("linger.ms", "soon"),
          ("compression.type", "rar"), ("ssl.ca.location", "/not/there"),
          ("compression.codec", "rar")]],
    State("a property that may be set", True, kafka_properties(linger__ms="5")),
    State("a property of consumers", True,
          kafka_properties(session__timeout__ms="6000")),
    State("a letter that is as large as its event", True,
          {"on_error": {"record_too_large": "dead_letter"}},
          says=("dead_letter.payload: cut",)),
    State("a letter that is cut", True,
          {"on_error": {"record_too_large": "dead_letter"},
           "dead_letter": {"payload": "cut"}}),
    State("a file in a folder that is not there", False, _folder("missing"),
          heal="shell"),
    State("a file below a file", False, _folder("a file"), heal=Edit(
        ("checkpoint.path",), {"checkpoint": {"store": "none"}})),
    State("a folder that may be written", True, _folder("made")),
    State("a file of something else", False, _rubbish, heal="shell"),
    State("a checkpoint topic", True, _checkpoint_topic()),
    State("a topic that was made again", False, _folder("made"),
          after=_made_again, heal="own"),
    State("a checkpoint topic that is not compacted", False,
          _checkpoint_topic(cleanup_policy="delete"), heal="tool"),
    State("a checkpoint topic with partitions", False,
          _checkpoint_topic(partitions=3, cleanup_policy="compact"),
          heal="tool"),
    State("exactly once", True, _once),
]

KAFKA = [
    State("nobody at the brokers", False,
          {"kafka": {"brokers": "127.0.0.1:1"}},
          heal=Edit(("kafka.brokers",), lambda world: {
              "kafka": {"brokers": world.kafka.bootstrap}})),
    State("nobody at the brokers, exactly once", False,
          lambda world: {**once(world.topics),
                         "kafka": {"brokers": "127.0.0.1:1"}}, long=True,
          heal=Edit(("kafka.brokers",), lambda world: {
              "kafka": {"brokers": world.kafka.bootstrap}})),
    State("a name that does not resolve", False,
          {"kafka": {"brokers": "kafka.invalid:9092"}},
          heal=Edit(("kafka.brokers",), lambda world: {
              "kafka": {"brokers": world.kafka.bootstrap}})),
    State("the port of Postgres", False, lambda world: {
        "kafka": {"brokers": f"127.0.0.1:{world.server.port}"}},
          heal=Edit(("kafka.brokers",), lambda world: {
              "kafka": {"brokers": world.kafka.bootstrap}})),
    State("the port of an HTTP server", False, lambda world: {
        "kafka": {"brokers": world.http_server()}},
          heal=Edit(("kafka.brokers",), lambda world: {
              "kafka": {"brokers": world.kafka.bootstrap}})),
    State("TLS to a broker without it", False,
          kafka_properties(security__protocol="SSL"),
          heal=Edit(("security.protocol",), {"kafka": {"properties": None}})),
    State("SASL to a broker without it", False, kafka_properties(
        security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN",
        sasl__username="x", sasl__password="y"),
          heal=Edit(("security.protocol",), {"kafka": {"properties": None}})),
    State("brokers that make no topic", True, kafka="strict_kafka",
          says=("kafka-topics.sh --bootstrap-server",)),
    State("an event without its topic", False, _whole_topic,
          kafka="strict_kafka", after=_pending, heal="tool", pending=True),
    State("an event without its topic, by a prefix", False,
          kafka="strict_kafka", after=_pending, heal="tool", pending=True),
    State("topics that walpost makes", True, {"route": {"create_topics": {
        "partitions": 1}}}, kafka="strict_kafka", after=_pending),
]


def _secured(**changes):
    """The login of walpost, with other properties; None takes one away."""
    def sections(world):
        login = json.loads(json.dumps(world.kafka.login()))
        for name, value in changes.items():
            key = name.replace("__", ".")
            if key == "brokers":
                login["brokers"] = getattr(world.kafka, value)
            elif value is None:
                login["properties"].pop(key)
            else:
                login["properties"][key] = value
        return {"kafka": login}

    return sections


def _rights(*grants):
    def give(world):
        for words in grants:
            world.kafka.grant("--allow-principal", "User:walpost", *(
                word.replace("$topics", world.topics).replace(
                    "$point", f"point-{world.topics}x") for word in words))

    return give


_WRITE = ("--operation", "Write", "--operation", "Create", "--topic", "$topics",
          "--resource-pattern-type", "prefixed")
# Without it check says that the transactional id is not tested.
_CLUSTER = ("--operation", "DescribeConfigs", "--cluster")
_POINT = ("--operation", "Read", "--operation", "Write", "--operation",
          "Create", "--operation", "DescribeConfigs", "--topic", "$point")


def _secured_point(world):
    return {**_secured()(world), "checkpoint": {
        "store": "kafka", "topic": f"point-{world.topics}x"}}


def _secured_once(world):
    return {**_secured()(world), "delivery": {"guarantee": "exactly_once"},
            "checkpoint": {"topic": f"point-{world.topics}x"}}


SECURED = [
    State("a login", True, _secured(), kafka="guarded",
          before=_rights(_WRITE)),
    State("a wrong password", False, _secured(sasl__password="wrong"),
          kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("sasl",), _secured())),
    State("no password", False, _secured(sasl__password=None,
                                         sasl__username=None),
          kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("sasl.username",), _secured())),
    State("SASL without a mechanism", False, _secured(sasl__mechanism=None),
          kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("sasl.mechanism",), _secured())),
    State("a mechanism that the brokers do not have", False,
          _secured(sasl__mechanism="OAUTHBEARER"), kafka="guarded",
          before=_rights(_WRITE), heal=Edit(("sasl",), _secured())),
    State("no TLS", False, _secured(security__protocol="SASL_PLAINTEXT"),
          kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("security.protocol",), _secured())),
    State("no security at all", False, _secured(
        security__protocol=None), kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("security.protocol",), _secured())),
    State("another authority", False, _secured(ssl__ca__location=None),
          kafka="guarded", before=_rights(_WRITE),
          heal=Edit(("ssl.ca.location",), _secured())),
    State("no certificate of the client", False, _secured(
        brokers="mtls", security__protocol="SSL"), kafka="guarded",
          before=_rights(_WRITE), heal=Edit(("ssl",), _secured())),
    State("no right on the topics", False, _secured(), kafka="guarded",
          after=_pending, heal="tool"),
    State("no right on the checkpoint topic", False, _secured_point,
          kafka="guarded", before=_rights(_WRITE), heal="tool"),
    State("rights on the checkpoint topic", True, _secured_point,
          kafka="guarded", before=_rights(_WRITE, _POINT)),
    State("no right on the transactional id", False, _secured_once,
          kafka="guarded", before=_rights(_WRITE, _POINT, _CLUSTER),
          heal="tool"),
]

_POLLED = {"source": "polling", "postgres": {
    "slot": None, "publication": None, "create": None}}


def _polled(strategy, **table):
    return {**_POLLED, "polling": {"strategy": strategy}, "outbox": {
        "tables": [{"name": "public.queue", "order_by": "seq", **table}]}}


_QUEUE = ("create table queue (id uuid primary key default gen_random_uuid(), "
          "seq bigserial unique, aggregate_type text, aggregate_id text, "
          "payload text, created_at timestamptz default now(), status text not "
          "null default 'pending', published_at timestamptz, tx xid8 not null "
          "default pg_current_xact_id()); create index on queue (seq) where "
          "status = 'pending'; create index on queue (tx, seq)")
_CLAIM = {"state": {"status": "status", "published_at": "published_at"}}
_CURSOR = {"state": {"transaction_id": "tx"}}

POLLED = [
    State("polling by claim", True, _polled("claim", **_CLAIM), before=_QUEUE,
          init=False),
    State("polling by delete", True, _polled("delete"), before=_QUEUE,
          init=False),
    State("polling by cursor", True, _polled("cursor", **_CURSOR),
          before=_QUEUE, init=False),
    State("polling without UPDATE", False, _polled("claim", **_CLAIM),
          before=_QUEUE + '; grant select on queue to "$role"', init=False,
          role="", heal="sql"),
    State("polling without SELECT", False, _polled("delete"), before=_QUEUE,
          init=False, role="", heal="sql"),
    State("polling without USAGE", False,
          {**_polled("delete"), "outbox": {"tables": [
              {"name": "apart.queue", "order_by": "seq"}]}},
          before="create schema apart; " + _QUEUE.replace(
              "table queue", "table apart.queue").replace(
                  "on queue", "on apart.queue"), init=False, role="",
          heal="sql"),
    State("no table of cursors, and no right to make it", False,
          _polled("cursor", **_CURSOR), init=False, role="", heal="sql",
          before=_QUEUE + '; grant select on queue to "$role"'),
    State("a column of states that does not exist", False,
          _polled("claim", state={"status": "state"}), before=_QUEUE,
          init=False, heal="sql"),
    State("a column of times that does not exist", False,
          _polled("claim", state={"published_at": "sent_at"}), before=_QUEUE,
          init=False, heal="sql"),
    State("an order by a column that does not exist", False,
          {**_POLLED, "outbox": {"tables": [
              {"name": "public.queue", "order_by": "place", **_CLAIM}]}},
          before=_QUEUE, init=False, heal="sql"),
    State("a transaction id of another type", False,
          _polled("cursor", state={"transaction_id": "seq"}), before=_QUEUE,
          init=False, heal=Edit(("xid8",), _polled("cursor", **_CURSOR))),
]

_GROUPS = {"postgres": POSTGRES, "configuration": CONFIGURATION, "kafka": KAFKA,
           "secured": SECURED, "polled": POLLED}


def _parts(group, state):
    """In the usual run: of each group each kind of remedy, each section of the
    configuration and each kind of statement that brings a state about; each
    broker, server and role."""
    heal = type(state.heal).__name__ if isinstance(state.heal, Edit) else state.heal
    sections = (state.sections if isinstance(state.sections, dict)
                else [state.sections.__qualname__])
    steps = [step.__qualname__ if callable(step) else
             " ".join(statement.split("(")[0].split()[:2])
             for step in (state.before, state.after)
             for statement in ([step] if callable(step) else step.split(";"))]
    return {(group, heal, state.pending), (group, state.streams, state.init),
            *((group, section) for section in sections),
            *((group, step) for step in steps if step),
            ("kafka", state.kafka), ("server", state.server),
            ("role", group, state.role)}


STATES = [state for _, state in covering(
    [(group, state) for group, states in _GROUPS.items() for state in states
     if LONG or not state.long], lambda case: _parts(*case))]
