"""Several places, one deadline: a host that takes connections and does not
answer keeps walpost from no other one."""

import re

import pytest

from harness import Database, HeldCalls, Outbox, Postgres, judge, wait_until
from harness.matrix import long_only, pairs
from harness.polled import EVENTS, events_sections
from harness.silent_server import KINDS, SilentServer


_LIMIT = "no answer within the time limit"
_SECONDS = 30


def _hosts(first, database, more=""):
    return (f"host={first.host},127.0.0.1 port={first.port},{database.port} "
            f"dbname={database.name} user=postgres {more}")


def _publish(outbox, count=100):
    for number in range(count):
        outbox.insert("order", f"order-{number}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_p10_rows_come_from_the_host_behind_a_silent_one(
        walpost, database, outbox, kafka, topics, kind):
    with SilentServer(kind) as first:
        relay = walpost(database, kafka, topics, postgres={
            "conninfo": _hosts(first, database)}).start()
        relay.wait_ready(_SECONDS)
        _publish(outbox)
        database.wait_confirmed(relay.slot)
        relay.wait_log(f"127.0.0.1:{first.port} .*{_LIMIT}.*next address")
        _wait_side_session(database)
        assert relay.stop() == 0


@pytest.mark.parametrize("kind", [KINDS[0], *long_only(*KINDS[1:])])
@pytest.mark.long
def test_p10_polled_rows_come_from_the_host_behind_a_silent_one(
        walpost, database, kafka, topics, kind):
    database.execute(EVENTS)
    with SilentServer(kind) as first:
        relay = walpost(database, kafka, topics, postgres={
            "conninfo": _hosts(first, database), "create": None},
            **events_sections()).start()
        relay.wait_ready(_SECONDS)
        database.execute("insert into events (aggregate_id) "
                         "select g::text from generate_series(1, 100) g")
        wait_until(lambda: relay.metric(
            "walpost_acknowledged_records_total") == 100, "all records")
        relay.wait_log(f"127.0.0.1:{first.port} .*{_LIMIT}.*next address")
        assert relay.stop() == 0


def _wait_side_session(database):
    wait_until(lambda: database.value(
        "select count(*) from pg_stat_activity where datname = %s and "
        "application_name like '%%:side'", (database.name,)) == 1,
        "the session beside the stream")


_VERBS = ["check", "verify", "recover --dry-run --order-by sequence", "init",
          "replay --from-table --order-by sequence",
          "parked list"]


@pytest.mark.parametrize("case", pairs(
    always=[{"kind": KINDS[i % 3], "verb": verb}
            for i, verb in enumerate(_VERBS)],
    kind=KINDS, verb=_VERBS), ids=str)
@pytest.mark.long
def test_verbs_take_the_host_behind_a_silent_one(
        walpost, database, outbox, kafka, topics, case):
    relay = walpost(database, kafka, topics).run()
    _publish(outbox, 10)
    database.wait_confirmed(relay.slot)
    relay.stop()
    verb, *words = case["verb"].split()
    before = relay.verb(verb, *words)
    with SilentServer(case["kind"]) as first:
        relay.config["postgres"]["conninfo"] = _hosts(
            first, database, "connect_timeout=2")
        relay.configure(relay.config)
        asked = relay.verb(verb, *words, seconds=90)
    assert before.returncode < 2, before.stderr
    assert asked.returncode == before.returncode, asked.stdout + asked.stderr
    assert verb == "verify" or "trying the next address" in asked.stderr, \
        asked.stderr


@pytest.mark.long
def test_a_host_has_as_long_as_connect_timeout_says(
        walpost, database, outbox, kafka, topics):
    with SilentServer("accepts") as first:
        relay = walpost(database, kafka, topics, postgres={
            "conninfo": _hosts(first, database, "connect_timeout=2")}).run()
        outbox.insert("order", "order-1")
        database.wait_confirmed(relay.slot)
        relay.wait_log(f"{_LIMIT} of 2 s")
        assert relay.stop() == 0


@pytest.mark.long
def test_one_name_with_two_addresses(walpost, database, outbox, kafka, topics,
                                     directory):
    names = HeldCalls(directory / "names")
    with SilentServer("accepts", "127.0.0.2", database.port):
        relay = walpost(database, kafka, topics, env=names.env, postgres={
            "conninfo": f"host=two.addresses port={database.port} "
                        f"dbname={database.name} user=postgres"}).run()
        outbox.insert("order", "order-1")
        database.wait_confirmed(relay.slot)
        relay.wait_log(rf"two\.addresses \(127\.0\.0\.2\):{database.port}")
        assert relay.stop() == 0


@pytest.mark.long
def test_lists_of_a_service_and_of_addresses(walpost, database, outbox, kafka,
                                             topics, directory):
    """libpq alone reads the service file; hostaddr takes no look-up."""
    service = directory / "service.conf"
    service.write_text(f"[shop]\nhostaddr=127.0.0.2,127.0.0.1\nport="
                       f"{database.port}\n"
                       f"dbname={database.name}\nuser=postgres\n"
                       "connect_timeout=2\n")
    with SilentServer("accepts", "127.0.0.2", database.port):
        relay = walpost(database, kafka, topics,
                        env={"PGSERVICEFILE": str(service)},
                        postgres={"conninfo": "service=shop"}).run()
        outbox.insert("order", "order-1")
        database.wait_confirmed(relay.slot)
        relay.wait_log(rf"127\.0\.0\.2:{database.port} .*{_LIMIT} of 2 s")
        assert relay.stop() == 0


@pytest.mark.long
def test_all_silent_places_are_named(walpost, database, kafka, topics):
    """Nobody else answers: the reason has each of them."""
    with SilentServer("accepts") as first, SilentServer("full") as second:
        relay = walpost(database, kafka, topics, postgres={
            "conninfo": f"host=127.0.0.1,127.0.0.1 "
                        f"port={first.port},{second.port} dbname=d user=u "
                        "connect_timeout=2"}).start()
        text = relay.wait_unready(f":{second.port} ")
        assert re.search(f":{first.port} .*{_LIMIT}.*:{second.port} .*{_LIMIT}",
                         text), text


def test_p1_p10_a_frozen_primary_and_its_promoted_standby(
        walpost, directory, major_17, kafka, topics):
    primary = Postgres(directory / "primary", major_17).start()
    standby = primary.make_standby(directory / "standby", "standby",
                                   sync_replication_slots="on").start()
    try:
        _freeze_and_promote(walpost, primary, standby, kafka, topics)
    finally:
        primary.close()
        standby.close()


def _freeze_and_promote(walpost, primary, standby, kafka, topics):
    database = Database(primary)
    outbox = Outbox(database, topics)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": f"host=127.0.0.1,127.0.0.1 "
                    f"port={primary.port},{standby.port} "
                    f"dbname={database.name} user=postgres "
                    "target_session_attrs=read-write",
        "failover": True}).run()
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    standby.wait_synchronised(database, relay.slot)
    primary.freeze()
    standby.promote()
    database.move_to(standby)
    _publish(outbox)
    database.wait_confirmed(relay.slot, seconds=30)
    relay.wait_log(f"127.0.0.1:{primary.port} .*{_LIMIT}")
    relay.wait_ready()
    judge(outbox, kafka, relay)
    assert relay.stop() == 0
