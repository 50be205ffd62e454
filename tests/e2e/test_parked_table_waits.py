"""What is to be stored waits for Postgres: /readyz says so, names who holds it
up, and does not blame Kafka (P7, P10)."""

import re
import threading
import time

import pytest

from harness import KafkaReader, Outbox, wait_until
from harness.matrix import pairs

_BAD = '["no object"]'  # for the headers


class _Locked:
    """A session that builds an index, say: it holds back writers."""

    def __init__(self, database):
        self._database = database
        self._held = database.transaction()

    def __enter__(self):
        cursor = self._held.__enter__()
        cursor.execute("lock table walpost_parked in share mode")
        cursor.execute("select pg_backend_pid()")
        self.pid, = cursor.fetchone()
        return self

    def __exit__(self, *_):
        """Its session was ended."""

    def heal(self, said):
        remedy = re.search(r"SELECT pg_terminate_backend\((\d+)\);", said)
        assert int(remedy[1]) == self.pid, said
        self._database.execute(remedy[0])


class _Unconfirmed:
    """No standby answers that must have each commit."""

    def __init__(self, database):
        self._database = database

    def _set(self, names):
        self._database.execute(
            f"alter system set synchronous_standby_names = '{names}'")
        self._database.execute("select pg_reload_conf()")

    def __enter__(self):
        self._set("nobody")
        return self

    def __exit__(self, *_):
        self._set("")

    def heal(self, said):
        assert "synchronous_standby_names = 'nobody'" in said
        query = re.search(r"SELECT application_name.*?;", said)[0]
        assert self._database.execute(query)  # walpost itself
        self._set("")


class _Slow:
    """Rows take longer than statements usually may."""

    def __init__(self, database):
        self._database = database

    def __enter__(self):
        self._database.execute(
            "create function doze() returns trigger language plpgsql as "
            "'begin perform pg_sleep(15); return new; end'; "
            "create trigger doze before insert on walpost_parked "
            "for each row execute function doze()")
        return self

    def __exit__(self, *_):
        pass

    def heal(self, _):
        """It ends by itself."""


_TROUBLES = {"locked": _Locked, "unconfirmed": _Unconfirmed, "slow": _Slow}


_SAMPLE = [
    {"trouble": "locked", "action": "dead_letter", "guarantee": "exactly_once"},
    {"trouble": "slow", "action": "park", "guarantee": "at_least_once"}]


@pytest.mark.parametrize("case", pairs(
    _SAMPLE, trouble=list(_TROUBLES), action=["park", "dead_letter"],
    guarantee=["at_least_once", "exactly_once"]), ids=str)
@pytest.mark.sample(2)
def test_p10_the_table_is_named_and_not_kafka(walpost, own_database, kafka,
                                              topics, case):
    database, outbox = own_database, Outbox(own_database, topics)
    guarantee, action = case["guarantee"], case["action"]
    relay = walpost(
        database, kafka, topics, on_error={"headers_unreadable": action},
        delivery={"guarantee": guarantee},
        dead_letter={"store": "postgres"} if action == "dead_letter" else {},
        checkpoint={"store": "kafka" if guarantee == "exactly_once" else "none",
                    "topic": f"c-{topics}"}).run()
    outbox.insert("order", "k0", "0", headers=_BAD)
    database.wait_confirmed(relay.slot)  # the table exists
    seen = []
    stop = threading.Event()

    def watch():
        while not stop.is_set():
            seen.append(relay.get("/readyz"))
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    with _TROUBLES[case["trouble"]](database) as trouble:
        watcher.start()
        try:
            with database.transaction() as cursor:
                cursor.execute("set local synchronous_commit = local")
                outbox.insert("order", "k1", "1", headers=_BAD, cursor=cursor)
                outbox.insert("order", "k2", "2", cursor=cursor)
            text = relay.wait_unready("walpost_parked", seconds=30)
            assert re.search(r"table public.walpost_parked of parked events has "
                             r"not answered for \d+ s, and 1 events wait to be "
                             r"stored: ", text), text
            if case["trouble"] != "slow":
                wait_until(lambda: "it waits for" in relay.get("/readyz")[1],
                           lambda: relay.get("/readyz")[1])
                time.sleep(6)  # the limit of other statements has passed
            trouble.heal(relay.get("/readyz")[1])
            database.wait_confirmed(relay.slot)
        finally:
            stop.set()
            watcher.join()
    assert not [text for _, text in seen if re.search("[Kk]afka|broker", text)]
    # Not ready, once it is known, until it is over.
    bad = [code != 200 for code, _ in seen]
    assert bad.index(True) + bad.count(True) >= len(bad) - bad[::-1].index(True)
    assert "trying again" not in relay.log()
    assert [record.value for record in
            KafkaReader(kafka.bootstrap).read(topics + "order")] == [b"2"]
    assert database.value("select count(*) from walpost_parked") == 2
