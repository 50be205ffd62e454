"""Each verb with exactly the operations that docs/security.md gives it, at brokers
that ask for rights."""

import re
import shlex

import pytest

from harness import KafkaReader, wait_until
from harness.matrix import covering
from harness.pages import blocks
from harness.paths import REPOSITORY


_TOPICS, _POINT, _CLUSTER = ("Topics of events", "`checkpoint.topic`",
                             "Cluster")


def _table():
    """Verb -> resource -> operations."""
    page = (REPOSITORY / "docs/security.md").read_text()
    section = page.split("\n## Rights in Kafka\n")[1].split("\n## ")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")]
                      for line in section.splitlines()
                      if line.startswith("|")]
    assert head == ["Verb", _TOPICS, _POINT, _CLUSTER]
    return {row[0].replace("`", ""):
            {resource: [word for word in re.split(r",\s*", cell) if word]
             for resource, cell in zip(head[1:], row[1:])} for row in rows}


_TABLE = _table()


def _cases():
    """Verb, checkpoint.store, and the right that is left out."""
    for verb, rights in _TABLE.items():
        yield verb, "none", None
        for resource in (_TOPICS, _CLUSTER):
            for operation in rights[resource]:
                yield verb, "none", (resource, operation)
        yield verb, "kafka", None
        for operation in rights[_POINT]:
            yield verb, "kafka", (_POINT, operation)


def _name(case):
    verb, store, left_out = case
    without = f" without {left_out[1]} on {left_out[0]}" if left_out else ""
    return f"{verb} with store {store}{without}"


_TRANSACTIONS = ("--allow-principal", "User:walpost", "--operation", "Write",
                 "--operation", "Describe")


def _operations(names):
    """As kafka-acls.sh spells them."""
    return [word for name in names for word in
            ("--operation", name.title().replace("_", ""))]


def _grant(guarded, verb, store, left_out, names):
    resources = [_TOPICS, _CLUSTER] + [_POINT] * (store == "kafka")
    for resource in resources:
        operations = [operation for operation in _TABLE[verb][resource]
                      if (resource, operation) != left_out]
        if operations:
            guarded.grant("--allow-principal", "User:walpost",
                          *_operations(operations), *names[resource])


# ---- What each verb does, and what it says.

def _run(relay, database, outbox):
    relay.start()
    outbox.insert("order", "order-1")
    end = database.current_lsn()

    def done():
        return (database.confirmed_lsn(relay.slot) or 0) >= end

    wait_until(lambda: not relay.running() or done()
               or "stuck" in relay.get("/readyz")[1], "an answer")
    said = relay.get("/readyz")[1]
    works = relay.running() and done()
    if relay.running():
        relay.stop()
    return works, said + relay.log()


def _verb(*words):
    def works(relay, _, __):
        ran = relay.verb(*words)
        return ran.returncode == 0, ran.stdout + ran.stderr

    return works


def _at_kafka(*words):
    """Fails with the exit code that says so."""
    def works(relay, _, __):
        ran = relay.verb(*words)
        assert ran.returncode in (0, 4), ran.stdout + ran.stderr
        return ran.returncode == 0, ran.stdout + ran.stderr

    return works


def _recover(relay, database, outbox):
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    outbox.insert("order", "order-2")
    return _at_kafka("recover", "--order-by", "sequence")(relay, None, None)


def _prune(relay, database, _):
    database.wait_confirmed(relay.slot)
    ran = relay.verb("prune", "--older-than", "1s", "--assume-sent-before",
                     "1s")
    left = database.value("select count(*) from outbox")
    return ran.returncode == 0 and not left, ran.stdout + ran.stderr


def _settle(*words):
    """A dead letter whose cause is fixed."""
    def works(relay, _, __):
        topic = relay.config["dead_letter"]["topic"]
        relay.configure({**relay.config, "route": {"topic": topic + "-no-more"}})
        return _at_kafka("dead-letters", *words, "--all", "--why", "x")(
            relay, None, None)

    return works


def _tail(relay, database, outbox):
    tail = relay.spawn("tail", "--count", "1")
    wait_until(lambda: database.execute(
        "select 1 from pg_replication_slots where temporary and active "
        "and database = %s", (database.name,)), "tail to stream")
    outbox.insert("order", "order-2")
    return tail.wait(30) == 0, ""


