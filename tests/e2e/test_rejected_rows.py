"""P8, P10: events that cannot be delivered, one after another: others are not kept
waiting for long, and whoever sets them aside is ready all the while."""

import json
import re
import secrets
import time

import pytest

from harness import KafkaReader, Outbox, Readiness, note, verify, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, values

# pylint: disable=redefined-outer-name

_ROWS = 1000 if LONG else 150
_LIMIT = 5000
_WIDE = json.dumps(secrets.token_hex(_LIMIT))
_BAD = '["no object"]'  # for the headers
# The most that one of them may cost the others, on a busy machine.
_COST_S = 0.06 if LONG else 1.0
_ACTIONS = {
    "skip": ("skip", {}),
    "park": ("park", {}),
    "letter in Kafka": ("dead_letter", {"payload": "none"}),
    "letter in Postgres": ("dead_letter", {"store": "postgres"}),
}


@pytest.fixture
def relay(request, walpost, database, kafka, topics):
    case = request.param
    action, dead_letter = _ACTIONS[case["action"]]
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    outbox = Outbox(database, topics)
    made = walpost(
        database, kafka, topics, dead_letter=dead_letter,
        on_error={"record_too_large": action, "headers_unreadable": action},
        kafka={"properties": case.get("properties", {})},
        **(once(topics) if case["guarantee"] == "exactly_once" else {})).run()
    made.case, made.outbox = case, outbox
    return made


def _insert(database, rows, sql):
    """`sql`: the payload of row `n`; an own key each."""
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, sequence) "
        f"select 'narrow', 'k' || n, ({sql})::jsonb, n "
        f"from generate_series(1, {rows}) n")


def _set_aside(relay):
    names = [f'{name}{{class="record_too_large"}}' for name in (
        "walpost_skipped_events_total", "walpost_parked_events_total",
        "walpost_dead_letters_total")]
    return sum(relay.metric(name) or 0 for name in names)


def _payloads(kafka, topic):
    return [json.loads(record.value) for record in
            KafkaReader(kafka.bootstrap).read(topic)]


@pytest.mark.parametrize("relay", values(
    action=list(_ACTIONS), guarantee=["at_least_once", "exactly_once"],
    rejected=["each", "every other", "few"]), ids=str, indirect=True)
@pytest.mark.sample(4)
def test_p8_p10_rejected_rows_hold_up_the_others_for_moments(
        relay, database, kafka, topics):
    every = {"each": 1, "every other": 2, "few": 130}[relay.case["rejected"]]
    rows = _ROWS if every < 100 else 5 * _ROWS
    rejected = rows // every
    with Readiness(relay, pause=0.05) as readiness:
        begun = time.monotonic()
        _insert(database, rows,
                f"case n % {every} when 0 then '{_WIDE}' else n::text end")
        relay.outbox.insert("order", "last", "0")
        wait_until(lambda: _payloads(kafka, topics + "order") == [0]
                   if topics + "order" in KafkaReader(
                       kafka.bootstrap).topics(topics) else False,
                   lambda: f"the last row\n{relay.log()}", 400, pause=0.3)
        took = time.monotonic() - begun
        database.wait_confirmed(relay.slot)
    note(f"{relay.case}: {rejected} of {rows} rows rejected, {took:.1f} s")
    readiness.assert_always_ready()
    assert took < 10 + _COST_S * rejected + 0.02 * rows
    assert _set_aside(relay) == rejected
    # What was not rejected is there, once, in its order.
    assert _payloads(kafka, topics + "narrow") == [
        n for n in range(1, rows + 1) if n % every]
    found = {name: finding["count"] for name, finding in
             verify(relay)["findings"].items() if finding["count"]}
    known = {"parked", "dead_letter", "missing" if
             relay.case["action"] == "skip" else "parked"}
    assert sum(found.values()) == rejected and set(found) <= known, found


@pytest.mark.parametrize("relay", values(
    action=["skip", "letter in Kafka"],
    guarantee=["at_least_once", "exactly_once"]), ids=str, indirect=True)
@pytest.mark.long
def test_p8_a_limit_that_is_raised_counts_at_once(relay, database, kafka, topics):
    _insert(database, 20, f"'{_WIDE}'")
    wait_until(lambda: _set_aside(relay) == 20, "20 rejected rows")
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", "1000000")
    _insert(database, 5, f"'{_WIDE}'")
    database.wait_confirmed(relay.slot)
    assert _set_aside(relay) == 20
    assert len(_payloads(kafka, topics + "narrow")) == 5


# Larger than one that was rejected, and still not too large.
@pytest.mark.parametrize("relay", [
    {"action": "skip", "guarantee": guarantee,
     "properties": {"compression.type": "lz4"}}
    for guarantee in ("at_least_once", "exactly_once")],
    ids=lambda case: case["guarantee"], indirect=True)
@pytest.mark.sample(2)
def test_p8_the_brokers_decide_about_each_record(relay, database, kafka, topics):
    _insert(database, 5, f"'{_WIDE}'")
    wait_until(lambda: _set_aside(relay) == 5, "5 rejected rows")
    _insert(database, 5, f"""'"' || repeat('x', {4 * _LIMIT}) || '"'""")
    database.wait_confirmed(relay.slot)
    assert _set_aside(relay) == 5
    assert len(_payloads(kafka, topics + "narrow")) == 5


