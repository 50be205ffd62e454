"""Names that Postgres cuts at 63 bytes: application_name, slots, and what is
made of them."""

import re
import signal

import pytest

from harness import Outbox, Postgres, judge, wait_until
from harness.matrix import long_only

_HEAD = "production_eu_west_1_team_payments_orders_service_outbox"  # 56


def _slot(length, end="v"):
    return (_HEAD + "_" * 8)[:length - 1] + end


@pytest.fixture(name="impatient", scope="module")
def fixture_impatient(module_directory):
    """A server that gives up a walsender after 5 s."""
    server = Postgres(module_directory / "impatient",
                      settings={"wal_sender_timeout": "5s"}).start()
    yield server
    server.close()


@pytest.fixture(name="shop")
def fixture_shop(impatient, walposts):
    fresh = impatient.create_database()
    yield fresh
    for instance in walposts:
        instance.close()
    fresh.drop()


def _pair(walpost, shop, kafka, topics, slot):
    section = {"slot": slot, "wal_sender_timeout": "5s"}
    first = walpost(shop, kafka, topics, postgres=section).run()
    second = walpost(shop, kafka, topics, postgres=section).start()
    second.wait_log("standby")
    return first, second


@pytest.mark.parametrize("length", [60, 63, *long_only(10, 33, 34, 54, 55, 56)])
@pytest.mark.long
def test_p9_a_standby_takes_over_and_gives_back(walpost, shop, kafka, topics,
                                                length):
    outbox = Outbox(shop, topics)
    first, second = _pair(walpost, shop, kafka, topics, _slot(length))
    outbox.insert("order", "order-0")
    shop.wait_confirmed(first.slot)
    first.send(signal.SIGSTOP)
    second.wait_ready()
    for number in range(1, 101):
        outbox.insert("order", f"order-{number}")
    shop.wait_confirmed(first.slot)
    first.send(signal.SIGCONT)
    wait_until(lambda: "standby" in first.get("/readyz")[1],
               lambda: f"the first to stand by\n{first.log()}")
    assert second.stop() == 0
    first.wait_ready()
    for number in range(101, 111):
        outbox.insert("order", f"order-{number}")
    shop.wait_confirmed(first.slot)
    judge(outbox, kafka, first, takeover=True)
    assert first.stop() == 0


@pytest.mark.parametrize("length", [60, *long_only(55, 63)])
@pytest.mark.long
def test_a_dead_predecessor_is_ended(walpost, shop, kafka, topics, length):
    outbox = Outbox(shop, topics)
    relay = walpost(shop, kafka, topics, postgres={
        "slot": _slot(length)}).run()
    outbox.insert("order", "order-1")
    shop.wait_confirmed(relay.slot)
    walsender = shop.value("select active_pid from pg_replication_slots where "
                           "slot_name = %s", (relay.slot,))
    relay.kill()
    relay.run()
    assert walsender != shop.value(
        "select active_pid from pg_replication_slots where slot_name = %s",
        (relay.slot,))
    assert relay.stop() == 0


@pytest.mark.long
def test_slots_with_one_beginning_are_two(walpost, shop, kafka, topics):
    """An instance of the one is no standby for the other."""
    outbox = Outbox(shop, topics)
    left = walpost(shop, kafka, topics, postgres={
        "slot": _slot(57, "a")}).run()
    right = walpost(shop, kafka, topics + "right.", postgres={
        "slot": _slot(57, "b"), "publication": "right"}).run()
    names = [row[0] for row in shop.execute(
        "select application_name from pg_stat_activity where datname = %s and "
        "application_name like 'walpost:%%'", (shop.name,))]
    assert len(set(names)) == len(names) and max(map(len, names)) <= 63, names
    outbox.insert("order", "order-1")
    shop.wait_confirmed(left.slot)
    shop.wait_confirmed(right.slot)
    assert left.stop() == 0
    left.run()
    assert left.stop() == 0 and right.stop() == 0


@pytest.mark.parametrize("length", [58, 60, 63])
@pytest.mark.long
def test_a_long_slot_has_a_guard_of_its_own(walpost, shop, kafka, topics,
                                            length):
    outbox = Outbox(shop, topics)
    relay = walpost(shop, kafka, topics, postgres={"slot": _slot(length)},
                    replay={"window": "1GiB"}).run()
    relay.wait_log("made guard slot")
    first = outbox.insert("order", "order-1")
    shop.wait_confirmed(relay.slot)
    guards = shop.execute(
        "select slot_name from pg_replication_slots where database = %s and "
        "slot_name <> %s", (shop.name, relay.slot))
    assert len(guards) == 1 and guards[0][0].endswith("_guard"), guards
    begin = shop.confirmed_lsn(guards[0][0])
    replayed = relay.verb("replay", "--from-lsn",
                          f"{begin >> 32:X}/{begin & 0xffffffff:X}")
    assert replayed.returncode == 0, replayed.stderr
    assert first and re.search(r"\b1\b", replayed.stdout), replayed.stdout
    assert relay.stop() == 0


@pytest.mark.long
def test_the_slot_itself_is_no_guard(walpost, shop, kafka, topics):
    """'<slot>_guard' in a place where the server cuts it is the slot."""
    Outbox(shop, topics)
    relay = walpost(shop, kafka, topics, postgres={"slot": _slot(63)}).run()
    assert "pg_drop_replication_slot" not in relay.log()
    assert relay.metric("walpost_guard_lsn_bytes") is None
    assert relay.stop() == 0


@pytest.mark.parametrize("sections, key", [
    ({"postgres": {"publication": "p" * 64}}, "postgres.publication"),
    ({"outbox": {"tables": [{"name": "public." + "t" * 64}]}},
     "outbox.tables[0].name"),
    ({"checkpoint": {"store": "postgres", "table": "public." + "t" * 64}},
     "checkpoint.table"),
    ({"parking": {"table": "s" * 64 + ".parked"}}, "parking.table"),
])
@pytest.mark.long
def test_a_name_that_does_not_fit_is_refused(walpost, database, kafka, topics,
                                             sections, key):
    said = walpost(database, kafka, topics, **sections).verb("check")
    assert said.returncode == 2
    assert f"{key}: " in said.stderr and "63" in said.stderr, said.stderr