_VERBS = {
    "run": _run,
    "run if no topic exists": _run,
    "check": _verb("check"),
    "verify": _verb("verify"),
    "recover": _recover,
    "replay": _at_kafka("replay", "--since", "1h"),
    "replay --from-table": _at_kafka("replay", "--from-table", "--order-by",
                                     "sequence"),
    "dead-letters list": _at_kafka("dead-letters", "list"),
    "dead-letters retry": _settle("retry", "--out-of-order"),
    "dead-letters discard": _settle("discard"),
    "prune": _prune,
    "init": _verb("init"),
    "tail": _tail,
}


def _prepare(admin, verb, database, outbox, guarded, topics):
    """As an administrator of both ends: what the verb finds."""
    database.execute("alter table outbox add created_at timestamptz default "
                     "now() - interval '1 hour'")
    if verb == "init":
        return
    assert admin.verb("init").returncode == 0
    if verb == "run":
        guarded.create_topic(topics + "order", 1)
        if "checkpoint" in admin.config:
            guarded.create_topic(admin.config["checkpoint"]["topic"], 1,
                                 cleanup_policy="compact")
    elif verb != "run if no topic exists":
        admin.run()
        dead = verb.startswith("dead-letters")
        if dead:
            guarded.create_topic(topics + "dead-no-more", 1)
        outbox.insert("not legal!" if dead else "order", "order-1")
        database.wait_confirmed(admin.slot)
        if verb != "prune":  # which asks what the slot has confirmed by now
            assert admin.stop() == 0


@pytest.fixture
def names(guarded, topics):
    """Words for kafka-acls.sh; their rights end with the test."""
    point = f"point-{topics}"
    yield {_TOPICS: ["--topic", topics, "--resource-pattern-type", "prefixed"],
           _POINT: ["--topic", point], _CLUSTER: ["--cluster"]}
    guarded.revoke(topics, point)


def _names_right(operation, words):
    """Whether a sentence says that this right is missing."""
    return re.search(
        rf"\b(rights?|grant)\b[^;]*\b{operation.replace('_', '')}\b",
        words.replace("_", ""), re.I)


def _parts(case):
    """In the usual run: each verb that may do all and one that may not, and each
    right that is left out, for some verb."""
    verb, _, left_out = case
    return {(verb, left_out is None), left_out}


@pytest.mark.parametrize("case", covering(_cases(), _parts), ids=_name)
@pytest.mark.sample(18)
def test_a_verb_has_the_operations_that_it_needs_and_no_more(
        walpost, database, outbox, topics, guarded, names, case):
    verb, store, left_out = case
    sections = {"replay": {"window": "64MiB"}}
    if verb.startswith("dead-letters"):
        sections |= {"on_error": {"topic_illegal": "dead_letter"},
                     "dead_letter": {"topic": topics + "dead"}}
    if store == "kafka":
        sections["checkpoint"] = {"store": "kafka", "topic": names[_POINT][1]}
    admin = walpost(database, guarded, topics, **sections)
    _prepare(admin, verb, database, outbox, guarded, topics)
    _grant(guarded, verb, store, left_out, names)
    relay = walpost(database, guarded, topics, **sections,
                    kafka=guarded.login())
    if verb.startswith("dead-letters"):
        guarded.grant(*_TRANSACTIONS, "--transactional-id",
                      f"walpost-dead-letters:{topics}dead")
    works, words = _VERBS[verb](relay, database, outbox)
    if left_out is None:
        assert works, words
        return
    resource, operation = left_out
    assert works == (operation == "DESCRIBE_CONFIGS"), words
    assert _names_right(operation, words), words
    assert resource != _POINT or names[_POINT][1] in words, words


@pytest.mark.long
def test_a_replay_reads_the_topic_of_dead_letters(
        walpost, database, outbox, topics, guarded, names):
    """Only where events may get there."""
    dead = topics + "dead"
    sections = {"on_error": {"topic_illegal": "dead_letter"},
                "dead_letter": {"topic": dead}}
    for topic in (dead, topics + "order"):
        guarded.create_topic(topic, 1)
    admin = walpost(database, guarded, topics, **sections).run()
    outbox.insert("not legal!", "k", sequence=1)
    database.wait_confirmed(admin.slot)
    assert admin.stop() == 0
    outbox.insert("order", "k", sequence=2)
    guarded.grant("--allow-principal", "User:walpost", "--operation", "Write",
                  *names[_TOPICS])
    relay = walpost(database, guarded, topics, **sections,
                    kafka=guarded.login())
    words = ("replay", "--from-table", "--order-by", "sequence")
    said = relay.verb(*words)
    assert said.returncode == 4 and dead in said.stderr, said
    assert _names_right("READ", said.stderr), said.stderr
    guarded.grant("--allow-principal", "User:walpost", "--operation", "Read",
                  "--topic", dead)
    said = relay.verb(*words)
    assert said.returncode == 0 and "1 rows replayed" in said.stdout, said