# Sets aside what never becomes a record, in transactions of its own, beside
# others that are published.
@pytest.mark.parametrize("relay", values(
    action=list(_ACTIONS), guarantee=["at_least_once", "exactly_once"]),
    ids=str, indirect=True)
@pytest.mark.long
def test_p10_setting_events_aside_is_not_being_stuck(relay, database):
    relay.outbox.insert("order", "first", "0")
    database.wait_confirmed(relay.slot)
    with Readiness(relay, pause=0.02) as readiness:
        for number in range(30):
            relay.outbox.insert("order", f"bad-{number}", "1", headers=_BAD)
            relay.outbox.insert("order", f"good-{number}", "2")
            if number % 10 == 0:
                relay.outbox.insert("narrow", f"wide-{number}", _WIDE)
            time.sleep(0.05)
        database.wait_confirmed(relay.slot)
        time.sleep(0.5)
    readiness.assert_always_ready()


@pytest.mark.parametrize("action", ["skip", "dead_letter", "stop"])
@pytest.mark.parametrize("verb", ["replay", "recover"])
@pytest.mark.sample(3)
def test_p8_the_rows_of_a_verb_pass_a_rejected_one(
        action, verb, walpost, database, kafka, topics):
    """The rows that only the brokers reject go where on_error says, and the verb
    ends with all others in Kafka; or it names the row, and its remedy works."""
    kafka.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    kafka.create_topic(topics + "letters", 1)
    Outbox(database, topics)
    made = walpost(database, kafka, topics, on_error={"record_too_large": action},
                   dead_letter={"topic": topics + "letters"}).run()
    made.stop()
    _insert(database, 60, f"case n % 20 when 7 then '{_WIDE}' else n::text end")
    database.execute({
        "recover": f"select pg_drop_replication_slot('{made.slot}')",
        "replay": f"select pg_replication_slot_advance('{made.slot}',"
                  " pg_current_wal_lsn())"}[verb])
    words = {"recover": ("recover",), "replay": ("replay", "--from-table", "--missing")
             }[verb] + ("--order-by", "sequence")
    said = made.verb(*words)
    if action == "stop":
        assert said.returncode == 4, said.stdout + said.stderr
        assert re.search(r"row \S+ of table public.outbox cannot be delivered",
                         said.stderr), said.stderr
        option, = re.findall(r"--set (on_error\S+=skip)", said.stderr)
        said = made.verb(*words, "--set", option)
    assert said.returncode == 0, said.stdout + said.stderr
    assert sorted(_payloads(kafka, topics + "narrow")) == [
        n for n in range(1, 61) if n % 20 != 7]
    letters = _payloads(kafka, topics + "letters")
    assert len(letters) == (3 if action == "dead_letter" else 0)


@pytest.mark.parametrize("transactions", ["one", "many"])
@pytest.mark.parametrize("action", ["skip", "dead_letter", "stop"])
@pytest.mark.sample(6)
def test_p8_a_range_of_the_wal_passes_a_rejected_one(
        action, transactions, walpost, database, kafka, topics):
    """As the rows of a table do; with stop it ends, and begins again where it
    stood."""
    kafka.create_topic(topics + "narrow", 1)
    kafka.create_topic(topics + "letters", 1)
    Outbox(database, topics)
    made = walpost(database, kafka, topics, replay={"window": "64MiB"},
                   on_error={"record_too_large": action},
                   dead_letter={"topic": topics + "letters"}).run()
    begin = database.value("select pg_current_wal_lsn()::text")
    payload = f"case n % 20 when 7 then '{_WIDE}' else n::text end"
    if transactions == "one":
        _insert(database, 60, payload)
    else:
        database.execute(
            "do $$ begin for n in 1 .. 60 loop insert into outbox "
            "(aggregate_type, aggregate_id, payload, sequence) values ('narrow', "
            f"'k' || n, ({payload})::jsonb, n); commit; end loop; end $$")
    database.wait_confirmed(made.slot)
    kafka.set_topic_config(topics + "narrow", "max.message.bytes", _LIMIT)
    said = made.verb("replay", "--from-lsn", begin)
    wanted = [n for n in range(1, 61) if n % 20 != 7]
    if action == "stop":
        assert said.returncode == 4, said.stdout + said.stderr
        assert "cannot be delivered" in said.stderr
        assert "not complete; to continue" in said.stderr
        said = made.verb("replay", "--from-lsn", begin, "--set",
                         "on_error.record_too_large=skip")
        assert said.returncode == 0, said.stdout + said.stderr
    assert said.returncode == 0, said.stdout + said.stderr
    assert re.search(r"\b57 events", said.stdout), said.stdout
    assert re.search(r"\b3 more were not deliverable", said.stdout), said.stdout
    sent = [json.loads(record.value) for record in
            KafkaReader(kafka.bootstrap).read(topics + "narrow")
            if record.is_replayed]
    assert sent[-57:] == wanted
    assert len(sent) == 57 or action == "stop"
    letters = _payloads(kafka, topics + "letters")
    assert len(letters) == (3 if action == "dead_letter" else 0)