@pytest.mark.long
def test_a_retry_names_the_right_on_its_transactions(
        walpost, database, outbox, topics, guarded, names):
    sections = {"on_error": {"topic_illegal": "dead_letter"},
                "dead_letter": {"topic": topics + "dead"}}
    admin = walpost(database, guarded, topics, **sections)
    _prepare(admin, "dead-letters retry", database, outbox, guarded, topics)
    _grant(guarded, "dead-letters retry", "none", None, names)
    relay = walpost(database, guarded, topics, **sections,
                    kafka=guarded.login())
    works, said = _settle("retry", "--out-of-order")(relay, None, None)
    assert not works and "transactional id" in said, said
    listed = relay.verb("dead-letters", "list")
    assert "1 dead letters" in listed.stdout, listed.stdout


@pytest.mark.parametrize("is_seen", (True, False))
@pytest.mark.long
def test_an_empty_table_whose_topics_may_be_hidden(
        walpost, database, outbox, topics, guarded, names, is_seen):
    """None is listed; only whoever may see them knows that there is none."""
    admin = walpost(database, guarded, topics)
    assert admin.verb("init").returncode == 0
    if is_seen:
        _grant(guarded, "verify", "none", None, names)
    else:
        guarded.grant("--allow-principal", "User:walpost", "--operation",
                      "Read", "--topic", topics + "order")
    said = walpost(database, guarded, topics,
                   kafka=guarded.login()).verb("verify", "--wait", "0")
    assert said.returncode == (0 if is_seen else 1), said
    assert ("is hidden from a user" in said.stdout) != is_seen


def test_every_row_is_tested():
    assert set(_VERBS) == set(_TABLE)


def test_the_command_of_the_page(walpost, database, outbox, topics, guarded,
                                 names):
    (command,) = [block.text for block in blocks()
                  if block.text.startswith("kafka-acls.sh")]
    words = shlex.split(command.replace("outbox.event.", topics))
    at = words.index("--bootstrap-server")
    assert "--add" in words
    guarded.run_acls(*words[1:at], *words[at + 2:])
    relay = walpost(database, guarded, topics, kafka=guarded.login())
    assert relay.verb("init").returncode == 0
    works, said = _run(relay, database, outbox)
    assert works, said
    record, = KafkaReader(guarded.bootstrap).read_all(topics)
    assert record.key == b"order-1"


@pytest.mark.long
def test_recover_does_not_take_hidden_topics_for_empty_ones(
        walpost, database, outbox, topics, guarded):
    admin = walpost(database, guarded, topics)
    _prepare(admin, "recover", database, outbox, guarded, topics)
    relay = walpost(database, guarded, topics, kafka=guarded.login())
    said = relay.verb("recover", "--dry-run", "--order-by", "sequence")
    assert said.returncode == 4, said.stdout
    assert _names_right("READ", said.stderr), said.stderr
    ids = relay.config_path.with_name("ids")
    ids.write_text(database.value("select id::text from outbox"))
    said = relay.verb("verify", "--ids", str(ids))
    assert said.returncode == 1 and "hidden" in said.stdout, said.stdout


@pytest.mark.long
def test_verbs_that_look_do_not_make_the_topic_of_the_checkpoint(
        walpost, database, outbox, topics, guarded):
    point = f"point-{topics}"
    relay = walpost(database, guarded, topics,
                    checkpoint={"store": "kafka", "topic": point})
    assert relay.verb("init").returncode == 0
    outbox.insert("order", "order-1")
    for verb in ("check", "verify", "recover --dry-run"):
        relay.verb(*verb.split())
    assert not KafkaReader(guarded.bootstrap).topics(point)
    relay.run()
    assert KafkaReader(guarded.bootstrap).topics(point)
